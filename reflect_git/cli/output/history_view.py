"""Text for past events: when, who, and how it was decided."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reflect_git.cli.context import CliContext, format_duration, get_cwd
from reflect_git.history.rule_history import IN_FORCE, SUPERSEDED, format_person
from reflect_git.records.ids import local_day, parse_utc, plural
from reflect_git.rules.dismiss import find_root

if TYPE_CHECKING:
    from reflect_git.history.rule_history import Count, RuleHistory
    from reflect_git.records.schema import Decision
    from reflect_git.store.repository import Store

    Line = tuple[str, str]


def format_when(timestamp: str) -> str:
    """Format how long ago it was, with the local date and time."""
    moment = parse_utc(timestamp)
    local = time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
    return f"{format_duration(max(0.0, time.time() - moment))} ago ({local})"


def format_day(timestamp: str) -> str:
    """Return the date of a record's time where the person is."""
    return local_day(parse_utc(timestamp))


REVERTED, RESTORED = "reverted", "restored"
_MAX_QUOTES = 3
_USER_TRUST = ("user_typed", "user_feedback")


def format_state(story: RuleHistory) -> str:
    if story.ended_by is None:
        return IN_FORCE
    heir = f" by {story.replaced_by}" if story.state == SUPERSEDED and story.replaced_by else ""
    return f"{story.state}{heir}"


def format_history(story: RuleHistory, effect: str = "") -> Iterator[Line]:
    """Name and text, in the order in which one asks. `effect`: whether the rule helps."""
    yield "approved", format_approval(story)
    for word, made in _list_turns(story):
        yield word, f"{_format_decision(made)}, {made['id']}"
        yield "reason", made["reason"]
    yield "guard", format_guard(story)
    yield "pinned", _format_decision(story.pin) if story.pin else ""
    yield from _format_quotes(story)
    yield from _format_replaced(story)
    yield "said again", _format_count(story.repeats) if story.repeats.times else ""
    yield "sessions", _format_sessions(story)
    yield from format_commands(story, effect)


def format_guard(story: RuleHistory) -> str:
    """Format the guard of a rule: mode, what it matches, since when; empty without a guard."""
    state = story.guard
    if state is None:
        return ""
    from reflect_git.rules.guarding.guards import describe_guard, format_firings  # few rules are guarded

    if state.guard and state.decision:
        since = format_when(state.decision["timestamp"])
        said = f"{state.guard.mode}: {describe_guard(state.guard.matcher, state.guard.instead)}, since {since}"
    else:
        said = f"off: {state.problem}" if state.problem else ""
    waits = f"{state.waiting['meta']['mode']} on {state.waiting['machine']}, not accepted here" if state.waiting else ""
    counts = story.firings
    last = f", last {format_when(counts.last)}" if counts and counts.last else ""
    done = f"{format_firings(counts)}{last}" if counts and state.decision else ""
    return "; ".join(filter(None, (said, done, waits)))


def _list_turns(story: RuleHistory) -> Iterator[tuple[str, Decision]]:
    """Yield reverts and restores in order, then the decision that ended the rule if it is neither."""
    found = [(word, made) for made in story.decisions if (word := get_revert_effect(story.decisions, made))]
    turns = [] if found == [(REVERTED, story.ended_by)] else found  # a plain revert is called by its state
    yield from turns
    if story.ended_by and story.ended_by not in [made for _, made in turns]:
        yield format_state(story).partition(" ")[0], story.ended_by


def get_revert_effect(decisions: Sequence[Decision], made: Decision) -> str:
    """Return whether a revert reverted or restored the rule's approval; empty if neither."""
    root, is_undone = find_root({one["id"]: one for one in decisions}, made)
    if made["kind"] != "reverted" or root["kind"] != "approved":
        return ""
    return REVERTED if is_undone else RESTORED


def format_approval(story: RuleHistory) -> str:
    made = story.approval
    return _format_decision(made) if made else format_when(story.learning["timestamp"])


def _format_decision(made: object) -> str:
    assert isinstance(made, dict)
    return f"{format_when(made['timestamp'])}, {format_person(made['by'])}, {made['machine']}"


def _format_quotes(story: RuleHistory) -> Iterator[Line]:
    for signal in story.signals[:_MAX_QUOTES]:
        name = "you said" if signal["trust"] in _USER_TRUST else "it said"
        session = f", session {signal['session_id'][:8]}" if signal["session_id"] else ""
        yield name, f'"{signal["context"] or signal["content"]}"'
        yield "", f"{signal['id']}, {format_when(signal['timestamp'])}{session}"
    more = len(story.signals) - _MAX_QUOTES
    if more > 0:
        yield "", f"and {plural(more, 'more signal')}"
    if story.missing_signals:
        yield "", f"{plural(story.missing_signals, 'signal')} expired, or only on another machine"


def _format_replaced(story: RuleHistory) -> Iterator[Line]:
    decided = {made["id"]: made for made in story.decisions}
    for wording in story.replaced:
        if wording.id != story.learning["id"]:
            yield "replaced", f'{wording.id} "{wording.text}"'
        else:
            made = decided[wording.by]
            reason = f": {made['reason']}" if made["reason"] else ""
            yield "earlier text", f'"{wording.text}"'
            yield "", f"until {_format_decision(made)}{reason}"


def _format_count(count: Count) -> str:
    return f"{plural(count.times, 'time')} in {plural(count.sessions, 'session')}, last {format_when(count.last)}"


def _format_sessions(story: RuleHistory) -> str:
    parts = [f"{plural(story.sessions_loaded, 'session')} loaded it"] if story.sessions_loaded else []
    for count, words in ((story.hits_before, "before it was approved"), (story.hits_after, "since")):
        if count.times:
            parts.append(f"its matcher applied {plural(count.times, 'time')} {words}, last {format_when(count.last)}")
    return "; ".join(parts)


_MAX_JUDGED_BYTES = 4 << 20  # of records: 2,000 sessions with 40 rules each; more take too long for one line


def load_effect_line(cli: CliContext, store: Store, size: int, story: RuleHistory) -> str:
    """Return whether a rule helps, on one line; "" if that is not known, or would take long in a store of this size."""
    if story.ended_by is not None or size > _MAX_JUDGED_BYTES:
        return ""
    from reflect_git.effect.table import load_effect_lines  # also reads the sessions
    from reflect_git.rules import project_files

    place = project_files.find_place(store, cli.env, get_cwd())
    lines = load_effect_lines(cli.scan(store), project_files.load_key_aliases(store, place))
    return lines.get(story.learning["id"], "")


def format_commands(story: RuleHistory, effect: str = "") -> Iterator[Line]:
    if story.ended_by is None:
        yield "does it help", effect or f"reflect-git effect {story.learning['id']}"
        yield "change it", f"reflect-git edit {story.learning['id']}"
        yield "revert it", f"reflect-git revert {story.learning['id']}"
