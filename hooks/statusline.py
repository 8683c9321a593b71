#!/usr/bin/env python3
"""What waits in the store, for Claude Code's status line: `python3 -I -S hooks/statusline.py`.

It runs after every turn, so it counts nothing: it prints the last line of a file that others keep, and has it made
again in the background when a capture or a new day made it old.
"""

from __future__ import annotations

import os
import sys
import time

# Beside the package in a checkout, inside it (reflect_git/data/hooks) when installed.
_UP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(_UP if os.path.isdir(os.path.join(_UP, "reflect_git")) else os.path.dirname(os.path.dirname(_UP)))


def _home() -> str:
    from reflect_git import paths

    if os.environ.get("REFLECT_GIT_HOME") or not paths.may_configure_home(os.environ):
        return paths.store_home(os.environ)
    from reflect_git import workflow

    return workflow.locate_store(os.environ)


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(4096).decode("utf-8", "replace")
    except OSError:
        return ""


def _refresh() -> None:
    from reflect_git.adapters.process import detach

    if detach():
        try:
            from reflect_git import workflow
            from reflect_git.store import glance

            glance.refresh(workflow.open_store(os.environ, create=False), time.time())
        finally:
            os._exit(0)


def main() -> None:
    git_dir = os.path.join(_home(), ".git")
    if not os.path.isdir(git_dir):
        return
    ref, tip, day, _, line = (*_read(os.path.join(git_dir, "reflect", "cache", "glance")).split("\n"), *[""] * 5)[:5]
    if line:
        os.write(1, (line + "\n").encode())
    stale = day != time.strftime("%Y-%m-%d", time.gmtime()) or tip != _read(os.path.join(git_dir, ref)).strip()
    if stale or not ref:
        _refresh()


try:
    main()
except BaseException:  # never the session's trouble
    pass
os._exit(0)
