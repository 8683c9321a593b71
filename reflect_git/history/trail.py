"""The audit trail: one entry for each commit of the store, from the line that `git log` prints for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.history.words import BY_ITSELF, OTHER, TYPES
from reflect_git.model.ids import utc

if TYPE_CHECKING:
    from re import Pattern

    from reflect_git.model.schema import Decision

_PERSON = "reflect-git"
# What a revert of a rule says it is of → what came of it.
_UNDONE = (
    ("the revert of the removal of ", "removed"), ("the revert of ", "put back"), ("the removal of ", "put back"),
)  # fmt: skip


class Entry:
    """A commit, and what records tell of it once they were asked.

    `made` are its decisions, `version` that of its target, `place` a project's name as folders have it; `quote` is what
    a signal says that was decided about, where this machine still has it. A plain class: a named tuple of this size
    takes longer to make than to fill twenty times.
    """

    __slots__ = ("commit", "committer", "made", "place", "quote", "subject", "time", "trailers", "type", "version")

    def __init__(self, commit: str, time: str, committer: str, subject: str, trailers: Mapping[str, list[str]]) -> None:
        self.commit = commit
        self.time = time
        self.committer = committer
        self.subject = subject
        self.trailers = trailers
        self.type = _type(committer, subject)
        self.made: tuple[Decision, ...] = ()
        self.version = 0
        self.place = self.quote = ""

    @property
    def by_hand(self) -> bool:
        return self.type == OTHER

    @property
    def removes(self) -> bool:
        """It carried out that something was taken back elsewhere."""
        return (
            self.type == "applied"
            and bool(self.made)
            and all(one["meta"].get("change") == "remove" for one in self.made)
        )

    @property
    def is_global(self) -> bool:
        """Its file is one of all projects, as its decisions say; where none names a file, it is of no project."""
        kinds = [one["target"]["kind"] for one in self.made if one["target"]]
        return all(kind.startswith("global") for kind in kinds) and not self.named("Project")

    @property
    def targets(self) -> list[tuple[bool, str]]:
        """Each file that it is about, and whether that is one of all projects: one commit may be about several."""
        decided = [one["target"] for one in self.made if one["target"]]
        known = [(one["kind"].startswith("global"), one["path"]) for one in decided]
        paths = {path for _, path in known}
        told = [(self.is_global, path) for path in self.trailers.get("Target", ()) if path not in paths]
        return list(dict.fromkeys([*known, *told]))

    @property
    def moves(self) -> bool:
        """The rule went to another file, in the same words or in others."""
        return self.type == "amended" and any("from" in one["meta"] for one in self.made)

    @property
    def what(self) -> str:
        return self.subject if self.by_hand else self.subject.partition(": ")[2]

    @property
    def outcome(self) -> tuple[str, str]:
        """What happened and to what: whoever undoes a removal has removed nothing."""
        if self.type == "reverted" and self.learning:
            for undone, word in _UNDONE:
                if self.what.startswith(undone):
                    return word, self.what[len(undone) :]
        return self.type, self.what

    def named(self, trailer: str) -> str | None:
        """The first value of a trailer."""
        found = self.trailers.get(trailer)
        return found[0] if found else None

    @property
    def learning(self) -> str | None:
        return self.named("Learning-Id")

    @property
    def decisions(self) -> list[str]:
        return self.trailers.get("Decision", [])

    @property
    def learnings(self) -> list[str]:
        """That it names or decides about; a rule that was replaced is in a decision only."""
        subjects = [made["subject"] for made in self.made if made["subject"].startswith("LRN-")]
        return list(dict.fromkeys([*self.trailers.get("Learning-Id", ()), *subjects]))

    @property
    def signals(self) -> list[str]:
        """A message lists the first ones, a decision all of them."""
        listed = [signal for made in self.made for signal in _signals(made)]
        return list(dict.fromkeys([*self.trailers.get("Signal-Id", ()), *listed]))

    @property
    def by(self) -> str | None:
        """The person's name, as their git has it."""
        if self.by_hand:
            return self.committer
        return next((made["by"]["name"] for made in self.made if made["by"]["name"]), None)

    @property
    def road(self) -> str | None:
        return next((made["by"]["road"] for made in self.made), self.named("Approved-By"))

    @property
    def texts(self) -> list[str]:
        """Return what `log --grep` searches: the subject, the whole text of a rule or quote, and reasons."""
        written = [text for made in self.made for text in (made["text"] or "", made["reason"])]
        return [self.subject, self.quote, *written]

    @property
    def authors(self) -> list[str]:
        """Return name and e-mail of whoever decided, in the form `git log --author` searches."""
        people = [f"{made['by']['name']} <{made['by']['email']}>" for made in self.made]
        return [*people, *([self.committer] if self.by_hand else ())]

    def as_json(self) -> dict[str, Any]:
        return {
            "commit": self.commit, "time": self.time, "type": self.type, "subject": self.subject,
            "learning": self.learning, "signals": self.signals, "target": self.named("Target"),
            "version": self.version or None, "approved_by": self.named("Approved-By"), "machine": self.named("Machine"),
            "project": self.named("Project"), "decisions": self.decisions, "by": self.by, "road": self.road,
            "learnings": self.learnings,
            "targets": [
                {"scope": "global" if is_global else "project", "path": path} for is_global, path in self.targets
            ],
        }  # fmt: skip


def _signals(made: Decision) -> Iterable[str]:
    given = made["meta"].get("signals")
    listed = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
    return [made["subject"], *listed] if made["subject"].startswith("SIG-") else listed


def _type(committer: str, subject: str) -> str:
    """What happened; what was made with the person's own git is not by us, or not in our words."""
    return TYPES.get(subject.partition(": ")[0], OTHER) if committer == _PERSON else OTHER


def type_of(line: str) -> str:
    """Of a line in FORMAT: most are looked at no further."""
    _, _, committer, subject, *_ = (*line.split("\0", 4), "", "", "")
    return _type(committer, subject)


def entry_of(line: str) -> Entry:
    """An entry from a line in FORMAT."""
    commit, seconds, committer, subject, trailers = [*line.split("\0", 4), "", "", "", ""][:5]
    moment = utc(int(seconds)) if seconds.isdigit() else ""
    return Entry(commit, moment, committer, subject, trailers_of(trailers.split("\x01")))


def trailers_of(lines: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        name, colon, value = line.partition(": ")
        if colon:
            found.setdefault(name, []).append(value)
    return found


class Wanted:
    """Which entries; what is empty does not count. `types` are words of TYPES."""

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

    def may_be(self, type: str) -> bool:
        """By its message alone."""
        return type in self.types if self.types else self.captures or type not in BY_ITSELF

    def is_met_by(self, entry: Entry) -> bool:
        """With all that is known of it."""
        return (
            (not self.target or any(self._is_of(*one) for one in entry.targets))
            and (not self.project or _is_of(entry, self.project))
            and (not self.learning or any(_begins(one, self.learning) for one in entry.learnings))
            and (not self.signal or any(_begins(one, self.signal) for one in entry.signals))
            and (not self.texts or _has(self.texts, entry.texts))
            and (not self.authors or _has(self.authors, entry.authors))
        )

    def _is_of(self, is_global: bool, path: str) -> bool:
        return path == self.target and (is_global or not self.is_global)


def _has(patterns: Sequence[Pattern[str]], texts: Sequence[str]) -> bool:
    return any(pattern.search(text) for pattern in patterns for text in texts)


def _is_of(entry: Entry, project: str) -> bool:
    """By its key, or by its name; captures have the name in their subject."""
    key = entry.named("Project") or ""
    return project in (key, key.rpartition("/")[2], entry.place) or entry.subject.endswith(f" from {project}")


def _begins(identity: str, prefix: str) -> bool:
    """As everywhere: case does not count, and the part after the date is enough."""
    wanted, known = prefix.lower(), identity.lower()
    return known.startswith(wanted) or known.rpartition("-")[2].startswith(wanted)
