"""Propose to go back to an earlier version of an instruction file, and do it if a policy says so.

Four findings propose it: the scores of sessions fell after a change (a Bayes factor), the last three scores are low,
the judge of the last session advises it, or events became more frequent after an approval (`harmful?`). Only the first
may act without a question, and only as `reflect.autorevert=apply` that a person decided. Each look judges again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reflect_git.effect import autorevert, verdict
from reflect_git.effect.autorevert import Drop
from reflect_git.effect.scores import load_scores
from reflect_git.effect.trend import GLOBAL_PREFIX
from reflect_git.errors import ReflectError
from reflect_git.records.ids import plural, utc_precise
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import approver, project_commits, revert
from reflect_git.rules.automatic import limits
from reflect_git.store import api, machines, policy
from reflect_git.targets.target_files import Target

if TYPE_CHECKING:
    from reflect_git.candidates.session_events import RecordedSession, SessionEvents
    from reflect_git.effect.from_store import Effects
    from reflect_git.effect.scores import Score
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning
    from reflect_git.rules.automatic.limits import Block
    from reflect_git.rules.context import Context
    from reflect_git.rules.revert import RevertPlan
    from reflect_git.rules.write_change import WriteResult
    from reflect_git.store.repository import Store

SETTING = "reflect.autorevert"
PROPOSE, APPLY, OFF = "propose", "apply", "off"
CHANNEL = "autorevert"
DROP, LOW, ADVISED, HARMFUL = "drop", "low", "advised", "harmful"
_REVERT = "revert"  # a recommendation of a judge
KEPT = "kept"  # the answer to a question, in the meta of a decision
_IN_SESSION = "in-session"
_CHANGE_KINDS = ("approved", "amended", "reverted", "superseded")
_LEAST_AFTER_LOW = 3


class FileKey(NamedTuple):
    """An instruction file: `project` is the key of its project, "" for a global file."""

    project: str
    path: str

    @property
    def figure(self) -> str:
        """Return its name in the figures of a session."""
        return self.path if self.project else GLOBAL_PREFIX + self.path


class WayBack(NamedTuple):
    """A proposal to take back the decisions of one change. `file` and versions: None for a rule that may do harm.

    `mean`: of the scores since the change. `blocks`: why it must not be done without a question; empty if it may.
    `is_anchored`: the judge was calibrated.
    """

    cause: str
    decisions: tuple[Decision, ...]
    rules: tuple[Learning, ...]
    file: FileKey | None = None
    back_to: int | None = None
    drop: Drop | None = None
    mean: float | None = None
    blocks: tuple[Block, ...] = ()
    is_anchored: bool = True

    @property
    def priority(self) -> int | None:
        """Return how soon to look at it, from 1 to 5; None without scores."""
        return None if self.mean is None else limits.get_priority(self.mean)

    @property
    def question(self) -> str:
        if self.cause == HARMFUL:
            return "retire this rule?"
        return f"back to v{self.back_to}?" if self.back_to else "take back this change?"

    @property
    def reason(self) -> str:
        if self.drop:
            sessions = plural(self.drop.after, "session")
            return f"scores fell by {self.drop.drop:.1f} after this change, in {sessions}"
        if self.cause == LOW:
            return f"the last three sessions scored {self.mean:.1f} on average"
        if self.cause == ADVISED:
            note = "" if self.is_anchored else " (not anchored: this judge was not calibrated, or failed)"
            return f"the judge advised it after the last session, which scored {self.mean:.1f}{note}"
        return "events became more frequent after its approval; this need not be its fault"

    def as_json(self) -> dict[str, Any]:
        return {
            "cause": self.cause, "question": self.question, "reason": self.reason, "back_to": self.back_to,
            "target": self.file.path if self.file else self.rules[0]["target"]["path"],
            "learnings": [rule["id"] for rule in self.rules], "decisions": [made["id"] for made in self.decisions],
            "drop": round(self.drop.drop, 2) if self.drop else None,
            "factor": float(f"{self.drop.factor:.3g}") if self.drop else None,
            "mean": None if self.mean is None else round(self.mean, 2), "priority": self.priority,
            "blocks": [{"reason": one.reason, "until": one.until or None} for one in self.blocks],
        }  # fmt: skip


class _Series(NamedTuple):
    """The scored sessions that loaded one file, oldest first, and the decisions that changed it by session number."""

    sessions: list[RecordedSession]
    scores: list[Score]
    changes: dict[int, list[Decision]]

    @property
    def values(self) -> list[float]:
        return [one.overall for one in self.scores]


def get_mode(store: Store, decisions: Iterable[Decision]) -> str:
    """Return what may be done. A value without a decision of this machine never acts."""
    mode = store.get_setting(SETTING, PROPOSE)
    if mode == APPLY and SETTING in policy.find_undecided(store, decisions):
        return PROPOSE
    return mode if mode in (PROPOSE, APPLY, OFF) else PROPOSE


def find_ways_back(ctx: Context, seen: SessionEvents, effects: Effects, now: str = "") -> list[WayBack]:
    """Return what to propose, the most urgent first. `effects`: of the rules in force."""
    history = ctx.scan.history
    if get_mode(ctx.store, history.decisions) == OFF:
        return []
    found = list(_find_by_scores(ctx, seen, now))
    taken = {rule["id"] for one in found for rule in one.rules}
    for one in effects.rules:
        rule = one.rule
        if one.judged.verdict.verdict == verdict.HARMFUL and rule["id"] not in taken:
            approval = next((made for made in history.decisions if made["id"] == rule["decision"]), None)
            if approval and not _is_kept_since(seen, history, [approval]):
                found.append(
                    WayBack(HARMFUL, (approval,), (rule,), blocks=_find_blocks(ctx, (rule,), (approval,), now))
                )
    return sorted(found, key=lambda one: (-(one.priority or 0), one.cause))


def _find_by_scores(ctx: Context, seen: SessionEvents, now: str) -> Iterator[WayBack]:
    history = ctx.scan.history
    own = machines.get_own_machines(ctx.store, history.decisions)
    # A session's own worker could write its scores, and others those of their machines: they do not count, and they
    # do not hide another score.
    scores = load_scores(
        one
        for one in ctx.scan.other_records.values()
        if str(one["id"]).startswith("EVL-") and one["judge"]["kind"] != _IN_SESSION
        and (own is None or one["machine"] in own)
    )  # fmt: skip
    if not scores:
        return
    for file, changes in _group_changes(history).items():
        anchored = {name: one for name, one in scores.items() if one.is_anchored}
        series = _build_series(seen, anchored, file, changes)
        found = None
        if len(series.scores) >= _LEAST_AFTER_LOW:
            found = _find_drop(ctx, series, file, now) or _find_low(ctx, series, file, now)
        if found is None:  # advice is no score, and a person reads it: it needs no calibrated judge
            found = _find_advised(ctx, _build_series(seen, scores, file, changes), file, now)
        if found:
            yield found


def _group_changes(history: History) -> dict[FileKey, list[Decision]]:
    """Map each file to the decisions that changed it, oldest first."""
    found: dict[FileKey, list[Decision]] = {}
    for made in history.decisions:
        rule = history.learnings.get(made["subject"])
        if rule is None or made["kind"] not in _CHANGE_KINDS or made["target"] is None:
            continue
        is_global = Target(made["target"]["kind"], made["target"]["path"]).is_global
        project = "" if is_global or not rule["project"] else rule["project"]["key"]
        found.setdefault(FileKey(project, made["target"]["path"]), []).append(made)
    return found


def _build_series(
    seen: SessionEvents, scores: Mapping[str, Score], file: FileKey, changes: Sequence[Decision]
) -> _Series:  # fmt: skip
    """Return the scored sessions that loaded a file, and its changes between them."""
    sessions = [one for one in seen.sessions if one.name in scores and file.figure in scores[one.name].versions]
    if file.project:
        sessions = [one for one in sessions if one.project == file.project]
    by_start: dict[int, list[Decision]] = {}
    for made in changes:
        by_start.setdefault(sum(one.start[:19] <= made["timestamp"][:19] for one in sessions), []).append(made)
    return _Series(sessions, [scores[one.name] for one in sessions], by_start)


def _find_drop(ctx: Context, series: _Series, file: FileKey, now: str) -> WayBack | None:
    """Return the change after which the scores fell clearly; only anchored scores count."""
    history, scores = ctx.scan.history, series.scores
    judges = [at for at in range(1, len(scores)) if scores[at].judge != scores[at - 1].judge]
    answered = [_count_before(series, made) for made in _list_answers(history, file)]
    standing = sorted(at for at, made in series.changes.items() if _list_standing(history, made))
    found = autorevert.find_drop(series.values, standing, answered, judges)
    if found is None:
        return None
    at, drop = found
    return _build_way_back(ctx, series, file, at, DROP, drop, now)


def _find_low(ctx: Context, series: _Series, file: FileKey, now: str) -> WayBack | None:
    """Return the last change if the last three sessions scored low with it; a version before it must be scored."""
    last = max(series.changes)
    if last == 0 or last > len(series.scores) - _LEAST_AFTER_LOW or _is_answered(ctx, series, file):
        return None
    return _build_way_back(ctx, series, file, last, LOW, None, now) if autorevert.is_low(series.values) else None


def _find_advised(ctx: Context, series: _Series, file: FileKey, now: str) -> WayBack | None:
    """Return the last change if the judge of the last session advised to go back."""
    last = max(series.changes)
    if last >= len(series.scores) or series.scores[-1].recommendation != _REVERT or _is_answered(ctx, series, file):
        return None
    if last == 0:
        # No version before it was scored. So the last change alone is in question, not all that made the file.
        newest = _list_standing(ctx.scan.history, series.changes[0])[-1:]
        number = series.scores[-1].versions[file.figure]
        if number < 2 or not newest:
            return None
        series = series._replace(changes={0: list(newest)})
        found = _build_way_back(ctx, series, file, 0, ADVISED, None, now)
        return found._replace(back_to=number - 1) if found else None
    return _build_way_back(ctx, series, file, last, ADVISED, None, now)


def _is_answered(ctx: Context, series: _Series, file: FileKey) -> bool:
    """Tell whether a person answered a question about this file, and fewer than 20 sessions were scored since."""
    answered = [_count_before(series, made) for made in _list_answers(ctx.scan.history, file)]
    return any(len(series.scores) - one < autorevert.COOLDOWN for one in answered)


def _count_before(series: _Series, made: Decision) -> int:
    return sum(one.start[:19] <= made["timestamp"][:19] for one in series.sessions)


def _build_way_back(
    ctx: Context, series: _Series, file: FileKey, at: int, cause: str, drop: Drop | None, now: str
) -> WayBack | None:  # fmt: skip
    """Return the proposal for the change before session number `at`; None if all of it was taken back already."""
    history = ctx.scan.history
    decisions = _list_standing(history, series.changes[at])
    if not decisions:
        return None
    rules = tuple({made["subject"]: history.learnings[made["subject"]] for made in decisions}.values())
    first = {DROP: at, LOW: -_LEAST_AFTER_LOW}.get(cause, -1)
    values = series.values[first:]
    return WayBack(
        cause, decisions, rules, file, series.scores[at - 1].versions.get(file.figure) if at else None, drop,
        sum(values) / len(values), _find_blocks(ctx, rules, decisions, now), series.scores[-1].is_anchored,
    )  # fmt: skip


def _list_standing(history: History, decisions: Iterable[Decision]) -> tuple[Decision, ...]:
    """Return the decisions that were not taken back."""
    return tuple(made for made in decisions if made["id"] not in history.void_decisions)


def _find_blocks(
    ctx: Context, rules: Sequence[Learning], decisions: Sequence[Decision], now: str
) -> tuple[Block, ...]:  # fmt: skip
    """Return why a change must not be taken back without a question: pins, the cooldown, a later decision."""
    history = ctx.scan.history
    found = [block for rule in rules if (block := limits.find_block(ctx.store, history, rule, now))]
    last = max(made["timestamp"] for made in decisions)
    own = {made["id"] for made in decisions}
    names = {rule["id"] for rule in rules}
    later = [
        made
        for made in history.decisions
        if made["timestamp"] >= last and made["id"] not in own and made["by"]["road"] not in limits.AUTOMATIC_CHANNELS
        and (made["subject"] in names or made["subject"] in own) and made["kind"] not in (limits.PINNED,)
    ]  # fmt: skip
    if later:
        found.append(limits.Block(f"{later[-1]['by']['name'] or 'somebody'} decided about it since"))
    return tuple(dict.fromkeys(found))


def _list_answers(history: History, file: FileKey) -> list[Decision]:
    """List the answers to earlier proposals for a file, and what auto-revert did to it."""
    mark = [file.project, file.path]
    return [
        made
        for made in history.decisions
        if made["meta"].get("file") == mark and (made["by"]["road"] == CHANNEL or made["meta"].get("outcome") == KEPT)
    ]


def _is_kept_since(seen: SessionEvents, history: History, decisions: Sequence[Decision]) -> bool:
    """Tell whether a person chose to keep it, and fewer than 20 sessions began since."""
    own = {made["id"] for made in decisions}
    kept = [made for made in history.decisions if made["subject"] in own and made["meta"].get("outcome") == KEPT]
    return bool(kept) and len(seen.sessions) - seen.count_before(kept[-1]["timestamp"]) < autorevert.COOLDOWN


def plan_way_back(ctx: Context, one: WayBack) -> tuple[Context, RevertPlan]:
    """Plan the exact change, in the project that it concerns; write nothing."""
    chosen: dict[str, Decision] = {}
    for made in one.decisions:
        chosen |= {each["id"]: each for each in revert.find_batch(ctx.scan.history, made)}
    standing = [made for made in chosen.values() if made["id"] not in ctx.scan.history.void_decisions]
    there = project_commits.with_project_of(ctx, standing)
    wanted = revert.RevertOptions(reason=one.reason)
    plan = revert.plan_revert(there, revert.Selection(tuple(standing)), wanted)
    mark = {"file": [one.file.project, one.file.path]} if one.file else {}
    meta = {"cause": one.cause, **({"factor": float(f"{one.drop.factor:.3g}")} if one.drop else {}), **mark}
    decisions: list[Decision] = [{**made, "meta": {**made["meta"], **meta}} for made in plan.decisions]
    return there, replace(plan, decisions=tuple(decisions))


def keep(ctx: Context, one: WayBack, by: DecisionAuthor) -> tuple[str, str]:
    """Record that a person keeps the change; return the ids of the decision and the commit."""
    mark = {"file": [one.file.project, one.file.path]} if one.file else {}
    meta = {"outcome": KEPT, "cause": one.cause, "rules": [rule["id"] for rule in one.rules], **mark}
    return _record_answer(ctx, one.decisions[-1], one.rules, by, meta)


def _record_answer(
    ctx: Context, about: Decision, rules: Sequence[Learning], by: DecisionAuthor, meta: dict[str, Any]
) -> tuple[str, str]:  # fmt: skip
    # The subject is the decision that was asked about: a rule as subject would dismiss the signals behind it.
    made = api.build_decision(ctx.store, "dismissed", about["id"], by, utc_precise(), meta=meta)
    trailers = {"Learning-Id": [rule["id"] for rule in rules], "Approved-By": [by["road"]]}
    title = api.format_title(rules[0]["title"] or rules[0]["text"])
    return made["id"], api.commit_records(ctx.store, [made], f"dismiss: {title} stays as it is", trailers)


def revert_if_due(ctx: Context, seen: SessionEvents, effects: Effects, by: DecisionAuthor) -> list[WriteResult]:
    """Go back where the scores fell clearly, if a person decided `reflect.autorevert=apply`. For `upkeep` only.

    Never inside Claude Code, never a pinned rule, never against a later decision of a person, and never into a file
    that is in its cooldown or a link: those are left for review.
    """
    history = ctx.scan.history
    if get_mode(ctx.store, history.decisions) != APPLY or approver.is_inside_client(ctx.env):
        return []
    done = []
    for one in find_ways_back(ctx, seen, effects):
        if one.cause != DROP or one.blocks:
            continue
        try:
            there, plan = plan_way_back(ctx, one)
            if not plan.steps or any(made["meta"].get("waits") for made in plan.decisions):
                continue  # its project is not here
            done.append(revert.write_revert(there, plan, {**by, "road": CHANNEL}))
        except ReflectError as error:  # the file was changed, or is a link: review shows it
            ctx.store.log(f"auto-revert: {error}")
            continue
        break  # one change at a time; the cooldown holds the others back
    return done


def list_unseen_reverts(history: History) -> list[Decision]:
    """List what auto-revert took back and no person has answered yet, oldest first."""
    answered = {made["subject"] for made in history.decisions if made["meta"].get("outcome") == KEPT}
    return [
        made
        for made in history.decisions
        if made["by"]["road"] == CHANNEL and made["kind"] == "reverted"
        and made["id"] not in history.void_decisions and made["id"] not in answered
    ]  # fmt: skip


def accept_revert(ctx: Context, made: Decision, by: DecisionAuthor) -> tuple[str, str]:
    """Record that a person has seen what auto-revert did and agrees."""
    rules = [ctx.scan.history.learnings[made["subject"]]]
    return _record_answer(ctx, made, rules, by, {"outcome": KEPT, "rules": [made["subject"]]})
