"""Find out which project a folder belongs to: the same key for every clone, work tree and subfolder."""

from __future__ import annotations

import errno
import os

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.platform import files, system
from reflect_git.platform.git import Git, GitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Optional

    from reflect_git.records.schema import Project

_MAX_REF_BYTES = 4096  # limit for HEAD and for the file of a branch
_MAX_CONFIG_BYTES = 1 << 20  # limit for a config
_MAX_REFS_BYTES = 64 << 20
_MAX_INCLUDES = 50
_TIMEOUT = 2.0  # walking a long history takes a while


def top_of(folder: str) -> Optional[str]:
    """Return the top of the work tree around a folder, named as the file system names it; None outside of any."""
    return paths.find_top(system.current.find_true_path(folder))


def identify_project(program: str, folder: str) -> Project:
    """Return the project of a folder.

    The key is the URL of `origin` or the only remote, the root commit, or the path.
    """
    top = top_of(folder)
    if top is None:
        real = system.current.find_true_path(folder)
        return {"key": f"path:{real}", "name": os.path.basename(real)}
    try:
        key = _get_key(program, top, _get_git_dir(top))
    except (ReflectError, OSError):  # not a repository after all
        key = None
    name = (key or top).rstrip("/").rpartition("/")[2] if key and not key.startswith("root:") else os.path.basename(top)
    return {"key": key or f"path:{os.path.realpath(top)}", "name": name}


def _get_key(program: str, top: str, git_dir: str) -> Optional[str]:
    """Return the key of a repository. Its config is read as a file without includes, so nothing in it is executed."""
    _require_regular(os.path.join(git_dir, "HEAD"), _MAX_REF_BYTES)
    settings = _load_config(program, top, os.path.join(_get_common_dir(git_dir), "config"))
    found = _get_remote_key(settings)
    if found or any(key.startswith("extensions.") or key.endswith(".promisor") for key in settings):
        return found  # a partial clone would fetch missing commits by itself, so do not ask it
    return _find_root_key(program, top, git_dir)


def get_root_key(program: str, top: str) -> Optional[str]:
    """Return the key by the first commit, whatever remotes the project has; None without a commit."""
    try:
        git_dir = _get_git_dir(top)
        _load_config(program, top, os.path.join(_get_common_dir(git_dir), "config"))
        return _find_root_key(program, top, git_dir)
    except (ReflectError, OSError):
        return None


def _load_config(program: str, top: str, config: str) -> dict[str, list[str]]:
    """Read a project's config; raise OSError if git would block on it, or on a file it includes.

    git opens whatever it finds there. A FIFO would block it, and the hook, until something writes to it.
    """
    git = Git(program, top, git_dir=os.devnull)
    found = git.parse_config(files.read_small_file(config, _MAX_CONFIG_BYTES))
    unread, seen = _list_includes(config, found), {os.path.realpath(config)}
    while unread:
        path = unread.pop()
        if os.path.realpath(path) in seen or not os.path.lexists(path):
            continue
        seen.add(os.path.realpath(path))
        if len(seen) > _MAX_INCLUDES:
            raise OSError(errno.EMLINK, "too many included files", path)
        text = files.read_small_file(path, _MAX_CONFIG_BYTES)
        if b"include" in text.lower():
            try:
                unread += _list_includes(path, git.parse_config(text))
            except GitError:  # git refuses it too, without blocking
                continue
    return found


def _list_includes(config: str, settings: Mapping[str, list[str]]) -> list[str]:
    """List the files that a config includes with `include` and `includeIf`, whether or not a condition holds."""
    named = [
        value
        for key, values in settings.items()
        if key == "include.path" or (key.startswith("includeif.") and key.endswith(".path"))
        for value in values
    ]
    return [os.path.join(os.path.dirname(config), os.path.expanduser(value)) for value in named if value]


def get_repository(top: str) -> tuple[str, str]:
    """Return the folder that represents a repository, the same for all its work trees, and its config.

    The folder is the main work tree, or the repository itself if it is bare. Raises OSError if `top` is in no
    repository.
    """
    git_dir = _get_git_dir(top)
    common = _get_common_dir(git_dir)
    config = os.path.join(common, "config")
    if common == git_dir:  # a main work tree, or a submodule
        return top, config
    home, name = os.path.split(os.path.realpath(common))
    return (home if name == ".git" else os.path.join(home, name)), config


def _get_git_dir(top: str) -> str:
    """Return the git directory. In a linked work tree, .git is a file `gitdir: PATH`."""
    if not os.path.isabs(top):  # it would depend on the current folder
        raise FileNotFoundError(top)
    dot = os.path.join(top, ".git")
    if os.path.isdir(dot):
        return dot
    target = os.fsdecode(files.read_regular(dot, 4096).partition(b"gitdir:")[2].strip())
    return os.path.normpath(os.path.join(top, target))


def _get_common_dir(git_dir: str) -> str:
    """Return the git directory with the config, which all work trees of a repository share."""
    try:
        common = os.fsdecode(files.read_regular(os.path.join(git_dir, "commondir"), 4096).strip())
    except OSError:
        return git_dir
    return os.path.normpath(os.path.join(git_dir, common))


def _get_remote_key(settings: Mapping[str, list[str]]) -> Optional[str]:
    urls = {
        key[len("remote.") : -len(".url")]: values[0]
        for key, values in settings.items()
        if key.startswith("remote.") and key.endswith(".url") and values
    }
    url = urls.get("origin") or (next(iter(urls.values())) if len(urls) == 1 else None)
    return normalise_url(url) if url else None


def _find_root_key(program: str, top: str, git_dir: str) -> Optional[str]:
    """Ask git for the first commit.

    The caller has checked the config. The other files that git opens are checked here: git would block on a FIFO.
    """
    common = _get_common_dir(git_dir)
    head = files.read_small_file(os.path.join(git_dir, "HEAD"), _MAX_REF_BYTES)
    branch = os.fsdecode(head[5:].strip()) if head.startswith(b"ref: ") else ""
    if branch and not os.path.isdir(os.path.join(common, branch)):
        _require_regular(os.path.join(common, branch), _MAX_REF_BYTES)
    for name in ("packed-refs", "shallow", "info/grafts", "objects/info/alternates"):
        _require_regular(os.path.join(common, name), _MAX_REFS_BYTES)
    for folder in ("objects/info", "objects/info/commit-graphs", "objects/pack"):
        _require_regular_files(os.path.join(common, folder))
    result = Git(program, top, git_dir=git_dir).run(
        "rev-list", "--max-parents=0", "HEAD", check=False, seconds=_TIMEOUT
    )
    roots = sorted(result.out.decode("ascii", "replace").split())
    return f"root:{roots[0]}" if result.code == 0 and roots else None


def _require_regular(path: str, most: int) -> None:
    """Apply `files.require_regular`. A missing file is fine; a dangling link is not."""
    if os.path.lexists(path):
        files.require_regular(path, most)


def _require_regular_files(folder: str) -> None:
    try:
        with os.scandir(folder) as entries:
            odd = [entry.name for entry in entries if not entry.is_file() and not entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return
    if odd:
        raise OSError(errno.EINVAL, "not a regular file", os.path.join(folder, odd[0]))


def normalise_url(url: str) -> str:
    """Return host/path without scheme, user, `.git` or default port; the host in lower case.

    `git@host:a/b.git` and https give the same result.
    """
    text = url.strip()
    scheme, separator, rest = text.partition("://")
    if separator and scheme.lower() == "file":
        return "file:" + _strip_suffix(rest)
    if not separator:
        if text.startswith(("/", ".", "~")) or ":" not in text.partition("/")[0]:
            return "file:" + _strip_suffix(text)
        host, _, path = text.partition(":")  # scp form
    else:
        host, _, path = rest.partition("/")
        host = _strip_default_port(host, scheme.lower())
    return f"{host.rpartition('@')[2].lower()}/{_strip_suffix(path).lstrip('/')}"


def _strip_suffix(path: str) -> str:
    return path.rstrip("/").removesuffix(".git")


def _strip_default_port(host: str, scheme: str) -> str:
    port = {"https": ":443", "http": ":80", "ssh": ":22", "git": ":9418"}.get(scheme, "")
    return host.removesuffix(port) if port else host
