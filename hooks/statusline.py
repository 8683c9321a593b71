#!/usr/bin/env python3
"""Print the number of open questions in this project, and of guards that fired today, for Claude Code's status line.

Called as `python3 -I -S hooks/statusline.py` after every turn, so it counts no questions itself. It prints the last
line of a cached file. A capture, a decision or a new day makes that file outdated; it is then rebuilt in the
background.
"""

from __future__ import annotations

import os
import sys
import time

# The package is next to this folder in a checkout, and around it (reflect_git/data/hooks) when installed.
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(_ROOT if os.path.isdir(os.path.join(_ROOT, "reflect_git")) else os.path.dirname(os.path.dirname(_ROOT)))


def _get_store_folder() -> str:
    """Return the store's folder."""
    from reflect_git import paths

    if os.environ.get("REFLECT_GIT_HOME") or not paths.may_configure_home(os.environ):
        return paths.store_home(os.environ)
    from reflect_git.capture import service

    return service.locate_store(os.environ)


def _read_start(path: str) -> str:
    """Return the beginning of a text file; empty if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(8192).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _get_project_folder() -> str:
    """Return the project's folder, which the client names in the environment and on stdin."""
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or _read_stdin_folder() or os.getcwd()
    from reflect_git import paths

    return paths.find_top(folder) or folder


def _read_stdin_folder() -> str:
    """Return the folder named on stdin.

    Read only if data is available: a custom status line may leave stdin open.
    """
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
    """Rebuild the cached count in the background."""
    from reflect_git.platform.processes import detach

    if detach():
        try:
            if sys.version_info >= (3, 10):
                from reflect_git.rules import queue

                queue.refresh_counts(os.environ, folder)
            else:  # generating the questions needs a newer Python
                from reflect_git.capture import service, sessions
                from reflect_git.store.reading import waiting_counts

                store = service.open_store(os.environ, create=False)
                sessions.update_waiting_count(store, os.environ, folder, time.time(), waiting_counts.BEST)
        finally:
            os._exit(0)


def main() -> None:
    """Print the cached line, and refresh the cache if it is outdated."""
    from reflect_git import paths
    from reflect_git.records.ids import folder_digest

    git_dir, folder = os.path.join(_get_store_folder(), ".git"), _get_project_folder()
    if not os.path.isdir(git_dir):
        return
    digest = folder_digest(folder)
    kept = _read_start(os.path.join(git_dir, "reflect", "cache", paths.count_file_name(digest))).split("\n")
    named, ref, tip, main_tip, day, how, _, line = kept[:8] if len(kept) > 8 else [""] * 8
    is_known = named == digest
    from reflect_git.store.local import firings

    fired = firings.format_today(firings.count_today(git_dir, time.time()))
    said = " · ".join(filter(None, (line if is_known else "", fired)))
    if said:
        os.write(1, (said + "\n").encode())
    seen = [_read_start(os.path.join(git_dir, name)).strip() for name in (ref, "refs/heads/main")]
    if not is_known or how == "guessed" or day != time.strftime("%Y-%m-%d") or seen != [tip, main_tip]:
        _refresh(folder)


try:
    main()
except BaseException:  # never disturb the session
    pass
os._exit(0)
