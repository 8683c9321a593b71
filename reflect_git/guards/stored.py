"""Read the compiled table of guards in a hook: only the guards that have a text in the call.

The first line of the table lists the texts of all guards, and every further line is one guard. So a call that one guard
is about costs the parsing of one line, however many guards there are. Nothing in a table is ever executed.
"""

from __future__ import annotations

import errno
import os
import stat

from reflect_git.platform import files
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

MODES = ("watch", "hint", "ask", "deny")  # from the weakest to the strongest
CANARY = "reflect-git-guard-canary"  # a command that `doctor` sends through the script; it is always refused
VERSION = 1
_MAX_BYTES = 4 << 20
_MAX_GUARDS = 5000
_MAX_TEXT = 8000


class StoredGuard:
    """A guard of the table. `named_tuple` would cost a hook 8 ms."""

    __slots__ = ("agent", "any_case", "instead", "learning", "matcher", "mode", "number", "project", "text", "texts")

    def __init__(self, value: dict[str, Any]) -> None:
        self.learning: str = value["learning"]
        self.mode: str = value["mode"]
        self.matcher: dict[str, Any] = value["matcher"]
        self.text: str = value["text"]
        self.instead: str = value["instead"]
        self.project: Optional[str] = value["project"]
        self.number: str = value["number"]
        self.agent: str = value.get("agent", "")
        self.texts: list[str] = value["texts"]
        self.any_case: bool = value["any_case"]


def get_table_path(git_dir: str) -> str:
    """Return the path of the compiled table."""
    return os.path.join(git_dir, "reflect", "cache", "guards.json")


def load_likely(git_dir: str, call: str) -> tuple[list[StoredGuard], str]:
    """Return the guards that may apply to a call, and what is wrong with the table; never raise an error."""
    try:
        lines = _read_private(get_table_path(git_dir)).decode("utf-8").split("\n")
        head = json_form.loads(lines[0] + "]}")
        if head["version"] != VERSION or lines[-2:] != ["]}", ""] or len(lines) > _MAX_GUARDS:
            return load_table(git_dir)
        lower = call.lower() if head["any_case"] else call
        found = [json_form.quote(text) for text in head["texts"] if text in call or text.lower() in lower]
        likely = [line for line in lines[1:-2] if '"texts":[]' in line or any(text in line for text in found)]
        return _parse_guards([json_form.loads(line.rstrip(",")) for line in likely], git_dir)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError):
        return load_table(git_dir)


def load_table(git_dir: str) -> tuple[list[StoredGuard], str]:
    """Return all guards, and what is wrong with the table; never raise an error."""
    path = get_table_path(git_dir)
    try:
        table = json_form.loads(_read_private(path).decode("utf-8"))
        listed = table["guards"] if table["version"] == VERSION else None
        if not isinstance(listed, list) or len(listed) > _MAX_GUARDS:
            return [], f"'{path}' has another form"
    except FileNotFoundError:
        return [], ""
    except OSError as error:
        return [], f"'{path}' cannot be read: {(error.strerror or str(error)).lower()}"
    except (ValueError, TypeError, KeyError, RecursionError, MemoryError):
        return [], f"'{path}' has another form"
    return _parse_guards(listed, git_dir)


def _parse_guards(listed: list[Any], git_dir: str) -> tuple[list[StoredGuard], str]:
    """Return the guards that are sound, and how many are not."""
    found = [StoredGuard(each) for each in listed if _is_guard(each)]
    broken = len(listed) - len(found)
    return found, f"{broken} of {len(listed)} guards in '{get_table_path(git_dir)}' are damaged" if broken else ""


def _read_private(path: str) -> bytes:
    """Return the bytes of a file that nobody else could have written; raise OSError otherwise."""
    for each in (os.path.dirname(path), path):
        status = os.lstat(each)
        if stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, "it is a symbolic link", each)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise OSError(errno.EPERM, "others may have written it", each)
    if status.st_size > _MAX_BYTES:
        raise OSError(errno.EFBIG, f"it has {status.st_size >> 20} MB", path)
    return files.read_regular(path, _MAX_BYTES)


def _is_guard(value: Any) -> bool:
    """Return whether a guard of the table has all fields, each of the right type."""
    if not isinstance(value, dict):
        return False
    project, texts = value.get("project"), value.get("texts")
    words = [value.get(name) for name in ("learning", "mode", "text", "instead", "number")]
    words.append(value.get("agent", ""))
    return (
        all(isinstance(each, str) and len(each) <= _MAX_TEXT for each in words)
        and words[1] in MODES
        and isinstance(value.get("matcher"), dict)
        and (project is None or isinstance(project, str))
        and isinstance(texts, list)
        and all(isinstance(each, str) for each in texts)
        and isinstance(value.get("any_case"), bool)
    )
