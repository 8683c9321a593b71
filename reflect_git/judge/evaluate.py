"""Choose the messages to judge, have them scored, and store figures on main and findings as private signals."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.capture import service
from reflect_git.capture.new_signal import build_signal_from_input, redact_project
from reflect_git.errors import ReflectError
from reflect_git.judge import calibrate, calls, messages, rubric
from reflect_git.judge.answers import Verdict, parse_answer
from reflect_git.judge.baton import build_baton
from reflect_git.judge.rubric import Extract
from reflect_git.platform import files
from reflect_git.platform.claude_call import Usage
from reflect_git.records.ids import digest, plural, random_id, utc_precise
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.schema import VERSION
from reflect_git.redact import redact
from reflect_git.rules import project_files
from reflect_git.rules.context import Context
from reflect_git.rules.model_wording import Price
from reflect_git.store import api, append
from reflect_git.store.reading import reader

if TYPE_CHECKING:
    from reflect_git.judge.calls import Judge
    from reflect_git.judge.messages import Session
    from reflect_git.store.repository import Store

PREFIX, IN_SESSION = "EVL", "in-session"
SETTING, AUTO = "reflect.evaluate", "auto"
_EVERY_KEY = "reflect.evaluate.every"
LIMIT = 20
_AUTO_SECONDS = 7 * 86400.0  # how far back an automatic run looks
_APPEND_SECONDS = 5.0
_LOCK, _LOCK_SECONDS = "evaluating", 300.0  # of automatic runs: a judge may take 120 s
_INSTRUCTION_FILES = ("CLAUDE.md", "AGENTS.md", "CLAUDE.local.md")


class Part(NamedTuple):
    """The messages of one session that are judged in one call, from one typed message to another."""

    session: Session
    first: int
    last: int
    extract: Extract

    @property
    def typed(self) -> int:
        return self.last - self.first + 1


class Mean(NamedTuple):
    """The mean of the overall scores of calibrated judges, or of the others."""

    mean: float
    scored: int
    is_anchored: bool


class Evaluation(NamedTuple):
    """A stored evaluation, with what the judge wrote."""

    record: dict[str, Any]
    verdict: Verdict


def find_parts(
    ctx: Context, transcripts: Iterable[str], *, limit: int = LIMIT, everything: bool = False,
    project: Sequence[str] = (),
) -> list[Part]:  # fmt: skip
    """Return the messages of these transcripts that were not judged yet, the oldest first.

    `everything`: those that were judged, too. `project`: only sessions of the project with one of these keys.
    """
    judged = {} if everything else _find_judged(ctx.scan.other_records.values())
    found = []
    for path in transcripts:
        session = messages.load_session(ctx.store, ctx.env, path)
        if session is None or not session.is_attended:
            continue
        if project and (service.get_project(ctx.store, session.cwd) or {"key": ""})["key"] not in project:
            continue
        first = judged.get(session.name, 0) + 1
        while first <= session.typed:
            last = min(session.typed, first + limit - 1)
            found.append(Part(session, first, last, build_extract(ctx, session, first, last)))
            first = last + 1
    return sorted(found, key=lambda part: (part.session.end, part.first))


def _find_judged(records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Map each session to its last judged message. What the session judged itself does not count."""
    found: dict[str, int] = {}
    for one in records:
        if one["id"].startswith(f"{PREFIX}-") and one["judge"]["kind"] != IN_SESSION:
            found[one["session"]] = max(one["messages"]["last"], found.get(one["session"], 0))
    return found


def build_extract(ctx: Context, session: Session, first: int, last: int) -> Extract:
    part = session.get_part(first, last)
    earlier = build_baton(session, before=part[0].n).lines if first > 1 and part else ()
    return Extract(_load_instructions(ctx, session), earlier, tuple(part))


def _load_instructions(ctx: Context, session: Session) -> str:
    """Return the instructions that the session had: as the client reported them, else as they are now."""
    if session.loaded:
        return rubric.join_instructions(session.loaded)
    place = project_files.find_place(ctx.store, ctx.env, session.cwd)
    said = project_files.load_statements(place).sources
    named = [
        (name, redact(data.decode("utf-8", "replace"))) for name, data in said.items()
        if name.rpartition("/")[2] in _INSTRUCTION_FILES or "rules/" in name
    ]  # fmt: skip
    return rubric.join_instructions(named)


def require_enough(parts: Sequence[Part], least: int) -> None:
    """Raise if there are too few messages to judge."""
    count = sum(part.typed for part in parts)
    if count < least:
        hint = f"{plural(count, 'message')} not judged yet, {least} needed; look further back: --since 7d"
        raise ReflectError("not enough messages for reflection", hint, "too-few")


def estimate_price(ctx: Context, judge: Judge, parts: Sequence[Part]) -> Price:
    """Estimate what it costs to judge all of these."""
    system = rubric.build_system_prompt(rubric.load_rubric(ctx.store))
    prices = [calls.estimate_price(ctx.store, judge, system, part.extract) for part in parts]
    return Price(sum(one.tokens for one in prices), sum(one.usd for one in prices))


def evaluate_part(
    ctx: Context, judge: Judge, part: Part, on_tick: Callable[[float], None] | None = None
) -> Evaluation:  # fmt: skip
    """Have one part judged, and store the result. If the answer cannot be used, only its cost is stored."""
    loaded = rubric.load_rubric(ctx.store)
    system = rubric.build_system_prompt(loaded)
    reply = calls.ask_judge(ctx.store, ctx.env, judge, system, part.extract, on_tick, part=_get_key(part))
    verdict = parse_answer(reply.answer, part.extract.messages)
    fields = {
        "kind": judge.kind, "model": reply.model, "rubric_sha": loaded.sha, "prompt_sha": rubric.get_prompt_sha()
    }  # fmt: skip
    return store_evaluation(ctx, part, verdict, fields, reply.usage, calibrate.is_anchored(ctx.store, fields))


def _get_key(part: Part) -> str:
    return digest("part", part.session.id, str(part.first))[:16]


def store_evaluation(
    ctx: Context, part: Part, verdict: Verdict, judge: Mapping[str, str], used: Usage, is_anchored: bool
) -> Evaluation:  # fmt: skip
    """Store what the judge wrote as private signals, and the figures on main."""
    store, session, now = ctx.store, part.session, utc_precise()
    record_id = random_id(PREFIX, now)
    signals = _build_signals(ctx, part, verdict, record_id, now)
    append.append_new(store, signals, _APPEND_SECONDS)
    versions, rules = _find_loaded(ctx.scan.other_records.values(), session.name)
    record: dict[str, Any] = {
        "id": record_id, "version": VERSION, "timestamp": now, "machine": store.machine, "session": session.name,
        "project": redact_project(service.get_project(store, session.cwd), paths.home_dir(ctx.env)),
        "messages": {"first": part.first, "last": part.last, "count": part.typed},
        "versions": versions, "rules": rules, "scores": dict(verdict.scores), "overall": verdict.overall,
        "recommendation": verdict.recommendation, "judge": dict(judge),
        "usage": {"input": used.input_tokens, "output": used.output_tokens, "usd": round(used.usd, 6)},
        "anchored": is_anchored,
        "meta": {"signals": [one["id"] for one in signals], "dropped": list(verdict.dropped)},
    }  # fmt: skip
    overall = "no overall score" if verdict.overall is None else f"{verdict.overall:.2f}"
    api.commit_records(store, [record], f"evaluate: {plural(part.typed, 'message')}, {overall}", {})
    return Evaluation(record, verdict)


def _build_signals(ctx: Context, part: Part, verdict: Verdict, record_id: str, now: str) -> list[Any]:
    """Return the analysis, the weaknesses and the suggestions as signals. All are Claude's words, not the user's."""
    quotes = [quote for one in verdict.weaknesses for quote in one.quotes]
    found: list[dict[str, Any]] = []
    if verdict.analysis:
        found.append({"type": "summary", "content": verdict.analysis, "meta": {"analysis": True}})
    for weakness in verdict.weaknesses:
        meta = {"weakness": True, "evidence": list(weakness.quotes)}
        found.append({"type": "project_friction", "content": weakness.text, "meta": meta})
    for one in verdict.suggestions:
        meta = {"suggestion": {"priority": one.priority, "category": one.category}, "evidence": quotes[:3]}
        found.append({"type": "convention", "category": one.category, "content": one.text, "meta": meta})
    shared = {
        "confidence": 1, "trust": "assistant", "session_id": part.session.id, "timestamp": part.session.end,
        "project": service.get_project(ctx.store, part.session.cwd), "source": {"hook": "evaluate"}, "context": "",
    }  # fmt: skip
    return [
        build_signal_from_input(
            {**shared, **one, "meta": {**one["meta"], "evaluation": record_id, "durable": True}}, ctx.store.machine,
            now, paths.home_dir(ctx.env),
        ) for one in found
    ]  # fmt: skip


def _find_loaded(records: Iterable[Mapping[str, Any]], session: str) -> tuple[dict[str, int], list[str]]:
    """Return the versions and the rules that a session loaded, from its figures."""
    versions: dict[str, int] = {}
    rules: dict[str, None] = {}
    for one in records:
        if one["id"].startswith("EXP-") and one["session"] == session:
            versions.update(one.get("versions") or {})
            rules.update(dict.fromkeys(rule for listed in one["rules"].values() for rule in listed))
    return versions, list(rules)


def list_evaluations(ctx: Context) -> list[dict[str, Any]]:
    """List all evaluations, the newest first."""
    found = [one for one in ctx.scan.other_records.values() if one["id"].startswith(f"{PREFIX}-")]
    return sorted(found, key=lambda one: (one["timestamp"], one["id"]), reverse=True)


def compute_means(records: Iterable[Mapping[str, Any]]) -> list[Mean]:
    """Return the mean of the anchored scores, and apart from it that of the others.

    What a session judged itself is in neither: it could write what it likes.
    """
    scores: dict[bool, list[float]] = {True: [], False: []}
    for one in records:
        if one["overall"] is not None and one["judge"]["kind"] != IN_SESSION:
            scores[one["anchored"] is True].append(one["overall"])
    return [
        Mean(round(sum(found) / len(found), 2), len(found), is_anchored)
        for is_anchored, found in scores.items() if found
    ]  # fmt: skip


def is_automatic(store: Store) -> bool:
    """Tell whether a person switched on a judge that scores sessions without asking."""
    return store.get_setting(SETTING) == AUTO and (store.get_setting(calls.SETTING) or calls.OFF) != calls.OFF


def find_due(ctx: Context) -> list[Part]:
    """Return what an automatic run has to judge now; empty unless enough was typed.

    What was paid for and could not be used is not tried again: that would cost the same every day.
    """
    try:
        every = max(1, int(ctx.store.get_setting(_EVERY_KEY) or LIMIT))
    except ValueError:
        every = LIMIT
    paid = calls.list_paid_parts(ctx.store)
    found = find_parts(ctx, messages.list_transcripts(ctx.env, time.time() - _AUTO_SECONDS), limit=every)
    parts = [part for part in found if _get_key(part) not in paid]
    return parts if sum(part.typed for part in parts) >= every else []


def evaluate_if_due(ctx: Context) -> list[Evaluation]:
    """Judge what is due, within the daily limit; a failure ends the run and is logged.

    One run waits for another: two sessions may end at once, and nothing is to be paid twice.
    """
    if not is_automatic(ctx.store):
        return []
    lock = files.Lock(ctx.store.private_path(_LOCK))
    if not lock.acquire(_LOCK_SECONDS):
        return []
    done: list[Evaluation] = []
    try:
        ctx = ctx.replace(scan=reader.scan(ctx.store))  # the other run may have judged it
        for part in find_due(ctx):
            done.append(evaluate_part(ctx, calls.load_judge(ctx.store), part))
    except ReflectError as error:
        ctx.store.log(f"evaluate: {error.message}")
    finally:
        lock.release()
    return done
