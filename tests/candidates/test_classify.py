"""Which file a learning belongs in."""

from __future__ import annotations

import pytest

from reflect_git.candidates.gather import category_of, choose_placement, find_globs, scope_of, side_of, title_of
from reflect_git.records.schema import CATEGORIES


@pytest.mark.parametrize(
    "text, scope",
    [
        ("Use bun, not deno", "project"),
        ("I always want a plan", "global"),
        ("In all my projects, use bun", "global"),
        ("Keep replies brief", "global"),
        ("Stop apologising", "global"),
        ("I want the worker to restart", "project"),
        ("The flag is configured globally", "project"),
        ("I prefer rebase in this repo", "project"),
        ("во всех проектах используй bun", "global"),
        ("所有项目都用 bun", "global"),
        ("Use type hints in all of my python projects", "global"),
        ("On every repo, run the linter first", "global"),
        ("Run it in every one of my projects, here too", "global"),
        ("For any project of mine use tabs", "global"),
        ("No matter the project, use tabs", "global"),
        ("In my other repos I use just", "global"),
        ("Everywhere I work, use pnpm, not npm", "global"),
        ("In jedem Projekt pnpm verwenden", "global"),
        ("Dans tous mes dépôts, pas de npm", "global"),
        ("Usa pnpm en cada proyecto", "global"),
        ("Use it in every single one of my projects", "global"),
        ("All my projects use pnpm, this repo as well", "global"),
        ("For all projects, use tabs", "global"),
        ("In all code bases use tabs", "global"),
        ("Regardless of which repo, use tabs", "global"),
        ("Begin every session with git status", "global"),
        ("Dans tous nos projets, pas de npm", "global"),
        ("全部仓库都用 pnpm", "global"),
        ("In all tests of the project use pytest", "project"),
        ("In every module in the repo use the logger", "project"),
        ("Show an icon for each project", "project"),
        ("Rename it everywhere", "project"),
        ("Use the logger everywhere in the api", "project"),
        ("Use const everywhere in this package", "project"),
        ("Every repository has an interface", "project"),
        ("In this project show all projects in the sidebar", "project"),
        ("In this repo every project row has an id", "project"),
        ("Each project row has an id", "project"),
        ("Show all projects in the sidebar", "project"),
        ("Use const everywhere", "project"),
        ("Answer in German", "global"),
        ("Antworte immer auf Deutsch", "global"),
        ("Responde siempre en español", "global"),
        ("Réponds toujours en français", "global"),
        ("用中文回答", "global"),
        ("日本語で答えてください", "global"),
        ("Отвечай по-русски", "global"),
        ("Explain things briefly", "global"),
        ("No emojis in your answers", "global"),
        ("Antworte mir ohne Zusammenfassung am Ende", "global"),
        ("Fass dich künftig kürzer", "global"),
        ("Réponds sans emojis", "global"),
        ("Skip the preamble", "global"),
        ("Wees kort in je antwoorden", "global"),
        ("The endpoint answers in JSON", "project"),
        ("Write commit messages in German", "project"),
        ("Commit messages start with SHOP-123", "project"),
        ("I always prefix commits with ABC-42", "project"),
    ],
)
def test_a_learning_is_the_projects_unless_the_words_say_otherwise(text: str, scope: str) -> None:
    assert scope_of(text) == scope


def test_a_taste_elsewhere_in_the_message_does_not_make_a_rule_a_taste() -> None:
    assert scope_of("Use bun, not deno", words="I always drink tea. Use bun, not deno") == "project"
    assert scope_of("Use bun, not deno", words="In all my projects, use bun, not deno") == "global"


def test_what_was_said_in_two_projects_is_global() -> None:
    assert scope_of("Use bun, not deno", projects=2) == "global"


def test_friction_and_flaws_go_to_the_project() -> None:
    assert (
        choose_placement("Two build scripts do the same", "project_friction", "project-structure").target
        == "improvements"
    )
    assert side_of("gotcha", "The upload spec is flaky") == "project"
    assert side_of("gotcha", "The printer needs a restart") == "agent"


@pytest.mark.parametrize(
    "text, category",
    [
        ("Name queues after their team", "naming"),
        ("Fixtures are built by factories", "test-structure"),
        ("Update the changelog with each release", "documentation"),
        ("Handlers live in src/handlers", "project-structure"),
        ("Build with `just dist`", "command"),
        ("Use make check", "command"),
        ("Make sure that errors are logged", "convention"),
        ("The config is read once", "configuration"),
        ("Keep secrets in .env files", "configuration"),
        ("I prefer short functions", "preference"),
        ("Support both shells when setting up", "convention"),
        ("Split commits by topic", "convention"),
    ],
)
def test_a_category_is_read_from_the_words(text: str, category: str) -> None:
    assert category_of(text, "correction", "convention") == category
    assert category in CATEGORIES


def test_what_a_detector_knows_is_not_guessed_again() -> None:
    assert category_of("Name queues after their team", "command", "command") == "command"


def test_globs_make_a_rule_for_files() -> None:
    found = choose_placement("Handlers in `src/api/**/*.ts` return plain objects", "convention", "convention")
    assert (found.target, found.paths) == ("rules", ("src/api/**/*.ts",))
    assert find_globs("2 * 3 is **bold** and *so* on") == ()


def test_a_glob_that_names_no_file_of_the_project_makes_no_rule_for_files() -> None:
    found = choose_placement(
        "Never push to release/*", "convention", "convention", is_path=lambda path: path != "release/*"
    )
    assert (found.target, found.paths) == ("project", ())


def test_a_title_fits_into_the_subject_of_a_commit() -> None:
    assert title_of("Use bun, not deno. It is faster.") == "Use bun, not deno"
    assert title_of("See `docs/setup.md` first") == "See `docs/setup.md` first"
    assert len(title_of("word " * 40)) <= 60
