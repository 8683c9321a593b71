"""The compiled table of guards, and the script that Claude Code runs before a tool call.

    .git/reflect/cache/guards.json   the table: every guard with its matcher, and the texts that a call must contain
    .git/reflect/cache/guards.txt    the texts of all guards, one on a line, for grep
    .git/reflect/guard               the script: starts Python only if grep finds one of the texts in the call
    .git/reflect/cache/guards.stamp  the commit of main that the table was built from

Everything here is derived from the decisions on main. Nothing in a table is ever executed.
"""

from __future__ import annotations

import errno
import os
import stat

from reflect_git.platform import files
from reflect_git.records import json_form
from reflect_git.records.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Optional

    from reflect_git.store.repository import Store

MODES = ("watch", "hint", "ask", "deny")  # from the weakest to the strongest
CANARY = "reflect-git-guard-canary"  # a command that `doctor` sends through the script; it is always refused
VERSION = 1
_MAX_BYTES = 4 << 20
_MAX_GUARDS = 5000
_MAX_TEXT = 8000
_GREPS = ("/usr/bin/grep", "/bin/grep")


class Guard(NamedTuple):
    """A rule that is enforced. `project` is the key of the project in which it applies; None means everywhere."""

    learning: str
    mode: str
    matcher: dict[str, Any]
    text: str
    instead: str
    project: Optional[str]
    number: str = ""


class StoredGuard(NamedTuple):
    """A guard of the table with its texts: a call that contains none of them is not matched. Empty: every call is."""

    guard: Guard
    texts: list[str]
    any_case: bool


def get_script_path(git_dir: str) -> str:
    """Return the path of the script that Claude Code's settings name."""
    return os.path.join(git_dir, "reflect", "guard")


def get_table_path(git_dir: str) -> str:
    """Return the path of the compiled table."""
    return os.path.join(git_dir, "reflect", "cache", "guards.json")


def get_texts_path(git_dir: str) -> str:
    """Return the path of the file with the texts that grep looks for."""
    return os.path.join(git_dir, "reflect", "cache", "guards.txt")


def get_stamp_path(git_dir: str) -> str:
    """Return the path of the file with the commit that the table was built from."""
    return os.path.join(git_dir, "reflect", "cache", "guards.stamp")


def write_table(store: Store, guards: Sequence[Guard], stamp: str = "") -> None:
    """Write table, texts and script, each atomically; remove them if there are no guards.

    `stamp` is the commit of main that the guards were read from. Without one, the next session rebuilds the table.
    """
    git_dir, cache = store.git_dir, store.private_path("cache")
    files.remove(get_stamp_path(git_dir))
    if guards:
        from reflect_git.guards.literals import find_texts

        files.make_private_dirs(cache)
        found = [find_texts(guard.matcher) for guard in guards]
        listed = [
            {**guard._asdict(), "texts": list(texts.texts) if texts else [], "any_case": bool(texts and texts.any_case)}
            for guard, texts in zip(guards, found)
        ]
        # One guard on a line: diffs and people can read it.
        lines = ",\n".join(json_form.encode(each) for each in listed)
        table = f'{{"version":{VERSION},"guards":[\n{lines}\n]}}\n'.encode("utf-8", "backslashreplace")
        texts_of_all = dict.fromkeys([CANARY, *(text for texts in found if texts for text in texts.texts)])
        files.write_atomic(get_table_path(git_dir), table)
        files.write_atomic(get_texts_path(git_dir), "".join(f"{text}\n" for text in texts_of_all).encode("ascii"))
        script = _build_script(store, all(found), any(texts.any_case for texts in found if texts))
        staged = os.path.join(cache, ".tmp-guard")
        files.write_atomic(staged, script.encode("utf-8", "surrogateescape"))
        os.chmod(staged, 0o700)
        files.rename(staged, get_script_path(git_dir))
        files.sync_directory(store.private)
    else:
        for path in (get_script_path(git_dir), get_texts_path(git_dir), get_table_path(git_dir)):
            files.remove(path)
    if stamp:
        write_stamp(store, stamp)


def write_stamp(store: Store, stamp: str) -> None:
    """Note the commit of main that the table was built from; without a table: that has no guards."""
    files.write_atomic(get_stamp_path(store.git_dir), stamp.encode("ascii", "replace"), sync=False)


def _build_script(store: Store, has_texts: bool, any_case: bool) -> str:
    """Return the script. It prints only what Python prints, and ends with 0 whatever happens.

    grep prints the line in which it found a text. Claude Code writes a call on one line, so this is the whole call, and
    a call is read only once. Without texts for every guard, Python looks at all calls.
    """
    import sys
    from shlex import quote

    from reflect_git import paths

    base = store.env.get("XDG_CACHE_HOME") or os.path.join(paths.home_dir(store.env), ".cache")
    compiled = f"pycache_prefix={os.path.join(base, 'reflect-git', 'pycache')}"
    program = paths.resource_path("hooks", "guard.py")
    python = " ".join(map(quote, (sys.executable, "-I", "-S", "-X", compiled, program, store.root)))
    grep = next((path for path in _GREPS if os.access(path, os.X_OK)), "")
    head = (
        "#!/bin/sh\n"
        "# Written by reflect-git: passes a tool call to Python only if it contains a text of a guard.\n"
        "exec 2>/dev/null\n"
        '[ "$REFLECT_GIT_OFF" != 1 ] || exit 0\n'
    )
    if not has_texts or not grep:
        return f"{head}{python}\nexit 0\n"
    options = "-iF" if any_case else "-F"
    texts = quote(get_texts_path(store.git_dir))
    return (
        f"{head}call=$(LC_ALL=C {grep} {options} -f {texts}) || exit 0\nprintf '%s\\n' \"$call\" | {python}\nexit 0\n"
    )


def read_table(git_dir: str) -> list[Guard]:
    """Return the guards of the table; empty if there is none or it cannot be trusted. See `find_problem`."""
    return [each.guard for each in load_table(git_dir)[0]]


def find_problem(git_dir: str) -> str:
    """Return what is wrong with the table; empty if it is fine or there is none."""
    return load_table(git_dir)[1]


def load_table(git_dir: str) -> tuple[list[StoredGuard], str]:
    """Return the guards with their texts, and what is wrong with the table; never raise an error."""
    path = get_table_path(git_dir)
    try:
        data = _read_private(path)
        table = json_form.loads(data.decode("utf-8"))
        listed = table["guards"] if table["version"] == VERSION else None
        if not isinstance(listed, list) or len(listed) > _MAX_GUARDS:
            return [], f"'{path}' has another form"
    except FileNotFoundError:
        return [], ""
    except OSError as error:
        return [], f"'{path}' cannot be read: {(error.strerror or str(error)).lower()}"
    except (ValueError, TypeError, KeyError, RecursionError, MemoryError):
        return [], f"'{path}' has another form"
    found = [_parse_guard(each) for each in listed]
    broken = found.count(None)
    return [
        each for each in found if each
    ], f"{broken} of {len(found)} guards in '{path}' are damaged" if broken else ""


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


def _parse_guard(value: Any) -> Optional[StoredGuard]:
    """Return a guard of the table; None if it is damaged."""
    if not isinstance(value, dict):
        return None
    project, texts = value.get("project"), value.get("texts")
    words = [value.get(name) for name in ("learning", "mode", "text", "instead", "number")]
    if not all(isinstance(each, str) and len(each) <= _MAX_TEXT for each in words) or words[1] not in MODES:
        return None
    if not isinstance(value.get("matcher"), dict) or not (project is None or isinstance(project, str)):
        return None
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        return None
    learning, mode, text, instead, number = words
    guard = Guard(str(learning), str(mode), value["matcher"], str(text), str(instead), project, str(number))
    return StoredGuard(guard, texts, value.get("any_case") is True)
