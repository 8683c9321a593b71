"""Stores of any size, made through one fast-import stream and kept under the system's temp folder for the next run."""

from __future__ import annotations

import calendar
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.timing import print_progress
from reflect_git.platform import files
from reflect_git.records import schema, yaml_form
from reflect_git.records.ids import digest, get_signal_id, utc
from reflect_git.store import copies, inbox, opening
from reflect_git.store.opening import open_or_create
from reflect_git.store.repository import INBOX, SIGNALS_README, Store, get_record_path

FORMAT = 1
DAYS = 14
PER_COMMIT = 50
_DAY = 86400

_TOOLS = ("Bash", "Bash", "Bash", "Read", "Edit", "Grep", "WebFetch")
_COMMANDS = (
    "npm run build",
    "pytest -q tests/unit",
    "cargo check",
    "make lint",
    "go vet ./...",
    "docker compose up -d",
)
_ERRORS = (
    "Exit code 1\nerror: could not resolve entry module src/main.tsx",
    "Exit code 2\nE   AssertionError: assert 41 == 42\n1 failed, 17 passed in 3.21s",
    "Exit code 101\nerror[E0382]: borrow of moved value: `basket`\n  --> src/cart.rs:88:21",
    "Exit code 127\nsh: 1: terraform: not found",
    "File does not exist. Note: the working directory is the project's folder",
)
_SENTENCES = (
    "no, use pnpm here, not npm",
    "always run the formatter before you commit",
    "the staging database is read-only, ask before you write to it",
    "tests for the parser live beside it, not under tests/",
    "do not mock the clock, pass it in",
)
PROJECTS = tuple({"key": f"git.example.org/team/{name}", "name": name} for name in ("shop", "ledger", "atlas", "relay"))


def build_env(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the person's own: no global git config, no Claude Code session, no locale."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C.UTF-8",
        **more,
    }


def make_project(folder: Path) -> Path:
    """A small git project with a remote and one commit."""
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("# shop\n", encoding="utf-8")
    for words in (
        ("init", "-q", "-b", "main"),
        ("remote", "add", "origin", "https://git.example.org/team/shop.git"),
        ("add", "README.md"),
        ("-c", "user.name=Dev", "-c", "user.email=dev@example.org", "commit", "-q", "-m", "start"),
    ):
        _run_git(build_env(folder), "-C", str(folder), *words)
    return folder


def generate_signals(count: int, machine: str, now: float) -> Iterator[dict[str, Any]]:
    """Invented signals over the last fortnight, oldest first; the same for the same count."""
    dice = random.Random(count)
    for number in range(count):
        moment = now - DAYS * _DAY + (number + 1) * (DAYS * _DAY / count)
        yield _build_signal(dice, number, utc(moment), machine)


def _build_signal(dice: random.Random, number: int, when: str, machine: str) -> dict[str, Any]:
    typed = dice.random() < 0.2
    tool, entry = dice.choice(_TOOLS), f"toolu_{number:012d}"
    sentence = dice.choice(_SENTENCES) if typed else f"{tool} failed: {dice.choice(_COMMANDS)} --run {number % 997}"
    return {
        "id": get_signal_id(when, entry, "correction" if typed else "failure"),
        "version": schema.VERSION,
        "timestamp": when,
        "session_id": f"{number // 40:08x}-5a1c-4a66-9d0e-000000000000",
        "type": "correction" if typed else "failure",
        "status": "captured",
        "confidence": 2 if typed else 1,
        "source": {"hook": "PreCompact" if typed else "PostToolUseFailure", "turn": None, "file": None, "entry": entry},
        "content": sentence,
        "context": "" if typed else dice.choice(_ERRORS),
        "category": "convention" if typed else "command",
        "tags": [] if typed else [tool],
        "related": [],
        "promoted_to": None,
        "meta": {},
        "project": dice.choice(PROJECTS),
        "machine": machine,
        "trust": "user_typed" if typed else "tool_output",
        "key": digest("sentence", sentence)[:16],
        "stored": when,
    }


Maker = Callable[[int, str, float], Iterator[dict[str, Any]]]


def fill_store(store: Store, count: int, now: float, make: Maker = generate_signals) -> None:
    """Put `count` signals on the inbox, some dozens to a commit, as a machine that captures in groups would have."""
    ref = inbox.get_current_ref(store)
    child = store.git.start("fast-import", "--quiet", "--done", config=("core.fsync=none",))
    batch: list[bytes] = []
    for number, record in enumerate(make(count, store.machine, now), 1):
        if number == 1:
            yaml_form.check(record)
        data = yaml_form.emit(record)
        batch.append(f"M 100644 inline {get_record_path(record['id'])}\ndata {len(data)}\n".encode() + data + b"\n")
        if len(batch) == PER_COMMIT or number == count:
            child.send(_format_commit_head(ref, len(batch), record["stored"], number <= PER_COMMIT) + b"".join(batch))
            batch.clear()
    result = child.communicate(b"done\n")
    if result.code:
        raise RuntimeError(result.err.decode("utf-8", "replace"))


def _format_commit_head(ref: str, count: int, when: str, first: bool) -> bytes:
    message = f"capture: {count} signals\n".encode()
    seconds = calendar.timegm(time.strptime(when, "%Y-%m-%dT%H:%M:%SZ"))
    head = f"commit {ref}\ncommitter reflect-git <bench@localhost> {seconds} +0000\ndata {len(message)}\n".encode()
    return head + message + (f"\nfrom {ref}^0\n".encode() if first else b"\n")


def get_cache_folder() -> Path:
    """Where generated stores wait for the next run."""
    place = Path(tempfile.gettempdir()) / f"reflect-git-bench-{os.getuid()}"
    files.make_private_dirs(str(place))
    files.require_own_directory(str(place))
    return place


def get_cached_folder(kind: str, size: int, make: Callable[[Path], None]) -> Path:
    """A folder of the shelf, made now or by an earlier run of the same day; those of other days go."""
    place = get_cache_folder() / f"{kind}-{size}-{schema.VERSION}.{FORMAT}-{utc()[:10]}"
    if not place.exists():
        for old in get_cache_folder().glob(f"{kind}-{size}-*"):
            shutil.rmtree(old)
        print_progress(f"making {kind} of {size:,}")
        draft = Path(tempfile.mkdtemp(prefix=".new-", dir=get_cache_folder())) / "draft"
        make(draft)
        draft.rename(place)
        draft.parent.rmdir()
    return place


def get_cached_store(size: int, make: Maker = generate_signals) -> Path:
    """A store with that many signals on its inbox."""
    kind = "store" if make is generate_signals else f"store-of-{make.__module__.rpartition('.')[2]}"
    return get_cached_folder(
        kind,
        size,
        lambda draft: fill_store(open_or_create(str(draft), build_env(get_cache_folder())), size, time.time(), make),
    )


def get_cached_checkout(size: int) -> Path:
    """An ordinary repository with that many signal files in its work tree. Commits of earlier runs are in it."""
    env, source = build_env(get_cache_folder()), get_cached_store(size)

    def make(draft: Path) -> None:
        found = Store(str(source), env).git.refs(INBOX)
        branch = next(iter(found)).removeprefix("refs/heads/")
        _run_git(env, "clone", "-q", "--single-branch", "-b", branch, str(source), str(draft))
        for key, value in (("gc.auto", "0"), ("user.name", "Dev"), ("user.email", "dev@example.org")):
            _run_git(env, "-C", str(draft), "config", key, value)

    return get_cached_folder("files", size, make)


def _run_git(env: Mapping[str, str], *words: str) -> None:
    subprocess.run(("git", *words), env=dict(env), check=True)


def copy_store(size: int, home: Path, plain_copies: bool = False, make: Maker = generate_signals) -> Store:
    """A store of that size at its usual place below `home`, bound to it, as if it had been made there."""
    root = home / ".claude" / "reflections"
    shutil.copytree(get_cached_store(size, make), root, symlinks=True)
    os.chmod(root, files.PRIVATE_DIR)
    store = Store(str(root), build_env(home))
    with store.locked(1.0):
        store.change_config({"reflect.binding": opening.get_binding(str(root))})
    if plain_copies:
        files.remove(store.path(SIGNALS_README))
        copies.restore_missing(store)
    return store


def count_committed(store: Store) -> int:
    """How many signals the tip of this machine's inbox has."""
    return sum(1 for path in store.git.tree(inbox.get_current_ref(store), "signals") if path != SIGNALS_README)


def build_event(number: int, project: Path, error: str = _ERRORS[0]) -> Mapping[str, Any]:
    """A PostToolUseFailure event as the client sends it; another `number` is another moment."""
    session = "0b6f2c1e-77aa-4b52-8f0e-2f4f1c3d9a10"
    return {
        "session_id": session,
        "transcript_path": f"{project.parent}/.claude/projects/shop/{session}.jsonl",
        "cwd": str(project),
        "prompt_id": "2d1f0a34-6f0b-4a4e-9a57-0c0b6f8e1d22",
        "permission_mode": "default",
        "effort": {"level": "medium"},
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "npm run build -- --mode production", "description": "Build the shop"},
        "tool_use_id": f"toolu_bench{number:019d}",
        "error": error,
        "is_interrupt": False,
        "duration_ms": 1432,
    }
