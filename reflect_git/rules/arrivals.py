"""Decisions that the files here do not reflect yet: made on another own machine, or while the project was not here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reflect_git.candidates.gate import RISK, Finding, find_risks, format_exception
from reflect_git.errors import ReflectError
from reflect_git.language.similarity import is_certain_contradiction
from reflect_git.platform import instruction_files
from reflect_git.records.history import DECLINED
from reflect_git.records.ids import utc_precise
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import file_changes, project_files, write_change
from reflect_git.rules.amend import get_changed_fields
from reflect_git.rules.approve import matches_text, target_of
from reflect_git.rules.automatic.limits import find_cooldown
from reflect_git.rules.dismiss import find_declines, find_root, is_decline
from reflect_git.rules.file_changes import WAITING, RuleChange, RuleState, section_of
from reflect_git.rules.snapshot import find_pending_decisions, parse_entries
from reflect_git.rules.write_change import (
    Step,
    WriteResult,
    build_diff,
    build_learning_message,
    build_message,
    commit_change,
)
from reflect_git.store import api, policy
from reflect_git.store.main import commit_log, signing
from reflect_git.store.repository import get_record_path
from reflect_git.targets import improvements
from reflect_git.targets.target_files import Target

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning
    from reflect_git.rules.automatic.limits import Block
    from reflect_git.rules.context import Context
    from reflect_git.rules.project_files import Place
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

ADD, REMOVE, CHANGE = "add", "remove", "change"
_WRITE_KINDS = ("approved", "applied", "amended")
_FILE_KINDS = (*_WRITE_KINDS, "superseded", "reverted")


@dataclass(frozen=True)
class ArrivalContext:
    """The minimum needed to find pending decisions: no captured data is read."""

    store: Store
    place: Place
    scan: Scan


@dataclass(frozen=True)
class Arrival:
    """One learning whose file here lags behind a decision.

    `is_own`: decided on this machine. `trouble`: why it cannot be applied unchanged, if it cannot. `wordings`: the
    choices, if several machines reworded it.
    """

    place: Place
    change: RuleChange
    decision: Decision
    is_own: bool
    steps: tuple[Step, ...] = ()
    trouble: ReflectError | None = None
    link_findings: tuple[Finding, ...] = ()
    contradictions: tuple[Finding, ...] = ()
    wordings: tuple[Wording, ...] = ()

    @property
    def learning(self) -> Learning:
        return self.change.rule.learning

    @property
    def kind(self) -> str:
        if self.change.old is None:
            return ADD
        return REMOVE if self.change.new is None else CHANGE

    @property
    def diff(self) -> str:
        return build_diff(self.place, (step.plan for step in self.steps))

    @property
    def risks(self) -> list[Finding]:
        """Return the risks to show: anybody who can write to the remote can claim that a rule was approved."""
        if self.kind == REMOVE:
            return list(self.link_findings)
        return [*self.link_findings, *self.contradictions, *find_risks(self.learning["text"], self.learning["trust"])]


def list_arrivals(ctx: Context | ArrivalContext) -> list[Arrival]:
    """List every pending decision for this project and for the global files."""
    news = find_pending_decisions(ctx.place, ctx.scan.history, ctx.store.machine)
    several = find_reword_conflicts(ctx.place, ctx.scan.history, ctx.store.machine)
    news |= {identity: _last_of_another_machine(ctx, last) for identity, last in several.items()}
    if not news:
        return []
    entries_reader = _EntryReader(ctx)
    in_force = {one["id"]: one for one in ctx.scan.history.get_rules_in_force()}
    if project_files.is_ignored(ctx.store, ctx.place):  # nothing is added to it; reverted rules are still removed
        of_project = {identity for identity, one in in_force.items() if one["scope"] != "global"}
        news = {identity: made for identity, made in news.items() if identity not in of_project}
    found = (
        _build_rewording_arrival(ctx, entries_reader, in_force[identity], made, several[identity])
        if identity in several
        else _build_arrival(ctx, entries_reader, identity, made, in_force.get(identity))
        for identity, made in news.items()
    )
    return [one for one in found if one]


def _last_of_another_machine(ctx: Context | ArrivalContext, last: Sequence[Decision]) -> Decision:
    """Return the last decision of another machine, else the last one."""
    return next((made for made in reversed(last) if made["machine"] != ctx.store.machine), last[-1])


def _build_rewording_arrival(
    ctx: Context | ArrivalContext,
    entries_reader: _EntryReader,
    rule: Learning,
    made: Decision,
    last: Sequence[Decision],
) -> Arrival | None:
    """Offer the wordings of several machines; a person must choose one."""
    history, old = ctx.scan.history, entries_reader.find_rule(rule["id"])
    if old is None and is_expected_here(ctx, rule["id"]):
        return None  # a missing entry is handled as drift
    shift = RuleChange(rule["id"], old, RuleState(rule, section_of(history, rule)))
    try:
        found = build_wordings(ctx.store, ctx.place, history, old, last)
    except ReflectError as error:
        return Arrival(ctx.place, shift, made, is_own=False, trouble=error)
    several = ReflectError(f"'{rule['id']}' was reworded on several machines", "choose in 'reflect-git review'")
    return Arrival(ctx.place, shift, made, is_own=False, trouble=several, wordings=found)


def _build_arrival(
    ctx: Context | ArrivalContext, entries_reader: _EntryReader, record_id: str, made: Decision, wanted: Learning | None
) -> Arrival | None:
    """Return the pending change for one decision, or None if the file needs none."""
    history, own = ctx.scan.history, made["machine"] == ctx.store.machine
    old = entries_reader.find_rule(record_id)
    new = RuleState(wanted, section_of(history, wanted)) if wanted else None
    if old is None and (new is None or (is_expected_here(ctx, record_id) and not own)):
        return None  # nothing to do; or we wrote it here, and its absence is handled as drift
    shift = RuleChange(record_id, old, new)
    try:
        found = file_changes.plan_file_changes(ctx.place, [shift])
        write_change.require_single_names(ctx.place, [step.plan for step in found.steps])
    except ReflectError as error:
        return Arrival(ctx.place, shift, made, own, trouble=error)
    if not found.steps:
        return None
    linked = write_change.check_links(ctx.store, ctx.place, [step.plan for step in found.steps])
    against = tuple(_find_contradictions(ctx, wanted)) if wanted else ()
    return Arrival(ctx.place, shift, made, own, tuple(found.steps), link_findings=tuple(linked), contradictions=against)


def _find_contradictions(ctx: Context | ArrivalContext, wanted: Learning) -> Iterator[Finding]:
    """Yield a risk for each rule here that says the opposite.

    Two machines decided without knowing of each other. Both rules are kept, and every machine asks the same question.
    """
    for rule in ctx.scan.history.get_rules_in_force():
        if (
            rule["id"] != wanted["id"]
            and ctx.place.is_in_scope(rule)
            and is_certain_contradiction(wanted["text"], rule["text"])
        ):
            is_exception = rule["scope"] == "global" != wanted["scope"]
            message = f"it contradicts '{rule['id']}', which is in force: {rule['text']}"
            message = format_exception(rule["id"], rule["text"]) if is_exception else message
            yield Finding(RISK, "contradiction", message, f"take one of them back: reflect-git revert {rule['id']}")


def is_expected_here(ctx: Context | ArrivalContext, record_id: str) -> bool:
    """Tell whether this machine's last action on a learning left it in its file."""
    by_id = {made["id"]: made for made in ctx.scan.history.decisions}
    is_left = False
    for made in ctx.scan.history.decisions:
        if made["subject"] == record_id and made["machine"] == ctx.store.machine and not made["meta"].get("waits"):
            root, is_undone = find_root(by_id, made)
            if is_decline(root) or _had_no_entry(by_id, made):  # the file was not changed, nor by undoing it
                continue
            if root["kind"] in _FILE_KINDS and not (root["kind"] == "amended" and made is not root):
                is_left = (root["kind"] in _WRITE_KINDS and root["meta"].get("change") != REMOVE) != is_undone
    return is_left


def _had_no_entry(by_id: Mapping[str, Decision], made: Decision) -> bool:
    """Tell whether a decision found no entry to remove, or reverts one that did not."""
    return any(one is not None and one["meta"].get("left") for one in (made, by_id.get(made["reopens"] or "")))


class _EntryReader:
    """The entries in the files here; each file is read once."""

    def __init__(self, ctx: Context | ArrivalContext) -> None:
        self._ctx = ctx
        self._files: dict[tuple[bool, str], bytes | None] = {}

    def find_rule(self, record_id: str) -> RuleState | None:
        """Return the learning as its file has it: in a wording it once had, else wherever its id is."""
        there = []
        for was in self._ctx.scan.history.get_versions(record_id):
            target = target_of(was)
            text = self._read_entry(target, record_id)
            if text is None:
                continue
            rule = RuleState(was, self._read_section(target, record_id))
            if matches_text(was, text):
                return rule
            there.append(rule)
        if not there:
            return None
        # Reworded by hand: compare with the older wording, not with the one that just arrived.
        return there[1] if len(there) > 1 else there[0]

    def _read_entry(self, target: Target, record_id: str) -> str | None:
        try:
            return parse_entries(target.kind, self._read_file(target)).get(record_id)
        except ReflectError:  # not text, or a link that leads outside: the write reports it
            return None

    def _read_section(self, target: Target, record_id: str) -> str:
        listed = improvements.find_proposals(self._read_file(target)) if target.form == "improvements" else ()
        return next((one.section for one in listed if one.id == record_id), "")

    def _read_file(self, target: Target) -> bytes | None:
        where = target.is_global, target.path
        if where not in self._files:
            self._files[where] = instruction_files.read(self._ctx.place.path_of(target))
        return self._files[where]


def apply_arrivals(ctx: Context, chosen: Sequence[Arrival], by: DecisionAuthor, settled: bool = False) -> WriteResult:
    """Apply the chosen decisions in one commit; raise if a file has changed since it was shown."""
    for one in chosen:
        if one.trouble is not None:
            raise one.trouble
        for step in one.steps:
            path = ctx.place.path_of(step.plan.target)
            if instruction_files.read(path) != step.plan.before:
                raise instruction_files.FileChanged(path)
    found = file_changes.plan_file_changes(ctx.place, [one.change for one in chosen])
    now = utc_precise()
    made = [_build_decision(ctx, one, by, now, settled) for one in chosen]
    first = chosen[0].learning
    more = f" and {len(chosen) - 1} more" if len(chosen) > 1 else ""
    text = build_message(
        ctx, f"apply: {api.format_title(first['title'] or first['text'])}{more}", _build_trailers(chosen, made), by
    )
    done = commit_change(
        ctx, first["id"], found.steps, made, text, [asked for one in chosen for asked in one.link_findings]
    )
    return replace(done, warnings=found.notes)


def decline(ctx: Context, one: Arrival, by: DecisionAuthor) -> tuple[str, str]:
    """Decline a decision on this machine only; return the ids of the decision and the commit.

    Other machines and later wordings are not affected.
    """
    learning = one.learning
    meta = {"of": one.decision["id"], "change": DECLINED}
    made = api.build_decision(
        ctx.store, "applied", learning["id"], by, utc_precise(), meta=meta
    )  # it has no target file
    subject = f"decline: {api.format_title(learning['title'] or learning['text'])}"
    trailers: dict[str, list[str]] = {}
    for name, value in (*_build_trailers([one], [made]), ("Approved-By", by["road"])):
        trailers.setdefault(name, []).append(value)
    return made["id"], api.commit_records(ctx.store, [made], subject, trailers)


def find_absent_rules(ctx: Context | ArrivalContext) -> dict[str, str]:
    """Map each rule in force that is in no file here to the reason: pending, or declined."""
    said = dict.fromkeys(find_declines(ctx.scan.history, ctx.store.machine), DECLINED)
    return said | {one.learning["id"]: WAITING for one in list_arrivals(ctx) if one.kind == ADD}


def _build_decision(ctx: Context, one: Arrival, by: DecisionAuthor, now: str, settled: bool) -> Decision:
    """Make the `applied` decision for one pending change."""
    meta: dict[str, Any] = {"of": one.decision["id"], "change": one.kind, **({"settled": True} if settled else {})}
    learning = one.learning
    text = learning["text"] if one.kind != REMOVE else None
    return api.build_decision(
        ctx.store, "applied", learning["id"], by, now, text=text, target=learning["target"], meta=meta
    )


def _build_trailers(chosen: Sequence[Arrival], made: Sequence[Decision]) -> list[tuple[str, str]]:
    targets = dict.fromkeys(target_of(one.learning).path for one in chosen)
    projects = dict.fromkeys(one.learning["project"]["key"] for one in chosen if one.learning["project"])
    return [
        *(("Learning-Id", one.learning["id"]) for one in chosen), *(("Decision", one["id"]) for one in made),
        *(("Target", one) for one in targets), *(("Project", one) for one in projects),
    ]  # fmt: skip


def apply_own_decisions(ctx: Context) -> WriteResult | None:
    """Apply decisions made on this machine while the file was not here; return None if there are none.

    The person has already approved them. Those that cannot be applied unchanged are left for review.
    """
    decisions = ctx.scan.history.decisions
    if not any(made["meta"].get("waits") and made["machine"] == ctx.store.machine for made in decisions):
        return None
    own = [one for one in list_arrivals(ctx) if one.is_own and one.trouble is None and not one.link_findings]
    return apply_arrivals(ctx, own, own[-1].decision["by"], settled=True) if own else None


APPLY_SETTING = "reflect.sync.apply"
SIGNED_SETTING = "reflect.sync.requireSigned"
CHANNEL = "own-machine"


def apply_safe_arrivals(ctx: Context, by: DecisionAuthor) -> WriteResult | None:
    """Apply in one commit every arrived rule that is safe; leave risky, blocked or unsigned ones for review."""
    store, decisions = ctx.store, ctx.scan.history.decisions
    if store.get_setting(APPLY_SETTING) != "auto":
        return None
    undecided = policy.find_undecided(store, decisions)  # anybody can write to the config: a decision must match
    if APPLY_SETTING in undecided:
        return None
    able = [one for one in list_arrivals(ctx) if not one.is_own and one.trouble is None and not one.risks]
    able = [one for one in able if _find_cooldown(ctx, one) is None]
    if able and (SIGNED_SETTING in undecided or store.is_enabled(SIGNED_SETTING, False)):
        able = _filter_signed(store, able)
    try:
        return apply_arrivals(ctx, able, {**by, "road": CHANNEL}) if able else None
    except ReflectError as error:  # a file changed in the meantime: review shows it
        store.log(f"taking over: {error}")
        return None


def _find_cooldown(ctx: Context, one: Arrival) -> Block | None:
    """Return why this file is left alone for now. Only changes on this machine count: those there made no change here.

    A rule of another machine is known by its record even if its first decision here is still to come.
    """
    project = one.learning["project"] if one.learning["scope"] != "global" else None
    key, machine = project["key"] if project else None, ctx.store.machine
    return find_cooldown(ctx.store, ctx.scan.history, one.learning["target"], key, machine=machine)


def _filter_signed(store: Store, found: Sequence[Arrival]) -> list[Arrival]:
    """Return those whose decision is in signed commits only, and whose text is the one that was signed."""
    commits = _map_paths_to_commits(store, {get_record_path(one.decision["id"]) for one in found})
    asked = [commit.id for listed in commits.values() for commit in listed if commit.is_signed]
    said = signing.verify_commits(store, list(dict.fromkeys(asked)))
    return [
        one
        for one in found
        if (listed := commits.get(get_record_path(one.decision["id"])))
        and all(said.get(commit.id) == signing.GOOD for commit in listed)
        and (one.kind == REMOVE or one.decision["text"] == one.learning["text"])
    ]


def _map_paths_to_commits(store: Store, paths: Collection[str]) -> dict[str, list[commit_log.Commit]]:
    """Map each path to every commit that added or changed it."""
    found: dict[str, list[commit_log.Commit]] = {}
    for commit in commit_log.read(store):
        for change in commit.changes:
            if change.path in paths:
                found.setdefault(change.path, []).append(commit)
    return found


class Wording(NamedTuple):
    """One of several wordings: the rule as this decision has it, and the resulting file changes."""

    place: Place
    decision: Decision
    learning: Learning
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def diff(self) -> str:
        return build_diff(self.place, (step.plan for step in self.steps))


def find_reword_conflicts(place: Place, history: History, machine: str) -> dict[str, list[Decision]]:
    """Map each rule in force here to its last amendments, if they disagree. The result is the same on every clone."""
    amended = {made["subject"] for made in history.decisions if made["kind"] == "amended"}
    declines = find_declines(history, machine) if amended else {}
    found = {}
    for learning in history.get_rules_in_force() if amended else ():
        record_id = learning["id"]
        if record_id in amended and record_id not in declines and place.is_in_scope(learning):
            last = history.get_last_amendments(record_id)
            if any((one["text"], one["target"]) != (last[0]["text"], last[0]["target"]) for one in last):
                found[record_id] = last
    return found


def build_wordings(
    store: Store, place: Place, history: History, old: RuleState | None, last: Sequence[Decision]
) -> tuple[Wording, ...]:  # fmt: skip
    """Return what each amendment would make of the file, in which the rule is now `old`."""
    found = []
    for made in last:
        said = history.get_amended_learning(made)
        shift = RuleChange(
            made["subject"], old, RuleState(said, made["meta"].get("section") or section_of(history, said))
        )
        steps = tuple(file_changes.plan_file_changes(place, [shift]).steps)
        linked = write_change.check_links(store, place, [step.plan for step in steps])
        found.append(Wording(place, made, said, steps, (*linked, *find_risks(said["text"], said["trust"]))))
    return tuple(found)


def resolve_reword_conflict(ctx: Context, one: Wording, by: DecisionAuthor) -> WriteResult:
    """Make one wording the current one on all machines, by an amendment that follows all the others.

    The change to the file here is a decision of its own, so that reverting both restores the exact bytes.
    """
    for step in one.steps:
        path = ctx.place.path_of(step.plan.target)
        if instruction_files.read(path) != step.plan.before:
            raise instruction_files.FileChanged(path)
    said, record_id = one.decision, one.learning["id"]
    before = ctx.scan.history.learnings[record_id]
    meta: dict[str, Any] = {"learning": get_changed_fields(ctx.scan.other_records[record_id], before, one.learning)}
    meta |= {"section": said["meta"]["section"]} if "section" in said["meta"] else {}
    meta |= {"after": [made["id"] for made in ctx.scan.history.get_last_amendments(record_id)], "left": True}
    words: Any = {"text": one.learning["text"], "target": one.learning["target"]}
    now = utc_precise()
    chosen = api.build_decision(ctx.store, "amended", record_id, by, now, **words, meta=meta)
    done = {"of": chosen["id"], "change": "change"}
    applied = [api.build_decision(ctx.store, "applied", record_id, by, now, **words, meta=done)] if one.steps else []
    message = build_learning_message(ctx, "amend", one.learning, [chosen, *applied], by)
    return commit_change(ctx, record_id, one.steps, [chosen, *applied], message, one.findings)
