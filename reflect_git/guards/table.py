"""The compiled table of guards, and the script that Claude Code runs before a tool call.

    .git/reflect/cache/guards.json   the table: every guard with its matcher, and the texts that a call must contain
    .git/reflect/cache/guards.txt    the texts of all guards, one on a line, for grep
    .git/reflect/guard               the script: starts Python only if grep finds one of the texts in the call
    .git/reflect/cache/guards.stamp  the commit of main that the table was built from

Everything here is derived from the decisions on main. Nothing in a table is ever executed.
"""

from __future__ import annotations

import os

from reflect_git.guards.stored import CANARY, VERSION, get_table_path, load_table
from reflect_git.platform import files
from reflect_git.records import json_form
from reflect_git.records.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Optional

    from reflect_git.store.repository import Store

_GREPS = ("/usr/bin/grep", "/bin/grep")


class Guard(NamedTuple):
    """A rule that is enforced. `project` is the key of the project in which it applies; None means everywhere.

    `agent`: the only agent that it is for.
    """

    learning: str
    mode: str
    matcher: dict[str, Any]
    text: str
    instead: str
    project: Optional[str]
    number: str = ""
    agent: str = ""


def get_script_path(git_dir: str) -> str:
    """Return the path of the script that Claude Code's settings name."""
    return os.path.join(git_dir, "reflect", "guard")


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
        # One guard on a line: a hook parses only those that it needs.
        lines = ",\n".join(json_form.encode(each) for each in listed)
        texts_of_all = list(dict.fromkeys(text for texts in found if texts for text in texts.texts))
        any_case = any(texts.any_case for texts in found if texts)
        head = json_form.encode({"version": VERSION, "any_case": any_case, "texts": texts_of_all})
        table = f'{head[:-1]},"guards":[\n{lines}\n]}}\n'.encode("utf-8", "backslashreplace")
        searched = "".join(f"{text}\n" for text in (CANARY, *texts_of_all))
        files.write_atomic(get_table_path(git_dir), table)
        files.write_atomic(get_texts_path(git_dir), searched.encode("ascii"))
        script = _build_script(store, all(found), any_case)
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
        f'[ "$1" != stop ] || {{ {python} stop; exit 0; }}\n'
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
    return [
        Guard(one.learning, one.mode, one.matcher, one.text, one.instead, one.project, one.number, one.agent)
        for one in load_table(git_dir)[0]
    ]


def find_problem(git_dir: str) -> str:
    """Return what is wrong with the table; empty if it is fine or missing."""
    return load_table(git_dir)[1]
