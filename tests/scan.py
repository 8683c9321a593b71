"""Looks for texts in all that a store has on disk: files, inflated objects, packs, what killed writers left."""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path


def places_of(root: Path, *texts: str) -> list[str]:
    """Where any of the texts stands, however it is wrapped; empty when nobody could find it any more."""
    needles = [text.encode() for text in texts]
    return [place for place, data in everything(root) if any(needle in data for needle in needles)]


def everything(root: Path) -> Iterator[tuple[str, bytes]]:
    yield from _files(root)
    yield from _objects(root)


def _files(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file as it is, and inflated wherever a zlib stream begins in it."""
    for base, _, names in os.walk(root):
        for name in names:
            path = Path(base, name)
            data = path.read_bytes()
            yield str(path), data
            for offset in _streams(data):
                yield f"{path} inflated at {offset}", _inflate(data[offset:])


def _streams(data: bytes) -> Iterator[int]:
    """Offsets that may begin a zlib stream: 0x78 and a second byte that makes the pair divisible by 31."""
    at = data.find(b"\x78")
    while at >= 0:
        if len(data) > at + 1 and (0x7800 + data[at + 1]) % 31 == 0:
            yield at
        at = data.find(b"\x78", at + 1)


def _inflate(data: bytes) -> bytes:
    """As much as comes out: a truncated temporary file still tells its beginning."""
    inflator, out = zlib.decompressobj(), b""
    try:
        for at in range(0, len(data), 64):
            out += inflator.decompress(data[at : at + 64])
            if inflator.eof:
                break
    except zlib.error:
        pass
    return out


def _objects(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every object git can still name, reachable or not; deltas are resolved, which raw inflating does not."""
    command = ["git", "-C", str(root), "cat-file", "--batch-all-objects", "--unordered", "--batch"]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        name, _, size = data[at:end].split()
        yield f"object {name.decode()}", data[end + 1 : end + 1 + int(size)]
        at = end + int(size) + 2
