"""`propose`: a branch beside the user's work, one commit per learning."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.faults import git
from tests.rules import reverts
from tests.store.store_checks import open_store

WHO = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.com",
       "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.com"}  # fmt: skip


@pytest.fixture
def project(home: Path) -> Path:
    """Create a project with a commit, a staged change, an unstaged change and a hook that must not run."""
    project = home / "shop"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    (project / "CLAUDE.md").write_text("# Shop\n\nOur own text.\n")
    (project / "app.py").write_text("one\n")
    git(project, "add", ".")
    git(project, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "begin")
    (project / "app.py").write_text("two\n")
    (project / "new.py").write_text("staged\n")
    git(project, "add", "new.py")
    hook = project / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{home}/ran'\n")
    hook.chmod(0o755)
    return project


def learn(store_home: Path, words: str, to: str) -> str:
    return reverts.approve(open_store(store_home), words, to=to).learning


def state(project: Path) -> tuple[str, ...]:
    asked = (
        ("rev-parse", "HEAD"),
        ("symbolic-ref", "HEAD"),
        ("status", "--porcelain"),
        ("diff",),
        ("diff", "--cached"),
    )
    return tuple(git(project, *words) for words in asked)


def branches(project: Path) -> list[str]:
    return git(project, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def test_one_commit_per_learning_beside_the_users_work(
    home: Path, store_home: Path, project: Path, run_cli: RunCli
) -> None:  # fmt: skip
    block = learn(store_home, "use pnpm, not npm", "project")
    rules = learn(store_home, "never push to main by hand", "rules")
    learn(store_home, "use tabs, not spaces", "global")
    learn(store_home, "use my own port, not 8080", "project-local")
    before = state(project)

    told = run_cli("propose", "--dry-run", "--json", cwd=project, env=WHO).json()["data"]
    assert [one["learning"] for one in told["commits"]] == [block, rules] and not told["commits"][0]["commit"]
    assert branches(project) == ["main"]

    done = run_cli("propose", cwd=project, env=WHO)
    assert done.code == 0 and "proposed 2 rules on 'reflect/learnings'" in done.out, done.err
    assert state(project) == before and not (home / "ran").exists()
    log = git(project, "log", "--reverse", "--format=%an <%ae>%n%B", "main..reflect/learnings")
    assert log.count("Ada <ada@example.com>") == 2 and "Approved on " in log
    assert [line for line in log.splitlines() if line.startswith("Learning-Id")] == [
        f"Learning-Id: {block}", f"Learning-Id: {rules}",
    ]  # fmt: skip
    changed = git(project, "diff", "--name-only", "main", "reflect/learnings").split()
    assert changed[0].startswith(".claude/rules/reflect/") and changed[1:] == ["CLAUDE.md"]
    assert git(project, "show", "reflect/learnings:CLAUDE.md") == (project / "CLAUDE.md").read_text()

    again = run_cli("propose", "--json", cwd=project, env=WHO).json()["data"]
    assert again["commits"] == [] and again["already"] == [block, rules]


def test_the_branch_grows_and_begins_anew_once_it_is_merged(store_home: Path, project: Path, run_cli: RunCli) -> None:
    learn(store_home, "use pnpm, not npm", "rules")
    run_cli("propose", cwd=project, env=WHO)
    learn(store_home, "use ruff, not flake8", "rules")
    assert "proposed 1 rule on" in run_cli("propose", cwd=project, env=WHO).out
    assert git(project, "rev-list", "--count", "main..reflect/learnings").strip() == "2"
    git(project, "update-ref", "refs/heads/main", "reflect/learnings")
    rule = learn(store_home, "use uv, not pip", "rules")
    run_cli("propose", rule, cwd=project, env=WHO)
    assert git(project, "rev-list", "--count", "main..reflect/learnings").strip() == "1"


def test_quotes_only_on_request(store_home: Path, project: Path, run_cli: RunCli) -> None:
    words = "use pnpm, not npm, as I told you on the phone"
    learn(store_home, words, "rules")
    run_cli("propose", "--branch", "silent", cwd=project, env=WHO)
    run_cli("propose", "--branch", "loud", "--quotes", cwd=project, env=WHO)
    assert "\n> " not in git(project, "log", "-1", "--format=%B", "silent")
    assert f"\n> {words}" in git(project, "log", "-1", "--format=%B", "loud")


def test_a_signature_that_fails_moves_nothing(store_home: Path, project: Path, run_cli: RunCli) -> None:
    """If the user's git would sign, we sign as well, or do nothing."""
    learn(store_home, "use pnpm, not npm", "rules")
    git(project, "config", "commit.gpgSign", "true")
    git(project, "config", "gpg.program", "/bin/false")
    done = run_cli("propose", cwd=project, env=WHO)
    assert done.code == 1 and "git could not sign the commit" in done.err and branches(project) == ["main"]


def test_it_is_refused_where_there_is_nothing_to_propose_to(
    home: Path, store_home: Path, project: Path, run_cli: RunCli
) -> None:  # fmt: skip
    rule, everywhere = learn(store_home, "use pnpm, not npm", "rules"), learn(store_home, "be brief", "global")
    plain = home / "plain"
    plain.mkdir()
    assert "is in no git repository" in run_cli("propose", cwd=plain).err
    empty = home / "empty"
    git(home, "init", "-q", str(empty))
    assert "has no commit yet" in run_cli("propose", cwd=empty).err
    assert "is for all your projects" in run_cli("propose", everywhere, cwd=project).err
    assert "is no name of a branch" in run_cli("propose", "--branch", "--output=x", cwd=project).err
    assert "no record 'LRN-1'" in run_cli("propose", "LRN-1", cwd=project).err
    git(project, "switch", "-qc", "mine")
    assert "is checked out" in run_cli("propose", rule, "--branch", "mine", cwd=project).err
    nameless = {"GIT_CONFIG_GLOBAL": os.devnull, "EMAIL": ""}
    git(project, "config", "user.useConfigOnly", "true")
    done = run_cli("propose", cwd=project, env=nameless)
    assert (
        done.code == 1 and "git does not know who you are" in done.err and "reflect/learnings" not in branches(project)
    )


@pytest.fixture
def bare_project(home: Path) -> Path:
    """Create a project with a commit and no CLAUDE.md."""
    project = home / "shop"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    git(project, "config", "user.name", "A")
    git(project, "config", "user.email", "a@b")
    (project / "app.py").write_text("one\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "begin")
    return project


def merges(project: Path, commands: list[str]) -> None:
    """Type the printed commands as a person does."""
    subprocess.run(["sh", "-c", " && ".join(commands)], cwd=project, env={**os.environ, **WHO}, check=True)
    assert git(project, "rev-list", "HEAD..reflect/learnings") == ""
    assert git(project, "status", "--porcelain") == ""


@pytest.mark.parametrize("to", ["project", "rules"])
def test_a_new_file_of_ours_does_not_keep_git_from_merging(
    store_home: Path, bare_project: Path, run_cli: RunCli, to: str
) -> None:
    learn(store_home, "use pnpm, not npm", to)
    done = run_cli("propose", cwd=bare_project, env=WHO)
    assert "so that 'git merge' works" in done.err
    learn(store_home, "use ruff, not flake8", to)
    run_cli("propose", cwd=bare_project, env=WHO)  # the branch grows
    files = {path: path.read_bytes() for path in bare_project.rglob("*.md")}
    merges(bare_project, ["git merge -q reflect/learnings"])
    assert {path: path.read_bytes() for path in bare_project.rglob("*.md")} == files and files
    again = run_cli("propose", "--json", cwd=bare_project, env=WHO).json()["data"]
    assert (again["commits"], again["next"], again["staged"]) == ([], {}, [])


def test_what_was_merged_on_the_host_can_be_pulled(store_home: Path, bare_project: Path, run_cli: RunCli) -> None:
    origin = bare_project.parent / "origin.git"
    git(bare_project, "clone", "-q", "--bare", ".", str(origin))
    git(bare_project, "remote", "add", "origin", str(origin))
    learn(store_home, "use pnpm, not npm", "project")
    told = run_cli("propose", cwd=bare_project, env=WHO).err
    assert "git push -u origin reflect/learnings && gh pr create --head reflect/learnings --fill\n" in told
    git(bare_project, "push", "-q", "origin", "reflect/learnings:main")
    git(bare_project, "pull", "-q", "--ff-only", "origin", "main")
    assert git(bare_project, "status", "--porcelain") == ""


@pytest.mark.parametrize("before", ["untracked", "tracked"])
@pytest.mark.parametrize("more", ["", "Text of my own.\n"])
@pytest.mark.parametrize("meanwhile", ["nothing", "staged", "committed"])
def test_the_printed_commands_merge_it_whatever_the_work_tree_has(
    store_home: Path, bare_project: Path, run_cli: RunCli, before: str, more: str, meanwhile: str
) -> None:
    page = bare_project / "CLAUDE.md"
    if before == "tracked":
        page.write_text("# Shop\n\nOur text.\n")
        git(bare_project, "add", ".")
        git(bare_project, "commit", "-qm", "page")
    learn(store_home, "use pnpm, not npm", "project")
    page.write_text(more + page.read_text())
    if meanwhile == "staged":
        (bare_project / "app.py").write_text("two\n")
        git(bare_project, "add", "app.py")
        staged = git(bare_project, "diff", "--cached")
    done = run_cli("propose", "--json", cwd=bare_project, env=WHO).json()["data"]
    is_new = before == "untracked" and not more
    assert done["staged"] == (["CLAUDE.md"] if is_new and meanwhile != "staged" else [])
    if meanwhile == "staged":
        assert git(bare_project, "diff", "--cached") == staged
        git(bare_project, "commit", "-qm", "work")
    if meanwhile == "committed":
        (bare_project / "app.py").write_text("two\n")
        git(bare_project, "commit", "-qm", "work", "app.py")
    now = page.read_text()
    merges(bare_project, run_cli("propose", "--json", cwd=bare_project, env=WHO).json()["data"]["next"]["merge"])
    assert page.read_text() == now
