"""An independent reader of stores: it knows docs/store.md, git and JSON, and nothing of this program."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

Record = dict[str, Any]
STATUS_BY_KIND = {
    "approved": "promoted", "applied": "promoted", "amended": "promoted", "superseded": "promoted",
    "dismissed": "dismissed", "never": "dismissed", "joined": "analyzed", "archived": "archived",
}  # fmt: skip
AMENDABLE = ("title", "scope", "project", "topic", "paths", "matcher", "meta")


class Reader:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.records: dict[str, Record] = {}
        for path in (root / ".git/reflect/pending").glob("*.yaml"):
            self._add_record(path.name, path.read_bytes())
        for branch in self._git("for-each-ref", "--format=%(refname)", "refs/heads/inbox", "refs/heads/main").split():
            for name in self._git("ls-tree", "-r", "-z", "--name-only", branch).strip("\0").split("\0"):
                self._add_record(Path(name).name, self._git("cat-file", "blob", f"{branch}:{name}").encode())
        own = self._list_own_machines()
        said = [one for one in self._list_by_prefix("DEC-") if not own or one["machine"] in own]
        self.decisions = sorted(said, key=lambda one: (one["timestamp"], one["reopens"] is not None, one["id"]))
        names = {one["id"] for one in said}
        self.tallied = [
            line for one in self._list_by_prefix("TLY-") if not own or one["machine"] in own for line in one["lines"]
        ]
        self.void = {one["id"] for one in said if self._is_void(one["id"])}
        self.learnings = {
            one["id"]: self._apply_amendments(one) for one in self._list_by_prefix("LRN-") if one["decision"] in names
        }

    def _git(self, *words: str) -> str:
        return subprocess.run(["git", "-C", self.root, *words], capture_output=True, text=True, check=True).stdout

    def _list_own_machines(self) -> set[str]:
        """Return the machines whose decisions count; empty means all."""
        machine = self._git("config", "--local", "reflect.machine").strip()
        config = [line.partition("=") for line in self._git("config", "--local", "--list").splitlines()]
        listed = {name for key, _, value in config if key == "reflect.own" for name in value.split()}
        names = self.root / ".git/reflect/names"
        if not names.exists() and not listed:
            return set()
        receipts = self.root / ".git/reflect/receipts"
        came = receipts.read_text().split() if receipts.exists() else []
        here = {one["machine"] for one in self._list_by_prefix("DEC-") if f"came-{one['id']}" not in came}
        here |= {path.stem for path in self.root.glob("machines/*.yaml")} & set(listed)  # written by an older version
        ours = {machine, *(name for name in (names.read_text().split() if names.exists() else ()) if name in here)}
        said = [
            one["meta"]["to"]["reflect.own"].split() for one in self._list_by_prefix("DEC-")
            if (one["kind"], one["subject"], one["by"]["road"]) == ("policy", "reflect.own", "terminal")
            and one["machine"] in ours
        ]  # fmt: skip
        return ours | {name for names in said for name in names if name in listed}

    def _add_record(self, name: str, data: bytes) -> None:
        if name.endswith(".yaml"):
            pairs = (line.partition(": ") for line in data.decode().strip("\n").split("\n"))
            record = {key: json.loads(value) for key, _, value in pairs}
            if record.get("id") == name.removesuffix(".yaml"):
                self.records[record["id"]] = record

    def _list_by_prefix(self, prefix: str) -> list[Record]:
        return [record for identity, record in self.records.items() if identity.startswith(prefix)]

    def _is_void(self, identity: str) -> bool:
        reverts = [one["id"] for one in self.decisions if one["kind"] == "reverted" and one["reopens"] == identity]
        return any(not self._is_void(one) for one in reverts)

    def _apply_amendments(self, learning: Record) -> Record:
        for one in self.decisions:
            if one["subject"] == learning["id"] and one["kind"] == "amended" and one["id"] not in self.void:
                given = one["meta"].get("learning") or {}
                learning = {**learning, **{name: given[name] for name in AMENDABLE if name in given}}
                learning |= {name: one[name] for name in ("text", "target") if one[name] is not None}
        return learning

    def in_force(self) -> dict[str, Record]:
        against = {
            one["subject"] for one in self.decisions
            if one["id"] not in self.void
            and (one["kind"] == "superseded" or (one["kind"] == "reverted" and not one["reopens"]))
        }  # fmt: skip
        return {
            identity: one for identity, one in self.learnings.items()
            if identity not in against and one["decision"] not in self.void
        }  # fmt: skip

    def _resolve_reverts(self, one: Record) -> Record:
        taken = self.records.get(one["reopens"] or "") if one["kind"] == "reverted" else None
        if taken is None or taken["kind"] != "reverted" or taken["reopens"] not in self.records:
            return one
        return self._resolve_reverts(self.records[taken["reopens"]])

    def _find_root_decision(self, one: Record) -> Record:
        taken = self.records.get(one["reopens"] or "") if one["kind"] == "reverted" else None
        return self._find_root_decision(taken) if taken else one

    def declined(self, machine: str) -> set[str]:
        last = {
            one["subject"]: self._resolve_reverts(one) for one in self.decisions
            if one["kind"] in ("approved", "amended", "superseded", "reverted")
            and self._find_root_decision(one)["kind"] != "applied"
        }  # fmt: skip
        return {
            one["subject"] for one in self.decisions
            if (one["machine"], one["kind"], one["meta"].get("change")) == (machine, "applied", "declined")
            and one["id"] not in self.void and one["subject"] in self.in_force()
            and self._resolve_reverts(self.records[one["meta"]["of"]]) == last[one["subject"]]
        }  # fmt: skip

    def _get_new_status(self, decision: Record) -> str:
        if decision["kind"] != "reverted":
            return STATUS_BY_KIND.get(decision["kind"], "")
        reopened = self.records.get(decision["reopens"] or "", {}).get("kind")
        if reopened in ("reverted", "amended", "superseded", "applied"):
            return ""
        return (
            "dismissed" if decision["subject"] in self.learnings and not decision["meta"].get("reopen") else "captured"
        )

    def status(self, signal: str) -> str:
        found = "captured"
        for one in self.decisions:
            learning = self.learnings.get(one["subject"])
            spoken = learning["signals"] if learning else [one["subject"], *one["meta"].get("signals", ())]
            if learning and one["kind"] in ("amended", "reverted"):
                spoken = [*spoken, *self._list_repeated_signals(learning["id"])]
            is_over = learning is not None and learning["decision"] in self.void and one["kind"] != "reverted"
            if signal in spoken and one["id"] not in self.void and not is_over:
                found = self._get_new_status(one) or found
        return found

    def _list_repeated_signals(self, learning: str) -> list[str]:
        amended = [one for one in self.decisions if (one["kind"], one["subject"]) == ("amended", learning)]
        return [each for one in amended if one["id"] not in self.void for each in one["meta"].get("signals", ())]

    def signals(self) -> dict[str, tuple[str, int]]:
        """Map ids to status and confidence."""
        found = self._list_by_prefix("SIG-")
        sessions = {(line[0], line[4]) for line in self.tallied}
        for one in found:
            sessions.add((one["key"], _hash(one["session_id"] or one["id"])))
        told = {}
        for one in found:
            status = self.status(one["id"])
            seen = min(3, sum(key == one["key"] for key, _ in sessions))
            told[one["id"]] = status, 4 if status == "promoted" else max(min(3, one["confidence"]), seen)
        return told


def _hash(session: str) -> str:
    return hashlib.sha256(b"session\0" + session.encode()).hexdigest()[:12]
