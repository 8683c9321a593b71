"""Have Claude word proposed rules: what is sent, what it costs, what is kept of it. Nothing is approved here.

Only redacted words leave the machine, and only after a person allowed it. What came back is kept until a signal
expires or is purged, so that the next review does not pay for it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.adapters import claudecall, files
from reflect_git.adapters.claudecall import CallFailed, Question, Usage
from reflect_git.adapters.redact import redact
from reflect_git.model.ids import digest
from reflect_git.model.tables import table
from reflect_git.model.tuples import NamedTuple
from reflect_git.review.modelwording import (
    AT_ONCE,
    SCHEMA,
    Item,
    Wording,
    expected_tokens,
    parse_answer,
    prompt_of,
    system_prompt,
)
from reflect_git.store import expiry, policy, usage

if TYPE_CHECKING:
    from reflect_git.review.candidates import Candidate
    from reflect_git.sitting.review import Sitting
    from reflect_git.store.repository import Store

SETTING, MODEL, TIMEOUT = "reflect.wording", "reflect.wording.model", "reflect.wording.timeout"
ON, OFF = "claude", "off"
TASK = "word"
_DEFAULT_MODEL, _DEFAULT_SECONDS = "haiku", 60.0
_LARGEST = 1 << 22
_ORDINARY = 150  # letters of a message
_RECENT = 10  # own calls that a price is learned from


class Price(NamedTuple):
    """What a call is expected to take."""

    tokens: int
    usd: float


class Reworded(NamedTuple):
    """Claude's wording of one proposed rule. `same_as` is the id of another one that means the same, in its view;
    `spent` is what the decision records: the call, not this rule alone."""

    text: str = ""
    no_rule: str = ""
    trouble: str = ""
    same_as: str = ""
    spent: Mapping[str, Any] | None = None


class Worded(NamedTuple):
    """The wordings of one call by id, and what the call took."""

    found: dict[str, Reworded]
    tokens: int
    usd: float
    today: float


def is_on(sitting: Sitting) -> bool:
    return sitting.store.setting(SETTING) == ON


def is_undecided(sitting: Sitting) -> bool:
    """Tell whether no person has answered yet if Claude may word rules."""
    return policy.in_force(sitting.store, SETTING) is None


def price_of(sitting: Sitting, candidates: Sequence[Candidate]) -> Price:
    """Estimate one call: from a dated table of prices at first, then from what own calls took."""
    return _price(sitting.store, _question(sitting, candidates), len(candidates))


def typical_price(store: Store) -> Price:
    """Estimate a call for one rule of ordinary length."""
    prompt = prompt_of([Item(("x" * _ORDINARY,))])
    model = store.setting(MODEL) or _DEFAULT_MODEL
    return _price(store, Question(_system(), prompt, SCHEMA, model, 0.0, 0.0, ""), 1)


def word(
    sitting: Sitting, candidates: Sequence[Candidate], on_tick: Callable[[float], None] | None = None
) -> Worded:  # fmt: skip
    """Ask Claude to word at most 20 proposed rules. The caller has a person's yes; the daily cap is held here."""
    store, candidates = sitting.store, candidates[:AT_ONCE]
    program = claudecall.require_client(sitting.env)
    question = _question(sitting, candidates)
    price = _price(store, question, len(candidates))
    line = usage.reserve(store, TASK, question.model, price.usd, price.tokens)
    try:
        answer, used = claudecall.ask(program, question._replace(most_usd=line["usd"]), sitting.env, on_tick)
    except CallFailed as error:
        # Nobody knows what a call that was stopped has cost: what it was expected to cost counts.
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
    _keep(sitting, candidates, found)
    return Worded(found, tokens, used.usd, usage.spent_today(store))


def recall(sitting: Sitting, candidates: Sequence[Candidate]) -> dict[str, Reworded]:
    """Return the wordings that were paid for already and still fit what was said."""
    kept = _load(sitting)
    found = {}
    for each in candidates:
        fields = kept.get(_mark(sitting, each))
        if isinstance(fields, dict):
            found[each.id] = Reworded(**{name: fields.get(name) or default for name, default in _BLANK.items()})
    return found


_BLANK: dict[str, Any] = {"text": "", "no_rule": "", "trouble": "", "same_as": "", "spent": None}


def _reworded(one: Wording, ids: Sequence[str], spent: Mapping[str, Any]) -> Reworded:
    same = ids[one.same_as] if one.same_as is not None else ""
    return Reworded(one.text, one.no_rule, one.trouble, same, spent)


def _question(sitting: Sitting, candidates: Sequence[Candidate]) -> Question:
    seconds = float(sitting.store.setting(TIMEOUT) or _DEFAULT_SECONDS)
    prompt = prompt_of(_items(sitting, candidates))
    return Question(_system(), prompt, SCHEMA, _model(sitting), usage.MOST_A_CALL, seconds, sitting.store.private)


def _model(sitting: Sitting) -> str:
    return sitting.store.setting(MODEL) or _DEFAULT_MODEL


@cache
def _system() -> str:
    texts = []
    for name in ("call.md", "rules.md"):
        with open(paths.resource("templates", "wording", name), encoding="utf-8") as file:
            texts.append(file.read())
    return system_prompt(*texts)


def _items(sitting: Sitting, candidates: Sequence[Candidate]) -> list[Item]:
    """Return what is sent of each. Signals are redacted when they are captured, and here once more: an older program
    may have known fewer kinds of secrets."""
    scan, wanted = sitting.scan, {one for each in candidates for one in each.signals}
    signals = {one["id"]: one for one in scan.whole(row for row in scan.rows if scan.columns["id"][row] in wanted)}
    items = []
    for each in candidates:
        said = [str(signals[one]["content"]) for one in each.signals if one in signals] or [each.quote]
        items.append(Item(tuple(dict.fromkeys(map(redact, said))), redact(each.quote)))
    return items


def _price(store: Store, question: Question, count: int) -> Price:
    read, written = expected_tokens(question.system, question.prompt, count)
    rates = table("prices")["models"]
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
    if line.get("state") != usage.DONE or line.get("task") != TASK or line.get("model") != model:
        return False
    return all(type(line.get(name)) in (int, float) and line[name] > 0 for name in ("tokens", "expected", "usd"))


def _facts(used: Usage) -> dict[str, Any]:
    tokens = used.input_tokens + used.output_tokens
    return {
        "input_tokens": used.input_tokens, "output_tokens": used.output_tokens, "tokens": tokens,
        "usd": round(used.usd, 6), **({"answered_by": used.model} if used.model else {}),
    }  # fmt: skip


def _path(sitting: Sitting) -> str:
    """Where wordings are kept: among the caches that go when signals expire or are purged."""
    return sitting.store.private_path("cache", f"{expiry.GATHERED}wordings")


def _mark(sitting: Sitting, candidate: Candidate) -> str:
    """Name what a wording rests on: the words, the prompt and the model."""
    return digest(_system(), _model(sitting), candidate.quote, candidate.text, *candidate.signals)


def _load(sitting: Sitting) -> dict[str, Any]:
    try:
        kept = json.loads(files.read_regular(_path(sitting), _LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _keep(sitting: Sitting, candidates: Sequence[Candidate], found: Mapping[str, Reworded]) -> None:
    """Keep them beside the others; a full disk is no reason to lose an answer that was paid for."""
    usable = [each for each in candidates if not found[each.id].trouble]
    kept = {**_load(sitting), **{_mark(sitting, each): found[each.id]._asdict() for each in usable}}
    try:
        files.write_whole(_path(sitting), json.dumps(kept).encode("ascii"), sync=False)
    except OSError:
        pass
