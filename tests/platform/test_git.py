"""The git adapter: clean environments, every answer parsed, no child left behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from reflect_git.platform.git import LOCAL, NETWORK, SETTINGS, Git, GitError, GitMissing, find_git
from reflect_git.store.creation import require_version
from tests.faults import git as user_git
from tests.store.store_checks import user_commit


@pytest.fixture
def repository(tmp_path: Path) -> Git:
    user_git(tmp_path, "init", "-q", "-b", "main", "repo")
    user_commit(tmp_path / "repo", "a.txt", "a\n")
    return Git(find_git(os.environ["PATH"]), str(tmp_path / "repo"), user=os.environ)


def script(path: Path, body: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_relative_entries_of_path_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "git", "exit 1")
    script(tmp_path / "bin/git", "exit 1")
    monkeypatch.chdir(tmp_path)
    for path in ("", ".", "bin", ":", "./bin:", "bin:/usr/bin"):
        assert os.path.isabs(find_git(path)) and str(tmp_path) not in find_git(path)


def test_entries_of_path_inside_the_project_are_not_looked_at(tmp_path: Path) -> None:
    program = script(tmp_path / "project/bin/git", "exit 1")
    (tmp_path / "link").symlink_to(tmp_path / "project/bin")
    assert find_git(f"{tmp_path}/project/bin") == program
    assert str(tmp_path) not in find_git(f"{tmp_path}/project/bin:{tmp_path}/link", str(tmp_path / "project"))


def test_what_is_no_program_is_no_git(tmp_path: Path) -> None:
    (tmp_path / "a/git").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b/git").write_text("not executable")
    assert str(tmp_path) not in find_git(f"{tmp_path}/a:{tmp_path}/b")


def test_a_git_that_cannot_be_run_says_so(tmp_path: Path) -> None:
    for program in (str(tmp_path / "none"), str(tmp_path)):
        with pytest.raises(GitMissing):
            Git(program, str(tmp_path)).run("version")


@pytest.mark.parametrize("said", ["2.34.0", "2.39.5 (Apple Git-154)", "3.0", "2.45.GIT", "2.33.9", "1.8.3.1"])
def test_versions(tmp_path: Path, said: str) -> None:
    git = Git(script(tmp_path / "git", f"echo 'git version {said}'"), str(tmp_path))
    if said in ("2.33.9", "1.8.3.1"):
        with pytest.raises(GitMissing):
            require_version(git)
    else:
        require_version(git)


@pytest.mark.parametrize("said", ["", "git", "git version", "hello", "git version x.y"])
def test_a_program_that_is_not_git(tmp_path: Path, said: str) -> None:
    git = Git(script(tmp_path / "git", f"echo '{said}'"), str(tmp_path))
    with pytest.raises(GitMissing):
        require_version(git)


@pytest.mark.parametrize("profile", [LOCAL, SETTINGS, NETWORK])
def test_no_profile_lets_a_git_variable_through(tmp_path: Path, profile: str) -> None:
    hostile = {
        "GIT_DIR": "/x",
        "GIT_INDEX_FILE": "/x",
        "GIT_CONFIG_COUNT": "1",
        "GIT_EXTERNAL_DIFF": "x",
        "GIT_TRACE": "1",
    }
    git = Git(script(tmp_path / "git", "env"), str(tmp_path), user={**hostile, "HOME": "/home/ada", "PATH": "/usr/bin"})
    seen = git.run("x", profile=profile).out.decode()
    assert f"GIT_DIR={tmp_path}/.git\n" in seen
    assert not [name for name in hostile if name != "GIT_DIR" and f"\n{name}=" in f"\n{seen}"]
    assert ("HOME=/home/ada" in seen) == (profile != LOCAL)


def test_an_error_is_the_whole_report(repository: Git) -> None:
    with pytest.raises(GitError) as caught:
        repository.run("rev-parse", "--verify", "nothing")
    assert caught.value.message.startswith("git rev-parse failed: fatal:") and caught.value.result.code == 128


@pytest.mark.parametrize("name", ["--output=x", "-n1", "@{u}", "nothing", "", "a..b", "HEAD:a.txt x", "\n"])
def test_names_from_outside_are_never_options(repository: Git, name: str) -> None:
    assert repository.resolve(name) is None
    assert not os.path.exists(os.path.join(repository.root, "x"))


def test_questions(repository: Git) -> None:
    head = repository.resolve("HEAD")
    assert head and repository.get_head_branch() == "refs/heads/main"
    assert repository.refs("refs/heads/") == {"refs/heads/main": head}
    assert list(repository.tree(head)) == ["a.txt"]
    assert list(repository.blobs(list(repository.tree(head).values()))) == [b"a\n"]
    assert repository.fsck().code == 0


def test_paths_of_any_bytes_come_through(repository: Git) -> None:
    root = Path(repository.root)
    odd = ["ü.txt", 'quo"te', "new\nline", "tab\t", os.fsdecode(b"\xff\xfe"), "-dash", " blank "]
    before = repository.resolve("HEAD")
    for name in odd:
        (root / name).write_text("x\n")
    user_git(root, "add", "-A")
    user_git(root, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "odd")
    after = repository.resolve("HEAD")
    assert before and after
    assert set(repository.tree(after)) == {"a.txt", *odd}
    added, gone = repository.diff_blobs(before, after)
    assert set(added) == set(odd) and gone == []
    assert set(repository.diff_blobs(after, before)[1]) == set(odd)


def test_a_missing_object_is_empty_and_shifts_nothing(repository: Git) -> None:
    (blob,) = repository.tree("HEAD").values()
    assert list(repository.blobs([blob, "0" * 40, blob])) == [b"a\n", b"", b"a\n"]
    assert list(repository.blobs([])) == []


def test_only_a_query_whose_objects_a_gc_moved_is_run_again(repository: Git, tmp_path: Path) -> None:
    """The first two calls die as git does when a gc deletes a pack that it has listed, but not opened."""
    real, count = repository.program, tmp_path / "count"
    (blob,) = repository.tree("HEAD").values()

    def fail_first_calls(message: str) -> None:
        count.write_text("")
        fail = f"echo >>{count}; [ $(wc -l <{count}) -gt 2 ] || {{ echo '{message}' >&2; exit 128; }}"
        repository.program = script(tmp_path / "git", f'{fail}\nexec {real} "$@"')

    for message in (
        "fatal: packfile objects/pack/pack-1.pack cannot be accessed", "fatal: unable to read 1234",
        'fatal: renaming pack to "pack-1.pack" failed: No such file or directory',
    ):  # fmt: skip
        fail_first_calls(message)
        assert list(repository.blobs([blob])) == [b"a\n"]
        fail_first_calls(message)
        assert repository.run("cat-file", "-p", blob).out == b"a\n"
        fail_first_calls(message)
        assert repository.run("repack", "-a", "-d", "-q").code == 0
        fail_first_calls(message)
        with pytest.raises(GitError, match=message[7:]):
            repository.run("hash-object", "-w", "--stdin")
    fail_first_calls("fatal: not a git repository")
    with pytest.raises(GitError, match="not a git repository"):
        repository.run("cat-file", "-p", blob)
    assert count.read_text() == "\n"


def test_much_in_and_much_out_at_once(repository: Git) -> None:
    """More than a pipe holds, in both directions: writing everything before reading would wait forever."""
    (blob,) = repository.tree("HEAD").values()
    assert sum(len(data) for data in repository.blobs([blob] * 5_000)) == 10_000


def test_a_git_that_does_not_end_is_ended(tmp_path: Path) -> None:
    git = Git(script(tmp_path / "git", "exec sleep 90"), str(tmp_path))
    started = time.monotonic()
    assert git.run("x", check=False, seconds=0.2).code == -9
    assert time.monotonic() - started < 60


def test_a_git_that_does_not_read_is_no_trouble(tmp_path: Path) -> None:
    git = Git(script(tmp_path / "git", "exit 3"), str(tmp_path))
    assert git.run("x", stdin=b"x" * (1 << 20), check=False).code == 3


def test_no_descriptor_and_no_child_is_left(repository: Git) -> None:
    repository.run("version")
    before = len(os.listdir("/proc/self/fd")), _children()
    for _ in range(20):
        repository.run("version")
        repository.run("hash-object", "--stdin", stdin=b"x" * 100_000)
        repository.run("nonsense", check=False)
        with pytest.raises(GitMissing):
            Git("/nonexistent", repository.root).run("version")
    assert (len(os.listdir("/proc/self/fd")), _children()) == before


def test_a_child_that_is_dropped_is_killed_and_leaves_no_descriptor(repository: Git) -> None:
    before = len(os.listdir("/proc/self/fd"))
    child = repository.start("cat-file", "--batch")
    child.drop()
    assert os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1]) == -9
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_git_that_is_gone_says_nothing_more(repository: Git) -> None:
    child = repository.start("cat-file", "--batch-check=%(objecttype)")
    child.send(b"HEAD\n")
    assert child.read_line() == b"commit"
    child.kill()
    assert (child.read_line(), child.read_line(), child.communicate().out) == (b"", b"", b"")


def _children() -> str:
    """Return the children of this process; other tests may have started a lasting one."""
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")


def test_settings_are_the_repositorys_own(repository: Git, home: Path) -> None:
    (home / ".gitconfig").write_text("[reflect]\n\thint = global\n\thome = /else\n")
    user_git(Path(repository.root), "config", "reflect.hint", "own")
    user_git(Path(repository.root), "config", "--add", "reflect.hint", "two\nlines")
    assert repository.get_local_config()["reflect.hint"] == ["own", "two\nlines"]
    assert "reflect.home" not in repository.get_local_config()
    assert repository.get_user_config()["reflect.hint"] == ["global", "own", "two\nlines"]
    assert repository.get_global_setting("reflect.home") == "/else"
    assert repository.get_global_setting("reflect.nothing") is None


def test_a_transaction_is_all_or_nothing(repository: Git) -> None:
    head = repository.resolve("HEAD")
    with pytest.raises(GitError):
        repository.update_refs(f"create refs/heads/a {head}\ncreate refs/heads/main {head}\n")
    assert "refs/heads/a" not in repository.refs("refs/heads/")
