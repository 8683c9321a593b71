"""Short statements that the trained scorer puts just below its limit are captured."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.capture.score import ScoreResult, is_short_statement, load_knowledge, score_message
from reflect_git.capture.score_features import MessageFeatures
from tests.capture.transcript_steps import assistant_text, mine_steps, user_text


def verdict(text: str, first: bool = False) -> ScoreResult:
    before = "" if first else "Done. I changed the handler and the tests pass."
    return score_message(text, "prompt", {"first": first, "steps": 0 if first else 3, "assistant": before})


@pytest.mark.parametrize(
    "text",
    [
        "every invoice page has a print view", "fixtures bigger than a page go through the factory",
        "all handlers are registered in routes.rb, nowhere else", "run `make seed` for the demo data",
        "Dokumentation schreiben wir auf Englisch", "los nombres de ramas en inglés por favor",
        "les maquettes vont dans design/", "helpers go in lib/util",
    ],
)  # fmt: skip
def test_a_short_rule_is_captured_as_lasting(text: str) -> None:
    found = verdict(text)
    assert found.is_signal and found.durable


@pytest.mark.parametrize(
    "text", ["switch to ruff", "the timeout should be 30 seconds", "run `./gradlew spotlessApply`"]
)
def test_a_plain_correction_or_command_is_captured(text: str) -> None:
    assert verdict(text).is_signal


@pytest.mark.parametrize("text", ["should it be blue?", "let's switch to the other tab", "does every page have one?"])
def test_questions_and_suggestions_are_not(text: str) -> None:
    assert not verdict(text).is_signal


def test_the_first_message_of_a_session_is_a_task() -> None:
    assert not verdict("add a print view to every invoice page", first=True).is_signal


@pytest.mark.parametrize(
    "text",
    [
        "weights in grams, integers", "lamp names are lower case, no spaces", "sensor ids are strings",
        "spaces, not tabs, in the recipes", "Gewichte in Gramm, als Ganzzahl", "les poids en grammes, en entiers",
        "los pesos en gramos, enteros",
    ],
)  # fmt: skip
def test_a_statement_without_marker_words_is_surely_lasting(text: str) -> None:
    found = verdict(text)
    assert found.is_signal and found.durable and found.confidence >= 2 and found.is_standing


@pytest.mark.parametrize(
    "text",
    [
        "great, thanks! by the way lamp names are lower case, no spaces", "ok good. weights in grams, integers",
        "gut, danke. Gewichte in Gramm, als Ganzzahl",
    ],
)  # fmt: skip
def test_a_word_of_thanks_does_not_hide_a_rule(text: str) -> None:
    found = verdict(text)
    assert found.is_signal and found.is_standing


@pytest.mark.parametrize(
    "text",
    [
        "could you from now on test the lamps of the room that you changed, not of the whole house?",
        "going forward can you put the room into the name?", "könntest du künftig die Lampen im Flur zuerst prüfen?",
        "est-ce que tu peux désormais nommer les lampes en anglais ?", "¿puedes a partir de ahora medir en gramos?",
    ],
)  # fmt: skip
def test_what_holds_from_now_on_lasts_even_if_it_is_a_question(text: str) -> None:
    found = verdict(text)
    assert found.is_signal and found.durable and found.confidence >= 2


def test_later_is_not_from_now_on() -> None:
    assert not verdict("这个以后再说").durable


@pytest.mark.parametrize("text", ["great, thanks! now dim the hallway lamp", "ok? weights in grams, integers?"])
def test_a_word_of_thanks_makes_no_rule_of_a_task(text: str) -> None:
    assert not verdict(text).is_standing


def test_what_surely_lasts_is_recorded_for_the_wording(tmp_path: Path) -> None:
    texts = "lamp names are lower case, no spaces", "no, never dim the lamp of the fire exit while somebody tests it"
    said = [step for text in texts for step in (assistant_text("Done, the tests pass."), user_text(text))]
    found = {one["content"]: one["meta"].get("standing") for one in mine_steps(tmp_path, said)}
    assert found == {texts[0]: True, texts[1]: None}


@pytest.mark.parametrize(
    "text",
    [
        "dim the hallway lamp to 40", "the lamp test is red", "rename lamp to bulb in the hallway module",
        "mach die Lampe im Flur heller", "廊下のランプを暗くして", "把走廊的灯调暗",
    ],
)  # fmt: skip
def test_a_task_or_a_state_of_the_same_form_is_not_captured(text: str) -> None:
    assert not verdict(text).is_signal


def test_how_likely_it_lasts_does_not_make_a_question_or_a_task_sure() -> None:
    seen = MessageFeatures("are weights in grams, integers?", "prompt", {}, load_knowledge().phrases)
    assert not is_short_statement(seen)
    assert not is_short_statement(MessageFeatures("fix the weights, in grams", "prompt", {}, load_knowledge().phrases))
    assert is_short_statement(MessageFeatures("weights in grams, integers", "prompt", {}, load_knowledge().phrases))
