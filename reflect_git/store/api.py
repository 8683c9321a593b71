"""Query and change the store: query, get, update, archive, stats, promote.

Records are never edited: `update` and `archive` write decisions, `promote` writes a learning with its decision. No
function here touches an instruction file.
"""

from __future__ import annotations

from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records import rule_numbers, schema, yaml_form
from reflect_git.records.ids import digest, plural, random_id, timed_id
from reflect_git.records.rule_numbers import find_numbers_to_record
from reflect_git.store.append import append
from reflect_git.store.repository import get_record_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.records.schema import Decision, DecisionAuthor, Learning, Signal, Target
    from reflect_git.store.reading.reader import Scan, Snapshot
    from reflect_git.store.repository import Store

__all__ = ["append", "archive", "find_id", "get", "promote", "query", "stats", "update"]

LOCK_SECONDS = 10.0
_LIST_COMMANDS = {"lrn": "rules --all", "dec": "log"}
_KIND_NAMES = {"SIG": "a signal", "LRN": "a learning", "DEC": "a decision"}
_KIND_OF_STATUS = {"dismissed": "dismissed", "analyzed": "joined", "archived": "archived", "captured": "reverted"}
_VERB_OF_KIND = {"dismissed": "dismiss", "joined": "join", "archived": "archive", "reverted": "revert"}
_SIGNAL_DECISIONS = ("dismissed", "never", "joined", "archived")
_BATCH_SIZE = 200  # signals in one decision, so that its record stays below the size limit


def query(
    signals: Iterable[Signal], *, status: str = "", kind: str = "", since: str = "", tags: Sequence[str] = (),
    session: str = "", project: str = "",
) -> list[Signal]:  # fmt: skip
    """Return the signals that match every given filter; `since` is a UTC time, `project` a key or name."""
    return [
        signal
        for signal in signals
        if (not status or signal["status"] == status)
        and (not kind or signal["type"] == kind)
        and (not since or signal["timestamp"] >= since)
        and (not tags or set(tags) <= set(signal["tags"]))
        and (not session or signal["session_id"].startswith(session))
        and (not project or _is_in_project(signal, project))
    ]


def _is_in_project(signal: Signal, project: str) -> bool:
    return signal["project"] is not None and project in (signal["project"]["key"], signal["project"]["name"])


def get(snapshot: Snapshot, prefix: str) -> Any:
    """Return the record with this id or unique prefix of an id, or the rule with this number."""
    if rule_numbers.normalise_number(prefix):
        prefix = rule_numbers.find_numbered_rule(snapshot.history, prefix) or prefix
    return snapshot.by_id[find_id(snapshot.by_id, prefix)]


def _get_signal(snapshot: Snapshot, prefix: str) -> Signal:
    record_id = find_id(snapshot.by_id, prefix)
    if not record_id.startswith("SIG-"):
        raise ReflectError(
            f"'{record_id}' is not a signal", "list them with 'reflect-git signals'", "usage", EXIT_USAGE
        )
    signal: Signal = snapshot.by_id[record_id]
    return signal


def find_id(record_ids: Iterable[str], prefix: str) -> str:
    """Return the only id that starts with `prefix`. Case is ignored, and the part after the date is enough."""
    wanted = prefix.strip().lower()
    matches = [i for i in record_ids if i.lower().startswith(wanted) or i.lower().rpartition("-")[2].startswith(wanted)]
    exact = [identity for identity in matches if identity.lower() == wanted]
    if wanted and len(exact or matches) == 1:
        return (exact or matches)[0]
    if not wanted or not matches:
        listed = _LIST_COMMANDS.get(wanted[:3], "signals")
        raise ReflectError(f"no record '{prefix}'", f"list them with 'reflect-git {listed}'", code="unknown-id")
    some = ", ".join(sorted(matches)[:5]) + (", …" if len(matches) > 5 else "")
    raise ReflectError(f"'{prefix}' is the beginning of {len(matches)} ids", f"one of: {some}", code="ambiguous-id")


def find_id_of_kind(wanted: str, record_ids: Iterable[str], prefix: str, known: Iterable[str], hint: str) -> str:
    """Call `find`, but raise a more specific error for an id that only `known` contains."""
    try:
        return find_id(record_ids, prefix)
    except ReflectError as error:
        try:
            other = find_id(known, prefix)
        except ReflectError:
            raise error from None
    what = _KIND_NAMES.get(other[:3], "a record of figures")
    raise ReflectError(f"'{other}' is {what}, not {wanted}", hint, code="unknown-id")


def stats(scan: Scan) -> dict[str, Any]:
    """Count signals by status, type and category.

    Session summaries are counted separately: no review asks about them.
    """
    kinds = scan.columns["type"]
    summaries = kinds.count("summary")
    counts: dict[str, Any] = {"total": len(kinds) - summaries, "summaries": summaries}
    for field in ("status", "type", "category"):
        column = [word for word, kind in zip(scan.columns[field], kinds) if kind != "summary"]
        counts[field] = {word: column.count(word) for word in sorted(set(column))}
    return {**counts, "learnings": len(scan.history.learnings)}


def update(
    store: Store, snapshot: Snapshot, record_id: str, fields: Mapping[str, Any], by: DecisionAuthor, now: str
) -> Decision:
    """Change the status of a signal by recording one decision."""
    computed = sorted(set(fields) - {"status", "related", "reason"})
    if computed:
        raise ReflectError(
            f"'{computed[0]}' is computed from records and cannot be set", "status, related and reason can",
            "usage", EXIT_USAGE,
        )  # fmt: skip
    kind = _KIND_OF_STATUS.get(str(fields.get("status", "")))
    if kind is None:
        raise ReflectError(
            f"a signal cannot be made '{fields.get('status', '')}'", f"one of: {', '.join(_KIND_OF_STATUS)}; 'promote' "
            "records an approval", "usage", EXIT_USAGE,
        )  # fmt: skip
    signal = _get_signal(snapshot, record_id)
    related = [_get_signal(snapshot, other)["id"] for other in fields.get("related", [])]
    before = snapshot.history.get_last_decision(signal["id"])
    # Only `revert` reverts an approval, together with its entry in the file. This only reopens the signal.
    reopens = before["id"] if kind == "reverted" and before and before["kind"] in _SIGNAL_DECISIONS else None
    meta: dict[str, Any] = {"signals": related} if related else {}
    if kind == "dismissed" and signal["project"]:
        meta["projects"] = [signal["project"]["key"]]  # a dismissal applies to the project where it was made
    made = build_decision(
        store, kind, signal["id"], by, now, key=signal["key"], reason=str(fields.get("reason", "")),
        reopens=reopens, meta=meta,
    )  # fmt: skip
    # Use the id, not the text: main is shared and permanent, an unapproved signal is neither.
    commit_records(store, [made], f"{_VERB_OF_KIND[kind]}: {signal['id']}", {"Signal-Id": [signal["id"], *related]})
    return made


def archive(store: Store, snapshot: Snapshot, before: str, status: str, by: DecisionAuthor, now: str) -> list[Decision]:
    """Archive every signal with this status that is older than `before`, in one commit."""
    old = [s for s in query(snapshot.signals, status=status) if s["timestamp"] < before and s["status"] != "archived"]
    record_ids = [signal["id"] for signal in old if signal["status"] != "promoted"]
    made = []
    for start in range(0, len(record_ids), _BATCH_SIZE):
        first, *others = record_ids[start : start + _BATCH_SIZE]
        made.append(build_decision(store, "archived", first, by, now, meta={"signals": others} if others else {}))
    if made:
        commit_records(store, made, f"archive: {plural(len(record_ids), 'signal')} from before {before[:10]}", {})
    return made


def promote(
    store: Store, snapshot: Snapshot, record_id: str, target: Target, content: str, by: DecisionAuthor, now: str
) -> Learning:
    """Record that a person approved a text for a target. The caller writes the target."""
    signal = _get_signal(snapshot, record_id)
    learning_id = timed_id("LRN", now)
    learning: Learning = {
        "id": learning_id, "version": schema.VERSION, "timestamp": now, "text": content, "title": format_title(content),
        "category": signal["category"], "scope": "project" if signal["project"] else "global",
        "project": signal["project"], "target": target, "topic": None, "paths": [], "signals": [signal["id"]],
        "decision": "", "supersedes": [], "reason": "", "trust": signal["trust"], "matcher": None, "meta": {},
    }  # fmt: skip
    numbers = find_numbers_to_record(snapshot.history, learning)
    made = build_decision(
        store, "approved", learning_id, by, now, text=content, key=signal["key"], target=target,
        meta={"signals": [signal["id"]], **({rule_numbers.META: numbers} if numbers else {})},
    )  # fmt: skip
    learning["decision"] = made["id"]
    trailers = {"Signal-Id": [signal["id"]], "Learning-Id": [learning_id], "Target": [target["path"]]}
    commit_records(
        store, [learning, made], f"approve: {format_title(content)}", {**trailers, "Approved-By": [by["road"]]}
    )
    return learning


def _redact_reason(reason: str) -> str:
    if not reason:
        return reason
    from reflect_git.redact import redact  # most decisions have no reason

    return redact(reason)


def build_decision(
    store: Store,
    kind: str,
    subject: str,
    by: DecisionAuthor,
    now: str,
    *,
    text: Optional[str] = None,
    key: Optional[str] = None,
    target: Optional[Target] = None,
    reason: str = "",
    reopens: Optional[str] = None,
    meta: Optional[dict[str, Any]] = None,
) -> Decision:
    """Build a decision record."""
    return {
        "id": random_id("DEC", now), "version": schema.VERSION, "timestamp": now, "machine": store.machine, "by": by,
        "kind": kind, "subject": subject, "text": text, "text_sha256": None if text is None else digest(text),
        "key": key, "target": target, "reason": _redact_reason(reason), "reopens": reopens, "meta": meta or {},
    }  # fmt: skip


def commit_records(
    store: Store, made: Sequence[Mapping[str, Any]], subject: str, trailers: Mapping[str, Sequence[str]],
    check: Optional[Callable[[], None]] = None,
) -> str:  # fmt: skip
    """Check the records and commit them to main with trailers; return the commit. `check` may refuse, once locked."""
    new = {}
    for item in made:
        yaml_form.check(item)
        new[get_record_path(item["id"])] = yaml_form.emit(item)
    decided = [item["id"] for item in made if item["id"].startswith("DEC-")]
    listed = {**trailers, "Decision": decided, "Machine": [store.machine]}
    lines = [f"{name}: {' '.join(value.split())}" for name, values in listed.items() for value in values]
    from reflect_git.store import recover  # not needed for queries
    from reflect_git.store.main import main_branch

    with store.locked(LOCK_SECONDS):
        recover.finish_interrupted(store)
        if check:
            check()
        return main_branch.commit_files(store, new, f"{subject}\n\n" + "\n".join(lines) + "\n")


def format_title(text: str) -> str:
    """Return the first line of a text, shortened for a subject line and without control characters."""
    line = "".join(c if c.isprintable() else " " for c in text.strip().partition("\n")[0])
    line = " ".join(line.split())
    return line if len(line) <= 60 else line[:59].rstrip() + "…"
