"""The parser never raises, and its time is bounded."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_git.guards.shell import parse_commands

SIZE = 60_000
LONG = {
    "commands": "a;" * (SIZE // 2),
    "words": "echo " + "word " * (SIZE // 5),
    "substitutions": "echo " + "$(a)" * (SIZE // 4),
    "brackets": "(" * SIZE,
    "backticks": "`a` " * (SIZE // 4),
    "variables": "$a" * (SIZE // 2),
    "growing variable": "a=xxxxxxxx;" + "a=$a$a$a$a;" * 60,
    "redirects": ">a " * (SIZE // 3),
    "loops": "for i in a b c; do " * (SIZE // 19),
    "functions": "".join(f"f{n}(){{ f{n + 1}; f{n + 1}; }};" for n in range(40)) + "f0",
    "heredocs": "cat <<E\nE\n" * (SIZE // 10),
    "scripts": "bash -c '" + "npm i; " * (SIZE // 7) + "'",
    "python": "python - <<'E'\n" + "run(['npm', 'i'])\n" * (SIZE // 18) + "E",
    "commits": "git commit -m 'x y' --no-verify foo bar; " * (SIZE // 40),
}


def _measure(text: str) -> float:
    """Return the least CPU time of a few runs, in milliseconds."""
    times = []
    for _ in range(5):
        begin = time.process_time()
        parse_commands(text)
        times.append(time.process_time() - begin)
    return min(times) * 1000


@pytest.mark.parametrize("name", LONG)
def test_long_lines_take_at_most_20_ms(name: str) -> None:
    assert _measure(LONG[name]) < 20


def test_ordinary_lines_take_at_most_1_ms() -> None:
    line = "cd web && NODE_ENV=production npm run build -- --mode prod 2>&1 | tail -20; "
    line += "git commit -m \"$(cat <<'E'\nx\nE\n)\""
    parse_commands(line)
    assert _measure(line) < 1


def test_a_long_line_still_shows_its_beginning() -> None:
    assert parse_commands("rm -rf " + "$a$b " * 20_000)[0].args[0] == "-rf"


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=" \n;&|<>()'\"\\$`{}[]#!=-*?~abEF01", max_size=60))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(parse_commands(text), list)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("which npm; type npm; command -v npm", ["which", "type", "command"]),
        ("alias n='npm i'; n zod", ["alias", "npm"]),
        ("uv run --with a pytest -q", ["uv", "pytest"]),
        ("docker compose -f a.yml exec web npm i", ["docker", "npm"]),
        ("npx prettier@3 -w .", ["npx", "prettier"]),
        ("git rebase -x 'make test' main", ["git", "make"]),
        ("poetry run python -m pip list", ["poetry", "python", "pip"]),
        ("node_modules/.bin/eslint .", ["eslint"]),
        ("f() { npm i; }", []),
        ("C:\\\\tools\\\\npm.cmd i", ["npm"]),
    ],
)
def test_programs(line: str, names: list[str]) -> None:
    assert [command.name for command in parse_commands(line)] == names
