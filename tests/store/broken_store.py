"""A store to damage: what the tests of `doctor`, `repairs` and `salvage` check and do."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from reflect_git import doctor
from reflect_git.capture import service
from reflect_git.capture.new_signal import build_signal_from_input
from reflect_git.store import inbox, pending
from reflect_git.store.lost_signals import OK, CheckContext, Finding
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store

CHECKS = {check.name: check for check in doctor.CHECKS}


def capture(store: Store, *contents: str) -> list[str]:
    return [service.capture_signal(store, {"content": text}, os.environ)[0]["id"] for text in contents]


def git(store: Store, *arguments: str) -> str:
    return store.git.run(*arguments).out.decode().strip()


def run_check(store: Store, name: str, now: float = 0.0) -> list[Finding]:
    """Return what a check finds; every problem must come with a hint."""
    findings = CHECKS[name].run(CheckContext(store, now or time.time(), reader.read))
    assert [found for found in findings if found.level != OK and not (found.hint or found.fixable)] == []
    return findings


def run_repair(store: Store, name: str, now: float = 0.0) -> str:
    act = CHECKS[name].fix
    assert act is not None
    return act(CheckContext(store, now or time.time(), reader.read))


def list_levels(findings: list[Finding]) -> list[str]:
    return [finding.level for finding in findings]


def list_signal_ids(store: Store) -> list[str]:
    return sorted(signal["id"] for signal in reader.read(store).signals)


def list_inbox_ids(store: Store) -> list[str]:
    return sorted(Path(path).stem for path in store.git.tree(inbox.get_current_ref(store), "signals") if "SIG-" in path)


def add_pending_capture(store: Store) -> None:
    record = build_signal_from_input({"content": "waits"}, store.machine, "2026-02-11T09:00:00Z")
    pending.write_record(store, record)
    os.utime(store.private_path("pending", f"{record['id']}.yaml"), (time.time() - 600, time.time() - 600))


def find_loose_object(git_dir: Path, oid: str) -> Path:
    """Return the writable file of one object; packs that hooks made are unpacked first."""
    _unpack(git_dir)
    path = git_dir / "objects" / oid[:2] / oid[2:]
    path.chmod(0o600)
    return path


def _unpack(git_dir: Path) -> None:
    for pack in (git_dir / "objects/pack").glob("*.pack"):
        data = pack.read_bytes()
        for part in pack.parent.glob(f"{pack.stem}.*"):
            part.unlink()
        subprocess.run(["git", f"--git-dir={git_dir}", "unpack-objects", "-q"], input=data, check=True)


def delete_object(store: Store, name: str) -> None:
    find_loose_object(Path(store.git_dir), git(store, "rev-parse", name)).unlink()


def empty_object(store: Store, name: str) -> None:
    find_loose_object(Path(store.git_dir), git(store, "rev-parse", name)).write_bytes(b"")


def overwrite_object(store: Store, name: str) -> None:
    find_loose_object(Path(store.git_dir), git(store, "rev-parse", name)).write_bytes(b"not an object")
