"""What the store has on a few ids: found in the text of its records, without taking apart all the others.

A large main is kept as lines of JSON in two more cache files, which are searched as they lie on the disk: that takes a
fraction of loading them. Figures of sessions are the most by far, and few questions are about them.
"""

from __future__ import annotations

import json
import mmap
import os
import re

from reflect_git.adapters import files
from reflect_git.model.schema import VERSION
from reflect_git.store import reading, rows
from reflect_git.store.repository import INBOX, MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any, Optional, Union

    from reflect_git.model.schema import Project
    from reflect_git.store.reading import Reader
    from reflect_git.store.repository import Store

    Text = Union[bytes, mmap.mmap]

_LINES, _FIGURES = "main-lines", "main-figures"
_LARGE = 2000  # records; below that the other cache is as fast
_ID = re.compile(rb'"id":"([A-Z]{3}-[0-9]{8}-[0-9a-z]{8})"')
_KEY, _TIME, _SESSION, _PROJECT = (rows.HEAD.index(name) for name in ("key", "timestamp", "session_id", "project"))


class Excerpt:
    """The store at one moment, asked about some ids."""

    def __init__(self, store: Store, by_hand: Optional[Reader] = None) -> None:
        refs = store.git.refs(INBOX, MAIN)
        part = reading._Part(store, "inbox", reading._FOLDERS[INBOX], by_hand)
        part.refresh({ref: oid for ref, oid in refs.items() if ref.startswith(INBOX)})
        self._shelves = [reading._pending(store), *part.shelves.values()]
        waiting = b"\n".join([text for shelf in self._shelves for text in shelf.others.values()])
        self._texts: list[Text] = [*_main(store, refs.get(MAIN, ""), by_hand), waiting]

    def mentioning(self, *words: str, figures: bool = True) -> dict[str, Any]:
        """Id → record, of all that is no signal and has one of these ids in it, its own or another's.

        Without `figures`, those of sessions are not looked through.
        """
        texts = self._texts if figures else self._texts[:1]
        lines = {line for word in words for text in texts for line in _lines_with(text, word.encode())}
        found = map(json.loads, lines)
        return {record["id"]: record for record in found if record["version"] <= VERSION}

    def has(self, identity: str) -> bool:
        """Whether it is one of `identities`, of which a list takes a quarter of a second at 100,000 records."""
        mark = f'"id":"{identity}"'.encode()
        return any(text.find(mark) >= 0 for text in self._texts) or any(
            identity in shelf.columns[0] for shelf in self._shelves
        )

    def identities(self) -> list[str]:
        """All ids, of signals too."""
        found = {match.decode() for text in self._texts for match in _ID.findall(text)}
        return sorted(found.union(*(shelf.columns[0] for shelf in self._shelves)))

    def signals(self, identities: Collection[str]) -> list[Any]:
        """Those that are still here, as they were captured, oldest first."""
        wanted = set(identities)
        parts: dict[str, tuple[Any, ...]] = {}
        for shelf in self._shelves:
            for row, identity in enumerate(shelf.columns[0]) if wanted else ():
                if identity in wanted:
                    parts[identity] = ("captured", 0, [], None, *(column[row] for column in shelf.pieces))
        found: list[Any] = json.loads(b"".join(rows.json_parts(parts.values())))
        return sorted(found, key=lambda signal: (signal["timestamp"], signal["id"]))

    def said(self, keys: Collection[str]) -> list[tuple[str, str, str, Optional[Project]]]:
        """Id, time, session and project of every signal that has one of these keys."""
        return [
            (shelf.columns[0][row], *(shelf.columns[field][row] for field in (_TIME, _SESSION, _PROJECT)))
            for shelf in self._shelves
            for row, key in enumerate(shelf.columns[_KEY])
            if key in keys
        ]


def _main(store: Store, tip: str, by_hand: Optional[Reader]) -> list[Text]:
    """The records of main, one to a line, below a line that says of which commit; figures of sessions apart."""
    paths = [store.private_path("cache", name) for name in (_LINES, _FIGURES)]
    head = f"reflect-git lines 1 {tip}\n".encode("ascii")
    kept = [text for text in map(_mapped, paths) if text is not None and text[: len(head)] == head]
    if len(kept) == len(paths):
        return list(kept)
    part = reading._Part(store, "main", reading._FOLDERS[MAIN], by_hand)
    part.refresh({MAIN: tip})
    others = part.shelves[MAIN].others
    texts = [
        head
        + b"\n".join([text for path, text in others.items() if path.startswith("exposure/") is are_figures])
        + b"\n"
        for are_figures in (False, True)
    ]
    if len(others) >= _LARGE:
        for path, text in zip(paths, texts):
            files.write_whole(path, text, sync=False)
    return list(texts)


def _mapped(path: str) -> Optional[mmap.mmap]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # empty
        return None
    finally:
        os.close(descriptor)


def _lines_with(text: Text, word: bytes) -> Iterator[bytes]:
    at = text.find(word)
    while at >= 0:
        end = text.find(b"\n", at)
        end = end if end >= 0 else len(text)
        yield bytes(text[text.rfind(b"\n", 0, at) + 1 : end])
        at = text.find(word, end)
