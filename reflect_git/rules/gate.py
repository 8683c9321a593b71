"""Run the gate on a text, against the rules and files of this project."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reflect_git import redact
from reflect_git.candidates import gate
from reflect_git.candidates.gate import RISK, Finding, Subject
from reflect_git.candidates.statements import Statement
from reflect_git.errors import ReflectError
from reflect_git.language.parse import compute_key
from reflect_git.platform import instruction_files
from reflect_git.rules.dismiss import find_declines
from reflect_git.targets import target_files, target_page
from reflect_git.targets.safe_text import make_safe

if TYPE_CHECKING:
    from reflect_git.candidates.gather import Candidate
    from reflect_git.records.schema import Learning, Signal
    from reflect_git.rules.context import Context
    from reflect_git.rules.project_files import Place
    from reflect_git.targets.target_files import Target

# The stages of every approval, in this order. A decision stores the result of each.
STAGES = ("schema", "redaction", "duplicate", "contradiction", "risk", "budget", "backtest", "judge", "person")
_PASSED, _NO_MATCHER, _JUDGE_OFF, _NOT_ASKED = "passed", "no matcher", "off", "not asked"
_STAGE_OF_CODE = {
    "secret": "redaction", "duplicate": "duplicate", gate.CONTRADICTION: "contradiction",
    gate.EXCEPTION: "contradiction", "conflict": "contradiction", "full": "budget", "entries": "budget",
    "lines": "budget", "long": "budget", "sentences": "budget", "tokens": "budget",
}  # fmt: skip
_SEVERITY = (gate.REFUSED, RISK, gate.NOTE)
ADDED = "added"  # risk code: a wording says more than its sources
_ADDED_HINT = "approve it only if you mean this too; otherwise word it without: --text TEXT"
_MAX_COMPARED = 50  # maximum number of source sentences compared
_IMPORT_NOTE = Finding(
    gate.NOTE,
    "opening",
    f"the new file begins with '{target_files.AGENTS_IMPORT.strip()}', or Claude Code would not read "
    f"{target_files.AGENTS_FILE} any more",
)
_UNREAD_NOTE = Finding(
    gate.NOTE,
    "unread",
    f"Claude Code does not read {target_files.AGENTS_FILE} where there is a {target_files.PROJECT_FILES[0]} "
    "that does not import "
    f"it: add a line '{target_files.AGENTS_IMPORT.strip()}' there",
)


def group_by_stage(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Map each stage to its findings, the most serious first."""
    found: dict[str, list[Finding]] = {name: [] for name in STAGES}
    for one in findings:
        stage = _STAGE_OF_CODE.get(one.code) or ("risk" if one.kind == RISK else "schema")
        found[stage].append(one)
    order = {kind: at for at, kind in enumerate(_SEVERITY)}
    return {name: sorted(listed, key=lambda one: order.get(one.kind, len(order))) for name, listed in found.items()}


def build_stages(
    ctx: Context, findings: Iterable[Finding], channel: str, *, has_matcher: bool, baseline: Mapping[str, Any] | None,
    judged: str = "",
) -> dict[str, str]:  # fmt: skip
    """Return the result of every stage of an approval.

    `baseline`: the past sessions that were counted. `judged`: what a judge had said; nothing asks it for an approval.
    """
    results = {
        name: listed[0].kind if listed and listed[0].kind in _SEVERITY else _PASSED
        for name, listed in group_by_stage(findings).items()
    }
    if has_matcher:
        counted = baseline or {}
        results["backtest"] = f"{counted.get('events', 0)} of {counted.get('sessions', 0)} sessions"
    else:
        results["backtest"] = _NO_MATCHER
    is_on = (ctx.store.get_setting("reflect.judge") or _JUDGE_OFF) != _JUDGE_OFF
    results["judge"] = judged or (_NOT_ASKED if is_on else _JUDGE_OFF)
    results["person"] = channel
    return results


def find_judgement(ctx: Context, signals: Collection[str]) -> str:
    """Return the score of the evaluation that suggested a rule, such as `suggested at 2.00`; empty for other rules."""
    scan, wanted = ctx.scan, set(signals)
    for one in scan.get_signals(row for row in scan.rows if scan.columns["id"][row] in wanted):
        record = scan.other_records.get(str(one["meta"].get("evaluation") or ""))
        if record is not None and record.get("overall") is not None:
            return f"suggested at {record['overall']:.2f}"
    return ""


def find_missing_stages(meta: Mapping[str, Any]) -> list[str]:
    """List the stages that a decision does not have."""
    given = meta.get("gate")
    return [name for name in STAGES if not isinstance(given, dict) or not given.get(name)]


def check_text(
    ctx: Context, text: str, trust: str, target: Target, before: bytes | None, mended: Sequence[str],
    supersedes: Sequence[str], sources: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:  # fmt: skip
    """Return the gate's findings for this project.

    A rule of ours is in the store and in its file; a conflict with it is reported once.
    """
    found = gate.check_subject(
        _build_subject(text, trust, target, before)._replace(sources=sources or {}),
        _list_statements(ctx, target),
        mended=mended,
        has_secret=lambda words: bool(_find_secrets(words)),
        supersedes=supersedes,
        everywhere=[one["id"] for one in ctx.scan.history.get_rules_in_force() if one["scope"] == "global"],
    )
    found += _note_other_projects(ctx, text, target)
    found += [_IMPORT_NOTE] if before is None and target.opening else []
    is_unread = target.kind == "agents" and _hides_agents(ctx.place)
    found += [_UNREAD_NOTE] if is_unread else []
    is_free = is_unread or not _is_always_read(target)
    return tuple(dict.fromkeys(one for one in found if one.code != "tokens" or not is_free))


def find_global_exceptions(ctx: Context, text: str, replaced: Sequence[Learning]) -> list[Finding]:
    """Return the global rules that a project rule with this text would contradict."""
    gone = {old["id"] for old in replaced}
    wide = [one for one in ctx.scan.history.get_rules_in_force() if one["scope"] == "global" and one["id"] not in gone]
    return list(
        gate.find_exceptions(text, [Statement(one["target"]["path"], 0, one["text"], one["id"]) for one in wide])
    )


def check_additions(ctx: Context, text: str, candidates: Sequence[Candidate]) -> list[Finding]:
    """Return a risk for everything in a model's wording that its signals do not say."""
    first = candidates[0]
    if not first.needs_wording and text in (first.text, make_safe(first.text)[0]):
        return []
    from reflect_git.candidates.quotes import find_additions

    scan, wanted = ctx.scan, {one for each in candidates for one in each.signals}
    signals = scan.get_signals(row for row in scan.rows if scan.columns["id"][row] in wanted)
    said = list(dict.fromkeys(str(signal["content"]) for signal in signals))[:_MAX_COMPARED]
    around = list(dict.fromkeys(map(_message_of, signals)))[:_MAX_COMPARED]
    return [Finding(RISK, ADDED, found, _ADDED_HINT) for found in find_additions(said, text, around)]


def check_rule_additions(rule: Learning, text: str, said: Sequence[str]) -> list[Finding]:
    """Return the same risks for a new wording of a rule in force, compared with the rule and later quotes."""
    if text == rule["text"]:
        return []
    from reflect_git.candidates.quotes import find_additions

    return [Finding(RISK, ADDED, found, _ADDED_HINT) for found in find_additions([rule["text"]], text, said)]


def _message_of(signal: Signal) -> str:
    """Return the message that a signal was found in; for an answer, without the assistant's question."""
    context = str(signal["context"])
    return context.partition("\nanswered: ")[2] if context.startswith("asked: ") else context


def check_secret_fields(learning: Learning, way: str = "") -> list[Finding]:
    """Refuse a secret in any field of an improvement, unless it is already reported for the text."""
    summary = _find_secrets(learning["text"])
    fields = {"title": learning["title"], **learning["meta"].get("improvement", {})}
    if "skill" in learning["meta"]:
        fields["skill"] = learning["meta"]["skill"]["document"]
    return [
        Finding(
            gate.REFUSED, "secret", f"the {name} holds a known kind of secret", way or f"give another: --{name} TEXT"
        )
        for name, value in fields.items()
        if any(all(one not in known for known in summary) for one in _find_secrets(str(value)))
    ]


def _find_secrets(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in redact.find_secrets(text)]


def _is_always_read(target: Target) -> bool:
    """Tell whether Claude Code always reads a target.

    It never reads improvements, a folder's file only in that folder, and an agent's file only for that agent.
    """
    return target.form != "improvements" and target.kind not in ("dir", "agent")


def _hides_agents(place: Place) -> bool:
    """Tell whether the project has a CLAUDE.md that neither imports AGENTS.md nor links to it."""
    main, agents = (
        os.path.join(place.root, name) for name in (target_files.PROJECT_FILES[0], target_files.AGENTS_FILE)
    )
    if os.path.realpath(main) == os.path.realpath(agents):
        return False
    try:
        said = instruction_files.read(main)
    except (ReflectError, OSError):
        return False
    return said is not None and target_files.AGENTS_FILE.encode() not in said


def _build_subject(text: str, trust: str, target: Target, before: bytes | None) -> Subject:
    block = target_page.find_block(before) if target.form == "block" else None
    entries = len(block.entries) if block else 0
    lines = (before or b"").count(b"\n")
    return Subject(text, trust, target.path, entries, lines, is_global=target.is_global)


def _list_statements(ctx: Context, target: Target) -> list[Any]:
    """Return all statements in effect here: our rules, and what the instruction files say.

    The rules of an agent's file count only in that file.
    """
    declines = get_declined_hints(ctx)
    own = [
        Statement(one["target"]["path"], 0, one["text"], one["id"], hint=declines.get(one["id"], ""))
        for one in ctx.scan.history.get_rules_in_force()
        if ctx.place.is_in_scope(one) and (one["target"]["kind"] != "agent" or one["target"]["path"] == target.path)
    ]
    return [*own, *ctx.statements]


@lru_cache(maxsize=4096)
def _compute_key(text: str) -> str:
    """Return the key of a rule's text. A review compares every proposed rule with the same rules: 0.3 ms each."""
    return compute_key(text)


def _note_other_projects(ctx: Context, text: str, target: Target) -> list[Finding]:
    """Note the other projects that have the same rule: useful to know, but no obstacle."""
    away = [one for one in ctx.scan.history.get_rules_in_force() if not ctx.place.is_in_scope(one)]
    key = _compute_key(text) if away else ""
    same = [one for one in away if _compute_key(one["text"]) == key]
    names = {one["project"]["name"]: one["timestamp"][:10] for one in same if one["project"]}
    summary = ", ".join(f"'{name}' since {day}" for name, day in sorted(names.items()))
    way = "" if target.is_global else "to have it in all projects: --to global"
    return [Finding(gate.NOTE, "elsewhere", f"the same rule is in force in {summary}", way)] if names else []


def get_declined_hints(ctx: Context) -> dict[str, str]:
    """Map each rule in force that was declined on this machine to how to get it back."""
    declines = find_declines(ctx.scan.history, ctx.store.machine)
    return {
        one: f"you declined it here; apply it after all: reflect-git revert {no['id']}" for one, no in declines.items()
    }
