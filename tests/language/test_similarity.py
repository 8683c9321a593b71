"""Texts that contradict each other, are the same, or are only similar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.language.rule_form import tidy_sentence
from reflect_git.language.similarity import compute_similarity, contradicts, find_relation, is_certain_contradiction

OPPOSED = [
    ("Use bun, not deno", "Use deno, not bun"),
    ("Squash commits before merging", "Do not squash commits"),
    ("Ask before adding dependencies", "Add dependencies freely"),
    ("Use tabs", "Use 2 spaces"),
    ("Write changelog entries in English", "Write changelog entries in Chinese"),
    ("The API listens on port 4000", "The API listens on port 9000"),
    ("Release branches start from develop", "Release branches start from main"),
    ("Put helpers next to the code", "Put helpers in lib/"),
    ("Never seed the database in tests", "Seed the database in tests"),
    ("Use snake_case for columns", "Use camelCase for columns"),
    ("Errors are logged before the retry", "Errors are logged after the retry"),
    ("Enable source maps", "Disable source maps"),
    ("Put seeds in db/", "Seeds live in fixtures/"),
    ("Don't put stubs next to the specs", "Stubs live next to the specs"),
    ("Class names are PascalCase", "Use snake_case for class names"),
    ("Docstrings are required", "No docstrings"),
    ("Use poetry", "Use uv"),
    ("Drop tables without asking", "Ask first before dropping tables"),
    ("Schreibe Notizen auf Deutsch", "Schreibe Notizen auf Englisch"),
    (
        "We keep screenshots in the repository",
        "Screenshots are gitignored on purpose, never keep them in the repository",
    ),
    ("Charts have four colours", "Charts need 6 colours"),
    ("Pages are cached daily", "The cache of pages is rebuilt hourly, not more often"),
]
APART = [
    ("Never edit generated files", "Never commit generated files"),
    ("Run the unit tests before pushing", "Run the type checker before pushing"),
    ("Use factories in specs", "Don't use factories in seeds"),
    ("The web port is 4000", "The worker port is 5000"),
    ("Keep functions small", "Keep commits small"),
    ("Use axios for requests", "Use yup for validation"),
    ("Views live in app/views", "Mailers live in app/mailers"),
    ("Use short names", "Use long timeouts"),
    ("Release from main", "Never release on Sundays"),
    ("Images are built in CI", "Images are pushed to the registry"),
    ("Start the server before the tests", "Stop the server after the tests"),
    ("`npm install left-pad` fails here (no network)", "Use pnpm here, not npm"),
    ("Publish reports weekly on staging", "Publish reports daily in production"),
    ("Don't restart the queue until the deploy is through", "Restart the queue after the deploy"),
]
ALIKE = [
    ("Class names are PascalCase", "Use PascalCase for class names"),
    ("Columns should be named in snake_case", "Use snake_case for columns"),
    ("Handlers should be small", "Keep handlers small"),
    ("Seeds live in db/", "Put seeds in db/"),
    ("Place stubs next to the specs", "Stubs belong next to the specs"),
    ("Never drop tables without asking first", "Ask before dropping tables"),
]


@pytest.mark.parametrize("a, b", OPPOSED)
def test_what_cannot_hold_at_once_is_shown_and_never_merged(a: str, b: str) -> None:
    assert contradicts(a, b) and contradicts(b, a)
    assert find_relation(a, b) == find_relation(b, a) == "contradicts"


@pytest.mark.parametrize("a, b", APART)
def test_two_rules_side_by_side_are_no_contradiction(a: str, b: str) -> None:
    assert not contradicts(a, b) and not contradicts(b, a)
    assert find_relation(a, b) in ("similar", "different")


@pytest.mark.parametrize("a, b", ALIKE)
def test_what_is_told_and_what_is_ordered_are_one(a: str, b: str) -> None:
    assert find_relation(a, b) == find_relation(b, a) == "same"


def test_more_and_less_of_one_rule_are_the_same() -> None:
    assert find_relation("Use bun instead of deno", "Don't use deno here") == "same"
    assert find_relation("Deno is not used", "Use bun, not deno") == "same"


def test_what_shares_words_is_near() -> None:
    near = compute_similarity("Run the linter before every commit", "The linter has to pass before each commit")
    far = compute_similarity("Run the linter before every commit", "Invoices are sent at midnight")
    assert near > 0.4 > far
    assert compute_similarity("提交之前运行测试", "提交前运行所有测试") > 0.3
    assert compute_similarity("", "x") == 0.0


@pytest.mark.parametrize(
    "a, b",
    [
        ("Never commit large images", "Never commit local settings"),
        ("Do not lint the snapshots", "Do not rename the snapshots"),
        ("Invoices are in euros", "Salaries are in euros"),
        ("Tag after each stable release", "Announce after each stable release"),
        ("Restart the queue with `kt roll -n queue`", "Restart the cache with `kt roll -n cache`"),
        ("Use sinon for spies", "Use nock for network spies"),
        ("Nie Bilder löschen", "Nie Rechnungen löschen"),
    ],
)
def test_rules_of_one_form_about_two_things_are_not_similar(a: str, b: str) -> None:
    assert find_relation(a, b) == find_relation(b, a) == "different"


def test_another_ending_is_no_other_thing() -> None:
    assert (
        find_relation("Never commit generated images here, it breaks", "Never commit generated image here")
        != "different"
    )


@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_has_no_direction(a: str, b: str) -> None:
    assert compute_similarity(a, b) == compute_similarity(b, a)
    assert 0.0 <= compute_similarity(a, b) <= 1.0
    assert contradicts(a, b) == contradicts(b, a)
    assert find_relation(a, b) == find_relation(b, a)
    assert not contradicts(a, a)


SMALL_WORDS = """
    use not npm pnpm , ; : . ? instead of than rather in for tests can we never always no don't why did
    you i would prefer over → `a b` and then but if unless before only stop avoid without ( ) statt
    nicht pas 不 ではなく
""".split()


@given(st.lists(st.sampled_from(SMALL_WORDS), max_size=12), st.lists(st.sampled_from(SMALL_WORDS), max_size=12))
def test_small_words_in_any_order_are_compared(one: list[str], other: list[str]) -> None:
    a, b = " ".join(one), " ".join(other)
    assert contradicts(a, b) in (True, False)
    assert 0 <= compute_similarity(a, b) <= 1
    assert isinstance(tidy_sentence(a), str)


@pytest.mark.parametrize(
    "a, b",
    [
        ("Ask me before you add a dependency", "No new packages without my approval"),
        ("Keep replies brief", "I want short answers"),
        ("Never edit migrations", "Ändere die Migrationen nie"),
        ("Commit messages are in English", "Escribe los mensajes de commit en inglés"),
        ("Remove dead code", "Delete code that is unused"),
    ],
)
def test_a_paraphrase_is_merged_or_shown_as_similar(a: str, b: str) -> None:
    assert find_relation(a, b) in ("same", "similar")
    assert find_relation(b, a) in ("same", "similar")


@pytest.mark.parametrize(
    "a, b",
    [
        ("Push to main directly", "Nunca hagas push a main"),
        ("Use npm instead of pnpm", "Benutze pnpm statt npm"),
        ("Answer in English", "Antworte auf Deutsch"),
        ("Use pnpm", "不要使用 pnpm"),
    ],
)
def test_a_contradiction_in_another_language_is_one(a: str, b: str) -> None:
    assert is_certain_contradiction(a, b) and is_certain_contradiction(b, a)
    assert find_relation(a, b) == "contradicts"


def test_what_is_done_without_asking_is_opposed_to_asking_first() -> None:
    assert is_certain_contradiction("Drop tables without asking", "Ask first before dropping tables")
    assert is_certain_contradiction("Add dependencies freely", "Ask before adding dependencies")
    assert not is_certain_contradiction("Drop tables without asking", "Drop columns without asking")


def test_what_says_the_same_in_another_language_is_no_contradiction() -> None:
    assert not is_certain_contradiction("Never push to main", "Pushe niemals auf main")
    assert not is_certain_contradiction("Use tabs", "Benutze pnpm")
