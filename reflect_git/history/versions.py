"""List the versions of an instruction file, with the decisions behind them and the sessions that loaded them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.history.log_entries import parse_entry
from reflect_git.records.history import LOG_FORMAT
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import snapshot
from reflect_git.rules.write_change import build_diff
from reflect_git.store.target_versions import GLOBAL_PREFIX
from reflect_git.targets.plan import Plan

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision
    from reflect_git.rules.context import Context
    from reflect_git.rules.project_files import Place
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store
    from reflect_git.store.target_versions import Version
    from reflect_git.targets.target_files import Target


_Score = tuple[float, bool]
_Part = tuple[frozenset[str], str, int, int, "_Score | None"]


class Usage(NamedTuple):
    """The sessions that loaded one version. `scores`: of those that a judge scored, all `is_anchored` or not."""

    sessions: int = 0
    typed: int = 0
    corrections: int = 0
    scores: tuple[float, ...] = ()
    is_anchored: bool = False

    @property
    def rate(self) -> float | None:
        """Return the corrections for each 100 typed messages."""
        return 100 * self.corrections / self.typed if self.typed else None

    @property
    def score(self) -> float | None:
        return sum(self.scores) / len(self.scores) if self.scores else None


class FileVersion(NamedTuple):
    """A version of a file. `same_as`: the first version with the same rules and texts, if there is an earlier one."""

    version: Version
    parent: int | None
    same_as: int | None
    subject: str
    decisions: tuple[Decision, ...]
    body: bytes
    entries: Mapping[str, str]
    usage: Usage

    @property
    def reason(self) -> str:
        return next((made["reason"] for made in self.decisions if made["reason"]), "")

    @property
    def person(self) -> str:
        return next((made["by"]["name"] for made in self.decisions if made["by"]["name"]), "")

    @property
    def channel(self) -> str:
        return next((made["by"]["road"] for made in self.decisions), "")

    def as_json(self) -> dict[str, Any]:
        usage = self.usage
        return {
            "version": self.version.number, "parent": self.parent, "same_as": self.same_as,
            "commit": self.version.commit, "time": self.version.time, "subject": self.subject, "reason": self.reason,
            "by": self.person or None, "road": self.channel or None,
            "decisions": [made["id"] for made in self.decisions], "rules": list(self.entries),
            "sessions": usage.sessions, "typed": usage.typed, "corrections": usage.corrections,
            "corrections_per_100": None if usage.rate is None else round(usage.rate, 2),
            "scored": len(usage.scores), "score": None if usage.score is None else round(usage.score, 2),
            "anchored": usage.is_anchored if usage.scores else None,
        }  # fmt: skip


def load_file_versions(
    ctx: Context, target: Target, listed: Sequence[Version], scores: Mapping[str, _Score] | None = None
) -> list[FileVersion]:
    """Return the versions of a file, the oldest first. `scores`: session → overall score, whether anchored."""
    ordered = sorted(listed, key=lambda one: one.number)
    subjects = _read_decisions(ctx.store, ctx.scan.history, ordered)
    bodies = [data.partition(b"\n\n")[2] for data in ctx.store.git.blobs([one.blob for one in ordered])]
    usage = _count_usage(ctx.scan, ctx.place, target, scores or {})
    found: list[FileVersion] = []
    first: dict[bytes, int] = {}
    for at, (version, body) in enumerate(zip(ordered, bodies, strict=True)):
        entries = snapshot.parse_entries(target.kind, body)
        subject, decisions = subjects.get(version.commit, (version.subject, ()))
        same_as = first.setdefault(body, version.number)
        # Another machine counts its versions on its own: its sessions are ours if they had all rules of the version.
        uses = [one for one in usage.get(version.number, ()) if one[0] >= entries.keys()]
        found.append(
            FileVersion(
                version, ordered[at - 1].number if at else None, same_as if same_as != version.number else None,
                subject, decisions, body, entries, _sum_usage(uses),
            )
        )  # fmt: skip
    return found


def _read_decisions(
    store: Store, history: History, versions: Iterable[Version]
) -> dict[str, tuple[str, tuple[Decision, ...]]]:
    """Map each commit to its subject and its decisions."""
    by_id = {made["id"]: made for made in history.decisions}
    feed = "".join(f"{one.commit}\n" for one in versions).encode()
    asked = ("log", "--no-walk=unsorted", "--stdin", f"--format={LOG_FORMAT}", "--encoding=UTF-8")
    out = store.git.run(*asked, stdin=feed).out.decode("utf-8", "replace") if feed else ""
    entries = [parse_entry(line) for line in out.split("\n") if line]
    return {
        entry.commit: (entry.subject, tuple(by_id[one] for one in entry.decisions if one in by_id)) for entry in entries
    }


def _count_usage(scan: Scan, place: Place, target: Target, scores: Mapping[str, _Score]) -> dict[int, list[_Part]]:
    """Map each version to the recorded sessions that loaded it: rules, session, typed, corrections, score.

    A session that was resumed has a record for each part, and each part may have loaded another version.
    """
    name = f"{GLOBAL_PREFIX}{target.path}" if target.is_global else target.path
    found: dict[int, list[_Part]] = {}
    for one in scan.other_records.values():
        if not one["id"].startswith("EXP-") or not one["attended"]:
            continue
        number = (one.get("versions") or {}).get(name)
        is_here = target.is_global or (one["project"] is not None and one["project"]["key"] in place.keys)
        if number is None or not is_here:
            continue
        loaded = frozenset(rule for listed in one["rules"].values() for rule in listed)
        part = loaded, one["session"], one["typed"], one["corrections"], scores.get(one["session"])
        found.setdefault(number, []).append(part)
    return found


def _sum_usage(parts: Sequence[_Part]) -> Usage:
    scores = {session: score for _, session, _, _, score in parts if score is not None}
    return Usage(
        len({session for _, session, _, _, _ in parts}), sum(one[2] for one in parts), sum(one[3] for one in parts),
        tuple(score for score, _ in scores.values()), bool(scores) and all(anchored for _, anchored in scores.values()),
    )  # fmt: skip


def build_version_diff(place: Place, target: Target, old: bytes, new: bytes) -> str:
    """Return the diff of our part of a file between two versions."""
    return build_diff(place, [Plan(target, old, new, "", "versions")])
