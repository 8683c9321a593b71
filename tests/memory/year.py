"""A year of work in three projects, as Claude Code would leave it: transcripts, at a moved clock."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reflect_git.capture import sessions
from reflect_git.memory.upkeep import Upkeep
from reflect_git.records.ids import utc
from reflect_git.store import target_versions
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git
from tests.store.operations import DAY
from tests.store.store_checks import open_store

START = 1767571200.0  # 2026-01-05, a Monday
PROJECTS = ("shop", "ledger", "atlas")
_KEEP_TRANSCRIPTS = 30 * DAY

_TASKS = (
    "add a filter for the country to the list of orders", "the totals are off by one cent, please look into it",
    "write a test for the parser of addresses", "rename the column and migrate the old rows",
    "move the mail templates into their own folder", "show a spinner while the report is computed",
    "update the client of the payment provider", "split the settings page into tabs",
    "make the export faster, it takes a minute now", "translate the labels of the form",
    "the build is red since yesterday, find out why", "draft the release notes for the next version",
)  # fmt: skip
_FOLLOW_UPS = (
    "ok, go on", "now do the same for the second page", "can you explain why that is slow?", "looks good, commit it",
    "run the tests again", "and what about the empty list?", "show me the diff", "good, next one",
)  # fmt: skip
_SENTENCES = (
    "I read the component and the two helpers that it calls, and the state is kept in the parent.",
    "The change is small: one branch in the reducer and a new case in the table of its tests.",
    "I moved the computation out of the loop, so that it runs once for each page and not once for each row.",
    "The type of the field was too wide; it now lists the three values that the server sends.",
    "There are two callers. Both pass a list, so the check for None could go.",
    "I left the old name as an alias, which the next release can remove.",
    "The fixture builds the whole tree, although the test needs only one leaf; I made it smaller.",
    "Next I would look at the query, since the profile shows most of the time there.",
    "All tests of the module pass, and the linter has nothing to say.",
    "The diff touches four files, and none of them is generated.",
)  # fmt: skip
_COMMANDS = ("pytest -q", "npm test", "make build", "git status --short", "rg -n total src", "ruff check")
_ERRORS = (
    "ModuleNotFoundError: No module named 'httpx'", "ERROR: connection refused (127.0.0.1:5432)",
    "error TS2345: Argument of type 'string' is not assignable to parameter of type 'Country'.",
    "FAIL src/cart.test.ts\n  expected 41 to be 42", "E   KeyError: 'currency'", "make: *** [build] Error 2",
)  # fmt: skip

# What a person or Claude says once and somebody looks for months later.
_THINGS = (
    "invoice exporter", "staging database", "nightly backup", "voucher importer", "search ranking", "session cookie",
    "image resizer", "tax calculator", "warehouse feed", "audit trail", "password mailer", "price cache",
    "address validator", "refund queue", "coupon engine", "shipping label", "customer portal", "metrics collector",
    "feature flags", "billing webhook", "product catalog", "language switcher", "contact form", "stock ledger",
    "upload scanner",
)  # fmt: skip
_FACTS = (
    # what is said, who says it, and what is searched besides the thing
    ("no, the {} must never retry on its own, it charges the card twice", "person", "retries"),
    ("remember: the {} listens on port {}", "person", "port"),
    ("always stop the {} before you run the migrations", "person", "migrating"),
    ("we decided to keep the {} in Frankfurt, because of the contract", "person", "Frankfurt"),
    ("no, don't mock the {} in tests, use the recorded answers", "person", "mocks"),
    ("It turns out that the {} fails because of the Turkish locale.", "claude", "Turkish"),
    ("The root cause was a leap year in the {}.", "claude", "leap"),
    ("from now on, ask Miriam before you change the {}", "person", "Miriam"),
)


class Call(NamedTuple):
    """A command, and its error if it failed."""

    command: str
    error: str = ""


class Turn(NamedTuple):
    """What a person typed, the commands that Claude ran, and its answer."""

    said: str
    calls: Sequence[Call]
    reply: str


@dataclass
class Fact:
    """Something said once: when, in which project, and with which words somebody looks for it."""

    text: str
    by: str
    query: str
    when: float


@dataclass
class Year:
    """The machine of one person. `now` is its clock; `seen` are all signals that were ever stored."""

    home: Path
    store_home: Path
    dice: random.Random
    now: float = START
    count: int = 0
    seen: set[str] = field(default_factory=set)
    facts: list[Fact] = field(default_factory=list)

    def open(self) -> Store:
        return open_store(self.store_home)

    def plant(self, number: int) -> Fact:
        """Return the next thing to say: 25 things and 8 facts about them make 200 different ones."""
        thing, (words, by, more) = _THINGS[number % len(_THINGS)], _FACTS[number % len(_FACTS)]
        made = Fact(words.format(thing, 4000 + number), by, f"{thing} {more}", self.now)
        self.facts.append(made)
        return made

    def run_session(self, fact: Fact | None = None) -> None:
        """Work for an hour in one project, with this fact among what is said."""
        dice, turns = self.dice, []
        count = dice.randint(6, 14)
        spoken = dice.randrange(1, count)
        for number in range(count):
            said = dice.choice(_TASKS if number == 0 or dice.random() < 0.3 else _FOLLOW_UPS)
            reply = " ".join(dice.choices(_SENTENCES, k=dice.randint(6, 12)))
            if fact and number == spoken:
                said, reply = (fact.text, reply) if fact.by == "person" else (said, f"{reply} {fact.text}")
            error = dice.choice(_ERRORS) if dice.random() < 0.15 else ""
            turns.append(Turn(said, [Call(dice.choice(_COMMANDS), error)], reply))
        self.end_session(self.home / dice.choice(PROJECTS), turns)

    def end_session(self, folder: Path, turns: Sequence[Turn], skill: str = "") -> str:
        """Write the transcript of a session and end it as Claude Code does; return its id."""
        self.count += 1
        name = f"{self.count:08x}-0000-4000-8000-{self.count:012x}"
        place = self.home / ".claude" / "projects" / str(folder).replace("/", "-")
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{name}.jsonl"
        lines = list(self._write_lines(name, str(folder), turns, skill))
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        os.utime(path, (self.now, self.now))
        store = self.open()
        sessions.end_session(store, store.env, str(path), "SessionEnd", str(folder))
        return name

    def _write_lines(self, name: str, folder: str, turns: Sequence[Turn], skill: str) -> Iterator[dict[str, Any]]:
        parent = None
        if os.path.exists(os.path.join(folder, "CLAUDE.md")):  # the client records what it loaded
            text = Path(folder, "CLAUDE.md").read_text(encoding="utf-8")
            kept = {"type": "Project", "content": target_versions._COMMENT.sub("", text)}
            loaded = {"path": os.path.join(folder, "CLAUDE.md"), **kept}
            yield {
                "type": "attachment", "uuid": f"{name[:8]}-loaded", "parentUuid": None, "sessionId": name,
                "cwd": folder, "timestamp": utc(self.now), "version": "2.1.325", "entrypoint": "cli",
                "isSidechain": False, "attachment": {"type": "instructions", "files": [loaded]},
            }  # fmt: skip
        for number, turn in enumerate(turns):
            parts: list[tuple[str, Any]] = [("user", turn.said)]
            for at, call in enumerate(turn.calls):
                known = f"t{self.count}-{number}-{at}"
                used = {"type": "tool_use", "id": known, "name": "Bash", "input": {"command": call.command}}
                failed = bool(call.error)
                done = {"type": "tool_result", "tool_use_id": known, "content": call.error or "ok", "is_error": failed}
                parts += [("assistant", [used]), ("user", [done])]
            parts.append(("assistant", [{"type": "text", "text": turn.reply}]))
            for step, (role, content) in enumerate(parts):
                own = f"{name[:8]}-{number}-{step}"
                more: dict[str, Any] = {}
                if content is turn.said:
                    more = {"promptSource": "typed", "origin": {"kind": "human"}}
                elif role == "assistant" and skill:
                    more = {"attributionSkill": skill}
                model = {"model": "claude-x"} if role == "assistant" else {}
                yield {
                    "parentUuid": parent, "type": role, "uuid": own, "sessionId": name, "isSidechain": False,
                    "timestamp": utc(self.now + 60 * number + step), "cwd": folder, "version": "2.1.325",
                    "entrypoint": "cli", "message": {"role": role, "content": content, **model}, **more,
                }  # fmt: skip
                parent = own

    def end_day(self, has_upkeep: bool = True) -> None:
        """Note what was stored, clean up as after the first command of a day, and delete old transcripts."""
        self.seen |= {one["id"] for one in reader.read(self.open()).signals}
        if has_upkeep:
            store = self.open()
            Upkeep(store, store.env, self.now).run()
        for path in (self.home / ".claude" / "projects").glob("*/*.jsonl"):
            if path.stat().st_mtime < self.now - _KEEP_TRANSCRIPTS:
                path.unlink()


def start_year(home: Path, store_home: Path, monkeypatch: pytest.MonkeyPatch, seed: int, start: float = START) -> Year:
    """Create the projects and the store, and set the clock of this process."""
    year = Year(home, store_home, random.Random(seed), start)
    monkeypatch.setattr(time, "time", lambda: year.now)
    for name in PROJECTS:
        (home / name).mkdir()
        git(home / name, "init", "-q")
        git(home / name, "remote", "add", "origin", f"https://example.org/ada/{name}.git")
    year.open()
    return year
