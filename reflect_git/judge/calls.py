"""Run the judge: who it is, what it may cost, and a line in the usage log for every run, failed ones too."""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.judge import rubric as rubrics
from reflect_git.platform import claude_call, files
from reflect_git.platform.claude_call import CallFailed, Question, Task, Usage
from reflect_git.records.ids import fingerprint
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules.model_wording import Price, estimate_price_of
from reflect_git.store.local import usage

if TYPE_CHECKING:
    from reflect_git.judge.rubric import Extract
    from reflect_git.store.repository import Store

SETTING = "reflect.judge"
OFF, CLAUDE, COMMAND = "off", "claude", "command"
EVALUATE = "evaluate"
_COMMAND_KEY, _MODEL_KEY = "reflect.judge.command", "reflect.judge.model"
_LIMIT_KEY, _TIMEOUT_KEY = "reflect.judge.maxUsd", "reflect.judge.timeout"
_DEFAULT_MODEL, _DEFAULT_LIMIT, _DEFAULT_SECONDS = "haiku", 0.25, 120.0
_FRAME_TOKENS, _ANSWER_TOKENS = 900, 1100  # tokens of a request besides our texts, and of an answer
_TYPICAL_TOKENS = 8000  # of a request with 20 messages, answers, and instructions
_MAX_PROGRAM_BYTES = 1 << 24


class Judge(NamedTuple):
    """The judge, and the limits of one call. `words`: the command line of a program."""

    kind: str
    model: str
    words: tuple[str, ...]
    seconds: float
    max_usd: float


class JudgeAnswer(NamedTuple):
    """An answer, unchecked, with the name of who gave it and what it took."""

    answer: Any
    model: str
    usage: Usage


def load_judge(store: Store, max_usd: float | None = None) -> Judge:
    """Return the judge that a person chose; raise if none."""
    kind = store.get_setting(SETTING) or OFF
    if kind not in (CLAUDE, COMMAND):
        hint = "switch it on in a terminal: reflect-git config reflect.judge claude"
        raise ReflectError("the judge is off", hint, "judge-off")
    limit = _get_number(store, _LIMIT_KEY, _DEFAULT_LIMIT)
    limit = limit if max_usd is None else min(limit, max_usd) if limit else max_usd
    seconds = _get_number(store, _TIMEOUT_KEY, _DEFAULT_SECONDS)
    if kind == CLAUDE:
        return Judge(kind, store.get_setting(_MODEL_KEY) or _DEFAULT_MODEL, (), seconds, limit)
    words = _split_command(store.get_setting(_COMMAND_KEY) or "")
    return Judge(kind, _name_program(words[0]), words, seconds, limit)


def _get_number(store: Store, key: str, default: float) -> float:
    try:
        return float(store.get_setting(key) or default)
    except ValueError:
        return default


def _split_command(line: str) -> tuple[str, ...]:
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    if not words or not os.path.isabs(words[0]) or not os.access(words[0], os.X_OK):
        hint = f"give the absolute path of a program: reflect-git config {_COMMAND_KEY} /path/to/program"
        raise ReflectError("no program that can judge", hint, "judge-command")
    return tuple(words)


def _name_program(path: str) -> str:
    """Return the name of a program and the beginning of its hash: another version is another judge."""
    try:
        data = files.read_regular(os.path.realpath(path), _MAX_PROGRAM_BYTES)
        return f"{os.path.basename(path)}@{fingerprint(data)[:12]}"
    except OSError:
        return os.path.basename(path)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text. Letters of other scripts take about one token each."""
    wide = sum(sign >= "\u0370" for sign in text)
    return (len(text) - wide) // 4 + wide


def estimate_price(store: Store, judge: Judge, system: str, extract: Extract, task: str = EVALUATE) -> Price:
    """Estimate what one evaluation costs; a program of the person's own has no price."""
    read = _FRAME_TOKENS + estimate_tokens(f"{system}{rubrics.build_prompt(extract, '')}")
    if judge.kind != CLAUDE:
        return Price(read + _ANSWER_TOKENS, 0.0)
    return estimate_price_of(store, task, judge.model, read, _ANSWER_TOKENS)


def estimate_typical_price(store: Store) -> Price:
    """Estimate what it costs to have twenty messages of usual length judged, with their answers."""
    if store.get_setting(SETTING) == COMMAND:
        return Price(_TYPICAL_TOKENS, 0.0)
    model = store.get_setting(_MODEL_KEY) or _DEFAULT_MODEL
    return estimate_price_of(store, EVALUATE, model, _TYPICAL_TOKENS, _ANSWER_TOKENS)


def ask_judge(
    store: Store, env: Mapping[str, str], judge: Judge, system: str, extract: Extract,
    on_tick: Callable[[float], None] | None = None, *, task: str = EVALUATE,
    schema: dict[str, Any] = rubrics.ANSWER_SCHEMA, part: str = "",
) -> JudgeAnswer:  # fmt: skip
    """Have one extract judged, or the rules of a file with another `task`.

    The cost is reserved before and recorded after, whatever happens. `part`: what was judged, for `list_paid_parts`.
    """
    is_claude = judge.kind == CLAUDE
    program = claude_call.require_client(env, _TASK) if is_claude else ""
    price = estimate_price(store, judge, system, extract, task)
    line = usage.reserve_cost(
        store, task, judge.model, price.usd, price.tokens, limit=judge.max_usd if is_claude else 0.0,
        other_hint="wait until tomorrow, or ",
    )  # fmt: skip
    prompt = (
        rubrics.build_prompt(extract, secrets.token_hex(8))
        if is_claude
        else rubrics.build_command_input(task, system, extract, schema)
    )
    facts = {"part": part} if part else {}
    question = Question(system, prompt, schema, judge.model, line["usd"], judge.seconds, store.private, _TASK)
    try:
        if is_claude:
            answer, used = claude_call.ask(program, question, env, on_tick)
        else:
            answer, used = claude_call.ask_command(judge.words, question, env, on_tick), Usage(judge.model)
    except CallFailed as error:
        # The real cost of an interrupted call is unknown, so the estimate counts.
        spent = error.usage or Usage(usd=price.usd)
        usage.record_cost(store, line, usage.FAILED, why=error.code, **facts, **get_usage_fields(spent))
        raise
    except BaseException:
        usage.record_cost(store, line, usage.FAILED, usd=0.0)
        raise
    usage.record_cost(store, line, usage.DONE, **facts, **get_usage_fields(used))
    return JudgeAnswer(answer, used.model or judge.model, used)


def list_paid_parts(store: Store) -> set[str]:
    """List what was judged and may have cost something, whether or not the answer could be used."""
    return {
        line["part"]
        for line in usage.read(store)
        if line.get("part") and (line["usd"] or line.get("state") != usage.FAILED)
    }


def get_usage_fields(used: Usage) -> dict[str, Any]:
    """Return the fields of a line in the usage log."""
    return {
        "input_tokens": used.input_tokens, "output_tokens": used.output_tokens,
        "tokens": used.input_tokens + used.output_tokens, "usd": round(used.usd, 6),
        **({"answered_by": used.model} if used.model else {}),
    }  # fmt: skip


_TASK = Task(
    "the judge", "the judge scored nothing", "run 'reflect-git evaluate' again",
    "see 'reflect-git config reflect.judge'", _TIMEOUT_KEY, "judge",
)  # fmt: skip
