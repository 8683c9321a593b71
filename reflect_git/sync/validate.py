"""What of an offered tree may come in. The rest is named with its path and the reason, and stays outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reflect_git.adapters import records
from reflect_git.errors import ReflectError
from reflect_git.model.tuples import NamedTuple
from reflect_git.store import machines
from reflect_git.store.layout import id_in
from reflect_git.sync import epoch, names, union

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FILE = "100644"
TOO_LARGE = "it is too large"
_LARGEST = {names.MIRROR: 1 << 20}
IN_OUR_NAME = "it speaks in this machine's name, and this machine does not have it"
IN_ANOTHERS = "it speaks in the name of another machine, and was made by hand here"
_MODES = {
    "100755": "it is executable", "120000": "it is a symbolic link", "160000": "it is a submodule",
    "040000": "it is an empty folder",
}  # fmt: skip


class Refusal(NamedTuple):
    path: str
    reason: str


def fault_of(mode: str, path: str, blob: str, kind_of: Callable[[str], str]) -> str:
    """Why a file may not come in, whatever is in it; empty if that is to be seen."""
    kind = kind_of(path)
    fault = names.fault_in(path) if kind not in (names.RECORD, names.BESIDE) else ""
    if fault:
        return fault
    if mode != FILE:
        return _MODES.get(mode, "its mode is none of ours")
    if not kind:
        return "the store has no such file"
    if kind == names.ASIDE and names.set_aside(path)[1] != blob:
        return "its name is not that of its bytes"
    return ""


def is_too_large(size: int, kind: str) -> bool:
    return size > _LARGEST.get(kind, records.MAX_BYTES)


def twins(offered: Iterable[str], ours: Iterable[str]) -> dict[str, str]:
    """Path → why it may not come in: some file system would make one file of it and of another path."""
    known, new = set(ours), set(offered)
    first = {names.folded(path): path for path in sorted(known)}
    found: dict[str, str] = {}
    for path in sorted(new):
        twin = first.setdefault(names.folded(path), path)
        if twin != path:
            found[path] = twin
            if twin not in known:
                found[twin] = path
    return {path: f"it is one file with '{twin}' on some systems" for path, twin in found.items()}


def by_content(
    paths: Sequence[str], blobs: Sequence[bytes], kind_of: Callable[[str], str], us: str = "", by_hand_of: str = ""
) -> list[str]:  # fmt: skip
    """For each file why it may not come in; an empty text where it may.

    `us` is a name that nobody else writes with; what was made `by_hand_of` a machine's person speaks in its name alone.
    """
    kinds = [kind_of(path) for path in paths]
    listed = [at for at, kind in enumerate(kinds) if kind in (names.RECORD, names.ASIDE)]
    parsed = dict(zip(listed, records.parse_many(blobs[at] for at in listed)))
    names_of = us, by_hand_of
    return [_reason(paths[at], blobs[at], kind, parsed.get(at), *names_of) for at, kind in enumerate(kinds)]


def _reason(path: str, data: bytes, kind: str, record: Any, us: str, by_hand_of: str) -> str:
    if is_too_large(len(data), kind):
        return TOO_LARGE
    try:
        if kind in (names.RECORD, names.ASIDE):
            _require_record(record, id_in(path) or names.set_aside(path)[0])
            _require_name(record, us, by_hand_of)
        elif kind == names.MACHINE:
            _require_machine(path, data)
        elif kind == names.PURGE:
            _require_purge(path, data)
        elif kind == names.MIRROR:
            _require_mirror(path, data, us)
        elif kind in (names.README, names.MARK, names.BESIDE) and not _is_text(data):
            return "it is no text"
    except ReflectError as error:
        return error.message
    return ""


def _require_record(record: Any, identity: str) -> None:
    if isinstance(record, ReflectError):
        raise record
    if record.get("id") != identity:
        raise ReflectError("its name is not its id")
    records.check(record)


def _require_name(record: Any, us: str, by_hand_of: str) -> None:
    machine = record.get("machine")
    if machine is None or record["id"].startswith("SIG-"):
        return
    if machine == us:
        raise ReflectError(IN_OUR_NAME)
    if by_hand_of and machine != by_hand_of:
        raise ReflectError(IN_ANOTHERS)


def _require_mirror(path: str, data: bytes, us: str) -> None:
    if not (union.version_in(data) and _is_text(data)):
        raise ReflectError("it is no mirror")
    if us and names.machine_of(path) == us:
        raise ReflectError(IN_OUR_NAME)


def _require_machine(path: str, data: bytes) -> None:
    if data != machines.file_of(names.machine_of(path)):
        raise ReflectError("it does not say which machine it is")


def _require_purge(path: str, data: bytes) -> None:
    if epoch.parse(data).epoch != epoch.number([path]):
        raise ReflectError("its name is not its epoch")


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False
