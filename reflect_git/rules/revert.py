"""Revert decisions: remove entries by id, bring back what they replaced, and record it in one commit.

Decisions are never deleted. A `reverted` decision cancels another one and can itself be reverted. The file changes are
the difference between the rules in force before and after.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.platform import instruction_files
from reflect_git.records.history import History
from reflect_git.records.ids import fingerprint, utc_precise
from reflect_git.records.schema import SWITCHING_KINDS
from reflect_git.rules import dismiss, file_changes, snapshot, write_change
from reflect_git.rules.write_change import Approved, Step, message, shown, write
from reflect_git.store import api
from reflect_git.store.main import backups
from reflect_git.store.repository import MAIN, path_of
from reflect_git.targets.plan import Plan
from reflect_git.targets.targets import Target

if TYPE_CHECKING:
    from reflect_git.candidates.gate import Finding
    from reflect_git.records.history import History
    from reflect_git.records.schema import By, Decision, Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.file_changes import Shift
    from reflect_git.rules.project_files import Place
    from reflect_git.store.repository import Store

LAST = "last"
# Placeholder until the change is confirmed.
NOBODY: By = {"road": "terminal", "name": "", "email": ""}
_SIGNALS = 20  # named in a commit
_AT_ONCE = ("reverted", "applied", "archived")  # one command makes several of these


_SAYING = {"dismissed": "the no to", "never": "the never to"}  # of a signal: used in sentences, not in commits


@dataclass(frozen=True)
class Chosen:
    """Decisions to revert, their commit if known, and a title."""

    decisions: tuple[Decision, ...]
    commit: str = ""
    title: str = ""


@dataclass(frozen=True)
class Wanted:
    """Options of a revert.

    `force`: also remove entries reworded since. `reopen`: the signals behind a learning return to review.
    """

    force: bool = False
    reopen: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Reversal:
    """A planned revert; the same steps are previewed and written. `title` is for the commit, `told` for a sentence."""

    place: Place
    title: str
    made: tuple[Decision, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    told: str = ""

    @property
    def diff(self) -> str:
        return shown(self.place, (step.plan for step in self.steps))

    @property
    def learnings(self) -> list[str]:
        return list(dict.fromkeys(one["subject"] for one in self.made if one["subject"].startswith("LRN-")))

    @property
    def reverts(self) -> list[str]:
        return [one["reopens"] for one in self.made if one["reopens"]]


def find(ctx: Context, name: str) -> Chosen:
    """Choose what the prefix of a learning id, a decision id or a commit hash of the store names."""
    history = ctx.scan.history
    decisions = {made["id"]: made for made in history.decisions}
    try:
        identity = api.find([*history.learnings, *decisions], name)
    except ReflectError as error:
        commit = _commit(ctx, name) if error.code == "unknown-id" else None
        if commit is None:
            raise _unknown(ctx, name, error) from None
        return Chosen(_decided_in(ctx, commit), commit)
    if identity in decisions:
        return Chosen(together(history, decisions[identity]))
    return Chosen(together(history, _approval(history, identity)))


def _unknown(ctx: Context, name: str, error: ReflectError) -> ReflectError:
    """Return the error with a better hint if the name is a signal: only decisions about it can be reverted."""
    if error.code != "unknown-id":
        return error
    try:
        signal = api.find(ctx.scan.columns["id"], name)
    except ReflectError:
        return ReflectError(error.message, "see what is in force with 'reflect-git rules --all'", error.code)
    made = ctx.scan.history.last_word(signal)
    hint = f"take that back with 'reflect-git revert {made['id']}'" if made else "nothing was decided about it"
    return ReflectError(f"'{signal}' is a signal, not a decision", hint, code="unknown-id")


def _commit(ctx: Context, name: str) -> str | None:
    return ctx.store.git.resolve(f"{name}^{{commit}}") if re.fullmatch("[0-9a-f]{4,40}", name) else None


def _decided_in(ctx: Context, commit: str) -> tuple[Decision, ...]:
    named = trailers_of(ctx.store, commit).get("Decision", [])
    found = tuple(made for made in ctx.scan.history.decisions if made["id"] in named)
    if not found:
        raise ReflectError(f"nothing was decided in '{commit[:10]}'", "see 'git log main' in the store", "unknown-id")
    return found


def _approval(history: History, identity: str) -> Decision:
    made = next((one for one in history.decisions if one["id"] == history.learnings[identity]["decision"]), None)
    if made is None:
        raise ReflectError(f"the approval of '{identity}' is not here yet", "run 'reflect-git sync'", code="unknown-id")
    return made


def together(history: History, decision: Decision) -> tuple[Decision, ...]:
    """Return all decisions made in the same step: an approval with what it replaced, or a revert of several."""
    kind = decision["kind"]
    if kind in ("approved", "superseded"):
        learning = decision["subject"] if kind == "approved" else decision["meta"].get("by", decision["id"])
        named = (("approved", learning), ("superseded", learning))
        return tuple(made for made in history.decisions if _belongs(made) in named) or (decision,)
    if kind not in _AT_ONCE:
        return (decision,)
    mark = kind, decision["machine"], decision["timestamp"], decision["by"]
    return tuple(made for made in history.decisions if _mark(made) == mark)


def _belongs(made: Decision) -> tuple[str, object]:
    """Return the kind, and the learning that an approval or a replacement is for."""
    return made["kind"], made["meta"].get("by") if made["kind"] == "superseded" else made["subject"]


def _mark(made: Decision) -> tuple[object, ...]:
    return made["kind"], made["machine"], made["timestamp"], made["by"]


def propose(ctx: Context, chosen: Chosen, wanted: Wanted | None = None) -> Reversal:
    """Plan the exact change; write nothing."""
    wanted = wanted or Wanted()
    history = ctx.scan.history
    taken = _open(history, chosen.decisions)
    whole = len(taken) == len(chosen.decisions)
    now = utc_precise()
    made = reverted(ctx, taken, now, wanted)
    after = with_decisions(ctx, made)
    shifted, unwritten = _written_before(ctx, taken, file_changes.shifts(history, after))
    found = file_changes.of(ctx.place, shifted, wanted.force)
    commit = (chosen.commit if whole else "") or commit_if_needed(ctx, taken)
    steps = exact(ctx, commit, taken, found.steps)
    write_change.require_single_names(ctx.place, [step.plan for step in steps])
    notes = [*found.notes, *unwritten, *_standing(history, after, taken), *_asked_again(taken)]
    notes += [_elsewhere(one) for one in found.waits]
    waiting = {one["id"] for one in found.waits}
    made = tuple(_marked(one, "waits") if one["subject"] in waiting else one for one in made)
    made = tuple(_marked(one, "left") if one["subject"] in found.left else one for one in made)
    title, told = (chosen.title or title_of(history, taken, mark) for mark in ("", "'"))
    return Reversal(ctx.place, title, made, tuple(steps), tuple(notes), told)


def _open(history: History, decisions: Sequence[Decision]) -> list[Decision]:
    """Return the decisions still in force, subjects first; raise if there are none or another must go first."""
    standing = [made for made in decisions if made["id"] not in history.void]
    if not standing:
        raise _taken_back(decisions[0], history)
    for made in standing:
        _require_revertible(history, made)
    kinds = {made["id"]: made["kind"] for made in history.decisions}
    return sorted(standing, key=lambda made: "superseded" in (made["kind"], kinds.get(made["reopens"] or "")))


def _taken_back(first: Decision, history: History) -> ReflectError:
    """Return the error for a decision that is already reverted; an approval is named by its learning."""
    standing = [one for one in history.decisions if one["reopens"] == first["id"] and one["id"] not in history.void]
    return _said_already(first["subject"] if first["kind"] == "approved" else first["id"], standing[-1])


def _said_already(identity: str, by: Decision) -> ReflectError:
    return ReflectError(
        f"'{identity}' was taken back already, on {by['timestamp'][:10]}",
        f"to take that back, too: reflect-git revert {by['id']}", code="reverted",
    )  # fmt: skip


def _require_revertible(history: History, made: Decision) -> None:
    if switches(made):
        what = "a policy" if made["kind"] == "policy" else "a setting"
        raise ReflectError(f"'{made['id']}' switched {what}, '{made['subject']}'", _switch_back(made), code="policy")
    against = history.against(made["subject"]) if made["kind"] == "approved" and _is_known(history, made) else []
    for one in against:
        by = one["meta"].get("by")
        if one["kind"] == "superseded" and by:
            raise ReflectError(
                f"'{made['subject']}' was replaced by '{by}'", f"first: reflect-git revert {by}", code="replaced"
            )
        raise _said_already(made["subject"], one)


def accepts(made: Decision) -> bool:
    """Tell whether a decision accepts audit findings; such a policy decision switches nothing."""
    return made["kind"] == "policy" and "accepted" in made["meta"]


def switches(made: Decision) -> bool:
    return made["kind"] in SWITCHING_KINDS and not accepts(made)


def _is_known(history: History, made: Decision) -> bool:
    return made["subject"] in history.learnings


def _switch_back(made: Decision) -> str:
    """Return a hint for switching back, without the old value: no hint suggests turning a safeguard off."""
    if made["kind"] != "policy":
        return f"see 'reflect-git {'resume' if made['kind'] == 'capture' else 'remote'}'"
    verb = "enable' or 'reflect-git disable" if made["subject"] == "reflect.capture" else f"config {made['subject']}"
    return f"policies are switched by their own command: see 'reflect-git {verb}'"


def reverted(ctx: Context, taken: Sequence[Decision], now: str, wanted: Wanted | None = None) -> tuple[Decision, ...]:
    """Make the decision that reverts each of these."""
    return tuple(_reverted(ctx, made, now, wanted or Wanted()) for made in taken)


def _reverted(ctx: Context, made: Decision, now: str, wanted: Wanted) -> Decision:
    signals = made["meta"].get("signals") if made["subject"].startswith("SIG-") else None
    meta: dict[str, Any] = {"signals": signals} if signals else {}
    if wanted.reopen and made["kind"] == "approved":
        meta["reopen"] = True
    return api.decision(
        ctx.store, "reverted", made["subject"], NOBODY, now, key=made["key"], target=made["target"],
        reason=wanted.reason, reopens=made["id"], meta=meta,
    )  # fmt: skip


def _marked(made: Decision, mark: str) -> Decision:
    """Mark a decision with `waits` or `left`.

    `waits`: recorded now, carried out when the project is here. `left`: the file had no entry to remove, so
    nothing is put back.
    """
    return {**made, "meta": {**made["meta"], mark: True}}


def _written_before(ctx: Context, taken: Sequence[Decision], shifted: Sequence[Shift]) -> tuple[list[Shift], list[str]]:
    """Drop changes that must not be written, and return notes about them.

    Dropped: entries that the reverted revert never removed from the file, and wordings chosen among several, which an
    `applied` decision wrote.
    """
    left = {one["subject"] for one in taken if one["meta"].get("left") and one["machine"] == ctx.store.machine}
    chosen = _chosen(ctx.scan.history, taken)
    absent = [one for one in shifted if one.old is None and one.id in left - chosen]
    notes = [f"'{one.rule.target.path}' had no entry of '{one.id}' before: it is left as it is" for one in absent]
    asked = [one["subject"] for one in taken if one["kind"] == "amended" and one["subject"] in chosen]
    notes += [f"'{identity}' waits for your choice of its words: reflect-git review" for identity in asked]
    return [one for one in shifted if one not in absent and one.id not in chosen], notes


def _chosen(history: History, taken: Sequence[Decision]) -> set[str]:
    """Return the learnings whose wording was chosen among several by these decisions, through any chain of reverts."""
    by_id = {made["id"]: made for made in history.decisions}
    roots = [dismiss.root_of(by_id, one)[0] for one in taken]
    return {root["subject"] for root in roots if root["kind"] == "amended" and root["meta"].get("left")}


def with_decisions(ctx: Context, made: Sequence[Decision]) -> History:
    """Return the history with these decisions added."""
    return History(_learnings(ctx), [*ctx.scan.history.decisions, *made], ())


def without(ctx: Context, taken: Sequence[Decision]) -> History:
    """Return the history without these decisions."""
    gone = {made["id"] for made in taken}
    kept = [made for made in ctx.scan.history.decisions if made["id"] not in gone]
    return History(_learnings(ctx), kept, ())


def _learnings(ctx: Context) -> list[Learning]:
    """Return the learnings as they were approved."""
    return [record for identity, record in ctx.scan.others.items() if identity.startswith("LRN-")]


def _standing(history: History, after: History, taken: Sequence[Decision]) -> list[str]:
    """Note learnings that stay out of force because another machine's revert is still in force."""
    notes = []
    for subject in dict.fromkeys(made["subject"] for made in taken if _is_known(history, made)):
        stood = [made for made in taken if made in history.against(subject)]
        notes += [
            f"'{subject}' is still not in force, because of '{one['id']}' of {one['machine']}"
            for one in (after.against(subject) if stood else ())
        ]
    return notes


def _asked_again(taken: Sequence[Decision]) -> list[str]:
    return [f"'{one['subject']}' waits for your yes: reflect-git review" for one in taken if dismiss.is_no(one)]


def _elsewhere(learning: Mapping[str, Any]) -> str:
    project = learning["project"] or {"name": "another project"}
    return (
        f"'{learning['id']}' belongs to the project '{project['name']}': recorded, its file is changed when you next "
        "review, approve, edit or revert there"
    )


def title_of(history: History, taken: Sequence[Decision], mark: str = "") -> str:
    """Describe what is undone, without words that nobody approved; `mark` quotes approved ones."""
    by_id = {made["id"]: made for made in history.decisions}
    first, times = taken[0], 0
    while first["kind"] == "reverted" and first["reopens"] in by_id:
        first, times = by_id[first["reopens"]], times + 1
    learning = history.learnings.get(first["subject"])
    is_no = dismiss.is_no(first)
    mark = "'" if is_no else mark
    name = f"{mark}{learning['title'] or learning['text']}{mark}" if learning else first["subject"]
    name = "the acceptance of what an audit found" if accepts(first) else name
    name = f"{_of_file(first)} {name}" if is_about_file(first) else name
    name = f"the change of {name}" if first["kind"] == "amended" else name
    name = f"{_of_applied(first, mark)}{name}" if first["kind"] == "applied" and not is_no else name
    name = f"{_SAYING[first['kind']]} {name}" if mark and first["kind"] in _SAYING else name
    name = f"the no here to {name}" if is_no else name
    return f"the revert of {name}" if times % 2 else name


def _of_applied(made: Decision, mark: str) -> str:
    """Describe an applied change; undoing a removal puts the rule back, and the commit says so."""
    if made["meta"].get("change") == "remove":
        return "the removal of "
    return "the change of the file for " if mark else ""


def _of_file(made: Decision) -> str:
    return "the restore of" if "restored" in made["meta"] else "the removal of what Claude wrote into"


def carry_out(
    ctx: Context, reversal: Reversal, by: By, asked: Iterable[Finding] = (), basis: Mapping[str, str] | None = None
) -> Approved:  # fmt: skip
    """Write what was proposed: files and records in one commit.

    `asked`: the links that a person agreed to. `basis`: the recorded answer that approved it, if any.
    """
    now = utc_precise()  # the time of the answer, not of the preview
    answer = {"answer": dict(basis)} if basis else {}
    made: list[Decision] = [
        {**one, "by": by, "timestamp": now, "meta": {**one["meta"], **answer}} for one in reversal.made
    ]
    text = message(ctx, f"revert: {api.title(reversal.title)}", _trailers(ctx, reversal), by)
    first = (*reversal.learnings, reversal.made[0]["id"])[0]
    done = write(ctx, first, reversal.steps, made, text, asked)
    return replace(done, warnings=list(reversal.notes))


def _trailers(ctx: Context, reversal: Reversal) -> list[tuple[str, str]]:
    signals = [one["subject"] for one in reversal.made if one["subject"].startswith("SIG-")]
    targets = [one["target"]["path"] for one in reversal.made if one["target"]]
    known = ctx.scan.history.learnings
    homes = [known[one]["project"] for one in reversal.learnings if one in known and known[one]["scope"] == "project"]
    projects = [home["key"] for home in homes if home]
    return [
        *(("Signal-Id", one) for one in signals[:_SIGNALS]), *(("Learning-Id", one) for one in reversal.learnings),
        *(("Decision", one["id"]) for one in reversal.made), *(("Reverts", one) for one in reversal.reverts),
        *(("Target", one) for one in dict.fromkeys(targets)), *(("Project", one) for one in dict.fromkeys(projects)),
    ]  # fmt: skip


def take_back(ctx: Context, learning: str, by: By) -> Approved:
    """Revert an approval that was just given, and return its candidate to review."""
    return carry_out(ctx, propose(ctx, find(ctx, learning), Wanted(reopen=True)), by)


def trailers_of(store: Store, commit: str) -> dict[str, list[str]]:
    """Map the names of a commit's trailers to their values."""
    asked = ("log", "-1", "--no-show-signature", "--format=%(trailers:only,unfold)", "--end-of-options", commit)
    found: dict[str, list[str]] = {}
    for line in store.git.run(*asked).out.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition(": ")
        found.setdefault(name, []).append(value)
    return found


def commit_if_needed(ctx: Context, taken: Sequence[Decision]) -> str:
    """Return the commit of decisions that changed only a file: nothing else records its earlier contents."""
    needed = [made for made in taken if is_of_file(ctx.scan.history, made)]
    if not needed:
        return ""
    asked = ("log", "-1", "--diff-filter=A", "--format=%H", MAIN, "--", path_of(needed[0]["id"]))
    return ctx.store.git.run(*asked).out.decode("ascii").strip()


def is_of_file(history: History, made: Decision) -> bool:
    """Tell whether a decision changed a file but no rule: re-applied, taken from another machine, or restored."""
    by_id = {one["id"]: one for one in history.decisions}
    while made["reopens"] in by_id:  # undoing such a decision is one as well
        made = by_id[made["reopens"]]
    return made["kind"] == "applied" or is_about_file(made)


def is_about_file(made: Decision) -> bool:
    """Tell whether a decision is a restore, or removes what Claude wrote: its subject is not a learning."""
    return made["kind"] == "reverted" and not made["subject"].startswith(("LRN-", "SIG-"))


def exact(ctx: Context, commit: str, taken: Sequence[Decision], steps: Sequence[Step]) -> list[Step]:
    """Return the steps, with the exact earlier bytes wherever a file is still as the commit left it."""
    if not commit:
        return list(steps)
    found = {(step.plan.target.is_global, step.plan.path): step for step in steps}
    known = _bytes_before(ctx, commit, taken)
    for made in taken:
        target = _target_of(made)
        if target is None:
            continue
        where = target.is_global, target.path
        if where in known and (where in found or is_of_file(ctx.scan.history, made)):
            found[where] = _with_bytes(found.get(where), target, *known[where], made)
        elif is_of_file(ctx.scan.history, made):
            raise _changed_since(ctx, commit, target)
    return [step for step in found.values() if step.plan.before != step.plan.after]


def _with_bytes(step: Step | None, target: Target, now: bytes | None, was: bytes | None, made: Decision) -> Step:
    if step is None:
        return Step(Plan(target, now, was, made["subject"], "restore"))
    return Step(step.plan._replace(after=was), step.present, step.absent)


def _target_of(made: Decision) -> Target | None:
    return Target(made["target"]["kind"], made["target"]["path"]) if made["target"] else None


def _bytes_before(
    ctx: Context, commit: str, taken: Sequence[Decision]
) -> dict[tuple[bool, str], tuple[bytes | None, bytes | None]]:
    """Map each file to its bytes now and before the commit, if it is still as the commit left it."""
    store, place = ctx.store, ctx.place
    names = trailers_of(store, commit).get("Backup", [])
    kept = dict(backups.contents(store, names[0])) if names else {}
    mirrors = store.git.changes(f"{commit}^", commit, f"{snapshot.FOLDER}/{store.machine}")[0] if kept else {}
    found = {}
    for made in taken:
        target = _target_of(made)
        blob = mirrors.get(snapshot.mirror_of(store, place, target)) if target else None
        if target is None or blob is None:
            continue
        path = place.path_of(target)
        now = instruction_files.read(path)
        left = snapshot.head_of(next(store.git.blobs([blob]))).get("sha256")
        if path in kept and left == (None if now is None else fingerprint(now)):
            found[target.is_global, target.path] = now, kept[path]
    return found


def _changed_since(ctx: Context, commit: str, target: Target) -> ReflectError:
    names = trailers_of(ctx.store, commit).get("Backup", [])
    hint = f"what it was before is kept: reflect-git restore {names[0]}" if names else "edit it by hand"
    return ReflectError(f"'{target.path}' was changed since", hint, "changed", EXIT_DECISION)
