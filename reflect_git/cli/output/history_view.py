"""Words that everything which tells of the past shares: when, by whom, by which road."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.cli.context import age
from reflect_git.history.rule_history import IN_FORCE, SUPERSEDED
from reflect_git.records.ids import local_day, plural, seconds_of
from reflect_git.rules.dismiss import root_of

if TYPE_CHECKING:
    from reflect_git.history.rule_history import Count, Story
    from reflect_git.records.schema import Decision

    Line = tuple[str, str]

ROADS = {
    "terminal": "at a terminal", "ask-user-question": "in Claude Code", "own-machine": "on another machine of yours",
    "unattended": "by a script",
}  # fmt: skip


def when(timestamp: str) -> str:
    """How long ago, and the day and the hour here."""
    moment = seconds_of(timestamp)
    local = time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
    return f"{age(max(0.0, time.time() - moment))} ago ({local})"


def day(timestamp: str) -> str:
    """Return the date of a record's time where the person is."""
    return local_day(seconds_of(timestamp))


def who(by: Mapping[str, Any]) -> str:
    """A person and their road, of a decision."""
    return f"{by['name'] or 'somebody'} {ROADS.get(by['road'], 'in an unknown way')}"


TAKEN_BACK, PUT_BACK = "taken back", "put back"
_QUOTES = 3
_OWN = ("user_typed", "user_feedback")


def state(story: Story) -> str:
    if story.ended is None:
        return IN_FORCE
    heir = f" by {story.heir}" if story.state == SUPERSEDED and story.heir else ""
    return f"{story.state}{heir}"


def lines(story: Story) -> Iterator[Line]:
    """Name and text, in the order in which one asks."""
    yield "approved", approved(story)
    for word, made in _turns(story):
        yield word, f"{_decided(made)}, {made['id']}"
        yield "reason", made["reason"]
    yield from _quotes(story)
    yield from _before(story)
    yield "said again", _counted(story.again) if story.again.times else ""
    yield "sessions", _sessions(story)
    yield from commands(story)


def _turns(story: Story) -> Iterator[tuple[str, Decision]]:
    """What took it back and put it back, in order, and what ended it if that is none of these."""
    found = [(word, made) for made in story.decisions if (word := turn(story.decisions, made))]
    turns = [] if found == [(TAKEN_BACK, story.ended)] else found  # a plain revert is called by its state
    yield from turns
    if story.ended and story.ended not in [made for _, made in turns]:
        yield state(story).partition(" ")[0], story.ended


def turn(decisions: Sequence[Decision], made: Decision) -> str:
    """What a revert did to the rule itself: whether it took its approval back, or put it back; else nothing."""
    root, is_undone = root_of({one["id"]: one for one in decisions}, made)
    if made["kind"] != "reverted" or root["kind"] != "approved":
        return ""
    return TAKEN_BACK if is_undone else PUT_BACK


def approved(story: Story) -> str:
    made = story.approval
    return _decided(made) if made else when(story.learning["timestamp"])


def _decided(made: object) -> str:
    assert isinstance(made, dict)
    return f"{when(made['timestamp'])}, {who(made['by'])}, {made['machine']}"


def _quotes(story: Story) -> Iterator[Line]:
    for signal in story.signals[:_QUOTES]:
        name = "you said" if signal["trust"] in _OWN else "it said"
        session = f", session {signal['session_id'][:8]}" if signal["session_id"] else ""
        yield name, f'"{signal["context"] or signal["content"]}"'
        yield "", f"{signal['id']}, {when(signal['timestamp'])}{session}"
    more = len(story.signals) - _QUOTES
    if more > 0:
        yield "", f"and {plural(more, 'more signal')}"
    if story.forgotten:
        yield "", f"{plural(story.forgotten, 'signal')} behind it not on this machine: expired, or never here"


def _before(story: Story) -> Iterator[Line]:
    decided = {made["id"]: made for made in story.decisions}
    for wording in story.replaced:
        if wording.id != story.learning["id"]:
            yield "replaced", f'{wording.id} "{wording.text}"'
        else:
            made = decided[wording.by]
            reason = f": {made['reason']}" if made["reason"] else ""
            yield "said before", f'"{wording.text}"'
            yield "", f"until {_decided(made)}{reason}"


def _counted(count: Count) -> str:
    return f"{plural(count.times, 'time')} in {plural(count.sessions, 'session')}, last {when(count.last)}"


def _sessions(story: Story) -> str:
    told = [f"{plural(story.read, 'session')} had it loaded"] if story.read else []
    for count, words in ((story.before, "before it was approved"), (story.after, "since")):
        if count.times:
            told.append(f"its matcher applied {plural(count.times, 'time')} {words}, last {when(count.last)}")
    return "; ".join(told)


def commands(story: Story) -> Iterator[Line]:
    if story.ended is None:
        yield "does it help", f"reflect-git effect {story.learning['id']}"
        yield "change it", f"reflect-git edit {story.learning['id']}"
        yield "take it back", f"reflect-git revert {story.learning['id']}"
