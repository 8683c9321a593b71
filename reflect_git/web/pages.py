"""The pages that show what is known: rules, versions, incidents, trend, machines. Each returns plain data."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from reflect_git import audit, paths
from reflect_git.candidates.gate import MANY_LINES, estimate_tokens
from reflect_git.capture import service
from reflect_git.capture.transcript import open_transcript, read_turns
from reflect_git.effect import table, trend
from reflect_git.effect.scores import load_overall_scores, load_scores
from reflect_git.errors import ReflectError
from reflect_git.history import versions
from reflect_git.history.rule_history import RuleRecords, build_rule_history, format_person, get_keys
from reflect_git.history.rules_at import ALL, GLOBAL, RuleFilter, RuleInForce
from reflect_git.memory import fingerprint, incidents
from reflect_git.records.history import get_decision_name, session_hash
from reflect_git.records.ids import parse_utc, utc
from reflect_git.rules import project_files, snapshot
from reflect_git.rules.approve import target_of
from reflect_git.rules.guarding.guards import Firings, describe_guard
from reflect_git.store import api, target_versions
from reflect_git.web import charts
from reflect_git.web.model import Call, Page, Panel, paginate

if TYPE_CHECKING:
    from reflect_git.effect.from_store import RuleEffect
    from reflect_git.history.rule_history import RuleHistory
    from reflect_git.history.versions import FileVersion
    from reflect_git.records.schema import Decision, Learning, Signal
    from reflect_git.targets.target_files import Target

_SCOPES = {"here": "this project", "global": "global", "all": "all projects"}
_MAX_WEEKS = 104
_MAX_SIGNALS, _MAX_SESSIONS, _MAX_MESSAGES = 20, 20, 200
_AUDIT_ORDER = ("error", "decide", "warning", "note")


def show_rules(panel: Panel, call: Call) -> Page:
    """List every rule with its file, verdict, weeks in which it was needed, and guard."""
    scope = call.get("scope") if call.get("scope") in _SCOPES else "all"
    choice = RuleFilter(panel.ctx.place.keys, {"all": ALL, "global": GLOBAL}.get(scope, ""), call.get("q"))
    learnings = panel.ctx.scan.history.learnings
    found = [one for one in panel.rules if choice.matches(learnings[one.id]) and choice.has_words(one)]
    if call.get("sort") == "effect":
        order = {one: at for at, one in enumerate(panel.effects)}
        found.sort(key=lambda one: order.get(one.id, len(order)))
    number = call.get_number("page", 1, 10**6)
    shown, pages = paginate(found, number)
    first = (min(number, pages) - 1) * len(shown) if shown and number < pages else len(found) - len(shown)
    rows = [_build_rule_row(panel, one, first + at) for at, one in enumerate(shown, 1)]
    data = {
        "rules": rows, "total": len(found), "of": len(panel.rules), "q": call.get("q"), "scope": scope,
        "sort": call.get("sort"), "page": min(number, pages), "pages": pages, "scopes": _SCOPES,
        "files": _build_budgets(panel), "weeks": panel.weeks,
    }  # fmt: skip
    return Page("rules", "Rules", data)


def _build_rule_row(panel: Panel, one: RuleInForce, number: int) -> dict[str, Any]:
    effect, state = panel.effects.get(one.id), panel.guards.get(one.id)
    return {
        "number": number, "id": one.id, "text": one.text, "file": _label_target(panel, one),
        "project": one.project["name"] if one.project and one.scope != GLOBAL else "", "since": one.since,
        "sessions": one.sessions, "until": one.until, "effect": _build_effect(effect) if effect else None,
        "per_week": panel.count_per_week(one.id), "guard": state.mode if state else "",
        "fired": panel.firings.get(one.id, Firings()).fired,
    }  # fmt: skip


def _label_target(panel: Panel, one: RuleInForce) -> str:
    """Return the file of a rule, as a person would name it."""
    path = one.target["path"]
    return (
        paths.format_path(os.path.join(paths.config_dir(panel.env), path), panel.env) if one.scope == GLOBAL else path
    )


def _build_effect(effect: RuleEffect) -> dict[str, Any]:
    found = table.as_json(effect.judged)
    return {**found, "text": table.verdict_text(effect), "counts": table.counts_text(effect)}


def _build_budgets(panel: Panel) -> list[dict[str, Any]]:
    """Return how full each instruction file here is."""
    files = []
    for name, data in panel.ctx.statements.sources.items():
        text = data.decode("utf-8", "replace")
        lines = text.count("\n") + (not text.endswith("\n"))
        ours = len(set(project_files.map_lines_to_rules(data).values()))
        files.append(
            {"file": name, "lines": lines, "most_lines": MANY_LINES, "rules": ours, "tokens": estimate_tokens(text)}
        )
    return files


def show_rule(panel: Panel, call: Call) -> Page:
    """Tell the story of one rule: words, session, approval, versions, firings, effect."""
    history = panel.ctx.scan.history
    known = [*panel.ctx.scan.columns["id"], *panel.ctx.scan.other_records]
    record_id = api.find_id_of_kind("a rule", history.learnings, call.get("id"), known, "see the list of rules")
    story = _load_story(panel, record_id)
    learning, effect = story.learning, panel.effects.get(record_id)
    firings = panel.firings.get(record_id, Firings())
    state = story.guard
    data = {
        "id": record_id, "text": learning["text"], "title": learning["title"], "state": story.state,
        "file": _label_learning(panel, learning), "kind": learning["target"]["kind"],
        "project": learning["project"]["name"] if learning["project"] and learning["scope"] != GLOBAL else "",
        "is_here": panel.ctx.place.is_in_scope(learning), "category": learning["category"],
        "trust": learning["trust"], "until": learning["meta"].get("until"), "replaced_by": story.replaced_by,
        "decisions": [_build_decision(made) for made in story.decisions],
        "wordings": [{"id": one.id, "text": one.text, "by": one.by} for one in story.replaced],
        "signals": [_build_signal(panel, one) for one in story.signals[:_MAX_SIGNALS]],
        "signals_gone": story.missing_signals, "repeats": vars(story.repeats),
        "sessions_loaded": story.sessions_loaded, "effect": _build_effect(effect) if effect else None,
        "per_week": panel.count_per_week(record_id), "weeks": panel.weeks,
        "guard": {
            "mode": state.guard.mode, "matches": describe_guard(state.guard.matcher, state.guard.instead),
            **firings._asdict(),
        } if state and state.guard else None,
        "guard_problem": state.problem if state else "", "can_guard": bool(state) or panel.can_guard(learning),
    }  # fmt: skip
    return Page("rule", learning["title"] or learning["text"], data)


def _load_story(panel: Panel, record_id: str) -> RuleHistory:
    """Return the history of a rule from what is in memory."""
    scan = panel.ctx.scan
    history, columns = scan.history, scan.columns
    keys, wanted = get_keys(history, record_id), set(history.learnings[record_id]["signals"])
    said = [
        (columns["id"][row], columns["timestamp"][row], columns["session_id"][row], columns["project"][row])
        for row in scan.rows
        if columns["key"][row] in keys
    ]
    rows = [row for row in scan.rows if columns["id"][row] in wanted] if wanted else []
    others = scan.other_records
    originals = {one: record for one, record in others.items() if one.startswith("LRN-")}
    exposures = [one for one in others.values() if one["id"].startswith("EXP-")]
    records = RuleRecords(history, originals, exposures, scan.get_signals(rows), said)
    return build_rule_history(records, record_id, machine=panel.store.machine)


def _label_learning(panel: Panel, learning: Learning) -> str:
    return panel.ctx.place.diff_path(target_of(learning))


def _build_decision(made: Decision) -> dict[str, Any]:
    return {
        "id": made["id"], "kind": get_decision_name(made), "time": made["timestamp"], "by": format_person(made["by"]),
        "machine": made["machine"], "reason": made["reason"], "text": made["text"],
    }  # fmt: skip


def _build_signal(panel: Panel, one: Signal) -> dict[str, Any]:
    return {
        "id": one["id"], "time": one["timestamp"], "type": one["type"], "trust": one["trust"],
        "said": panel.show_private(str(one["context"] or one["content"])),
        "session": one["session_id"][:8], "project": one["project"]["name"] if one["project"] else "",
    }  # fmt: skip


def _list_targets(panel: Panel) -> dict[str, Target]:
    """Map the name of each file here that has, or had, rules of ours to its target; the project's files first."""
    found: dict[str, Target] = {}
    keys = {*panel.ctx.place.keys, None}
    learnings = panel.ctx.scan.history.learnings.values()
    rules = [
        one
        for one in learnings
        if (one["project"]["key"] if one["project"] and one["scope"] != GLOBAL else None) in keys
    ]
    for target in sorted({target_of(one) for one in rules if target_of(one).form != "rules"}, key=_get_target_order):
        found.setdefault(panel.ctx.place.diff_path(target), target)
    return found


def _get_target_order(target: Target) -> tuple[bool, str]:
    return target.is_global, target.path


def find_target(panel: Panel, name: str) -> tuple[str, Target]:
    """Return a file by its name, or the first one; raise if there is none."""
    listed = _list_targets(panel)
    if name and name not in listed:
        raise ReflectError(f"nothing was ever written into '{name}' here", "choose a file of the list", "unknown-id")
    if not listed:
        raise ReflectError("no file here has rules yet", "approve a rule first: see Today", "nothing")
    return (name, listed[name]) if name else next(iter(listed.items()))


def load_versions(panel: Panel, target: Target) -> list[FileVersion]:
    """Return the versions of a file, the oldest first."""

    def load() -> list[FileVersion]:
        path = snapshot.get_snapshot_path(panel.store, panel.ctx.place, target)
        listed = target_versions.list_versions(panel.store, path)
        return versions.load_file_versions(
            panel.ctx, target, listed, load_overall_scores(panel.ctx.scan.other_records.values())
        )

    return panel.keep(f"versions {target}", load)


def show_versions(panel: Panel, call: Call) -> Page:
    """List the versions of a file with their sessions, and the difference of any two."""
    files = list(_list_targets(panel))
    if not files:
        return Page(
            "versions", "Versions", {"files": [], "file": "", "versions": [], "total": 0, "page": 1, "pages": 1}
        )
    name, target = find_target(panel, call.get("file"))
    found = load_versions(panel, target)
    number = call.get_number("page", 1, 10**6)
    shown, pages = paginate(found[::-1], number)
    data: dict[str, Any] = {
        "files": files, "file": name, "versions": [one.as_json() for one in shown], "total": len(found),
        "page": min(number, pages), "pages": pages, "newest": found[-1].version.number if found else None,
    }  # fmt: skip
    return Page("versions", f"Versions of {name}", data)


def show_version(panel: Panel, call: Call) -> Page:
    """Show one version: what it changed against its parent or any other, and the sessions that ran under it."""
    name, target = find_target(panel, call.get("file"))
    by_number = {one.version.number: one for one in load_versions(panel, target)}
    new = by_number.get(call.get_number("v", 0, 10**8))
    if new is None:
        raise ReflectError(
            f"there is no version '{call.get('v')}' of {name}", "choose one of the list", "unknown-version"
        )
    old = by_number.get(call.get_number("from", new.parent or 0, 10**8))
    data = {
        "file": name, **new.as_json(), "from": old.version.number if old else None,
        "all": sorted(by_number, reverse=True),
        "diff": versions.build_version_diff(panel.ctx.place, target, old.body if old else b"", new.body),
        "texts": dict(new.entries), "is_newest": new.version.number == max(by_number),
        "ran": _list_sessions(panel, target, new),
    }  # fmt: skip
    return Page("version", f"Version {new.version.number} of {name}", data)


def _list_sessions(panel: Panel, target: Target, one: FileVersion) -> list[dict[str, Any]]:
    """Return the newest sessions that loaded a version, and which of them still have a transcript."""
    name = f"global/{target.path}" if target.is_global else target.path
    ran = [
        record for record in panel.ctx.scan.other_records.values()
        if record["id"].startswith("EXP-") and (record.get("versions") or {}).get(name) == one.version.number
        and (target.is_global or (record["project"] or {"key": ""})["key"] in panel.ctx.place.keys)
    ]  # fmt: skip
    known = _map_transcripts(panel) if ran and panel.is_private else {}
    ran.sort(key=lambda record: str(record["start"]), reverse=True)
    return [
        {"session": record["session"], "start": record["start"], "typed": record["typed"],
         "corrections": record["corrections"], "model": record["model"], "has_messages": record["session"] in known}
        for record in ran[:_MAX_SESSIONS]
    ]  # fmt: skip


def _map_transcripts(panel: Panel) -> dict[str, str]:
    """Map the hash of each session to its transcript, while the client keeps it."""
    found = {}
    for folder, _, names in os.walk(paths.projects_dir(panel.env)):
        for name in names:
            stem, dot, kind = name.rpartition(".")
            if kind == "jsonl" and dot:
                found[session_hash(stem)] = os.path.join(folder, name)
    return found


def show_session(panel: Panel, call: Call) -> Page:
    """Show what the person typed in a session, redacted; from the transcript, which is only read."""
    path = _map_transcripts(panel).get(call.get("id")) if panel.is_private else None
    if path is None:
        raise ReflectError("this session has no transcript any more", "the client deletes old ones", "unknown-id")
    os.close(open_transcript(path, paths.projects_dir(panel.env)))  # raises if it is no plain file of the client
    turns = [turn for turn in read_turns(path) if turn.kind == "user" and not service.is_ignored(panel.store, turn.cwd)]
    data = {
        "session": call.get("id"), "messages": [str(turn.text) for turn in turns[:_MAX_MESSAGES]], "total": len(turns)
    }  # fmt: skip
    return Page("session", f"Session {call.get('id')}", data)


def show_incidents(panel: Panel, call: Call) -> Page:
    """List failures that share a cause, the most important first."""
    found = _load_incidents(panel)
    everything = call.get("all") == "1"
    usual = [one for one in found if everything or (one.sessions > 1 and not one.muted)]
    number = call.get_number("page", 1, 10**6)
    shown, pages = paginate(usual, number)
    data = {
        "incidents": [_build_incident(panel, one) for one in shown], "total": len(usual),
        "hidden": len(found) - len(usual), "all": everything, "page": min(number, pages), "pages": pages,
    }  # fmt: skip
    return Page("incidents", "Incidents", data)


def _load_incidents(panel: Panel) -> list[incidents.Incident]:
    return panel.keep("incidents", lambda: incidents.load_incidents(panel.store, panel.ctx.scan))


def _build_incident(panel: Panel, one: incidents.Incident) -> dict[str, Any]:
    cause = fingerprint.describe_cause(one.cause) if one.cause else "(text expired)"
    left = {"signals", "cause", "weight"}
    return {
        **{name: value for name, value in asdict(one).items() if name not in left},
        "cause": panel.show_private(cause),
    }


def show_incident(panel: Panel, call: Call) -> Page:
    """Show one incident: figures, root causes and the last failures."""
    found = incidents.find_incident(_load_incidents(panel), call.get("key"))
    rows = {identity: row for row, identity in enumerate(panel.ctx.scan.columns["id"])}
    signals = panel.ctx.scan.get_signals([rows[one] for one in found.signals[-_MAX_SIGNALS:]])
    causes = incidents.find_root_causes(panel.ctx.scan.history).get(found.key, [])
    data = {
        **_build_incident(panel, found), "muted": found.muted,
        "causes": [{"id": made["id"], **made["meta"]} for made in causes],
        "last_signals": [
            {"id": one["id"], "time": one["timestamp"], "content": panel.show_private(one["content"]),
             "context": panel.show_private(one["context"])}
            for one in reversed(signals)
        ],
    }  # fmt: skip
    return Page("incident", f"Incident {found.key[:8]}", data)


def show_trend(panel: Panel, call: Call) -> Page:
    """Show corrections, failures, interruptions and tokens per week, with the approvals."""
    weeks = call.get_number("weeks", 26, _MAX_WEEKS)
    only_here = call.get("scope") == "here"
    keys = set(panel.ctx.place.keys) if only_here else None
    sessions = [one for one in panel.events.sessions if keys is None or one.project in keys]
    changes = trend.list_changes(panel.ctx.scan.history, keys)
    scores = load_scores(panel.ctx.scan.other_records.values())
    found = trend.count_weeks(sessions, changes, scores, trend.list_weeks(utc(), weeks))
    figures = [one for one in trend.FIGURES if one != "tokens" or any(week.tokens is not None for week in found)]
    data = {
        "weeks": [week.as_json() for week in found], "figures": figures, "scope": "here" if only_here else "all",
        "count": weeks, "sessions": sum(week.sessions for week in found), "typed": sum(week.typed for week in found),
        "approvals": sum(week.approvals for week in found),
    }  # fmt: skip
    return Page("trend", "Trend", data, pictures={"chart": charts.draw_trend(found, figures)})


def show_machines(panel: Panel, call: Call) -> Page:
    """List the machines that decided something, and what the audit finds."""
    decided: dict[str, dict[str, Any]] = {}
    for made in panel.ctx.scan.history.decisions:
        known = decided.setdefault(
            made["machine"], {"name": made["machine"], "decisions": 0, "first": made["timestamp"]}
        )
        known["decisions"] += 1
        known["last"] = made["timestamp"]
    for row in decided.values():
        row["is_this"] = row["name"] == panel.store.machine
    listed = sorted(decided.values(), key=lambda row: (not row["is_this"], row["name"]))
    found = _build_audit(panel, call.get("again"))
    number = call.get_number("page", 1, 10**6)
    found["findings"], pages = paginate(found["findings"], number)
    data = {"machines": listed, "audit": found, "page": min(number, pages), "pages": pages}
    return Page("machines", "Machines and audit", data)


def _build_audit(panel: Panel, again: str) -> dict[str, Any]:
    """Return the audit's findings. It reads every commit and transcript, so it runs once, or when asked again."""
    if again == "1":
        panel.drop("audit")
    report = panel.keep("audit", lambda: audit.run_audit(panel.store, panel.env, _now(), panel.read_scan, panel.folder))
    label = panel.ctx.place.label
    listed = sorted(report.findings, key=lambda one: (bool(one.accepted), _AUDIT_ORDER.index(one.severity)))
    return {
        "time": report.time, "ok": report.ok, "counts": report.counts,
        "findings": [
            {"code": one.code, "severity": "accepted" if one.accepted else one.severity,
             "message": panel.show_private(one.message),
             "hint": one.hint if panel.is_private else "", "file": label(one.path) if one.path else one.file,
             "line": one.line or None,
             "key": one.key if one.needs_decision else None}
            for one in listed
        ],
    }  # fmt: skip


def _now() -> float:
    return parse_utc(utc())
