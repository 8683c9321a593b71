"""The documentation is complete, or these fail."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from reflect_git import errors
from reflect_git.cli.app import VERBS
from reflect_git.cli.settings import TABLE
from reflect_git.model import schema

REPO = Path(__file__).resolve().parent.parent


def _read(*parts: str) -> str:
    return REPO.joinpath(*parts).read_text(encoding="utf-8")


@pytest.mark.parametrize("setting", TABLE, ids=lambda setting: setting.name)
def test_every_setting_is_documented_with_its_default(setting: object) -> None:
    name, default, scope = (getattr(setting, field) for field in ("name", "default", "scope"))
    shown = f"`{default}`" if default else ""
    assert f"| `{name}` | {shown} | {scope} |".replace("|  |", "| |") in _read("docs", "configuration.md")


def test_no_setting_is_documented_that_does_not_exist() -> None:
    named = set(re.findall(r"^\| `(reflect\.[A-Za-z.]+)`", _read("docs", "configuration.md"), re.MULTILINE))
    assert named == {setting.name for setting in TABLE}


def test_every_exit_code_is_documented() -> None:
    codes = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    named = {int(code) for code in re.findall(r"^\| (\d+) \|", _read("docs", "configuration.md"), re.MULTILINE)}
    assert named == codes


@pytest.mark.parametrize("prefix", sorted(schema.FIELDS))
def test_every_field_of_a_record_is_documented(prefix: str) -> None:
    words = set(re.findall(r"[a-z_0-9]+", _read("docs", "store.md")))
    assert set(schema.FIELDS[prefix]) <= words


@pytest.mark.parametrize("words", [schema.TYPES, schema.CATEGORIES, schema.TRUSTS, schema.DECISION_KINDS, schema.ROADS])
def test_every_word_of_a_record_is_documented(words: tuple[str, ...]) -> None:
    text = _read("docs", "store.md")
    assert [word for word in words if word not in text] == []


def test_every_verb_is_documented() -> None:
    pages = [REPO / "README.md", *(REPO / "docs").glob("*.md")]
    documents = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [verb for verb in VERBS if f"reflect-git {verb}" not in documents] == []


def test_the_picture_tells_the_whole_story_and_asks_no_other_host() -> None:
    picture = _read("docs", "picture.svg")
    shown = re.sub(r"<[^>]+>", "", picture).replace("&#160;", " ")
    for words in (
        "candidates",
        "would have applied 2 times",
        "reflect-git:begin",
        "you said",
        "revert LRN-",
        "took back",
    ):
        assert words in shown, words
    assert "http" not in picture.replace("http://www.w3.org/", "").replace("https://www.textualize.io", "")


def test_every_local_link_leads_somewhere() -> None:
    for page in (REPO / "README.md", *(REPO / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_pages_made_from_the_program_are_what_it_says_now() -> None:
    from docs.generate import pages

    stale = [path.name for path, text in pages().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run 'make docs'"


def test_every_verb_and_option_says_what_it_does() -> None:
    from docs.generate import commands

    silent = [name for _, name, command, _ in commands() if not command.help]
    silent += [
        f"{name} {option.opts[0]}"
        for _, name, command, _ in commands()
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
