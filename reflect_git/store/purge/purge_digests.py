"""Remove purged records and texts from digests, which cite many records each: everything else in them stays."""

from __future__ import annotations

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records import yaml_form
from reflect_git.records.search_text import PURGED
from reflect_git.store import pending
from reflect_git.store.repository import INBOX, get_record_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Optional

    from reflect_git.records.schema import Digest
    from reflect_git.store.purge.purge_search import PurgeSet
    from reflect_git.store.repository import Store

PREFIX = "DIG-"
_FOLDER = "digests"


def find_changed(store: Store, ref: str, purge_set: PurgeSet) -> dict[str, tuple[str, Optional[bytes]]]:
    """Return path → blob and new bytes of the digests in a branch that cite or quote something purged.

    The new bytes are None if nothing of the digest is left.
    """
    listed = {path: blob for path, blob in store.git.tree(ref, _FOLDER).items() if get_record_id(path)}
    found = {}
    for (path, blob), data in zip(listed.items(), store.git.blobs(list(listed.values()))):
        made = clean_digest(data, purge_set)
        if made != data:
            found[path] = blob, made
    return found


def find_cited(store: Store, record_ids: Collection[str]) -> dict[str, set[str]]:
    """Return id → blobs of the digests that cite it, for those of these records that any digest cites."""
    found: dict[str, set[str]] = {}
    for ref in store.git.refs(INBOX) if record_ids else ():
        listed = [blob for path, blob in store.git.tree(ref, _FOLDER).items() if get_record_id(path)]
        for blob, data in zip(listed, store.git.blobs(listed)):
            for cited in list_cited(data) & set(record_ids):
                found.setdefault(cited, set()).add(blob)
    return found


def list_cited(data: bytes) -> set[str]:
    """Return the ids that a digest cites; empty if it cannot be read."""
    digest = _parse(data)
    if digest is None:
        return set()
    return {*digest["from"], *(cited for line in digest["lines"] for cited in line["ids"])}


def clean_digest(data: bytes, purge_set: PurgeSet) -> Optional[bytes]:
    """Return a digest without purged ids and texts; None if nothing is left or a text cannot be cut out.

    A line that cited a purged record loses its text, because the text may be an extract of that record.
    """
    digest = _parse(data)
    if digest is None:
        return None if purge_set.search.matches_bytes(data) else data
    lines = []
    for line in digest["lines"]:
        ids = [cited for cited in line["ids"] if not purge_set.has_id(cited)]
        text = line["text"] if len(ids) == len(line["ids"]) else PURGED
        text = purge_set.search.remove_matches(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogateescape")
        if ids:
            lines.append({**line, "text": text.strip(), "ids": ids})
    sources = [cited for cited in digest["from"] if not purge_set.has_id(cited)]
    if lines == digest["lines"] and sources == digest["from"] and not purge_set.search.matches_bytes(data):
        return data
    made = yaml_form.emit({**digest, "lines": lines, "from": sources})
    return made if lines and not purge_set.search.matches_bytes(made) else None


def find_pending(store: Store, purge_set: PurgeSet) -> Iterator[str]:
    """Yield the paths of pending digests that cite or quote something purged. The next upkeep makes them again."""
    for name in pending.list_pending(store):
        if name.startswith(PREFIX):
            path = store.private_path("pending", name)
            data = files.read_if_exists(path, yaml_form.MAX_BYTES + 1) or b""
            if clean_digest(data, purge_set) != data:
                yield path


def _parse(data: bytes) -> Optional[Digest]:
    try:
        record = yaml_form.parse(data)
        yaml_form.check(record)
    except ReflectError:
        return None
    return record if record["id"].startswith(PREFIX) and not yaml_form.is_newer(record) else None  # type: ignore[return-value]
