"""A remote that an attacker writes to: trees that our program and hardly any git would create."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import REAL_GIT
from tests.sync.sample_records import blob_id

Files = Mapping[str, tuple[str, bytes]]
FILE = "100644"


def write_object(remote: Path, *arguments: str, data: bytes = b"") -> str:
    done = subprocess.run([REAL_GIT, "-C", str(remote), *arguments], input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()


def write_blob(remote: Path, data: bytes) -> str:
    return write_object(remote, "hash-object", "-w", "--stdin", data=data)


def write_tree(remote: Path, files: Files) -> str:
    """Write a tree object with any names and modes."""
    folders: dict[str, dict[str, tuple[str, bytes]]] = {}
    entries: list[tuple[bytes, bytes, str]] = []
    for path, (mode, data) in files.items():
        first, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(first, {})[rest] = (mode, data)
        else:
            oid = "1" * 40 if mode == "160000" else write_blob(remote, data)
            entries.append((first.encode("utf-8", "surrogateescape"), mode.encode(), oid))
    for name, below in folders.items():
        entries.append((name.encode("utf-8", "surrogateescape"), b"40000", write_tree(remote, below)))
    entries.sort(key=lambda entry: entry[0] + (b"/" if entry[1] == b"40000" else b""))
    body = b"".join(mode + b" " + name + b"\0" + bytes.fromhex(oid) for name, mode, oid in entries)
    return write_object(remote, "hash-object", "-t", "tree", "--literally", "-w", "--stdin", data=body)


def commit_to_remote(
    remote: Path, files: Files, message: bytes = b"harmless\n", who: str = "Mallory <m@example.com>"
) -> str:
    """Commit these files to the remote's main, beside the existing ones."""
    parent = subprocess.run(
        [REAL_GIT, "-C", str(remote), "rev-parse", "-q", "--verify", "main"], capture_output=True, check=False
    ).stdout.decode().strip()  # fmt: skip
    listed = write_object(remote, "ls-tree", "-r", "-z", "main").split("\0") if parent else []
    have: dict[str, tuple[str, bytes]] = {}
    for line in listed:
        if line:
            meta, _, path = line.partition("\t")
            mode, kind, oid = meta.split()
            if kind == "blob":
                have[path] = (mode, subprocess.check_output([REAL_GIT, "-C", str(remote), "cat-file", "blob", oid]))
    head = f"tree {write_tree(remote, {**have, **files})}\n" + (f"parent {parent}\n" if parent else "")
    head += f"author {who} 1700000000 +0000\ncommitter {who} 1700000000 +0000\n\n"
    commit = write_object(
        remote, "hash-object", "-t", "commit", "--literally", "-w", "--stdin", data=head.encode() + message
    )
    write_object(remote, "update-ref", "refs/heads/main", commit)
    return commit


def has_object(root: Path, data: bytes) -> bool:
    """Tell whether a store has these bytes as an object, reachable or not."""
    done = subprocess.run(
        [REAL_GIT, "-C", str(root), "cat-file", "-e", blob_id(data)], capture_output=True, check=False
    )
    return done.returncode == 0
