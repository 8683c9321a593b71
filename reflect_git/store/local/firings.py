"""Read the log of guards: one file for each session, one line for each guard that fired."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from reflect_git.store.repository import Store

FOLDER = "firings"
DENIED, ASKED, HINTED, WATCHED, IGNORED = "denied", "asked", "hinted", "watched", "ignored"
RAN, REFUSED = "ran", "refused"  # what became of a call
_MAX_BYTES = 1 << 22


def list_logs(store: Store) -> list[str]:
    """List the names of all logs, without folders: the session's id and `.jsonl`."""
    from reflect_git.platform import files

    return files.list_names(store.private_path(FOLDER))


def read_log(store: Store, name: str) -> bytes:
    """Return the bytes of a log; empty if there is none."""
    from reflect_git.platform import files

    try:
        return files.read_regular(store.private_path(FOLDER, name), _MAX_BYTES)
    except (OSError, ValueError):
        return b""


def parse_rows(data: bytes) -> list[dict[str, Any]]:
    """Return the lines of a log; another process may be writing the last one."""
    from reflect_git.records import json_form

    rows = []
    for line in data.splitlines():
        try:
            row = json_form.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and isinstance(row.get("learning"), str):
            rows.append(row)
    return rows


def count_today(git_dir: str, now: float) -> int:
    """Return how often guards fired since midnight, local time. The status line calls it after every turn."""
    folder = os.path.join(git_dir, "reflect", FOLDER)
    today = time.localtime(now)
    midnight = time.mktime((today.tm_year, today.tm_mon, today.tm_mday, 0, 0, 0, 0, 0, -1))
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(midnight)).encode()
    count = 0
    try:
        with os.scandir(folder) as listed:
            recent = [
                one.path for one in listed if one.is_file(follow_symlinks=False) and one.stat().st_mtime >= midnight
            ]
        for path in recent:
            with open(path, "rb") as file:
                lines = file.read(_MAX_BYTES).split(b"\n")
            times = [line.partition(b'"time":"')[2][:20] for line in lines if b'"outcome":"ignored"' not in line]
            count += sum(moment >= since for moment in times if moment)
    except OSError:  # no guard has fired yet
        pass
    return count


def format_today(count: int) -> str:
    """Return `guards fired 3 today`; empty if none did."""
    return f"guards fired {count} today" if count else ""


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
