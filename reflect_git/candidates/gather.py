"""Build the candidates for review from signals: group, deduplicate, classify and word them. Computed, never stored."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from reflect_git.candidates.candidate import LIST_NAMES, Candidate, Entries, GatherResult, LazyCandidates, NearLookup
from reflect_git.candidates.gate import find_risks, get_lowest_trust
from reflect_git.candidates.grouping import (
    NO_PROJECT,
    STRONG,
    WEAK,
    DismissalLookup,
    Dismissals,
    Group,
    ProjectKeys,
    Signal,
    Signals,
    filter_undecided,
    group_signals,
    split_flood,
)
from reflect_git.candidates.matcher import Matcher, build_matcher
from reflect_git.candidates.statements import Statement, is_note, is_source, map_sources
from reflect_git.language import wording
from reflect_git.language.meaning import have_same_sense
from reflect_git.language.parse import parse_frame, says_all_projects, says_own_projects
from reflect_git.language.rule_form import find_end_date, has_only_pronouns, has_pronoun, is_momentary
from reflect_git.language.similarity import are_similar, compute_similarity, contradicts
from reflect_git.language.words import load_table
from reflect_git.records.history import History
from reflect_git.records.ids import count_words, fingerprint
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.targets.target_files import is_agent_target

if TYPE_CHECKING:
    from reflect_git.records.schema import Learning

__all__ = ["Candidate", "GatherResult", "gather_candidates"]

LIMIT = 10
_MAX_LISTED = 5
_MAX_COMPARED = 2000  # texts that one candidate is held against
_MAX_WEAK_READ = 200  # weak groups, the newest, whose words are read: 5,000 would take three seconds
_MIN_WORDS = 4  # words: "use bun" may be meant for one call
_SHORT_LENGTH = (
    60  # two texts this short together may exclude each other without a word in common: "use tabs", "use spaces"
)


def gather_candidates(
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
) -> GatherResult:
    """Return the candidates for a review.

    `project` holds the keys of the reviewed project; empty means all projects. `shown` holds ids that were shown
    before. They come after those never shown, so that ten "not now" answers do not block the queue. `now` limits
    timestamps from a wrong clock. `begun` lists when sessions started, in order.

    For a review of all projects, `aliases` maps keys of the same project to one key. `own_files` then maps files to the
    only project they apply to. `is_path` tells whether a glob matches files of the project.
    """
    waiting = _list_captured(signals, project)
    live = signals.select(_drop_future(signals, waiting, now))
    court = RuleLookup(live, history, baselines, ProjectKeys(project, live.columns["project"], aliases), own_files)
    fresh: list[Group] = []
    again: list[Group] = []
    known = 0
    judge = None if project else court.find_answers
    for group in filter_undecided(group_signals(live, history, judge), live, court.find_dismissals):
        rules = court.find_rules(group)
        rule = court.find_covering_rule(group)
        if rule is None:
            fresh.append(group)
        elif rule and live.columns["timestamp"][group.rows[-1]] > rules.get_timestamp(rule):
            again.append(group)
        else:
            known += len(group.rows)
    for at, group in enumerate(fresh, _MAX_WEAK_READ - len(fresh)):
        if group.tier == STRONG or at >= 0:
            group.tier = _tier_by_words(group, live)
    kept, held = split_flood(fresh, live)
    ids = live.columns["id"]
    asked = {row for group in fresh for row in group.rows}
    settled = tuple(ids[row] for row in waiting if row not in asked)
    strong = sorted(
        (group for group in kept if group.tier == STRONG),
        key=lambda group: any(ids[row] in shown for row in group.rows),
    )
    weak = [group for group in kept if group.tier != STRONG]
    listed = dict(zip(LIST_NAMES, (strong[:limit], strong[limit:], weak, held, again), strict=True))
    maker = _CandidateBuilder(kept, live, court.find_rules, begun, is_path)

    @cache
    def places() -> dict[str, tuple[str, int]]:
        rows = (
            (name, at, row) for name, groups in listed.items() for at, group in enumerate(groups) for row in group.rows
        )
        return {ids[row]: (name, at) for name, at, row in rows}

    return GatherResult(
        **{name: LazyCandidates(len(groups), partial(maker.build, groups)) for name, groups in listed.items()},
        gathered=len(live.rows), known=known, find_position=lambda signal: places().get(signal), settled=settled,
        questions=tuple(tuple(ids[row] for row in group.rows) for group in strong),
    )  # fmt: skip


def _tier_by_words(group: Group, signals: Signals) -> str:
    """Return the tier of a group, judging by its words.

    A remark about the current task is not worth a question unless it recurs in another session. A sentence that works
    as a rule by itself is worth one even if the scorer was not sure.
    """
    types, trusts, durable, contents = (signals.columns[name] for name in ("type", "trust", "durable", "content"))

    def worded() -> wording.Wording:
        return wording.choose_wording(signals.get_signals(group.rows))

    if group.tier == STRONG:
        is_passing = (
            group.sessions == 1 and not group.is_fixed and all(is_momentary(contents[row]) for row in group.rows)
        )
        # Neither what was said nor the text made of it, which may have a question before it, names anything.
        is_pointing = all(has_only_pronouns(contents[row]) for row in group.rows) and has_only_pronouns(worded().text)
        return WEAK if is_passing or is_pointing else STRONG
    is_said = any(
        durable[row]
        and trusts[row] == "user_typed"
        and types[row] not in ("failure", "pattern")
        and count_words(contents[row]) >= _MIN_WORDS
        and not has_pronoun(contents[row])
        and not is_momentary(contents[row])
        for row in group.rows
    )
    return STRONG if is_said and not worded().why else WEAK


def _list_captured(signals: Signals, project: Collection[str]) -> list[int]:
    status, types, projects = (signals.columns[name] for name in ("status", "type", "project"))
    return [
        row
        for row in signals.rows
        if status[row] == "captured"
        and types[row] != "summary"
        and (not project or projects[row] is None or projects[row]["key"] in project)
    ]


def _drop_future(signals: Signals, rows: Sequence[int], now: str) -> list[int]:
    stored, times = signals.columns["stored"], signals.columns["timestamp"]
    today = now[:10] or "9999"
    return [row for row in rows if stored[row][:10] <= today or times[row][:10] <= today]


class RuleLookup:
    """Finds the rules and earlier decisions that apply to a group, for each project of a review."""

    def __init__(
        self, signals: Signals, history: History, baselines: Sequence[Statement], spots: ProjectKeys,
        own_files: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._signals = signals
        self._projects = spots
        self._own_files = own_files
        self._baselines = baselines
        self._history = history
        # A rule in an agent's file reaches that agent only, so it covers nothing that was said in a session.
        self._learnings = [one for one in history.get_rules_in_force() if one["target"]["kind"] != "agent"]
        self._dismissals = DismissalLookup(history, spots)
        bound = [one["project"] for one in self._learnings if one["project"] and one["scope"] != "global"]
        # Where nothing holds but what holds everywhere, the same rules do.
        self._bound_projects = {
            *map(spots.get_main_key, own_files.values()),
            *(spots.get_main_key(one["key"]) for one in bound),
        }
        self._rules_by_project: dict[str, _ProjectRules] = {}
        self._answers: dict[tuple[int, str], tuple[Dismissals, str | None]] = {}

    def find_dismissals(self, group: Group) -> Dismissals:
        return self._dismissals.find_dismissals(group.keys, self._projects.get_key(group.oldest))

    def find_rules(self, group: Group) -> _ProjectRules:
        return self._get_rules(self._projects.get_key(group.oldest))

    def find_covering_rule(self, group: Group) -> str | None:
        return self._find_covering_rule(self.find_rules(group), group)

    def find_answers(self, group: Group, row: int) -> tuple[Dismissals, str | None]:
        """Return the decision and the rule that apply to one row; rows of a group that differ here are split."""
        project_key = self._projects.get_key(row)
        asked = group.oldest, project_key  # a row is in one group, and a group may have thousands
        if asked not in self._answers:
            self._answers[asked] = (
                self._dismissals.find_dismissals(group.keys, project_key),
                self._find_covering_rule(self._get_rules(project_key), group),
            )
        return self._answers[asked]

    def _find_covering_rule(self, rules: _ProjectRules, group: Group) -> str | None:
        trusts = self._signals.columns["trust"]
        return rules.find_covering_rule(group, taken_over=all(trusts[row] == "imported" for row in group.rows))

    def _get_rules(self, project_key: str) -> _ProjectRules:
        project_key = project_key if project_key in self._bound_projects else NO_PROJECT
        if project_key not in self._rules_by_project:
            learnings = [one for one in self._learnings if self._applies(one, project_key)]
            said = [
                one
                for one in self._baselines
                if one.file not in self._own_files
                or self._projects.is_same_project(project_key, self._own_files[one.file])
            ]
            self._rules_by_project[project_key] = _ProjectRules(
                self._history, learnings, said, self._signals.columns["content"]
            )
        return self._rules_by_project[project_key]

    def _applies(self, learning: Learning, project_key: str) -> bool:
        project = learning["project"]
        return (
            project is None
            or learning["scope"] == "global"
            or self._projects.is_same_project(project_key, project["key"])
        )


class _ProjectRules:
    """The learnings in force and the statements of files that apply to one project."""

    def __init__(
        self, history: History, learnings: Iterable[Learning], baselines: Sequence[Statement], contents: Sequence[str]
    ) -> None:
        self._contents = contents
        self._learnings = {one["id"]: one for one in learnings}
        own = [Statement(one["target"]["path"], 0, one["text"], identity) for identity, one in self._learnings.items()]
        self.statements = [*own, *baselines]
        notes = [said for said in self.statements if is_note(said)]
        self._note_index = _StatementIndex(notes, self._get_rule)
        self._statement_index = _StatementIndex([said for said in self.statements if not is_note(said)], self._get_rule)
        for decision in history.decisions:
            if decision["key"] and decision["subject"] in self._learnings:
                self._statement_index.by_key[decision["key"]] = decision["subject"]

    def _get_rule(self, said: Statement) -> str:
        """Return the id of the learning in force behind a statement; empty if somebody else wrote it."""
        return said.learning if said.learning in self._learnings and said.learning else ""

    def find_covering_rule(self, group: Group, taken_over: bool = False) -> str | None:
        """Return the rule that already covers the group; empty if only a file does, None if nothing does.

        Signals that were `taken_over` from Claude's own notes are offered even though those notes cover them.
        """
        content = self._contents[group.oldest]
        rule = self._statement_index.find_rule(group, content)
        return self._note_index.find_rule(group, content) if rule is None and not taken_over else rule

    def get_timestamp(self, rule: str) -> str:
        return self._learnings[rule]["timestamp"]

    @cached_property
    def compared_entries(self) -> list[tuple[Statement, dict[str, Any]]]:
        return [(one, _build_entry(one)) for one in self.statements[:_MAX_COMPARED]]


class _StatementIndex:
    """Statements indexed by key and by clause, each with its rule."""

    def __init__(self, statements: Sequence[Statement], rule: Callable[[Statement], str]) -> None:
        self.by_key: dict[str, str] = {}
        self._get_rule = rule
        self._by_clause: dict[Hashable, list[Statement]] = {}
        for said in statements:
            self.by_key.setdefault(said.key, rule(said))
            for clause in said.sense or ():
                self._by_clause.setdefault(clause, []).append(said)

    def find_rule(self, group: Group, content: str) -> str | None:
        """Return the rule that covers the group. `content` is the text the group's sense was parsed from.

        A statement may say more than the group does.
        """
        for key in group.keys:
            if key in self.by_key:
                return self.by_key[key]
        sense = group.sense or ()
        matches = [
            self._get_rule(said)
            for said in (self._by_clause.get(sense[0], ()) if sense else ())
            if have_same_sense(said.sense, sense)
            and len(said.sense or ()) >= len(sense)
            and not contradicts(said.text, content)
        ]
        return max(matches, default=None)


class _CandidateBuilder:
    """Creates candidates: words them and finds similar texts."""

    def __init__(
        self, groups: Sequence[Group], signals: Signals, rules: Callable[[Group], _ProjectRules], begun: Sequence[str],
        is_path: Callable[[str], bool] | None,
    ) -> None:  # fmt: skip
        self._rules = rules
        self._session_starts = begun
        self._is_path = is_path
        self._signals = signals
        self._groups = groups

    @cached_property
    def _other_texts(self) -> list[tuple[str, str]]:
        ids, types, contents = (self._signals.columns[name] for name in ("id", "type", "content"))
        said = [group.oldest for group in self._groups if types[group.oldest] != "failure"]
        return [(ids[row], contents[row]) for row in said[:_MAX_COMPARED]]

    def build(self, groups: Sequence[Group], at: int) -> Candidate:
        group = groups[at]
        signals = self._signals.get_signals(group.rows)
        text, why = wording.choose_wording(signals)
        first = wording.best_signal(signals)
        trusts = [signal["trust"] for signal in signals]
        trust = get_lowest_trust([*trusts, "assistant"] if wording.depends_on_question(signals) else trusts)
        projects = {signal["project"]["key"] for signal in signals if signal["project"]}
        place = choose_placement(
            text, first["type"], first["category"], len(projects), str(first["context"])[:400], self._is_path
        )
        ids = tuple(signal["id"] for signal in signals)
        # "Bash failed: npm ci" orders nothing: what is proposed because of it may.
        said = text if signals[0]["type"] == "failure" else str(signals[0]["content"])
        last_seen = max(signal["timestamp"] for signal in signals)
        return Candidate(
            id=ids[0],
            text=text,
            type=first["type"],
            category=place.category,
            scope=place.scope,
            target=_find_requested_target(signals) or place.target,
            tier=group.tier,
            confidence=group.confidence,
            occurrences=len(signals),
            sessions=group.sessions,
            trust=trust,
            signals=ids,
            first_seen=signals[0]["timestamp"],
            last_seen=last_seen,
            near=NearLookup(partial(self._find_near, group, said, ids, map_sources(signals))),
            backtest=None,
            warnings=tuple(finding.message for finding in find_risks(text, trust)),
            sha256=fingerprint(text.encode("utf-8", "surrogatepass")),
            quote=_get_quote(first),
            title=place.title,
            side=place.side,
            paths=place.paths,
            key=first["key"],
            matcher=_find_matcher(signals),
            project=signals[0]["project"],
            projects=tuple(sorted(projects)),
            outside=any(signal["project"] is None for signal in signals),
            sessions_ago=len(self._session_starts) - bisect_right(self._session_starts, last_seen)
            if signals[-1]["session_id"]
            else None,
            needs_wording=bool(why),
            why_no_rule=why,
            until=find_end_date(text, first["timestamp"]) or None,
            recurrence_of=self._rules(group).find_covering_rule(group) or None,
            dismissed_before=group.dismissed_before,
        )

    def _find_near(
        self, group: Group, content: str, own: Collection[str], sources: Mapping[str, str]
    ) -> tuple[Entries, Entries]:
        """Return similar and contradicting texts.

        Rules and files come first, because they matter more than other candidates. An imported text is not compared
        with the file it came from.
        """
        said = [(entry, one.text) for one, entry in self._rules(group).compared_entries if not is_source(one, sources)]
        said += [
            ({"id": identity, "text": words}, words) for identity, words in self._other_texts if identity not in own
        ]
        conflicts: list[dict[str, Any]] = []
        similar: list[tuple[float, dict[str, Any]]] = []
        for entry, words in said:
            likeness = compute_similarity(content, words)
            if (likeness > 0 or len(content) + len(words) < _SHORT_LENGTH) and contradicts(content, words):
                conflicts.append(entry)
            elif are_similar(content, words, likeness):
                similar.append((likeness, entry))
        similar.sort(key=lambda pair: -pair[0])
        return _drop_duplicates(entry for _, entry in similar), _drop_duplicates(conflicts)


def _find_requested_target(signals: Sequence[Signal]) -> str:
    """Return the agent's file that a root cause named, if all signals come from such root causes; empty otherwise."""
    scopes = {str(signal["meta"].get("scope", "")) for signal in signals}
    named = scopes.pop() if len(scopes) == 1 else ""
    return named if is_agent_target(named) else ""


def _find_matcher(signals: Sequence[Signal]) -> Matcher | None:
    """Return the matcher of the most complete signal."""
    said = [str(signal["content"]) for signal in signals]
    frames = [frame for frame in map(parse_frame, said) if frame and frame.unwanted]
    return build_matcher(max(frames, key=lambda frame: bool(frame.wanted), default=None), said)


def _drop_duplicates(entries: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Drop entries for a place that is already listed.

    A rule is both in the store and in a file, and a bullet is both a statement and a list of sentences.
    """
    found: dict[Any, dict[str, Any]] = {}
    for entry in entries:
        found.setdefault(entry["id"] or entry.get("where"), entry)
    return tuple(found.values())[:_MAX_LISTED]


def _build_entry(said: Statement) -> dict[str, Any]:
    where = f"{said.file}:{said.line}" if said.line else said.file
    return {"id": said.learning, "where": where, "text": said.text}


def _get_quote(signal: Signal) -> str:
    """Return the user's own words, shortened for display; for signals that nobody typed, the observed content."""
    said = str(signal["context"] or signal["content"])
    return wording.clip_text(" ".join(said.split()), 600)


AGENT_SIDE, PROJECT_SIDE = "agent", "project"
_MAX_TITLE_LENGTH = 60

_CATCH_ALL = ("convention", "gotcha")
_GLOB = re.compile(r"(?<![\w/])`?((?:[\w.@-]+/)*\*{1,2}(?:/[\w.*{},-]+)*(?:\.\w+)?)`?(?![\w*])")


@cache
def _compile_class(name: str) -> re.Pattern[str]:
    """Compile one list of patterns from `knowledge/classes.json`."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in load_table("classes")[name]), re.IGNORECASE)


@cache
def _compile_categories() -> list[tuple[str, re.Pattern[str]]]:
    """Return the category patterns in order: the first match wins, so the more specific ones come first."""
    return [(name, re.compile(pattern, re.IGNORECASE)) for name, pattern in load_table("classes")["categories"]]


class Placement(NamedTuple):
    scope: str
    side: str
    category: str
    target: str
    title: str
    paths: tuple[str, ...]


def choose_placement(
    text: str, kind: str, category: str, projects: int = 1, words: str = "",
    is_path: Callable[[str], bool] | None = None,
) -> Placement:  # fmt: skip
    """Choose scope, side, category and target for a proposed text.

    `words` are the user's own words, in case the proposed text lost what they said about its scope. `is_path` tells
    which globs match files of the project: `release/*` may be a branch.
    """
    scope = scope_of(text, projects, words)
    side = side_of(kind, text)
    paths = tuple(path for path in find_globs(text) if is_path is None or is_path(path))
    found = category_of(text, kind, category)
    return Placement(scope, side, found, choose_target(scope, side, paths), title_of(text), paths)


def scope_of(text: str, projects: int = 1, words: str = "") -> str:
    """Return "global" if the words say so or it was said in several projects; otherwise "project".

    A rule in the wrong project does more harm than a rule that is missing in another.
    """
    said = f"{text}\n{words}"
    if projects > 1 or says_own_projects(_split_words(text)):
        return "global"
    if _compile_class("local").search(said):
        return "project"
    is_wide = (
        says_all_projects(_split_words(said))
        or says_own_projects(_split_words(said))
        or _compile_class("personal").search(text)
    )
    return "global" if is_wide else "project"


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def side_of(kind: str, text: str = "") -> str:
    """Return the project side for flaws of the project itself, and the agent side for everything else."""
    is_flaw = kind == "project_friction" or (kind == "gotcha" and _compile_class("flaw").search(text))
    return PROJECT_SIDE if is_flaw else AGENT_SIDE


def category_of(text: str, kind: str, given: str) -> str:
    """Return the category a detector gave, unless it is one of the catch-all categories."""
    if given not in _CATCH_ALL or kind == "gotcha":
        return given
    return next((category for category, pattern in _compile_categories() if pattern.search(text)), given)


def choose_target(scope: str, side: str, paths: tuple[str, ...]) -> str:
    if side == PROJECT_SIDE:
        return "improvements"
    if scope == "global":
        return "global"
    return "rules" if paths else "project"


def find_globs(text: str) -> tuple[str, ...]:
    """Return the globs in a text that limit it to some files, such as `src/api/**/*.ts`."""
    found = [path for path in _GLOB.findall(text) if "/" in path or path.startswith("*.")]
    return tuple(dict.fromkeys(found))


def title_of(text: str) -> str:
    """Return the first clause, short enough for a commit subject."""
    first = re.split(r"(?<=[^\s.]{2})[.!?;](?:\s|$)|\n", text.strip(), maxsplit=1)[0].strip().rstrip(".:,;!")
    if len(first) <= _MAX_TITLE_LENGTH:
        return first
    cut = first[: _MAX_TITLE_LENGTH - 1].rsplit(" ", 1)[0].rstrip(" ,;:")
    return f"{cut}…"
