"""What this person learned in a project, offered to those who work in it, too: a branch with one commit per learning.

Each commit is made upon what the repository has, not upon the work tree: changes that nobody committed stay out of it.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reflect_git.adapters import redact
from reflect_git.adapters.branch import Branch
from reflect_git.apply import improvements, targets
from reflect_git.apply import plan as plans
from reflect_git.apply.diff import diff
from reflect_git.apply.plan import Plan
from reflect_git.apply.targets import AGENTS_IMPORT, Target
from reflect_git.errors import ReflectError
from reflect_git.sitting import effects
from reflect_git.sitting.approve import item_of, says, target_of
from reflect_git.sitting.versions import entries_in
from reflect_git.store import memory

if TYPE_CHECKING:
    from reflect_git.model.schema import Learning
    from reflect_git.sitting.review import Sitting

BRANCH = "reflect/learnings"
_SHARED = ("project", "rules", "agents", "dir", "improvements")
_QUOTES, _QUOTE = 5, 300


@dataclass(frozen=True)
class Proposed:
    """One learning and its change; `commit` is empty as long as it is none."""

    learning: Learning
    plan: Plan
    commit: str = ""

    @property
    def diff(self) -> str:
        return diff(self.plan, self.plan.path)  # what a repository may have is never for all projects


@dataclass
class Proposal:
    """`there` are learnings that the branch, or what it is made upon, has already; `staged` new files that were added
    to the index."""

    branch: Branch
    made: list[Proposed] = field(default_factory=list)
    there: list[Learning] = field(default_factory=list)
    staged: list[str] = field(default_factory=list)

    def commands(self) -> dict[str, list[str]]:
        """Return what a person can type next: what to do → the commands, in order; nothing once it is merged."""
        branch = self.branch
        if branch.is_merged:
            return {}
        name, remote = shlex.quote(branch.name), branch.remote()
        found = {"look": [f"git log -p HEAD..{name}"], "merge": branch.commands_to_merge()}
        if remote:
            is_gitlab = "gitlab" in branch.remote_url(remote)
            ask = f"glab mr create --source-branch {name}" if is_gitlab else f"gh pr create --head {name}"
            found["send"] = [f"git push -u {shlex.quote(remote)} {name}", f"{ask} --fill"]
        return found


def chosen(sitting: Sitting, names: Sequence[str]) -> list[Learning]:
    """Those that were named, or all of this project that its repository may have; in the order they were learned."""
    _require_project(sitting)
    in_force = {one["id"]: one for one in sitting.scan.history.in_force()}
    if not names:
        return sorted((one for one in in_force.values() if not _obstacle(sitting, one)), key=_moment)
    found = {}
    for name in names:
        learning = in_force[_find(sitting, in_force, name)]
        obstacle = _obstacle(sitting, learning)
        if obstacle:
            raise ReflectError(f"'{learning['id']}' {obstacle}", "see 'reflect-git rules'", code="propose")
        found[learning["id"]] = learning
    return sorted(found.values(), key=_moment)


def _require_project(sitting: Sitting) -> None:
    from reflect_git.adapters.project import top_of

    if not sitting.place.root or top_of(sitting.place.root) is None:
        raise ReflectError(
            "this folder is in no git repository", "run it in the project that a rule belongs to", code="no-project"
        )


def _find(sitting: Sitting, in_force: Iterable[str], name: str) -> str:
    try:
        return memory.find(in_force, name)
    except ReflectError as error:
        if error.code == "unknown-id" and _is_known(sitting, name):
            raise ReflectError(f"'{name}' is not in force", f"see 'reflect-git show {name}'", error.code) from None
        raise ReflectError(error.message, "see 'reflect-git rules'", error.code) from None


def _is_known(sitting: Sitting, name: str) -> bool:
    try:
        return bool(memory.find(sitting.scan.history.learnings, name))
    except ReflectError:
        return False


def _obstacle(sitting: Sitting, learning: Learning) -> str:
    """Why the project's repository does not get it; empty if it may."""
    if learning["scope"] == "global" or target_of(learning).is_global:
        return "is for all your projects, not for this one"
    if not sitting.place.reaches(learning):
        project = learning["project"] or {"name": "another project"}
        return f"belongs to '{project['name']}'"
    if learning["target"]["kind"] not in _SHARED:
        return f"is in '{learning['target']['path']}', which is yours alone"
    if effects.section_of(sitting.scan.history, learning) not in ("", improvements.SECTIONS[0]):
        return "is settled already"
    return ""


def _moment(learning: Learning) -> tuple[str, str]:
    return learning["timestamp"], learning["id"]


def propose(
    sitting: Sitting, learnings: Sequence[Learning], name: str = "", quotes: bool = False, dry_run: bool = False
) -> Proposal:  # fmt: skip
    """Make one commit for each that is not there yet, then move the branch; all of them or none. The branch can be
    merged at once: new files that the work tree has already are added to the index."""
    branch = Branch(sitting.store.git.program, sitting.place.root, name or BRANCH, sitting.env)
    found = Proposal(branch)
    drafts: dict[str, bytes | None] = {}
    for learning in learnings:
        path = target_of(learning).path
        before = drafts[path] if path in drafts else branch.read(path)
        plan = _planned(sitting, branch, learning, before)
        if plan is None:
            found.there.append(learning)
            continue
        drafts[path] = plan.after
        message = _message(sitting, learning, quotes)
        commit = "" if dry_run else branch.commit(path, plan.after or b"", message)
        found.made.append(Proposed(learning, plan, commit))
    if found.made and not dry_run:
        branch.move()
    if not dry_run and not branch.is_merged:
        found.staged = branch.stage_new()
    return found


def _planned(sitting: Sitting, branch: Branch, learning: Learning, before: bytes | None) -> Plan | None:
    """The change of its file; None where the entry is there and says what the learning says."""
    target, item = target_of(learning), item_of(learning)
    there = entries_in(target.kind, before)
    if learning["id"] in there:
        return None if says(learning, there[learning["id"]]) else _reworded(sitting, learning, before or b"")
    for old in learning["supersedes"]:
        known = sitting.scan.history.learnings.get(old)
        if known and old in there and target.form == "block":
            return plans.replace(target, before or b"", item_of(known), item, force=True)
    return plans.add(_opened(branch, target, before), before, item)


def _reworded(sitting: Sitting, learning: Learning, before: bytes) -> Plan:
    was = sitting.scan.others[learning["id"]]
    return plans.replace(target_of(learning), before, item_of(was), item_of(learning), force=True)


def _opened(branch: Branch, target: Target, before: bytes | None) -> Target:
    """A CLAUDE.md that is made anew begins with the AGENTS.md beside it, which Claude Code would not read any more."""
    if before is not None or target.kind not in ("project", "dir"):
        return target
    beside = posixpath.join(posixpath.dirname(target.path), targets.AGENTS_FILE)
    return target._replace(opening=AGENTS_IMPORT) if branch.read(beside) is not None else target


def _message(sitting: Sitting, learning: Learning, quotes: bool) -> str:
    """The title, why, and the id by which every clone knows the entry; words of sessions only on request."""
    parts = [memory.title(learning["title"] or learning["text"]), _reason(learning)]
    if quotes:
        parts += _quoted(sitting, learning)
    parts.append(f"Learning-Id: {learning['id']}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _reason(learning: Learning) -> str:
    day, count = learning["timestamp"][:10], len(learning["signals"])
    times = "once" if count == 1 else f"{count} times"
    noted = f"Approved on {day}" + (f", after it came up {times}." if count else ".")
    return f"{' '.join(learning['reason'].split())}\n\n{noted}" if learning["reason"] else noted


def _quoted(sitting: Sitting, learning: Learning) -> list[str]:
    """What was said, as far as it is still here; marked, so that nothing in it is a trailer of the commit."""
    listed = sitting.scan.columns["id"]
    found = []
    for identity in learning["signals"][:_QUOTES]:
        if identity in listed:
            text = redact.redact(sitting.scan.whole([listed.index(identity)])[0]["content"])
            found.append(f"> {redact.flatten(text, _QUOTE)}")
    return ["\n".join(found)] if found else []
