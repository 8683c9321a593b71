"""Run `reflect-git doctor`: check everything, repair what reflect-git owns."""

from __future__ import annotations

import os
import platform
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from reflect_git import paths
from reflect_git.capture import service
from reflect_git.cli.context import Front, printable
from reflect_git.cli.doctor_env import LOOKS, WITHOUT_A_STORE, Known_contra, Line, Look, advisories
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.doctor import CHECKS
from reflect_git.errors import EXIT_DECISION, EXIT_OK, EXIT_REFUSED, EXIT_USAGE, ReflectError
from reflect_git.platform.git import OLDEST, Git, GitError, find_program
from reflect_git.store.repository import Store
from reflect_git.store.salvage import DECIDE, ERROR, NOTE, OK, WARNING, Case, Check, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

FIXED = "fixed"
_COLOURS = {OK: "green", FIXED: "green", NOTE: "blue", WARNING: "yellow", DECIDE: "yellow", ERROR: "red"}
_WIDTH = max(len(word) for word in _COLOURS)
_NAMES = max(len(name) for name in ("python", "instructions", *(check.name for check in CHECKS)))
_DETAILS = 8
_OLDEST_PYTHON = (3, 10)


@click.command()
@click.option("--fix", is_flag=True, help="Repair what reflect-git owns, and list the repairs.")
@click.option("--selftest", is_flag=True, help="Test in a temporary store that captures survive a kill.")
@dry_run_option
@json_option
@click.pass_obj
def doctor_command(front: Front, fix: bool, selftest: bool, dry_run: bool) -> int:
    """Check the store, the hooks, git and Claude Code, and name a fix for each problem.

    Exit code: 0 no problems, 1 errors, 4 something needs your decision.
    """
    if selftest and fix:
        raise ReflectError("--selftest and --fix cannot be combined", "give one of them", "usage", EXIT_USAGE)
    if selftest:
        return _selftest(front)
    lines = []
    for line in _examine(front, fix and not dry_run):
        lines.append(line)
        if not front.json:
            _print(front, line)
    return _conclude(front, lines, would_fix=fix and dry_run)


def _examine(front: Front, fix: bool) -> Iterator[Line]:
    yield _python()
    root = service.locate_store(front.env, front.store_option)
    if not os.path.lexists(root):
        yield _git(front, "")
        yield _no_store(front, root)
        for alone in WITHOUT_A_STORE:
            yield from _look(front, None, alone, fix)
        return
    try:
        store = Store(root, front.env)
    except GitError as error:
        yield _git(front, "")
        yield Line("store", ERROR, error.message, f"repair or restore '{os.path.join(root, '.git', 'config')}'")
        return
    except (ReflectError, OSError) as error:
        yield _git(front, "")
        yield Line("store", ERROR, str(error), getattr(error, "hint", None) or "")
        return
    yield _git(front, store.git.program)
    for look in LOOKS:
        yield from _look(front, store, look, fix)
    for check in CHECKS:
        yield from _run(front, store, check, fix)


def _no_store(front: Front, root: str) -> Line:
    """Report that no store exists.

    If CLAUDE_CONFIG_DIR is set in some terminals only, there are two stores, and the signals may be in the other one.
    """
    usual = os.path.join(paths.home_dir(front.env), ".claude", "reflections")
    if front.env.get("CLAUDE_CONFIG_DIR") and usual != root and os.path.isdir(os.path.join(usual, ".git")):
        said = f"none at '{root}' (CLAUDE_CONFIG_DIR), but one at '{usual}'"
        return Line("store", NOTE, said, "unset CLAUDE_CONFIG_DIR to use that one, or create another: reflect-git init")
    hint = "the first hook creates it; create it now with: reflect-git init"
    return Line("store", NOTE, f"none at '{root}' yet", hint)


def _look(front: Front, store: Known_contra, look: Look[Known_contra], fix: bool) -> Iterator[Line]:
    """Run a check of the surroundings, like `_run`."""
    lines = list(look.run(front.env, store))
    if fix and look.mend is not None and any(line.fixable for line in lines):
        name = lines[0].check
        try:
            yield Line(name, FIXED, look.mend(front.env, store))
        except (ReflectError, OSError) as error:
            yield _unmended(name, error)
        lines = [line for line in look.run(front.env, store) if line.level != OK]
    yield from lines


def _run(front: Front, store: Store, check: Check, fix: bool) -> Iterator[Line]:
    """Run a check of the store and yield its results. With `fix`, also repair, then yield the remaining problems."""
    case = Case(store, time.time(), front.snapshot)
    findings = check.run(case)
    if fix and check.mend is not None and any(finding.fixable for finding in findings):
        try:
            yield Line(check.name, FIXED, check.mend(case))
        except (ReflectError, OSError) as error:
            yield _unmended(check.name, error)
        findings = [left for left in check.run(Case(store, time.time(), front.snapshot)) if left.level != OK]
    for finding in findings:
        yield _line(check.name, finding)


def _unmended(name: str, error: ReflectError | OSError) -> Line:
    hint = getattr(error, "hint", None) or "check the path and its permissions, then run it again"
    return Line(name, ERROR, f"cannot repair: {error}", hint)


def _line(name: str, finding: Finding) -> Line:
    return Line(name, finding.level, finding.message, finding.hint, finding.fixable, tuple(finding.details))


def _python() -> Line:
    said = f"{platform.python_version()}, '{sys.executable}'"
    if sys.version_info < _OLDEST_PYTHON:
        return Line("python", ERROR, f"too old: {said}", "install Python 3.10 or later")
    return Line("python", OK, said)


def _git(front: Front, known: str) -> Line:
    """Check the git program of the store, or the one that a new store would use."""
    try:
        program = known or find_program(front.env.get("PATH", ""), front.env.get("CLAUDE_PROJECT_DIR", ""))
        git = Git(program, "/", os.devnull)
        version = git.version()
    except ReflectError as error:
        return Line("git", ERROR, error.message, error.hint or "")
    said = f"{'.'.join(str(part) for part in version)}, '{git.program}'"
    if version < OLDEST:
        return Line("git", ERROR, f"too old: {said}", "install git 2.34 or later")
    weak = advisories(version)
    if weak:
        hint = "update git, unless your distribution backported the fix"
        return Line("git", NOTE, f"{said}: {', '.join(weak)}, judging by the version", hint)
    return Line("git", OK, said)


def _print(front: Front, line: Line) -> None:
    level = click.style(line.level.ljust(_WIDTH), fg=_COLOURS[line.level], bold=line.level == ERROR)
    first, *further = line.message.splitlines() or [""]
    margin = " " * (_WIDTH + _NAMES + 4)
    front.tell(f"{level}  {line.check.ljust(_NAMES)}  {printable(first)}", len(margin))
    for said in filter(str.strip, further):
        front.tell(f"{margin}{printable(said)}")
    for detail in line.details[:_DETAILS]:
        front.out(f"{margin}  {printable(detail)}")
    if len(line.details) > _DETAILS:
        front.tell(f"{margin}  … and {len(line.details) - _DETAILS} more")
    todo = "reflect-git doctor --fix" if line.fixable else line.hint
    if todo:
        front.tell(click.style(f"{margin}hint: {printable(todo)}", fg="yellow"))


def _conclude(front: Front, lines: list[Line], would_fix: bool) -> int:
    levels = {line.level for line in lines}
    code = EXIT_REFUSED if ERROR in levels else EXIT_DECISION if DECIDE in levels else EXIT_OK
    fixable = sum(line.fixable for line in lines)
    if front.json:
        front.data({"ok": code == EXIT_OK, "findings": [_as_data(line) for line in lines]})
        return code
    if would_fix:
        front.talk(f"--fix would repair {fixable} of these" if fixable else "nothing to repair")
    return code


def _as_data(line: Line) -> dict[str, Any]:
    return {**asdict(line), "hint": line.hint or None, "details": list(line.details)}


def _selftest(front: Front) -> int:
    from reflect_git.cli import doctor_env

    steps = []
    for step in doctor_env.run(front.env):
        steps.append(step)
        if not front.json:
            word = click.style("ok   ", fg="green") if step.ok else click.style("error", fg="red", bold=True)
            front.tell(f"{word}  {step.name.ljust(8)}  {printable(step.message)} ({step.seconds:.2f} s)", 17)
    ok = all(step.ok for step in steps)
    if front.json:
        front.data({"ok": ok, "steps": [asdict(step) for step in steps]})
    return EXIT_OK if ok else EXIT_REFUSED
