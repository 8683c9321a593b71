"""A store of 100,000 commits on main: what its history answers, against the one git command that each answer needs."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench import generate
from bench.reading import BASELINE, PROGRAM
from bench.setting import Setting
from bench.table import Row, Table, build_timed_row
from bench.timing import BenchError, Command, Times, fixed_subject, measure
from reflect_git.platform import files
from reflect_git.platform.git import COMMITTER
from reflect_git.records import schema, yaml_form
from reflect_git.records.history import AUTOMATIC_EVENTS, EVENT_TYPES, LOG_FORMAT
from reflect_git.records.ids import digest, random_id, utc_precise
from reflect_git.rules import snapshot
from reflect_git.store import maintenance, opening
from reflect_git.store.opening import open_or_create
from reflect_git.store.repository import MAIN, Store, get_record_path
from reflect_git.targets import block, target_page
from reflect_git.targets.plan import Plan
from reflect_git.targets.target_files import Target

ROUNDS = 30
SIZES = (1_000, 100_000)
CEILING = 1.0
CAPPED_SIZE = 100_000
GROWTH = 1.15
HISTORY_SECONDS = 10 * 365 * 86400
_BASE = "2 × that git + --version"
_SOURCE_FILE = "history.json"  # which line is asked about
IN_FORCE = 25
# What `log` does not tell: git is asked for the same twenty commits, which are not the newest twenty.
_HIDDEN_SUBJECTS = f"^({'|'.join(word for word, kind in EVENT_TYPES.items() if kind in AUTOMATIC_EVENTS)}): "
FILE = "CLAUDE.md"
TARGET = Target("project", FILE)
PROJECT = generate.PROJECTS[0]
BY = {"road": "terminal", "name": "Dev", "email": "dev@example.org"}
# Of a hundred commits on main. Most are figures of sessions, which every command moves there.
_MIX = ("approve",) * 3 + ("dismiss",) * 12 + ("policy",) + ("record",) * 84


class HistoryGenerator:
    """One commit after the other, as years of work leave them; the first learning stays in force for ever."""

    def __init__(self, store: Store, count: int, now: float) -> None:
        self._store = store
        self._dice = random.Random(count)
        self._step, self._moment = HISTORY_SECONDS / count, now - HISTORY_SECONDS
        self._left = count
        self._version = 0
        self._page: bytes | None = None
        self.learnings: list[dict[str, Any]] = []

    @property
    def page(self) -> bytes:
        return self._page or b""

    def commits(self) -> Iterator[tuple[float, str, dict[str, bytes]]]:
        """When, the message, and the files it adds."""
        makers = {
            "approve": self._approve, "revert": self._revert, "dismiss": self._dismiss, "policy": self._policy,
            "record": self._record,
        }  # fmt: skip
        while self._left:
            self._left -= 1
            self._moment += self._step
            kind = "approve" if not self.learnings else self._dice.choice(_MIX)
            if kind == "approve" and len(self.learnings) >= IN_FORCE:
                kind = "revert"
            message, made = makers[kind](utc_precise(self._moment))
            yield self._moment, message, made

    def _approve(self, now: str) -> tuple[str, dict[str, bytes]]:
        made = _build_learning(now, f"Rule {self._version}: run step {self._dice.random():.6f} before the other one")
        decision = self._decision("approved", made["id"], now, text=made["text"], key=digest(made["id"])[:16])
        made["decision"] = decision["id"]
        self.learnings.append(made)
        self._page = block.add(self._page, made["id"], made["text"], made["category"], "")
        return self._message("approve", made, decision), {**_files(made, decision), **self._mirror(made["id"], "add")}

    def _revert(self, now: str) -> tuple[str, dict[str, bytes]]:
        gone = self.learnings.pop(1)
        decision = self._decision("reverted", gone["id"], now)
        self._page = block.remove(self._page, gone["id"], gone["text"])
        return self._message("revert", gone, decision), {**_files(decision), **self._mirror(gone["id"], "remove")}

    def _dismiss(self, now: str) -> tuple[str, dict[str, bytes]]:
        signal = random_id("SIG", now)
        decision = self._decision("dismissed", signal, now, key=digest(signal)[:16])
        trailers = f"Signal-Id: {signal}\nDecision: {decision['id']}\nMachine: {self._store.machine}\n"
        return f"dismiss: {signal}\n\n{trailers}", _files(decision)

    def _policy(self, now: str) -> tuple[str, dict[str, bytes]]:
        decision = self._decision("policy", "reflect.capture", now, meta={"from": {}, "to": {}})
        trailers = f"Decision: {decision['id']}\nApproved-By: terminal\nMachine: {self._store.machine}\n"
        return f"policy: reflect.capture=true\n\n{trailers}", _files(decision)

    def _record(self, now: str) -> tuple[str, dict[str, bytes]]:
        session = {
            "id": random_id("EXP", now), "version": schema.VERSION, "session": digest(now)[:12], "project": PROJECT,
            "start": f"{now[:19]}Z", "end": f"{now[:19]}Z", "turns": 40, "typed": 9, "corrections": 1,
            "failures": {"Bash": 2}, "interruptions": 0, "model": "model", "client": "2.0.0", "attended": True,
            "rules": {FILE: [each["id"] for each in self.learnings[-5:]]}, "hits": {},
        }  # fmt: skip
        return f"record: 1 session\n\nMachine: {self._store.machine}\n", _files(session)

    def _decision(self, kind: str, subject: str, now: str, **more: Any) -> dict[str, Any]:
        text = more.get("text")
        return {
            "id": random_id("DEC", now), "version": schema.VERSION, "timestamp": now, "machine": self._store.machine,
            "by": BY, "kind": kind, "subject": subject, "text": text, "text_sha256": digest(text) if text else None,
            "key": None, "target": {"kind": TARGET.kind, "path": FILE} if subject.startswith("LRN") else None,
            "reason": "", "reopens": None, "meta": {}, **more,
        }  # fmt: skip

    def _message(self, verb: str, learning: Mapping[str, Any], decision: Mapping[str, Any]) -> str:
        trailers = {
            "Learning-Id": learning["id"], "Decision": decision["id"], "Target": FILE, "Project": PROJECT["key"],
            "Machine": self._store.machine, "Approved-By": "terminal",
        }  # fmt: skip
        return f"{verb}: {learning['title']}\n\n" + "".join(f"{name}: {value}\n" for name, value in trailers.items())

    def _mirror(self, learning: str, kind: str) -> dict[str, bytes]:
        self._version += 1
        plan = Plan(TARGET, b"", self._page, learning, kind)
        return {snapshot.path_of(self._store, plan, PROJECT): snapshot.format_snapshot(plan, self._version)}  # type: ignore[arg-type]


def _build_learning(now: str, text: str) -> dict[str, Any]:
    return {
        "id": random_id("LRN", now), "version": schema.VERSION, "timestamp": now, "text": text, "title": text,
        "category": "convention", "scope": "project", "project": PROJECT,
        "target": {"kind": TARGET.kind, "path": FILE}, "topic": None, "paths": [], "signals": [], "decision": "",
        "supersedes": [], "reason": "", "trust": "user_typed", "matcher": None, "meta": {},
    }  # fmt: skip


def _files(*made: Mapping[str, Any]) -> dict[str, bytes]:
    return {get_record_path(record["id"]): yaml_form.emit(record) for record in made}


def tables(setting: Setting) -> list[Table]:
    title = "History, fresh process"
    if not PROGRAM.exists():
        return [Table(title, (), notes=(f"'{PROGRAM.name}' is not installed beside this Python: not measured",))]
    sizes = setting.sizes(*SIZES)
    pairs = {size: _build_pairs(setting, size) for size in sizes}
    subjects = [fixed_subject(BASELINE, Command((str(PROGRAM), "--version"), generate.build_env(setting.work)))]
    for each in pairs.values():
        for name, (ours, theirs) in each.items():
            subjects += [fixed_subject(_git_name(name), theirs), fixed_subject(name, ours)]
    times = measure(subjects, setting.rounds(ROUNDS))
    rows = [build_timed_row(times[BASELINE])]
    for size, each in pairs.items():
        for name in each:
            git = times[_git_name(name)]
            rows += [build_timed_row(git), _build_rows(times[name], times[BASELINE], git, size)]
    newest = [times[f"log -n 20 at {size:,}"] for size in sizes]
    if len(newest) > 1:  # the newest twenty are as near in a long history as in a short one
        rows.append(build_timed_row(newest[-1], newest[0], GROWTH, f"growth from {sizes[0]:,} to {sizes[-1]:,}"))
    return [Table(title, rows)]


def _build_pairs(setting: Setting, size: int) -> dict[str, tuple[Command, Command]]:
    """Our command and the one git command that it rests on, by name."""
    store, rule = copy_store(size, setting.create_home(f"history-{size}"))
    project = setting.work / f"project-{size}"
    generate.make_project(project)
    (project / FILE).write_bytes((Path(store.root) / ".git" / FILE).read_bytes())
    line = _find_line(project / FILE, rule)
    env = generate.build_env(setting.work / f"history-{size}")
    git = (store.git.program, "-C", store.root)
    pairs = {
        f"log -n 20 at {size:,}": (
            Command((str(PROGRAM), "log", "-n", "20", "--json"), env),
            Command(
                (
                    *git,
                    "log",
                    "-20",
                    "-E",
                    "--invert-grep",
                    f"--grep={_HIDDEN_SUBJECTS}",
                    f"--format={LOG_FORMAT}",
                    MAIN,
                ),
                env,
            ),
        ),
        f"why {FILE}:{line} at {size:,}": (
            Command((str(PROGRAM), "why", f"{project / FILE}:{line}", "--json"), env),
            Command((*git, "log", "-1", "--format=%H", MAIN, "--", get_record_path(rule)), env),
        ),
    }
    _require_answers(pairs, rule)
    return pairs


def _git_name(name: str) -> str:
    return f"git log for {name}"


def _build_rows(ours: Times, floor: Times, git: Times, size: int) -> Row:
    base = floor.median + 2 * git.median
    return Row(
        ours.name, (ours.fastest, ours.median), ours.median / base, _BASE, CEILING if size == CAPPED_SIZE else None
    )


def _require_answers(pairs: Mapping[str, tuple[Command, Command]], rule: str) -> None:
    """What is fast because it found nothing is not fast."""
    found = []
    for ours, _ in pairs.values():
        done = subprocess.run(ours.argv, env=dict(ours.env), check=True, capture_output=True)
        found.append(json.loads(done.stdout)["data"])
    if len(found[0]) != 20 or found[1][0]["story"]["learning"]["id"] != rule:
        raise BenchError("'log' or 'why' found something else than was asked for")


def _find_line(file: Path, rule: str) -> int:
    block = target_page.find_block(file.read_bytes())
    return next(entry.start + 1 for entry in block.entries if entry.id == rule) if block else 0


def copy_store(size: int, home: Path) -> tuple[Store, str]:
    """A store with that many commits on main at its usual place below `home`, and the rule that was approved first."""
    root = home / ".claude" / "reflections"
    shutil.copytree(
        generate.get_cached_folder("history", size, lambda draft: _fill_store(draft, size)), root, symlinks=True
    )
    os.chmod(root, files.PRIVATE_DIR)
    store = Store(str(root), generate.build_env(home))
    with store.locked(1.0):
        store.change_config({"reflect.binding": opening.get_binding(str(root))})
    rule = json.loads((root / ".git" / _SOURCE_FILE).read_text(encoding="utf-8"))
    return store, str(rule)


def _fill_store(draft: Path, size: int) -> None:
    """One fast-import, then what upkeep does every day. Nothing is checked out: neither answer looks at files."""
    store = open_or_create(str(draft), generate.build_env(generate.get_cache_folder()))
    past = HistoryGenerator(store, size, time.time())
    child = store.git.start("fast-import", "--quiet", "--done", "--force", config=("core.fsync=none",))
    parent = f"\nfrom {MAIN}^0\n".encode()
    for moment, message, made in past.commits():
        child.send(_format_commit(moment, message.encode(), made, parent))
        parent = b"\n"
    result = child.communicate(b"done\n")
    if result.code:
        raise BenchError(result.err.decode("utf-8", "replace"))
    maintenance.remove_unreachable(store)
    (draft / ".git" / FILE).write_bytes(past.page)
    (draft / ".git" / _SOURCE_FILE).write_text(json.dumps(past.learnings[0]["id"]), encoding="utf-8")


def _format_commit(moment: float, message: bytes, made: Mapping[str, bytes], parent: bytes) -> bytes:
    head = f"commit {MAIN}\ncommitter {COMMITTER} {int(moment)} +0000\ndata {len(message)}\n".encode()
    body = [f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n" for path, data in made.items()]
    return b"".join((head, message, parent, *body))
