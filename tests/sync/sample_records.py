"""Records, snapshots and other files as an honest machine would send them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from reflect_git.records import yaml_form
from reflect_git.records.ids import digest
from reflect_git.store.repository import get_record_path

TIMESTAMP = "2026-02-11T10:00:00.000Z"


def blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def format_number(number: int) -> str:
    return f"{number:08d}"


def build_decision(number: int, machine: str = "desk-k3f9", **more: Any) -> dict[str, Any]:
    return {
        "id": f"DEC-20260211-{format_number(number)}",
        "version": 1,
        "timestamp": TIMESTAMP,
        "machine": machine,
        "by": {"road": "terminal", "name": "Ada", "email": "ada@example.com"},
        "kind": "dismissed",
        "subject": f"SIG-20260211-{format_number(number)}",
        "text": None,
        "text_sha256": None,
        "key": None,
        "target": None,
        "reason": "",
        "reopens": None,
        "meta": {},
        **more,
    }


def build_learning(number: int, text: str = "", **more: Any) -> dict[str, Any]:
    text = text or f"Rule number {number}."
    return {
        "id": f"LRN-20260211-{format_number(number)}",
        "version": 1,
        "timestamp": TIMESTAMP,
        "text": text,
        "title": text[:40],
        "category": "convention",
        "scope": "global",
        "project": None,
        "target": {"kind": "global", "path": "CLAUDE.md"},
        "topic": None,
        "paths": [],
        "signals": [],
        "decision": f"DEC-20260211-{format_number(number)}",
        "supersedes": [],
        "reason": "",
        "trust": "user_typed",
        "matcher": None,
        "meta": {},
        **more,
    }


def build_approval(number: int, machine: str = "desk-k3f9", text: str = "") -> list[dict[str, Any]]:
    made = build_learning(number, text)
    said = build_decision(
        number, machine, kind="approved", subject=made["id"], text=made["text"], text_sha256=digest(made["text"])
    )
    return [made, said]


def build_files(*made: dict[str, Any]) -> dict[str, bytes]:
    return {get_record_path(record["id"]): yaml_form.emit(record) for record in made}


def build_snapshot(version: int, text: str = "- a rule\n") -> bytes:
    head = {"version": version, "sha256": "0" * 64, "learning": "LRN-20260211-00000001", "change": "add"}
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in head.items()).encode() + b"\n" + text.encode()
