"""Read the digest of any time for people: from stored digests, and from what is not in one yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.memory import digests
from reflect_git.memory.digests import Item, Page
from reflect_git.records import schema
from reflect_git.records.ids import get_id_day, plural
from reflect_git.records.json_form import loads

if TYPE_CHECKING:
    from reflect_git.records.schema import DigestLine
    from reflect_git.store.index import Index
    from reflect_git.store.repository import Store

_MAX_FINGERPRINTS = 100  # of failures with different texts; finding the cause of one takes 0.1 ms
_TRUST = "max(CASE trust " + " ".join([f"WHEN '{name}' THEN {at}" for at, name in enumerate(schema.TRUSTS)]) + " END)"
_WHEN = "kind = 'SIG' AND time >= ? AND time < ?"
# Grouped first, and only then joined with the long columns: of 50,000 failures most are of one text each.
_ROWS = f"""
SELECT r.type, r.key, r.project, r.project_name, r.time, g.ids, g.trust, r.text, r.more, r.tags, r.confidence FROM (
 SELECT max(number) AS number, group_concat(id, ' ') AS ids, count(*) AS size, {_TRUST} AS trust FROM records
 WHERE {_WHEN} AND type <> 'summary' AND type %s 'failure' GROUP BY type, key, project ORDER BY size DESC LIMIT %s
) g JOIN records r ON r.number = g.number"""
_FAILURES = f"""
SELECT tags, project, project_name, group_concat(id, ' '), {_TRUST} FROM records
WHERE {_WHEN} AND type = 'failure' GROUP BY tags, project"""
_SESSIONS = """
SELECT project, project_name, count(DISTINCT session), sum(json_extract(body, '$.typed')),
 sum(json_extract(body, '$.corrections')), sum(json_extract(body, '$.interruptions')),
 sum((SELECT sum(value) FROM json_each(body, '$.failures'))),
 sum(coalesce(json_extract(body, '$.tokens.input'), 0) + coalesce(json_extract(body, '$.tokens.output'), 0))
FROM records WHERE kind = 'EXP' AND time >= ? AND time < ? GROUP BY project"""

_RULES = """
SELECT l.project, l.project_name, sum(d.type = 'approved'), sum(d.type <> 'approved') FROM records d
JOIN records l ON l.id = d.subject AND l.kind = 'LRN'
WHERE d.kind = 'DEC' AND d.time >= ? AND d.time < ? AND d.type IN ('approved', 'reverted', 'superseded')
GROUP BY l.project"""

Place = tuple[str, str]  # the key and the name of a project


def load_page(store: Store, index: Index, start: str, end: str, name: str, project: str = "", now: str = "") -> Page:
    """Return the digest of the days from `start` to before `end`. `project`: a key or a name; all without it."""
    stored = _list_stored(index, start, end)
    cited = digests.list_cited(stored)
    lines: dict[Place, list[DigestLine]] = defaultdict(list)
    text: float = 0
    for one in stored:
        place = (one["project"]["key"], one["project"]["name"]) if one["project"] else ("", "")
        lines[place] += _limit_lines(one["lines"], one["period"], start, end)
        inside = digests.get_bounds(one["period"])
        text += one["figures"].get("text_chars", 0) if start <= inside[0] and inside[1] <= end else 0
    live, chars = _list_live_lines(index, start, end, cited)
    for place, found in live.items():
        lines[place] += found
    wanted = [place for place in lines if not project or project in place]
    hidden = {place for place in lines if digests.is_ignored_project(store, _as_project(place))}
    shown = [
        (place[1] or place[0], line)
        for place in wanted if place not in hidden for line in digests.merge_lines(lines[place])
    ]  # fmt: skip
    order = schema.DIGEST_SECTIONS.index
    shown.sort(key=lambda one: (order(one[1]["section"]), one[0], -len(one[1]["ids"])))
    figures = _count_figures(index, start, end, project)
    figures["text_chars"] = text + sum(chars.get(place, 0) for place in wanted)
    return Page(name, start, end, shown, figures, [one["id"] for one in stored], bool(now) and now[:10] < end)


def _as_project(place: Place) -> Any:
    return {"key": place[0], "name": place[1]} if place[0] else None


def _list_stored(index: Index, start: str, end: str) -> list[Any]:
    """Return the stored digests of these days; of a month, or else of its weeks."""
    found = [one for one in index.list_records("DIG") if _overlaps(one["period"], start, end)]
    merged = {source for one in found for source in one["from"]}
    return [one for one in found if one["id"] not in merged]


def _overlaps(period: str, start: str, end: str) -> bool:
    first, last = digests.get_bounds(period)
    return first < end and start < last


def _limit_lines(lines: Sequence[DigestLine], period: str, start: str, end: str) -> Iterator[DigestLine]:
    """Yield the lines with the records of these days. An id has the day on which its record was made."""
    first, last = digests.get_bounds(period)
    if start <= first and last <= end:
        yield from lines
        return
    for line in lines:
        ids = [cited for cited in line["ids"] if start <= get_id_day(cited) < end]
        if ids:
            yield {**line, "ids": ids}


def _list_live_lines(
    index: Index, start: str, end: str, cited: Collection[str]
) -> tuple[dict[Place, list[DigestLine]], dict[Place, int]]:  # fmt: skip
    """Return the lines of records that no digest cites yet, and the length of their conversations."""
    lines: dict[Place, list[DigestLine]] = defaultdict(list)
    chars: dict[Place, int] = defaultdict(int)
    failures = index.query(_ROWS % ("=", str(_MAX_FINGERPRINTS)), start, end)
    for row in (*index.query(_ROWS % ("<>", "-1"), start, end), *failures):
        kind, key, place, name, time, ids, trust, text, more, tags, confidence = row
        listed = [one for one in ids.split() if one not in cited]
        if not listed or kind not in digests.SECTION_BY_TYPE:
            continue
        signal = {
            "id": listed[0], "timestamp": time, "type": kind, "trust": schema.TRUSTS[trust or 0], "content": text,
            "context": more or "", "tags": loads(tags.encode()), "key": key, "confidence": confidence, "meta": {},
        }  # fmt: skip
        lines[place or "", name or ""] += [
            {**line, "ids": listed} for line in digests.build_lines(digests.list_signal_items(signal))
        ]
    if len(failures) == _MAX_FINGERPRINTS:
        _add_rare_failures(index, start, end, {*cited, *(one for row in failures for one in row[5].split())}, lines)
    for (body,) in index.query(f"SELECT body FROM records WHERE {_WHEN} AND type = 'summary'", start, end):
        signal = loads(body.encode())
        if signal["id"] not in cited:
            at = (signal["project"]["key"], signal["project"]["name"]) if signal["project"] else ("", "")
            lines[at] += digests.build_lines(digests.list_signal_items(signal))
            chars[at] += int(signal["meta"].get("chars") or 0)
    items: dict[Place, list[Item]] = defaultdict(list)
    _add_decisions(index, start, end, cited, items)
    for place, found in items.items():
        lines[place] += digests.build_lines(found)
    return lines, chars


def _add_rare_failures(
    index: Index, start: str, end: str, known: Collection[str], lines: dict[Place, list[DigestLine]]
) -> None:  # fmt: skip
    """Add one line for each tool with the failures whose text is not among the most frequent."""
    for tags, place, name, ids, trust in index.query(_FAILURES, start, end):
        listed = [one for one in ids.split() if one not in known]
        tool = (loads(tags.encode()) or ["tool"])[0]
        if listed:
            lines[place or "", name or ""].append({
                "section": "broken", "text": f"{tool}: failures that were rarely seen", "ids": listed,
                "key": f"rare/{tool}", "trust": schema.TRUSTS[trust or 0],
            })  # fmt: skip


def _add_decisions(
    index: Index, start: str, end: str, cited: Collection[str], items: dict[Place, list[Item]]
) -> None:  # fmt: skip
    made = [one for one in index.list_records("DEC", since=start, until=end) if one["id"] not in cited]
    rules = {one["id"]: one for one in index.list_records("LRN")} if made else {}
    texts = {record_id: one["text"] for record_id, one in rules.items()}
    for decision in made:
        project = (rules.get(decision["subject"]) or {}).get("project") or {"key": "", "name": ""}
        items[project["key"], project["name"]] += digests.list_decision_items(decision, texts)


def _count_figures(index: Index, start: str, end: str, project: str) -> dict[str, float]:
    names = ("sessions", "typed", "corrections", "interruptions", "failures", "tokens")
    found: dict[str, float] = dict.fromkeys(names, 0)
    for query, figures in ((_SESSIONS, names), (_RULES, ("rules_gained", "rules_lost"))):
        for place, name, *values in index.query(query, start, end):
            if not project or project in (place, name):
                for figure, value in zip(figures, values, strict=True):
                    found[figure] = found.get(figure, 0) + (value or 0)
    return found


def as_json(page: Page) -> dict[str, Any]:
    """Return a page for scripts."""
    return {
        "period": page.period, "start": page.start, "end": page.end, "running": page.is_running,
        "figures": dict(page.figures), "ratio": round(page.ratio, 1), "digests": list(page.digests),
        "lines": [{"project": name, **line} for name, line in page.lines],
    }  # fmt: skip


def format_figures(figures: Mapping[str, float]) -> str:
    """Return the figures as words: `12 sessions, 140 messages, 9 corrections, 2 rules gained, 1 lost`."""
    names = {"sessions": "session", "typed": "message", "corrections": "correction", "failures": "failure"}
    parts = [plural(int(figures.get(name, 0)), word) for name, word in names.items()]
    if figures.get("tokens"):
        parts.append(f"{figures['tokens'] / 1000:,.0f}k tokens")
    gained, lost = (int(figures.get(f"rules_{name}", 0)) for name in ("gained", "lost"))
    if gained or lost:
        parts.append(f"{plural(gained, 'rule')} gained, {lost} lost")
    return ", ".join(parts)
