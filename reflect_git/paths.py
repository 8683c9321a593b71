"""Paths of the store, of Claude Code's folder and of shipped files, computed from the environment that is passed in."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Optional

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def config_dir(env: Mapping[str, str]) -> str:
    """Return Claude Code's own folder."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(home_dir(env), ".claude")


def home_dir(env: Mapping[str, str]) -> str:
    """Return the home folder."""
    return env.get("HOME") or os.path.expanduser("~")


def format_path(path: str, env: Mapping[str, str]) -> str:
    """Return a path for display, with '~' for the home folder."""
    home = home_dir(env).rstrip(os.sep) + os.sep
    return f"~/{path[len(home) :]}" if path.startswith(home) else path


def is_project(env: Mapping[str, str], folder: str) -> bool:
    """Return whether a folder can be a project: not the home folder, not the client's own folder, not the root."""
    nobodys = (home_dir(env), config_dir(env), os.sep)
    return os.path.realpath(folder) not in map(os.path.realpath, nobodys)


def store_home(env: Mapping[str, str], configured: Optional[str] = None) -> str:
    """Return the store's folder.

    The first that is set: REFLECT_GIT_HOME, git config reflect.home (global), CLAUDE_CONFIG_DIR/reflections,
    ~/.claude/reflections.
    """
    chosen = env.get("REFLECT_GIT_HOME") or configured
    if chosen:
        if chosen.startswith("~/"):
            chosen = chosen[2:]
        return os.path.normpath(os.path.join(home_dir(env), chosen))  # never relative to the current folder
    return os.path.normpath(os.path.abspath(os.path.join(config_dir(env), "reflections")))


def may_configure_home(env: Mapping[str, str]) -> bool:
    """Return whether the user's git config could set reflect.home.

    Asking git takes 2 ms, so ask only if the word occurs in a config file.
    """
    for path in _global_configs(env):
        try:
            if not os.path.isfile(path):  # opening a FIFO would block until something writes to it
                continue
            with open(path, "rb") as file:
                text = file.read(1 << 16).lower()
        except OSError:
            continue
        if b"reflect" in text or b"include" in text:
            return True
    return False


def _global_configs(env: Mapping[str, str]) -> list[str]:
    """List the global git config files."""
    if env.get("GIT_CONFIG_GLOBAL"):
        return [env["GIT_CONFIG_GLOBAL"]]
    home = home_dir(env)
    xdg = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return [os.path.join(home, ".gitconfig"), os.path.join(xdg, "git", "config")]


def find_top(folder: str) -> Optional[str]:
    """Find the nearest folder upwards that has a .git (a folder, or the file of a work tree or submodule)."""
    current = os.path.realpath(folder)
    while True:
        if os.path.exists(os.path.join(current, ".git")):
            return current
        parent = os.path.dirname(current)
        if parent == current:
            return None
        current = parent


def count_file_name(digest: str) -> str:
    """Return the name of the file that caches the number of open questions for the folder with this digest."""
    return f"glance-{digest}"


def projects_dir(env: Mapping[str, str]) -> str:
    """Return the folder in which the client keeps its transcripts."""
    return os.path.join(config_dir(env), "projects")


def sessions_folder(root: str) -> str:
    """Return the client's name for the folder of a project's transcripts."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in root)


def resource_path(*parts: str) -> str:
    """Return the path of a file of hooks/ or templates/: next to the package in a checkout, inside it in a wheel."""
    beside = os.path.join(os.path.dirname(_PACKAGE), *parts)
    inside = os.path.join(_PACKAGE, "data", *parts)
    return inside if os.path.exists(inside) else beside
