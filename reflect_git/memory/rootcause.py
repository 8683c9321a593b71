"""Record the root cause of an incident: what happened, why, whether it happened before, and what should change.

The person or Claude answers three of the questions. The program answers the fourth from the incident, compares the
proposed change with the rules in force, and proposes what fits the class of the cause.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reflect_git.candidates.root_causes import MAX_LENGTH, META, format_context
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.language import similarity
from reflect_git.memory.incidents import load_incidents
from reflect_git.records.ids import plural, utc_precise
from reflect_git.redact import redact
from reflect_git.store import api
from reflect_git.targets.target_files import is_agent_target

if TYPE_CHECKING:
    from reflect_git.memory.incidents import Incident
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

CLASSES = ("missing-knowledge", "process-gap", "tool", "environment", "unclear-rule")
# What usually helps against each class.
_PROPOSALS = {
    "missing-knowledge": "rule",
    "process-gap": "guard",
    "tool": "rule",
    "environment": "rule",
    "unclear-rule": "edit",
}
_LONGEST = 2000
_SHORTEST = 8
_RULE_SENTENCES = 2  # more than this is a workflow
_SIGNALS = 20
RECURRING = 2  # sessions


@dataclass(frozen=True)
class Answers:
    """The answers of the person: what happened, why structurally, what should change; class and scope."""

    what: str
    why: str
    change: str
    kind: str
    scope: str = "project"


@dataclass(frozen=True)
class RootCause:
    """A root cause, ready to be written: redacted answers, what was compared, what is proposed.

    `overlap` lists the compared rules that already say something similar, or the opposite. `proposed` is rule, guard,
    skill, agent or edit. `hint` is the next command.
    """

    key: str
    answers: Answers
    before: dict[str, Any]
    checked: tuple[str, ...]
    overlap: tuple[tuple[str, str], ...]
    proposed: str
    hint: str

    @property
    def summary(self) -> str:
        """Say how many rules were compared, and which of them overlap."""
        listed = ", ".join(f"{identity} ({relation})" for identity, relation in self.overlap)
        return f"checked: {plural(len(self.checked), 'rule')}, {f'overlap with {listed}' if listed else 'no overlap'}"

    @property
    def proposes_rule(self) -> bool:
        """Tell whether the change becomes a proposed rule in review; an unclear rule is edited instead."""
        return self.proposed != "edit"


def prepare(history: History, incident: Incident, answers: Answers, home: str = "") -> RootCause:
    """Check the answers, redact them, compare the change with the rules in force, and choose what to propose."""
    _require_answers(answers)
    what, why, change = (redact(" ".join(text.split()), home) for text in (answers.what, answers.why, answers.change))
    clean = Answers(what, why, change, answers.kind, redact(answers.scope, home))
    rules = find_rules(history, incident, answers.scope)
    overlap = []
    for rule in rules:
        relation = similarity.find_relation(clean.change, rule["text"])
        if relation != "different":
            overlap.append((rule["id"], relation))
    earlier = [made["id"] for made in history.decisions if made["id"] in incident.root_causes]
    before = {
        "count": incident.count, "sessions": incident.sessions, "first": incident.first, "last": incident.last,
        "signals": list(incident.signals[-_SIGNALS:]), "root_causes": earlier,
    }  # fmt: skip
    proposed, hint = _choose(clean, overlap)
    return RootCause(incident.key, clean, before, tuple(rule["id"] for rule in rules), tuple(overlap), proposed, hint)


def _require_answers(answers: Answers) -> None:
    """Refuse missing or empty answers; a root cause without a why is only a description."""
    for name, text in (("why", answers.why), ("what", answers.what), ("change", answers.change)):
        words = " ".join(text.split())
        if len(words) < _SHORTEST:
            hint = {
                "why": "say what in the process, the tools or the rules made it possible: --why TEXT",
                "what": "say what happened: --what TEXT",
                "change": "say what should be different from now on: --change TEXT",
            }[name]
            raise ReflectError(f"a root cause needs a {name}", hint, "usage", EXIT_USAGE)
        if len(words) > _LONGEST:
            raise ReflectError(f"--{name} has more than {_LONGEST} characters", "shorten it", "usage", EXIT_USAGE)
    if " ".join(answers.why.casefold().split()) == " ".join(answers.what.casefold().split()):
        raise ReflectError("the why repeats the what", "say why it could happen", "usage", EXIT_USAGE)
    scope = answers.scope
    if scope not in ("project", "global") and not is_agent_target(scope):
        raise ReflectError(f"'{scope}' is not a scope", "one of: project, global, agent:NAME", "usage", EXIT_USAGE)


def find_rules(history: History, incident: Incident, scope: str) -> list[Learning]:
    """Return the rules in force that apply where the change would: all, or those of the incident's projects."""
    rules = sorted(history.get_rules_in_force(), key=lambda rule: rule["id"])
    if scope != "project" or not incident.projects:
        return rules
    return [
        rule
        for rule in rules
        if rule["scope"] == "global" or rule["project"] is None
        or rule["project"]["name"] in incident.projects or rule["project"]["key"] in incident.projects
    ]  # fmt: skip


def _choose(answers: Answers, overlap: list[tuple[str, str]]) -> tuple[str, str]:
    """Return what to propose for a class and scope, and the next command."""
    if answers.scope.startswith("agent:"):
        name = answers.scope.partition(":")[2]
        return "agent", f"approve it for .claude/agents/{name}.md: reflect-git review"
    same = next((identity for identity, relation in overlap if relation in ("same", "contradicts")), "")
    nearest = same or (overlap[0][0] if overlap else "")
    if same or (answers.kind == "unclear-rule" and nearest):
        return "edit", f"a rule exists already: reflect-git edit {nearest} --text TEXT"
    if answers.kind == "unclear-rule":
        return "rule", "no rule is like it, so review it as a new one: reflect-git review"
    if answers.kind == "missing-knowledge" and answers.change.count(". ") >= _RULE_SENTENCES:
        return "skill", "it describes a workflow: write it as .claude/skills/NAME/SKILL.md, or review a short rule"
    if _PROPOSALS[answers.kind] == "guard":
        return "guard", "review it: reflect-git review; if the rule is broken again, enforce it with a guard"
    return _PROPOSALS[answers.kind], "review it: reflect-git review"


def build_signal(cause: RootCause, project: Mapping[str, str] | None, trust: str, session: str) -> dict[str, Any]:
    """Return the fields of the signal that proposes the change in review."""
    answers = cause.answers
    return {
        "type": "gotcha",
        "content": answers.change,
        "context": format_context(cause.key, answers.what, answers.why),
        "category": "gotcha",
        "confidence": 2,
        "trust": trust,
        "session_id": session,
        "source": {"hook": "rootcause"},
        "tags": ["rootcause"],
        "project": dict(project) if project and answers.scope != "global" else None,
        "meta": {"proposed": cause.proposed, "scope": answers.scope, "incident": cause.key, "class": answers.kind},
    }


def build_draft(cause: RootCause, project: Mapping[str, str] | None, session: str) -> dict[str, Any]:
    """Return the fields of a signal that holds the whole root cause, until a person approves the change."""
    facts = build_signal(cause, project, "assistant", session)
    if len(facts["context"]) > MAX_LENGTH:
        raise ReflectError("what and why are too long for a question", "shorten them", "usage", EXIT_USAGE)
    facts["meta"][META] = _build_meta(cause)
    return facts


def list_recurring(store: Store, scan: Scan, projects: Collection[str]) -> list[Incident]:
    """List the incidents of some projects that came back and that nobody has explained, heaviest first."""
    drafted = {str(signal["meta"].get("incident")) for signal in scan.get_signals(scan.rows) if META in signal["meta"]}
    found = [
        one for one in load_incidents(store, scan)
        if one.sessions >= RECURRING and not (one.muted or one.rule or one.root_causes or one.key in drafted)
        and one.cause and set(one.projects) & set(projects)
    ]  # fmt: skip
    return sorted(found, key=lambda one: (-one.weight, one.key))


def write(store: Store, cause: RootCause, by: DecisionAuthor, proposed: str) -> tuple[Decision, str]:
    """Record the decision; return it and the commit. `proposed` is the id of the signal that proposes the change."""
    meta = _build_meta(cause)
    if proposed:
        meta["proposed"] = proposed
    made = api.build_decision(store, "rootcause", cause.key, by, utc_precise(), meta=meta)
    named = {"Signal-Id": [proposed]} if proposed else {}
    return made, api.commit_records(store, [made], f"rootcause: {cause.key}", named)


def _build_meta(cause: RootCause) -> dict[str, Any]:
    answers = cause.answers
    return {
        "what": answers.what, "why": answers.why, "before": cause.before, "change": answers.change,
        "class": answers.kind, "checked": list(cause.checked), "overlap": [identity for identity, _ in cause.overlap],
        "scope": answers.scope, "proposal": cause.proposed,
    }  # fmt: skip
