"""Claude Code's settings file: whether it enables our plugin, and how its bytes are replaced."""

from __future__ import annotations

import os
import stat

from reflect_git.adapters import faults, files, jsontext
from reflect_git.errors import ReflectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_PLUGIN = "reflect-git@"
_LIMIT = 4 << 20


def settings_path(config_dir: str) -> str:
    return os.path.join(config_dir, "settings.json")


def read_settings(path: str) -> Optional[bytes]:
    """The file's bytes, through links; None where there is no file."""
    return files.read_if_there(os.path.realpath(path), _LIMIT)


def has_plugin(data: Optional[bytes]) -> bool:
    """Whether these settings enable our plugin, from whichever marketplace."""
    if not data or _PLUGIN.encode() not in data:
        return False
    try:
        settings = jsontext.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    enabled = settings.get("enabledPlugins") if isinstance(settings, dict) else None
    return isinstance(enabled, dict) and any(name.startswith(_PLUGIN) and on is True for name, on in enabled.items())


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
    if not status.st_mode & stat.S_IWUSR:
        raise _foreign(path, "is read-only", f"allow it: chmod u+w '{path}'")
    return real


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


def _stage(path: str, data: bytes, mode: int) -> str:
    """Beside the file under one name, so that what a kill leaves is overwritten the next time."""
    staged = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.reflect-git")
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
