"""`effect` in a large store: 300 rules, 2,000 sessions, 2,000 keys."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import generate
from bench.setting import Setting
from bench.table import Table, build_timed_row
from bench.timing import BenchError, Command, fixed_subject, measure
from reflect_git.records.history import session_hash
from reflect_git.records.ids import get_signal_id, utc
from reflect_git.store import api
from reflect_git.store.opening import open_or_create
from reflect_git.store.repository import Store

ROUNDS = 20
CEILING = 5.0
RULES, SESSIONS, KEYS = 300, 2000, 2000
PROGRAM = Path(sys.executable).parent / "reflect-git"
FLOOR = "reflect-git --version"
_FIRST = 1767258000
_HALF_DAY = 6 * 3600
_LINES = 400
_BY: Any = {"road": "terminal", "name": "Dev", "email": "dev@example.org"}


def tables(setting: Setting) -> list[Table]:
    title = f"Effect of {RULES} rules, {SESSIONS:,} sessions, {KEYS:,} keys, fresh process"
    if not PROGRAM.exists():
        return [Table(title, (), notes=(f"'{PROGRAM.name}' is not installed beside this Python: not measured",))]
    home = setting.create_home("effect")
    env = generate.build_env(home)
    fill_store(open_or_create(str(home / ".claude" / "reflections"), env))
    command = Command((str(PROGRAM), "effect", "--json"), env)
    done = subprocess.run(command.argv, env=dict(env), check=True, capture_output=True)  # makes the caches
    if len(json.loads(done.stdout)["data"]["learnings"]) != RULES:
        raise BenchError("effect does not list every rule")
    floor = fixed_subject(FLOOR, Command((str(PROGRAM), "--version"), env))
    times = measure([floor, fixed_subject("effect --json, warm", command)], setting.rounds(ROUNDS))
    rows = [build_timed_row(found, times[FLOOR], None if name == FLOOR else CEILING) for name, found in times.items()]
    return [Table(title, rows)]


def fill_store(store: Store) -> None:
    """Add sessions, rules and tallies: ten signals a session, each key in its project and with its own rate."""
    dice = random.Random(RULES)
    starts = [utc(_FIRST + number * _HALF_DAY) for number in range(SESSIONS)]
    loaded: list[list[str]] = [[] for _ in starts]
    records: list[Any] = []
    lines: list[list[str]] = []
    for number in range(KEYS):
        key = f"key-{number:04d}"
        home = dice.randrange(len(generate.PROJECTS))
        rate, start = dice.gammavariate(0.8, 0.025), dice.randrange(SESSIONS // 4, SESSIONS) if number < RULES else 0
        for at in range(home, SESSIONS, len(generate.PROJECTS)):
            if dice.random() < rate * (0.4 if start and at >= start else 1.0):
                hashed = session_hash(f"session {at}")
                lines.append([key, "correction", generate.PROJECTS[home]["key"], starts[at][:10], hashed, "user_typed"])
        if start:
            identity = get_signal_id(starts[start], key, "rule", prefix="LRN")
            records += _approve(store, identity, key, generate.PROJECTS[home], starts[start].replace("Z", ".500Z"))
            for at in range(home, SESSIONS, len(generate.PROJECTS)):
                if at > start:
                    loaded[at].append(identity)
    for at, start_time in enumerate(starts):
        records.append({
            "id": get_signal_id(start_time, f"session {at}", "exposure", prefix="EXP"), "version": 1,
            "session": session_hash(f"session {at}"), "project": generate.PROJECTS[at % len(generate.PROJECTS)],
            "start": start_time, "end": start_time, "turns": 20, "typed": 8, "corrections": 1, "failures": {"Bash": 1},
            "interruptions": 0, "model": "model-a", "client": "2.1.0", "attended": True,
            "rules": {"CLAUDE.md": loaded[at]}, "hits": {},
        })  # fmt: skip
    for at in range(0, len(lines), _LINES):
        identity = get_signal_id(starts[-1], f"tally {at}", "tally", prefix="TLY")
        records.append({
            "id": identity, "version": 1, "machine": store.machine, "day": starts[-1][:10],
            "lines": lines[at : at + _LINES],
        })  # fmt: skip
    api.commit_records(store, records, "record: sessions of a bench", {})


def _approve(store: Store, identity: str, key: str, project: dict[str, str], now: str) -> list[Any]:
    target: Any = {"kind": "project", "path": "CLAUDE.md"}
    made = api.build_decision(store, "approved", identity, _BY, now, text=f"Mind {key}.", key=key, target=target)
    return [made, {
        "id": identity, "version": 1, "timestamp": now, "text": f"Mind {key}.", "title": key, "category": "convention",
        "scope": "project", "project": project, "target": target, "topic": None, "paths": [], "signals": [],
        "decision": made["id"], "supersedes": [], "reason": "", "trust": "user_typed", "matcher": None, "meta": {},
    }]  # fmt: skip
