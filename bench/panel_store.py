"""A store as years of work leave it: 300 rules, 10,000 signals, 400 sessions. For tests and pictures of the panel."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import generate
from reflect_git.platform.git import COMMITTER
from reflect_git.records import schema, yaml_form
from reflect_git.records.history import session_hash
from reflect_git.records.ids import digest, get_signal_id, random_id, utc, utc_precise
from reflect_git.rules import snapshot
from reflect_git.store.opening import open_or_create
from reflect_git.store.repository import MAIN, Store, get_record_path
from reflect_git.targets import block
from reflect_git.targets.plan import Plan
from reflect_git.targets.target_files import GLOBAL_TARGET, Target

RULES, SIGNALS, SESSIONS = 300, 10_000, 400
HERE, EVERYWHERE = 18, 8  # rules of the project, and global ones; the others are in other projects
_DAY = 86400
_WEEKS = 30
_SIGNAL_DAYS = 70
TARGET = Target("project", "CLAUDE.md")
SHOP = generate.PROJECTS[0]
# Events in the sessions before a rule, and the share of sessions with one after it.
_LIVES = (
    ((2, 14), 0.09),
    ((6, 12), 0.04),
    ((3, 6), 0.14),
    ((8, 14), 0.06),
    ((0, 1), 0.0),
    ((1, 3), 0.2),
    ((5, 14), 0.09),
)
_REVERTED = (60, 180)  # after these approvals, a rule of the project is reverted
BY: Any = {"road": "terminal", "name": "Ada", "email": "ada@example.org"}
_TEXTS = (
    "Use pnpm, not npm.", "Run `make lint` before each commit.", "Never push to main; open a pull request.",
    "Write dates as ISO 8601 in UTC.", "Put a test beside each new parser.", "Pass the clock in; do not mock it.",
    "Ask before a migration that drops a column.", "Name database tables in the plural.",
    "Use the `money` type for prices, never floats.", "Keep functions below 40 lines.",
    "Start the dev server with `make serve`, not by hand.", "Read `docs/api.md` before changing an endpoint.",
    "Do not edit files in `src/gen/`; change the schema.", "Use `rg` to search, not `grep -r`.",
    "Log with `structlog`; no print in the library.", "Return 404, not 403, for other people's orders.",
    "Write commit messages in the imperative.", "Close every file with a context manager.",
    "Prefer small pull requests: fewer than 400 lines.", "Retry network calls three times with a pause.",
    "Answer in English, whatever the language of the question.", "Show the plan before a change of many files.",
    "Do not add a dependency without asking.", "Use type hints in new code.", "Say which command failed, and why.",
    "Quote the error message before a diagnosis.",
)  # fmt: skip
_SAID = (
    "no, use uv here, not pip", "always run the formatter before you commit", "never write to the staging database",
    "tests for the parser live beside it, not under tests/", "do not mock the payment provider, use its sandbox",
    "use tabs in Makefiles only", "never log an e-mail address", "always squash before merging",
    "use the `Result` type instead of exceptions in the core", "keep the changelog in the same commit",
    "run `make types` after each change of a signature", "never commit a generated file",
)  # fmt: skip
_AGAIN = _TEXTS[16]  # said again although it is a rule
_FAILED = (
    ("npm run build", "Exit code 1\nerror: could not resolve entry module src/main.tsx"),
    ("pytest -q tests/unit", "Exit code 2\nE   ModuleNotFoundError: No module named 'yaml'"),
    ("cargo check", "Exit code 101\nerror[E0382]: borrow of moved value: `basket`\n  --> src/cart.rs:88:21"),
    ("terraform plan", "Exit code 127\nsh: 1: terraform: not found"),
    ("docker compose up -d", "Exit code 1\nCannot connect to the Docker daemon at unix:///var/run/docker.sock"),
    ("psql shop_dev -c 'select 1'", 'Exit code 2\npsql: error: FATAL: role "dev" does not exist'),
    ("git push origin main", "Exit code 1\nremote: error: GH006: Protected branch update failed"),
    ("make deploy", "Exit code 2\nmake: *** No rule to make target 'deploy'.  Stop."),
    ("curl -sf localhost:8080/health", "Exit code 7\ncurl: (7) Failed to connect to localhost port 8080"),
)  # fmt: skip
_MODULES = tuple(f"{first}{last}" for first in ("py", "shop", "data", "web", "async") for last in (
    "yaml", "mail", "cart", "tools", "cache", "models", "db", "auth", "search", "index", "forms", "money",
))  # fmt: skip


def make_home(home: Path, now: float | None = None) -> Path:
    """Fill a home folder with the store and its project; return the project's folder."""
    now = time.time() if now is None else now
    home.mkdir(exist_ok=True)
    project = generate.make_project(home / "shop")
    store = open_or_create(str(home / ".claude" / "reflections"), generate.build_env(home))
    generate.fill_store(store, SIGNALS, now, _generate_signals)
    past = _Past(store, now)
    child = store.git.start("fast-import", "--quiet", "--done", "--force", config=("core.fsync=none",))
    parent = f"\nfrom {MAIN}^0\n".encode()
    for moment, message, made in past.make_commits():
        child.send(_format_commit(moment, message, made, parent))
        parent = b"\n"
    result = child.communicate(b"done\n")
    if result.code:
        raise RuntimeError(result.err.decode("utf-8", "replace"))
    store.git.run("reset", "--quiet", "--hard")
    (project / TARGET.path).write_bytes(past.pages[TARGET] or b"")
    (home / ".claude" / GLOBAL_TARGET.path).write_bytes(past.pages[GLOBAL_TARGET] or b"")
    return project


def get_session_name(number: int) -> str:
    return f"{number:08x}-5a1c-4a66-9d0e-000000000000"


def _generate_signals(count: int, machine: str, now: float) -> Iterator[dict[str, Any]]:
    """Yield corrections and failures of the last weeks, oldest first: the same number in each session."""
    dice = random.Random(count)
    each = count // SESSIONS
    for number in range(count):
        when = utc(now - _SIGNAL_DAYS * _DAY + number * (_SIGNAL_DAYS * _DAY / count))
        typed = dice.random() < 0.04
        command, error = dice.choice(_FAILED)
        error = error.replace("'yaml'", f"'{dice.choice(_MODULES)}'")
        entry, hook = f"toolu_{number:012d}", "PreCompact" if typed else "PostToolUseFailure"
        words = _AGAIN if dice.random() < 0.08 else dice.choice(_SAID)
        said = words if typed else f"Bash failed: {command} --run {number % 5}"
        yield {
            "id": get_signal_id(when, entry, "correction" if typed else "failure"), "version": schema.VERSION,
            "timestamp": when, "session_id": get_session_name(number // each),
            "type": "correction" if typed else "failure", "status": "captured", "confidence": 2 if typed else 1,
            "source": {"hook": hook, "turn": None, "file": None, "entry": entry},
            "content": said, "context": "" if typed else error, "category": "convention" if typed else "command",
            "tags": [] if typed else ["Bash"], "related": [], "promoted_to": None, "meta": {},
            "project": SHOP if typed else dice.choice(generate.PROJECTS), "machine": machine,
            "trust": "user_typed" if typed else "tool_output", "key": digest("sentence", said)[:16], "stored": when,
        }  # fmt: skip


class _Past:
    """Approvals, reverts and sessions, one commit after the other."""

    def __init__(self, store: Store, now: float) -> None:
        self._store, self._now = store, now
        self._dice = random.Random(RULES)
        self._in_force: dict[Target, list[dict[str, Any]]] = {TARGET: [], GLOBAL_TARGET: []}
        self._numbers = {TARGET: 0, GLOBAL_TARGET: 0}
        self._rates: dict[str, float] = {}
        self.pages: dict[Target, bytes | None] = {TARGET: b"# shop\n\nThe web shop.\n", GLOBAL_TARGET: None}

    def make_commits(self) -> Iterator[tuple[float, str, dict[str, bytes]]]:
        """Yield time, message and files: everything is approved in the first two thirds, sessions go on."""
        span = _WEEKS * 7 * _DAY
        events: list[tuple[float, int, str]] = []
        for number in range(RULES + len(_REVERTED)):
            events.append((self._now - span + (0.02 + 0.63 * number / RULES) * span, number, "rule"))
        for number in range(SESSIONS):
            events.append((self._now - span + (number + 0.5) * span / SESSIONS, number, "session"))
        for moment, number, kind in sorted(events):
            if kind == "session":
                yield moment, "record: 1 session\n", self._add_session(number, moment)
            else:
                yield from self._approve(number, moment)
                if number in _REVERTED:
                    yield self._revert(moment + 3600)

    def _approve(self, number: int, moment: float) -> Iterator[tuple[float, str, dict[str, bytes]]]:
        every = RULES // (HERE + EVERYWHERE + 2)
        at, is_shown = divmod(number, every)
        if is_shown or at >= HERE + EVERYWHERE + 2:
            project = generate.PROJECTS[1 + number % 3]
            text = f"{_TEXTS[number % len(_TEXTS)][:-1]}, in part {number} of {project['name']}."
            made, decision = self._build_rule(text, TARGET, project, utc_precise(moment))
            yield moment, self._format_message("approve", made, decision), _files(made, decision)
            return
        target = GLOBAL_TARGET if at % 4 == 3 and at // 4 < EVERYWHERE else TARGET
        text = _TEXTS[at % len(_TEXTS)] if at < len(_TEXTS) else f"Keep to step {at} of the checklist."
        made, decision = self._build_rule(text, target, SHOP, utc_precise(moment))
        self._in_force[target].append(made)
        self.pages[target] = block.add(self.pages[target], made["id"], made["text"], made["category"], "")
        mirrored = self._mirror(target, made["id"], "add")
        yield moment, self._format_message("approve", made, decision), {**_files(made, decision), **mirrored}

    def _revert(self, moment: float) -> tuple[float, str, dict[str, bytes]]:
        gone = self._in_force[TARGET].pop(1)
        decision = self._decide("reverted", gone["id"], utc_precise(moment), reopens=gone["decision"])
        self.pages[TARGET] = block.remove(self.pages[TARGET] or b"", gone["id"], gone["text"])
        mirrored = self._mirror(TARGET, gone["id"], "remove")
        return moment, self._format_message("revert", gone, decision), {**_files(decision), **mirrored}

    def _build_rule(
        self, text: str, target: Target, project: dict[str, str], now: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        key = digest("sentence", text)[:16]
        made: dict[str, Any] = {
            "id": random_id("LRN", now), "version": schema.VERSION, "timestamp": now, "text": text, "title": text,
            "category": "convention", "scope": "global" if target.is_global else "project",
            "project": None if target.is_global else project, "target": {"kind": target.kind, "path": target.path},
            "topic": None, "paths": [], "signals": [], "decision": "", "supersedes": [], "reason": "",
            "trust": "user_typed", "matcher": None, "meta": {},
        }  # fmt: skip
        number = len(self._rates)
        # Most rules help; some are broken as often as before, some more often, and a few were never needed.
        before, self._rates[made["id"]] = _LIVES[number % len(_LIVES)]
        baseline = {"baseline": {"since": None, "sessions": 40, "events": self._dice.randrange(*before)}}
        decision = self._decide("approved", made["id"], now, text=text, key=key, target=made["target"], meta=baseline)
        made["decision"] = decision["id"]
        return made, decision

    def _decide(self, kind: str, subject: str, now: str, **more: Any) -> dict[str, Any]:
        text = more.get("text")
        return {
            "id": random_id("DEC", now), "version": schema.VERSION, "timestamp": now, "machine": self._store.machine,
            "by": BY, "kind": kind, "subject": subject, "text": text, "text_sha256": digest(text) if text else None,
            "key": None, "target": {"kind": TARGET.kind, "path": TARGET.path}, "reason": "", "reopens": None,
            "meta": {}, **more,
        }  # fmt: skip

    def _add_session(self, number: int, moment: float) -> dict[str, bytes]:
        """Return the figures of a session: fewer corrections as rules are approved."""
        when, share = utc(moment), number / SESSIONS
        typed = self._dice.randrange(4, 24)
        corrections = sum(self._dice.random() < 0.16 - 0.11 * share for _ in range(typed))
        loaded = {"CLAUDE.md": [one["id"] for one in self._in_force[TARGET]]}
        loaded["global/CLAUDE.md"] = [one["id"] for one in self._in_force[GLOBAL_TARGET]]
        numbers = {"CLAUDE.md": self._numbers[TARGET], "global/CLAUDE.md": self._numbers[GLOBAL_TARGET]}
        rules = [*self._in_force[TARGET], *self._in_force[GLOBAL_TARGET]]
        hits = {one["id"]: 1 for one in rules if self._dice.random() < self._rates[one["id"]] * (1 - 0.5 * share)}
        return _files({
            "id": get_signal_id(when, f"session {number}", "exposure", prefix="EXP"), "version": 2,
            "session": session_hash(get_session_name(number)), "project": SHOP, "start": when,
            "end": utc(moment + 1800),
            "turns": typed * 6, "typed": typed, "corrections": corrections,
            "failures": {"Bash": self._dice.randrange(0, 6)}, "interruptions": self._dice.randrange(0, 2),
            "model": "claude-sonnet-5" if share > 0.5 else "claude-sonnet-4", "client": "2.1.0", "attended": True,
            "rules": loaded, "hits": hits, "versions": {name: one for name, one in numbers.items() if one},
            "guards": {}, "tokens": {"input": typed * 1800, "output": typed * 700, "cache_read": 0, "cache_write": 0},
            "skills": {}, "loaded": "instructions",
        })  # fmt: skip

    def _format_message(self, verb: str, learning: dict[str, Any], decision: dict[str, Any]) -> str:
        trailers = {
            "Learning-Id": learning["id"], "Decision": decision["id"], "Target": TARGET.path,
            "Machine": self._store.machine, "Approved-By": "terminal",
        }  # fmt: skip
        return f"{verb}: {learning['title']}\n\n" + "".join(f"{name}: {value}\n" for name, value in trailers.items())

    def _mirror(self, target: Target, learning: str, kind: str) -> dict[str, bytes]:
        self._numbers[target] += 1
        plan = Plan(target, b"", self.pages[target], learning, kind)
        project: Any = None if target.is_global else SHOP
        return {snapshot.path_of(self._store, plan, project): snapshot.format_snapshot(plan, self._numbers[target])}


def _files(*made: dict[str, Any]) -> dict[str, bytes]:
    return {get_record_path(record["id"]): yaml_form.emit(record) for record in made}


def _format_commit(moment: float, message: str, made: dict[str, bytes], parent: bytes) -> bytes:
    data = message.encode()
    head = f"commit {MAIN}\ncommitter {COMMITTER} {int(moment)} +0000\ndata {len(data)}\n".encode()
    body = [f"M 100644 inline {path}\ndata {len(text)}\n".encode() + text + b"\n" for path, text in made.items()]
    return b"".join((head, data, parent, *body))
