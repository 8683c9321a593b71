"""Autopilot: only what meets every condition is applied, once, with a backup, and the next review lists it first."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.candidates.candidate import Candidate
from reflect_git.candidates.gate import MENDED, NOTE, REFUSED, RISK, Finding
from reflect_git.capture import service
from reflect_git.records.ids import utc
from reflect_git.rules.automatic import autopilot
from reflect_git.rules.automatic.limits import Block
from reflect_git.store import policy
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.faults import git
from tests.rules.queues import BY, capture_signal, get_project_folder
from tests.store.store_checks import open_store, require_promises
from tests.stories.terminal import Terminal

# What breaks each condition: of the proposed rule, of its signals, and of what is known about it.
RULE_FAULTS: dict[str, Any] = {
    "trust": "assistant", "needs_wording": True, "tier": "weak", "confidence": 2, "sessions": 1,
    "recurrence_of": "LRN-20260101-0a1b2c3d", "dismissed_before": "DEC-20260101-0a1b2c3d",
}  # fmt: skip
SIGNAL_FAULTS: dict[str, Any] = {
    "trust": "tool_output", "meta": {"durable": False}, "meta ": {}, "meta  ": {"durable": "true"}, "session_id": "s0",
}  # fmt: skip
FINDINGS = [Finding(RISK, "x", ""), Finding(REFUSED, "full", ""), Finding(MENDED, "mended", ""),
            Finding(NOTE, "entries", ""), Finding(NOTE, "conflict", "")]  # fmt: skip
OTHER_FAULTS = ["conflict", "replaced", "block", "no signals", *range(len(FINDINGS))]


class Near:
    def __init__(self, conflicts: tuple[Any, ...]) -> None:
        self.conflicts = conflicts

    def __call__(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return (), self.conflicts


def judge(rule: set[str], signal: set[str], other: set[Any]) -> list[str]:
    """Return the faults of a rule that qualifies except for these."""
    fields: dict[str, Any] = dict.fromkeys(Candidate._fields)
    fields |= {"trust": "user_typed", "needs_wording": False, "tier": "strong", "confidence": 3, "sessions": 2}
    fields |= {name: RULE_FAULTS[name] for name in rule}
    fields["near"] = Near(({"text": "x"},) if "conflict" in other else ())
    signals: list[Any] = [
        {"session_id": f"s{number}", "trust": "user_typed", "meta": {"durable": True}} for number in range(2)
    ]
    for name in signal:
        signals[1] = {**signals[1], name.strip(): SIGNAL_FAULTS[name]}
    findings = [Finding(NOTE, "tokens", ""), *(FINDINGS[at] for at in other if isinstance(at, int))]
    replaced: list[Any] = [{"id": "LRN-20260101-0a1b2c3d"}] if "replaced" in other else []
    block = Block("cooldown") if "block" in other else None
    return autopilot.list_faults(
        Candidate(**fields), [] if "no signals" in other else signals, findings, replaced, block
    )


def test_a_rule_that_meets_every_condition_has_no_fault() -> None:
    assert judge(set(), set(), set()) == []


@given(
    st.sets(st.sampled_from(sorted(RULE_FAULTS))), st.sets(st.sampled_from(sorted(SIGNAL_FAULTS))),
    st.sets(st.sampled_from(OTHER_FAULTS)),
)  # fmt: skip
def test_a_rule_that_misses_any_condition_is_never_applied(rule: set[str], signal: set[str], other: set[Any]) -> None:
    assert bool(judge(rule, signal, other)) == bool(rule or signal or other)


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    folder = get_project_folder(os.environ)
    git(folder.parent, "init", "-q", str(folder))
    return open_store(store_home)


def switch_on(store: Store, cooldown: str = "0") -> Store:
    policy.set_policies(store, {autopilot.SETTING: autopilot.OWN_WORDS}, BY, utc())
    policy.set_keys(store, {"reflect.cooldown": cooldown})
    return open_store(Path(store.root))


def say(store: Store, words: str, times: int = 3, **more: Any) -> None:
    for number in range(times):
        capture_signal(store, words, **{"session_id": f"{words[:20]}-{number}", **more})


def apply(store: Store) -> list[str]:
    return autopilot.apply_due(store, os.environ, BY)


def read_file() -> str:
    path = get_project_folder(os.environ) / "CLAUDE.md"
    return path.read_text() if path.exists() else ""


def test_git_config_alone_does_not_switch_it_on(store: Store, store_home: Path, run_cli: RunCli) -> None:
    say(store, "always use pnpm for packages")
    policy.set_keys(store, {autopilot.SETTING: autopilot.OWN_WORDS})
    store = open_store(store_home)
    assert not autopilot.is_on(store, reader.scan(store).history.decisions) and apply(store) == []
    assert "autopilot" not in run_cli("upkeep").out and read_file() == ""
    assert autopilot.SETTING in run_cli("doctor").out


def test_it_is_refused_inside_the_client(store: Store, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    store = switch_on(store)
    say(store, "always use pnpm for packages")
    monkeypatch.setenv("CLAUDECODE", "1")
    assert apply(store) == [] and run_cli("config", autopilot.SETTING, autopilot.OWN_WORDS).code != 0


THINGS = "api web worker mobile docs".split()
DOINGS = [
    "always run the {} checks with make", "never commit the {} lock file", "put {} tests beside the source",
    "write {} dates as year month day", "keep {} secrets in the vault", "use tabs in the {} templates",
    "name {} branches after the ticket", "always log {} requests as json", "ask before you delete {} data",
    "prefix {} metrics with the team name",
]  # fmt: skip


def test_fifty_rules_are_applied_once_each_with_a_backup_and_listed_first(
    store: Store, store_home: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = switch_on(store)
    desk = get_project_folder(os.environ).parent / "desk"
    git(desk.parent, "init", "-q", str(desk))
    texts = [doing.format(thing) for doing in DOINGS for thing in THINGS]
    for text in texts[:30]:
        say(store, text)
    for text in texts[30:]:  # a file has room for some forty rules
        say(store, text, project=service.get_project(store, str(desk)))
    done = apply(store)
    history = reader.read(store).history
    assert len(done) == len(set(done)) == 50
    made = [one for one in history.decisions if one["by"]["road"] == "autopilot"]
    assert len(made) == 50 == len(autopilot.list_unseen(history))
    log = store.git.run("log", "--format=%(trailers:key=Approved-By,valueonly)%(trailers:key=Backup,valueonly)", "main")
    assert log.out.decode().split().count("autopilot") == 50 == log.out.decode().count("backup/")
    assert apply(store) == [], "each only once"
    say(store, "deploy the shop on Mondays only, never on Fridays", times=1)
    monkeypatch.chdir(get_project_folder(os.environ))
    listed = run_cli("--no-input", "review").out
    assert "applied by autopilot" in listed.splitlines()[0] and listed.count("applied by autopilot") >= 30
    assert listed.rindex("applied by autopilot") < listed.index("Mondays")
    require_promises(store_home)


def test_the_file_is_left_alone_during_its_cooldown(store: Store) -> None:
    store = switch_on(store, cooldown="4h")
    say(store, "always use pnpm for packages")
    say(store, "never commit the lock file of the shop")
    assert len(apply(store)) == 1 and apply(store) == []


@pytest.mark.parametrize(
    "more", [{"times": 1}, {"trust": "assistant"}, {"meta": {"durable": False}}, {"session_id": "same"}]
)
def test_what_misses_a_condition_waits_for_a_person(store: Store, more: dict[str, Any]) -> None:
    store = switch_on(store)
    say(store, "always use pnpm for packages", **more)
    assert apply(store) == [] and read_file() == ""


def test_the_review_asks_first_and_takes_it_back_byte_for_byte(store: Store) -> None:
    store = switch_on(store)
    (get_project_folder(os.environ) / "CLAUDE.md").write_text("# Shop\n")
    say(store, "always use pnpm for packages")
    assert apply(store) and "pnpm" in read_file()
    with Terminal("review", cwd=get_project_folder(os.environ)) as terminal:
        assert "Autopilot applied this rule" in terminal.passes("?]?")
        terminal.types("b")
        assert "took back" in terminal.ends()
    assert read_file() == "# Shop\n" and apply(store) == [], "a person said no"


def test_a_rule_that_was_kept_is_not_asked_about_again(store: Store) -> None:
    store = switch_on(store)
    say(store, "always use pnpm for packages")
    apply(store)
    with Terminal("review", cwd=get_project_folder(os.environ)) as terminal:
        terminal.passes("?]?")
        terminal.types("y")
        assert "stays in force" in terminal.ends()
    assert autopilot.list_unseen(reader.read(store).history) == [] and "pnpm" in read_file()
