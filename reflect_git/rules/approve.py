"""Turn a candidate into a rule: propose it with its diff and findings, then write it in one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.candidates import gate
from reflect_git.candidates.gate import Finding, get_lowest_trust
from reflect_git.candidates.matcher import get_candidate_matcher
from reflect_git.candidates.root_causes import parse_draft
from reflect_git.candidates.session_events import SessionEvents
from reflect_git.candidates.statements import Statement, map_sources
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.language.parse import parse_frame
from reflect_git.language.rule_form import find_end_date, is_question
from reflect_git.platform import instruction_files
from reflect_git.records import rule_numbers, schema
from reflect_git.records.ids import get_id_day, plural, timed_id, utc_precise
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.rule_numbers import find_numbers_to_record, get_heading, normalise_number
from reflect_git.redact import redact
from reflect_git.rules import project_files, write_change
from reflect_git.rules.dismiss import list_waiting, require_waiting
from reflect_git.rules.gate import (
    build_stages,
    check_additions,
    check_secret_fields,
    check_text,
    find_judgement,
    get_declined_hints,
)
from reflect_git.rules.guarding.guard_backtest import count_baseline, find_stored_matcher
from reflect_git.rules.snapshot import find_pending_decisions
from reflect_git.rules.write_change import (
    WriteResult,
    build_diff,
    build_learning_message,
    build_steps,
    commit_change,
    require_not_refused,
)
from reflect_git.store import api
from reflect_git.store.local import refusals
from reflect_git.targets import improvements, target_files
from reflect_git.targets import plan as plans
from reflect_git.targets.improvements import Improvement
from reflect_git.targets.plan import Item, Plan, Rule
from reflect_git.targets.safe_text import is_same_text, make_safe, normalize_text
from reflect_git.targets.target_files import Target

if TYPE_CHECKING:
    from reflect_git.candidates.gather import Candidate
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.project_files import Place

_DEFAULT_ACTIONS = {
    "gotcha": "Fix it, or document it where it is met",
    "project_friction": "Fix it, or document it where it is looked for",
    "failure": "Make it work, or document what works instead",
    "discovery": "Document it",
}
IMPROVEMENT_FIELDS = (
    "title",
    "impact",
    "details",
    "action",
)  # fields of an improvement that a person may word, besides its text
CONFIDENCE_LABELS = {1: "Low", 2: "Medium", 3: "High", 4: "Verified"}
NEEDS_WORDING = "needs-wording"


class Request(NamedTuple):
    """A person's request to approve; an empty field keeps what the candidate proposes.

    `is_own`: the person typed the text at a terminal, so every word is theirs. `wording`: the model that worded the
    text instead, and what that call cost. `numbered`: the rules file begins with a heading that has its number.
    """

    candidate: Candidate
    to: str = ""
    text: str = ""
    joined: tuple[Candidate, ...] = ()
    supersedes: tuple[str, ...] = ()
    title: str = ""
    impact: str = ""
    details: str = ""
    action: str = ""
    paths: tuple[str, ...] = ()
    reason: str = ""
    until: str = ""
    numbered: bool = False
    is_own: bool = False
    wording: Mapping[str, Any] | None = None


class Proposal(NamedTuple):
    """A planned approval; the same plans are previewed and written."""

    place: Place
    request: Request
    learning: Learning
    to: str
    plans: tuple[Plan, ...]
    findings: tuple[Finding, ...]
    replaced: tuple[Learning, ...] = ()

    @property
    def diff(self) -> str:
        return build_diff(self.place, self.plans)

    @property
    def is_refused(self) -> bool:
        return gate.is_refused(self.findings)

    @property
    def is_risky(self) -> bool:
        return gate.is_risky(self.findings)


def plan_approval(ctx: Context, request: Request) -> Proposal:
    """Plan the exact change and collect every finding against it; write nothing."""
    candidate = request.candidate
    text, mended = make_safe(request.text or candidate.text)
    if not text:
        raise ReflectError("there is no text to approve", "give one with --text TEXT", "usage")
    named = {old["id"]: old for old in (find_rule_in_force(ctx, each) for each in request.supersedes)}
    # Make the fields inert, as the file and the question will show them.
    fields: dict[str, Any] = {name: make_safe(getattr(request, name))[0] for name in IMPROVEMENT_FIELDS}
    request, replaced = request._replace(supersedes=tuple(named), **fields), tuple(named.values())
    now = utc_precise()
    record_id = timed_id("LRN", now)
    to = project_files.spell_target(ctx.place, request.to or candidate.target)
    around = project_files.load_surroundings(ctx.place, to)
    target = target_files.resolve_target(to, around, record_id, _build_title(request, text))
    if not target.is_global:
        project_files.require_not_ignored(ctx.store, ctx.place)
    learning = _build_learning(ctx, request, text, record_id, target, now)
    if request.numbered:
        learning["meta"]["heading"] = build_heading(ctx.scan.history, learning)
    before = instruction_files.read(ctx.place.path_of(target))
    try:
        made = _build_plans(ctx, target, before, item_of(learning), replaced)
    except ReflectError as error:
        raise with_hint(ctx, replaced, error) from None
    write_change.require_single_names(ctx.place, made)
    sources = _find_import_sources(ctx, learning) if learning["trust"] == "imported" else {}
    found = check_text(ctx, text, learning["trust"], target, before, mended, request.supersedes, sources)
    linked = write_change.check_links(ctx.store, ctx.place, made)
    is_reworded = request.text and not request.is_own
    added = check_additions(ctx, text, (candidate, *request.joined)) if is_reworded else []
    against = (
        *_check_wording(request, text), *check_secret_fields(learning), *linked, *found, *added,
        *_note_narrowed_scope(learning, replaced), *_note_end_date(learning),
        *_show_root_causes(ctx, learning),
    )  # fmt: skip
    return Proposal(ctx.place, request, learning, to, made, against, replaced)


def _check_wording(request: Request, text: str) -> list[Finding]:
    """Refuse a bare quote or a question as a rule, whoever worded it."""
    candidate = request.candidate
    if request.text:
        return check_question(text)
    if not candidate.needs_wording:
        return []
    message = f"it needs wording: as it was said it {candidate.why_no_rule}"
    return [Finding(gate.REFUSED, NEEDS_WORDING, message, f"reflect-git approve {candidate.id} --text TEXT")]


def check_question(text: str) -> list[Finding]:
    """Refuse a text that is a question."""
    way = "say what to do instead: --text TEXT"
    return [Finding(gate.REFUSED, "question", "a question is not a rule", way)] if is_question(text) else []


def _note_end_date(learning: Learning) -> list[Finding]:
    """Note the day on which the rule ends."""
    until = learning["meta"].get("until")
    return [Finding(gate.NOTE, "until", f"ends on {until}: review asks then whether it still holds")] if until else []


def choose_end_date(candidates: Sequence[Candidate], text: str, until: str, now: str, is_own: bool = False) -> str:
    """Return the day on which a rule ends: as requested, else as its text says.

    A model's wording may omit the end date; the date the person gave still counts.
    """
    if not until:
        said = "" if is_own else next((each.until for each in candidates if each.until), "")
        return find_end_date(text, now) or said or ""
    found = find_end_date(f"until {until}", now)
    if not found:
        hint = "give a day, for example --until 2027-03-01"
        raise ReflectError(f"'{until}' is not a date", hint, "usage", EXIT_USAGE)
    if found <= now[:10]:
        raise ReflectError(f"the end date {found} is not in the future", "give a later day", "usage", EXIT_USAGE)
    return found


def _note_narrowed_scope(learning: Learning, replaced: Sequence[Learning]) -> list[Finding]:
    """Note each replaced global rule when the new rule is for one project only."""
    wide = [old["id"] for old in replaced if old["scope"] == "global" != learning["scope"]]
    return [
        Finding(gate.NOTE, "narrowed", f"replaces '{one}' of all projects with a rule for one project") for one in wide
    ]


def write_approval(
    ctx: Context, proposal: Proposal, by: DecisionAuthor, basis: Mapping[str, str] | None = None
) -> WriteResult:
    """Write what was proposed. `basis` is the recorded answer that approved it, if any."""
    require_not_refused(proposal.findings)
    refusals.require_not_refused_often(ctx.store, proposal.learning["text"], by["road"])
    learning: Learning = {**proposal.learning, "timestamp": utc_precise()}  # the time of the answer, not of the preview
    decided = _build_decisions(ctx, proposal, learning, by, basis or {})
    signals = [("Signal-Id", one) for one in learning["signals"]]
    message = build_learning_message(ctx, "approve", learning, decided, by, signals)
    made = [{**learning, "decision": decided[0]["id"]}, *decided]
    waiting = list_waiting(ctx.scan, learning["signals"])
    return commit_change(
        ctx, learning["id"], build_steps(proposal.plans), made, message, proposal.findings,
        check=lambda: require_waiting(ctx.store, waiting),
    )  # fmt: skip


def _build_learning(ctx: Context, request: Request, text: str, record_id: str, target: Target, now: str) -> Learning:
    """Build the learning record for a request."""
    candidate, everyone = request.candidate, (request.candidate, *request.joined)
    scope = "global" if target.is_global else "project"
    meta: dict[str, Any] = {"type": candidate.type}
    until = choose_end_date(everyone, text, request.until, now, request.is_own and bool(request.text))
    if until:
        meta["until"] = until
    title = _build_title(request, text)
    if target.form == "improvements":
        meta["improvement"] = _build_improvement_fields(request, title, text)
    return {
        "id": record_id, "version": schema.VERSION, "timestamp": now, "text": text,
        "title": title, "category": candidate.category, "scope": scope,
        "project": ctx.place.project if scope == "project" else None,
        "target": {"kind": target.kind, "path": target.path}, "topic": topic_of(request.to, target),
        "paths": list(request.paths or (candidate.paths if target.form == "rules" else ())),
        "signals": list(dict.fromkeys(one for each in everyone for one in each.signals)), "decision": "",
        "supersedes": list(request.supersedes), "reason": redact(request.reason),
        "trust": get_lowest_trust([each.trust for each in everyone]),
        "matcher": find_stored_matcher(text, get_candidate_matcher(candidate, request.text)), "meta": meta,
    }  # fmt: skip


def topic_of(to: str, target: Target) -> str | None:
    """Return the topic that a person gave, such as `testing` in `rules:testing`."""
    return to.partition(":")[2] or None if target.form == "rules" else None


def _build_title(request: Request, text: str) -> str:
    """Return the title, taken from the approved text only.

    The title is sent to other machines. Words that were only said, or that were made inert, must not be in it.
    """
    candidate = request.candidate
    if request.title or text == candidate.text:
        return request.title or candidate.title or api.format_title(text)
    from reflect_git.candidates.gather import title_of

    return title_of(text) or api.format_title(text)


def _build_improvement_fields(request: Request, title: str, text: str) -> dict[str, str]:
    """Return the fields of an improvement: as worded, else from the facts of the signal."""
    candidate = request.candidate
    times = f"seen in {plural(candidate.sessions, 'session')}"
    action = request.action or _choose_action(candidate.type, text)
    return {
        "impact": request.impact or CONFIDENCE_LABELS[max(1, min(3, candidate.sessions))],
        **get_details_and_action(title, text, request.details, action),
        "confidence": f"{CONFIDENCE_LABELS[candidate.confidence]} ({times})",
    }


def get_details_and_action(title: str, text: str, details: str, action: str) -> dict[str, str]:
    """Return details and action of an improvement, with its text in one place: title, else action, else details.

    Words that were only said are in none of them: an improvement is sent to other machines.
    """
    if normalize_text(title).rstrip(".") == normalize_text(text).rstrip("."):
        return {"details": details, "action": "" if action == text else action}
    return {"details": details or ("" if action == text else text), "action": action}


def _choose_action(kind: str, text: str) -> str:
    """Return the text if it is an instruction, else a default action for this kind of signal.

    "No section documents it" looks like a prohibition but only describes something.
    """
    is_order = parse_frame(text) is not None and not text.lower().startswith(("no ", "there is no ", "nothing "))
    return text if kind not in _DEFAULT_ACTIONS or is_order else _DEFAULT_ACTIONS[kind]


def build_heading(history: History, learning: Learning) -> str:
    """Return the heading of a numbered rules file: `PROJ-014: Title`."""
    if target_of(learning).form != "rules":
        raise ReflectError("--numbered is for files of rules", "use --to rules --numbered", "usage", EXIT_USAGE)
    number = find_numbers_to_record(history, learning)[learning["id"]]
    title = make_safe(learning["title"] or learning["text"])[0]
    return f"{number}: {api.format_title(title)}"


def item_of(learning: Learning) -> Item:
    """Return the entry for this learning as it appears in its file."""
    fields = learning["meta"].get("improvement")
    skill = learning["meta"].get("skill")
    if skill:
        return Rule(learning["id"], skill["document"], learning["category"])
    if target_of(learning).form != "improvements" or not fields:
        return Rule(
            learning["id"], learning["text"], learning["category"], tuple(learning["paths"]), get_heading(learning)
        )
    category = learning["category"].replace("-", " ").capitalize()
    return Improvement(
        learning["id"], get_id_day(learning["id"]), learning["title"], category, fields["impact"], fields["details"],
        fields["action"], fields["confidence"],
    )  # fmt: skip


def matches_text(learning: Learning, text: str) -> bool:
    """Tell whether a file's text matches the learning, ignoring what a formatter may change."""
    item = item_of(learning)
    if isinstance(item, Improvement):
        return normalize_text(improvements.get_text(item)) == normalize_text(text)
    return is_same_text(text, item.words)


def target_of(learning: Learning) -> Target:
    """Return the file that a learning is in."""
    return Target(learning["target"]["kind"], learning["target"]["path"])


def _build_plans(
    ctx: Context, target: Target, before: bytes | None, item: Item, replaced: Sequence[Learning]
) -> tuple[Plan, ...]:  # fmt: skip
    """Plan the new rule in place of a replaced one in the same file, else at the end; remove other replaced rules."""
    here = [old for old in replaced if target_of(old) == Target(target.kind, target.path)]
    if here and isinstance(item, Rule) and before is not None and target.form == "block":
        first = plans.replace(target, before, item_of(here[0]), item)
        rest = [old for old in replaced if old is not here[0]]
    else:
        first, rest = plans.add(target, before, item), list(replaced)
    made = [first]
    for old in rest:
        place = target_of(old)
        is_same = (place.is_global, place.path) == (target.is_global, target.path)
        live_bytes = first.after if is_same else instruction_files.read(ctx.place.path_of(place))
        made.append(plans.remove(place, live_bytes, item_of(old)))
    return tuple(_merge_plans(made))


def _merge_plans(made: Sequence[Plan]) -> list[Plan]:
    """Merge two changes of the same file into one plan."""
    first, *rest = made
    found = [first]
    for one in rest:
        if one.path == first.path and one.target.kind == first.target.kind:
            found[0] = Plan(first.target, found[0].before, one.after, first.learning, first.kind, first.replaces)
        else:
            found.append(one)
    return found


def find_rule_in_force(ctx: Context, prefix: str) -> Learning:
    """Find a rule in force that applies here; raise if it belongs to another project."""
    rules = {learning["id"]: learning for learning in ctx.scan.history.get_rules_in_force()}
    known = [*ctx.scan.columns["id"], *ctx.scan.other_records]
    hint = "see what is in force with 'reflect-git rules --all'"
    found = rules[api.find_id_of_kind("a rule in force", rules, prefix, known, hint)]
    project = found["project"]
    if project and not ctx.place.is_in_scope(found):
        raise ReflectError(
            f"'{found['id']}' belongs to the project '{project['name']}'", "run it there, or with --project DIR",
            code="other-project",
        )  # fmt: skip
    return found


def with_hint(ctx: Context, rules: Sequence[Learning], error: ReflectError) -> ReflectError:
    """Return the error with a hint that fits why the file does not have the entry as it is in force.

    Possible reasons: another machine, another branch, an edit by hand, or a declined rule. There is no way to force it.
    """
    ways = {
        "missing": error.hint or "see where it is, and put it back: reflect-git review",
        "reworded": "say which of the two it is to be: reflect-git review",
        "entry-doubled": "delete one of the two",
    }
    if error.code not in ways:
        return error
    news, declines = find_pending_decisions(ctx.place, ctx.scan.history, ctx.store.machine), get_declined_hints(ctx)
    message, hint = error.message, ways[error.code]
    for rule in (each["id"] for each in rules):
        if rule in declines and not error.hint:
            hint = declines[rule]
        elif rule in news and error.code != "entry-doubled":
            message = f"what was decided about '{rule}' on '{news[rule]['machine']}' is not in its file here yet"
            hint = "take it over first: reflect-git review"
    return ReflectError(message, hint, error.code, error.exit_code)


def _find_import_sources(ctx: Context, learning: Learning) -> dict[str, str]:
    """Return the files its signals were imported from, so that a file does not conflict with its own text."""
    scan, wanted = ctx.scan, set(learning["signals"])
    return map_sources(scan.get_signals(row for row in scan.rows if scan.columns["id"][row] in wanted))


def _build_decisions(
    ctx: Context, proposal: Proposal, learning: Learning, by: DecisionAuthor, basis: Mapping[str, str]
) -> list[Decision]:  # fmt: skip
    """Make the `approved` decision, and a `superseded` one for each replaced rule."""
    candidate = proposal.request.candidate
    meta = {"signals": learning["signals"], **({"answer": dict(basis)} if basis else {})}
    meta |= {"wording": dict(proposal.request.wording)} if proposal.request.wording else {}
    baseline = _count_baseline(ctx, learning, candidate.key)
    stages = build_stages(
        ctx, proposal.findings, by["road"], has_matcher=bool(learning["matcher"]), baseline=baseline,
        judged=find_judgement(ctx, learning["signals"]),
    )  # fmt: skip
    meta |= {"baseline": baseline, "gate": stages}
    numbers = find_numbers_to_record(ctx.scan.history, learning)
    heading = normalise_number(learning["meta"].get("heading", "").partition(":")[0])
    meta |= {rule_numbers.META: {**numbers, **({learning["id"]: heading} if heading else {})}} if numbers else {}
    approved = api.build_decision(
        ctx.store, "approved", learning["id"], by, learning["timestamp"], text=learning["text"], key=candidate.key,
        target=learning["target"], reason=learning["reason"], meta=meta,
    )  # fmt: skip
    gone = [
        api.build_decision(
            ctx.store, "superseded", old["id"], by, learning["timestamp"], target=old["target"],
            meta={"by": learning["id"]},
        )
        for old in proposal.replaced
    ]  # fmt: skip
    return [approved, *gone, *_build_root_causes(ctx, learning, by)]


def _build_root_causes(ctx: Context, learning: Learning, by: DecisionAuthor) -> list[Decision]:
    """Make a `rootcause` decision for each drafted root cause that proposed this rule."""
    return [
        api.build_decision(ctx.store, "rootcause", key, by, learning["timestamp"], meta=meta)
        for key, meta, _ in _list_drafts(ctx, learning)
    ]


def _show_root_causes(ctx: Context, learning: Learning) -> list[Finding]:
    """Return what the approval records besides the rule, so that nothing syncs unseen."""
    drafts = _list_drafts(ctx, learning)
    return [Finding(gate.RISK, "rootcause", f"it also records, and syncs, the {said}") for _, _, said in drafts]


def _list_drafts(ctx: Context, learning: Learning) -> list[tuple[str, dict[str, Any], str]]:
    """List the drafted root causes of a rule's signals: incident, fields of the decision, and in words."""
    scan, wanted = ctx.scan, set(learning["signals"])
    signals = scan.get_signals(row for row in scan.rows if scan.columns["id"][row] in wanted)
    return [
        (found[0], {**found[1], "proposed": signal["id"]}, str(signal["context"]))
        for signal in signals
        if (found := parse_draft(signal))
    ]


def _count_baseline(ctx: Context, learning: Learning, key: str) -> dict[str, Any]:
    """Count the sessions so far in which the rule could have applied, to compare later ones with.

    By the calls of past sessions if a matcher of the rule matched any of them, else by what the person said.
    """
    by_calls = count_baseline(ctx, learning)
    if by_calls:
        return by_calls
    columns, wanted = ctx.scan.columns, set(learning["signals"])
    keys = {one for identity, one in zip(columns["id"], columns["key"], strict=True) if identity in wanted}
    project = learning["project"]["key"] if learning["project"] else ""
    seen = SessionEvents(ctx.scan, project_files.load_key_aliases(ctx.store, ctx.place))
    return seen.count_baseline({key, *keys}, project, learning["timestamp"])


def plan_approval_after(ctx: Context, request: Request, earlier: Sequence[Proposal]) -> Proposal:
    """Plan an approval as if the earlier ones were already in force and in their files."""
    said = [Statement(one.plans[0].path, 0, one.learning["text"], one.learning["id"]) for one in earlier]
    made = plan_approval(ctx.replace(statements=[*said, *ctx.statements]), request)
    return made._replace(plans=(_rebase_plan(made, earlier),)) if len(made.plans) == 1 else made


def _rebase_plan(made: Proposal, earlier: Sequence[Proposal]) -> Plan:
    """Return the plan on top of the last earlier plan for the same file."""
    (plan,) = made.plans
    same = [one.plans[0] for one in earlier if _get_file_key(one.plans[0]) == _get_file_key(plan)]
    return plans.add(plan.target, same[-1].after, item_of(made.learning)) if same else plan


def _get_file_key(plan: Plan) -> tuple[bool, str]:
    return plan.target.is_global, plan.path
