"""Taking decisions back: entries leave their files by id, what was replaced comes back, one commit says so.

A decision is never deleted. A `reverted` one reopens it, and may be taken back itself: what files become of it is the
difference between what was in force and what is in force then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.model.ids import utc_precise
from reflect_git.model.schema import SWITCHING_KINDS
from reflect_git.sitting import bytes_before, declining, effects, links
from reflect_git.sitting.bytes_before import is_about_file
from reflect_git.sitting.writing import Approved, Step, message, shown, write
from reflect_git.store import memory
from reflect_git.store.fold import History

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Decision, Learning
    from reflect_git.review.risks import Finding
    from reflect_git.sitting.effects import Shift
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.review import Sitting

LAST = "last"
# Until it is carried out nobody has decided it.
NOBODY: By = {"road": "terminal", "name": "", "email": ""}
_SIGNALS = 20  # named in a commit
_AT_ONCE = ("reverted", "applied", "archived")  # one command makes several of them


_SAYING = {"dismissed": "the no to", "never": "the never to"}  # to a signal: in a sentence, not in a commit


@dataclass(frozen=True)
class Chosen:
    """Decisions to take back, the commit they were made in where it is known, and what to call it."""

    decisions: tuple[Decision, ...]
    commit: str = ""
    title: str = ""


@dataclass(frozen=True)
class Wanted:
    """`force`: also entries that were reworded since. `reopen`: the signals behind a learning wait again."""

    force: bool = False
    reopen: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Reversal:
    """One change, whole: the preview is the write. `title` is for the commit, `told` for a sentence."""

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


def find(sitting: Sitting, name: str) -> Chosen:
    """What a learning, a decision or a commit of the store names; the beginning of an id or a hash is enough."""
    history = sitting.scan.history
    decisions = {made["id"]: made for made in history.decisions}
    try:
        identity = memory.find([*history.learnings, *decisions], name)
    except ReflectError as error:
        commit = _commit(sitting, name) if error.code == "unknown-id" else None
        if commit is None:
            raise _unknown(sitting, name, error) from None
        return Chosen(_decided_in(sitting, commit), commit)
    if identity in decisions:
        return Chosen(together(history, decisions[identity]))
    return Chosen(together(history, _approval(history, identity)))


def _unknown(sitting: Sitting, name: str, error: ReflectError) -> ReflectError:
    """A signal is a moment: what can be taken back is the decision about it."""
    if error.code != "unknown-id":
        return error
    try:
        signal = memory.find(sitting.scan.columns["id"], name)
    except ReflectError:
        return ReflectError(error.message, "see what is in force with 'reflect-git rules --all'", error.code)
    made = sitting.scan.history.last_word(signal)
    hint = f"take that back with 'reflect-git revert {made['id']}'" if made else "nothing was decided about it"
    return ReflectError(f"'{signal}' is a signal, not a decision", hint, code="unknown-id")


def _commit(sitting: Sitting, name: str) -> str | None:
    return sitting.store.git.resolve(f"{name}^{{commit}}") if re.fullmatch("[0-9a-f]{4,40}", name) else None


def _decided_in(sitting: Sitting, commit: str) -> tuple[Decision, ...]:
    named = bytes_before.trailers_of(sitting.store, commit).get("Decision", [])
    found = tuple(made for made in sitting.scan.history.decisions if made["id"] in named)
    if not found:
        raise ReflectError(f"nothing was decided in '{commit[:10]}'", "see 'git log main' in the store", "unknown-id")
    return found


def _approval(history: History, identity: str) -> Decision:
    made = next((one for one in history.decisions if one["id"] == history.learnings[identity]["decision"]), None)
    if made is None:
        raise ReflectError(f"the approval of '{identity}' is not here yet", "run 'reflect-git sync'", code="unknown-id")
    return made


def together(history: History, decision: Decision) -> tuple[Decision, ...]:
    """What was decided in one step is taken back in one: an approval with what it replaced, a revert of several."""
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
    """The learning that an approval or a replacement is for."""
    return made["kind"], made["meta"].get("by") if made["kind"] == "superseded" else made["subject"]


def _mark(made: Decision) -> tuple[object, ...]:
    return made["kind"], made["machine"], made["timestamp"], made["by"]


def propose(sitting: Sitting, chosen: Chosen, wanted: Wanted | None = None) -> Reversal:
    """The exact change. Nothing is written."""
    wanted = wanted or Wanted()
    history = sitting.scan.history
    taken = _open(history, chosen.decisions)
    whole = len(taken) == len(chosen.decisions)
    now = utc_precise()
    made = reverted(sitting, taken, now, wanted)
    after = with_decisions(sitting, made)
    shifted, unwritten = _written_before(sitting, taken, effects.shifts(history, after))
    found = effects.of(sitting.place, shifted, wanted.force)
    commit = (chosen.commit if whole else "") or bytes_before.commit_if_needed(sitting, taken)
    steps = bytes_before.exact(sitting, commit, taken, found.steps)
    links.require_single_names(sitting.place, [step.plan for step in steps])
    notes = [*found.notes, *unwritten, *_standing(history, after, taken), *_asked_again(taken)]
    notes += [_elsewhere(one) for one in found.waits]
    waiting = {one["id"] for one in found.waits}
    made = tuple(_marked(one, "waits") if one["subject"] in waiting else one for one in made)
    made = tuple(_marked(one, "left") if one["subject"] in found.left else one for one in made)
    title, told = (chosen.title or title_of(history, taken, mark) for mark in ("", "'"))
    return Reversal(sitting.place, title, made, tuple(steps), tuple(notes), told)


def _open(history: History, decisions: Sequence[Decision]) -> list[Decision]:
    """Those that stand, what they are about first; refused if none does, or if another one has to go first."""
    standing = [made for made in decisions if made["id"] not in history.void]
    if not standing:
        raise _taken_back(decisions[0], history)
    for made in standing:
        _require_revertible(history, made)
    kinds = {made["id"]: made["kind"] for made in history.decisions}
    return sorted(standing, key=lambda made: "superseded" in (made["kind"], kinds.get(made["reopens"] or "")))


def _taken_back(first: Decision, history: History) -> ReflectError:
    """Named as people do: an approval by the learning."""
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
    """Whether a person took findings of an audit as they are; that switches nothing."""
    return made["kind"] == "policy" and "accepted" in made["meta"]


def switches(made: Decision) -> bool:
    return made["kind"] in SWITCHING_KINDS and not accepts(made)


def _is_known(history: History, made: Decision) -> bool:
    return made["subject"] in history.learnings


def _switch_back(made: Decision) -> str:
    """Without the value of before: no hint tells people to switch a safety off."""
    if made["kind"] != "policy":
        return f"see 'reflect-git {'resume' if made['kind'] == 'capture' else 'remote'}'"
    verb = "enable' or 'reflect-git disable" if made["subject"] == "reflect.capture" else f"config {made['subject']}"
    return f"policies are switched by their own command: see 'reflect-git {verb}'"


def reverted(
    sitting: Sitting, taken: Sequence[Decision], now: str, wanted: Wanted | None = None
) -> tuple[Decision, ...]:
    """For each of these, the decision that takes it back."""
    return tuple(_reverted(sitting, made, now, wanted or Wanted()) for made in taken)


def _reverted(sitting: Sitting, made: Decision, now: str, wanted: Wanted) -> Decision:
    signals = made["meta"].get("signals") if made["subject"].startswith("SIG-") else None
    meta: dict[str, Any] = {"signals": signals} if signals else {}
    if wanted.reopen and made["kind"] == "approved":
        meta["reopen"] = True
    return memory.decision(
        sitting.store, "reverted", made["subject"], NOBODY, now, key=made["key"], target=made["target"],
        reason=wanted.reason, reopens=made["id"], meta=meta,
    )  # fmt: skip


def _marked(made: Decision, mark: str) -> Decision:
    """`waits`: recorded here, while its file is not; carried out when the project is seen. `left`: the file had no
    entry to take out, so there is none to put back."""
    return {**made, "meta": {**made["meta"], mark: True}}


def _written_before(
    sitting: Sitting, taken: Sequence[Decision], shifted: Sequence[Shift]
) -> tuple[list[Shift], list[str]]:
    """Without what would come into a file from which the revert that is taken back took nothing, and without words that
    were chosen among several, which an `applied` decision wrote; and notes on that."""
    left = {one["subject"] for one in taken if one["meta"].get("left") and one["machine"] == sitting.store.machine}
    chosen = _chosen(sitting.scan.history, taken)
    absent = [one for one in shifted if one.old is None and one.id in left - chosen]
    notes = [f"'{one.rule.target.path}' had no entry of '{one.id}' before: it is left as it is" for one in absent]
    asked = [one["subject"] for one in taken if one["kind"] == "amended" and one["subject"] in chosen]
    notes += [f"'{identity}' waits for your choice of its words: reflect-git review" for identity in asked]
    return [one for one in shifted if one not in absent and one.id not in chosen], notes


def _chosen(history: History, taken: Sequence[Decision]) -> set[str]:
    """The learnings whose words were chosen among several by what is taken back, whatever took it back before."""
    by_id = {made["id"]: made for made in history.decisions}
    roots = [declining.root_of(by_id, one)[0] for one in taken]
    return {root["subject"] for root in roots if root["kind"] == "amended" and root["meta"].get("left")}


def with_decisions(sitting: Sitting, made: Sequence[Decision]) -> History:
    """As people would have decided with these, too."""
    return History(_learnings(sitting), [*sitting.scan.history.decisions, *made], ())


def without(sitting: Sitting, taken: Sequence[Decision]) -> History:
    """As if these had never been decided."""
    gone = {made["id"] for made in taken}
    kept = [made for made in sitting.scan.history.decisions if made["id"] not in gone]
    return History(_learnings(sitting), kept, ())


def _learnings(sitting: Sitting) -> list[Learning]:
    """As they were approved."""
    return [record for identity, record in sitting.scan.others.items() if identity.startswith("LRN-")]


def _standing(history: History, after: History, taken: Sequence[Decision]) -> list[str]:
    """A learning that two machines took back is out of force until both are taken back."""
    notes = []
    for subject in dict.fromkeys(made["subject"] for made in taken if _is_known(history, made)):
        stood = [made for made in taken if made in history.against(subject)]
        notes += [
            f"'{subject}' stays out of force: '{one['id']}' of {one['machine']} stands against it"
            for one in (after.against(subject) if stood else ())
        ]
    return notes


def _asked_again(taken: Sequence[Decision]) -> list[str]:
    return [f"'{one['subject']}' waits for your yes: reflect-git review" for one in taken if declining.is_no(one)]


def _elsewhere(learning: Mapping[str, Any]) -> str:
    project = learning["project"] or {"name": "another project"}
    return (
        f"'{learning['id']}' belongs to the project '{project['name']}': recorded, its file is changed when you next "
        "review, approve, edit or revert there"
    )


def title_of(history: History, taken: Sequence[Decision], mark: str = "") -> str:
    """What is undone by it, for people, without words that nobody approved; `mark` stands round approved ones."""
    by_id = {made["id"]: made for made in history.decisions}
    first, times = taken[0], 0
    while first["kind"] == "reverted" and first["reopens"] in by_id:
        first, times = by_id[first["reopens"]], times + 1
    learning = history.learnings.get(first["subject"])
    is_no = declining.is_no(first)
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
    """Whoever undoes that a rule went puts it back: a commit says so, too."""
    if made["meta"].get("change") == "remove":
        return "the removal of "
    return "the change of the file for " if mark else ""


def _of_file(made: Decision) -> str:
    return "the restore of" if "restored" in made["meta"] else "the removal of what Claude wrote into"


def carry_out(
    sitting: Sitting, reversal: Reversal, by: By, asked: Iterable[Finding] = (), basis: Mapping[str, str] | None = None
) -> Approved:  # fmt: skip
    """Write what was proposed: files and records in one commit. `asked`: the links that a person said yes to; `basis`:
    the recorded answer that it rests on, if it rests on one."""
    now = utc_precise()  # of the answer, not of what was shown
    answer = {"answer": dict(basis)} if basis else {}
    made: list[Decision] = [
        {**one, "by": by, "timestamp": now, "meta": {**one["meta"], **answer}} for one in reversal.made
    ]
    text = message(sitting, f"revert: {memory.title(reversal.title)}", _trailers(sitting, reversal), by)
    first = (*reversal.learnings, reversal.made[0]["id"])[0]
    done = write(sitting, first, reversal.steps, made, text, asked)
    return replace(done, warnings=list(reversal.notes))


def _trailers(sitting: Sitting, reversal: Reversal) -> list[tuple[str, str]]:
    signals = [one["subject"] for one in reversal.made if one["subject"].startswith("SIG-")]
    targets = [one["target"]["path"] for one in reversal.made if one["target"]]
    known = sitting.scan.history.learnings
    homes = [known[one]["project"] for one in reversal.learnings if one in known and known[one]["scope"] == "project"]
    projects = [home["key"] for home in homes if home]
    return [
        *(("Signal-Id", one) for one in signals[:_SIGNALS]), *(("Learning-Id", one) for one in reversal.learnings),
        *(("Decision", one["id"]) for one in reversal.made), *(("Reverts", one) for one in reversal.reverts),
        *(("Target", one) for one in dict.fromkeys(targets)), *(("Project", one) for one in dict.fromkeys(projects)),
    ]  # fmt: skip


def take_back(sitting: Sitting, learning: str, by: By) -> Approved:
    """An approval, for who has just given it: the question is open again."""
    return carry_out(sitting, propose(sitting, find(sitting, learning), Wanted(reopen=True)), by)
