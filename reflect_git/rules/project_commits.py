"""Propose a project's rules to its team: a branch with one commit per learning.

Commits are based on the repository, not on the work tree, so uncommitted changes are never included.
"""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reflect_git import redact
from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files
from reflect_git.platform.project import top_of
from reflect_git.platform.project_git import Checkout, ProposalBranch
from reflect_git.rules import file_changes, project_files
from reflect_git.rules.approve import item_of, matches_text, target_of
from reflect_git.rules.snapshot import parse_entries
from reflect_git.store import api
from reflect_git.store.local import projects
from reflect_git.targets import improvements, target_files
from reflect_git.targets import plan as plans
from reflect_git.targets.plan import Plan, format_diff
from reflect_git.targets.target_files import AGENTS_IMPORT, LOCAL_FILE, Target

if TYPE_CHECKING:
    from reflect_git.records.schema import Decision, Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.project_files import Place

BRANCH = "reflect/learnings"
_SHARED_KINDS = ("project", "rules", "agents", "agent", "dir", "improvements")
_MAX_QUOTES, _QUOTE_LENGTH = 5, 300


@dataclass(frozen=True)
class ProposedCommit:
    """One learning and its change; `commit` is empty until it is committed."""

    learning: Learning
    plan: Plan
    commit: str = ""

    @property
    def diff(self) -> str:
        return format_diff(self.plan, self.plan.path)  # a repository only gets project rules, never global ones


@dataclass
class TeamProposal:
    """The result of proposing to a team.

    `existing`: learnings that the branch or its base already has. `staged`: new files that were added to the index.
    """

    branch: ProposalBranch
    commits: list[ProposedCommit] = field(default_factory=list)
    existing: list[Learning] = field(default_factory=list)
    staged: list[str] = field(default_factory=list)

    def commands(self) -> dict[str, list[str]]:
        """Return the next commands to type, by purpose and in order; empty once the branch is merged."""
        branch = self.branch
        if branch.is_merged:
            return {}
        name, remote = shlex.quote(branch.name), branch.get_remote()
        found = {"look": [f"git log -p HEAD..{name}"], "merge": branch.get_merge_commands()}
        if remote:
            is_gitlab = "gitlab" in branch.get_remote_url(remote)
            ask = f"glab mr create --source-branch {name}" if is_gitlab else f"gh pr create --head {name}"
            found["send"] = [f"git push -u {shlex.quote(remote)} {name}", f"{ask} --fill"]
        return found


def select_learnings(ctx: Context, names: Sequence[str]) -> list[Learning]:
    """Return the named learnings, or all that this project's repository may have, oldest first."""
    _require_project(ctx)
    in_force = {one["id"]: one for one in ctx.scan.history.get_rules_in_force()}
    if not names:
        return sorted((one for one in in_force.values() if not _find_obstacle(ctx, one)), key=_get_sort_key)
    found = {}
    for name in names:
        learning = in_force[_find_id(ctx, in_force, name)]
        obstacle = _find_obstacle(ctx, learning)
        if obstacle:
            raise ReflectError(f"'{learning['id']}' {obstacle}", "see 'reflect-git rules'", code="propose")
        found[learning["id"]] = learning
    return sorted(found.values(), key=_get_sort_key)


def _require_project(ctx: Context) -> None:
    if not ctx.place.root or top_of(ctx.place.root) is None:
        raise ReflectError(
            "this folder is in no git repository", "run it in the project that a rule belongs to", code="no-project"
        )


def _find_id(ctx: Context, in_force: Iterable[str], name: str) -> str:
    try:
        return api.find_id(in_force, name)
    except ReflectError as error:
        if error.code == "unknown-id" and _is_known(ctx, name):
            raise ReflectError(f"'{name}' is not in force", f"see 'reflect-git show {name}'", error.code) from None
        raise ReflectError(error.message, "see 'reflect-git rules'", error.code) from None


def _is_known(ctx: Context, name: str) -> bool:
    try:
        return bool(api.find_id(ctx.scan.history.learnings, name))
    except ReflectError:
        return False


def _find_obstacle(ctx: Context, learning: Learning) -> str:
    """Return why the project's repository must not get a learning, or "" if it may."""
    if learning["scope"] == "global" or target_of(learning).is_global:
        return "is for all your projects, not for this one"
    if not ctx.place.is_in_scope(learning):
        project = learning["project"] or {"name": "another project"}
        return f"belongs to '{project['name']}'"
    if learning["target"]["kind"] not in _SHARED_KINDS:
        return f"is in '{learning['target']['path']}', which is yours alone"
    if file_changes.section_of(ctx.scan.history, learning) not in ("", improvements.SECTIONS[0]):
        return "is settled already"
    return ""


def _get_sort_key(learning: Learning) -> tuple[str, str]:
    return learning["timestamp"], learning["id"]


def propose_to_team(
    ctx: Context, learnings: Sequence[Learning], name: str = "", quotes: bool = False, dry_run: bool = False
) -> TeamProposal:  # fmt: skip
    """Commit each learning that is not there yet, then move the branch: all of them or none.

    The branch can be merged at once: new files that the work tree already has are added to the index.
    """
    branch = ProposalBranch(ctx.store.git.program, ctx.place.root, name or BRANCH, ctx.env)
    found = TeamProposal(branch)
    drafts: dict[str, bytes | None] = {}
    for learning in learnings:
        path = target_of(learning).path
        before = drafts[path] if path in drafts else branch.read(path)
        plan = _plan_entry(ctx, branch, learning, before)
        if plan is None:
            found.existing.append(learning)
            continue
        drafts[path] = plan.after
        message = _build_message(ctx, learning, quotes)
        commit = "" if dry_run else branch.commit(path, plan.after or b"", message)
        found.commits.append(ProposedCommit(learning, plan, commit))
    if found.commits and not dry_run:
        branch.update_ref()
    if not dry_run and not branch.is_merged:
        found.staged = branch.stage_new_files()
    return found


def _plan_entry(ctx: Context, branch: ProposalBranch, learning: Learning, before: bytes | None) -> Plan | None:
    """Return the change of a learning's file, or None if the entry already says the same."""
    target, item = target_of(learning), item_of(learning)
    there = parse_entries(target.kind, before)
    if learning["id"] in there:
        return None if matches_text(learning, there[learning["id"]]) else _plan_rewording(ctx, learning, before or b"")
    for old in learning["supersedes"]:
        known = ctx.scan.history.learnings.get(old)
        if known and old in there and target.form == "block":
            return plans.replace(target, before or b"", item_of(known), item, force=True)
    return plans.add(_with_agents_import(branch, target, before), before, item)


def _plan_rewording(ctx: Context, learning: Learning, before: bytes) -> Plan:
    was = ctx.scan.other_records[learning["id"]]
    return plans.replace(target_of(learning), before, item_of(was), item_of(learning), force=True)


def _with_agents_import(branch: ProposalBranch, target: Target, before: bytes | None) -> Target:
    """Import AGENTS.md in a new CLAUDE.md beside it; Claude Code would otherwise stop reading AGENTS.md."""
    if before is not None or target.kind not in ("project", "dir"):
        return target
    beside = posixpath.join(posixpath.dirname(target.path), target_files.AGENTS_FILE)
    return target._replace(opening=AGENTS_IMPORT) if branch.read(beside) is not None else target


def _build_message(ctx: Context, learning: Learning, quotes: bool) -> str:
    """Return the commit message: title, reason, and the id that every clone knows; quotes only on request."""
    parts = [api.format_title(learning["title"] or learning["text"]), _format_reason(learning)]
    if quotes:
        parts += _format_quotes(ctx, learning)
    parts.append(f"Learning-Id: {learning['id']}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _format_reason(learning: Learning) -> str:
    day, count = learning["timestamp"][:10], len(learning["signals"])
    times = "once" if count == 1 else f"{count} times"
    noted = f"Approved on {day}" + (f", after it came up {times}." if count else ".")
    return f"{' '.join(learning['reason'].split())}\n\n{noted}" if learning["reason"] else noted


def _format_quotes(ctx: Context, learning: Learning) -> list[str]:
    """Quote the user's words, as far as they are still stored; marked, so that no line is parsed as a trailer."""
    listed = ctx.scan.columns["id"]
    found = []
    for record_id in learning["signals"][:_MAX_QUOTES]:
        if record_id in listed:
            text = redact.redact(ctx.scan.get_signals([listed.index(record_id)])[0]["content"])
            found.append(f"> {redact.flatten(text, _QUOTE_LENGTH)}")
    return ["\n".join(found)] if found else []


def get_commit_advice(ctx: Context, name: str, env: Mapping[str, str], stand: str) -> str:
    """Return one line of advice about committing a file, or "" if git does not track or want it.

    In another folder the line names the project: an undo may reach another project.
    """
    path = os.path.join(ctx.place.root, name)
    top = top_of(os.path.dirname(path))
    if top is None:
        return ""
    git = ctx.store.git
    checkout = Checkout(git.program, top)
    if checkout.is_tracked(path):
        return "" if checkout.is_unchanged(path) else format_commit_advice([name], top, stand)
    if not os.path.lexists(path) or checkout.is_ignored(
        path, _find_global_ignore_file(git.get_user_config(), env, ctx.place.home)
    ):
        return ""
    return (
        f"keep it out of git: add {name} to .gitignore"
        if name == LOCAL_FILE
        else format_commit_advice([name], top, stand)
    )


def find_uncommitted(
    program: str, changes: Iterable[tuple[str, bytes | None]], *, staged: bool
) -> dict[str, list[str]]:
    """Map each repository to the files whose committed contents differ from the wanted ones.

    With `staged`, also files that are only in the index, because a commit would include their old contents.
    """
    found: dict[str, list[str]] = {}
    for path, after in changes:
        real = os.path.realpath(path)  # the file that is written
        top = top_of(os.path.dirname(real))
        checkout = Checkout(program, top) if top else None
        if top and checkout and _differs_from_commit(checkout, real, after, staged):
            found.setdefault(top, []).append(os.path.relpath(real, top))
    return found


def _differs_from_commit(checkout: Checkout, path: str, after: bytes | None, staged: bool) -> bool:
    """Tell whether the committed contents of a file differ from `after`."""
    committed = checkout.read_head_file(path)
    return committed != after if committed is not None else staged and checkout.is_tracked(path)


def format_commit_advice(names: list[str], top: str, stand: str, changed: str = "changed") -> str:
    """Return the advice to commit files, naming the project if it is not the current one."""
    is_here = top_of(stand) == top
    them = "it" if len(names) == 1 else "them"
    where, when = ("your project", "with your work") if is_here else (f"'{top}'", "there")
    return f"{', '.join(names)} {changed} in {where}; commit {them} {when}"


def _find_global_ignore_file(settings: Mapping[str, list[str]], env: Mapping[str, str], home: str) -> str:
    """Return the path of the person's global git ignore file."""
    named = settings.get("core.excludesfile", [""])[-1]
    if named.startswith("~/"):
        return os.path.join(home, named[2:])
    return named or os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git", "ignore")


def with_project_of(ctx: Context, decisions: Sequence[Decision]) -> Context:
    """Return the context for the project where the files of these decisions are; unchanged if here or nowhere."""
    known = ctx.scan.history.learnings
    learnings = [known[made["subject"]] for made in decisions if made["subject"] in known]
    absent = [one for one in learnings if not ctx.place.is_in_scope(one)]
    if not absent:
        return ctx
    found = [place for place in _find_places(ctx, absent[0]) if place.is_in_scope(absent[0])]
    having = [place for place in found if _has_entry(place, absent[0])]
    return ctx.replace(place=(having or found)[0]) if found else ctx


def _find_places(ctx: Context, learning: Learning) -> Iterator[Place]:
    """Yield the known places where a learning's project may be."""
    named = project_files.find_path_projects([learning], ctx.place.home)
    for root in (*named, *reversed(projects.list_folders(ctx.store))):
        yield project_files.find_place(ctx.store, ctx.env, root)


def _has_entry(place: Place, learning: Learning) -> bool:
    try:
        data = instruction_files.read(place.path_of(target_of(learning)))
    except ReflectError:
        return False
    return learning["id"].encode() in (data or b"")
