"""Run `reflect-git skills`: find repeated work, draft a skill, check it, deploy it, list the deployed ones."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli.confirm import confirm_revert
from reflect_git.cli.context import CliContext, one_line, printable
from reflect_git.cli.guard_dialog import find_guard_author
from reflect_git.cli.options import SubcommandGroup, dry_run_option, json_option, reason_option, yes_option
from reflect_git.cli.output.console import edit_file
from reflect_git.cli.output.history_view import format_day
from reflect_git.cli.review_setup import format_undo_hint, open_context, print_diff, require_typed_yes
from reflect_git.errors import ReflectError
from reflect_git.records.ids import plural
from reflect_git.rules import revert
from reflect_git.rules.derived_files import refresh_derived_files
from reflect_git.rules.revert import RevertOptions
from reflect_git.skills import deploy, detect
from reflect_git.skills import draft as drafts
from reflect_git.skills.draft import Finding, Gap
from reflect_git.targets.target_files import SKILL_FILE

if TYPE_CHECKING:
    from reflect_git.rules.context import Context
    from reflect_git.skills.deploy import DeployedSkill

_CLASSES = ("missing-knowledge", "process-gap")
_PROGRESS_SECONDS = 1.0


@click.group(cls=SubcommandGroup)
def skills_command() -> None:
    """Turn repeated work into a skill that a person has edited.

    \b
    reflect-git skills candidates      the same commands in three or more sessions
    reflect-git skills new 3f9a2c1d    draft a SKILL.md from one
    reflect-git skills edit NAME       open the draft in your editor
    reflect-git skills deploy NAME     write it to .claude/skills, in one commit
    """


@skills_command.command("candidates")
@json_option
@click.pass_obj
def candidates(cli: CliContext) -> None:
    """List repeated work in past sessions, and root causes that a skill would answer.

    \b
    reflect-git skills candidates
    """
    ctx = open_context(cli)
    found = _list_gaps(cli, ctx)
    if cli.json:
        cli.print_json([{**_gap_json(gap), "answer": drafts.choose_answer(gap)[0]} for gap in found])
        return
    if not found:
        cli.print_note("no repeated work found: it takes three steps in three sessions")
    for gap in found:
        answer, row = drafts.choose_answer(gap)
        cli.print_text(f"{click.style(gap.key, fg='yellow')}  {printable(one_line(gap.title, 100))}")
        for number, command in enumerate(gap.commands, 1):
            cli.print_line(printable(f"    {number}. {one_line(command, 70)}"))
        cli.print_text(printable(f"    {'; '.join(gap.sources)}"))
        cli.print_text(printable(f"    {row}"))
        if answer == "skill":
            cli.print_line(f"    draft it: reflect-git skills new {gap.key}")


@skills_command.command("new")
@click.argument("key", metavar="[ID]", default="")
@click.option("--name", metavar="NAME", default="", help="The name of the skill, such as deploy-docs.")
@click.option("--about", metavar="TEXT", default="", help="Without an ID: what the skill is for.")
@dry_run_option
@json_option
@click.pass_obj
def new(cli: CliContext, key: str, name: str, about: str, dry_run: bool) -> None:
    """Draft a SKILL.md in the store. It says what fits the work, and refuses if a rule is enough.

    \b
    reflect-git skills new 3f9a2c1d --name deploy-docs
    """
    if bool(key) == bool(about):
        raise ReflectError("what is the skill for?", "give an ID of 'skills candidates', or --about TEXT", "usage", 2)
    ctx = open_context(cli, writes=not dry_run)
    gap = drafts.build_request_gap(about) if about else _find_gap(cli, ctx, key)
    row = drafts.require_skill(gap)
    chosen = drafts.check_name(name or drafts.build_name(gap))
    if dry_run:
        text, path = drafts.render_scaffold(gap, chosen), None
    else:
        made = drafts.write_draft(ctx.store, gap, chosen)
        text, path = made.text, made.path
    if cli.json:
        cli.print_json({"name": chosen, "path": path, "row": row, "text": text})
        return
    cli.print_line(printable(text))
    cli.print_text(f"{'would draft' if dry_run else 'drafted'} '{chosen}': {row}")
    if path:
        cli.print_note(f"hint: nobody uses it until a person edits it: reflect-git skills edit {chosen}")


@skills_command.command("edit")
@click.argument("name")
@click.pass_obj
def edit(cli: CliContext, name: str) -> None:
    """Open a draft in your editor, then check it.

    \b
    reflect-git skills edit deploy-docs
    """
    store = cli.open_store(create=False)
    draft = drafts.load_draft(store, name)
    if not cli.is_at_terminal or cli.is_inside_client:
        raise ReflectError("a person edits a skill", f"run it in a terminal, or edit '{draft.path}'", "approval")
    edit_file(cli.env, store, draft.path)
    _print_findings(cli, drafts.check_skill(draft.path))
    if drafts.load_draft(store, name).is_edited:
        cli.print_note(f"hint: deploy it: reflect-git skills deploy {name}")


@skills_command.command("check")
@click.argument("path", metavar="NAME|PATH")
@json_option
@click.pass_obj
def check(cli: CliContext, path: str) -> int:
    """Check a draft, or any SKILL.md: its fields, length, secrets, scripts, and what runs without being asked.

    \b
    reflect-git skills check deploy-docs
    reflect-git skills check .claude/skills/deploy-docs
    """
    store = cli.find_store()
    where = os.path.join(path, SKILL_FILE) if os.path.isdir(path) else path
    if store and os.sep not in path and not os.path.exists(path):
        where = drafts.load_draft(store, path).path
    found = drafts.check_skill(os.path.abspath(where))
    if cli.json:
        listed = [one._asdict() for one in found]
        cli.print_json({"path": where, "ok": not drafts.has_problem(found), "findings": listed})
    else:
        _print_findings(cli, found)
    return 1 if drafts.has_problem(found) else 0


@skills_command.command("deploy")
@click.argument("name")
@click.option("--global", "is_global", is_flag=True, help="For all projects: ~/.claude/skills.")
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def deploy_draft(cli: CliContext, name: str, is_global: bool, dry_run: bool) -> None:
    """Write an edited draft where Claude Code finds skills, in one commit that can be reverted.

    \b
    reflect-git skills deploy deploy-docs
    """
    ctx = open_context(cli, writes=not dry_run)
    made = deploy.plan_deployment(ctx, drafts.load_draft(ctx.store, name), is_global)
    if dry_run:
        if cli.json:
            cli.print_json({"learning": None, "commit": None, "diff": made.diff})
        else:
            print_diff(cli, made.diff)
        return
    by = find_guard_author(cli, ctx, "deploying a skill")
    is_shown = require_typed_yes(cli, made.findings, made.diff)
    if not is_shown and not cli.json:
        print_diff(cli, made.diff)
    if not is_shown and not cli.confirm(f"deploy '{name}'? Claude Code loads it from its next session on"):
        raise ReflectError("nothing was changed", code="declined")
    done = deploy.write_deployment(ctx, made, by)
    refresh_derived_files(ctx.store, cli.env, cli.scan(ctx.store))
    if cli.json:
        cli.print_json({"learning": done.learning, "commit": done.commit, "diff": done.diff})
        return
    cli.print_text(printable(f"deployed '{name}' to '{done.target}', commit {done.commit[:10]}"))
    cli.print_note(format_undo_hint(by["road"], done.commit))


@skills_command.command("list")
@json_option
@click.pass_obj
def list_skills(cli: CliContext) -> None:
    """List deployed skills with their uses, and drafts.

    \b
    reflect-git skills list
    """
    store = cli.find_store()
    scan = cli.scan(store) if store else None
    deployed = deploy.list_deployed(scan) if scan else []
    waiting = drafts.list_drafts(store) if store else []
    returned = deploy.count_recurrences(store, scan, deployed) if store and scan else {}
    if cli.json:
        cli.print_json(
            {
                "skills": [_skill_json(one, returned.get(one.name)) for one in deployed],
                "drafts": [one.name for one in waiting],
            }
        )
        return
    if not deployed and not waiting:
        cli.print_note("no skills; to find repeated work: reflect-git skills candidates")
    for one in deployed:
        project = one.learning["project"]
        uses = f"{plural(one.uses, 'use')} in {plural(one.sessions, 'session')}" if one.uses else "not used"
        last = f", last {format_day(one.last)}" if one.last else ""
        where = f"in {project['name']}" if project else "everywhere"
        cli.print_text(printable(f"{one.name}  {where}, since {format_day(one.since)}: {uses}{last}"))
        if returned.get(one.name):
            times = plural(returned[one.name], "session")
            cli.print_text(click.style(f"    the failure it is for came back in {times} since", fg="yellow"))
        if one.is_unused(time.time()):
            advice = f"    unused for {deploy.UNUSED_DAYS} days: reflect-git skills retire {one.name}"
            cli.print_text(click.style(advice, fg="yellow"))
    for draft in waiting:
        state, verb = ("edited, not deployed", "deploy") if draft.is_edited else ("draft, not edited", "edit")
        cli.print_text(f"{draft.name}  {state}: reflect-git skills {verb} {draft.name}")


@skills_command.command("retire")
@click.argument("name")
@reason_option
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def retire(cli: CliContext, name: str, reason: str, dry_run: bool) -> None:
    """Remove a deployed skill, in one commit that can be reverted. Without one, delete the draft of this name.

    \b
    reflect-git skills retire deploy-docs
    """
    ctx = open_context(cli, writes=not dry_run)
    if any(one.name == name for one in drafts.list_drafts(ctx.store)):
        if not dry_run and not cli.confirm(f"delete the draft '{name}'?"):
            raise ReflectError("nothing was changed", code="declined")
        if not dry_run:
            drafts.remove_draft(ctx.store, name)
        cli.print_text(f"{'would delete' if dry_run else 'deleted'} the draft '{name}'")
        return
    chosen = revert.select_by_name(ctx, deploy.find_deployed(ctx, name)["id"])
    confirm_revert(cli, ctx, chosen, RevertOptions(False, False, reason), dry_run)


def _list_gaps(cli: CliContext, ctx: Context) -> list[Gap]:
    """List repeated work, then the root causes of a class that a skill may answer."""
    started, is_shown = time.monotonic(), sys.stderr.isatty() and not cli.json

    def show_progress(number: int, count: int) -> None:
        if is_shown and time.monotonic() - started > _PROGRESS_SECONDS:
            sys.stderr.write(f"\rreading past sessions: {100 * number // max(1, count)}% ")
            sys.stderr.flush()

    flows = detect.find_workflows(ctx, show_progress)
    if is_shown and time.monotonic() - started > _PROGRESS_SECONDS:
        sys.stderr.write("\r\x1b[K")
    causes = [
        made for made in ctx.scan.history.decisions
        if made["kind"] == "rootcause" and made["meta"]["class"] in _CLASSES
        and made["id"] not in ctx.scan.history.void_decisions
    ]  # fmt: skip
    return [*map(drafts.build_workflow_gap, flows), *map(drafts.build_cause_gap, causes)]


def _find_gap(cli: CliContext, ctx: Context, key: str) -> Gap:
    listed = [gap for gap in _list_gaps(cli, ctx) if gap.key.startswith(key)]
    if len(listed) != 1:
        said = "is not the id of repeated work" if not listed else "is the start of several ids"
        raise ReflectError(f"'{key}' {said}", "list them: reflect-git skills candidates", "missing")
    return listed[0]


def _print_findings(cli: CliContext, found: list[Finding]) -> None:
    for one in found:
        colour = "red" if one.kind == drafts.RISK else "yellow"
        cli.print_text(click.style(printable(f"{one.kind}: {one.message}"), fg=colour))
    if not found:
        cli.print_text("no problems found")


def _gap_json(gap: Gap) -> dict[str, Any]:
    return {
        "id": gap.key, "title": gap.title, "steps": list(gap.purposes), "commands": list(gap.commands),
        "sources": list(gap.sources), "scope": gap.scope,
    }  # fmt: skip


def _skill_json(one: DeployedSkill, returned: int | None) -> dict[str, Any]:
    return {
        "name": one.name, "learning": one.learning["id"], "path": one.path, "project": one.learning["project"],
        "since": one.since, "uses": one.uses, "sessions": one.sessions, "last": one.last or None, "returned": returned,
    }  # fmt: skip
