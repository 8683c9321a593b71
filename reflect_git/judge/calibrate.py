"""Calibrate the judge with twenty sample conversations of known quality. Without it, no score counts as anchored."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.judge import calls, rubric
from reflect_git.judge.answers import CHANGE_BELOW, parse_answer
from reflect_git.judge.messages import USER, Message
from reflect_git.judge.rubric import Extract
from reflect_git.platform import files
from reflect_git.records.ids import digest, utc
from reflect_git.records.named_tuple import NamedTuple

if TYPE_CHECKING:
    from reflect_git.judge.calls import Judge
    from reflect_git.store.repository import Store

FILE = "calibration.json"
ORDINARY, PLANTED = "ordinary", "planted"
PLANTED_BELOW = 3.0
LEAST_ORDINARY = 10  # of the twelve ordinary conversations, as many have to reach 3.5
_JUDGE_FIELDS = ("kind", "model", "rubric_sha", "prompt_sha")
_MAX_BYTES, _MAX_STORED = 1 << 18, 20


class Sample(NamedTuple):
    """A conversation of known quality. `kind`: ordinary, or with a planted failure."""

    name: str
    kind: str
    extract: Extract


class Calibration(NamedTuple):
    """The scores of all samples by one judge; a sample without a usable answer has None."""

    judge: Mapping[str, str]
    scores: Mapping[str, float | None]
    high_planted: tuple[str, ...]
    low_ordinary: tuple[str, ...]
    passed: bool
    usd: float
    tokens: int


def load_samples() -> list[Sample]:
    """Load the samples, in the order of their names."""
    folder = paths.resource_path("templates", "judge")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".txt"))
    return [parse_sample(name[:-4], files.read_regular(os.path.join(folder, name), _MAX_BYTES)) for name in names]


def parse_sample(name: str, data: bytes) -> Sample:
    """Parse a sample: `kind` and `instructions`, then messages, each after a line `[speaker]`."""
    head, _, body = data.decode("utf-8").partition("\n---\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    found: list[Message] = []
    typed = 0
    for block in body.split("\n["):
        role, _, text = block.removeprefix("[").partition("]\n")
        if text.strip():
            typed += role == USER
            found.append(Message(len(found) + 1, role, text.strip(), typed))
    return Sample(name, fields["kind"], Extract(fields.get("instructions", ""), (), tuple(found)))


def run(
    store: Store, env: Mapping[str, str], judge: Judge, on_sample: Callable[[int, int], None] | None = None
) -> Calibration:
    """Have every sample scored, and store whether this judge passed."""
    loaded, samples = rubric.load_rubric(store), load_samples()
    system = rubric.build_system_prompt(loaded)
    scores: dict[str, float | None] = {}
    model, usd, tokens = judge.model, 0.0, 0
    for number, sample in enumerate(samples, 1):
        if on_sample is not None:
            on_sample(number, len(samples))
        reply = calls.ask_judge(store, env, judge, system, sample.extract)
        model, usd = reply.model, usd + reply.usage.usd
        tokens += reply.usage.input_tokens + reply.usage.output_tokens
        try:
            scores[sample.name] = parse_answer(reply.answer, sample.extract.messages).overall
        except ReflectError:  # an answer without a true quote is no score
            scores[sample.name] = None
    fields = {"kind": judge.kind, "model": model, "rubric_sha": loaded.sha, "prompt_sha": rubric.get_prompt_sha()}
    made = _assess(fields, samples, scores)._replace(usd=usd, tokens=tokens)
    _store(store, made)
    return made


def _assess(judge: Mapping[str, str], samples: Sequence[Sample], scores: Mapping[str, float | None]) -> Calibration:
    """Tell whether the planted failures are low and most of the others are not."""
    planted = [one.name for one in samples if one.kind == PLANTED]
    ordinary = [one.name for one in samples if one.kind == ORDINARY]
    high = tuple(name for name in planted if not _is_below(scores[name], PLANTED_BELOW))
    low = tuple(name for name in ordinary if scores[name] is None or _is_below(scores[name], CHANGE_BELOW))
    return Calibration(judge, scores, high, low, not high and len(ordinary) - len(low) >= LEAST_ORDINARY, 0.0, 0)


def _is_below(score: float | None, limit: float) -> bool:
    return score is not None and score < limit


def is_anchored(store: Store, judge: Mapping[str, str]) -> bool:
    """Tell whether this judge, with this rubric and prompt, passed its last calibration."""
    return _load(store).get(_get_key(judge), {}).get("passed") is True


def format_anchor(is_anchored: bool) -> str:
    """Say what a score is worth."""
    return "anchored" if is_anchored else "not anchored: this judge was not calibrated, or failed"


def _get_key(judge: Mapping[str, str]) -> str:
    return digest("judge", *(judge.get(name, "") for name in _JUDGE_FIELDS))[:16]


def _load(store: Store) -> dict[str, Any]:
    try:
        kept = json.loads(files.read_regular(store.private_path(FILE), _MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return {key: one for key, one in kept.items() if isinstance(one, dict)} if isinstance(kept, dict) else {}


def _store(store: Store, made: Calibration) -> None:
    entry = {"at": utc(), "judge": dict(made.judge), "passed": made.passed, "scores": dict(made.scores)}
    kept = [(key, one) for key, one in _load(store).items() if key != _get_key(made.judge)]
    kept.append((_get_key(made.judge), entry))
    files.write_atomic(store.private_path(FILE), json.dumps(dict(kept[-_MAX_STORED:])).encode("ascii"))


def count_agreement(records: Iterable[Mapping[str, Any]], judge: Mapping[str, str] | None = None) -> tuple[int, int]:
    """Return in how many pairs of sessions the one with more corrections has the lower score, and of how many pairs."""
    corrected: dict[str, float] = {}
    scored: dict[str, float] = {}
    for one in records:
        if one["id"].startswith("EXP-") and one["typed"]:
            corrected[one["session"]] = one["corrections"] / one["typed"]
        elif one["id"].startswith("EVL-") and one["overall"] is not None and _is_by(one, judge):
            scored[one["session"]] = one["overall"]
    both = [(corrected[name], score) for name, score in scored.items() if name in corrected][-200:]
    pairs = [(a, b) for at, a in enumerate(both) for b in both[:at] if a[0] != b[0] and a[1] != b[1]]
    return sum((a[0] > b[0]) == (a[1] < b[1]) for a, b in pairs), len(pairs)


def _is_by(evaluation: Mapping[str, Any], judge: Mapping[str, str] | None) -> bool:
    return judge is None or _get_key(evaluation["judge"]) == _get_key(judge)
