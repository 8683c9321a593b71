"""From a candidate to one commit: proposed with its diff and what stands against it, then carried out as shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import live
from reflect_git.adapters.redact import redact
from reflect_git.apply import improvements, targets
from reflect_git.apply import plan as plans
from reflect_git.apply.improvements import Improvement
from reflect_git.apply.inert import inert
from reflect_git.apply.plan import Item, Plan, Rule
from reflect_git.apply.targets import Target
from reflect_git.apply.wording import normal, same
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model import schema
from reflect_git.model.counts import plural
from reflect_git.model.frames import frame_of
from reflect_git.model.ids import day_of, timed_id, utc_precise
from reflect_git.model.tuples import NamedTuple
from reflect_git.review import gate
from reflect_git.review.matcher import matcher_for
from reflect_git.review.risks import Finding, lowest
from reflect_git.review.ruleform import is_question
from reflect_git.sitting import links, places
from reflect_git.sitting.gating import additions, findings_on, secret_fields, ways_back
from reflect_git.sitting.news import news_for
from reflect_git.sitting.writing import Approved, message_of, require_unrefused, shown, steps, write
from reflect_git.store import memory

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Decision, Learning
    from reflect_git.review.candidates import Candidate
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.review import Sitting

_ACTIONS = {
    "gotcha": "Fix it, or document it where it is met",
    "project_friction": "Fix it, or document it where it is looked for",
    "failure": "Make it work, or document what works instead",
    "discovery": "Document it",
}
FIELDS = ("title", "impact", "details", "action")  # what a person may word of an improvement beside its text
CONFIDENCE = {1: "Low", 2: "Medium", 3: "High", 4: "Verified"}
NEEDS_WORDING = "needs-wording"


class Request(NamedTuple):
    """What a person wants made of a candidate; what is empty is as proposed. `is_own`: the person typed the text at a
    terminal, so that all of it is in their words. `wording`: who worded the text instead, and what that call took."""

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
    is_own: bool = False
    wording: Mapping[str, Any] | None = None


class Proposal(NamedTuple):
    """One change, whole: the preview is the write."""

    place: Place
    request: Request
    learning: Learning
    to: str
    plans: tuple[Plan, ...]
    findings: tuple[Finding, ...]
    replaced: tuple[Learning, ...] = ()

    @property
    def diff(self) -> str:
        return shown(self.place, self.plans)

    @property
    def is_refused(self) -> bool:
        return gate.is_refused(self.findings)

    @property
    def is_risky(self) -> bool:
        return gate.is_risky(self.findings)


def propose(sitting: Sitting, request: Request) -> Proposal:
    """The exact change, and everything that stands against it. Nothing is written."""
    candidate = request.candidate
    text, mended = inert(request.text or candidate.text)
    if not text:
        raise ReflectError("there is no text to approve", "give one with --text TEXT", "usage")
    named = {old["id"]: old for old in (in_force_here(sitting, each) for each in request.supersedes)}
    # As the file and a question have them.
    fields: dict[str, Any] = {name: inert(getattr(request, name))[0] for name in FIELDS}
    request, replaced = request._replace(supersedes=tuple(named), **fields), tuple(named.values())
    now = utc_precise()
    identity = timed_id("LRN", now)
    to = request.to or candidate.target
    around = places.surroundings(sitting.place, to)
    target = targets.resolve(to, around, identity, _title(request, text))
    if not target.is_global:
        places.require_wanted(sitting.store, sitting.place)
    learning = _learning(sitting, request, text, identity, target, now)
    before = live.read(sitting.place.path_of(target))
    try:
        made = _plans(sitting, target, before, item_of(learning), replaced)
    except ReflectError as error:
        raise with_way_out(sitting, replaced, error) from None
    links.require_single_names(sitting.place, made)
    sources = _sources(sitting, learning) if learning["trust"] == "imported" else {}
    found = findings_on(sitting, text, learning["trust"], target, before, mended, request.supersedes, sources)
    linked = links.in_the_way(sitting.store, sitting.place, made)
    is_reworded = request.text and not request.is_own
    added = additions(sitting, text, (candidate, *request.joined)) if is_reworded else []
    against = (
        *_unworded(request, text), *secret_fields(learning), *linked, *found, *added,
        *_narrowed(learning, replaced), *_ending(learning),
    )  # fmt: skip
    return Proposal(sitting.place, request, learning, to, made, against, replaced)


def _unworded(request: Request, text: str) -> list[Finding]:
    """Refuse a quote as a rule, and a question, whoever worded it."""
    candidate = request.candidate
    if request.text:
        return question_in(text)
    if not candidate.needs_wording:
        return []
    message = f"it needs wording: as it was said it {candidate.why_no_rule}"
    return [Finding(gate.REFUSED, NEEDS_WORDING, message, f"reflect-git approve {candidate.id} --text TEXT")]


def question_in(text: str) -> list[Finding]:
    way = "say what to do instead: --text TEXT"
    return [Finding(gate.REFUSED, "question", "a question is no rule", way)] if is_question(text) else []


def _ending(learning: Learning) -> list[Finding]:
    until = learning["meta"].get("until")
    return [Finding(gate.NOTE, "until", f"ends on {until}: review asks then whether it still holds")] if until else []


def find_end(candidates: Sequence[Candidate], text: str, until: str, now: str, is_own: bool = False) -> str:
    """Return the day on which a rule ends: as asked for, else as its words say.

    In a model's wording it also ends when the person said, although the text may leave that out.
    """
    from reflect_git.review.enddates import end_date

    if not until:
        said = "" if is_own else next((each.until for each in candidates if each.until), "")
        return end_date(text, now) or said or ""
    found = end_date(f"until {until}", now)
    if not found:
        hint = "give a day, for example --until 2027-03-01"
        raise ReflectError(f"'{until}' is not a date", hint, "usage", EXIT_USAGE)
    if found <= now[:10]:
        raise ReflectError(f"the end date {found} is not in the future", "give a later day", "usage", EXIT_USAGE)
    return found


def _narrowed(learning: Learning, replaced: Sequence[Learning]) -> list[Finding]:
    wide = [old["id"] for old in replaced if old["scope"] == "global" != learning["scope"]]
    return [
        Finding(gate.NOTE, "narrowed", f"'{one}' goes from all projects, and this rule is for one of them")
        for one in wide
    ]


def carry_out(sitting: Sitting, proposal: Proposal, by: By, basis: Mapping[str, str] | None = None) -> Approved:
    """Write what was proposed. `basis`: the recorded answer that it rests on, if it rests on one."""
    require_unrefused(proposal.findings)
    learning: Learning = {**proposal.learning, "timestamp": utc_precise()}  # of the answer, not of what was shown
    decided = _decisions(sitting, proposal, learning, by, basis or {})
    signals = [("Signal-Id", one) for one in learning["signals"]]
    message = message_of(sitting, "approve", learning, decided, by, signals)
    made = [{**learning, "decision": decided[0]["id"]}, *decided]
    return write(sitting, learning["id"], steps(proposal.plans), made, message, proposal.findings)


def _learning(sitting: Sitting, request: Request, text: str, identity: str, target: Target, now: str) -> Learning:
    candidate, everyone = request.candidate, (request.candidate, *request.joined)
    scope = "global" if target.is_global else "project"
    meta: dict[str, Any] = {"type": candidate.type}
    until = find_end(everyone, text, request.until, now, request.is_own and bool(request.text))
    if until:
        meta["until"] = until
    title = _title(request, text)
    if target.form == "improvements":
        meta["improvement"] = _improvement_fields(request, title, text)
    return {
        "id": identity, "version": schema.VERSION, "timestamp": now, "text": text,
        "title": title, "category": candidate.category, "scope": scope,
        "project": sitting.place.project if scope == "project" else None,
        "target": {"kind": target.kind, "path": target.path}, "topic": topic_of(request.to, target),
        "paths": list(request.paths or (candidate.paths if target.form == "rules" else ())),
        "signals": list(dict.fromkeys(one for each in everyone for one in each.signals)), "decision": "",
        "supersedes": list(request.supersedes), "reason": redact(request.reason),
        "trust": lowest([each.trust for each in everyone]),
        "matcher": matcher_for(candidate, request.text), "meta": meta,
    }  # fmt: skip


def topic_of(to: str, target: Target) -> str | None:
    """What a person called it: `rules:testing`."""
    return to.partition(":")[2] or None if target.form == "rules" else None


def _title(request: Request, text: str) -> str:
    """Of the text that is approved: it is sent to other machines, and words that were only said, or that mending took
    out, are not."""
    candidate = request.candidate
    if request.title or text == candidate.text:
        return request.title or candidate.title or memory.title(text)
    from reflect_git.review.classify import title_of

    return title_of(text) or memory.title(text)


def _improvement_fields(request: Request, title: str, text: str) -> dict[str, str]:
    """Return the fields of an entry: as somebody worded them, else from the facts of the signal."""
    candidate = request.candidate
    times = f"seen in {plural(candidate.sessions, 'session')}"
    action = request.action or _action(candidate.type, text)
    return {
        "impact": request.impact or CONFIDENCE[max(1, min(3, candidate.sessions))],
        **say_once(title, text, request.details, action),
        "confidence": f"{CONFIDENCE[candidate.confidence]} ({times})",
    }


def say_once(title: str, text: str, details: str, action: str) -> dict[str, str]:
    """Return details and action of an entry, with the text in one place: the title, else the action, else the details.

    What was only said is in none of them: an entry is sent to other machines.
    """
    if normal(title).rstrip(".") == normal(text).rstrip("."):
        return {"details": details, "action": "" if action == text else action}
    return {"details": details or ("" if action == text else text), "action": action}


def _action(kind: str, text: str) -> str:
    """What is told is no action yet; what is ordered is one. "No section documents it" reads like a ban and is told."""
    is_order = frame_of(text) is not None and not text.lower().startswith(("no ", "there is no ", "nothing "))
    return text if kind not in _ACTIONS or is_order else _ACTIONS[kind]


def item_of(learning: Learning) -> Item:
    """As its file has it."""
    fields = learning["meta"].get("improvement")
    if target_of(learning).form != "improvements" or not fields:
        return Rule(learning["id"], learning["text"], learning["category"], tuple(learning["paths"]))
    category = learning["category"].replace("-", " ").capitalize()
    return Improvement(
        learning["id"], day_of(learning["id"]), learning["title"], category, fields["impact"], fields["details"],
        fields["action"], fields["confidence"],
    )  # fmt: skip


def says(learning: Learning, text: str) -> bool:
    """Is this what its file would say, but for what a formatter changes?"""
    item = item_of(learning)
    if isinstance(item, Improvement):
        return normal(improvements.text_of(item)) == normal(text)
    return same(text, item.text)


def target_of(learning: Learning) -> Target:
    return Target(learning["target"]["kind"], learning["target"]["path"])


def _plans(
    sitting: Sitting, target: Target, before: bytes | None, item: Item, replaced: Sequence[Learning]
) -> tuple[Plan, ...]:  # fmt: skip
    """In the place of the rule it replaces, if that stands in the same file; other rules it replaces go."""
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
        live_bytes = first.after if is_same else live.read(sitting.place.path_of(place))
        made.append(plans.remove(place, live_bytes, item_of(old)))
    return tuple(_merged(made))


def _merged(made: Sequence[Plan]) -> list[Plan]:
    """Two changes of one file are one."""
    first, *rest = made
    found = [first]
    for one in rest:
        if one.path == first.path and one.target.kind == first.target.kind:
            found[0] = Plan(first.target, found[0].before, one.after, first.learning, first.kind, first.replaces)
        else:
            found.append(one)
    return found


def in_force_here(sitting: Sitting, prefix: str) -> Learning:
    """A rule in force that holds here; that of another project has its file elsewhere."""
    rules = {learning["id"]: learning for learning in sitting.scan.history.in_force()}
    known = [*sitting.scan.columns["id"], *sitting.scan.others]
    hint = "see what is in force with 'reflect-git rules --all'"
    found = rules[memory.find_as("a rule in force", rules, prefix, known, hint)]
    project = found["project"]
    if project and not sitting.place.reaches(found):
        raise ReflectError(
            f"'{found['id']}' belongs to the project '{project['name']}'", "run it there, or with --project DIR",
            code="other-project",
        )  # fmt: skip
    return found


def with_way_out(sitting: Sitting, rules: Sequence[Learning], error: ReflectError) -> ReflectError:
    """An entry that is to be changed and does not stand in its file as it is in force: the reason is another machine,
    another branch, a hand, or a no. Nothing can be forced where it is not taken back."""
    ways = {
        "missing": error.hint or "see where it is, and put it back: reflect-git review",
        "reworded": "say which of the two it is to be: reflect-git review",
        "entry-doubled": "delete one of the two",
    }
    if error.code not in ways:
        return error
    news, noes = news_for(sitting.place, sitting.scan.history, sitting.store.machine), ways_back(sitting)
    message, hint = error.message, ways[error.code]
    for rule in (each["id"] for each in rules):
        if rule in noes and not error.hint:
            hint = noes[rule]
        elif rule in news and error.code != "entry-doubled":
            message = f"what was decided about '{rule}' on '{news[rule]['machine']}' is not in its file here yet"
            hint = "take it over first: reflect-git review"
    return ReflectError(message, hint, error.code, error.exit_code)


def _sources(sitting: Sitting, learning: Learning) -> dict[str, str]:
    """What its signals were imported from: a file is not held against what it says itself."""
    from reflect_git.review.baseline import sources_of

    scan, wanted = sitting.scan, set(learning["signals"])
    return sources_of(scan.whole(row for row in scan.rows if scan.columns["id"][row] in wanted))


def _decisions(
    sitting: Sitting, proposal: Proposal, learning: Learning, by: By, basis: Mapping[str, str]
) -> list[Decision]:  # fmt: skip
    candidate = proposal.request.candidate
    meta = {"signals": learning["signals"], **({"answer": dict(basis)} if basis else {})}
    meta |= {"wording": dict(proposal.request.wording)} if proposal.request.wording else {}
    approved = memory.decision(
        sitting.store, "approved", learning["id"], by, learning["timestamp"], text=learning["text"], key=candidate.key,
        target=learning["target"], reason=proposal.request.reason, meta=meta,
    )  # fmt: skip
    gone = [
        memory.decision(
            sitting.store, "superseded", old["id"], by, learning["timestamp"], target=old["target"],
            meta={"by": learning["id"]},
        )
        for old in proposal.replaced
    ]  # fmt: skip
    return [approved, *gone]
