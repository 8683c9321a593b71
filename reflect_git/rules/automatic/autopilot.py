"""Apply a proposed rule without a question, if a person switched that on and the rule meets every condition.

Only `upkeep` calls this, outside Claude Code. Each rule is one commit with a backup; the next review lists it first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from reflect_git import paths
from reflect_git.candidates.gate import NOTE
from reflect_git.errors import ReflectError
from reflect_git.platform import yaml_loose
from reflect_git.rules import approver
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.rules.automatic.limits import find_block
from reflect_git.rules.context import load_context
from reflect_git.rules.queue import load_queue
from reflect_git.store import policy
from reflect_git.store.local import projects
from reflect_git.store.reading import reader

if TYPE_CHECKING:
    from reflect_git.candidates.candidate import Candidate
    from reflect_git.candidates.gate import Finding
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning, Signal
    from reflect_git.rules.automatic.limits import Block
    from reflect_git.rules.context import Context
    from reflect_git.store.repository import Store

SETTING, OFF, OWN_WORDS = "reflect.autopilot", "off", "own-words"
CHANNEL = "autopilot"
KEPT = "kept"
_OWN_TRUSTS = ("user_typed", "user_feedback")
_MIN_CONFIDENCE, _MIN_SESSIONS = 3, 2
_HARMLESS = ("tokens",)  # every rule has this note
_MAX_RULES, _MAX_FOLDERS = 200, 100  # of one run


def is_on(store: Store, decisions: Iterable[Decision]) -> bool:
    """Return whether a person decided it at a terminal. `git config` alone has no effect."""
    return store.get_setting(SETTING, OFF) == OWN_WORDS and SETTING not in policy.find_undecided(store, decisions)


def list_faults(
    candidate: Candidate, signals: Sequence[Signal], findings: Sequence[Finding], replaced: Sequence[Learning],
    block: Block | None,
) -> list[str]:  # fmt: skip
    """Return why a proposed rule needs a person; empty if it meets every condition."""
    sessions = {signal["session_id"] for signal in signals if signal["session_id"]}
    trusts = {candidate.trust, *(signal["trust"] for signal in signals)}
    checks = {
        "it is not in your own words": bool(signals) and trusts <= set(_OWN_TRUSTS) and not candidate.needs_wording,
        "it is not a likely rule": candidate.tier == "strong",
        f"its confidence is below {_MIN_CONFIDENCE}": candidate.confidence >= _MIN_CONFIDENCE,
        f"it was said in fewer than {_MIN_SESSIONS} sessions":
            candidate.sessions >= _MIN_SESSIONS and len(sessions) >= _MIN_SESSIONS,
        "it may have been meant for one task only": bool(signals)
            and all(signal["meta"].get("durable") is True for signal in signals),
        "the gate has something against it": all(one.kind == NOTE and one.code in _HARMLESS for one in findings),
        "it contradicts another text": not candidate.conflicts_with,
        "it replaces or repeats a rule": not replaced and not candidate.recurrence_of,
        "you said no to it before": not candidate.dismissed_before,
    }  # fmt: skip
    return [why for why, is_met in checks.items() if not is_met] + ([block.reason] if block else [])


def apply_due(store: Store, env: Mapping[str, str], by: DecisionAuthor) -> list[str]:
    """Apply every rule that meets all conditions, in each known project; return the ids of the rules."""
    if approver.is_inside_client(env) or not is_on(store, reader.scan(store).history.decisions):
        return []
    done: list[str] = []
    tried: set[str] = set()
    for folder in _list_folders(store, env):
        while len(done) < _MAX_RULES:
            made = _apply_next(load_context(store, env, reader.scan(store, yaml_loose.parse_edited), folder), by, tried)
            if not made:
                break
            done.append(made)
    return done


def _list_folders(store: Store, env: Mapping[str, str]) -> list[str]:
    """List the folders of all projects with signals. One without a commit or remote is known by its path only."""
    home = paths.home_dir(env)
    keys = {project["key"] for project in reader.scan(store).columns["project"] if project}
    named = [key.removeprefix("path:") for key in sorted(keys) if key.startswith("path:")]
    named = [f"{home}{name[1:]}" if name.startswith("~") else name for name in named]
    found = dict.fromkeys((*projects.list_folders(store), *named))
    return [folder for folder in found if os.path.isabs(folder) and os.path.isdir(folder)][:_MAX_FOLDERS]


def _apply_next(ctx: Context, by: DecisionAuthor, tried: set[str]) -> str:
    """Apply the first rule that meets all conditions; return its id, or an empty text. `tried`: looked at before."""
    queue = load_queue(ctx)
    for candidate in (*queue.candidates.strong, *queue.candidates.more):
        if candidate.sha256 in tried:
            continue
        try:
            proposal = plan_approval(queue, Request(candidate))
            rows = {queue.scan.columns["id"][row]: row for row in queue.scan.rows}
            signals = queue.scan.get_signals(rows[one] for one in candidate.signals if one in rows)
            block = find_block(queue.store, queue.scan.history, proposal.learning)
            if list_faults(candidate, signals, proposal.findings, proposal.replaced, block):
                continue
            tried.add(candidate.sha256)
            write_approval(queue, proposal, {**by, "road": CHANNEL})
            return proposal.learning["id"]
        except ReflectError as error:  # the file was changed, is a link, or its project ignores us: review shows it
            ctx.store.log(f"autopilot: {error}")
    return ""


def list_unseen(history: History) -> list[Decision]:
    """List what autopilot applied and no person has answered yet, oldest first."""
    answered = {made["subject"] for made in history.decisions if made["meta"].get("outcome") == KEPT}
    in_force = {rule["id"] for rule in history.get_rules_in_force()}
    return [
        made
        for made in history.decisions
        if made["by"]["road"] == CHANNEL and made["kind"] == "approved" and made["subject"] in in_force
        and made["id"] not in history.void_decisions and made["id"] not in answered
    ]  # fmt: skip
