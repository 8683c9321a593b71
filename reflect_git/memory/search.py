"""Search rules, signals, digests and incidents for words, their stems and synonyms; the best hits first.

A word with special characters is searched as it was typed. Stems come from SQLite's tokenizer, synonyms from
`knowledge/`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reflect_git.language.words import KNOWLEDGE_DIR, load_table, stem
from reflect_git.memory import incidents
from reflect_git.records import schema
from reflect_git.records.history import History
from reflect_git.store import machines

if TYPE_CHECKING:
    from reflect_git.store.index import Index
    from reflect_git.store.repository import Store

KINDS = ("rule", "digest", "incident", "signal")
OPENING, CLOSING = "\x02", "\x03"  # around each match in a snippet
_SYNONYMS = os.path.join(KNOWLEDGE_DIR, "synonyms.txt")
_FETCHED = 120  # rows of one query that are looked at in full
_SNIPPET_WORDS = 16
# How much a hit counts: a rule was approved, a line of a digest stands for many signals.
_WEIGHTS = {"rule": 1.5, "digest": 1.2, "incident": 1.1, "signal": 1.0, "summary": 0.8}
_QUOTES, _ENDS = "\"'`“”‘’«»", ".,;:!?…"  # left out around a word
_MAX_WORDS = 16


@dataclass(frozen=True)
class SearchHit:
    """A hit: `id` is that of a rule, signal or digest, or the key of an incident.

    `ids` are the records that a line of a digest cites; `count` says how many records say the same. Matches in
    `snippet` are between `OPENING` and `CLOSING`.
    """

    kind: str
    id: str
    time: str
    project: str
    text: str
    snippet: str
    state: str
    trust: str
    count: int
    ids: tuple[str, ...]
    score: float


@dataclass(frozen=True)
class _Word:
    """One word that was asked for: its text, the words that mean the same, and whether it must be there literally."""

    text: str
    synonyms: tuple[str, ...]
    is_literal: bool


def search(
    store: Store, index: Index, words: str, *, kinds: Sequence[str] = (), project: str = "", since: str = "",
    limit: int = 20,
) -> list[SearchHit]:  # fmt: skip
    """Return the best hits. All words first; if that gives too few, with synonyms, and then any of the words."""
    asked = _parse_words(words)
    wanted = set(kinds or KINDS)
    rules, found = _Rules(store, index), dict[tuple[str, str], SearchHit]()
    for tier, match in enumerate(_build_matches(asked)):
        rows = [
            *_find_records(index, match, wanted, project, since),
            *_find_lines(index, match, wanted, project, since),
        ]
        for hit in _group(index, rules, rows, wanted, asked, tier):
            key = (hit.kind, hit.id if hit.kind != "digest" else hit.text)
            found.setdefault(key, hit)
        if len(found) >= limit or len(rows) >= _FETCHED:  # many records say the same: wider queries take longer
            break
    hits = list(found.values())
    literal = [one.text.casefold() for one in asked if one.is_literal]
    exact = [hit for hit in hits if all(word in hit.text.casefold() for word in literal)]
    if literal and not any(any(char.isalnum() for char in word) for word in literal):
        hits = exact  # signs alone have no stems
    return sorted(exact or hits, key=lambda hit: (-hit.score, hit.time))[:limit]


def _parse_words(words: str) -> list[_Word]:
    """Return the words to search; those that say nothing are left out unless nothing else was typed."""
    typed = [piece.strip(_QUOTES).rstrip(_ENDS) or piece for piece in words.replace("\0", " ").split()]
    typed = list(dict.fromkeys(typed))[:_MAX_WORDS]
    telling = [one for one in typed if stem(one.casefold()) not in _load_empty_stems()] or typed
    return [
        _Word(one, _get_synonyms(one), not one.isalnum() and bool(re.search(r"[^\w\s'’-]|--|^-", one)))
        for one in telling
    ]


@lru_cache(maxsize=1)
def _load_empty_stems() -> frozenset[str]:
    """Return the stems of words that say nothing about what is meant: what, how, the."""
    plain = (
        "is be to of and or with by from it that as i you we they do then so in for when if on at per while the a an"
    )
    more = "what which who where why how does did was were are been has have had can could should would our my your its"
    return frozenset(map(stem, f"{plain} {more} about there this these those not".split()))


@lru_cache(maxsize=1)
def _load_groups() -> dict[str, tuple[str, ...]]:
    """Return stem → the words that mean nearly the same."""
    tables = load_table("meanings")
    with open(_SYNONYMS, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if line and not line.startswith("#")]
    groups: dict[str, dict[str, None]] = {}
    for line in (*lines, *tables["same"], *tables["near"], *tables["akin"]):
        members = [word.replace("-", " ") for word in line.split()]
        for word in members:
            groups.setdefault(stem(word), {}).update(dict.fromkeys(members))
    for word, foreign in tables["foreign"].items():
        for other in foreign.split():
            groups.setdefault(stem(other), {})[word] = None
    return {name: tuple(members) for name, members in groups.items()}


def _get_synonyms(word: str) -> tuple[str, ...]:
    plain = word.casefold()
    return tuple(one for one in _load_groups().get(stem(plain), ()) if one != plain)


def _build_matches(asked: Sequence[_Word]) -> Iterator[str]:
    """Yield FTS5 queries: all words, all words or their synonyms, any of them. Every word is quoted."""
    searched = [one for one in asked if any(char.isalnum() for char in one.text)]
    if not searched:
        yield from ([""] if asked else [])
        return
    exact = [_quote(one.text) for one in searched]
    wide = [" OR ".join([_quote(one.text), *map(_quote, one.synonyms)]) for one in searched]
    yield from dict.fromkeys((" AND ".join(exact), " AND ".join(f"({one})" for one in wide), " OR ".join(exact),
                              " OR ".join(wide)))  # fmt: skip


def _quote(text: str) -> str:
    return '"' + text.replace('"', " ") + '"'


_COLUMNS = "r.number, r.id, r.kind, r.type, r.time, r.project_name, r.key, r.subject, r.trust, r.text, r.more"


def _find_records(index: Index, match: str, wanted: set[str], project: str, since: str) -> list[tuple[Any, ...]]:
    """Return (rank, snippet, columns …) of the rules and signals that match."""
    kinds = [f"'{kind}'" for kind, names in (("LRN", {"rule"}), ("DEC", {"rule", "incident"}),
                                            ("SIG", {"signal", "incident"})) if names & wanted]  # fmt: skip
    if not kinds:
        return []
    tests, values = [f"r.kind IN ({', '.join(kinds)})", schema.build_version_test("r.kind", "r.version")], list[Any]()
    if "signal" not in wanted and "SIG" in str(kinds):
        tests.append("(r.kind <> 'SIG' OR r.type = 'failure')")
    tests.append("(r.kind <> 'DEC' OR r.type IN ('amended', 'rootcause'))")
    _limit(tests, values, project, since)
    return _query(index, "texts", "records r ON r.number = texts.rowid", _COLUMNS, match, tests, values)


def _find_lines(index: Index, match: str, wanted: set[str], project: str, since: str) -> list[tuple[Any, ...]]:
    """Return (rank, snippet, columns …) of the lines of digests that match."""
    if not wanted & {"digest", "incident"}:
        return []
    tests: list[str] = [] if "digest" in wanted else ["d.section = 'broken'"]
    values: list[Any] = []
    _limit(tests, values, project, since)
    columns = "d.number, r.id, r.kind, d.section, r.time, r.project_name, d.key, r.subject, d.trust, d.text, d.ids"
    source = "digest_lines d ON d.number = line_texts.rowid JOIN records r ON r.number = d.record"
    return _query(index, "line_texts", source, columns, match, tests, values)


def _limit(tests: list[str], values: list[Any], project: str, since: str) -> None:
    if project:
        tests.append("(r.project IS NULL OR ? IN (r.project, r.project_name))")
        values.append(project)
    if since:
        tests.append("r.time >= ?")
        values.append(since)


def _query(
    index: Index, table: str, source: str, columns: str, match: str, tests: Sequence[str], values: Sequence[Any]
) -> list[tuple[Any, ...]]:  # fmt: skip
    """Return the best rows of one table. Snippets are made only for those: making one takes longer than ranking."""
    if not match:  # nothing but signs: no token to look up
        rows = index.query(f"SELECT 0.0, '', {columns} FROM {table} JOIN {source}"
                           f" {'WHERE ' + ' AND '.join(tests) if tests else ''}", *values)  # fmt: skip
        return [(row[0], row[11] or "", *row[2:]) for row in rows]
    where = " AND ".join([f"{table} MATCH ?", *tests])
    rank = f"bm25({table}, 2.0, 1.0)" if table == "texts" else f"bm25({table})"
    best = index.query(
        f"SELECT {rank} AS rank, {columns} FROM {table} JOIN {source} WHERE {where} ORDER BY rank LIMIT ?",
        match, *values, _FETCHED,
    )  # fmt: skip
    if not best:
        return []
    numbers = ", ".join(str(int(row[1])) for row in best)
    made = dict(index.query(
        f"SELECT rowid, snippet({table}, -1, '{OPENING}', '{CLOSING}', '…', {_SNIPPET_WORDS}) FROM {table}"
        f" WHERE {table} MATCH ? AND rowid IN ({numbers})", match,
    ))  # fmt: skip
    return [(row[0], made.get(row[1], ""), *row[1:]) for row in best]


def _group(
    index: Index, rules: _Rules, rows: Iterable[tuple[Any, ...]], wanted: set[str], asked: Sequence[_Word], tier: int
) -> list[SearchHit]:  # fmt: skip
    """Return one hit for each rule, incident, line of a digest, and group of signals that say the same."""
    found: dict[tuple[str, str], SearchHit] = {}
    signs = [one.text.casefold() for one in asked if not any(char.isalnum() for char in one.text)]
    by_key: dict[tuple[str, str], tuple[str, str]] = {}  # finding the incident of a failure takes 0.1 ms
    for rank, snippet, *row in rows:
        same = by_key.get((row[3] or "", row[6] or "")) if row[2] == "SIG" and row[6] else None
        if same:
            ids = tuple(dict.fromkeys((*found[same].ids, row[1])))
            found[same] = replace(found[same], count=found[same].count + 1, ids=ids)
            continue
        if signs and not all(sign in f"{row[9]}\n{row[10]}".casefold() for sign in signs):
            continue
        made = _build_hit(index, rules, wanted, row, snippet, -rank / (1.0 + tier))
        if made is None:
            continue
        group, hit = made
        if row[2] == "SIG" and row[6]:
            by_key[row[3] or "", row[6]] = group
        before = found.get(group)
        if before is None:
            found[group] = hit
        elif hit.kind == "rule":
            found[group] = max(before, hit, key=lambda one: one.score)
        else:
            ids = tuple(dict.fromkeys((*before.ids, *hit.ids)))
            found[group] = replace(before, count=before.count + 1, ids=ids, score=max(before.score, hit.score))
    return list(found.values())


def _build_hit(
    index: Index, rules: _Rules, wanted: set[str], row: Sequence[Any], snippet: str, score: float
) -> tuple[tuple[str, str], SearchHit] | None:  # fmt: skip
    """Return what groups a row with others, and its hit; None if hits of its kind are not wanted."""
    _, record_id, kind, sort, time, project, key, subject, trust, text, more = (one or "" for one in row)
    ids: tuple[str, ...] = (record_id,)
    hit_kind, name, group, state = "signal", record_id, key or record_id, ""
    if kind in ("LRN", "DEC") and sort != "rootcause":
        hit_kind, name = "rule", record_id if kind == "LRN" else subject
        state, text = rules.describe(name, text)
        group, score = name, score * (1.0 if state == "in force" else 0.6)
    elif kind == "DEC":
        hit_kind, name, group, state = "incident", subject, subject, "root cause"
        text = more
    elif kind == "DIG" and "digest" in wanted:
        hit_kind, ids, group, state = "digest", tuple(more.split()), text, f"{subject}, {sort}"
    elif kind == "DIG":
        hit_kind, ids, name, group, state = "incident", tuple(more.split()), key or record_id, key or text, subject
    elif sort == "failure" and "incident" in wanted and (incident := _get_incident_key(index, record_id)):
        hit_kind, name, group = "incident", incident, incident
    if hit_kind not in wanted:
        return None
    score *= _WEIGHTS["summary" if sort == "summary" else hit_kind]
    hit = SearchHit(hit_kind, name, time, project, text, snippet, state, trust, 1, ids, score)
    return (hit_kind, group), hit


def _get_incident_key(index: Index, record_id: str) -> str:
    record = index.get_record(record_id)
    found = incidents.get_incident(record) if record else None  # type: ignore[arg-type]
    return found[0] if found else ""


class _Rules:
    """The rules as they read today, loaded with the first one that is found."""

    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index
        self._history: History | None = None

    def describe(self, record_id: str, text: str) -> tuple[str, str]:
        """Return the state of a rule and its current text."""
        if self._history is None:
            decisions: list[Any] = self._index.list_records("DEC")
            learnings: list[Any] = self._index.list_records("LRN")
            own = machines.get_own_machines(self._store, decisions)
            self._history = History(*machines.filter_own_records(own, learnings, decisions, []))
            self._in_force = {one["id"]: one["text"] for one in self._history.get_rules_in_force()}
        known = self._history.learnings.get(record_id)
        if record_id in self._in_force:
            return "in force", self._in_force[record_id]
        return "ended", known["text"] if known else text
