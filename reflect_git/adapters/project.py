"""Which project a folder belongs to: the same key for every clone, work tree and subfolder."""

from __future__ import annotations

import errno
import os

from reflect_git import paths
from reflect_git.adapters import files
from reflect_git.adapters.git import Git, GitError
from reflect_git.errors import ReflectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Optional

    from reflect_git.model.schema import Project

_SHORT = 4096  # HEAD, and the file of a branch
_MOST = 1 << 20  # a config
_MOST_REFS = 64 << 20
_INCLUDES = 50
_SECONDS = 2.0  # a long history takes a while to walk through

top_of = paths.top_of


def identify(program: str, folder: str) -> Project:
    """URL of `origin` or of the only remote; else the root commit; else the path on this machine."""
    top = top_of(folder)
    if top is None:
        return {"key": f"path:{os.path.realpath(folder)}", "name": os.path.basename(os.path.realpath(folder))}
    try:
        key = _key(program, top, _git_dir(top))
    except (ReflectError, OSError):  # not a repository after all
        key = None
    name = (key or top).rstrip("/").rpartition("/")[2] if key and not key.startswith("root:") else os.path.basename(top)
    return {"key": key or f"path:{os.path.realpath(top)}", "name": name}


def _key(program: str, top: str, git_dir: str) -> Optional[str]:
    """The config is read as a file, without what it includes: what it says must not be done, only looked at."""
    _require_plain(os.path.join(git_dir, "HEAD"), _SHORT)
    settings = _settings(program, top, os.path.join(_common_dir(git_dir), "config"))
    found = _remote_key(settings)
    if found or any(key.startswith("extensions.") or key.endswith(".promisor") for key in settings):
        return found  # a repository that fetches by itself what it lacks is not asked for its commits
    return _root_key(program, top, git_dir)


def root_key(program: str, top: str) -> Optional[str]:
    """What a project is called by its first commit, whatever remotes it has."""
    try:
        git_dir = _git_dir(top)
        _settings(program, top, os.path.join(_common_dir(git_dir), "config"))
        return _root_key(program, top, git_dir)
    except (ReflectError, OSError):
        return None


def _settings(program: str, top: str, config: str) -> dict[str, list[str]]:
    """Read a project's config; raise OSError if git would wait for it, or for a file that it includes.

    git opens whatever it finds there. A FIFO would keep it, and the hook, until somebody writes into it.
    """
    git = Git(program, top, git_dir=os.devnull)
    found = git.parse_settings(files.read_followed(config, _MOST))
    unread, seen = _included(config, found), {os.path.realpath(config)}
    while unread:
        path = unread.pop()
        if os.path.realpath(path) in seen or not os.path.lexists(path):
            continue
        seen.add(os.path.realpath(path))
        if len(seen) > _INCLUDES:
            raise OSError(errno.EMLINK, "too many included files", path)
        text = files.read_followed(path, _MOST)
        if b"include" in text.lower():
            try:
                unread += _included(path, git.parse_settings(text))
            except GitError:  # git refuses it, too, and waits for nothing
                continue
    return found


def _included(config: str, settings: Mapping[str, list[str]]) -> list[str]:
    """List the files that a config names in `include` and `includeIf`; a condition that does not hold counts, too."""
    named = [
        value
        for key, values in settings.items()
        if key == "include.path" or (key.startswith("includeif.") and key.endswith(".path"))
        for value in values
    ]
    return [os.path.join(os.path.dirname(config), os.path.expanduser(value)) for value in named if value]


def repository_of(top: str) -> tuple[str, str]:
    """The folder that stands for a repository, the same for all its work trees, and its config: the main work tree; the
    repository itself where there is none. OSError where `top` is in no repository."""
    git_dir = _git_dir(top)
    common = _common_dir(git_dir)
    config = os.path.join(common, "config")
    if common == git_dir:  # a main work tree, or a submodule
        return top, config
    home, name = os.path.split(os.path.realpath(common))
    return (home if name == ".git" else os.path.join(home, name)), config


def _git_dir(top: str) -> str:
    """A work tree's .git is a file `gitdir: PATH`; the config of its repository lies where `commondir` points."""
    if not os.path.isabs(top):  # it would be looked for where this process happens to stand
        raise FileNotFoundError(top)
    dot = os.path.join(top, ".git")
    if os.path.isdir(dot):
        return dot
    target = os.fsdecode(files.read_regular(dot, 4096).partition(b"gitdir:")[2].strip())
    return os.path.normpath(os.path.join(top, target))


def _common_dir(git_dir: str) -> str:
    """Where the config of a linked work tree lies."""
    try:
        common = os.fsdecode(files.read_regular(os.path.join(git_dir, "commondir"), 4096).strip())
    except OSError:
        return git_dir
    return os.path.normpath(os.path.join(git_dir, common))


def _remote_key(settings: Mapping[str, list[str]]) -> Optional[str]:
    urls = {
        key[len("remote.") : -len(".url")]: values[0]
        for key, values in settings.items()
        if key.startswith("remote.") and key.endswith(".url") and values
    }
    url = urls.get("origin") or (next(iter(urls.values())) if len(urls) == 1 else None)
    return normalise_url(url) if url else None


def _root_key(program: str, top: str, git_dir: str) -> Optional[str]:
    """Ask git for the first commit. The caller has looked at the config; the other files that git opens are looked at
    here, because it would wait for a FIFO among them."""
    common = _common_dir(git_dir)
    head = files.read_followed(os.path.join(git_dir, "HEAD"), _SHORT)
    branch = os.fsdecode(head[5:].strip()) if head.startswith(b"ref: ") else ""
    if branch and not os.path.isdir(os.path.join(common, branch)):
        _require_plain(os.path.join(common, branch), _SHORT)
    for name in ("packed-refs", "shallow", "info/grafts", "objects/info/alternates"):
        _require_plain(os.path.join(common, name), _MOST_REFS)
    for folder in ("objects/info", "objects/info/commit-graphs", "objects/pack"):
        _require_plain_files(os.path.join(common, folder))
    result = Git(program, top, git_dir=git_dir).run(
        "rev-list", "--max-parents=0", "HEAD", check=False, seconds=_SECONDS
    )
    roots = sorted(result.out.decode("ascii", "replace").split())
    return f"root:{roots[0]}" if result.code == 0 and roots else None


def _require_plain(path: str, most: int) -> None:
    """As `files.require_plain`; a file that is not there is no obstacle, a link that leads nowhere is one."""
    if os.path.lexists(path):
        files.require_plain(path, most)


def _require_plain_files(folder: str) -> None:
    try:
        with os.scandir(folder) as entries:
            odd = [entry.name for entry in entries if not entry.is_file() and not entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return
    if odd:
        raise OSError(errno.EINVAL, "not a regular file", os.path.join(folder, odd[0]))


def normalise_url(url: str) -> str:
    """host/path: no scheme, no user info, no `.git`, host in lower case. `git@host:a/b.git` and https give the same."""
    text = url.strip()
    scheme, separator, rest = text.partition("://")
    if separator and scheme.lower() == "file":
        return "file:" + _without_suffix(rest)
    if not separator:
        if text.startswith(("/", ".", "~")) or ":" not in text.partition("/")[0]:
            return "file:" + _without_suffix(text)
        host, _, path = text.partition(":")  # scp form
    else:
        host, _, path = rest.partition("/")
        host = _without_default_port(host, scheme.lower())
    return f"{host.rpartition('@')[2].lower()}/{_without_suffix(path).lstrip('/')}"


def _without_suffix(path: str) -> str:
    return path.rstrip("/").removesuffix(".git")


def _without_default_port(host: str, scheme: str) -> str:
    port = {"https": ":443", "http": ":80", "ssh": ":22", "git": ":9418"}.get(scheme, "")
    return host.removesuffix(port) if port else host
