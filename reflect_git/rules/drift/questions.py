"""Find what to ask a person about changed files: differing rules, lines by Claude, removed records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.rules import restore
from reflect_git.rules.drift import drift, line_owner
from reflect_git.rules.drift.change_author import CLAUDE
from reflect_git.rules.drift.drift import Difference, Drift
from reflect_git.rules.drift.line_owner import Passage
from reflect_git.rules.restore import Removal

if TYPE_CHECKING:
    from reflect_git.rules.context import Context

    DriftItem = Difference | Passage | Removal

_HEADLINES = {
    (CLAUDE, "missing"): "Claude removed this rule",
    (CLAUDE, "different"): "Claude changed this rule",
    (CLAUDE, drift.RETURNED): "Claude brought this rule back",
    ("you", "missing"): "you removed this rule",
    ("you", "different"): "you changed this rule",
    ("you", drift.RETURNED): "you brought this rule back",
}


def find_questions(ctx: Context) -> tuple[Drift, list[DriftItem]]:
    """Return the differences here and those to ask about: changes by Claude first, then the rest."""
    store, env, place = ctx.store, ctx.env, ctx.place
    found = drift.find_drift(store, env, place, ctx.scan.history)
    written = line_owner.find_passages(store, env, place, found.files, drift.load_ignored(store), drift.SEARCH_SECONDS)
    by_claude = [one for one in found.open_differences if one.author == CLAUDE]
    rest = [one for one in found.open_differences if one.author != CLAUDE]
    return found, [*by_claude, *written, *rest, *restore.list_removals(store, ctx.scan.history)]


def format_what_happened(one: DriftItem) -> str:
    """Say in one line what changed, and who did it."""
    if isinstance(one, Removal):
        return f"your commit {one.commit[:10]} removed this from the store"
    return "Claude wrote this by itself" if isinstance(one, Passage) else _HEADLINES[one.author, one.found.kind]
