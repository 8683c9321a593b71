"""Create a new store: in a temporary folder that is then renamed, so that 32 concurrent hooks create only one."""

from __future__ import annotations

import errno
import os
import stat
import time

from reflect_git import __version__
from reflect_git.errors import ReflectError
from reflect_git.paths import resource_path
from reflect_git.platform import files
from reflect_git.platform.git import COMMITTER, MIN_VERSION, Git, GitMissing, find_git
from reflect_git.records import json_form
from reflect_git.records.ids import utc
from reflect_git.store import config_file, opening
from reflect_git.store.main import receipts
from reflect_git.store.repository import (
    FIRST_GENERATION,
    INBOX,
    MAIN,
    PRIVATE_FOLDERS,
    SIGNALS_README,
    VERSION_FILE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_DRAFT_PREFIX = ".reflections-new-"
_ABANDONED_SECONDS = 600
# One process creates the store while the others wait: 64 that each create one take twice as long as 64 captures. After
# this many seconds a waiting process creates one too; the first rename wins.
_LOCK_SECONDS = 2.0

# The first commit is the same on every machine, so stores that never met have a common ancestor.
_ROOT_TIME = 1767225600

# A `git revert` of an approval removes its records. A snapshot of a target keeps what we last wrote, whatever came
# later.
MERGE_DRIVER = {"merge.reflect.name": "leave what reflect-git last wrote", "merge.reflect.driver": "true"}


def create_store(root: str, env: Mapping[str, str]) -> None:
    """Create the store, unless another process does it first."""
    require_usable_folder(root)
    parent = os.path.dirname(root)
    files.make_private_dirs(parent)
    turn = files.lock_directory(parent, _LOCK_SECONDS)
    try:
        if not os.path.lexists(os.path.join(root, ".git")):  # nobody created it while we waited
            _create_in_draft(root, parent, env)
    finally:
        if turn >= 0:
            os.close(turn)


def _create_in_draft(root: str, parent: str, env: Mapping[str, str]) -> None:
    remove_abandoned_drafts(parent)
    draft = os.path.join(parent, f"{_DRAFT_PREFIX}{os.getpid()}-{os.urandom(4).hex()}")
    files.make_private_dirs(draft)
    try:
        git = Git(find_git(env.get("PATH", ""), env.get("CLAUDE_PROJECT_DIR", "")), draft)
        require_version(git)
        _write_store(git, draft, root)
        files.sync_tree(draft)
        files.rename(draft, root)
    except OSError as error:
        files.remove_tree(draft)
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):  # another process was faster, which is fine
            raise
    except BaseException:
        files.remove_tree(draft)
        raise
    files.sync_directory(parent)


def require_version(git: Git) -> None:
    """Raise an error if git is too old."""
    found = git.get_version()
    if found < MIN_VERSION:
        raise GitMissing(f"git {'.'.join(map(str, found))} is too old: '{git.program}'")


def require_usable_folder(root: str) -> None:
    """Raise an error unless the folder is ours and empty, missing, or already a store."""
    if not os.path.lexists(root):
        _require_own_home(os.path.dirname(root))
        return
    files.require_own_directory(root)
    found = os.listdir(root)
    if found and ".git" not in found:  # with .git, another process created a store meanwhile
        raise ReflectError(
            f"'{root}' exists and is not a reflect-git store", "move it away, or choose another place with "
            "'git config --global reflect.home DIR'", code="store-foreign",
        )  # fmt: skip


def _require_own_home(folder: str) -> None:
    """Refuse another user's home: with `sudo` and the caller's HOME, root would create a store they cannot use."""
    while not os.path.exists(folder):
        folder = os.path.dirname(folder)
    if os.stat(folder).st_uid not in (os.geteuid(), 0):
        raise ReflectError(
            f"'{folder}' belongs to another user", "run as its owner, or set HOME to your own home folder",
            code="store-owner",
        )  # fmt: skip


def remove_abandoned_drafts(parent: str) -> None:
    """Delete what a killed creation left, after ten minutes. Other processes may do the same at once."""
    for name in files.list_names_with_prefix(parent, _DRAFT_PREFIX):
        path = os.path.join(parent, name)
        try:
            status = os.lstat(path)
            old = time.time() - status.st_mtime > _ABANDONED_SECONDS
            if old and stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                files.remove_tree(path)
        except OSError:
            continue


def _write_store(git: Git, draft: str, root: str) -> None:
    """Write a complete store into the draft folder."""
    git.run("init", "--quiet", "--template=", "-b", "main", "--object-format=sha1")
    machine = opening.new_machine_name()
    _write_config(git, machine, opening.get_binding(root))
    _write_private(git, machine)
    git.run("fast-import", "--quiet", "--done", stdin=_build_first_commits(machine))
    git.run("read-tree", "-m", "-u", "HEAD")
    files.make_private_dirs(os.path.join(draft, "signals"))
    files.write_atomic(os.path.join(draft, *SIGNALS_README.split("/")), read_template("store", "signals.md"))


def _write_config(git: Git, machine: str, binding: str) -> None:
    """Add our settings to the config as text: ten `git config` calls would cost 15 ms."""
    ours = f"""\
[core]
\tlogallrefupdates = false
\tsharedRepository = 0600
\tfsmonitor = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[merge "reflect"]
\tname = {MERGE_DRIVER["merge.reflect.name"]}
\tdriver = {MERGE_DRIVER["merge.reflect.driver"]}
[reflect]
\tmachine = {machine}
\tbinding = {binding}
\tborn = {utc()}
"""
    path = os.path.join(git.git_dir, "config")
    core = files.read_regular(path, 1 << 16).replace(b"\tlogallrefupdates = true\n", b"")
    files.write_atomic(path, core + ours.encode())


def _write_private(git: Git, machine: str) -> None:
    """Write the private files, git's info files, the pre-push hook and empty reflogs."""
    for name in PRIVATE_FOLDERS:
        files.make_private_dirs(os.path.join(git.git_dir, "reflect", name))
    named = json_form.dumps({config_file.MACHINE_KEY: machine})
    for name, data in (
        (config_file.POLICY_FILE, named), (receipts.FILE, receipts.EMPTY_FILE), ("stored", b""),
        (VERSION_FILE, __version__.encode()),
    ):  # fmt: skip
        files.write_atomic(os.path.join(git.git_dir, "reflect", name), data)
    for folder, name, source in (
        ("info", "exclude", "exclude"), ("info", "attributes", "attributes"), ("hooks", "pre-push", "pre-push")
    ):  # fmt: skip
        files.make_private_dirs(os.path.join(git.git_dir, folder))
        files.write_atomic(os.path.join(git.git_dir, folder, name), read_template("store", source))
    os.chmod(os.path.join(git.git_dir, "hooks", "pre-push"), 0o700)
    files.make_private_dirs(os.path.join(git.git_dir, "logs", "refs", "heads"))
    # git only appends to existing reflogs: main has one, an inbox does not
    for name in ("logs/HEAD", "logs/refs/heads/main"):
        files.write_atomic(os.path.join(git.git_dir, name), b"")


def find_missing_lines(live: bytes, shipped: bytes) -> list[bytes]:
    """List the shipped lines, without comments, that a file lacks."""
    present = set(live.splitlines())
    return [line for line in shipped.splitlines() if not line.startswith(b"#") and line not in present]


def add_missing_lines(path: str, shipped: bytes) -> None:
    """Add the missing shipped lines to a file; keep lines that a person added."""
    live = files.read_if_exists(path)
    if live is None:
        files.make_private_dirs(os.path.dirname(path))
        files.write_atomic(path, shipped)
        return
    joint = b"" if live.endswith(b"\n") or not live else b"\n"
    files.write_atomic(path, live + joint + b"\n".join(find_missing_lines(live, shipped)) + b"\n")


def _build_first_commits(machine: str) -> bytes:
    main = build_first_commit(
        MAIN, "init: a place for what is learned", "README.md", read_template("store", "README.md"), _ROOT_TIME
    )
    return main + build_first_inbox_commit(machine, FIRST_GENERATION) + b"done\n"


def build_first_inbox_commit(machine: str, generation: str) -> bytes:
    """Return the first commit of an inbox branch as a fast-import stream."""
    ref = f"{INBOX}{machine}/{generation}"
    return build_first_commit(
        ref, f"init: inbox of {machine}", SIGNALS_README, read_template("store", "signals.md"), int(time.time())
    )


def build_first_commit(ref: str, subject: str, path: str, data: bytes, seconds: int) -> bytes:
    """Return a commit without a parent as a fast-import stream."""
    message = subject.encode()
    head = f"commit {ref}\ncommitter {COMMITTER} {seconds} +0000\ndata {len(message)}\n".encode()
    return head + message + f"\nM 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


def read_template(*parts: str) -> bytes:
    """Return the bytes of a shipped template."""
    return files.read_regular(resource_path("templates", *parts), 1 << 16)
