"""Search for texts in everything a store has on disk: files, inflated objects, packs, leftovers of killed writers."""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path


def find_texts(root: Path, *texts: str) -> list[str]:
    """Return where any of the texts is, in any encoding; empty if nobody could find them."""
    needles = [text.encode() for text in texts]
    return [place for place, data in iter_contents(root) if any(needle in data for needle in needles)]


def iter_contents(root: Path) -> Iterator[tuple[str, bytes]]:
    yield from _iter_files(root)
    yield from _iter_objects(root)


def _iter_files(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file as it is, and inflated wherever a zlib stream may begin."""
    for base, _, names in os.walk(root):
        for name in names:
            path = Path(base, name)
            data = path.read_bytes()
            yield str(path), data
            for offset in _find_stream_offsets(data):
                yield f"{path} inflated at {offset}", _inflate(data[offset:])


def _find_stream_offsets(data: bytes) -> Iterator[int]:
    """Yield offsets that may begin a zlib stream: 0x78 and a second byte that makes the pair divisible by 31."""
    at = data.find(b"\x78")
    while at >= 0:
        if len(data) > at + 1 and (0x7800 + data[at + 1]) % 31 == 0:
            yield at
        at = data.find(b"\x78", at + 1)


def _inflate(data: bytes) -> bytes:
    """Inflate as much as possible: a truncated temporary file still reveals its beginning."""
    inflator, out = zlib.decompressobj(), b""
    try:
        for at in range(0, len(data), 64):
            out += inflator.decompress(data[at : at + 64])
            if inflator.eof:
                break
    except zlib.error:
        pass
    return out


def _iter_objects(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every object git can still name, reachable or not; deltas are resolved, unlike by raw inflating."""
    command = ["git", "-C", str(root), "cat-file", "--batch-all-objects", "--unordered", "--batch"]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        name, _, size = data[at:end].split()
        yield f"object {name.decode()}", data[end + 1 : end + 1 + int(size)]
        at = end + int(size) + 2
