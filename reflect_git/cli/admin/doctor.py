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
from reflect_git.cli import doctor_env
from reflect_git.cli.context import CliContext, printable
from reflect_git.cli.doctor_env import (
    CHECKS_WITHOUT_STORE,
    ENV_CHECKS,
    CheckResult,
    EnvCheck,
    Known_contra,
    find_advisories,
)
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.doctor import CHECKS
from reflect_git.errors import EXIT_DECISION, EXIT_OK, EXIT_REFUSED, EXIT_USAGE, ReflectError
from reflect_git.platform.git import MIN_VERSION, Git, GitError, find_git
from reflect_git.store.lost_signals import DECIDE, ERROR, NOTE, OK, WARNING, Check, CheckContext, Finding
from reflect_git.store.repository import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

FIXED = "fixed"
_COLOURS = {OK: "green", FIXED: "green", NOTE: "blue", WARNING: "yellow", DECIDE: "yellow", ERROR: "red"}
_LEVEL_WIDTH = max(len(word) for word in _COLOURS)
_NAME_WIDTH = max(len(name) for name in ("python", "instructions", *(check.name for check in CHECKS)))
_MAX_DETAILS = 8
_OLDEST_PYTHON = (3, 10)


@click.command()
@click.option("--fix", is_flag=True, help="Repair what reflect-git owns, and list the repairs.")
@click.option("--selftest", is_flag=True, help="Test in a temporary store that captures survive a kill.")
@dry_run_option
@json_option
@click.pass_obj
def doctor_command(cli: CliContext, fix: bool, selftest: bool, dry_run: bool) -> int:
    """Check the store, the hooks, git and Claude Code, and name a fix for each problem.

    Exit code: 0 no problems, 1 errors, 4 something needs your decision.
    """
    if selftest and fix:
        raise ReflectError("--selftest and --fix cannot be combined", "give one of them", "usage", EXIT_USAGE)
    if selftest:
        return _run_selftest(cli)
    lines = []
    for line in _run_checks(cli, fix and not dry_run):
        lines.append(line)
        if not cli.json:
            _print_result(cli, line)
    return _finish_report(cli, lines, would_fix=fix and dry_run)


def _run_checks(cli: CliContext, fix: bool) -> Iterator[CheckResult]:
    yield _check_python()
    root = service.locate_store(cli.env, cli.store_option)
    if not os.path.lexists(root):
        yield _check_git(cli, "")
        yield _check_no_store(cli, root)
        for alone in CHECKS_WITHOUT_STORE:
            yield from _run_env_check(cli, None, alone, fix)
        return
    try:
        store = Store(root, cli.env)
    except GitError as error:
        yield _check_git(cli, "")
        yield CheckResult("store", ERROR, error.message, f"repair or restore '{os.path.join(root, '.git', 'config')}'")
        return
    except (ReflectError, OSError) as error:
        yield _check_git(cli, "")
        yield CheckResult("store", ERROR, str(error), getattr(error, "hint", None) or "")
        return
    yield _check_git(cli, store.git.program)
    for look in ENV_CHECKS:
        yield from _run_env_check(cli, store, look, fix)
    for check in CHECKS:
        yield from _run_store_check(cli, store, check, fix)


def _check_no_store(cli: CliContext, root: str) -> CheckResult:
    """Report that no store exists.

    If CLAUDE_CONFIG_DIR is set in some terminals only, there are two stores, and the signals may be in the other one.
    """
    usual = os.path.join(paths.home_dir(cli.env), ".claude", "reflections")
    if cli.env.get("CLAUDE_CONFIG_DIR") and usual != root and os.path.isdir(os.path.join(usual, ".git")):
        said = f"none at '{root}' (CLAUDE_CONFIG_DIR), but one at '{usual}'"
        return CheckResult(
            "store", NOTE, said, "unset CLAUDE_CONFIG_DIR to use that one, or create another: reflect-git init"
        )
    hint = "the first hook creates it; create it now with: reflect-git init"
    return CheckResult("store", NOTE, f"none at '{root}' yet", hint)


def _run_env_check(
    cli: CliContext, store: Known_contra, look: EnvCheck[Known_contra], fix: bool
) -> Iterator[CheckResult]:
    """Run a check of the surroundings, like `_run_store_check`."""
    lines = list(look.run(cli.env, store))
    if fix and look.repair is not None and any(line.fixable for line in lines):
        name = lines[0].check
        try:
            yield CheckResult(name, FIXED, look.repair(cli.env, store))
        except (ReflectError, OSError) as error:
            yield _build_repair_error(name, error)
        lines = [line for line in look.run(cli.env, store) if line.level != OK]
    yield from lines


def _run_store_check(cli: CliContext, store: Store, check: Check, fix: bool) -> Iterator[CheckResult]:
    """Run a check of the store and yield its results. With `fix`, also repair, then yield the remaining problems."""
    case = CheckContext(store, time.time(), cli.read_snapshot)
    findings = check.run(case)
    if fix and check.fix is not None and any(finding.fixable for finding in findings):
        try:
            yield CheckResult(check.name, FIXED, check.fix(case))
        except (ReflectError, OSError) as error:
            yield _build_repair_error(check.name, error)
        findings = [left for left in check.run(CheckContext(store, time.time(), cli.read_snapshot)) if left.level != OK]
    for finding in findings:
        yield _build_result(check.name, finding)


def _build_repair_error(name: str, error: ReflectError | OSError) -> CheckResult:
    hint = getattr(error, "hint", None) or "check the path and its permissions, then run it again"
    return CheckResult(name, ERROR, f"cannot repair: {error}", hint)


def _build_result(name: str, finding: Finding) -> CheckResult:
    return CheckResult(name, finding.level, finding.message, finding.hint, finding.fixable, tuple(finding.details))


def _check_python() -> CheckResult:
    said = f"{platform.python_version()}, '{sys.executable}'"
    if sys.version_info < _OLDEST_PYTHON:
        return CheckResult("python", ERROR, f"too old: {said}", "install Python 3.10 or later")
    return CheckResult("python", OK, said)


def _check_git(cli: CliContext, known: str) -> CheckResult:
    """Check the git program of the store, or the one that a new store would use."""
    try:
        program = known or find_git(cli.env.get("PATH", ""), cli.env.get("CLAUDE_PROJECT_DIR", ""))
        git = Git(program, "/", os.devnull)
        version = git.get_version()
    except ReflectError as error:
        return CheckResult("git", ERROR, error.message, error.hint or "")
    said = f"{'.'.join(str(part) for part in version)}, '{git.program}'"
    if version < MIN_VERSION:
        return CheckResult("git", ERROR, f"too old: {said}", "install git 2.34 or later")
    weak = find_advisories(version)
    if weak:
        hint = "update git, unless your distribution backported the fix"
        return CheckResult("git", NOTE, f"{said}: {', '.join(weak)}, judging by the version", hint)
    return CheckResult("git", OK, said)


def _print_result(cli: CliContext, line: CheckResult) -> None:
    level = click.style(line.level.ljust(_LEVEL_WIDTH), fg=_COLOURS[line.level], bold=line.level == ERROR)
    first, *further = line.message.splitlines() or [""]
    margin = " " * (_LEVEL_WIDTH + _NAME_WIDTH + 4)
    cli.print_text(f"{level}  {line.check.ljust(_NAME_WIDTH)}  {printable(first)}", len(margin))
    for said in filter(str.strip, further):
        cli.print_text(f"{margin}{printable(said)}")
    for detail in line.details[:_MAX_DETAILS]:
        cli.print_line(f"{margin}  {printable(detail)}")
    if len(line.details) > _MAX_DETAILS:
        cli.print_text(f"{margin}  … and {len(line.details) - _MAX_DETAILS} more")
    todo = "reflect-git doctor --fix" if line.fixable else line.hint
    if todo:
        cli.print_text(click.style(f"{margin}hint: {printable(todo)}", fg="yellow"))


def _finish_report(cli: CliContext, lines: list[CheckResult], would_fix: bool) -> int:
    levels = {line.level for line in lines}
    code = EXIT_REFUSED if ERROR in levels else EXIT_DECISION if DECIDE in levels else EXIT_OK
    fixable = sum(line.fixable for line in lines)
    if cli.json:
        cli.print_json({"ok": code == EXIT_OK, "findings": [_build_json(line) for line in lines]})
        return code
    if would_fix:
        cli.print_note(f"--fix would repair {fixable} of these" if fixable else "nothing to repair")
    return code


def _build_json(line: CheckResult) -> dict[str, Any]:
    return {**asdict(line), "hint": line.hint or None, "details": list(line.details)}


def _run_selftest(cli: CliContext) -> int:
    steps = []
    for step in doctor_env.run_selftest(cli.env):
        steps.append(step)
        if not cli.json:
            word = click.style("ok   ", fg="green") if step.ok else click.style("error", fg="red", bold=True)
            cli.print_text(f"{word}  {step.name.ljust(8)}  {printable(step.message)} ({step.seconds:.2f} s)", 17)
    ok = all(step.ok for step in steps)
    if cli.json:
        cli.print_json({"ok": ok, "steps": [asdict(step) for step in steps]})
    return EXIT_OK if ok else EXIT_REFUSED
