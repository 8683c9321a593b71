"""One sentence: what is talk, what is left as an order, and what may not be touched."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.model.frames import frame_of
from reflect_git.review.orders import coded, ordered, says_no

# All that an order may say beyond the user's own words; the last line are plain forms of the user's own verbs.
ADDED = frozenset("do not no never stop use ask yourself".split())


@pytest.mark.parametrize(
    "said, order",
    [
        ("you forgot to sign the build", "Sign the build"),
        ("You should have asked before dropping the index", "Ask before dropping the index"),
        ("you shouldn't have renamed the bucket", "Do not rename the bucket"),
        ("why didn't you use the queue?", "Use the queue"),
        ("why don't you just read the log first?", "Read the log first"),
        ("couldn't we simply reuse the parser?", "Reuse the parser"),
        ("can't you take the cached one instead?", "Take the cached one instead"),
        ("did you even run the seeds yet?", "Run the seeds"),
        ("why did you delete the seeds again?!", "Do not delete the seeds"),
        ("why did you push without asking?", "Do not push without asking"),
        ("why are you still patching vendored code?!", "Stop patching vendored code"),
        ("you keep inlining the icons", "Stop inlining the icons"),
        ("I noticed you keep inlining the icons", "Stop inlining the icons"),
        ("no no no, keep the old bucket", "Keep the old bucket"),
        ("ok looks good so far but next time sign the build", "Sign the build"),
        ("alright this is fine, but sign the build", "Sign the build"),
        ("sorry to be picky but sign the build", "Sign the build"),
        ("aaargh, sign the build", "Sign the build"),
        ("just a small thing: sign the build", "Sign the build"),
        ("it would be great if you checked the seeds first", "Check the seeds first"),
        ("no && in commands, use ; instead please", "No && in commands, use ; instead"),
        ("good! though for the future: sign the build", "Sign the build"),
        ("it works but the page is too wide", "The page is too wide"),
        ("the thing is, the mirror is read-only", "The mirror is read-only"),
        ("stop inlining the icons, it's super annoying", "Stop inlining the icons"),
        ("that's the wrong bucket, exports go to cold storage", "Exports go to cold storage"),
        ("that's wrong: never touch the seeds without asking me", "Never touch the seeds without asking me"),
        ("That’s not right, always tag the release", "Always tag the release"),
        ("no, wrong, we use rsync", "We use rsync"),
        ("No that's wrong - don't log addresses", "Don't log addresses"),
        ("Not right: run the seeds first", "Run the seeds first"),
        ("that is incorrect, use rsync, not scp", "Use rsync, not scp"),
        ("This isn't correct; only tabs in the Makefile", "Only tabs in the Makefile"),
        ("das ist falsch: nie nach main pushen", "Nie nach main pushen"),
        ("Das stimmt nicht, benutze immer rsync", "Benutze immer rsync"),
        ("eso está mal: nunca toques los datos", "Nunca toques los datos"),
        ("Ce n'est pas correct, utilise toujours rsync", "Utilise toujours rsync"),
        ("I meant that the queue should stop, not restart", "The queue should stop, not restart"),
        ("I'd prefer if you showed the query first", "Show the query first"),
        ("you should've asked before dropping the index", "Ask before dropping the index"),
        ("shouldn't we be using the queue here?", "Use the queue here"),
        ("would it be possible to keep the pages short?", "Keep the pages short"),
        ("didn't I tell you to use rsync?", "Use rsync"),
        ("didn't I tell you not to squash", "Do not squash"),
        ("is there a reason you are not using the parser??", "Use the parser"),
        ("it's really important that you don't log addresses", "Don't log addresses"),
        ("can u make sure the queue is empty", "Make sure the queue is empty"),
        ("can we please use the queue everywhere", "Use the queue everywhere"),
        ("you forgot to sign the build again", "Sign the build"),
        ("don't ship until i've seen it", "Don't ship until I've seen it"),
        ("I told you not to squash", "Do not squash"),
        ("I said use rsync, not scp", "Use rsync, not scp"),
        ("I don't think we should add a cache", "Do not add a cache"),
        ("I think it's better not to log addresses", "Do not log addresses"),
        ("I'd rather keep the old bucket, is that possible?", "Keep the old bucket"),
        ("I don't want any banners", "No banners"),
        ("make sure you never log addresses", "Never log addresses"),
        ("make sure not to log addresses", "Do not log addresses"),
        ("we should be using rsync", "Use rsync"),
        ("maybe we should drop the flag", "Drop the flag"),
        ("from now on, always tag the release", "Always tag the release"),
        ("next time ask me before wiping the disk", "Ask me before wiping the disk"),
        ("sorry for the noise, but I wanted to remind you to always tag the release", "Always tag the release"),
        ("keep in mind that the queue is shared", "The queue is shared"),
        ("Claude, please, before you merge, rebuild the docs, thanks!", "Before you merge, rebuild the docs"),
        ("the queue is shared, right?", "The queue is shared"),
        ("(mind the gap)", "Mind the gap"),
        ("are we able to not block the queue?", "Do not block the queue"),
        ("are you able to run the seeds in one go?", "Run the seeds in one go"),
        ("or are you forgetting to sign the image?", "Sign the image"),
        ("are you using the shared cache as well?", "Use the shared cache as well"),
        ("could we have a schema for this?", "Have a schema for this"),
        ("don't you think we should rename the bucket?", "Rename the bucket"),
        ("shouldn't we check the seeds first?", "Check the seeds first"),
        ("did we add any smoke tests?", "Add smoke tests"),
        ("I'd first like to see the numbers", "First see the numbers"),
        ("you restart it", "You restart it"),
        ("you fix it", "Fix it yourself"),
        ("you run it and tell me what comes back", "Run it yourself and tell me what comes back"),
        ("for now, let's keep the small disk", "For now, keep the small disk"),
        ("if the queue is full, we should drop the oldest", "If the queue is full, drop the oldest"),
        (
            "given the size of it, I think it's better not to cache the feed",
            "Given the size of it, do not cache the feed",
        ),
        ("we've been through this before: the queue is shared", "The queue is shared"),
        ("hold on, the queue is shared", "The queue is shared"),
        ("I don't understand why the runner is unable to see the bucket?", "The runner is unable to see the bucket"),
        ("podman please", "Podman"),
        ("pnpm pls", "Use pnpm"),
        ("2. keep the log short", "Keep the log short"),
        ("keine Mocks im Code, danke", "Keine Mocks im Code"),
        ("请不要用 deno", "不要用 deno"),
    ],
)
def test_an_order_is_what_is_left_without_the_talk(said: str, order: str) -> None:
    assert ordered(said) == order


@pytest.mark.parametrize(
    "said",
    [
        "Can we not reuse the parser?",
        "Could you not take the cached one instead?",
        "Why can't we use rsync?",
        "Why did you choose rsync?",
        "Why not use rsync?",
        "You may not have used rsync before",
        "You didn't break anything",
        "I'm not sure we should use rsync",
        "You don't have to ask before reading",
        "Not like this, do it as before",
        "Don't just fix the spec, fix the bug",
        "The queue is shared, remember, we deploy twice",
        "If the disk is full, can we not retry?",
        "You do it wrong",
        "This is wrong: the queue never empties",
        "That's wrong, because we never squash",
        "That's not right, is it?",
        "This is wrong, fix it",
        "Wrong bucket, use the cold one",
        "If that's wrong, never merge",
        "It is not right to squash",
        "That's right, never squash",
        "Eso es correcto, usa rsync",
        "You run it and it breaks",
        "Are you using rsync?",
        "I don't understand why the runner uses rsync",
        "Did we run into this before?",
        "If the disk is full, we should not retry",
        "For now, keep the small disk",
        "This time, skip the seeds",
        "No more small things, finish the queue",
        "To the right, add a margin",
        "I said no to the queue",
        "Can we use rsync?",
        "I meant the other bucket",
        "Why are you using rsync?",
    ],
)
def test_what_might_mean_the_opposite_stays_as_it_was_typed(said: str) -> None:
    assert ordered(said) == said


def test_what_is_quoted_is_not_read() -> None:
    assert ordered('please never print `please` or "thanks", thanks') == 'Never print `please` or "thanks"'


def test_a_path_within_a_command_gets_no_backticks_of_its_own() -> None:
    assert coded("Keep src/gen/api.ts as it is") == "Keep `src/gen/api.ts` as it is"
    assert coded("Run pytest spec/unit/test_a.py -q first") == "Run pytest spec/unit/test_a.py -q first"
    assert coded("Put it into src/parts/<Name>/index.ts") == "Put it into src/parts/<Name>/index.ts"


ORDERS = st.sampled_from(
    ["use {}", "run {} before merging", "keep {} small", "never use {}", "don't touch {}", "avoid {}", "no {} in specs",
     "use {} instead of zeta", "use zeta, not {}", "stop adding {}", "do not use {}", "always ask before using {}",
     "use {} only when asked", "never deploy {} without asking", "unless I ask, don't run {}", "не используй {}",
     "不要用 {}", "verwende kein {}", "n'utilise pas {}", "add a test for {}", "only {} counts here"]
)  # fmt: skip
AROUND = st.sampled_from(
    ["{}", "no, {}", "please {}", "hmm {} thanks", "ok so {}!!", "again: {}", "let's {}", "you should {}", "{}, please",
     "I want you to {}", "mate, {} lol", "I think we should {}", "remember to {}", "wait - {}", "next time {}",
     "from now on, {}", "can you {}?", "could you please {}?", "I told you to {}", "you forgot to {}",
     "make sure to {}", "are you able to {}?", "for now, let's {}", "we've been over this, {}", "hold on, {}",
     "sorry, but {}", "no no, {}", "alright this is fine, but {}", "sorry to be picky but {}", "it works but {}",
     "good! though for the future: {}", "{}, it's really annoying", "so basically {}", "Claude, {}",
     "one more thing: {}", "{}, ok?", "{} 🙏", "yes. {}", "that's wrong: {}", "not right, {}", "why don't you {}?"]
)  # fmt: skip
NAMES = st.from_regex(r"\A[b-df-hj-np-tv-z][aeo][b-df-hj-np-tv-z]{2}[0-9]\Z")
CODE = st.from_regex(r"\A`[a-z]{2,5} -[a-z] (please|thanks|dont|no|\./[a-z]{2,4}\.py)`\Z")
SAID = st.builds(lambda order, around, name: (order.format(name), around), ORDERS, AROUND, NAMES | CODE)


@given(SAID)
def test_no_order_gains_or_loses_a_no(said: tuple[str, str]) -> None:
    order, around = said
    text = ordered(around.format(order))
    assert says_no(text) == says_no(order) or around.startswith("why don't")
    before, after = frame_of(order), frame_of(text)
    if before is not None and after is not None and says_no(text) == says_no(order):
        assert (bool(before.wanted), bool(before.unwanted)) == (bool(after.wanted), bool(after.unwanted))


@given(SAID)
def test_no_order_says_a_word_that_was_not_said(said: tuple[str, str]) -> None:
    order, around = said
    whole = around.format(order)
    spoken = set(re.findall(r"[\w']+", whole.casefold()))
    assert set(re.findall(r"[\w']+", ordered(whole).casefold())) <= spoken | ADDED


@given(SAID)
def test_an_order_is_left_as_it_is_and_its_code_to_the_letter(said: tuple[str, str]) -> None:
    order, around = said
    text = ordered(around.format(order))
    assert ordered(text) == text
    assert re.findall("`[^`]+`", text) == re.findall("`[^`]+`", order)


@given(st.text(max_size=160))
def test_any_text_can_be_ordered(text: str) -> None:
    assert isinstance(ordered(text), str) and isinstance(coded(text), str)
