"""With any configuration, environment, umask, PATH and folders: captures and decisions succeed."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from reflect_git.capture import service
from reflect_git.errors import ReflectError
from reflect_git.store.main import main_branch
from tests.faults import REPO, git, run_operation
from tests.store import operations
from tests.store.store_checks import capture, inbox_ids, main_paths, open_store, require_promises, user_commit

NEW = {"machines/m.yaml": b'name: "m"\n'}
FAILING = '#!/bin/sh\ntouch "$HOME/hook-ran"\nexit 1\n'


def write(root: Path) -> list[str]:
    """Create a store, a capture, a decision, another capture."""
    store = open_store(root)
    first = capture(store, "use tabs")["id"]
    with store.locked(5):
        main_branch.commit_files(store, NEW, "sync: a machine\n")
    return [first, capture(open_store(root), "use spaces")["id"]]


def work(root: Path) -> None:
    written = write(root)
    require_promises(root, written)
    assert "machines/m.yaml" in main_paths(root)


def failing_hooks(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in ("pre-commit", "commit-msg", "reference-transaction", "post-index-change", "post-checkout", "pre-push"):
        (folder / name).write_text(FAILING)
        (folder / name).chmod(0o755)
    return folder


def configure(home: Path, text: str) -> None:
    (home / ".gitconfig").write_text(text)


SETTINGS = {
    "gpgsign": "[commit]\n\tgpgsign = true\n[user]\n\tsigningkey = nobody\n[gpg]\n\tprogram = false\n",
    "autocrlf": "[core]\n\tautocrlf = true\n\teol = crlf\n\tsafecrlf = true\n",
    "no identity": "[user]\n\tuseConfigOnly = true\n",
    "fsmonitor": "[core]\n\tfsmonitor = /bin/false\n\tuntrackedCache = true\n",
    "other defaults": "[init]\n\tdefaultBranch = trunk\n\tdefaultObjectFormat = sha256\n",
    "log, colour and pager": "[color]\n\tui = always\n[log]\n\tshowSignature = true\n",
    "open to the world": "[core]\n\tsharedRepository = world\n[fsck]\n\tmissingEmail = error\n",
    "broken": "[core\n\tautocrlf = tr",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_global_configuration(home: Path, store_home: Path, name: str) -> None:
    configure(home, SETTINGS[name])
    written = write(store_home)
    configure(home, "")
    require_promises(store_home, written)
    assert "machines/m.yaml" in main_paths(store_home)


def test_global_hooks_path(home: Path, store_home: Path) -> None:
    configure(home, f"[core]\n\thooksPath = {failing_hooks(home / 'hooks')}\n")
    work(store_home)
    assert not (home / "hook-ran").exists()


def test_global_excludes(home: Path, store_home: Path) -> None:
    (home / "ignore").write_text("*.yaml\n*\n")
    configure(home, f"[core]\n\texcludesFile = {home / 'ignore'}\n")
    work(store_home)


def test_global_attributes(home: Path, store_home: Path) -> None:
    (home / "attributes").write_text("* text eol=crlf filter=broken ident\n")
    configure(
        home, f'[core]\n\tattributesFile = {home / "attributes"}\n[filter "broken"]\n\tclean = false\n\trequired\n'
    )
    work(store_home)


def test_global_template(home: Path, store_home: Path) -> None:
    failing_hooks(home / "template" / "hooks")
    (home / "template" / "config").write_text("[core]\n\tbare = true\n")
    configure(home, f"[init]\n\ttemplateDir = {home / 'template'}\n")
    work(store_home)
    assert not (home / "hook-ran").exists()


def test_inherited_git_variables(home: Path, store_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = home / "other"
    git(home, "init", "-q", str(other))
    user_commit(other, "theirs.md", "theirs\n")
    before = snapshot_of(other)
    inherited = {
        "GIT_DIR": other / ".git", "GIT_WORK_TREE": other, "GIT_INDEX_FILE": other / ".git/index",
        "GIT_OBJECT_DIRECTORY": other / ".git/objects", "GIT_COMMON_DIR": other / ".git", "GIT_NAMESPACE": "other",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": other / ".git/objects", "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "true", "GIT_CONFIG_PARAMETERS": "'core.bare'='true'",
        "GIT_AUTHOR_DATE": "nonsense", "GIT_COMMITTER_DATE": "nonsense", "GIT_TRACE": "2", "GIT_DEFAULT_HASH": "sha256",
        "GIT_EXEC_PATH": home, "GIT_TEMPLATE_DIR": home, "GIT_CEILING_DIRECTORIES": "/", "GIT_QUARANTINE_PATH": other,
    }  # fmt: skip
    for name, value in inherited.items():
        monkeypatch.setenv(name, str(value))
    store = open_store(store_home)
    identity = capture(store, "use tabs")["id"]
    with store.locked(5):
        main_branch.commit_files(store, NEW, "sync: a machine\n")
    for name in inherited:
        monkeypatch.delenv(name)
    assert snapshot_of(other) == before
    require_promises(store_home, [identity])
    assert "machines/m.yaml" in main_paths(store_home)


def snapshot_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def too_open(root: Path) -> list[str]:
    """Return what others could read: folders beyond 0700, files beyond 0600 (0700 if executable)."""
    found = []
    for path in (root, *root.rglob("*")):
        if stat.S_IMODE(path.lstat().st_mode) & 0o077:
            found.append(f"{oct(path.lstat().st_mode)} {path}")
    return found


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_umask(store_home: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = open_store(store_home)
        capture(store, "use tabs")
        with store.locked(5):
            main_branch.commit_files(store, NEW, "sync: a machine\n")
    finally:
        os.umask(before)
    assert too_open(store_home) == []
    assert stat.S_IMODE(store_home.stat().st_mode) == 0o700


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_umask_of_the_users_own_git(store_home: Path, umask: int) -> None:
    """The folder itself is private; git's files of history are 0600 as well."""
    open_store(store_home)
    before = os.umask(umask)
    try:
        assert user_commit(store_home, "mine.md", "mine\n").returncode == 0
        git(store_home, "checkout", "-q", "-b", "side")
        git(store_home, "checkout", "-q", "main")
        git(store_home, "gc", "-q")
    finally:
        os.umask(before)
    kept = ("objects", "refs", "logs", "index", "packed-refs", "HEAD")
    open_ones = [line for line in too_open(store_home / ".git") if any(f"/.git/{name}" in line for name in kept)]
    assert open_ones == []
    assert stat.S_IMODE(store_home.stat().st_mode) == 0o700


def test_a_store_that_is_a_link_is_refused(home: Path, store_home: Path) -> None:
    open_store(home / "real")
    store_home.parent.mkdir()
    store_home.symlink_to(home / "real")
    before = snapshot_of(home / "real")
    with pytest.raises(ReflectError) as caught:
        open_store(store_home)
    assert caught.value.code == "store-symlink"
    assert snapshot_of(home / "real") == before


def test_a_dangling_link_is_refused(home: Path, store_home: Path) -> None:
    store_home.parent.mkdir()
    store_home.symlink_to(home / "nowhere")
    with pytest.raises(ReflectError):
        open_store(store_home)
    assert not (home / "nowhere").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder away")
@pytest.mark.parametrize("empty", [True, False])
def test_a_store_of_another_user_is_refused(home: Path, store_home: Path, empty: bool) -> None:
    if empty:
        store_home.mkdir(parents=True)
    else:
        open_store(store_home)
    os.chown(store_home, 12345, 12345)
    with pytest.raises(ReflectError) as caught:
        open_store(store_home)
    assert caught.value.code == "store-owner"
    os.chown(store_home, 0, 0)


@pytest.mark.parametrize("kind", ["file", "fifo", "full folder", "foreign repository"])
def test_a_place_that_is_taken_is_refused_and_left_alone(home: Path, store_home: Path, kind: str) -> None:
    store_home.parent.mkdir()
    if kind == "file":
        store_home.write_text("mine")
    elif kind == "fifo":
        os.mkfifo(store_home)
    elif kind == "full folder":
        (store_home / "x").mkdir(parents=True)
    else:
        git(home, "init", "-q", str(store_home))
    with pytest.raises((ReflectError, OSError)) as caught:
        open_store(store_home)
    assert isinstance(caught.value, ReflectError), "a sentence, not an errno"
    assert list(store_home.parent.iterdir()) == [store_home], "no draft is left beside it"


def test_an_empty_folder_becomes_the_store(store_home: Path) -> None:
    store_home.mkdir(parents=True)
    work(store_home)


def test_home_unset(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The location is then what the system says about this user; never the working directory."""
    monkeypatch.setattr(os.path, "expanduser", lambda path: path.replace("~", str(home)))
    assert service.locate_store({}) == str(home / ".claude" / "reflections")


def test_home_of_another_store_by_git_config(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(home, "[reflect]\n\thome = ~/elsewhere\n")
    assert service.locate_store(os.environ) == str(home / "elsewhere")
    work(home / "elsewhere")


def test_a_projects_git_config_does_not_say_where_the_store_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(home, "# reflect\n")
    git(home, "init", "-q", "project")
    git(home / "project", "config", "reflect.home", str(home / "trap"))
    monkeypatch.chdir(home / "project")
    assert service.locate_store(os.environ) == str(home / ".claude" / "reflections")


def false_git(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "git").write_text('#!/bin/sh\ntouch "$0.ran"\nexec /usr/bin/git "$@"\n')
    (folder / "git").chmod(0o755)
    return folder


@pytest.mark.parametrize("path", [".", "", "bin", "./bin", "..", "project/bin"])
def test_a_git_in_the_project_is_never_run(
    home: Path, store_home: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    project = home / "project"
    for folder in (project, project / "bin", home, project / "project/bin"):
        false_git(folder)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project))
    store = open_store(store_home)
    identity = capture(store, "use tabs", project=service.get_project(store, str(project)))["id"]
    assert not list(home.rglob("git.ran"))
    monkeypatch.undo()
    assert identity in inbox_ids(store_home)


def test_an_absolute_entry_of_path_inside_the_project_is_not_used(
    home: Path, store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    false_git(home / "project" / "node_modules" / ".bin")
    (home / ".gitconfig").write_text("# reflect\n")
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(home / "project"))
    monkeypatch.setenv("PATH", f"{home}/project/node_modules/.bin:{os.environ['PATH']}")
    service.capture_signal(service.open_store(os.environ), {"content": "use tabs"}, os.environ)
    assert not list(home.rglob("git.ran"))


@pytest.mark.parametrize("folder", ["/usr", "/", "/bin"])
def test_git_is_found_wherever_one_stands(store_home: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", folder)
    assert capture(open_store(store_home), "use tabs")["id"] in inbox_ids(store_home)


def test_a_git_that_went_away_is_looked_for_again(
    home: Path, store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = home / "tools"
    tools.mkdir()
    (tools / "git").symlink_to(shutil.which("git") or "")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    first = capture(open_store(store_home), "use tabs")["id"]
    (tools / "git").unlink()
    second = capture(open_store(store_home), "use spaces")["id"]
    require_promises(store_home, [first, second])


def test_a_working_directory_that_is_gone(home: Path, store_home: Path) -> None:
    """Deleted while the hook runs, before the store knows which git to use."""
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); os.mkdir(sys.argv[2]); os.chdir(sys.argv[2]); "
        "os.rmdir(sys.argv[2])\n"
        "from reflect_git.capture import service\n"
        "print(service.capture_signal(service.open_store(os.environ), {'content': 'x'}, os.environ)[0]['id'])"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(REPO), str(home / "gone")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=home)
    assert done.returncode == 0, done.stderr
    assert inbox_ids(store_home) == {done.stdout.strip()}


def test_what_is_preloaded_into_us_is_not_into_git(home: Path, store_home: Path) -> None:
    """Also true of DYLD_*, PYTHON* and the rest: git gets a clean environment."""
    open_store(store_home)
    spy = home / "spy"
    spy.write_text(f'#!/bin/sh\nenv >> "{home}/seen"\nexec "{shutil.which("git")}" "$@"\n')
    spy.chmod(0o755)
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from reflect_git.capture import service\n"
        "store = service.open_store(os.environ); store.git.program = sys.argv[2]\n"
        "service.capture_signal(store, {'content': 'x'}, os.environ)"
    )
    hostile = {"LD_PRELOAD": "/nonexistent.so", "LD_LIBRARY_PATH": str(home), "PYTHONPATH": str(home), "BASH_ENV": "x"}
    command = [sys.executable, "-I", "-S", "-c", script, str(REPO), str(spy)]
    subprocess.run(command, env={**os.environ, **hostile}, check=True, capture_output=True)
    seen = (home / "seen").read_text()
    assert "GIT_DIR=" in seen, "the spy was asked"
    assert not [name for name in hostile if f"\n{name}=" in f"\n{seen}"]
    assert "HOME=" not in seen


def test_fault_injection_is_for_stores_in_the_temporary_folder(home: Path, store_home: Path) -> None:
    open_store(store_home)
    env = {**os.environ, "REFLECT_GIT_FAULT": "kill:1", "TMPDIR": str(home / "elsewhere")}
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\nfrom reflect_git.capture import service\n"
        "service.capture_signal(service.open_store(os.environ), {'content': 'x'}, os.environ)"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(REPO)]
    assert subprocess.run(command, env=env, check=False).returncode == 0
    assert run_operation(operations.capture, store_home, "kill:1").returncode == -9
