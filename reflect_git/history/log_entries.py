"""Entries of the log, one for each commit of the store, with filters and patches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.background_git import ObjectReader, parse_tree_names
from reflect_git.platform.git import GitError
from reflect_git.records import yaml_form
from reflect_git.records.history import AUTOMATIC_EVENTS, EVENT_TYPES, OTHER_EVENT
from reflect_git.records.ids import digest, utc
from reflect_git.store.repository import MAIN, get_record_path, is_id

if TYPE_CHECKING:
    from re import Pattern

    from reflect_git.history.log_query import LogQuery
    from reflect_git.platform.git import GitProcess
    from reflect_git.records.schema import Decision
    from reflect_git.store.repository import Store

_PROGRAM_COMMITTER = "reflect-git"
# What a revert of a rule says it is of → what came of it.
_UNDO_PREFIXES = (
    ("the revert of the removal of ", "removed"), ("the revert of ", "restored"), ("the removal of ", "restored"),
)  # fmt: skip


class Entry:
    """A commit of the store, and the facts that records add to it.

    `decision_records`: its decisions. `version`: of its target. `project_name`: the project's name in folder names.
    `quote`: the text of the signal it decided about, if this machine still has it. A plain class: creating a named
    tuple of this size takes longer than filling it twenty times.
    """

    __slots__ = (
        "commit",
        "committer",
        "decision_records",
        "project_name",
        "quote",
        "subject",
        "time",
        "trailers",
        "type",
        "version",
    )

    def __init__(self, commit: str, time: str, committer: str, subject: str, trailers: Mapping[str, list[str]]) -> None:
        self.commit = commit
        self.time = time
        self.committer = committer
        self.subject = subject
        self.trailers = trailers
        self.type = _get_type(committer, subject)
        self.decision_records: tuple[Decision, ...] = ()
        self.version = 0
        self.project_name = self.quote = ""

    @property
    def is_by_hand(self) -> bool:
        return self.type == OTHER_EVENT

    @property
    def is_removal(self) -> bool:
        """Tell whether it applied a revert that was made elsewhere."""
        return (
            self.type == "applied"
            and bool(self.decision_records)
            and all(one["meta"].get("change") == "remove" for one in self.decision_records)
        )

    @property
    def is_global(self) -> bool:
        """Tell whether its files are global, by its decisions; without a file, whether it names no project."""
        kinds = [one["target"]["kind"] for one in self.decision_records if one["target"]]
        return all(kind.startswith("global") for kind in kinds) and not self.get_trailer("Project")

    @property
    def targets(self) -> list[tuple[bool, str]]:
        """Return each file it is about, and whether that is global: one commit may be about several."""
        decided = [one["target"] for one in self.decision_records if one["target"]]
        known = [(one["kind"].startswith("global"), one["path"]) for one in decided]
        paths = {path for _, path in known}
        targets = [(self.is_global, path) for path in self.trailers.get("Target", ()) if path not in paths]
        return list(dict.fromkeys([*known, *targets]))

    @property
    def is_move(self) -> bool:
        """Tell whether the rule moved to another file, with or without a new wording."""
        return self.type == "amended" and any("from" in one["meta"] for one in self.decision_records)

    @property
    def short_subject(self) -> str:
        return self.subject if self.is_by_hand else self.subject.partition(": ")[2]

    @property
    def outcome(self) -> tuple[str, str]:
        """Return what happened and to what: undoing a removal has removed nothing."""
        if self.type == "reverted" and self.learning:
            for undone, word in _UNDO_PREFIXES:
                if self.short_subject.startswith(undone):
                    return word, self.short_subject[len(undone) :]
        return self.type, self.short_subject

    def get_trailer(self, trailer: str) -> str | None:
        """Return the first value of a trailer."""
        found = self.trailers.get(trailer)
        return found[0] if found else None

    @property
    def learning(self) -> str | None:
        return self.get_trailer("Learning-Id")

    @property
    def decisions(self) -> list[str]:
        return self.trailers.get("Decision", [])

    @property
    def learnings(self) -> list[str]:
        """Return the learnings it names or decides about; a replaced rule is only in a decision."""
        subjects = [made["subject"] for made in self.decision_records if made["subject"].startswith("LRN-")]
        return list(dict.fromkeys([*self.trailers.get("Learning-Id", ()), *subjects]))

    @property
    def signals(self) -> list[str]:
        """Return its signals: the message lists the first ones, a decision lists all."""
        listed = [signal for made in self.decision_records for signal in _list_signals(made)]
        return list(dict.fromkeys([*self.trailers.get("Signal-Id", ()), *listed]))

    @property
    def person(self) -> str | None:
        """Return the person's name from their git config."""
        if self.is_by_hand:
            return self.committer
        return next((made["by"]["name"] for made in self.decision_records if made["by"]["name"]), None)

    @property
    def channel(self) -> str | None:
        return next((made["by"]["road"] for made in self.decision_records), self.get_trailer("Approved-By"))

    @property
    def texts(self) -> list[str]:
        """Return what `log --grep` searches: the subject, the whole text of a rule or quote, and reasons."""
        written = [text for made in self.decision_records for text in (made["text"] or "", made["reason"])]
        return [self.subject, self.quote, *written]

    @property
    def authors(self) -> list[str]:
        """Return name and e-mail of whoever decided, in the form `git log --author` searches."""
        people = [f"{made['by']['name']} <{made['by']['email']}>" for made in self.decision_records]
        return [*people, *([self.committer] if self.is_by_hand else ())]

    def as_json(self) -> dict[str, Any]:
        return {
            "commit": self.commit,
            "time": self.time,
            "type": self.type,
            "subject": self.subject,
            "learning": self.learning,
            "signals": self.signals,
            "target": self.get_trailer("Target"),
            "version": self.version or None,
            "approved_by": self.get_trailer("Approved-By"),
            "machine": self.get_trailer("Machine"),
            "project": self.get_trailer("Project"),
            "decisions": self.decisions,
            "by": self.person,
            "road": self.channel,
            "learnings": self.learnings,
            "targets": [
                {"scope": "global" if is_global else "project", "path": path} for is_global, path in self.targets
            ],
        }


def _list_signals(made: Decision) -> Iterable[str]:
    given = made["meta"].get("signals")
    listed = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
    return [made["subject"], *listed] if made["subject"].startswith("SIG-") else listed


def _get_type(committer: str, subject: str) -> str:
    """Return what happened; commits made with the person's own git count as OTHER."""
    return EVENT_TYPES.get(subject.partition(": ")[0], OTHER_EVENT) if committer == _PROGRAM_COMMITTER else OTHER_EVENT


def parse_type(line: str) -> str:
    """Return the type from a line in FORMAT: most lines are not parsed any further."""
    _, _, committer, subject, *_ = (*line.split("\0", 4), "", "", "")
    return _get_type(committer, subject)


def parse_entry(line: str) -> Entry:
    """Parse an entry from a line in FORMAT."""
    commit, seconds, committer, subject, trailers = [*line.split("\0", 4), "", "", "", ""][:5]
    moment = utc(int(seconds)) if seconds.isdigit() else ""
    return Entry(commit, moment, committer, subject, parse_trailers(trailers.split("\x01")))


def parse_trailers(lines: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        name, colon, value = line.partition(": ")
        if colon:
            found.setdefault(name, []).append(value)
    return found


class LogFilter:
    """A filter for entries; empty fields are ignored. `types` are words of TYPES."""

    __slots__ = ("authors", "captures", "is_global", "learning", "project", "signal", "target", "texts", "types")

    def __init__(
        self, types: frozenset[str] = frozenset(), target: str = "", project: str = "", learning: str = "",
        signal: str = "", captures: bool = False, is_global: bool = False, texts: Sequence[Pattern[str]] = (),
        authors: Sequence[Pattern[str]] = (),
    ) -> None:  # fmt: skip
        self.types = types
        self.target = target
        self.project = project
        self.learning = learning
        self.signal = signal
        self.captures = captures
        self.is_global = is_global
        self.texts = texts
        self.authors = authors

    def may_match(self, type: str) -> bool:
        """Tell whether an entry may match, by the type in its message alone."""
        return type in self.types if self.types else self.captures or type not in AUTOMATIC_EVENTS

    def matches(self, entry: Entry) -> bool:
        """Tell whether an entry matches, with all its records loaded."""
        return (
            (not self.target or any(self._matches_target(*one) for one in entry.targets))
            and (not self.project or _is_in_project(entry, self.project))
            and (not self.learning or any(_has_prefix(one, self.learning) for one in entry.learnings))
            and (not self.signal or any(_has_prefix(one, self.signal) for one in entry.signals))
            and (not self.texts or _matches_any(self.texts, entry.texts))
            and (not self.authors or _matches_any(self.authors, entry.authors))
        )

    def _matches_target(self, is_global: bool, path: str) -> bool:
        return path == self.target and (is_global or not self.is_global)


def _matches_any(patterns: Sequence[Pattern[str]], texts: Sequence[str]) -> bool:
    return any(pattern.search(text) for pattern in patterns for text in texts)


def _is_in_project(entry: Entry, project: str) -> bool:
    """Tell whether an entry belongs to a project, by key or name; captures have the name in their subject."""
    key = entry.get_trailer("Project") or ""
    return project in (key, key.rpartition("/")[2], entry.project_name) or entry.subject.endswith(f" from {project}")


def _has_prefix(record_id: str, prefix: str) -> bool:
    """Tell whether a prefix names an id: case is ignored, and the part after the date is enough."""
    wanted, known = prefix.lower(), record_id.lower()
    return known.startswith(wanted) or known.rpartition("-")[2].startswith(wanted)


SNAPSHOTS = "targets"
_FIRST_BLOCK_SIZE, _BLOCK_SIZE = 25, 1000


def list_entries(store: Store, asked: LogQuery, wanted: LogFilter, limit: int | None = None) -> Iterator[Entry]:
    """Yield entries newest first, as they are found, so that the first page does not wait for 100,000 commits."""
    with asked.objects as objects:
        tell = _RecordLoader(store, objects)
        left = limit
        for block in _split_blocks(_read_entries(asked, wanted), min(limit or _FIRST_BLOCK_SIZE, _FIRST_BLOCK_SIZE)):
            for entry in filter(wanted.matches, tell(block)):
                yield entry
                if left is not None:
                    left -= 1
                    if not left:
                        return


def _read_entries(asked: LogQuery, wanted: LogFilter) -> Iterator[Entry]:
    """Yield entries from git's output: the first part, then the rest."""
    tip, count = "", 0
    for text in _read_lines(asked.log):
        tip, count = tip or text.partition("\0")[0], count + 1
        if wanted.may_match(parse_type(text)):
            yield parse_entry(text)
    rest = asked.start_rest(tip, count)
    for text in _read_lines(rest) if rest else ():
        if wanted.may_match(parse_type(text)):
            yield parse_entry(text)


def _read_lines(child: GitProcess) -> Iterator[str]:
    """Yield the lines of `git log`; stop the process when no more are wanted."""
    is_over = False
    try:
        while line := child.read_line():
            yield line.decode("utf-8", "replace")
        is_over = True
    finally:
        if not is_over:
            child.drop()
    result = child.communicate()
    if result.code:
        raise GitError(("log",), result)


def _split_blocks(listed: Iterator[Entry], size: int) -> Iterator[list[Entry]]:
    """Yield one page first, then blocks of a thousand."""
    block: list[Entry] = []
    for entry in listed:
        block.append(entry)
        if len(block) == size:
            yield block
            block, size = [], _BLOCK_SIZE
    yield block


class _RecordLoader:
    """Adds facts from records to entries: who decided, the version of the target, the project's name."""

    def __init__(self, store: Store, objects: ObjectReader) -> None:
        self._store = store
        self._objects = objects
        self._folders: dict[str, list[str]] = {}

    def __call__(self, block: Sequence[Entry]) -> Sequence[Entry]:
        """Load the records of a block with two queries; the first answer is parsed while git works on the second."""
        new = sorted(
            {entry.get_trailer("Machine") or "" for entry in block if entry.get_trailer("Target")} - set(self._folders)
        )
        names = [[f"{MAIN}:{get_record_path(one)}" for one in entry.decisions if is_id(one)] for entry in block]
        folders = [f"{MAIN}:{SNAPSHOTS}/{machine}" for machine in new]
        found = self._objects.get([*folders, *(name for each in names for name in each)])
        self._load_folders(new, found[: len(new)])
        mirrors = [self._find_snapshot(entry) for entry in block]
        versions = self._objects.iter_objects([name for name in mirrors if name])
        parsed = map(_check_record, yaml_form.parse_many([one or b"" for one in found[len(new) :]]))
        for entry, each in zip(block, names, strict=True):
            entry.decision_records = tuple(made for made in (next(parsed) for _ in each) if made)
            entry.quote = self._read_quote(entry)
        for entry, mirror in zip(block, mirrors, strict=True):
            entry.version = _parse_version(next(versions)) if mirror else 0
        return block

    def _load_folders(self, machines: Sequence[str], trees: Sequence[bytes | None]) -> None:
        """Learn the names of a machine's snapshot folders from main; the checked-out files may be old."""
        self._folders.update(
            (machine, parse_tree_names(tree) if tree else []) for machine, tree in zip(machines, trees, strict=True)
        )

    def _find_snapshot(self, entry: Entry) -> str:
        """Return where the commit has the snapshot of its target; set the project's name from the folder."""
        project, machine, target = (
            entry.get_trailer("Project"),
            entry.get_trailer("Machine") or "",
            entry.get_trailer("Target"),
        )
        folder = "global"
        if project:
            suffix = f"-{digest('project', project)[:8]}"
            folder = next((name for name in self._folders.get(machine, ()) if name.endswith(suffix)), "")
            named = folder or next((name for name in self._all_folders if name.endswith(suffix)), "")
            entry.project_name = named[: -len(suffix)]
        return f"{entry.commit}:{SNAPSHOTS}/{machine}/{folder}/{target}" if machine and target and folder else ""

    @cached_property
    def _all_folders(self) -> list[str]:
        """Return the folders of all machines: a machine that only declined has written no file and has no folder."""
        (top,) = self._objects.get([f"{MAIN}:{SNAPSHOTS}"])
        trees = self._objects.get(
            [f"{MAIN}:{SNAPSHOTS}/{machine}" for machine in (parse_tree_names(top) if top else [])]
        )
        return [name for tree in trees if tree for name in parse_tree_names(tree)]

    def _read_quote(self, entry: Entry) -> str:
        """Return what the signal says, for a decision whose message has only its id; from the plain copy."""
        if not is_id(entry.short_subject) or not entry.short_subject.startswith("SIG-"):
            return ""
        try:
            path = self._store.path(get_record_path(entry.short_subject))
            return str(yaml_form.parse(files.read_regular(path, yaml_form.MAX_BYTES + 1)).get("content", ""))
        except (ReflectError, OSError):
            return ""


def _parse_version(data: bytes | None) -> int:
    name, _, number = (data or b"").partition(b"\n")[0].partition(b": ")
    return int(number) if name == b"version" and number.isdigit() else 0


def _check_record(found: Any) -> Any:
    """Return a decision if it is valid, else None; `audit` reports invalid ones."""
    if isinstance(found, ReflectError):
        return None
    try:
        yaml_form.check(found)
    except ReflectError:
        return None
    return found
