"""What review would ask: gathered, deduplicated, classified, worded. Computed, never stored."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from reflect_git.model.frames import Frame
from reflect_git.model.ids import fingerprint
from reflect_git.review import classify, wording
from reflect_git.review.baseline import Statement, is_note, is_source, sources_of
from reflect_git.review.candidate import NAMES, Candidate, Entries, Gathered, Lazily, Near
from reflect_git.review.enddates import end_date
from reflect_git.review.groups import STRONG, WEAK, Group, Signal, Signals, grouped, parts_of, undecided, within_flood
from reflect_git.review.likeness import agree, are_similar, contradicts, similarity
from reflect_git.review.matcher import matcher_of
from reflect_git.review.momentary import is_momentary
from reflect_git.review.pointing import only_points, points
from reflect_git.review.risks import lowest, risks
from reflect_git.review.senses import Sense
from reflect_git.review.spots import HERE, Spots
from reflect_git.review.verdicts import Verdict, Verdicts
from reflect_git.store.fold import History
from reflect_git.store.rows import HEAD

if TYPE_CHECKING:
    from reflect_git.model.schema import Learning

__all__ = ["Candidate", "Gathered", "candidates", "gather"]

LIMIT = 10
_LISTED = 5
_COMPARED = 2000  # texts that one candidate is held against
_READ = 200  # weak groups, the newest, whose words are read: 5,000 would take three seconds
_SENTENCE = 4  # words: "use bun" may be meant for one call
_SHORT = 60  # two texts this short together may exclude each other without a word in common: "use tabs", "use spaces"


def candidates(signals: Iterable[Signal], history: History, baselines: Sequence[Statement], **wishes: Any) -> Gathered:
    """`gather` for signals that are whole already."""
    whole = sorted(signals, key=lambda signal: (min(signal["timestamp"], signal["stored"]), signal["id"]))
    columns: dict[str, list[Any]] = {name: [signal[name] for signal in whole] for name in HEAD}
    columns["durable"] = [bool(signal["meta"].get("durable", True)) for signal in whole]
    listed = Signals(columns, range(len(whole)), lambda rows: [whole[row] for row in rows])
    return gather(listed, history, baselines, **wishes)


def gather(
    signals: Signals,
    history: History,
    baselines: Sequence[Statement],
    *,
    project: Collection[str] = (),
    now: str = "",
    shown: Collection[str] = (),
    begun: Sequence[str] = (),
    limit: int = LIMIT,
    aliases: Mapping[str, str] = {},
    own_files: Mapping[str, str] = {},
    is_path: Callable[[str], bool] | None = None,
) -> Gathered:
    """`project`: the keys of the project that is reviewed, none for all. `shown`: ids that were shown before; they come
    after those that never were, so that ten "not now" do not block the line. `now` bounds what a wrong clock dates.
    `begun`: when sessions began, in order. For a review of all, `aliases`: which keys mean one project, and
    `own_files`: which files speak for one project alone. `is_path`: whether a glob
    names files of the project."""
    waiting = _waiting(signals, project)
    live = signals.among(_dated(signals, waiting, now))
    court = _Court(live, history, baselines, Spots(project, live.columns["project"], aliases), own_files)
    fresh: list[Group] = []
    again: list[Group] = []
    known = 0
    judge = None if project else court.judge
    for group in undecided(grouped(live, history, judge), live, court.verdict):
        rules = court.rules(group)
        rule = court.saying(group)
        if rule is None:
            fresh.append(group)
        elif rule and live.columns["timestamp"][group.rows[-1]] > rules.since(rule):
            again.append(group)
        else:
            known += len(group.rows)
    for at, group in enumerate(fresh, _READ - len(fresh)):
        if group.tier == STRONG or at >= 0:
            group.tier = _tier_by_words(group, live)
    kept, held = within_flood(fresh, live)
    ids = live.columns["id"]
    asked = {row for group in fresh for row in group.rows}
    settled = tuple(ids[row] for row in waiting if row not in asked)
    strong = sorted(
        (group for group in kept if group.tier == STRONG),
        key=lambda group: any(ids[row] in shown for row in group.rows),
    )
    weak = [group for group in kept if group.tier != STRONG]
    listed = dict(zip(NAMES, (strong[:limit], strong[limit:], weak, held, again), strict=True))
    counts = len(live.rows), known
    return _gathered(listed, _Maker(kept, live, court.rules, begun, is_path).make, ids, counts, settled)


def _tier_by_words(group: Group, signals: Signals) -> str:
    """Return the tier of a group in the light of its words.

    A remark about the work at hand is not worth a question unless it comes back in another session. A sentence that
    works as a rule by itself is worth one although the scorer was not sure.
    """
    if group.tier == STRONG:
        return WEAK if _only_points(group, signals) or _is_momentary(group, signals) else STRONG
    types, trusts, durable, contents = (signals.columns[name] for name in ("type", "trust", "durable", "content"))
    is_said = any(
        durable[row]
        and trusts[row] == "user_typed"
        and types[row] not in ("failure", "pattern")
        and len(contents[row].split()) >= _SENTENCE
        and not points(contents[row])
        for row in group.rows
    )
    return STRONG if is_said and not wording.worded(signals.whole(group.rows)).why else WEAK


def _is_momentary(group: Group, signals: Signals) -> bool:
    if group.sessions > 1 or group.is_fixed:
        return False
    return all(is_momentary(signals.columns["content"][row]) for row in group.rows)


def _only_points(group: Group, signals: Signals) -> bool:
    """Whether neither what was said nor the text made of it, which may have a question before it, names anything."""
    return all(only_points(signals.columns["content"][row]) for row in group.rows) and only_points(
        wording.worded(signals.whole(group.rows)).text
    )


def _gathered(
    listed: dict[str, list[Group]], make: Callable[[Group], Candidate], ids: Sequence[str], counts: tuple[int, int],
    settled: tuple[str, ...],
) -> Gathered:  # fmt: skip
    @cache
    def places() -> dict[str, tuple[str, int]]:
        return {
            ids[row]: (name, at)
            for name, groups in listed.items()
            for at, group in enumerate(groups)
            for row in group.rows
        }

    lists = {name: Lazily(len(groups), partial(_nth, make, groups)) for name, groups in listed.items()}
    count, known = counts
    questions = tuple(tuple(ids[row] for row in group.rows) for group in (*listed["strong"], *listed["more"]))
    return Gathered(
        **lists, gathered=count, known=known, place_of=lambda signal: places().get(signal), settled=settled,
        questions=questions,
    )  # fmt: skip


def _nth(make: Callable[[Group], Candidate], groups: Sequence[Group], at: int) -> Candidate:
    return make(groups[at])


def _waiting(signals: Signals, project: Collection[str]) -> list[int]:
    status, types, projects = (signals.columns[name] for name in ("status", "type", "project"))
    return [
        row
        for row in signals.rows
        if status[row] == "captured"
        and types[row] != "summary"
        and (not project or projects[row] is None or projects[row]["key"] in project)
    ]


def _dated(signals: Signals, rows: Sequence[int], now: str) -> list[int]:
    stored, times = signals.columns["stored"], signals.columns["timestamp"]
    today = now[:10] or "9999"
    return [row for row in rows if stored[row][:10] <= today or times[row][:10] <= today]


class _Court:
    """What is said and what was decided already, for each spot of a review."""

    def __init__(
        self, signals: Signals, history: History, baselines: Sequence[Statement], spots: Spots,
        own_files: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._signals = signals
        self._spots = spots
        self._own_files = own_files
        self._baselines = baselines
        self._history = history
        self._learnings = history.in_force()
        self._verdicts = Verdicts(history, spots)
        bound = [one["project"] for one in self._learnings if one["project"] and one["scope"] != "global"]
        # Where nothing holds but what holds everywhere, the same rules do.
        self._bound = {*map(spots.named, own_files.values()), *(spots.named(one["key"]) for one in bound)}
        self._found: dict[str, _Rules] = {}
        self._judged: dict[tuple[int, str], tuple[Verdict, str | None]] = {}

    def verdict(self, group: Group) -> Verdict:
        return self._verdicts.of(group.keys, self._spots.of(group.oldest))

    def rules(self, group: Group) -> _Rules:
        return self._at(self._spots.of(group.oldest))

    def saying(self, group: Group) -> str | None:
        return self._saying(self.rules(group), group)

    def judge(self, group: Group, row: int) -> tuple[Verdict, str | None]:
        """What makes one row of a group another matter than the others."""
        spot = self._spots.of(row)
        asked = group.oldest, spot  # a row is in one group, and a group may have thousands
        if asked not in self._judged:
            self._judged[asked] = self._verdicts.of(group.keys, spot), self._saying(self._at(spot), group)
        return self._judged[asked]

    def _saying(self, rules: _Rules, group: Group) -> str | None:
        trusts = self._signals.columns["trust"]
        return rules.saying(group, taken_over=all(trusts[row] == "imported" for row in group.rows))

    def _at(self, spot: str) -> _Rules:
        spot = spot if spot in self._bound else HERE
        if spot not in self._found:
            learnings = [one for one in self._learnings if self._holds(one, spot)]
            said = [
                one
                for one in self._baselines
                if one.file not in self._own_files or self._spots.has(spot, self._own_files[one.file])
            ]
            self._found[spot] = _Rules(self._history, learnings, said, self._signals.columns["content"])
        return self._found[spot]

    def _holds(self, learning: Learning, spot: str) -> bool:
        project = learning["project"]
        return project is None or learning["scope"] == "global" or self._spots.has(spot, project["key"])


class _Rules:
    """What is said already at one spot: learnings in force there, and the statements of files."""

    def __init__(
        self, history: History, learnings: Iterable[Learning], baselines: Sequence[Statement], contents: Sequence[str]
    ) -> None:
        self._contents = contents
        self._learnings = {one["id"]: one for one in learnings}
        own = [Statement(one["target"]["path"], 0, one["text"], identity) for identity, one in self._learnings.items()]
        self.statements = [*own, *baselines]
        notes = [said for said in self.statements if is_note(said)]
        self._noted = _Sayings(notes, self._rule)
        self._said = _Sayings([said for said in self.statements if not is_note(said)], self._rule)
        for decision in history.decisions:
            if decision["key"] and decision["subject"] in self._learnings:
                self._said.by_key[decision["key"]] = decision["subject"]

    def _rule(self, said: Statement) -> str:
        """The id of the learning in force; empty for what somebody else wrote."""
        return said.learning if said.learning in self._learnings and said.learning else ""

    def saying(self, group: Group, taken_over: bool = False) -> str | None:
        """The rule that says what the group says; empty if only a file does; None if nothing does.

        What was `taken_over` from the client's own notes is asked about although those notes say it.
        """
        content = self._contents[group.oldest]
        rule = self._said.saying(group, content)
        return self._noted.saying(group, content) if rule is None and not taken_over else rule

    def since(self, rule: str) -> str:
        return self._learnings[rule]["timestamp"]

    @cached_property
    def told(self) -> list[tuple[Statement, dict[str, Any]]]:
        return [(one, _told(one)) for one in self.statements[:_COMPARED]]


class _Sayings:
    """Statements by what they say, each with its rule."""

    def __init__(self, statements: Sequence[Statement], rule: Callable[[Statement], str]) -> None:
        self.by_key: dict[str, str] = {}
        self._rule = rule
        self._by_part: dict[tuple[str, str, str], list[Statement]] = {}
        self._by_sense: dict[Sense, list[Statement]] = {}
        for said in statements:
            self.by_key.setdefault(said.key, rule(said))
            for part in parts_of(said.frame):
                self._by_part.setdefault(part, []).append(said)
            if said.sense:
                self._by_sense.setdefault(said.sense, []).append(said)

    def saying(self, group: Group, content: str) -> str | None:
        """`content`: the words that the group's frame and sense were read from."""
        for key in group.keys:
            if key in self.by_key:
                return self.by_key[key]
        same = [said for part in parts_of(group.frame) for said in self._by_part.get(part, ())]
        frames = [said for said in same if said.frame and group.frame and _covers(said.frame, group.frame)]
        for listed in (frames, self._by_sense.get(group.sense, []) if group.sense else []):
            told = [said for said in listed if not contradicts(said.text, content)]
            if told:
                return max(map(self._rule, told))
        return None


def _covers(said: Frame, frame: Frame) -> bool:
    """Tell whether what is said says all that the frame says, and maybe more."""
    return agree(said, frame) and frame.wanted in ("", said.wanted) and frame.unwanted in ("", said.unwanted)


class _Maker:
    """Words a candidate and looks for what is near it."""

    def __init__(
        self, groups: Sequence[Group], signals: Signals, rules: Callable[[Group], _Rules], begun: Sequence[str],
        is_path: Callable[[str], bool] | None,
    ) -> None:  # fmt: skip
        self._rules = rules
        self._begun = begun
        self._is_path = is_path
        self._signals = signals
        self._groups = groups

    @cached_property
    def _others(self) -> list[tuple[str, str]]:
        ids, types, contents = (self._signals.columns[name] for name in ("id", "type", "content"))
        said = [group.oldest for group in self._groups if types[group.oldest] != "failure"]
        return [(ids[row], contents[row]) for row in said[:_COMPARED]]

    def make(self, group: Group) -> Candidate:
        signals = self._signals.whole(group.rows)
        text, why = wording.worded(signals)
        first = wording.spokesman(signals)
        trusts = [signal["trust"] for signal in signals]
        trust = lowest([*trusts, "assistant"] if wording.is_borrowed(signals) else trusts)
        projects = {signal["project"]["key"] for signal in signals if signal["project"]}
        place = classify.place(
            text, first["type"], first["category"], len(projects), str(first["context"])[:400], self._is_path
        )
        ids = tuple(signal["id"] for signal in signals)
        # "Bash failed: npm ci" orders nothing: what is proposed because of it may.
        said = text if signals[0]["type"] == "failure" else str(signals[0]["content"])
        last_seen = max(signal["timestamp"] for signal in signals)
        return Candidate(
            id=ids[0], text=text, type=first["type"], category=place.category, scope=place.scope,
            target=place.target, tier=group.tier, confidence=group.confidence, occurrences=len(signals),
            sessions=group.sessions, trust=trust, signals=ids,
            first_seen=signals[0]["timestamp"], last_seen=last_seen,
            near=Near(partial(self._near, group, said, ids, sources_of(signals))), backtest=None,
            warnings=tuple(finding.message for finding in risks(text, trust)),
            sha256=fingerprint(text.encode("utf-8", "surrogatepass")), quote=_quote(first),
            title=place.title, side=place.side, paths=place.paths, key=first["key"],
            matcher=matcher_of(group.frame, [str(signal["content"]) for signal in signals]),
            project=signals[0]["project"], projects=tuple(sorted(projects)),
            outside=any(signal["project"] is None for signal in signals),
            sessions_ago=self._begun_since(last_seen) if signals[-1]["session_id"] else None,
            needs_wording=bool(why), why_no_rule=why, until=end_date(text, first["timestamp"]) or None,
            recurrence_of=self._rules(group).saying(group) or None, dismissed_before=group.dismissed_before,
        )  # fmt: skip

    def _begun_since(self, moment: str) -> int:
        return len(self._begun) - bisect_right(self._begun, moment)

    def _near(
        self, group: Group, content: str, own: Collection[str], sources: Mapping[str, str]
    ) -> tuple[Entries, Entries]:
        """Rules and files first: what is in force weighs more than what only waits. What was taken over from a file is
        not held against that file."""
        said = [(entry, one.text) for one, entry in self._rules(group).told if not is_source(one, sources)]
        said += [({"id": identity, "text": words}, words) for identity, words in self._others if identity not in own]
        conflicts: list[dict[str, Any]] = []
        similar: list[tuple[float, dict[str, Any]]] = []
        for entry, words in said:
            likeness = similarity(content, words)
            if (likeness > 0 or len(content) + len(words) < _SHORT) and contradicts(content, words):
                conflicts.append(entry)
            elif are_similar(content, words, likeness):
                similar.append((likeness, entry))
        similar.sort(key=lambda pair: -pair[0])
        return _once(entry for _, entry in similar), _once(conflicts)


def _once(entries: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """A rule stands in the store and in a file, a bullet says itself and its sentences: each place is named once."""
    found: dict[Any, dict[str, Any]] = {}
    for entry in entries:
        found.setdefault(entry["id"] or entry.get("where"), entry)
    return tuple(found.values())[:_LISTED]


def _told(said: Statement) -> dict[str, Any]:
    where = f"{said.file}:{said.line}" if said.line else said.file
    return {"id": said.learning, "where": where, "text": said.text}


def _quote(signal: Signal) -> str:
    """The user's own words, as far as they are shown; for what nobody said, what was seen."""
    said = str(signal["context"] or signal["content"])
    return wording.clip(" ".join(said.split()), 600)
