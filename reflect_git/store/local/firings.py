"""Read the log of guards: one file for each session, one line for each guard that fired."""

from __future__ import annotations

from reflect_git.platform import files
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from reflect_git.store.repository import Store

FOLDER = "firings"
DENIED, ASKED, HINTED, WATCHED, IGNORED = "denied", "asked", "hinted", "watched", "ignored"
RAN, REFUSED = "ran", "refused"  # what became of a call
_MAX_BYTES = 1 << 22


def list_logs(store: Store) -> list[str]:
    """List the names of all logs, without folders: the session's id and `.jsonl`."""
    return files.list_names(store.private_path(FOLDER))


def read_log(store: Store, name: str) -> bytes:
    """Return the bytes of a log; empty if there is none."""
    try:
        return files.read_regular(store.private_path(FOLDER, name), _MAX_BYTES)
    except (OSError, ValueError):
        return b""


def parse_rows(data: bytes) -> list[dict[str, Any]]:
    """Return the lines of a log; another process may be writing the last one."""
    rows = []
    for line in data.splitlines():
        try:
            row = json_form.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and isinstance(row.get("learning"), str):
            rows.append(row)
    return rows


def iter_rows(store: Store) -> Iterator[dict[str, Any]]:
    """Yield the lines of all logs."""
    for name in list_logs(store):
        yield from parse_rows(read_log(store, name))


def count_outcomes(rows: Sequence[Mapping[str, Any]], calls: Mapping[str, str]) -> dict[str, list[int]]:
    """Map each rule to how often its guard fired, was obeyed and was overridden, in the order of a session's log.

    `calls`: what became of each call that the transcript has. A firing was obeyed if no matching call ran after it in
    the same turn; the log has every matching call. It was overridden if the person said yes. What a guard only watched
    was neither: nobody told Claude.
    """
    ran = [_has_run(row, calls) for row in rows]
    found: dict[str, list[int]] = {}
    later: set[tuple[str, str]] = set()  # rules and turns with a matching call that ran afterwards
    for row, has_run in zip(reversed(rows), reversed(ran)):
        outcome, turn = row.get("outcome"), (row["learning"], str(row.get("prompt", "")))
        counts = found.setdefault(row["learning"], [0, 0, 0])
        if outcome == IGNORED:
            later.add(turn)
            continue
        is_overridden = outcome == ASKED and has_run
        counts[0] += 1
        counts[1] += outcome in (HINTED, ASKED, DENIED) and not is_overridden and turn not in later
        counts[2] += is_overridden
        if has_run:
            later.add(turn)
    return dict(reversed(found.items()))


def _has_run(row: Mapping[str, Any], calls: Mapping[str, str]) -> bool:
    """Return whether the call of a firing ran. One in a subagent is in another transcript: only a question is open."""
    outcome, became = row.get("outcome"), calls.get(str(row.get("call", "")))
    if outcome in (HINTED, WATCHED) and row.get("tool") != "Stop":
        return became != REFUSED
    return outcome == ASKED and became == RAN


def list_call_ids(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the ids of the calls that guards matched."""
    return {str(row["call"]) for row in rows if row.get("call")}
