"""Claude Code's settings file: whether it enables our plugin, and how its bytes are replaced; copies of the plugin."""

from __future__ import annotations

import glob
import os
import stat

from reflect_git.adapters import faults, files, jsontext
from reflect_git.errors import ReflectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_NAME = "reflect-git"
_PLUGIN = f"{_NAME}@"
_ORPHAN = ".orphaned_at"  # what the client writes into a copy when its plugin is uninstalled or updated
_FILES = {"project": "settings.json", "local": "settings.local.json"}
_LIMIT = 4 << 20


def settings_path(config_dir: str) -> str:
    return os.path.join(config_dir, "settings.json")


def read_settings(path: str) -> Optional[bytes]:
    """The file's bytes, through links; None where there is no file."""
    return files.read_if_there(os.path.realpath(path), _LIMIT)


def has_plugin(data: Optional[bytes]) -> bool:
    """Whether these settings enable our plugin, from whichever marketplace."""
    enabled = _entry(data, "enabledPlugins")
    return any(name.startswith(_PLUGIN) and on is True for name, on in enabled.items())


def projects_with_plugin(config_dir: str) -> list[tuple[str, str]]:
    """(folder, scope) of the projects that have our plugin for themselves: 'project' for all who work there, 'local'
    for this user. The client lists what it installed; the project's own settings say whether it is on."""
    installed = _entry(_read(os.path.join(config_dir, "plugins", "installed_plugins.json")), "plugins")
    ours = [each for name, each in installed.items() if name.startswith(_PLUGIN) and isinstance(each, list)]
    listed = [one for each in ours for one in each if isinstance(one, dict)]
    found = [(str(one.get("projectPath") or ""), str(one.get("scope"))) for one in listed]
    named = [(folder, scope) for folder, scope in found if scope in _FILES and os.path.isabs(folder)]
    return [(folder, scope) for folder, scope in named if _is_on(folder, scope)]


def _is_on(folder: str, scope: str) -> bool:
    return has_plugin(_read(os.path.join(folder, ".claude", _FILES[scope])))


def _read(path: str) -> Optional[bytes]:
    """What is not there or cannot be read says nothing."""
    try:
        return files.read_if_there(path, _LIMIT)
    except (OSError, ValueError):
        return None


def has_marketplace(data: Optional[bytes]) -> bool:
    """Whether these settings know the marketplace that our plugin brings itself."""
    return _NAME in _entry(data, "extraKnownMarketplaces")


def marketplace_folder(data: Optional[bytes]) -> str:
    """The folder that the client runs the plugin from, where it was added from one; empty otherwise."""
    known = _entry(data, "extraKnownMarketplaces").get(_NAME)
    source = known.get("source") if isinstance(known, dict) else None
    path = source.get("path") if isinstance(source, dict) and source.get("source") == "directory" else None
    return path if isinstance(path, str) else ""


def _entry(data: Optional[bytes], name: str) -> dict[str, Any]:
    """A mapping in these settings; they are not read for those who do not name us."""
    if not data or _NAME.encode() not in data:
        return {}
    try:
        settings = jsontext.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    found = settings.get(name) if isinstance(settings, dict) else None
    return found if isinstance(found, dict) else {}


def copies(config_dir: str, left_over: bool = False) -> list[str]:
    """Folders in which the client keeps the plugin, of each version; `left_over`: those that it needs no more."""
    found = glob.glob(os.path.join(glob.escape(config_dir), "plugins", "cache", "*", _NAME, "*", ""))
    kept = [path.rstrip("/") for path in sorted(found)]
    return [path for path in kept if os.path.exists(os.path.join(path, _ORPHAN))] if left_over else kept


def require_replaceable(path: str, home: str) -> str:
    """The real path of a settings file that we may replace."""
    real = os.path.realpath(path)
    homes = [os.path.realpath(folder) + os.sep for folder in (home, os.path.dirname(path))]
    if not real.startswith(tuple(homes)):
        raise _foreign(path, f"is a link to '{real}', outside your home folder", "change that file yourself")
    try:
        status = os.stat(real)
    except FileNotFoundError:
        if os.path.islink(path):
            raise _foreign(path, f"is a link to '{real}', which is not there", "make that file or remove it") from None
        return real
    if not os.access(os.path.dirname(real), os.W_OK):
        raise _foreign(path, "is in a folder that cannot be written to", "see who owns that folder")
    if not stat.S_ISREG(status.st_mode):
        raise _foreign(path, "is not a file", "move it away")
    if status.st_uid != os.geteuid():
        raise _foreign(path, "belongs to another user", "run as its owner")
    if status.st_nlink > 1:
        what = f"has {status.st_nlink} hard links; replacing it would separate them"
        raise _foreign(path, what, f"make the others symbolic links to it, or separate it: {_separating(real)}")
    if not status.st_mode & stat.S_IWUSR:
        raise _foreign(path, "is read-only", f"allow it: chmod u+w '{path}'")
    return real


def _separating(path: str) -> str:
    import shlex  # hardly ever needed

    return "cp -p {0} {1} && mv {1} {0}".format(shlex.quote(path), shlex.quote(f"{path}.copy"))


def replace_settings(path: str, home: str, before: Optional[bytes], after: Optional[bytes]) -> bool:
    """Put `after` where `before` was, all of it or nothing; False if the file is another one by now."""
    real = require_replaceable(path, home)
    if after is None:
        if read_settings(path) != before:
            return False
        files.remove(real)
    else:
        mode = files.PRIVATE_FILE if before is None else stat.S_IMODE(os.stat(real).st_mode)
        files.make_private_dirs(os.path.dirname(real))
        staged = _stage(real, after, mode)
        if read_settings(path) != before:
            files.remove(staged)
            return False
        files.rename(staged, real)
    files.sync_directory(os.path.dirname(real))
    return True


def staging_path(path: str) -> str:
    """Beside the real file, under one name, so that what a kill leaves is overwritten the next time."""
    folder, name = os.path.split(os.path.realpath(path))
    return os.path.join(folder, f".{name}.reflect-git")


def _stage(path: str, data: bytes, mode: int) -> str:
    staged = staging_path(path)
    faults.point("write", staged)
    descriptor = os.open(
        staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, files.PRIVATE_FILE
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode)
            faults.point("sync", staged)
            os.fsync(descriptor)
    except BaseException:
        files.discard(staged)
        raise
    return staged


def _foreign(path: str, what: str, hint: str) -> ReflectError:
    return ReflectError(f"'{path}' {what}", hint, code="settings-foreign")
