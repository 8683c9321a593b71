"""Ask Claude to word proposed rules: what is sent, what it costs, what is cached. Nothing is approved here.

Only redacted words leave the machine, and only after a person allowed it. Answers are cached until a signal expires or
is purged, so that the next review does not pay for them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.language.rule_form import RULE_LIMIT, find_sentence_fault
from reflect_git.language.sentences import split_line
from reflect_git.language.wording import clip_text
from reflect_git.language.words import load_table
from reflect_git.platform import claude_call, files
from reflect_git.platform.claude_call import CallFailed, Question, Usage
from reflect_git.records.ids import digest
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.redact import redact
from reflect_git.store import expiry, policy
from reflect_git.store.local import usage

if TYPE_CHECKING:
    from reflect_git.candidates.gather import Candidate
    from reflect_git.rules.context import Context
    from reflect_git.store.repository import Store

SETTING, MODEL, TIMEOUT = "reflect.wording", "reflect.wording.model", "reflect.wording.timeout"
ON, OFF = "claude", "off"
TASK = "word"
_DEFAULT_MODEL, _DEFAULT_SECONDS = "haiku", 60.0
_MAX_CACHE_BYTES = 1 << 22
_TYPICAL_LENGTH = 150  # characters of a typical message
_RECENT_CALLS = 10  # recent calls used to estimate the price


class Price(NamedTuple):
    """The expected cost of a call."""

    tokens: int
    usd: float


class ModelWording(NamedTuple):
    """Claude's wording of one proposed rule.

    `same_as`: the id of another proposed rule that means the same, in Claude's view. `spent`: what the decision
    records; it covers the whole call, not this rule alone.
    """

    text: str = ""
    no_rule: str = ""
    trouble: str = ""
    same_as: str = ""
    spent: Mapping[str, Any] | None = None


class WordingResult(NamedTuple):
    """The wordings of one call by id, and what the call cost."""

    wordings: dict[str, ModelWording]
    tokens: int
    usd: float
    usd_today: float


def is_on(ctx: Context) -> bool:
    return ctx.store.get_setting(SETTING) == ON


def is_undecided(ctx: Context) -> bool:
    """Tell whether no person has decided yet if Claude may word rules."""
    return policy.get_effective(ctx.store, SETTING) is None


def estimate_price(ctx: Context, candidates: Sequence[Candidate]) -> Price:
    """Estimate the cost of one call: from a dated price table at first, then from earlier calls."""
    return _estimate_call_price(ctx.store, _build_question(ctx, candidates), len(candidates))


def estimate_typical_price(store: Store) -> Price:
    """Estimate the cost of a call for one rule of typical length."""
    prompt = build_prompt([PromptItem(("x" * _TYPICAL_LENGTH,))])
    model = store.get_setting(MODEL) or _DEFAULT_MODEL
    return _estimate_call_price(store, Question(_load_system_prompt(), prompt, ANSWER_SCHEMA, model, 0.0, 0.0, ""), 1)


def word_rules(
    ctx: Context, candidates: Sequence[Candidate], on_tick: Callable[[float], None] | None = None
) -> WordingResult:  # fmt: skip
    """Ask Claude to word at most 20 proposed rules.

    The caller has a person's consent; this function enforces the daily cap.
    """
    store, candidates = ctx.store, candidates[:MAX_RULES_PER_CALL]
    program = claude_call.require_client(ctx.env)
    question = _build_question(ctx, candidates)
    price = _estimate_call_price(store, question, len(candidates))
    line = usage.reserve_cost(store, TASK, question.model, price.usd, price.tokens)
    try:
        answer, used = claude_call.ask(program, question._replace(max_usd=line["usd"]), ctx.env, on_tick)
    except CallFailed as error:
        # The real cost of an interrupted call is unknown, so the estimate counts.
        unknown = Usage(usd=price.usd)
        usage.record_cost(store, line, usage.FAILED, why=error.code, **_get_usage_fields(error.usage or unknown))
        raise
    except BaseException:
        usage.record_cost(store, line, usage.FAILED, usd=0.0)
        raise
    usage.record_cost(store, line, usage.DONE, rules=len(candidates), **_get_usage_fields(used))
    tokens = used.input_tokens + used.output_tokens
    spent = {
        "by": ON, "model": used.model or question.model, "tokens": tokens, "usd": round(used.usd, 6),
        "rules": len(candidates),
    }  # fmt: skip
    ids = [each.id for each in candidates]
    found = {
        each.id: _build_wording(one, ids, spent)
        for each, one in zip(candidates, parse_answer(answer, len(candidates)), strict=True)
    }
    _write_cache(ctx, candidates, found)
    return WordingResult(found, tokens, used.usd, usage.get_spent_today(store))


def load_cached_wordings(ctx: Context, candidates: Sequence[Candidate]) -> dict[str, ModelWording]:
    """Return cached wordings that still match their candidates."""
    kept = _load_cache(ctx)
    found = {}
    for each in candidates:
        fields = kept.get(_get_cache_key(ctx, each))
        if isinstance(fields, dict):
            found[each.id] = ModelWording(**{name: fields.get(name) or default for name, default in _DEFAULTS.items()})
    return found


_DEFAULTS: dict[str, Any] = {"text": "", "no_rule": "", "trouble": "", "same_as": "", "spent": None}


def _build_wording(one: ParsedWording, ids: Sequence[str], spent: Mapping[str, Any]) -> ModelWording:
    same = ids[one.same_as] if one.same_as is not None else ""
    return ModelWording(one.text, one.no_rule, one.trouble, same, spent)


def _build_question(ctx: Context, candidates: Sequence[Candidate]) -> Question:
    seconds = float(ctx.store.get_setting(TIMEOUT) or _DEFAULT_SECONDS)
    prompt = build_prompt(_build_items(ctx, candidates))
    return Question(
        _load_system_prompt(), prompt, ANSWER_SCHEMA, _get_model(ctx), usage.MAX_CALL_USD, seconds, ctx.store.private
    )


def _get_model(ctx: Context) -> str:
    return ctx.store.get_setting(MODEL) or _DEFAULT_MODEL


@cache
def _load_system_prompt() -> str:
    texts = []
    for name in ("call.md", "rules.md"):
        with open(paths.resource_path("templates", "wording", name), encoding="utf-8") as file:
            texts.append(file.read())
    return build_system_prompt(*texts)


def _build_items(ctx: Context, candidates: Sequence[Candidate]) -> list[PromptItem]:
    """Return what is sent for each candidate.

    Signals are redacted when captured and again here: an older version may have known fewer kinds of secrets.
    """
    scan, wanted = ctx.scan, {one for each in candidates for one in each.signals}
    signals = {
        one["id"]: one for one in scan.get_signals(row for row in scan.rows if scan.columns["id"][row] in wanted)
    }
    items = []
    for each in candidates:
        said = [str(signals[one]["content"]) for one in each.signals if one in signals] or [each.quote]
        items.append(PromptItem(tuple(dict.fromkeys(map(redact, said))), redact(each.quote)))
    return items


def _estimate_call_price(store: Store, question: Question, count: int) -> Price:
    return estimate_price_of(store, TASK, question.model, *estimate_tokens(question.system, question.prompt, count))


def estimate_price_of(store: Store, task: str, model: str, read: int, written: int) -> Price:
    """Estimate the cost of reading and writing so many tokens.

    It comes from the price table, corrected by earlier calls for the same task and model.
    """
    rates = load_table("prices")["models"]
    rate = next((rates[name] for name in rates if name in model), None) or rates["opus"]
    tokens, usd = read + written, (read * rate["input"] + written * rate["output"]) / 1e6
    past = [line for line in usage.read(store) if _has_price(line, task, model)][-_RECENT_CALLS:]
    if not past:
        return Price(tokens, usd)
    ratio = sum(line["tokens"] / line["expected"] for line in past) / len(past)
    rate_seen = sum(line["usd"] for line in past) / sum(line["tokens"] for line in past)
    tokens = max(1, round(tokens * ratio))
    return Price(tokens, tokens * rate_seen)


def _has_price(line: Mapping[str, Any], task: str, model: str) -> bool:
    """Tell whether a usage line can be used to estimate the price."""
    if line.get("state") != usage.DONE or line.get("task") != task or line.get("model") != model:
        return False
    return all(type(line.get(name)) in (int, float) and line[name] > 0 for name in ("tokens", "expected", "usd"))


def _get_usage_fields(used: Usage) -> dict[str, Any]:
    tokens = used.input_tokens + used.output_tokens
    return {
        "input_tokens": used.input_tokens, "output_tokens": used.output_tokens, "tokens": tokens,
        "usd": round(used.usd, 6), **({"answered_by": used.model} if used.model else {}),
    }  # fmt: skip


def _get_cache_path(ctx: Context) -> str:
    """Return the path of the cached wordings, among the caches deleted when signals expire or are purged."""
    return ctx.store.private_path("cache", f"{expiry.CANDIDATE_CACHE_PREFIX}wordings")


def _get_cache_key(ctx: Context, candidate: Candidate) -> str:
    """Return the cache key of a wording: a digest of the words, the prompt and the model."""
    return digest(_load_system_prompt(), _get_model(ctx), candidate.quote, candidate.text, *candidate.signals)


def _load_cache(ctx: Context) -> dict[str, Any]:
    try:
        kept = json.loads(files.read_regular(_get_cache_path(ctx), _MAX_CACHE_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _write_cache(ctx: Context, candidates: Sequence[Candidate], found: Mapping[str, ModelWording]) -> None:
    """Add wordings to the cache; ignore a full disk, because the answer was paid for."""
    usable = [each for each in candidates if not found[each.id].trouble]
    kept = {**_load_cache(ctx), **{_get_cache_key(ctx, each): found[each.id]._asdict() for each in usable}}
    try:
        files.write_atomic(_get_cache_path(ctx), json.dumps(kept).encode("ascii"), sync=False)
    except OSError:
        pass


MAX_RULES_PER_CALL = 20
ANSWER_SCHEMA = load_table("worded")  # the JSON schema of an answer
_MAX_SENTENCES = 2
_MAX_QUOTES, _QUOTE_LENGTH, _MESSAGE_LENGTH, _REASON_LENGTH = 3, 400, 800, 100
_FRAME_TOKENS = 700  # tokens of a request besides our own texts: 2.7 KB
_ANSWER_TOKENS = 150  # tokens per rule, including the model's thinking


class PromptItem(NamedTuple):
    """The redacted words that are sent about one proposed rule."""

    quotes: tuple[str, ...]
    message: str = ""


class ParsedWording(NamedTuple):
    """The model's answer for one proposed rule: a text, or the reason for giving no text.

    `no_rule`: the model's reason why this is not a lasting rule. `trouble`: why its text was dropped. `same_as`: index
    of an earlier proposed rule that means the same, in its view.
    """

    text: str = ""
    no_rule: str = ""
    trouble: str = ""
    same_as: int | None = None


def build_system_prompt(call: str, rules: str) -> str:
    """Insert the wording rules, which /reflect uses verbatim, into the system prompt of a call."""
    return call.replace("{rules}", rules)


def build_prompt(items: Sequence[PromptItem]) -> str:
    """Return the proposed rules as one JSON list, one per line."""
    lines = []
    for number, item in enumerate(items, 1):
        said = [clip_text(" ".join(text.split()), _QUOTE_LENGTH) for text in item.quotes[:_MAX_QUOTES]]
        fields: dict[str, Any] = {"n": number, "said": said}
        message = clip_text(" ".join(item.message.split()), _MESSAGE_LENGTH)
        fields |= {"message": message} if message not in ("", *said) else {}
        lines.append(json.dumps(fields, ensure_ascii=False))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def estimate_tokens(system: str, prompt: str, count: int) -> tuple[int, int]:
    """Estimate input and output tokens. Non-Latin scripts take about one token per character."""
    words = f"{system}{prompt}"
    wide = sum(sign >= "\u0370" for sign in words)
    return _FRAME_TOKENS + (len(words) - wide) // 4 + wide, _ANSWER_TOKENS * count


def parse_answer(answer: Any, count: int) -> list[ParsedWording]:
    """Return one wording for each of `count` proposed rules; drop invalid entries with a reason."""
    listed = answer.get("rules") if isinstance(answer, dict) else None
    found: dict[int, ParsedWording] = {}
    for entry in listed if isinstance(listed, list) else ():
        number = entry.get("n") if isinstance(entry, dict) else None
        if type(number) is int and 1 <= number <= count and number not in found:
            found[number] = _parse_entry(entry, number)
    return [found.get(number, ParsedWording(trouble="Claude left it out")) for number in range(1, count + 1)]


def _parse_entry(entry: dict[str, Any], number: int) -> ParsedWording:
    text = _to_one_line(entry.get("rule"))
    reason = clip_text(_to_one_line(entry.get("no_rule")), _REASON_LENGTH).rstrip(".")
    if not text:
        return ParsedWording(no_rule=reason) if reason else ParsedWording(trouble="Claude gave no text")
    same = entry.get("same_as")
    earlier = same - 1 if type(same) is int and 1 <= same < number else None
    problem = find_wording_fault(text)
    return (
        ParsedWording(trouble=f"Claude's text was dropped: it {problem}")
        if problem
        else ParsedWording(text, same_as=earlier)
    )


def find_wording_fault(text: str) -> str:
    """Return why a wording does not have the form of a rule, or "" if it does."""
    count = len(split_line(text))
    if count > _MAX_SENTENCES:
        return f"has {count} sentences"
    return find_sentence_fault(text, RULE_LIMIT)


def _to_one_line(value: Any) -> str:
    """Return a text on one line without control characters, or "" if the value is not a text."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return "".join(sign for sign in text if sign.isprintable())
