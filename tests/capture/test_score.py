"""The shipped knowledge tells a correction from a task, in every language it claims to know."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_git.capture import features, score

REPO = Path(__file__).resolve().parent.parent.parent
KNOWLEDGE = REPO / "reflect_git" / "knowledge"
LANGUAGES = ("en", "de", "es", "fr", "it", "pt", "ru", "zh", "ja", "ko")
WORKED: dict[str, Any] = {"steps": 4, "assistant": "I added the lamp module and ran the build."}

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from reflect_git.capture import score
print(score.score(sys.argv[2], "prompt", {}).score)
"""


def verdict(text: str, via: str = "prompt", **context: Any) -> score.Verdict:
    return score.score(text, via, {**WORKED, **context})


@pytest.mark.parametrize(
    "text",
    [
        "no, don't use wget, we always use curl in this repo",
        "why did you change the lamp colour? I told you to leave it",
        "you forgot to run the linter again!!",
        "from now on always ask me before you touch the wiring",
        "nein, wir verwenden hier immer ninja statt make",
        "no, aquí siempre usamos ninja en vez de make",
        "non, ici on utilise toujours ninja au lieu de make",
        "no, qui usiamo sempre ninja invece di make",
        "não, aqui sempre usamos ninja em vez de make",
        "нет, мы всегда используем ninja вместо make",
        "不对，以后不要用 make，我们都用 ninja",
        "違います、今後は make ではなく ninja を使ってください",
        "아니요, 앞으로는 make 대신 ninja를 사용해야 합니다",
    ],
)
def test_a_rule_or_correction_is_a_signal(text: str) -> None:
    found = verdict(text)
    assert found.is_signal
    assert found.durable
    assert found.type in ("correction", "convention")


@pytest.mark.parametrize(
    "text",
    [
        "yes please",
        "ok, continue",
        "add a lamp to the hallway",
        "commit and push",
        "what does the dimmer do?",
        "ja, mach weiter",
        "sí, continúa",
        "да, продолжай",
        "好的，继续",
        "```\nnever = always\n```",
        "",
        "   \n",
        "👍",
    ],
)
def test_a_task_or_a_nod_is_none(text: str) -> None:
    found = verdict(text)
    assert not found.is_signal
    assert (found.type, found.durable, found.sentence) == ("none", False, "")


def test_a_plan_handed_over_by_the_client_is_none() -> None:
    plan = "Implement the following plan:\n\nNever use make. Always use ninja, don't touch the lamp."
    assert not verdict(plan).is_signal
    assert not verdict(plan, "feedback").is_signal


@pytest.mark.parametrize("text", ["use the other lamp", "main is fine", "what is the smallest way?", "too bright"])
def test_a_refusal_with_words_is_returned(text: str) -> None:
    assert verdict(text, "feedback").is_signal


def test_the_way_a_message_came_counts() -> None:
    text = "the hallway lamp has three wires"
    typed, queued, refused = (verdict(text, via).score for via in ("prompt", "queued", "feedback"))
    assert typed < queued
    assert typed < refused
    assert typed < verdict(text, after_failure=True).score


def test_confidence_follows_the_score() -> None:
    texts = [
        "the other lamp",
        "hmm, do we need that?",
        "no, stop!! never use wget here, you keep doing it, we always use curl",
    ]
    found = [verdict(text, "feedback") for text in texts]
    ranked = sorted(found, key=lambda one: one.score)
    assert [one.confidence for one in ranked] == sorted(one.confidence for one in found)
    assert {one.confidence for one in found} <= {1, 2, 3}
    assert verdict(texts[2], "feedback").confidence == 3


def test_the_sentence_that_carries_the_signal_is_named() -> None:
    rule = "From now on never push to main without asking me."
    assert verdict(f"The lamp is on. {rule} The hallway is next.\n> quoted text\n").sentence == rule


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("use `ninja lamps` to build the lamps, never make", "command"),
        ("heads up, the dimmer only works if the relay is powered, otherwise it hangs", "gotcha"),
        ("Perfect, well done, exactly what I wanted", "pattern"),
    ],
)
def test_rare_types_are_known(text: str, kind: str) -> None:
    seen = features.Seen(text, "prompt", WORKED, score.knowledge().phrases)
    assert max(score.TYPES, key=lambda name: score.knowledge().heads[name].weigh(seen)) == kind


@given(st.text(), st.sampled_from(["prompt", "queued", "feedback", "command-args", "?"]))
@settings(deadline=None)
def test_any_text_gets_a_whole_verdict(text: str, via: str) -> None:
    found = score.score(text, via, {})
    assert 0.0 <= found.score <= 1.0
    assert found.confidence in (1, 2, 3)
    assert found.is_signal == (found.type != "none") == bool(found.sentence)
    assert found.is_signal or not found.durable


@pytest.mark.parametrize(
    "context", [{"assistant": None, "steps": None}, {"assistant": 5, "steps": "many"}, {"asked": 1, "first": "yes"}]
)
def test_a_strange_context_does_no_harm(context: dict[str, Any]) -> None:
    assert 0.0 <= score.score("you forgot the lamp", "prompt", context).score <= 1.0


def test_lone_surrogates_and_giants_are_scored() -> None:
    assert 0.0 <= verdict("never \ud800 again").score <= 1.0
    started = time.perf_counter()
    verdict("never use make! " * 100_000)
    assert time.perf_counter() - started < 0.5


def test_the_same_message_is_scored_the_same_in_every_process() -> None:
    text = "you forgot the wiring again"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-S", "-c", PROGRAM, str(REPO), text],
            capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert float(done.stdout) == score.score(text, "prompt", {}).score


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_its_phrases_and_the_scorer_knows_them(language: str) -> None:
    kinds = json.loads((KNOWLEDGE / "phrases" / f"{language}.json").read_text(encoding="utf-8"))
    assert set(kinds) == set(features.KINDS)
    assert sum(map(len, kinds.values())) >= 40
    known = score.knowledge().phrases
    for kind, phrases in kinds.items():
        assert all(known.get(phrase.lower(), 0) >> features.KINDS.index(kind) & 1 for phrase in phrases), kind


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_phrase_can_be_found(language: str) -> None:
    known = score.knowledge().phrases
    kinds = json.loads((KNOWLEDGE / "phrases" / f"{language}.json").read_text(encoding="utf-8"))
    lost = []
    for kind, phrases in kinds.items():
        for phrase in phrases:
            plain = features.flatten(phrase.lstrip("^"))
            if not features.count_kinds(plain.split(), plain, known)[features.KINDS.index(kind)]:
                lost.append(phrase)
    assert lost == []


def test_a_knowledge_file_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="knowledge file"):
        score.parse(b"something else")
