"""The question that a model passes on to the person, word for word; the hook on its answer takes it apart again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reflect_git.sitting.authority import LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.review.candidates import Candidate

BAR = "---"
_MEANS = {
    "project": "every session in this project reads it",
    "global": "every session of yours reads it, in all projects",
    "improvements": "a proposal for the project itself; Claude does not read it",
    "skip": "not now; it comes again",
}


def question(candidate: Candidate, number: int, count: int, text: str = "") -> dict[str, Any]:
    """As AskUserQuestion takes it. The text between the two bars is what is approved, and nothing else."""
    words = text or candidate.text
    lines = [f"Learning {number} of {count} [{candidate.id}]", BAR, words, BAR, f"You said: {candidate.quote}"]
    options = [{"label": label, "description": _MEANS[to]} for label, to in LABELS.items()]
    return {"question": "\n".join(lines), "header": "Learning", "options": _suggested_first(candidate, options),
            "multiSelect": False}  # fmt: skip


def _suggested_first(candidate: Candidate, options: list[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(options, key=lambda option: LABELS[option["label"]] != candidate.target)


def questions(shown: Sequence[Candidate]) -> list[dict[str, Any]]:
    return [question(candidate, number, len(shown)) for number, candidate in enumerate(shown, 1)]
