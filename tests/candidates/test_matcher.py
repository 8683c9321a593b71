"""Rules that can be tested on past calls."""

from __future__ import annotations

import re

import pytest

from reflect_git.candidates.matcher import Call, Matcher, backtest, build_matcher
from reflect_git.language.parse import parse_frame
from tests.conftest import SetZone


def _matcher(text: str) -> Matcher | None:
    return build_matcher(parse_frame(text), [text])


def _npm() -> Matcher:
    found = _matcher("use pnpm not npm")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "command",
    [
        "npm install", "npm", "cd web && npm test", "FOO=1 BAR=2 npm ci", "sudo npm i -g x", "time npm run build",
        "make gen; npm test", "(npm ci)", "echo a | npm login", "set -e\nnpm test", "env CI=1 npm test",
    ],
)  # fmt: skip
def test_a_command_is_met_wherever_it_is_run(command: str) -> None:
    assert re.search(_npm()["pattern"], command)


@pytest.mark.parametrize(
    "command",
    ["pnpm install", "echo npm", "git commit -m 'npm'", "npm-check", "./npm test", "cat npm.log", "which npm"],
)
def test_what_only_names_it_is_not_met(command: str) -> None:
    assert not re.search(_npm()["pattern"], command)


def test_what_takes_its_place_is_part_of_it() -> None:
    assert (_npm()["tool"], _npm()["field"], _npm()["instead"]) == ("Bash", "command", "pnpm")
    longer = _matcher("use `just ship` instead of `docker build`")
    assert longer and longer["instead"] == "just ship"
    plain = _matcher("use fakes, not jest")
    assert plain and plain["instead"] == "fakes"
    assert re.search(longer["pattern"], "docker   build .") and not re.search(longer["pattern"], "docker ps")


@pytest.mark.parametrize(
    "text",
    [
        "use composition not inheritance",
        "use pnpm not npm in the web folder",  # applies only in one place
        "use pnpm",
        "never go there",
        "don't make docker images by hand",
        "use `npm test` not `npm`",  # the pattern would match what is wanted
        "don't use docker images from strangers",
    ],
)
def test_what_is_not_that_clear_has_no_matcher(text: str) -> None:
    assert _matcher(text) is None


def test_a_hostile_command_is_read_in_one_go() -> None:
    for command in ("\n" * 200_000, " " * 200_000, "sudo -a " * 40_000, "A=b " * 60_000, ";" * 200_000):
        assert backtest(_npm(), [("2026-03-01T10:00:00Z", "Bash", {"command": command})])["applied"] == 0


def test_a_backtest_counts_and_names_the_last() -> None:
    calls: list[Call] = [
        ("2026-03-01T10:00:00Z", "Bash", {"command": "npm install"}),
        ("2026-03-05T10:00:00Z", "Bash", {"command": "cd a &&  npm test"}),
        ("2026-03-03T10:00:00Z", "Bash", {"command": "pnpm test"}),
        ("2026-03-10T10:00:00Z", "Read", {"command": "npm test"}),
        ("2026-03-09T10:00:00Z", "Bash", {"command": None}),
    ]
    assert backtest(_npm(), calls) == {
        "applied": 2, "days": 10, "last": {"timestamp": "2026-03-05T10:00:00Z", "value": "cd a && npm test"},
    }  # fmt: skip
    assert backtest(_npm(), []) == {"applied": 0, "days": 0, "last": None}


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Etc/GMT+12"])
@pytest.mark.parametrize(
    ("first", "last", "days"),
    [
        ("2026-11-18T23:53:00Z", "2026-11-19T00:03:00Z", 1),  # ten minutes around midnight
        ("2028-02-29T23:58:00Z", "2028-03-01T00:02:00Z", 1),
        ("2026-11-18T23:53:00Z", "2026-11-19T23:52:00Z", 1),
        ("2026-11-18T23:53:00Z", "2026-11-19T23:54:00Z", 2),
    ],
)
def test_days_are_counted_by_the_time_that_passed(
    set_zone: SetZone, zone: str, first: str, last: str, days: int
) -> None:
    set_zone(zone)
    calls: list[Call] = [(moment, "Bash", {"command": "npm test"}) for moment in (first, last)]
    assert backtest(_npm(), calls)["days"] == days
