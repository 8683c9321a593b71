"""A message is split into its author's sentences; pasted text is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.capture import score_features


def test_sentences_end_where_a_reader_would_end_them() -> None:
    text = "Use tabs here. Why spaces? See main.c, e.g. line 3.5 of it!"
    assert score_features.split_sentences(text) == ["Use tabs here.", "Why spaces?", "See main.c, e.g. line 3.5 of it!"]


def test_a_dot_in_backticks_ends_nothing() -> None:
    assert score_features.split_sentences("run `make. all` first. Then stop.") == [
        "run `make. all` first.",
        "Then stop.",
    ]


def test_wide_stops_need_no_space() -> None:
    assert score_features.split_sentences("不要用这个。请改用那个！好吗？") == [
        "不要用这个。",
        "请改用那个！",
        "好吗？",
    ]


def test_lines_and_bullets_are_sentences_of_their_own() -> None:
    assert score_features.split_sentences("first thing\n- second thing\n\n* third thing") == [
        "first thing",
        "second thing",
        "third thing",
    ]


@pytest.mark.parametrize(
    "pasted",
    [
        "```\nalways = never()\n```",
        "> always rebase, they wrote",
        "Traceback (most recent call last):",
        "    raise ValueError(name)",
        "2031-04-05 10:11:12 always starting worker",
        "[10:11:12] never stops",
        "for (i = 0; i < n; i++) {",
        "+++ b/lamp.c",
    ],
)
def test_pasted_text_is_left_out(pasted: str) -> None:
    assert score_features.split_sentences(f"the lamp stays dark\n{pasted}\nplease look") == [
        "the lamp stays dark",
        "please look",
    ]


def test_an_open_fence_swallows_the_rest_and_a_closed_one_does_not() -> None:
    assert score_features.split_sentences("look\n```\ncode") == ["look"]
    assert score_features.split_sentences("look\n```code```\nagain") == ["look", "again"]


def test_the_end_of_a_long_paste_is_read() -> None:
    text = "see below\n" + "> quoted line\n" * 5000 + "never do that again"
    assert score_features.split_sentences(text) == ["see below", "never do that again"]


def test_text_of_the_client_is_known() -> None:
    assert score_features.is_client_text("Implement the following plan:\n\n# Lamp")
    assert not score_features.is_client_text("please implement the following plan of mine")


def test_the_first_and_the_last_sentences_are_chosen() -> None:
    few = ["a", "b", "c"]
    assert score_features.limit_sentences(few) == few
    many = [str(number) for number in range(20)]
    chosen = score_features.limit_sentences(many)
    assert len(chosen) == score_features.MAX_SENTENCES
    assert chosen[0] == "0"
    assert chosen[-1] == "19"


def test_a_sentence_has_a_readable_length() -> None:
    assert score_features.clip_sentence("short") == "short"
    found = score_features.clip_sentence("word " * 500)
    assert len(found) <= score_features.SENTENCE_LIMIT
    assert found.endswith("…")


@given(st.text())
def test_any_text_is_cut_into_parts_of_itself(text: str) -> None:
    for part in score_features.split_sentences(text):
        assert part.strip() == part != ""
        assert part in text


@given(st.text(alphabet="ab .?!`…。！é1", max_size=40))
def test_a_sentence_ends_at_the_same_marks_whatever_else_stands_in_the_line(line: str) -> None:
    marks = [at for at, sign in enumerate(line) if sign in "`.?!…。！？"]
    assert score_features._find_marks(line) == marks
    assert score_features._find_marks(f"{line}é") == marks


@given(st.text() | st.text(alphabet="Az 09_é(\t"))
def test_letters_and_spaces_are_counted(text: str) -> None:
    assert score_features._count_prose_letters(text) == len([sign for sign in text if sign.isalpha() or sign == " "])
