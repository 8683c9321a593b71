"""Meaning of instructions, in ten languages and any wording; and texts that are not instructions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.language.parse import Frame, agrees, compute_key, normalize_sentence, opposes, parse_frame

SAME = """use mocha not jasmine
Use `mocha`, not `jasmine`!
don't use jasmine, use mocha
Do not use jasmine; use mocha instead
use mocha instead of jasmine please
No, use mocha rather than jasmine in this repo
can you use mocha instead of jasmine?
we use mocha instead of jasmine here
prefer mocha over jasmine
always prefer mocha to jasmine
instead of jasmine, use mocha
jasmine is deprecated, use mocha
not jasmine but mocha
use mocha and never jasmine
verwende mocha statt jasmine
bitte jasmine nicht verwenden, sondern mocha
benutze kein jasmine, nimm mocha
usa mocha en lugar de jasmine
no uses jasmine, usa mocha
utilise mocha au lieu de jasmine
n'utilise pas jasmine, utilise mocha
usa mocha invece di jasmine
não use jasmine, use mocha
use mocha em vez de jasmine
используй mocha вместо jasmine
用 mocha，不要用 jasmine
使用mocha而不是jasmine
jasmineではなくmochaを使ってください
jasmineは使わないで、mochaを使って
jasmine 말고 mocha 써주세요
jasmine 대신 mocha 사용하세요""".splitlines()

BANS = """never use jasmine
avoid using jasmine
no jasmine
No more jasmine please
stop using jasmine
never, ever use jasmine
jasmine must not be used
jasmine is not used here
jasmine is forbidden
jasmine is not allowed
we no longer use jasmine
I don't want you to use jasmine
use no jasmine
let's not use jasmine
I'd rather not use jasmine
under no circumstances use jasmine
jasmine nicht verwenden
verwende niemals jasmine
nunca uses jasmine
n'utilise jamais jasmine
ne pas utiliser jasmine
non usare mai jasmine
nunca use jasmine
никогда не используй jasmine
禁止使用jasmine
别用 jasmine
jasmineを使わないでください
jasmine 사용하지 마세요""".splitlines()

NONE = """why not use mocha?
did you use jasmine instead of mocha?
don't you think jasmine is old?
I don't think we should use jasmine
it's not working
you don't need to use jasmine
I never said to use jasmine
jasmine doesn't work here
don't do that
the build fails since yesterday
not yet
is it better to use mocha?""".splitlines()


@pytest.mark.parametrize("sentence", SAME)
def test_one_order_has_one_frame(sentence: str) -> None:
    assert parse_frame(sentence) == Frame("mocha", "jasmin", "")


@pytest.mark.parametrize("sentence", BANS)
def test_a_ban_names_what_is_not_wanted(sentence: str) -> None:
    assert parse_frame(sentence) == Frame("", "jasmin", "")


@pytest.mark.parametrize("sentence", NONE)
def test_talk_is_no_order(sentence: str) -> None:
    assert parse_frame(sentence) is None


@pytest.mark.parametrize(
    "sentence, frame",
    [
        ("Always run the formatter before committing", Frame("run formatter", "", "before commit")),
        ("before each commit, run the formatter", Frame("run formatter", "", "before commit")),
        ("use mocha, not jasmine, in the worker tests", Frame("mocha", "jasmin", "in worker test")),
        ("for migrations use alembic", Frame("alembic", "", "for migration")),
        ("don't rebuild the index unless I ask you", Frame("", "rebuild index", "unless ask")),
        ("For now, unless I ask, don't rebuild the index", Frame("", "rebuild index", "for now unless ask")),
        ("Unless I ask, for now, don't rebuild the index", Frame("", "rebuild index", "for now unless ask")),
        ("For example, don't rebuild the index", Frame("", "rebuild index", "")),
        ("Use pnpm, not npm, for instance", Frame("pnpm", "npm", "")),
        ("For example, in tests, use pnpm, not npm", Frame("pnpm", "npm", "in test")),
        ("In src, for tests, use vitest", Frame("vitest", "", "for test in src")),
        ("don't forget to bump the version", Frame("bump version", "", "")),
        ("stop the worker before deploying", Frame("stop worker", "", "before deploy")),
        ("don't use `any`, use `unknown`", Frame("unknown", "=any", "")),
        ("`make t` fails here (no rule); `make test` works", Frame("make test", "make t", "")),
    ],
)
def test_when_it_holds_is_part_of_it(sentence: str, frame: Frame) -> None:
    assert parse_frame(sentence) == frame


def test_what_demands_and_what_forbids_oppose_each_other() -> None:
    use, swap = parse_frame("use mocha, not jasmine"), parse_frame("use jasmine, not mocha")
    ban, elsewhere = parse_frame("never use mocha"), parse_frame("never use mocha in scripts")
    assert use and swap and ban and elsewhere
    assert opposes(use, swap) and opposes(swap, use) and opposes(use, ban)
    assert not opposes(use, elsewhere)
    assert not agrees(use, swap) and not agrees(use, ban)


def test_less_of_the_same_agrees_and_more_of_another_does_not() -> None:
    full, ban, other = (parse_frame(one) for one in ("use mocha not jasmine", "no jasmine", "use ava not jasmine"))
    assert full and ban and other
    assert agrees(full, ban) and agrees(ban, full)
    assert not agrees(full, other)


def test_several_sentences_are_no_frame_unless_they_make_one() -> None:
    assert parse_frame("Don't push yet. Fix the layout.") is not None  # what not to do, and what to do
    assert parse_frame("Don't push yet. The layout is odd. I will look at it.") is None
    assert parse_frame("Never push on Friday. The pager is mine on weekends.") is None
    assert parse_frame("Don't use jasmine. It is slow. Use mocha.") == Frame("mocha", "jasmin", "")


def test_small_differences_do_not_make_a_second_key() -> None:
    assert compute_key("Please, never edit the `generated` files!") == compute_key("never edit generated file")
    assert compute_key("the release notes lag a day") == compute_key("Release notes lag a day.")
    assert compute_key("merge main into feature") != compute_key("merge feature into main")
    assert compute_key("you run it") != compute_key("i run it")
    assert compute_key("run `just lint` after each edit") != compute_key(
        "run lint after each edit"
    )  # commands stay literal
    assert len(compute_key("x")) == 16


def test_a_negation_is_never_lost_in_the_normal_form() -> None:
    assert normalize_sentence("the cache is not shared") != normalize_sentence("the cache is shared")
    assert normalize_sentence("it doesn't retry") != normalize_sentence("it does retry")


WORDS = st.sampled_from(
    "use not never don't , ; . instead of only without before when in is be used always prefer over to → ` no ok you "
    "we can ? 不要 用 をつかう 말고 nicht pas but and because ( ) kein from with alpha beta gamma".split(" ")
)


@given(st.one_of(st.lists(WORDS, max_size=14).map(" ".join), st.text(max_size=90)))
def test_any_text_has_a_key_and_no_frame_agrees_with_its_reverse(text: str) -> None:
    frame = parse_frame(text)
    assert compute_key(text) == compute_key(text)
    if frame is not None:
        turned = Frame(frame.unwanted, frame.wanted, frame.condition)
        assert not agrees(frame, turned)


NAMES = st.from_regex(r"\A[b-df-hj-np-tv-z][aeo][b-df-hj-np-tv-z]{2}[0-9]\Z")


@given(NAMES, NAMES, st.sampled_from(SAME))
def test_what_is_wanted_is_never_taken_for_what_is_not(good: str, bad: str, sentence: str) -> None:
    if good != bad:
        assert parse_frame(sentence.replace("mocha", good).replace("jasmine", bad)) == Frame(good, bad, "")


@given(NAMES, st.sampled_from(BANS))
def test_what_is_forbidden_is_never_taken_for_a_wish(name: str, sentence: str) -> None:
    assert parse_frame(sentence.replace("jasmine", name)) == Frame("", name, "")


@pytest.mark.parametrize(
    "text", ["rather than npm, can we", "use npm,", "in tests,", "you fix it and then run tests first,"]
)
def test_what_ends_too_early_is_read_to_its_end(text: str) -> None:
    parse_frame(text)
    assert compute_key(text)


@given(
    st.lists(st.sampled_from("use not npm pnpm , ; instead of than rather in for tests can we never always no".split()))
)
def test_words_in_any_order_are_no_reason_to_stop(words: list[str]) -> None:
    parse_frame(" ".join(words))
    compute_key(" ".join(words))
