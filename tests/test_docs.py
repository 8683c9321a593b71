"""The documentation is complete, or these fail."""

from __future__ import annotations

import ast
import html
import re
from pathlib import Path

import click
import pytest

from docs import guard_picture
from docs import picture as picture_page
from reflect_git import errors
from reflect_git.cli.app import COMMANDS
from reflect_git.cli.settings import ALL_SETTINGS
from reflect_git.records import schema
from reflect_git.records.history import EVENT_TYPES

REPO = Path(__file__).resolve().parent.parent


def _read(*parts: str) -> str:
    return REPO.joinpath(*parts).read_text(encoding="utf-8")


@pytest.mark.parametrize("setting", ALL_SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_documented_with_its_default(setting: object) -> None:
    name, default, scope = (getattr(setting, field) for field in ("name", "default", "scope"))
    shown = f"`{default}`" if default else ""
    assert f"| `{name}` | {shown} | {scope} |".replace("|  |", "| |") in _read("docs", "configuration.md")


def test_no_setting_is_documented_that_does_not_exist() -> None:
    named = set(re.findall(r"^\| `(reflect\.[A-Za-z.-]+)`", _read("docs", "configuration.md"), re.MULTILINE))
    assert named == {setting.name for setting in ALL_SETTINGS}


def test_every_exit_code_is_documented() -> None:
    codes = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    named = {int(code) for code in re.findall(r"^\| (\d+) \|", _read("docs", "configuration.md"), re.MULTILINE)}
    assert named == codes


@pytest.mark.parametrize("prefix", sorted(schema.FIELDS))
def test_every_field_of_a_record_is_documented(prefix: str) -> None:
    words = set(re.findall(r"[a-z_0-9]+", _read("docs", "store.md")))
    assert set(schema.FIELDS[prefix]) <= words


def _private_names() -> set[str]:
    """What the code asks a store for below `.git/reflect`: by a string, or by a constant of its module."""
    found = set()
    for path in (REPO / "reflect_git").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = {
            target.id: node.value
            for node in tree.body if isinstance(node, ast.Assign)
            for target in node.targets if isinstance(target, ast.Name)
        }  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "private_path" and node.args:
                first = node.args[0]
                value = named.get(first.id, first) if isinstance(first, ast.Name) else first
                found |= {value.value} if isinstance(value, ast.Constant) else set()
    return {str(name) for name in found if name}


def test_every_private_file_is_documented() -> None:
    page = _read("docs", "store.md").partition("## .git/reflect")[2]
    assert {name for name in _private_names() if not re.search(rf"`{re.escape(name)}/?`", page)} == set()
    assert len(_private_names()) > 25, "as far as they can be found"


@pytest.mark.parametrize(
    "words", [schema.TYPES, schema.CATEGORIES, schema.TRUSTS, schema.DECISION_KINDS, schema.CHANNELS]
)
def test_every_word_of_a_record_is_documented(words: tuple[str, ...]) -> None:
    text = _read("docs", "store.md")
    assert [word for word in words if word not in text] == []


def test_every_word_that_a_commit_begins_with_is_documented() -> None:
    page = _read("docs", "store.md").partition("## Commits")[2]
    assert {word for word in EVENT_TYPES if f"`{word}: " not in page} == set()


def test_every_finding_of_an_audit_is_explained() -> None:
    """Their codes are the first word of each, or the first of two that a function gives."""
    made = "".join(path.read_text(encoding="utf-8") for path in (REPO / "reflect_git/audit").glob("*.py"))
    found = set(re.findall(r'Finding\(\s*"([a-z-]+)"|return "([a-z]+-[a-z-]+)", f"', made))
    codes = {code for pair in found for code in pair if code}
    said = set(re.findall(r"`([a-z-]+)`", "".join(re.findall(r"(?m)^\| (`[a-z-]+`.*?) \|", _read("docs", "audit.md")))))
    assert len(codes) > 30 and codes <= said, codes - said
    assert all(f'"{code}"' in made for code in said), "what is told does not exist any more"


def test_every_road_of_an_approval_is_explained() -> None:
    page = _read("docs", "approval.md")
    assert {road for road in schema.CHANNELS if f"| `{road}` | " not in page} == set()


def test_every_verb_is_documented() -> None:
    pages = [REPO / "README.md", *(REPO / "docs").glob("*.md")]
    documents = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [verb for verb in COMMANDS if f"reflect-git {verb}" not in documents] == []


def test_the_picture_is_short_and_asks_no_other_host() -> None:
    """From the correction over the question to the line in the file."""
    picture = _read("docs", "picture.svg")
    drawn = re.sub(r"<[^>]+>", "", picture.partition('-matrix">')[2]).strip()
    lines = html.unescape(drawn).replace("\xa0", " ").splitlines()
    assert 10 < len(lines) <= picture_page.MAX_LINES
    shown = iter(lines)
    for words in ("> no, never use npm", "$ reflect-git review", "(1/1) ", "$ grep pnpm CLAUDE.md", "- Never use npm"):
        assert any(line.startswith(words) for line in shown), words
    assert "http" not in picture.replace("http://www.w3.org/", "").replace("https://www.textualize.io", "")


def test_the_same_picture_is_drawn_every_time() -> None:
    """`make docs` leaves no change behind unless the program prints something else."""
    first, second = (f"last: `npm test` {day}\napproved {rule} into 'CLAUDE.md'" for day, rule in (
        ("today", "LRN-20261117-r4fjs142"), ("yesterday", "LRN-20261120-fgjzd7q3"),
    ))  # fmt: skip
    assert picture_page.replace_varying_parts(first) == picture_page.replace_varying_parts(second)


def test_every_local_link_leads_somewhere() -> None:
    for page in (REPO / "README.md", *(REPO / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!https?:|\.\./\.\./actions/)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_pages_made_from_the_program_are_what_it_says_now() -> None:
    from docs.generate import build_pages

    stale = [path.name for path, text in build_pages().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run 'make docs'"


def test_every_verb_and_option_says_what_it_does() -> None:
    from docs.generate import list_commands

    silent = [name for _, name, command, _ in list_commands() if not command.help]
    silent += [
        f"{name} {option.opts[0]}"
        for _, name, command, _ in list_commands()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert silent == []


def test_every_variable_of_the_environment_is_documented() -> None:
    sources = [*(REPO / "reflect_git").rglob("*.py"), *(REPO / "hooks").iterdir(), REPO / "bin" / "reflect-git"]
    texts = "".join(path.read_text(encoding="utf-8") for path in sources if path.is_file())
    named = set(re.findall(r"\bREFLECT_GIT_[A-Z_]+[A-Z]\b", texts))
    assert named - set(re.findall(r"`(\w+)`", _read("docs", "configuration.md"))) == set()
    assert len(named) > 4


PAGES = [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    """In blocks and in backticks: the verb, and each option it is given."""
    from docs.generate import list_commands

    options = {name: {word for one in command.params for word in one.opts} for _, name, command, _ in list_commands()}
    text = page.read_text(encoding="utf-8")
    code = [*re.findall(r"`([^`\n]+)`", text), *re.findall(r"^    (.*)$", text, re.MULTILINE)]
    wrong = []
    for verb, rest in (found for line in code for found in re.findall(r"\breflect-git ([a-z][a-z-]*)([^#|`]*)", line)):
        given = {word for name in options if name.split()[0] == verb for word in options[name]}
        said = set(re.findall(r"(?<![\w-])--[a-z-]+", rest.partition("  ")[0]))
        if verb not in COMMANDS or said - given - {"--help", "--json", "--yes"}:
            wrong.append(f"{verb} {rest}")
    assert wrong == []


def test_every_target_of_make_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", _read("Makefile"), re.MULTILINE))
    named = {
        name for page in PAGES for name in re.findall(r"(?:`|^    )make ([a-z0-9-]+)", page.read_text(), re.MULTILINE)
    }
    assert len(named) > 5
    assert named - targets == set()


def test_every_script_that_make_runs_exists() -> None:
    """List what a line runs: a path, or a module after `-m`. Modules of libraries are left out."""
    recipes = [line for line in _read("Makefile").splitlines() if line.startswith("\t")]
    paths = {path for line in recipes for path in re.findall(r"\b(?:docs|bench|tests|hooks|bin)/[\w./-]+", line)}
    modules = {name for line in recipes for name in re.findall(r"-m ((?:docs|bench|tests)\.[\w.]+)", line)}
    paths |= {name.replace(".", "/") + ".py" for name in modules}
    assert len(paths) > 8
    assert [path for path in sorted(paths) if not (REPO / path).exists()] == []


def _list_sentences(page: str) -> list[str]:
    """Return the sentences of a page, its table cells and list items, without code blocks; code counts as a word."""
    lines: list[str] = []
    for line in page.splitlines():
        if line.startswith(("    ", "#", "```")):
            lines.append("")
        elif line.startswith("|"):
            lines += [part for cell in line.strip("|").split("|") for part in (cell, "")]
        else:
            item = re.match(r"\s*(?:[-*]|\d+\.) ", line)
            lines += ["", line[item.end() :]] if item else [line]
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "Code", "\n".join(lines)))
    blocks = (" ".join(block.split()) for block in re.split(r"\n\s*\n", text))
    return [part for block in blocks for part in re.split(r"(?<=[.!?:;]) (?=\S)", block)]


def test_sentences_are_short() -> None:
    """At most 25 words. Some items of a list have more: they name formats, fields or commands."""
    sentences = [one for page in PAGES if page.name != "commands.md" for one in _list_sentences(page.read_text())]
    long = [one for one in sentences if len(re.findall(r"[\w'’-]+", one)) > 25 and not one.startswith("[Commands]")]
    assert len(sentences) > 2000
    assert len(long) <= len(sentences) // 100, long


def test_the_readme_is_short() -> None:
    assert len(_read("README.md").splitlines()) <= 110


def test_the_readme_counts_the_languages() -> None:
    count = len(list((REPO / "reflect_git" / "knowledge" / "phrases").glob("*.json")))
    assert f"phrases of {count} languages" in " ".join(_read("README.md").split())


def test_the_picture_of_a_guard_shows_a_test_a_denied_call_and_its_count() -> None:
    picture = _read("docs", "guard.svg")
    drawn = re.sub(r"<[^>]+>", "", picture.partition('-matrix">')[2]).strip()
    lines = html.unescape(drawn).replace("\xa0", " ").splitlines()
    assert 10 < len(lines) <= guard_picture.MAX_LINES
    shown = iter(lines)
    for words in ("$ reflect-git guard PROJ-001", "2 calls in 1 day", "guarded LRN-", "Not run, because", "PROJ-001"):
        assert any(line.startswith(words) for line in shown), words
    assert "http" not in picture.replace("http://www.w3.org/", "").replace("https://www.textualize.io", "")
