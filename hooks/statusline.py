#!/usr/bin/env python3
"""Print how many questions wait in this project, for Claude Code's status line: `python3 -I -S hooks/statusline.py`.

It runs after every turn, so it counts nothing: it prints the last line of a file that others keep, and has it made
again in the background when a capture, a decision or a new day made it old.
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
            return file.read(8192).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _folder() -> str:
    """Return the project's folder: the client names it in the environment, and on stdin."""
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or _told_folder() or os.getcwd()
    from reflect_git import paths

    return paths.top_of(folder) or folder


def _told_folder() -> str:
    """Read stdin only if something is there: a status line of the user's own may leave it open."""
    import select

    if os.isatty(0) or not select.select([0], [], [], 0)[0]:
        return ""
    import json

    try:
        told = json.loads(os.read(0, 1 << 16))
        return str(told.get("workspace", {}).get("project_dir") or told.get("cwd") or "")
    except (ValueError, AttributeError):
        return ""


def _refresh(folder: str) -> None:
    from reflect_git.adapters.process import detach

    if detach():
        try:
            if sys.version_info >= (3, 10):
                from reflect_git.sitting import counting

                counting.refresh(os.environ, folder)
            else:  # what asks the questions needs a newer Python
                from reflect_git import workflow
                from reflect_git.store import glance
                from reflect_git.workflow import sessions

                store = workflow.open_store(os.environ, create=False)
                sessions.count_questions(store, os.environ, folder, time.time(), glance.BEST)
        finally:
            os._exit(0)


def main() -> None:
    from reflect_git import paths
    from reflect_git.model.ids import folder_digest

    git_dir, folder = os.path.join(_home(), ".git"), _folder()
    if not os.path.isdir(git_dir):
        return
    digest = folder_digest(folder)
    kept = _read(os.path.join(git_dir, "reflect", "cache", paths.count_file(digest))).split("\n")
    named, ref, tip, main_tip, day, how, _, line = kept[:8] if len(kept) > 8 else [""] * 8
    is_known = named == digest
    if line and is_known:
        os.write(1, (line + "\n").encode())
    seen = [_read(os.path.join(git_dir, name)).strip() for name in (ref, "refs/heads/main")]
    if not is_known or how == "guessed" or day != time.strftime("%Y-%m-%d") or seen != [tip, main_tip]:
        _refresh(folder)


try:
    main()
except BaseException:  # never the session's trouble
    pass
os._exit(0)
