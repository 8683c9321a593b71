"""Approve, then revert: exactly the same bytes, whatever file a person has."""

from __future__ import annotations

import os
import stat
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from reflect_git.rules.approve import Proposal, Request, plan_approval
from reflect_git.store.repository import Store
from reflect_git.targets import block
from tests import counters
from tests.rules.queues import capture_signal
from tests.rules.reverts import approve, list_rules_in_force, open_queue, revert
from tests.targets import samples

_numbers = count()
KINDS = st.sampled_from(["plain", "linked", "private", "missing"])
TARGETS = st.sampled_from(["project", "project", "project-local", "agents", "dir:web"])
_PATHS = {"project": "CLAUDE.md", "project-local": "CLAUDE.local.md", "agents": "AGENTS.md", "dir:web": "web/CLAUDE.md"}


def _lay(project: Path, to: str, base: bytes, kind: str) -> Path:
    """Create the file of a target as a person may have it."""
    path = project / _PATHS[to]
    for old in {project / name for name in _PATHS.values()} | {project / "real.md"}:
        old.unlink(missing_ok=True)
    if kind == "missing":
        return path
    path.parent.mkdir(exist_ok=True)
    real = project / "real.md" if kind == "linked" else path
    real.write_bytes(base)
    real.chmod(0o600 if kind == "private" else 0o644)
    if kind == "linked":
        path.symlink_to(real)
    return path


def _state(path: Path) -> tuple[object, ...]:
    if not os.path.lexists(path):
        return ()
    return path.is_symlink(), path.read_bytes(), stat.S_IMODE(path.stat().st_mode)


def _there_and_back(store: Store, project: Path, base: bytes, kind: str, to: str) -> None:
    path = _lay(project, to, base, kind)
    before = _state(path)
    number = next(_numbers)
    rule = approve(store, f"use tool{number}, not other{number}", to).learning
    samples.require_untouched(b"" if kind == "missing" else base, path.read_bytes(), rule)
    revert(store, rule)
    assert _state(path) == before and list_rules_in_force(store) == []


_QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=8, suppress_health_check=_QUIET)
@given(samples.instruction_files(), KINDS, TARGETS)
def test_files_of_all_kinds(store: Store, project: Path, base: bytes, kind: str, to: str) -> None:
    assume(block.find_block(base) is None)
    _there_and_back(store, project, base, kind, to)


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=_QUIET)
@given(samples.instruction_files(), KINDS, TARGETS)
def test_files_of_all_kinds_deep(store: Store, project: Path, base: bytes, kind: str, to: str) -> None:
    assume(block.find_block(base) is None)
    _there_and_back(store, project, base, kind, to)
    counters.count("files approved into and reverted")


@pytest.mark.parametrize(
    "base", [b"", b"\n", b"\xef\xbb\xbf", b"\xef\xbb\xbfa\r\nb", b"a\r\n\r\n\r\n", b"no end", b"```\nopen"], ids=repr
)
@pytest.mark.parametrize("kind", ["plain", "linked", "private"])
def test_odd_ones(store: Store, project: Path, base: bytes, kind: str) -> None:
    _there_and_back(store, project, base, kind, "project")


def test_no_file_at_all_beside_an_agents_file(store: Store, project: Path) -> None:
    """Claude Code would stop reading AGENTS.md: the new CLAUDE.md imports it, and is removed without a trace."""
    (project / "CLAUDE.md").unlink()
    (project / "AGENTS.md").write_bytes(b"theirs\n")
    (told,) = [found.message for found in proposal(store, "use uv, not pip").findings if found.code == "opening"]
    assert told == "the new file begins with '@AGENTS.md', or Claude Code would not read AGENTS.md any more"
    rule = approve(store, "use pnpm, not npm").learning
    assert (project / "CLAUDE.md").read_bytes().startswith(b"@AGENTS.md\n")
    assert "opening" not in [found.code for found in proposal(store, "use tabs, not spaces").findings]
    revert(store, rule)
    assert sorted(os.listdir(project)) == [".git", "AGENTS.md"]


def proposal(store: Store, words: str) -> Proposal:
    signal = capture_signal(store, words, session_id=words)
    queue = open_queue(store)
    return plan_approval(queue, Request(queue.find_candidate(signal), to="project"))
