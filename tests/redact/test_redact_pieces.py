"""Redaction of long texts, and what may be done with a redacted text."""

from __future__ import annotations

import pytest

from reflect_git.redact import clip, clip_middle, flatten, format_redacted, join_redacted, redact, redact_ends

TOKEN = "ghp_" + "k9Zt2Lq8Vw4Xn6Rb1Yc3Md5Jf7Hs0GpAeUo2"
BODY = "\n".join(f"Zk{number:02d}{'q7Rw2Lx9' * 7}" for number in range(40))
KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("edge", [65536, 131072, 196608])
@pytest.mark.parametrize("back", [0, 1, 3, 20, 39, 1000])
@pytest.mark.parametrize("secret", [TOKEN, KEY, f"password: {TOKEN[4:]}"], ids=["token", "key", "password"])
def test_a_secret_goes_wherever_it_stands_in_a_long_text(edge: int, back: int, secret: str) -> None:
    before = ("the log goes on " * 14000)[: edge - back - 1]
    text = redact(f"{before} {secret} {'and on ' * 2000}")
    assert "[REDACTED:" in text and TOKEN[4:12] not in text and "q7Rw2Lx9" not in text


@pytest.mark.parametrize("length", [10, 1000, 5000, 70_000])
@pytest.mark.parametrize("after", [0, 30, 900, 1500])
def test_no_end_of_a_long_secret_is_left(length: int, after: int) -> None:
    secret = f"token={TOKEN}{'a1B2' * length}"
    text = redact_ends(f"{'log line ' * 400}{secret} {'x ' * after}", 1000)
    assert "a1B2a1B2" not in text and "log line" in text


def test_a_key_that_begins_in_the_middle_goes() -> None:
    lines = "line\n" * 1000
    for before in range(900, 4000, 250):
        text = redact_ends(f"{lines[:before]}{KEY}\nthe end", 1000)
        assert "q7Rw2Lx9" not in text and "line" in text and text.endswith("the end"), before


def test_rows_go_with_a_title_in_the_head() -> None:
    rows = "\n".join(f"user{number:04d} | quartz{number:04d}lantern" for number in range(400))
    assert "quartz" not in redact_ends(f"name | password\n---- | --------\n{rows}", 2000)


def test_a_short_text_is_redacted_as_a_whole() -> None:
    text = f"one {TOKEN} two"
    assert redact_ends(text, 1000) == redact(text) == "one [REDACTED:github] two"


def test_what_is_left_out_is_looked_at_first() -> None:
    first, rest = KEY[:400], KEY[400:]
    text = redact(f"please use {first}{rest} for it", left_out=[first])
    assert text == "please use [REDACTED:private-key] for it"
    assert redact("keep this\nnot this\nand that", left_out=["not this"]) == "keep this\n\n\nand that"
    assert redact("  not this and that", left_out=["not this"]) == "and that"


def test_cuts() -> None:
    text = redact("one two\nthree " * 50)
    assert clip(text, 20) == "one two\nthree one…" and clip(redact("ab"), 20) == "ab"
    assert flatten(text, 10) == "one two t…" and flatten(text, 10, "") == "one two th"
    assert clip_middle(text, 96) == f"{text[:20]} […] {text[-20:]}"
    assert len(clip_middle(redact("é" * 900), 300).encode()) <= 300
    assert format_redacted("{} or {}", text, redact("{}")) == f"{text} or {{}}"
    assert join_redacted(", ", [redact("a"), redact("b")]) == "a, b"


@pytest.mark.parametrize("between", [0, 300, 370, 410, 500, 540, 670, 2000])
def test_both_halves_of_a_string_go_however_far_the_next_one_is(between: int) -> None:
    first, second = "rSCt7nguMvAo9iWwCead", "mllbPHeXW2SZFP5rDdq7"
    split = f"api_key = (\n    '{first}'\n    '{second}'\n)\n"
    other = "title = (\n    'the first half of a title '\n    'and the second'\n)\n"
    text = redact(split + ("curl -H x:y\n\n" * 200)[:between] + other)
    assert first not in text and second not in text and "the second" in text
