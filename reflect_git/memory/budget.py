"""Measure the instruction files: lines, rules and tokens, and what every session pays for them.

Only the files themselves count, not what they import. Tokens are estimated: four characters each.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from reflect_git.candidates.gate import MANY_ENTRIES, MANY_LINES, estimate_tokens
from reflect_git.candidates.statements import get_front_matter
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import project_files
from reflect_git.rules.approve import target_of
from reflect_git.targets import target_files
from reflect_git.targets.target_files import AGENTS_FILE, IMPROVEMENTS_FILE, LOCAL_FILE, PROJECT_FILES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reflect_git.records.schema import Learning
    from reflect_git.rules.context import Context

# When Claude Code loads a file.
ALWAYS, MATCHING, ON_REQUEST, NEVER = "always", "matching", "on request", "never"
_INDEX = "MEMORY.md"
_PATHS = re.compile(r"paths:(?!\s*\[\s*\])")
_MIN_TO_TIDY = 2


class FileBudget(NamedTuple):
    """One instruction file. `rules`: id and tokens of each of ours, the costliest first.

    `loaded`: always, matching, on request or never. `target`: its name for `tidy`, if it has rules of ours.
    """

    file: str
    lines: int
    tokens: int
    loaded: str
    rules: tuple[tuple[str, int], ...] = ()
    target: str = ""

    @property
    def is_over(self) -> bool:
        """Return whether the file is too long to be followed well."""
        return self.loaded != NEVER and (self.lines >= MANY_LINES or len(self.rules) >= MANY_ENTRIES)

    @property
    def proposal(self) -> str:
        """Return the command that makes it shorter, or what to do by hand; empty if it is short enough."""
        if not self.is_over:
            return ""
        if self.target:
            return f"reflect-git tidy {self.target}"
        if self.loaded != ALWAYS:
            return "split it"
        if "/rules/" in self.file:
            return "limit it to some files, with 'paths:' in its front matter"
        return "move what concerns some files to .claude/rules"

    def as_json(self) -> dict[str, Any]:
        """Return the file as JSON data."""
        return {
            "file": self.file, "lines": self.lines, "most_lines": MANY_LINES, "tokens": self.tokens,
            "loaded": self.loaded, "over": self.is_over, "proposal": self.proposal or None,
            "rules": [{"id": record_id, "tokens": tokens} for record_id, tokens in self.rules],
        }  # fmt: skip


def measure_files(ctx: Context) -> list[FileBudget]:
    """Measure every instruction file here, those that every session loads first."""
    by_file: dict[str, list[Learning]] = defaultdict(list)
    for rule in ctx.scan.history.get_rules_in_force():
        if ctx.place.is_in_scope(rule):
            by_file[ctx.place.label_of(target_of(rule))].append(rule)
    sources, paths = ctx.statements.sources, _list_targets(ctx)
    found = []
    for name, data in sources.items():
        text = data.decode("utf-8", "replace")
        costs = [(one["id"], estimate_tokens(one["text"])) for one in by_file[name]]
        ours = tuple(sorted(costs, key=lambda cost: -cost[1]))
        target = paths.get(name, "") if len(ours) >= _MIN_TO_TIDY else ""
        lines = text.count("\n") + (not text.endswith("\n"))
        found.append(FileBudget(name, lines, estimate_tokens(text), _find_loading(ctx, name, text), ours, target))
    order = (ALWAYS, MATCHING, ON_REQUEST, NEVER)
    return sorted(found, key=lambda one: (order.index(one.loaded), -one.tokens))


def count_session_tokens(found: list[FileBudget]) -> int:
    """Return the tokens that every session loads."""
    return sum(one.tokens for one in found if one.loaded == ALWAYS)


def _list_targets(ctx: Context) -> Mapping[str, str]:
    """Map the files that `tidy` can change to their names there."""
    around = project_files.load_surroundings(ctx.place)
    kinds = ("global", *(("project", "project-local", "agents") if ctx.place.root else ()))
    return {ctx.place.label_of(target_files.resolve_target(kind, around, "")): kind for kind in kinds}


def _find_loading(ctx: Context, name: str, text: str) -> str:
    """Return when Claude Code loads a file: AGENTS.md only if no CLAUDE.md hides it."""
    if name == IMPROVEMENTS_FILE:
        return NEVER
    folder, _, last = name.rpartition("/")
    if ctx.place.root and folder == ctx.place.label(project_files.memory_dir(ctx.place)):
        return ALWAYS if last == _INDEX else ON_REQUEST
    if name == AGENTS_FILE:
        above = [ctx.statements.sources[one] for one in PROJECT_FILES if one in ctx.statements.sources]
        return ALWAYS if not above or any(b"@AGENTS.md" in data for data in above) else NEVER
    if name in (*PROJECT_FILES, LOCAL_FILE):
        return ALWAYS
    return MATCHING if any(map(_PATHS.match, get_front_matter(text.splitlines()))) else ALWAYS
