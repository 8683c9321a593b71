"""Make digests: what a week or a month was about, in one line for each key, with the ids of everything behind it.

A digest is made before the signals that it cites expire. Weeks are merged into months. Nothing is dropped, and nothing
is invented: every line is an extract, with the lowest trust of its sources.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from reflect_git.memory import incidents
from reflect_git.records import schema
from reflect_git.records.ids import digest, get_signal_id, parse_utc, utc
from reflect_git.records.named_tuple import NamedTuple

if TYPE_CHECKING:
    from reflect_git.records.schema import Decision, Digest, DigestLine, Project, Signal
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

DAY = 86400
WEEK_AFTER = 2 * DAY  # after the end of the week: its Monday is nine days old then, and signals live for 14
MONTH_AFTER = 30 * DAY
KEEP_WEEK = 30 * DAY  # after the digest of its month was made
_DECISIONS_SINCE = 45 * DAY  # older weeks are not made up for; decisions do not expire
_MAX_BYTES = 44_000  # of the lines of one record, which may have 64 KiB
_MAX_IDS = 1_200  # in one line; a line with more is split
_TEXT_LIMIT, _FAILURE_LIMIT = 220, 140
_FROM_SUMMARIES = ("decided/", "learned/")  # keys of what a summary says besides what was worked on
SECTION_BY_TYPE = {
    "correction": "learned", "convention": "learned", "command": "learned", "gotcha": "learned",
    "discovery": "learned", "failure": "broken", "pattern": "noticed", "project_friction": "noticed",
}  # fmt: skip
_DECIDED = {
    "approved": "approved", "amended": "reworded", "reverted": "reverted", "superseded": "replaced",
    "guarded": "guarded", "unguarded": "removed the guard of", "pinned": "pinned", "rootcause": "root cause",
    "kept": "still true", "policy": "set", "muted": "muted incident", "never": "never",
}  # fmt: skip


class Item(NamedTuple):
    """The contribution of one record to one line."""

    id: str
    time: str
    section: str
    key: str
    text: str
    trust: str
    weight: int = 1


def week_of(timestamp: str) -> str:
    """Return the ISO week of a UTC time: `2026-W07`."""
    year, week, _ = date.fromisoformat(timestamp[:10]).isocalendar()
    return f"{year}-W{week:02d}"


def month_of(week: str) -> str:
    """Return the month that a week belongs to: that of its Thursday."""
    return (_get_monday(week) + timedelta(days=3)).isoformat()[:7]


def _get_monday(week: str) -> date:
    year, _, number = week.partition("-W")
    return date.fromisocalendar(int(year), int(number), 1)


def get_bounds(period: str) -> tuple[str, str]:
    """Return the first day of a period and the first day after it. A month consists of whole weeks."""
    if "W" in period:
        monday = _get_monday(period)
        return monday.isoformat(), (monday + timedelta(days=7)).isoformat()
    if len(period) == 10:
        day = date.fromisoformat(period)
        return day.isoformat(), (day + timedelta(days=1)).isoformat()
    first = date(int(period[:4]), int(period[5:]), 1)
    following = (first + timedelta(days=32)).replace(day=1)
    return _get_month_start(first).isoformat(), _get_month_start(following).isoformat()


def _get_month_start(first: date) -> date:
    """Return the Monday of the first week whose Thursday is in the month."""
    thursday = first + timedelta(days=(3 - first.weekday()) % 7)
    return thursday - timedelta(days=3)


def shorten(text: str, limit: int = _TEXT_LIMIT) -> str:
    """Return a text on one line, cut at a word."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    kept = flat[: limit - 1]
    return (kept.rpartition(" ")[0] if " " in kept[limit // 2 :] else kept).rstrip(" ,;:") + "…"


def list_signal_items(signal: Mapping[str, Any]) -> Iterator[Item]:
    """Yield what a signal contributes: one line, and for a summary also its open todos, decisions and lessons."""
    record_id, time, trust = signal["id"], signal["timestamp"], signal["trust"]
    if signal["type"] != "summary":
        section, key = SECTION_BY_TYPE[signal["type"]], signal["key"] or record_id
        limit = _TEXT_LIMIT
        if section == "broken":
            limit, known = _FAILURE_LIMIT, incidents.get_incident(signal)  # type: ignore[arg-type]
            key = known[0] if known else f"noise/{(signal['tags'] or ['tool'])[0]}"
        yield Item(record_id, time, section, key, shorten(signal["content"], limit), trust, signal["confidence"])
        return
    meta = signal["meta"]
    outcome = str(meta.get("outcome") or "")
    goal = shorten(signal["content"], _TEXT_LIMIT // 2)
    about = f"worked/{digest(goal.casefold())[:16]}"
    yield Item(record_id, time, "worked", about, f"{goal} → {shorten(outcome, 100)}" if outcome else goal, trust)
    for name, section in (("decisions", "decided"), ("lessons", "learned"), ("todos", "open")):
        for text in meta.get(name) or ():
            line = shorten(str(text))
            yield Item(record_id, time, section, f"{section}/{digest(line.casefold())[:16]}", line, trust)
    if meta.get("failing"):
        line = shorten(f"still failing at the end: {meta['failing']}", _FAILURE_LIMIT)
        yield Item(record_id, time, "open", f"failing/{digest(line)[:16]}", line, trust)


def list_decision_items(decision: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[Item]:
    """Yield the line of a decision. `texts`: id → text of the learnings."""
    verb = _DECIDED.get(decision["kind"])
    if verb is None:
        return
    meta = decision["meta"]
    said = decision["text"] or texts.get(decision["subject"]) or str(meta.get("what") or "") or decision["subject"]
    if decision["kind"] == "policy":
        said = ", ".join(f"{key}={value}" for key, value in dict(meta.get("to") or {}).items())
    section = "decided"
    by = " by autopilot" if decision["by"]["road"] == "autopilot" else ""
    line = shorten(f"{verb}{by}: {said}")
    yield Item(decision["id"], decision["timestamp"], section, f"{decision['kind']}/{decision['subject']}", line,
               "user_typed")  # fmt: skip


def build_lines(items: Iterable[Item]) -> list[DigestLine]:
    """Return one line for each section and key: the text of the weightiest item, and the lowest trust."""
    groups: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in items:
        groups[item.section, item.key].append(item)
    lines: list[DigestLine] = []
    for (section, key), group in groups.items():
        group.sort(key=lambda item: (item.time, item.id))
        best = max(group, key=lambda item: (item.weight, item.time, item.id))
        ids = list(dict.fromkeys(item.id for item in group))
        trust = max((item.trust for item in group), key=schema.TRUSTS.index)
        lines.append({"section": section, "text": best.text, "ids": ids, "key": key, "trust": trust})
    return sort_lines(_drop_repeated(lines))


def _drop_repeated(lines: Iterable[DigestLine]) -> list[DigestLine]:
    """Drop what a summary repeats of a signal: a decision is a correction as well.

    No id is lost: a summary has a line of its own about what was worked on.
    """
    listed = list(lines)
    said = {line["text"].casefold() for line in listed if not line["key"].startswith(_FROM_SUMMARIES)}
    return [
        line for line in listed
        if not line["key"].startswith(_FROM_SUMMARIES) or line["text"].casefold() not in said
    ]  # fmt: skip


def sort_lines(lines: Iterable[DigestLine]) -> list[DigestLine]:
    """Sort lines by section, then by how often, then by time."""
    order = schema.DIGEST_SECTIONS.index
    return sorted(lines, key=lambda one: (order(one["section"]), -len(one["ids"]), one["ids"][:1], one["text"]))


def merge_lines(lines: Iterable[DigestLine]) -> list[DigestLine]:
    """Join the lines of several digests that have one section and key."""
    found: dict[tuple[str, str], DigestLine] = {}
    for line in lines:
        at = (line["section"], line["key"] or line["text"])
        known = found.get(at)
        if known is None:
            found[at] = {**line, "ids": list(line["ids"])}
            continue
        known["ids"] = list(dict.fromkeys([*known["ids"], *line["ids"]]))
        known["trust"] = max(known["trust"], line["trust"], key=schema.TRUSTS.index)
    return sort_lines(_drop_repeated(found.values()))


def is_enabled(store: Store) -> bool:
    """Return whether digests are made; without them, expired signals leave only tallies."""
    return store.is_enabled("reflect.digests", True)


def is_ignored_project(store: Store, project: Project | None) -> bool:
    """Return whether `reflect.ignore` excludes a project, also if that was set after its signals were captured."""
    if not project:
        return False
    key = project["key"].removeprefix("path:")
    for glob in store.get_values("reflect.ignore"):
        wanted = glob.rstrip("/")
        if fnmatchcase(key, wanted) or fnmatchcase(key, f"{wanted}/*"):
            return True
    return False


def load_digests(scan: Scan) -> list[Digest]:
    """Return all digests, oldest period first."""
    found: list[Any] = [one for one in scan.other_records.values() if one["id"].startswith("DIG-")]
    return sorted(found, key=lambda one: (one["period"], one["id"]))


def list_cited(digests: Iterable[Digest]) -> set[str]:
    """Return the ids of the records that any line cites."""
    return {cited for one in digests for line in one["lines"] for cited in line["ids"]}


def build_week_digests(
    store: Store, scan: Scan, signals: Sequence[Signal], expiring: Collection[str], now: float
) -> list[Digest]:
    """Return the digests of the weeks that are due: over for two days, or with signals that are about to expire."""
    cited = list_cited(load_digests(scan))
    groups: dict[tuple[str, str], list[Item]] = defaultdict(list)
    projects: dict[str, Project | None] = {}
    chars: dict[tuple[str, str], int] = defaultdict(int)
    for signal in signals:
        if signal["id"] in cited or is_ignored_project(store, signal["project"]):
            continue
        week = week_of(signal["timestamp"])
        if _get_end(week) + WEEK_AFTER > now and signal["id"] not in expiring:
            continue
        place = signal["project"]["key"] if signal["project"] else ""
        projects.setdefault(place, signal["project"])
        groups[week, place] += list_signal_items(signal)
        chars[week, place] += int(signal["meta"].get("chars") or 0) if signal["type"] == "summary" else 0
    for week, place, item in _list_decisions(scan, cited, now):
        groups[week, place].append(item)
    names = {one["project"]["key"]: one["project"] for one in scan.history.learnings.values() if one["project"]}
    made: list[Digest] = []
    for (week, place), items in sorted(groups.items()):
        project = projects.get(place) or names.get(place)
        if is_ignored_project(store, project):
            continue
        figures = {**count_figures(scan, week, place), "text_chars": float(chars[week, place])}
        made += build_records(week, project, build_lines(items), figures, (), now)
    return made


def _get_end(period: str) -> float:
    return parse_utc(f"{get_bounds(period)[1]}T00:00:00Z")


def _list_decisions(scan: Scan, cited: Collection[str], now: float) -> Iterator[tuple[str, str, Item]]:
    """Yield week, project and item of the decisions whose week is due."""
    texts = {one["id"]: one["text"] for one in scan.history.learnings.values()}
    since = utc(now - _DECISIONS_SINCE)
    for decision in scan.history.decisions:
        if decision["timestamp"] < since or decision["id"] in cited:
            continue
        week = week_of(decision["timestamp"])
        if _get_end(week) + WEEK_AFTER <= now:
            for item in list_decision_items(decision, texts):
                yield week, get_decision_project(scan, decision), item


def get_decision_project(scan: Scan, decision: Decision) -> str:
    """Return the key of the project of the rule that a decision is about; empty if it has none."""
    rule = scan.history.learnings.get(decision["subject"])
    return rule["project"]["key"] if rule and rule["project"] else ""


def count_figures(scan: Scan, period: str, place: str | None) -> dict[str, float]:
    """Count the sessions of a period. `place`: the key of a project, None for all."""
    start, end = get_bounds(period)
    sessions: set[str] = set()
    found: dict[str, float] = dict.fromkeys(("sessions", "typed", "corrections", "failures", "interruptions"), 0)
    for one in scan.other_records.values():
        if not one["id"].startswith("EXP-") or not start <= one["start"][:10] < end:
            continue
        if place is not None and (one["project"]["key"] if one["project"] else "") != place:
            continue
        sessions.add(one["session"])
        found["typed"] += one["typed"]
        found["corrections"] += one["corrections"]
        found["failures"] += sum(one["failures"].values())
        found["interruptions"] += one["interruptions"]
        used = one.get("tokens")
        if used:
            found["tokens"] = found.get("tokens", 0) + sum(used.get(name, 0) for name in ("input", "output"))
    found["sessions"] = len(sessions)
    for decision in scan.history.decisions:
        if start <= decision["timestamp"][:10] < end and (
            place is None or get_decision_project(scan, decision) == place
        ):
            name = {"approved": "rules_gained", "reverted": "rules_lost", "superseded": "rules_lost"}.get(
                decision["kind"], ""
            )
            if name and decision["subject"].startswith("LRN-"):
                found[name] = found.get(name, 0) + 1
    return found


def build_records(
    period: str, project: Project | None, lines: Sequence[DigestLine], figures: Mapping[str, float],
    sources: Sequence[str], now: float,
) -> list[Digest]:  # fmt: skip
    """Return the records of one period and project: one, or several parts if one would be too large."""
    parts: list[list[DigestLine]] = [[]]
    size = 0
    for line in _split_long(lines):
        length = len(line["text"].encode("utf-8", "replace")) + 26 * len(line["ids"]) + len(line["key"]) + 120
        if size + length > _MAX_BYTES and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += length
    place = project["key"] if project else ""
    end = utc(_get_end(period) - 1)
    made: list[Digest] = []
    for number, part in enumerate(parts):
        ids = sorted({cited for line in part for cited in line["ids"]})
        own = {**figures, "digest_chars": sum(len(line["text"]) for line in part)} if number == 0 else {}
        meta = {"part": number + 1, "parts": len(parts)} if len(parts) > 1 else {}
        named = digest(period, place, *(f"{line['section']}/{line['key']}" for line in part), *ids)
        made.append({
            "id": get_signal_id(end, named, "digest", prefix="DIG"), "version": schema.VERSION,
            "timestamp": utc(now), "period": period, "project": project, "lines": part, "figures": dict(own),
            "from": list(sources) if number == 0 else [], "meta": meta,
        })  # fmt: skip
    return made


def _split_long(lines: Iterable[DigestLine]) -> Iterator[DigestLine]:
    for line in lines:
        for start in range(0, max(1, len(line["ids"])), _MAX_IDS):
            yield {**line, "ids": line["ids"][start : start + _MAX_IDS]}


def build_month_digests(scan: Scan, now: float) -> list[Digest]:
    """Return the digests of the months whose last week is over for 30 days, from those of their weeks."""
    digests = load_digests(scan)
    merged = {source for one in digests if "W" not in one["period"] for source in one["from"]}
    groups: dict[tuple[str, str], list[Digest]] = defaultdict(list)
    for one in digests:
        if "W" in one["period"] and one["id"] not in merged:
            groups[month_of(one["period"]), one["project"]["key"] if one["project"] else ""].append(one)
    made: list[Digest] = []
    for (month, _), weeks in sorted(groups.items()):
        if _get_end(month) + MONTH_AFTER <= now:
            lines = merge_lines(line for one in weeks for line in one["lines"])
            figures = sum_figures(weeks)
            made += build_records(month, weeks[0]["project"], lines, figures, [one["id"] for one in weeks], now)
    return made


def sum_figures(digests: Iterable[Digest]) -> dict[str, float]:
    """Add the figures of digests; a period with late parts counts once, with the largest of each figure."""
    largest: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    text: float = 0
    for one in digests:
        place = one["project"]["key"] if one["project"] else ""
        known = largest[one["period"], place]
        for name, value in one["figures"].items():
            known[name] = max(known.get(name, 0), value)
        text += one["figures"].get("text_chars", 0)
    found: dict[str, float] = defaultdict(float)
    for known in largest.values():
        for name, value in known.items():
            found[name] += value
    return {name: value for name, value in found.items() if name != "digest_chars"} | {"text_chars": text}


def find_expired_weeks(scan: Scan, now: float) -> list[str]:
    """Return the digests of weeks that were merged into a month 30 days ago."""
    digests = load_digests(scan)
    merged: dict[str, float] = {}
    for one in digests:
        if "W" not in one["period"]:
            merged.update(dict.fromkeys(one["from"], parse_utc(one["timestamp"])))
    return [one["id"] for one in digests if one["id"] in merged and merged[one["id"]] + KEEP_WEEK <= now]


class Page(NamedTuple):
    """A digest as it is shown: of a period, and of one project or of all."""

    period: str
    start: str
    end: str
    lines: Sequence[tuple[str, DigestLine]]  # with the name of the project
    figures: Mapping[str, float]
    digests: Sequence[str]
    is_running: bool

    @property
    def ratio(self) -> float:
        """Return how many characters of conversation one character of this page stands for; 0 if unknown."""
        size = sum(len(line["text"]) for _, line in self.lines)
        return self.figures.get("text_chars", 0) / size if size else 0.0
