"""Propose to join, split and retire the rules of one file, and write what a person chose as one change.

It never rewrites a file freely: every rule keeps its id, or a decision says what replaced or ended it. One revert of
the commit gives back the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from reflect_git import paths
from reflect_git.candidates.gate import MANY_ENTRIES, NOTE, REFUSED, Finding, get_lowest_trust
from reflect_git.candidates.matcher import find_matcher
from reflect_git.errors import ReflectError
from reflect_git.judge import calls, suggestions
from reflect_git.judge.answers import to_text
from reflect_git.judge.messages import Message
from reflect_git.judge.rubric import Extract
from reflect_git.language.meaning import have_same_sense, parse_sense
from reflect_git.language.parse import compute_key
from reflect_git.language.rule_form import find_sentence_fault, has_pronoun
from reflect_git.language.sentences import split_line
from reflect_git.language.similarity import contradicts
from reflect_git.platform import instruction_files
from reflect_git.records import schema
from reflect_git.records.ids import plural, timed_id, utc_precise
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.redact import redact
from reflect_git.rules import project_files, write_change
from reflect_git.rules.approve import check_question, item_of, target_of
from reflect_git.rules.gate import build_stages, check_rule_additions, check_secret_fields, check_text
from reflect_git.rules.write_change import WriteResult, build_diff, build_message, build_steps, commit_change
from reflect_git.store import api
from reflect_git.store.target_versions import GLOBAL_PREFIX
from reflect_git.targets import plan as plans
from reflect_git.targets import target_files
from reflect_git.targets.safe_text import make_safe

if TYPE_CHECKING:
    from reflect_git.judge.calls import Judge
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.project_files import Place
    from reflect_git.targets.plan import Plan
    from reflect_git.targets.target_files import Target

JOIN, SPLIT, RETIRE = "join", "split", "retire"
KINDS = (JOIN, SPLIT, RETIRE)
_MANY_SENTENCES = 3  # rules with more are followed less
_CONFIRMING_KINDS = ("approved", "amended", "kept")
_MAX_PROPOSALS, _MAX_WEAKNESSES, _MAX_REASON = 40, 10, 200
_TEXTS = {"type": "array", "items": {"type": "string"}}
TIDY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "changes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": list(KINDS)}, "rules": _TEXTS, "texts": _TEXTS,
                    "reason": {"type": "string"},
                },
                "required": ["kind", "rules", "texts", "reason"],
            },
        }
    },
    "required": ["changes"],
}  # fmt: skip


class TidyProposal(NamedTuple):
    """One proposal: `join` several rules into one text, `split` one rule into several, or `retire` rules.

    `reason` is stored and synced. `shown`, if it is not empty, is shown instead: it may have words of the judge.
    """

    kind: str
    rules: tuple[str, ...]
    texts: tuple[str, ...]
    reason: str
    shown: str = ""


# Given the context and the rules of a file, yields proposals.
TidyFinder = Callable[["Context", "Sequence[Learning]"], "Iterable[TidyProposal]"]


class TidyStep(NamedTuple):
    """One proposal with its own diff, what it means for the file, and what was found against it."""

    proposal: TidyProposal
    old: tuple[Learning, ...]
    new: tuple[Learning, ...]
    plans: tuple[Plan, ...]
    findings: tuple[Finding, ...]
    place: Place

    @property
    def diff(self) -> str:
        return build_diff(self.place, [_merge(self.plans)])


class TidyChange(NamedTuple):
    """All chosen proposals for one file, as one change. `dropped`: proposals that cannot be carried out, and why."""

    place: Place
    target: Target
    steps: tuple[TidyStep, ...]
    dropped: tuple[tuple[TidyProposal, str], ...] = ()

    @property
    def diff(self) -> str:
        made = [one for step in self.steps for one in step.plans]
        return build_diff(self.place, [_merge(made)]) if made else ""

    @property
    def findings(self) -> list[Finding]:
        return list(dict.fromkeys(found for step in self.steps for found in step.findings))


def choose_target(ctx: Context, to: str) -> Target:
    """Return the file to tidy: by default the project's, else the global one."""
    around = project_files.load_surroundings(ctx.place, to)
    return target_files.resolve_target(to or ("project" if ctx.place.root else "global"), around, "")


def list_rules(ctx: Context, target: Target) -> list[Learning]:
    """List the rules in force in a file, the oldest first; no improvements or rules files."""
    found = [
        one for one in ctx.scan.history.get_rules_in_force()
        if ctx.place.is_in_scope(one) and target_of(one).form == "block"
        and (target_of(one).is_global, target_of(one).path) == (target.is_global, target.path)
    ]  # fmt: skip
    return sorted(found, key=lambda one: one["id"])


def find_duplicates(_: Context, rules: Sequence[Learning]) -> Iterator[TidyProposal]:
    """Propose to join rules that mean the same. The text that says more stays."""
    used: set[str] = set()
    senses = {one["id"]: parse_sense(one["text"]) for one in rules}
    for at, one in enumerate(rules):
        same = [
            other for other in rules[at + 1 :]
            if not {one["id"], other["id"]} & used and not contradicts(one["text"], other["text"])
            and (compute_key(one["text"]) == compute_key(other["text"])
                 or have_same_sense(senses[one["id"]], senses[other["id"]]))
        ]  # fmt: skip
        if same:
            group = [one, *same]
            used |= {each["id"] for each in group}
            text = max(group, key=lambda each: (len(each["text"]), each["id"]))["text"]
            yield TidyProposal(JOIN, tuple(each["id"] for each in group), (text,), "they mean the same")


def find_long_rules(_: Context, rules: Sequence[Learning]) -> Iterator[TidyProposal]:
    """Propose to split rules of more than three sentences, if each sentence works as a rule by itself."""
    for one in rules:
        sentences = [sentence.strip() for sentence in split_line(one["text"])]
        works = all(not find_sentence_fault(text) and not has_pronoun(text) for text in sentences)
        if len(sentences) > _MANY_SENTENCES and works and len(set(sentences)) == len(sentences):
            yield TidyProposal(SPLIT, (one["id"],), tuple(sentences), f"it has {len(sentences)} sentences")


def _find_excess(ctx: Context, rules: Sequence[Learning], count: int) -> Iterator[TidyProposal]:
    """Propose to retire as many rules as a file has too many: first those that were seen the fewest times.

    Among those, the one that was confirmed longest ago goes first. `rules`: those that may go; `count`: of all rules.
    """
    excess = count - MANY_ENTRIES + 1
    if excess <= 0:
        return
    confirmed = {one["id"]: one["timestamp"] for one in rules}
    for made in ctx.scan.history.decisions:
        if made["subject"] in confirmed and made["kind"] in _CONFIRMING_KINDS:
            confirmed[made["subject"]] = max(confirmed[made["subject"]], made["timestamp"])
    ordered = sorted(rules, key=lambda one: (len(one["signals"]), confirmed[one["id"]], one["id"]))
    for one in ordered[:excess]:
        seen = f"this one was seen {plural(len(one['signals']), 'time')}, last confirmed {confirmed[one['id']][:10]}"
        reason = f"the file has {plural(count, 'rule')}, and fewer than {MANY_ENTRIES} are followed best; {seen}"
        yield TidyProposal(RETIRE, (one["id"],), (), reason)


# Other packages add theirs, such as rules that name what no longer exists.
FINDERS: tuple[TidyFinder, ...] = (find_duplicates, find_long_rules)


def propose(ctx: Context, target: Target, finders: Iterable[TidyFinder] = FINDERS) -> list[TidyProposal]:
    """Return the proposals for a file without a model: at most one for each rule, and none for a pinned one.

    If the judge advised to update the file, its scores are part of each reason, and the weaknesses of what is shown.
    """
    figure = f"{GLOBAL_PREFIX}{target.path}" if target.is_global else target.path
    scores, grounds = suggestions.find_grounds(ctx, figure)
    found = _find_proposals(ctx, target, finders)
    if not scores:
        return found
    return [one._replace(reason=f"{one.reason}; {scores}", shown=f"{one.reason}; {grounds}") for one in found]


def _find_proposals(ctx: Context, target: Target, finders: Iterable[TidyFinder]) -> list[TidyProposal]:
    pinned, listed = ctx.scan.history.get_pins(), list_rules(ctx, target)
    rules = [one for one in listed if one["id"] not in pinned]
    found: list[TidyProposal] = []
    used: set[str] = set()
    for find in finders:
        for one in find(ctx, [rule for rule in rules if rule["id"] not in used]):
            if used.isdisjoint(one.rules):
                used.update(one.rules)
                found.append(one)
    left = len(listed) + sum(len(one.texts) - len(one.rules) for one in found)
    found += _find_excess(ctx, [rule for rule in rules if rule["id"] not in used], left)
    return found[:_MAX_PROPOSALS]


def build_judge_extract(ctx: Context, target: Target) -> Extract:
    """Return what the judge gets: the rules of the file, and the weaknesses that it found before.

    Those of other projects are left out, unless the file is for all projects.
    """
    rules = list_rules(ctx, target)
    signals = ctx.scan.get_signals(ctx.scan.select(status="captured", kind="project_friction"))
    weak = [
        one["content"] for one in signals
        if one["meta"].get("weakness")
        and (target.is_global or (one["project"] is not None and one["project"]["key"] in ctx.place.keys))
    ][-_MAX_WEAKNESSES:]  # fmt: skip
    found = [Message(n, "rule", redact(f"{one['id']}: {one['text']}"), n) for n, one in enumerate(rules, 1)]
    return Extract("", tuple(f"known weakness: {text}" for text in weak), tuple(found))


def load_judge_prompt() -> str:
    """Return the system prompt for tidying."""
    with open(paths.resource_path("templates", "judge", "tidy.md"), encoding="utf-8") as file:
        return file.read()


def propose_with_judge(ctx: Context, judge: Judge, extract: Extract) -> list[TidyProposal]:
    """Ask the judge for proposals. What does not fit the file is left out by `plan_change`, and pinned rules here."""
    reply = calls.ask_judge(
        ctx.store, ctx.env, judge, load_judge_prompt(), extract, task="tidy", schema=TIDY_SCHEMA
    )  # fmt: skip
    listed = reply.answer.get("changes") if isinstance(reply.answer, dict) else None
    if not isinstance(listed, list):
        raise ReflectError("the judge did not answer in the form that was asked for", "run it again", "judge")
    pinned = ctx.scan.history.get_pins()
    found: list[TidyProposal] = []
    used: set[str] = set(pinned)
    for one in listed:
        made = _parse_change(one)
        if made and used.isdisjoint(made.rules):
            used.update(made.rules)
            found.append(made)
    return found[:_MAX_PROPOSALS]


def _parse_change(given: Any) -> TidyProposal | None:
    """Return a proposal of the judge; None if it has not the form that was asked for."""
    if not isinstance(given, dict) or given.get("kind") not in KINDS:
        return None
    rules, texts = given.get("rules"), given.get("texts") or []
    if not isinstance(rules, list) or not isinstance(texts, list):
        return None
    if not all(isinstance(one, str) for one in (*rules, *texts)):
        return None
    said = redact(to_text(given.get("reason"), _MAX_REASON))
    return TidyProposal(given["kind"], tuple(rules), tuple(texts), "the judge proposes it", said)


def plan_change(ctx: Context, target: Target, proposals: Sequence[TidyProposal]) -> TidyChange:
    """Plan all proposals on top of each other; leave out those that cannot be carried out."""
    path = ctx.place.path_of(target)
    data = instruction_files.read(path)
    known = {one["id"]: one for one in list_rules(ctx, target)}
    steps: list[TidyStep] = []
    dropped = []
    for one in proposals:
        try:
            step = _plan_step(ctx, target, data, one, known)
        except ReflectError as error:
            dropped.append((one, error.message))
            continue
        steps.append(step)
        data = step.plans[-1].after
        for rule in step.old:
            del known[rule["id"]]
    made = TidyChange(ctx.place, target, tuple(steps), tuple(dropped))
    if steps:
        write_change.require_single_names(ctx.place, [_merge([plan for step in steps for plan in step.plans])])
    return made


def _plan_step(
    ctx: Context, target: Target, data: bytes | None, one: TidyProposal, known: dict[str, Learning]
) -> TidyStep:  # fmt: skip
    if one.kind not in KINDS or not one.rules or len(set(one.rules)) != len(one.rules):
        raise ReflectError("it is not a join, a split or a retirement")
    missing = [name for name in one.rules if name not in known]
    if missing:
        raise ReflectError(f"'{missing[0]}' is not a rule of this file")
    count = {JOIN: (2, 99, 1, 1), SPLIT: (1, 1, 2, 9), RETIRE: (1, 99, 0, 0)}[one.kind]
    if not count[0] <= len(one.rules) <= count[1] or not count[2] <= len(one.texts) <= count[3]:
        raise ReflectError(f"it names {len(one.rules)} rules and {len(one.texts)} texts")
    old = tuple(known[name] for name in one.rules)
    new = tuple(_build_learning(old, text, one.reason) for text in one.texts)
    made = tuple(_build_plans(target, data, old, new))
    found = [*write_change.check_links(ctx.store, ctx.place, made)]
    for rule in new:
        mended = make_safe(rule["text"])[1]
        found += check_text(ctx, rule["text"], rule["trust"], target, data, mended, one.rules)
        found += [*check_question(rule["text"]), *check_secret_fields(rule)]
        found += check_rule_additions(old[0], rule["text"], [each["text"] for each in old])
    refused = next((each.message for each in found if each.kind == REFUSED), "")
    if refused:
        raise ReflectError(refused)
    return TidyStep(one, old, new, made, tuple(each for each in found if each.kind != NOTE), ctx.place)


def _build_learning(old: Sequence[Learning], text: str, reason: str) -> Learning:
    """Return the record of a new rule, with the signals and the lowest trust of those that it replaces."""
    safe, _ = make_safe(text)
    if not safe:
        raise ReflectError("a text is empty")
    first, now = old[0], utc_precise()
    made: dict[str, Any] = {
        **first, "id": timed_id("LRN", now), "version": schema.VERSION, "timestamp": now, "text": safe,
        "title": api.format_title(safe), "topic": None, "paths": [],
        "signals": list(dict.fromkeys(name for one in old for name in one["signals"])), "decision": "",
        "supersedes": [one["id"] for one in old], "reason": reason,
        "trust": get_lowest_trust([one["trust"] for one in old]), "matcher": find_matcher(safe),
        "meta": {name: value for name, value in first["meta"].items() if name in ("type", "until")},
    }  # fmt: skip
    return cast("Learning", made)


def _build_plans(
    target: Target, data: bytes | None, old: Sequence[Learning], new: Sequence[Learning]
) -> Iterator[Plan]:  # fmt: skip
    """Yield changes of the file, each on top of the one before. The first new rule takes the place of the first old."""
    rest = list(old)
    for at, rule in enumerate(new):
        if at == 0 and data is not None:
            plan = plans.replace(target, data, item_of(rest.pop(0)), item_of(rule))
        else:
            plan = plans.add(target, data, item_of(rule))
        data = plan.after
        yield plan
    for rule in rest:
        plan = plans.remove(target, data, item_of(rule))
        data = plan.after
        yield plan


def _merge(made: Sequence[Plan]) -> Plan:
    """Return several changes of one file as one, for its diff."""
    return made[-1]._replace(before=made[0].before)


def write(ctx: Context, change: TidyChange, by: DecisionAuthor) -> WriteResult:
    """Write all steps as one commit: new rules, and a decision for each rule that was replaced or ended."""
    records: list[Any] = []
    decided: list[Decision] = []
    for step in change.steps:
        for rule in step.new:
            approved = api.build_decision(
                ctx.store, "approved", rule["id"], by, rule["timestamp"], text=rule["text"],
                key=compute_key(rule["text"]), target=rule["target"], reason=step.proposal.reason,
                meta={
                    "signals": rule["signals"], "tidy": step.proposal.kind,
                    "gate": build_stages(
                        ctx, step.findings, by["road"], has_matcher=bool(rule["matcher"]), baseline=None
                    ),
                },
            )  # fmt: skip
            records.append({**rule, "decision": approved["id"]})
            decided.append(approved)
        for old in step.old:
            kind = "superseded" if step.new else "reverted"
            meta = {"by": step.new[0]["id"]} if step.new else {"tidy": RETIRE}
            reopens = None if step.new else old["decision"]
            decided.append(
                api.build_decision(
                    ctx.store, kind, old["id"], by, utc_precise(), target=old["target"], reason=step.proposal.reason,
                    reopens=reopens, meta=meta,
                )
            )  # fmt: skip
    named = [("Learning-Id", rule["id"]) for step in change.steps for rule in (*step.new, *step.old)]
    trailers = [*named, *(("Decision", made["id"]) for made in decided), ("Target", change.target.path)]
    message = build_message(ctx, f"tidy: {describe(change)}", trailers, by)
    taken = build_steps(plan for step in change.steps for plan in step.plans)
    first = (change.steps[0].new or change.steps[0].old)[0]["id"]
    return commit_change(ctx, first, taken, [*records, *decided], message, change.findings)


def describe(change: TidyChange) -> str:
    """Return what a change does, in a few words: `join 2, retire 1 in CLAUDE.md`."""
    counts = {kind: sum(len(step.old) for step in change.steps if step.proposal.kind == kind) for kind in KINDS}
    return ", ".join(f"{kind} {count}" for kind, count in counts.items() if count) + f" in {change.target.path}"
