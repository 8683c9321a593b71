"""Which proposed rules a review shows, and which it does not."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.language.parse import compute_key
from tests.candidates.signals import PROJECT, decision, failure, gather, history, learning, signal


def test_signals_that_say_one_thing_are_one_candidate() -> None:
    said = [
        signal("use bun not deno", day=1),
        signal("no, don't use deno, use bun", day=2),
        signal("please no deno", day=3),
        signal("use deno not bun", day=4),
    ]
    found = gather(said)
    assert [one.signals for one in found.strong] == [tuple(one["id"] for one in said[:3]), (said[3]["id"],)]
    first, other = found.strong
    assert (first.occurrences, first.sessions, first.confidence, first.tier) == (3, 3, 3, "strong")
    assert [entry["id"] for entry in first.conflicts_with] == [other.id]
    assert [entry["id"] for entry in other.conflicts_with] == [first.id]
    assert found.find_candidate(said[2]["id"]) == first and found.find_candidate("SIG-unknown") is None


def test_what_says_less_joins_only_where_it_is_clear_which() -> None:
    found = gather([signal("use bun not deno"), signal("use bun not node"), signal("use bun")])
    assert [one.occurrences for one in found.strong] == [1, 1, 1]


def test_one_rule_in_other_words_is_one_candidate() -> None:
    said = [
        "release notes should be concise",
        "keep release notes short",
        "don't ship until I approve",
        "ask before shipping",
    ]
    found = gather([signal(text, day=day) for day, text in enumerate(said, 1)])
    assert [one.occurrences for one in found.strong] == [2, 2]
    assert len({signal(text)["key"] for text in said}) == 4  # keys are made from the words and stay unchanged


def test_a_no_to_one_form_of_it_holds_for_the_other() -> None:
    old, new = signal("don't ship until I approve", day=1), signal("ask before shipping", day=2)
    said = history(decisions=[decision("dismissed", old["id"], old["key"], day=3)])
    assert not gather([old, new], said).strong
    assert len(gather([new], said).strong) == 1  # without the old one nothing links it to the dismissal


def test_what_a_file_says_in_other_words_is_not_asked_again() -> None:
    found = gather([signal("keep release notes short")], files="- Release notes should be concise\n")
    assert not found.strong and found.known == 1
    other = gather([signal("keep release notes short")], files="- Release notes should not be concise\n")
    assert len(other.strong) == 1


def test_the_same_words_the_other_way_round_are_asked_about() -> None:
    there, back = "generate the labels from the catalogue", "generate the catalogue from the labels"
    assert [one.occurrences for one in gather([signal(there), signal(back, day=2)]).strong] == [1, 1]
    found = gather([signal(back)], files=f"- {there.capitalize()}\n")
    assert len(found.strong) == 1 and not found.known


def test_what_names_another_tool_does_not_join_for_its_ban() -> None:
    found = gather([signal("npm is not used in this repo, it's yarn"), signal("use pnpm, not npm", day=2)])
    assert [one.occurrences for one in found.strong] == [1, 1]


def test_a_file_that_names_another_tool_does_not_answer_for_a_ban() -> None:
    found = gather([signal("npm is not used in this repo, it's yarn")], files="- Use pnpm, not npm\n")
    assert len(found.strong) == 1 and not found.known
    assert [entry["text"] for entry in found.strong[0].conflicts_with] == ["Use pnpm, not npm"]


def test_a_candidate_has_all_that_the_contract_names() -> None:
    (found,) = gather([signal("no, use pnpm not npm please", context="wait. no, use pnpm not npm please")]).strong
    shown = json.loads(json.dumps(found.as_json()))
    contract = """id text type category scope target tier confidence occurrences sessions trust signals first_seen
        last_seen similar conflicts_with backtest warnings sha256"""
    assert set(contract.split()) <= set(shown)
    assert shown["text"] == "Use pnpm, not npm"
    assert shown["sha256"] == hashlib.sha256(b"Use pnpm, not npm").hexdigest()
    assert shown["quote"] == "wait. no, use pnpm not npm please"
    assert (shown["target"], shown["scope"], shown["trust"], shown["backtest"]) == (
        "project",
        "project",
        "user_typed",
        None,
    )
    assert shown["matcher"]["instead"] == "pnpm"


def test_a_candidate_knows_how_many_sessions_began_since() -> None:
    begun = [f"2026-03-{day:02d}T08:00:00Z" for day in range(1, 8)]
    said = [signal("use bun not deno", day=1), signal("use bun not deno", day=5), signal("always sort", session_id="")]
    found, by_hand = gather(said, begun=begun).strong
    assert (found.sessions_ago, by_hand.sessions_ago) == (2, None)
    assert found.project == said[0]["project"]


def test_trust_is_that_of_the_least_trusted_signal_however_often_it_is_said() -> None:
    said = [signal("use bun not deno", day=day, trust="remote") for day in range(2, 22)]
    (found,) = gather([signal("use bun not deno", day=1), *said, signal("use bun not deno", day=23)]).strong
    assert (found.trust, found.confidence) == ("remote", 3)
    assert found.warnings == ("it rests on words that are not your own: from another machine",)


@pytest.mark.parametrize("first", ["assistant", "user_typed"])
def test_words_of_the_user_that_others_said_too_are_proposed_and_still_a_risk(first: str) -> None:
    """Whoever said it first: the user's words are shown, with a note that not all of it is theirs."""
    texts = {"assistant": "use bun not deno", "user_typed": "no, never use deno, only bun"}
    said = [signal(texts[who], trust=who) for who in sorted(texts, key=lambda who: who != first)]
    (found,) = gather(said).strong
    assert (found.text, found.trust) == ("Never use deno, only bun", "assistant")
    assert found.warnings == ("it rests on words that are not your own: from the assistant",)
    (own,) = gather([one for one in said if one["trust"] == "user_typed"]).strong
    assert (own.trust, own.warnings) == ("user_typed", ())


def test_a_text_that_borrows_the_assistants_question_is_trusted_like_the_assistant() -> None:
    (found,) = gather([signal("9021", context="asked: Which port is the catcher on?\nanswered: 9021")]).strong
    assert found.trust == "assistant"


def test_what_a_file_says_is_not_asked_again() -> None:
    said = [signal("don't use deno, use bun"), signal("no deno here"), signal("Queues are named after teams")]
    found = gather(said, files="- Use bun instead of deno\n- Queues are named after teams.\n")
    assert not found.strong and found.known == 3
    assert found.message == "All learnings already captured."


def test_a_file_that_says_less_does_not_answer_for_more() -> None:
    (found,) = gather([signal("use bun not deno")], files="- Don't use deno\n").strong
    assert [entry["where"] for entry in found.similar] == ["CLAUDE.md:1"]


def test_nothing_captured_is_nothing_to_reflect_on() -> None:
    assert gather([]).message == "Nothing to reflect on."
    assert gather([signal("goal: ship it", type="summary")]).message == "Nothing to reflect on."
    assert gather([signal("use bun not deno")]).message == ""


def test_what_a_rule_in_force_says_is_a_recurrence_of_it() -> None:
    rule = learning("Use bun, not deno", day=5)
    early, late = signal("use bun not deno", day=4), signal("no deno, use bun", day=6)
    found = gather([late], history([rule]))
    assert [one.recurrence_of for one in found.recurrences] == [rule["id"]] and not found.strong
    before = gather([early], history([rule]))
    assert not before.recurrences and before.known == 1  # said before there was a rule: not evidence against it


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("Write labels in Welsh", "I said write labels in Welsh"),
        ("Write labels in Welsh", "I already told you to write labels in Welsh"),
        ("Write labels in Welsh", "how many times do I have to say it: write labels in Welsh"),
        ("Never ship to prod without a ticket", "you shipped to prod without a ticket again"),
        ("Never ship to prod without a ticket", "I told you never to ship to prod without a ticket"),
        ("Schreibe die Etiketten auf Walisisch", "ich sagte doch: schreibe die Etiketten auf Walisisch"),
        ("Use bun, not deno", "as I said, use bun, not deno, again!"),
    ],
)
def test_who_says_a_rule_again_in_anger_repeats_it(rule: str, said: str) -> None:
    made = learning(rule, day=5)
    assert [one.recurrence_of for one in gather([signal(said, day=6)], history([made])).recurrences] == [made["id"]]


def test_saying_what_somebody_else_said_repeats_no_rule() -> None:
    made = learning("Write labels in Welsh", day=5)
    assert not gather([signal("I said write labels in Cornish", day=6)], history([made])).recurrences


def test_a_rule_is_recognised_by_the_key_it_was_approved_for() -> None:
    rule = learning("Bun runs everything here", day=2)
    past = history([rule], [decision("approved", rule["id"], compute_key("use bun not deno"), day=2)])
    found = gather([signal("use bun not deno", day=3)], past)
    assert [one.recurrence_of for one in found.recurrences] == [rule["id"]]


def test_who_takes_a_rule_back_has_said_no_to_it() -> None:
    rule = learning("Bun runs everything here", day=2, decision="DEC-20260302-approved")
    approved = decision("approved", rule["id"], compute_key("use bun not deno"), day=2, id=rule["decision"])
    back = decision("reverted", rule["id"], day=4, reopens=approved["id"])
    again = [signal("use bun not deno", day=day) for day in (5, 6, 7)]
    past = history([rule], [approved, back])
    assert not gather(again[:2], past).strong
    assert [one.dismissed_before for one in gather(again, past).strong] == ["2026-03-04"]
    asked = history([rule], [approved, {**back, "meta": {"reopen": True}}])
    assert [one.dismissed_before for one in gather(again[:1], asked).strong] == [None]
    redone = history([rule], [approved, back, decision("reverted", rule["id"], day=5, reopens=back["id"])])
    assert not gather(again, redone).strong and len(gather(again, redone).recurrences) == 1


def test_a_rule_of_another_project_does_not_hold_here() -> None:
    rule = learning("Use bun, not deno", project={"key": "example.org/else", "name": "else"})
    assert len(gather([signal("use bun not deno", day=3)], history([rule])).strong) == 1
    everywhere = {**rule, "scope": "global"}
    assert len(gather([signal("use bun not deno", day=3)], history([everywhere])).recurrences) == 1


ELSE = {"key": "example.org/else", "name": "else"}


def test_who_takes_the_rule_of_another_project_back_said_nothing_of_this_one() -> None:
    rule = learning("Use bun, not deno", day=2, decision="DEC-20260302-approved", project=ELSE)
    approved = decision("approved", rule["id"], compute_key("use bun not deno"), day=2, id=rule["decision"])
    back = decision("reverted", rule["id"], day=4, reopens=approved["id"])
    again = signal("use bun not deno", day=5)
    (found,) = gather([again], history([rule], [approved, back])).strong
    assert found.dismissed_before is None
    assert not gather([again], history([{**rule, "scope": "global"}], [approved, back])).strong
    assert not gather([{**again, "project": ELSE}], history([rule], [approved, back]), project=[]).strong


@pytest.mark.parametrize("kind", ["dismissed", "never"])
def test_a_no_counts_where_it_was_said(kind: str) -> None:
    """A dismissal counts in its projects; everywhere if it names none."""
    said, here = signal("use bun not deno", day=1, project=ELSE), signal("use bun not deno", day=5)
    there = {**said, "status": "dismissed"}

    def asked(signals: list[Any], **meta: Any) -> int:
        made = decision(kind, said["id"], said["key"], day=2, meta=meta)
        return len(gather(signals, history([], [made])).strong)

    assert asked([here], projects=[ELSE["key"]]) == 1
    assert asked([here], projects=[PROJECT["key"]]) == asked([here], projects=None) == asked([here]) == 0
    assert asked([there, here]) == 0
    assert asked([there, here], projects=None) == asked([here], projects={"forged": 1}) == 0


def test_in_a_review_of_all_each_project_has_its_own_answers_and_rules() -> None:
    mine, theirs = signal("use bun not deno", day=5), signal("use bun not deno", day=6, project=ELSE)
    nowhere = signal("use bun not deno", day=7, project=None)
    no = decision("dismissed", "SIG-20260301-x", mine["key"], day=2, meta={"projects": [ELSE["key"]]})
    rule = learning("Use bun, not deno", day=2, project=ELSE)
    for past in (history([], [no]), history([rule])):
        found = gather([mine, theirs, nowhere], past, project=[])
        assert [one.signals for one in found.strong] == [(mine["id"], nowhere["id"])]
        assert found.settled == (theirs["id"],) and found.strong[0].projects == (PROJECT["key"],)
        assert found.strong[0].outside and not gather([mine], past, project=[]).strong[0].outside
        one_project = gather([mine, theirs, nowhere], past, project=[], aliases={PROJECT["key"]: ELSE["key"]})
        assert [one.signals for one in one_project.strong] == [(nowhere["id"],)]
    everyone = gather([mine, theirs], history([{**rule, "scope": "global"}]), project=[])
    assert not everyone.strong and set(everyone.settled) == {mine["id"], theirs["id"]}
    assert [one.scope for one in gather([mine, theirs], project=[]).strong] == ["global"]


def test_in_a_review_of_all_the_files_of_a_project_speak_for_it_alone() -> None:
    mine, theirs = signal("use bun not deno", day=5), signal("use bun not deno", day=6, project=ELSE)
    files = "- Use bun, not deno\n"
    found = gather([mine, theirs], files=files, project=[], own_files={"CLAUDE.md": PROJECT["key"]})
    assert [one.signals for one in found.strong] == [(theirs["id"],)] and found.settled == (mine["id"],)
    assert not gather([mine, theirs], files=files, project=[]).strong


def _dismissed(days: list[int], kind: str = "dismissed", **facts: Any) -> Any:
    key = compute_key("use bun not deno")
    return history([], [decision(kind, f"SIG-202603{day:02d}-x", key, day=day, **facts) for day in days])


def test_a_no_holds_until_three_further_sessions_and_then_once() -> None:
    again = [signal("use bun not deno", day=day) for day in (5, 6, 7)]
    assert not gather(again[:2], _dismissed([4])).strong
    (found,) = gather(again, _dismissed([4])).strong
    assert found.dismissed_before == "2026-03-04"
    assert not gather(again, _dismissed([2, 4])).strong


def test_never_is_never_and_a_reverted_no_is_none() -> None:
    again = [signal("use bun not deno", day=day) for day in (5, 6, 7, 8)]
    assert not gather(again, _dismissed([4], "never")).strong
    past = _dismissed([4], "never")
    reopened = decision("reverted", "SIG-x", day=5, reopens=past.decisions[0]["id"])
    assert len(gather(again, history([], [*past.decisions, reopened])).strong) == 1


def test_a_failure_speaks_for_a_ban_and_not_against_it() -> None:
    found = gather(
        [
            signal("no, use pnpm here, not npm"),
            failure("npm install left-pad", day=1),
            failure("npm install left-pad", day=2),
        ]
    )
    (failed,) = [each for each in (*found.strong, *found.weak) if each.type == "failure"]
    assert failed.conflicts_with == ()


def test_a_failure_is_weak_until_it_returns_or_its_fix_is_known() -> None:
    (weak,) = gather([failure("rake spec"), failure("rake spec")]).weak
    assert weak.text == "`rake spec` fails here"
    assert len(gather([failure("rake spec", day=1), failure("rake spec", day=2)]).strong) == 1
    fix = signal("`rake spec` fails here (no rakefile); `rspec` works", type="gotcha", trust="tool_output")
    (fixed,) = gather([failure("rake spec"), fix]).strong
    assert fixed.text == "`rake spec` fails here; use `rspec`" and fixed.occurrences == 2


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ("`rake spec` fails here (no rakefile); `rspec` works", "`rake spec` fails here; use `rspec`"),
        (
            "`rake spec` fails here (no gems) until `bundle install` was run",
            "Run `bundle install` first: without it `rake spec` fails here",
        ),
    ],
)
@pytest.mark.parametrize("project", [{PROJECT["key"]}, ()])
def test_a_failure_that_came_before_its_fix_is_proposed_with_it(found: str, text: str, project: Any) -> None:
    failed = [failure("rake spec"), failure("rake spec")]
    gathered = gather([*failed, signal(found, type="gotcha", trust="tool_output")], project=project)
    (fixed,) = gathered.strong
    assert (fixed.text, fixed.needs_wording, fixed.type, fixed.occurrences) == (text, False, "gotcha", 3)
    assert not gathered.weak and not gathered.settled


def test_each_of_two_ways_out_of_one_failure_is_proposed() -> None:
    ways = [f"`rake spec` fails here (no rakefile); `{way}` works" for way in ("rspec", "make spec")]
    found = gather([failure("rake spec"), *(signal(way, type="gotcha", trust="tool_output") for way in ways)])
    assert sorted(one.text for one in found.strong) == [
        "`rake spec` fails here; use `make spec`",
        "`rake spec` fails here; use `rspec`",
    ]


def test_a_failure_of_another_tool_is_no_part_of_a_fix() -> None:
    fix = signal("`rake spec` fails here (no rakefile); `rspec` works", type="gotcha", trust="tool_output")
    edit = signal("Edit failed: string not found", type="failure", confidence=1, trust="tool_output")
    found = gather([edit, fix])
    assert [len(found.strong), len(found.weak)] == [1, 1]


def test_what_is_not_sure_or_not_lasting_is_weak() -> None:
    found = gather([
        signal("use bun", confidence=1), signal("use ava", meta={"durable": False}),
        signal("use oxlint", confidence=1, trust="user_feedback"),
    ])  # fmt: skip
    assert [one.text for one in found.weak] == ["Use bun", "Use ava"]
    assert [one.text for one in found.strong] == ["Use oxlint"]


def test_expired_sessions_still_count() -> None:
    key = compute_key("use bun not deno")
    tally = {"lines": [[key, "correction", "p", "2026-02-01", f"{at:012x}", "user_typed"] for at in range(2)]}
    (found,) = gather([signal("use bun not deno", confidence=1)], history(tallies=[tally])).strong
    assert (found.sessions, found.confidence) == (3, 3)


def test_the_oldest_come_first_but_after_those_never_shown() -> None:
    said = [signal(f"use alpha{at}", day=at) for at in range(1, 14)]
    found = gather(said, shown={said[0]["id"]})
    assert [one.id for one in found.strong] == [one["id"] for one in said[1:11]]
    assert [one.id for one in found.more] == [one["id"] for one in said[11:]] + [said[0]["id"]]


def test_only_this_project_and_what_belongs_to_none_is_asked() -> None:
    said = [signal("use bun"), signal("use ava", project=None), signal("use tap", project={"key": "x", "name": "x"})]
    assert [one.text for one in gather(said).strong] == ["Use bun", "Use ava"]
    assert len(gather(said, project=()).strong) == 3


def test_what_is_said_in_two_projects_belongs_to_all() -> None:
    said = [signal("use bun not deno"), signal("use bun not deno", project={"key": "x", "name": "x"})]
    (found,) = gather(said, project=()).strong
    assert (found.scope, found.target) == ("global", "global")


def test_a_flood_does_not_bury_what_others_said() -> None:
    flood = [failure(f"tool{at} --x", day=2) for at in range(400)]
    found = gather([*flood, signal("use bun not deno", day=3)])
    assert [one.text for one in found.strong] == ["Use bun, not deno"]
    assert len(found.weak) == 50 and len(found.held) == 350
    assert found.find_candidate(flood[-1]["id"]) is not None


def test_a_clock_in_the_future_hides_and_orders_nothing() -> None:
    lying = signal("use bun not deno", timestamp="2106-01-01T00:00:00Z", stored="2026-03-01T00:00:00Z")
    found = gather([signal("use ava", day=2), lying], now="2026-03-10T00:00:00Z")
    assert [one.text for one in found.strong] == ["Use bun, not deno", "Use ava"]


TEXTS = st.sampled_from(
    ["use bun not deno", "use deno not bun", "no deno", "no bun", "use bun", "use deno", "never use bun in specs",
     "use bun in specs", "use bun instead of node"]
)  # fmt: skip


@given(st.lists(TEXTS, min_size=1, max_size=12))
def test_every_signal_is_somewhere_and_opposites_never_together(texts: list[str]) -> None:
    said = [signal(text, day=1 + at) for at, text in enumerate(texts)]
    found = gather(said)
    for one in said:
        assert found.find_candidate(one["id"]) is not None
    by_id = {one["id"]: one["content"] for one in said}
    for candidate in (*found.strong, *found.more, *found.weak):
        together = {by_id[identity] for identity in candidate.signals}
        assert not {"use bun not deno", "use deno not bun"} <= together
        assert not ("no bun" in together and any(text.startswith("use bun") for text in together))
        assert not ("no deno" in together and any(text.startswith("use deno") for text in together))
        assert not {"use bun", "use bun in specs"} <= together


def test_what_improvements_say_by_hand_already_is_not_asked_again() -> None:
    entry = "## Pending\n\n### [2026-01-31] Staging port\n- **Suggested action**: Always document the staging port\n"
    assert not gather([signal("always document the staging port")], files=entry).strong
    assert gather([signal("always document the admin port")], files=entry).strong
