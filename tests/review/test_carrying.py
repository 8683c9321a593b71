"""Which sentences of a message are proposed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.review.carrying import SENTENCES, carrying, sentences_in

CHAT = ["Great job!", "Thanks for the fix.", "How did that happen?", "Not yet.", "The specs pass now."]
RULES = ["Never log addresses.", "Always tag the release.", "use rsync, not scp", "Don't squash."]


@pytest.mark.parametrize(
    "message, found",
    [
        ("Great job! Next time please also add a spec.", ["Add a spec"]),
        ("The specs pass now, thanks! One thing: never edit merged migrations.", ["Never edit merged migrations"]),
        ("let's go with option B, but can you start the queue yourself?", ["Start the queue yourself"]),
        ("That's not right. Never log addresses.", ["Never log addresses"]),
        ("This is incorrect, please never log addresses", ["Never log addresses"]),
        ("Don't squash. Why do we do that at all?", ["Don't squash"]),
        ("Never push to the mirror. Unless I say so.", ["Never push to the mirror", "Unless I say so"]),
        ("I like it -- sort of. What are these files for?", ["I like it -- sort of"]),
        ("What are these files for? Do we want them?", ["What are these files for?", "Do we want them?"]),
        ("note this in CLAUDE.md: the queue is shared", ["The queue is shared"]),
        ("Don't inline the icons. Add this to CLAUDE.md.", ["Don't inline the icons"]),
        ("If the disk is full, can you stop the queue?", ["If the disk is full, stop the queue"]),
        ("why did you delete the seed?! never delete a seed in use, fix it", ["Never delete a seed in use, fix it"]),
        ("Never push. Never push on Fridays.", ["Never push", "Never push on Fridays"]),
        ("you should not have pushed. only push when I tell you", ["Only push when I tell you"]),
        ("you just overwrote my seeds!! always ask before writing seeds", ["Always ask before writing seeds"]),
        ("stop. you're renaming everything. only rename what I asked for", ["Only rename what I asked for"]),
        ("that's not how we name queues. it's team-purpose", ["That's not how we name queues", "It's team-purpose"]),
        ("we squash. we squash", ["We squash"]),
        ("we never squash. never. find the cause", ["We never squash", "Find the cause"]),
        ("yeah great, thanks! the mirror needs a VPN", ["The mirror needs a VPN"]),
        ("I said no to that already. We do not squash here.", ["We do not squash here"]),
        ("Seeds first. Then specs.", ["Seeds first", "Then specs"]),
        (
            "Why would you put keys in the image? they belong in the vault",
            ["Do not put keys in the image", "They belong in the vault"],
        ),
    ],
)
def test_a_short_message_says_what_is_no_talk(message: str, found: list[str]) -> None:
    assert carrying(message, message) == found


def test_a_rule_elsewhere_in_the_message_outweighs_what_was_taken_of_it() -> None:
    message = (
        "I saw the run on the pager. The run took an hour. The queue was empty then. "
        "You should never restart the queue without asking me. I went home."
    )
    assert carrying("The run took an hour.", message) == ["Never restart the queue without asking me"]
    assert carrying(
        "The run took an hour.",
        message.replace("You should never restart", "They restart").replace("without asking me", "at six"),
    ) == ["The run took an hour"]


def test_what_was_pasted_carries_nothing() -> None:
    message = "still red:\n```\nnever trust the cache, always rebuild\n```\n> always use scp\n    never(x);\nhm, odd"
    assert sentences_in(message) == ["still red:", "hm, odd"]


def test_of_a_long_paste_only_what_was_taken_counts() -> None:
    pasted = " ".join(f"Step {number} is green." for number in range(40))
    assert carrying("Step 3 is green.", f"{pasted} Always use the mirror, never the origin.") == ["Step 3 is green"]


def test_what_was_captured_by_hand_was_meant_whole() -> None:
    assert carrying("I saw it. Thanks. The queue is shared.", "") == ["I saw it", "The queue is shared"]


@given(st.lists(st.sampled_from(CHAT), max_size=2), st.sampled_from(RULES), st.lists(st.sampled_from(CHAT), max_size=2))
def test_a_rule_among_chat_is_all_that_is_left(before: list[str], rule: str, after: list[str]) -> None:
    message = "\n".join([*before, rule, *after])
    assert [one.casefold() for one in carrying(rule, message)] == [rule.casefold().rstrip(".")]


@given(st.lists(st.sampled_from(CHAT + RULES), min_size=1, max_size=8))
def test_a_proposal_is_three_sentences_at_most_and_stays_what_it_is(sentences: list[str]) -> None:
    found = carrying(sentences[0], " ".join(sentences))
    assert 0 < len(found) <= SENTENCES
    text = ". ".join(found)
    assert ". ".join(carrying(text, text)).replace("?.", "?") == text.replace("?.", "?")
