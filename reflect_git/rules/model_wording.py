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
from reflect_git.language.rule_form import LONGEST, why_not_whole
from reflect_git.language.sentences import split
from reflect_git.language.wording import clip
from reflect_git.language.words import load_table
from reflect_git.platform import claude_call, files
from reflect_git.platform.claude_call import CallFailed, Question, Usage
from reflect_git.records.ids import digest
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.redact import redact
from reflect_git.store import expiry, policy, usage

if TYPE_CHECKING:
    from reflect_git.candidates.gather import Candidate
    from reflect_git.rules.context import Context
    from reflect_git.store.repository import Store

SETTING, MODEL, TIMEOUT = "reflect.wording", "reflect.wording.model", "reflect.wording.timeout"
ON, OFF = "claude", "off"
TASK = "word"
_DEFAULT_MODEL, _DEFAULT_SECONDS = "haiku", 60.0
_LARGEST = 1 << 22
_ORDINARY = 150  # characters of a typical message
_RECENT = 10  # recent calls used to estimate the price


class Price(NamedTuple):
    """The expected cost of a call."""

    tokens: int
    usd: float


class Reworded(NamedTuple):
    """Claude's wording of one proposed rule.

    `same_as`: the id of another proposed rule that means the same, in Claude's view. `spent`: what the decision
    records; it covers the whole call, not this rule alone.
    """

    text: str = ""
    no_rule: str = ""
    trouble: str = ""
    same_as: str = ""
    spent: Mapping[str, Any] | None = None


class Worded(NamedTuple):
    """The wordings of one call by id, and what the call cost."""

    found: dict[str, Reworded]
    tokens: int
    usd: float
    today: float


def is_on(ctx: Context) -> bool:
    return ctx.store.setting(SETTING) == ON


def is_undecided(ctx: Context) -> bool:
    """Tell whether no person has decided yet if Claude may word rules."""
    return policy.in_force(ctx.store, SETTING) is None


def price_of(ctx: Context, candidates: Sequence[Candidate]) -> Price:
    """Estimate the cost of one call: from a dated price table at first, then from earlier calls."""
    return _price(ctx.store, _question(ctx, candidates), len(candidates))


def typical_price(store: Store) -> Price:
    """Estimate the cost of a call for one rule of typical length."""
    prompt = prompt_of([Item(("x" * _ORDINARY,))])
    model = store.setting(MODEL) or _DEFAULT_MODEL
    return _price(store, Question(_system(), prompt, SCHEMA, model, 0.0, 0.0, ""), 1)


def word(
    ctx: Context, candidates: Sequence[Candidate], on_tick: Callable[[float], None] | None = None
) -> Worded:  # fmt: skip
    """Ask Claude to word at most 20 proposed rules.

    The caller has a person's consent; this function enforces the daily cap.
    """
    store, candidates = ctx.store, candidates[:AT_ONCE]
    program = claude_call.require_client(ctx.env)
    question = _question(ctx, candidates)
    price = _price(store, question, len(candidates))
    line = usage.reserve(store, TASK, question.model, price.usd, price.tokens)
    try:
        answer, used = claude_call.ask(program, question._replace(most_usd=line["usd"]), ctx.env, on_tick)
    except CallFailed as error:
        # The real cost of an interrupted call is unknown, so the estimate counts.
        unknown = Usage(usd=price.usd)
        usage.settle(store, line, usage.FAILED, why=error.code, **_facts(error.usage or unknown))
        raise
    except BaseException:
        usage.settle(store, line, usage.FAILED, usd=0.0)
        raise
    usage.settle(store, line, usage.DONE, rules=len(candidates), **_facts(used))
    tokens = used.input_tokens + used.output_tokens
    spent = {
        "by": ON, "model": used.model or question.model, "tokens": tokens, "usd": round(used.usd, 6),
        "rules": len(candidates),
    }  # fmt: skip
    ids = [each.id for each in candidates]
    found = {
        each.id: _reworded(one, ids, spent)
        for each, one in zip(candidates, parse_answer(answer, len(candidates)), strict=True)
    }
    _keep(ctx, candidates, found)
    return Worded(found, tokens, used.usd, usage.spent_today(store))


def recall(ctx: Context, candidates: Sequence[Candidate]) -> dict[str, Reworded]:
    """Return cached wordings that still match their candidates."""
    kept = _load(ctx)
    found = {}
    for each in candidates:
        fields = kept.get(_mark(ctx, each))
        if isinstance(fields, dict):
            found[each.id] = Reworded(**{name: fields.get(name) or default for name, default in _BLANK.items()})
    return found


_BLANK: dict[str, Any] = {"text": "", "no_rule": "", "trouble": "", "same_as": "", "spent": None}


def _reworded(one: Wording, ids: Sequence[str], spent: Mapping[str, Any]) -> Reworded:
    same = ids[one.same_as] if one.same_as is not None else ""
    return Reworded(one.text, one.no_rule, one.trouble, same, spent)


def _question(ctx: Context, candidates: Sequence[Candidate]) -> Question:
    seconds = float(ctx.store.setting(TIMEOUT) or _DEFAULT_SECONDS)
    prompt = prompt_of(_items(ctx, candidates))
    return Question(_system(), prompt, SCHEMA, _model(ctx), usage.MOST_A_CALL, seconds, ctx.store.private)


def _model(ctx: Context) -> str:
    return ctx.store.setting(MODEL) or _DEFAULT_MODEL


@cache
def _system() -> str:
    texts = []
    for name in ("call.md", "rules.md"):
        with open(paths.resource("templates", "wording", name), encoding="utf-8") as file:
            texts.append(file.read())
    return system_prompt(*texts)


def _items(ctx: Context, candidates: Sequence[Candidate]) -> list[Item]:
    """Return what is sent for each candidate.

    Signals are redacted when captured and again here: an older version may have known fewer kinds of secrets.
    """
    scan, wanted = ctx.scan, {one for each in candidates for one in each.signals}
    signals = {one["id"]: one for one in scan.whole(row for row in scan.rows if scan.columns["id"][row] in wanted)}
    items = []
    for each in candidates:
        said = [str(signals[one]["content"]) for one in each.signals if one in signals] or [each.quote]
        items.append(Item(tuple(dict.fromkeys(map(redact, said))), redact(each.quote)))
    return items


def _price(store: Store, question: Question, count: int) -> Price:
    """Estimate the cost from the price table, corrected by earlier calls of the same model."""
    read, written = expected_tokens(question.system, question.prompt, count)
    rates = load_table("prices")["models"]
    rate = next((rates[name] for name in rates if name in question.model), None) or rates["opus"]
    tokens, usd = read + written, (read * rate["input"] + written * rate["output"]) / 1e6
    past = [line for line in usage.read(store) if _tells_price(line, question.model)][-_RECENT:]
    if not past:
        return Price(tokens, usd)
    ratio = sum(line["tokens"] / line["expected"] for line in past) / len(past)
    rate_seen = sum(line["usd"] for line in past) / sum(line["tokens"] for line in past)
    tokens = max(1, round(tokens * ratio))
    return Price(tokens, tokens * rate_seen)


def _tells_price(line: Mapping[str, Any], model: str) -> bool:
    """Tell whether a usage line can be used to estimate the price."""
    if line.get("state") != usage.DONE or line.get("task") != TASK or line.get("model") != model:
        return False
    return all(type(line.get(name)) in (int, float) and line[name] > 0 for name in ("tokens", "expected", "usd"))


def _facts(used: Usage) -> dict[str, Any]:
    tokens = used.input_tokens + used.output_tokens
    return {
        "input_tokens": used.input_tokens, "output_tokens": used.output_tokens, "tokens": tokens,
        "usd": round(used.usd, 6), **({"answered_by": used.model} if used.model else {}),
    }  # fmt: skip


def _path(ctx: Context) -> str:
    """Return the path of the cached wordings, among the caches deleted when signals expire or are purged."""
    return ctx.store.private_path("cache", f"{expiry.GATHERED}wordings")


def _mark(ctx: Context, candidate: Candidate) -> str:
    """Return the cache key of a wording: a digest of the words, the prompt and the model."""
    return digest(_system(), _model(ctx), candidate.quote, candidate.text, *candidate.signals)


def _load(ctx: Context) -> dict[str, Any]:
    try:
        kept = json.loads(files.read_regular(_path(ctx), _LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _keep(ctx: Context, candidates: Sequence[Candidate], found: Mapping[str, Reworded]) -> None:
    """Add wordings to the cache; ignore a full disk, because the answer was paid for."""
    usable = [each for each in candidates if not found[each.id].trouble]
    kept = {**_load(ctx), **{_mark(ctx, each): found[each.id]._asdict() for each in usable}}
    try:
        files.write_whole(_path(ctx), json.dumps(kept).encode("ascii"), sync=False)
    except OSError:
        pass


AT_ONCE = 20
SCHEMA = load_table("worded")  # the JSON schema of an answer
_MOST_SENTENCES = 2
_MOST_SAID, _SAID_LENGTH, _MESSAGE_LENGTH, _REASON_LENGTH = 3, 400, 800, 100
_FRAME_TOKENS = 700  # tokens of a request besides our own texts: 2.7 KB
_ANSWER_TOKENS = 150  # tokens per rule, including the model's thinking


class Item(NamedTuple):
    """The redacted words that are sent about one proposed rule."""

    said: tuple[str, ...]
    message: str = ""


class Wording(NamedTuple):
    """The model's answer for one proposed rule: a text, or the reason for giving no text.

    `no_rule`: the model's reason why this is not a lasting rule. `trouble`: why its text was dropped. `same_as`: index
    of an earlier proposed rule that means the same, in its view.
    """

    text: str = ""
    no_rule: str = ""
    trouble: str = ""
    same_as: int | None = None


def system_prompt(call: str, rules: str) -> str:
    """Insert the wording rules, which /reflect uses verbatim, into the system prompt of a call."""
    return call.replace("{rules}", rules)


def prompt_of(items: Sequence[Item]) -> str:
    """Return the proposed rules as one JSON list, one per line."""
    lines = []
    for number, item in enumerate(items, 1):
        said = [clip(" ".join(text.split()), _SAID_LENGTH) for text in item.said[:_MOST_SAID]]
        told: dict[str, Any] = {"n": number, "said": said}
        message = clip(" ".join(item.message.split()), _MESSAGE_LENGTH)
        told |= {"message": message} if message not in ("", *said) else {}
        lines.append(json.dumps(told, ensure_ascii=False))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def expected_tokens(system: str, prompt: str, count: int) -> tuple[int, int]:
    """Estimate input and output tokens. Non-Latin scripts take about one token per character."""
    words = f"{system}{prompt}"
    wide = sum(sign >= "\u0370" for sign in words)
    return _FRAME_TOKENS + (len(words) - wide) // 4 + wide, _ANSWER_TOKENS * count


def parse_answer(answer: Any, count: int) -> list[Wording]:
    """Return one wording for each of `count` proposed rules; drop invalid entries with a reason."""
    listed = answer.get("rules") if isinstance(answer, dict) else None
    found: dict[int, Wording] = {}
    for entry in listed if isinstance(listed, list) else ():
        number = entry.get("n") if isinstance(entry, dict) else None
        if type(number) is int and 1 <= number <= count and number not in found:
            found[number] = _parse_entry(entry, number)
    return [found.get(number, Wording(trouble="Claude left it out")) for number in range(1, count + 1)]


def _parse_entry(entry: dict[str, Any], number: int) -> Wording:
    text = _flat(entry.get("rule"))
    reason = clip(_flat(entry.get("no_rule")), _REASON_LENGTH).rstrip(".")
    if not text:
        return Wording(no_rule=reason) if reason else Wording(trouble="Claude gave no text")
    same = entry.get("same_as")
    earlier = same - 1 if type(same) is int and 1 <= same < number else None
    trouble = find_fault(text)
    return Wording(trouble=f"Claude's text was dropped: it {trouble}") if trouble else Wording(text, same_as=earlier)


def find_fault(text: str) -> str:
    """Return why a wording does not have the form of a rule, or "" if it does."""
    count = len(split(text))
    if count > _MOST_SENTENCES:
        return f"has {count} sentences"
    return why_not_whole(text, LONGEST)


def _flat(value: Any) -> str:
    """Return a text on one line without control characters, or "" if the value is not a text."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return "".join(sign for sign in text if sign.isprintable())
