"""A year of work in three projects, as Claude Code would leave it: transcripts, at a moved clock."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture import sessions
from reflect_git.memory.upkeep import Upkeep
from reflect_git.records.ids import utc
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
    text_chars: int = 0
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
        """Work for an hour in one project; end the session as Claude Code does."""
        self.count += 1
        name = f"{self.count:08x}-0000-4000-8000-{self.count:012x}"
        folder = self.home / self.dice.choice(PROJECTS)
        place = self.home / ".claude" / "projects" / str(folder).replace("/", "-")
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{name}.jsonl"
        lines = list(self._write_session(name, str(folder), fact))
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        os.utime(path, (self.now, self.now))
        store = self.open()
        sessions.end_session(store, store.env, str(path), "SessionEnd", str(folder))

    def _write_session(self, name: str, folder: str, fact: Fact | None) -> Iterator[dict[str, Any]]:
        turns, dice, parent = self.dice.randint(6, 14), self.dice, None
        spoken = dice.randrange(1, turns)
        for number in range(turns):
            said = dice.choice(_TASKS if number == 0 or dice.random() < 0.3 else _FOLLOW_UPS)
            reply = " ".join(dice.choices(_SENTENCES, k=dice.randint(6, 12)))
            if fact and number == spoken:
                said, reply = (fact.text, reply) if fact.by == "person" else (said, f"{reply} {fact.text}")
            call = {"type": "tool_use", "id": f"t{self.count}-{number}", "name": "Bash"}
            failed = dice.random() < 0.15
            output = dice.choice(_ERRORS) if failed else "ok"
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": output, "is_error": failed}
            parts: list[tuple[str, Any]] = [
                ("user", said), ("assistant", [{**call, "input": {"command": dice.choice(_COMMANDS)}}]),
                ("user", [result]), ("assistant", [{"type": "text", "text": reply}]),
            ]  # fmt: skip
            self.text_chars += len(said) + len(reply)
            for step, (role, content) in enumerate(parts):
                own = f"{name[:8]}-{number}-{step}"
                typed = {"promptSource": "typed", "origin": {"kind": "human"}} if content == said else {}
                model = {"model": "claude-x"} if role == "assistant" else {}
                yield {
                    "parentUuid": parent, "type": role, "uuid": own, "sessionId": name, "isSidechain": False,
                    "timestamp": utc(self.now + 60 * number + step), "cwd": folder, "version": "2.1.325",
                    "entrypoint": "cli", "message": {"role": role, "content": content, **model}, **typed,
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


def start_year(home: Path, store_home: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> Year:
    """Create the projects and the store, and set the clock of this process."""
    year = Year(home, store_home, random.Random(seed))
    monkeypatch.setattr(time, "time", lambda: year.now)
    for name in PROJECTS:
        (home / name).mkdir()
        git(home / name, "init", "-q")
        git(home / name, "remote", "add", "origin", f"https://example.org/ada/{name}.git")
    year.open()
    return year
