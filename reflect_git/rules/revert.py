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
from reflect_git.records.schema import SETTING_KINDS
from reflect_git.rules import dismiss, file_changes, snapshot, write_change
from reflect_git.rules.write_change import Step, WriteResult, build_diff, build_message, commit_change
from reflect_git.store import api, target_versions
from reflect_git.store.main import backups
from reflect_git.store.repository import MAIN, get_record_path
from reflect_git.targets.plan import Plan
from reflect_git.targets.target_files import Target

if TYPE_CHECKING:
    from reflect_git.candidates.gate import Finding
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.file_changes import RuleChange
    from reflect_git.rules.project_files import Place
    from reflect_git.store.repository import Store

LAST = "last"
# Placeholder until the change is confirmed.
PLACEHOLDER_BY: DecisionAuthor = {"road": "terminal", "name": "", "email": ""}
_MAX_SIGNALS = 20  # named in a commit
_BATCH_KINDS = ("reverted", "applied", "archived")  # one command makes several of these


_DISMISSAL_LABELS = {
    "dismissed": "the no to",
    "never": "the never to",
}  # of a signal: used in sentences, not in commits


_GUARD_LABELS = {
    "guarded": "the guard of",
    "unguarded": "the removal of the guard of",
    "pinned": "the pin of",
    "kept": "the keeping of",
}


@dataclass(frozen=True)
class Selection:
    """Decisions to revert, their commit if known, and a title."""

    decisions: tuple[Decision, ...]
    commit: str = ""
    title: str = ""


@dataclass(frozen=True)
class RevertOptions:
    """Options of a revert.

    `force`: also remove entries reworded since. `reopen`: the signals behind a learning return to review.
    """

    force: bool = False
    reopen: bool = False
    reason: str = ""


@dataclass(frozen=True)
class RevertPlan:
    """A planned revert; the same steps are previewed and written. `title` is for the commit, `label` for a sentence."""

    place: Place
    title: str
    decisions: tuple[Decision, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    label: str = ""

    @property
    def diff(self) -> str:
        return build_diff(self.place, (step.plan for step in self.steps))

    @property
    def learnings(self) -> list[str]:
        return list(dict.fromkeys(one["subject"] for one in self.decisions if one["subject"].startswith("LRN-")))

    @property
    def reverts(self) -> list[str]:
        return [one["reopens"] for one in self.decisions if one["reopens"]]


def select_by_name(ctx: Context, name: str) -> Selection:
    """Choose what the prefix of a learning id, a decision id or a commit hash of the store names."""
    history = ctx.scan.history
    decisions = {made["id"]: made for made in history.decisions}
    try:
        record_id = api.find_id([*history.learnings, *decisions], name)
    except ReflectError as error:
        commit = _resolve_commit(ctx, name) if error.code == "unknown-id" else None
        if commit is None:
            raise _with_signal_hint(ctx, name, error) from None
        return Selection(_find_decisions_in(ctx, commit), commit)
    if record_id in decisions:
        return Selection(find_batch(history, decisions[record_id]))
    return Selection(find_batch(history, _find_approval(history, record_id)))


def _with_signal_hint(ctx: Context, name: str, error: ReflectError) -> ReflectError:
    """Return the error with a better hint if the name is a signal: only decisions about it can be reverted."""
    if error.code != "unknown-id":
        return error
    try:
        signal = api.find_id(ctx.scan.columns["id"], name)
    except ReflectError:
        return ReflectError(error.message, "see what is in force with 'reflect-git rules --all'", error.code)
    made = ctx.scan.history.get_last_decision(signal)
    hint = f"take that back with 'reflect-git revert {made['id']}'" if made else "nothing was decided about it"
    return ReflectError(f"'{signal}' is a signal, not a decision", hint, code="unknown-id")


def _resolve_commit(ctx: Context, name: str) -> str | None:
    return ctx.store.git.resolve(f"{name}^{{commit}}") if re.fullmatch("[0-9a-f]{4,40}", name) else None


def _find_decisions_in(ctx: Context, commit: str) -> tuple[Decision, ...]:
    named = read_trailers(ctx.store, commit).get("Decision", [])
    found = tuple(made for made in ctx.scan.history.decisions if made["id"] in named)
    if not found:
        raise ReflectError(f"nothing was decided in '{commit[:10]}'", "see 'git log main' in the store", "unknown-id")
    return found


def _find_approval(history: History, record_id: str) -> Decision:
    made = next((one for one in history.decisions if one["id"] == history.learnings[record_id]["decision"]), None)
    if made is None:
        raise ReflectError(
            f"the approval of '{record_id}' is not here yet", "run 'reflect-git sync'", code="unknown-id"
        )
    return made


def find_batch(history: History, decision: Decision) -> tuple[Decision, ...]:
    """Return all decisions made in the same step: an approval with what it replaced, or a revert of several."""
    kind = decision["kind"]
    if kind in ("approved", "superseded"):
        learning = decision["subject"] if kind == "approved" else decision["meta"].get("by", decision["id"])
        named = (("approved", learning), ("superseded", learning))
        return tuple(made for made in history.decisions if _get_learning_key(made) in named) or (decision,)
    if kind not in _BATCH_KINDS:
        return (decision,)
    mark = kind, decision["machine"], decision["timestamp"], decision["by"]
    return tuple(made for made in history.decisions if _get_batch_key(made) == mark)


def _get_learning_key(made: Decision) -> tuple[str, object]:
    """Return the kind, and the learning that an approval or a replacement is for."""
    return made["kind"], made["meta"].get("by") if made["kind"] == "superseded" else made["subject"]


def _get_batch_key(made: Decision) -> tuple[object, ...]:
    return made["kind"], made["machine"], made["timestamp"], made["by"]


def plan_revert(ctx: Context, chosen: Selection, wanted: RevertOptions | None = None) -> RevertPlan:
    """Plan the exact change; write nothing."""
    wanted = wanted or RevertOptions()
    history = ctx.scan.history
    taken = _filter_open(history, chosen.decisions)
    whole = len(taken) == len(chosen.decisions)
    now = utc_precise()
    made = build_reverts(ctx, taken, now, wanted)
    after = with_decisions(ctx, made)
    shifted, unwritten = _drop_unwritten(ctx, taken, file_changes.diff_histories(history, after))
    found = file_changes.plan_file_changes(ctx.place, shifted, wanted.force)
    commit = (chosen.commit if whole else "") or find_commit_if_needed(ctx, taken)
    steps = with_exact_bytes(ctx, commit, taken, found.steps)
    write_change.require_single_names(ctx.place, [step.plan for step in steps])
    notes = [*found.notes, *unwritten, *_note_still_reverted(history, after, taken), *_note_reopened(taken)]
    notes += [_note_other_project(one) for one in found.not_here]
    waiting = {one["id"] for one in found.not_here}
    made = tuple(_add_mark(one, "waits") if one["subject"] in waiting else one for one in made)
    made = tuple(_add_mark(one, "left") if one["subject"] in found.without_entry else one for one in made)
    title, label = (chosen.title or describe_decisions(history, taken, mark) for mark in ("", "'"))
    return RevertPlan(ctx.place, title, made, tuple(steps), tuple(notes), label)


def _filter_open(history: History, decisions: Sequence[Decision]) -> list[Decision]:
    """Return the decisions still in force, subjects first; raise if there are none or another must go first."""
    standing = [made for made in decisions if made["id"] not in history.void_decisions]
    if not standing:
        raise _find_reverted_error(decisions[0], history)
    for made in standing:
        _require_revertible(history, made)
    kinds = {made["id"]: made["kind"] for made in history.decisions}
    return sorted(standing, key=lambda made: "superseded" in (made["kind"], kinds.get(made["reopens"] or "")))


def _find_reverted_error(first: Decision, history: History) -> ReflectError:
    """Return the error for a decision that is already reverted; an approval is named by its learning."""
    standing = [
        one for one in history.decisions if one["reopens"] == first["id"] and one["id"] not in history.void_decisions
    ]
    return _already_reverted_error(first["subject"] if first["kind"] == "approved" else first["id"], standing[-1])


def _already_reverted_error(record_id: str, by: Decision) -> ReflectError:
    return ReflectError(
        f"'{record_id}' was taken back already, on {by['timestamp'][:10]}",
        f"to take that back, too: reflect-git revert {by['id']}", code="reverted",
    )  # fmt: skip


def _require_revertible(history: History, made: Decision) -> None:
    if is_switch(made):
        what = "a policy" if made["kind"] == "policy" else "a setting"
        raise ReflectError(
            f"'{made['id']}' switched {what}, '{made['subject']}'", _get_switch_hint(made), code="policy"
        )
    against = (
        history.get_decisions_against(made["subject"])
        if made["kind"] == "approved" and _is_known_learning(history, made)
        else []
    )
    for one in against:
        by = one["meta"].get("by")
        if one["kind"] == "superseded" and by:
            raise ReflectError(
                f"'{made['subject']}' was replaced by '{by}'", f"first: reflect-git revert {by}", code="replaced"
            )
        raise _already_reverted_error(made["subject"], one)


def is_acceptance(made: Decision) -> bool:
    """Tell whether a decision accepts audit findings; such a policy decision switches nothing."""
    return made["kind"] == "policy" and "accepted" in made["meta"]


def is_switch(made: Decision) -> bool:
    return made["kind"] in SETTING_KINDS and not is_acceptance(made)


def _is_known_learning(history: History, made: Decision) -> bool:
    return made["subject"] in history.learnings


def _get_switch_hint(made: Decision) -> str:
    """Return a hint for switching back, without the old value: no hint suggests turning a safeguard off."""
    if made["kind"] != "policy":
        return f"see 'reflect-git {'resume' if made['kind'] == 'capture' else 'remote'}'"
    verb = "enable' or 'reflect-git disable" if made["subject"] == "reflect.capture" else f"config {made['subject']}"
    return f"policies are switched by their own command: see 'reflect-git {verb}'"


def build_reverts(
    ctx: Context, taken: Sequence[Decision], now: str, wanted: RevertOptions | None = None
) -> tuple[Decision, ...]:
    """Make the decision that reverts each of these."""
    return tuple(_build_revert(ctx, made, now, wanted or RevertOptions()) for made in taken)


def _build_revert(ctx: Context, made: Decision, now: str, wanted: RevertOptions) -> Decision:
    signals = made["meta"].get("signals") if made["subject"].startswith("SIG-") else None
    meta: dict[str, Any] = {"signals": signals} if signals else {}
    if wanted.reopen and made["kind"] == "approved":
        meta["reopen"] = True
    return api.build_decision(
        ctx.store, "reverted", made["subject"], PLACEHOLDER_BY, now, key=made["key"], target=made["target"],
        reason=wanted.reason, reopens=made["id"], meta=meta,
    )  # fmt: skip


def _add_mark(made: Decision, mark: str) -> Decision:
    """Mark a decision with `waits` or `left`.

    `waits`: recorded now, carried out when the project is here. `left`: the file had no entry to remove, so
    nothing is put back.
    """
    return {**made, "meta": {**made["meta"], mark: True}}


def _drop_unwritten(
    ctx: Context, taken: Sequence[Decision], shifted: Sequence[RuleChange]
) -> tuple[list[RuleChange], list[str]]:
    """Drop changes that must not be written, and return notes about them.

    Dropped: entries that the reverted revert never removed from the file, and wordings chosen among several, which an
    `applied` decision wrote.
    """
    left = {one["subject"] for one in taken if one["meta"].get("left") and one["machine"] == ctx.store.machine}
    chosen = _find_chosen_wordings(ctx.scan.history, taken)
    absent = [one for one in shifted if one.old is None and one.id in left - chosen]
    notes = [f"'{one.rule.target.path}' had no entry of '{one.id}' before: it is left as it is" for one in absent]
    asked = [one["subject"] for one in taken if one["kind"] == "amended" and one["subject"] in chosen]
    notes += [f"'{identity}' waits for your choice of its words: reflect-git review" for identity in asked]
    return [one for one in shifted if one not in absent and one.id not in chosen], notes


def _find_chosen_wordings(history: History, taken: Sequence[Decision]) -> set[str]:
    """Return the learnings whose wording was chosen among several by these decisions, through any chain of reverts."""
    by_id = {made["id"]: made for made in history.decisions}
    roots = [dismiss.find_root(by_id, one)[0] for one in taken]
    return {root["subject"] for root in roots if root["kind"] == "amended" and root["meta"].get("left")}


def with_decisions(ctx: Context, made: Sequence[Decision]) -> History:
    """Return the history with these decisions added."""
    return History(_list_learnings(ctx), [*ctx.scan.history.decisions, *made], ())


def without_decisions(ctx: Context, taken: Sequence[Decision]) -> History:
    """Return the history without these decisions."""
    gone = {made["id"] for made in taken}
    kept = [made for made in ctx.scan.history.decisions if made["id"] not in gone]
    return History(_list_learnings(ctx), kept, ())


def _list_learnings(ctx: Context) -> list[Learning]:
    """Return the learnings as they were approved."""
    return [record for identity, record in ctx.scan.other_records.items() if identity.startswith("LRN-")]


def _note_still_reverted(history: History, after: History, taken: Sequence[Decision]) -> list[str]:
    """Note learnings that stay out of force because another machine's revert is still in force."""
    notes = []
    for subject in dict.fromkeys(made["subject"] for made in taken if _is_known_learning(history, made)):
        stood = [made for made in taken if made in history.get_decisions_against(subject)]
        notes += [
            f"'{subject}' is still not in force, because of '{one['id']}' of {one['machine']}"
            for one in (after.get_decisions_against(subject) if stood else ())
        ]
    return notes


def _note_reopened(taken: Sequence[Decision]) -> list[str]:
    return [f"'{one['subject']}' waits for your yes: reflect-git review" for one in taken if dismiss.is_decline(one)]


def _note_other_project(learning: Mapping[str, Any]) -> str:
    project = learning["project"] or {"name": "another project"}
    return (
        f"'{learning['id']}' belongs to the project '{project['name']}': recorded, its file is changed when you next "
        "review, approve, edit or revert there"
    )


def describe_decisions(history: History, taken: Sequence[Decision], mark: str = "") -> str:
    """Describe what is undone, without words that nobody approved; `mark` quotes approved ones."""
    by_id = {made["id"]: made for made in history.decisions}
    first, times = taken[0], 0
    while first["kind"] == "reverted" and first["reopens"] in by_id:
        first, times = by_id[first["reopens"]], times + 1
    learning = history.learnings.get(first["subject"])
    is_no = dismiss.is_decline(first)
    mark = "'" if is_no else mark
    name = f"{mark}{learning['title'] or learning['text']}{mark}" if learning else first["subject"]
    name = "the acceptance of what an audit found" if is_acceptance(first) else name
    name = f"{_describe_file_change(first)} {name}" if is_about_file(first) else name
    name = f"the change of {name}" if first["kind"] == "amended" else name
    name = f"{_GUARD_LABELS[first['kind']]} {name}" if first["kind"] in _GUARD_LABELS else name
    name = f"{_describe_applied(first, mark)}{name}" if first["kind"] == "applied" and not is_no else name
    name = f"{_DISMISSAL_LABELS[first['kind']]} {name}" if mark and first["kind"] in _DISMISSAL_LABELS else name
    name = f"the no here to {name}" if is_no else name
    return f"the revert of {name}" if times % 2 else name


def _describe_applied(made: Decision, mark: str) -> str:
    """Describe an applied change; undoing a removal puts the rule back, and the commit says so."""
    if made["meta"].get("change") == "remove":
        return "the removal of "
    return "the change of the file for " if mark else ""


def _describe_file_change(made: Decision) -> str:
    return "the restore of" if "restored" in made["meta"] else "the removal of what Claude wrote into"


def write_revert(
    ctx: Context,
    reversal: RevertPlan,
    by: DecisionAuthor,
    asked: Iterable[Finding] = (),
    basis: Mapping[str, str] | None = None,
) -> WriteResult:
    """Write what was proposed: files and records in one commit.

    `asked`: the links that a person agreed to. `basis`: the recorded answer that approved it, if any.
    """
    now = utc_precise()  # the time of the answer, not of the preview
    answer = {"answer": dict(basis)} if basis else {}
    made: list[Decision] = [
        {**one, "by": by, "timestamp": now, "meta": {**one["meta"], **answer}} for one in reversal.decisions
    ]
    text = build_message(ctx, f"revert: {api.format_title(reversal.title)}", _build_trailers(ctx, reversal), by)
    first = (*reversal.learnings, reversal.decisions[0]["id"])[0]
    done = commit_change(ctx, first, reversal.steps, made, text, asked)
    return replace(done, warnings=list(reversal.notes))


def _build_trailers(ctx: Context, reversal: RevertPlan) -> list[tuple[str, str]]:
    signals = [one["subject"] for one in reversal.decisions if one["subject"].startswith("SIG-")]
    targets = [one["target"]["path"] for one in reversal.decisions if one["target"]]
    known = ctx.scan.history.learnings
    homes = [known[one]["project"] for one in reversal.learnings if one in known and known[one]["scope"] == "project"]
    projects = [home["key"] for home in homes if home]
    return [
        *(("Signal-Id", one) for one in signals[:_MAX_SIGNALS]), *(("Learning-Id", one) for one in reversal.learnings),
        *(("Decision", one["id"]) for one in reversal.decisions), *(("Reverts", one) for one in reversal.reverts),
        *(("Target", one) for one in dict.fromkeys(targets)), *(("Project", one) for one in dict.fromkeys(projects)),
    ]  # fmt: skip


def revert_approval(ctx: Context, learning: str, by: DecisionAuthor) -> WriteResult:
    """Revert an approval that was just given, and return its candidate to review."""
    return write_revert(ctx, plan_revert(ctx, select_by_name(ctx, learning), RevertOptions(reopen=True)), by)


def read_trailers(store: Store, commit: str) -> dict[str, list[str]]:
    """Map the names of a commit's trailers to their values."""
    asked = ("log", "-1", "--no-show-signature", "--format=%(trailers:only,unfold)", "--end-of-options", commit)
    found: dict[str, list[str]] = {}
    for line in store.git.run(*asked).out.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition(": ")
        found.setdefault(name, []).append(value)
    return found


def find_commit_if_needed(ctx: Context, taken: Sequence[Decision]) -> str:
    """Return the commit of decisions that changed only a file: nothing else records its earlier contents."""
    needed = [made for made in taken if is_file_only(ctx.scan.history, made)]
    if not needed:
        return ""
    asked = ("log", "-1", "--diff-filter=A", "--format=%H", MAIN, "--", get_record_path(needed[0]["id"]))
    return ctx.store.git.run(*asked).out.decode("ascii").strip()


def is_file_only(history: History, made: Decision) -> bool:
    """Tell whether a decision changed a file but no rule: re-applied, taken from another machine, or restored."""
    by_id = {one["id"]: one for one in history.decisions}
    while made["reopens"] in by_id:  # undoing such a decision is one as well
        made = by_id[made["reopens"]]
    return made["kind"] == "applied" or is_about_file(made)


def is_about_file(made: Decision) -> bool:
    """Tell whether a decision is a restore, or removes what Claude wrote: its subject is not a learning."""
    return made["kind"] == "reverted" and not made["subject"].startswith(("LRN-", "SIG-"))


def with_exact_bytes(ctx: Context, commit: str, taken: Sequence[Decision], steps: Sequence[Step]) -> list[Step]:
    """Return the steps, with the exact earlier bytes wherever a file is still as the commit left it."""
    if not commit:
        return list(steps)
    found = {(step.plan.target.is_global, step.plan.path): step for step in steps}
    known = _find_bytes_before(ctx, commit, taken)
    for made in taken:
        target = _target_of(made)
        if target is None:
            continue
        where = target.is_global, target.path
        if where in known and (where in found or is_file_only(ctx.scan.history, made)):
            found[where] = _replace_bytes(found.get(where), target, *known[where], made)
        elif is_file_only(ctx.scan.history, made):
            raise _changed_since_error(ctx, commit, target)
    return [step for step in found.values() if step.plan.before != step.plan.after]


def _replace_bytes(step: Step | None, target: Target, now: bytes | None, was: bytes | None, made: Decision) -> Step:
    if step is None:
        return Step(Plan(target, now, was, made["subject"], "restore"))
    return Step(step.plan._replace(after=was), step.present, step.absent)


def _target_of(made: Decision) -> Target | None:
    return Target(made["target"]["kind"], made["target"]["path"]) if made["target"] else None


def _find_bytes_before(
    ctx: Context, commit: str, taken: Sequence[Decision]
) -> dict[tuple[bool, str], tuple[bytes | None, bytes | None]]:
    """Map each file to its bytes now and before the commit, if it is still as the commit left it."""
    store, place = ctx.store, ctx.place
    names = read_trailers(store, commit).get("Backup", [])
    kept = dict(backups.read_contents(store, names[0])) if names else {}
    mirrors = store.git.diff_blobs(f"{commit}^", commit, f"{target_versions.FOLDER}/{store.machine}")[0] if kept else {}
    found = {}
    for made in taken:
        target = _target_of(made)
        blob = mirrors.get(snapshot.get_snapshot_path(store, place, target)) if target else None
        if target is None or blob is None:
            continue
        path = place.path_of(target)
        now = instruction_files.read(path)
        left = target_versions.parse_header(next(store.git.blobs([blob]))).get("sha256")
        if path in kept and left == (None if now is None else fingerprint(now)):
            found[target.is_global, target.path] = now, kept[path]
    return found


def _changed_since_error(ctx: Context, commit: str, target: Target) -> ReflectError:
    names = read_trailers(ctx.store, commit).get("Backup", [])
    hint = f"what it was before is kept: reflect-git restore {names[0]}" if names else "edit it by hand"
    return ReflectError(f"'{target.path}' was changed since", hint, "changed", EXIT_DECISION)
