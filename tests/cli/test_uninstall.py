"""`uninstall`: the home folder before and after, byte for byte."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from reflect_git import __version__
from reflect_git.capture import service
from reflect_git.cli.admin import install
from reflect_git.cli.environment import STAMP_FILE
from reflect_git.store import policy, remotes
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.faults import git
from tests.rules.queues import BY, capture_signal, open_queue
from tests.stories.terminal import Terminal


@pytest.fixture
def store(store_home: Path) -> Store:
    return service.open_store(os.environ)


def picture(home: Path) -> dict[str, bytes]:
    """Return every file and folder outside the store."""
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else b""
        for path in sorted(home.rglob("*"))
        if ".claude/reflections/" not in f"{path}/"
    }


def learn(store: Store, content: str, to: str) -> None:
    from reflect_git.rules.approve import Request, plan_approval, write_approval

    identity = capture_signal(store, content)
    queue = open_queue(store, os.environ)
    write_approval(queue, plan_approval(queue, Request(queue.find_candidate(identity), to=to)), BY)


def project(home: Path) -> Path:
    folder = home / "shop"
    folder.mkdir(exist_ok=True)
    (folder / "CLAUDE.md").write_bytes(b"# Shop\r\n\r\n- be brief")
    return folder


def test_what_enable_wrote_goes_and_the_rest_stays(run_cli: RunCli, home: Path, store: Store) -> None:
    (home / ".claude" / "settings.json").write_text('{"model": "opus",\n  "hooks": {}}\n')
    before = picture(home)
    run_cli("enable")
    (home / ".cache" / "reflect-git").mkdir(parents=True)
    (home / ".cache" / "reflect-git" / "python").write_text("/usr/bin/python3\n")
    (home / ".claude" / "reflections.log").write_text("of a hook before there was a store\n")
    (home / ".claude" / ".settings.json.reflect-git").write_text("of a run that was killed\n")
    unfinished = home / ".claude" / ".reflections-new-7-00000000"
    unfinished.mkdir()
    os.utime(unfinished, (1, 1))
    assert picture(home) != before
    done = run_cli("uninstall")
    assert done.code == 0, done.err
    assert picture(home) == {**before, ".cache": b""}
    assert f"kept the store '{store.root}'" in done.out
    assert Path(store.root).is_dir()


def test_hooks_go_also_where_there_is_no_store(run_cli: RunCli, home: Path, store_home: Path) -> None:
    run_cli("enable")
    shutil.rmtree(store_home)
    assert run_cli("uninstall").code == 0
    assert "launch.sh" not in (home / ".claude" / "settings.json").read_text()
    assert not store_home.exists()


def test_hooks_go_also_where_something_else_is_in_the_place_of_a_store(
    run_cli: RunCli, home: Path, store_home: Path
) -> None:
    run_cli("enable")
    shutil.rmtree(store_home)
    store_home.mkdir()
    (store_home / "letter.txt").write_text("mine")
    assert run_cli("uninstall", "--erase", "--yes").code == 0
    assert "launch.sh" not in (home / ".claude" / "settings.json").read_text()
    assert os.listdir(store_home) == ["letter.txt"]


def test_erase_gives_back_the_files_as_they_were(run_cli: RunCli, home: Path, store: Store) -> None:
    folder = project(home)
    before = picture(home)
    learn(store, "no, never use npm in this project, always use pnpm instead", "project")
    learn(store, "always run the linter before you commit", "global")
    learn(store, "never edit generated files, run the generator instead", "rules")
    learn(store, "the readme should say which port the server uses", "improvements")
    new = picture(home).keys() - before.keys()
    assert len([path for path in new if (home / path).is_file()]) == 3
    listed = run_cli("uninstall", "--erase", "--dry-run", "--json").json()["data"]
    assert sorted(change["entries"] for change in listed["files"]) == [1, 1, 1, 1]
    assert Path(store.root).is_dir()
    done = run_cli("uninstall", "--erase", "--yes")
    assert done.code == 0, done.err
    assert picture(home) == before
    assert not Path(store.root).exists()
    assert not (folder / ".claude").exists()


@pytest.mark.parametrize("how", ["--erase", "--unmark"])
def test_what_is_left_to_be_committed_is_named_by_repository(
    run_cli: RunCli, home: Path, store: Store, how: str
) -> None:
    folder, dotfiles = project(home), home / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "CLAUDE.md").write_text("# Mine\n")
    (home / ".claude" / "CLAUDE.md").symlink_to(dotfiles / "CLAUDE.md")
    for top in (folder, dotfiles):
        git(top, "init", "-q", "-b", "main")
    learn(store, "no, never use npm in this project, always use pnpm instead", "project")
    learn(store, "never edit generated files, run the generator instead", "rules")
    learn(store, "the readme should say which port the server uses", "improvements")
    learn(store, "always run the linter before you commit", "global")
    (rule,) = (folder / ".claude" / "rules" / "reflect").iterdir()
    for top, names in ((folder, ("CLAUDE.md", str(rule))), (dotfiles, ("CLAUDE.md",))):
        git(top, "add", *names)
        git(top, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "rules")
    changed = [
        {"repository": str(folder), "files": ["CLAUDE.md", str(rule.relative_to(folder))]},
        {"repository": str(dotfiles), "files": ["CLAUDE.md"]},
    ]
    would = run_cli("uninstall", how, "--dry-run", "--json", cwd=folder).json()["data"]["to_commit"]
    assert sorted(would, key=lambda one: -len(one["files"])) == changed
    there = f"CLAUDE.md would change in '{dotfiles}'; commit it there\n"
    assert there in run_cli("uninstall", how, "--dry-run", cwd=folder).out
    done = run_cli("uninstall", how, "--yes", cwd=folder).out
    assert f"CLAUDE.md changed in '{dotfiles}'; commit it there\n" in done
    assert f"CLAUDE.md, {rule.relative_to(folder)} changed in your project; commit them with your work\n" in done
    assert "improvements.md changed" not in done, "git does not have it"


ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


@pytest.mark.parametrize("has_store", [True, False])
def test_settings_that_a_repository_has_are_left_to_be_committed(
    run_cli: RunCli, home: Path, store_home: Path, has_store: bool
) -> None:
    dotfiles = home / "my dotfiles"
    dotfiles.mkdir()
    git(dotfiles, "init", "-q", "-b", "main")
    (dotfiles / "settings.json").write_text("{}\n")
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude" / "settings.json").symlink_to(dotfiles / "settings.json")
    run_cli("enable")
    git(dotfiles, "add", "settings.json")
    git(dotfiles, *ADA, "commit", "-q", "-m", "hooks")
    if not has_store:
        shutil.rmtree(store_home)
    listed = run_cli("uninstall", "--dry-run", "--json", cwd=home).json()["data"]["to_commit"]
    assert listed == [{"repository": str(dotfiles), "files": ["settings.json"]}]
    assert f"settings.json changed in '{dotfiles}'; commit it there\n" in run_cli("uninstall", cwd=home).out
    assert run_cli("uninstall", "--json", cwd=home).json()["data"]["to_commit"] == []


@pytest.mark.parametrize("how", ["--erase", "--unmark"])
def test_what_is_staged_alone_is_not_to_be_committed_by_who_erases(
    run_cli: RunCli, home: Path, store: Store, how: str
) -> None:
    folder = project(home)
    git(folder, "init", "-q", "-b", "main")
    git(folder, *ADA, "commit", "-q", "--allow-empty", "-m", "begin")
    learn(store, "no, never use npm in this project, always use pnpm instead", "project")
    git(folder, "add", "CLAUDE.md")
    done = run_cli("uninstall", how, "--yes", "--json", cwd=folder).json()["data"]
    assert len(done["files"]) == 1 and bool(done["to_commit"]) is (how == "--unmark")


def test_what_is_as_committed_again_is_left_to_nobody(run_cli: RunCli, home: Path, store: Store) -> None:
    folder = project(home)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "CLAUDE.md")
    git(folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "rules")
    learn(store, "no, never use npm in this project, always use pnpm instead", "project")
    done = run_cli("uninstall", "--erase", "--yes", "--json", cwd=folder).json()["data"]
    assert (len(done["files"]), done["to_commit"]) == (1, [])


def test_unmark_leaves_the_text_and_no_mark(run_cli: RunCli, home: Path, store: Store) -> None:
    folder = project(home)
    learn(store, "no, never use npm in this project, always use pnpm instead", "project")
    learn(store, "never edit generated files, run the generator instead", "rules")
    assert run_cli("uninstall", "--unmark", "--yes").code == 0
    text = (folder / "CLAUDE.md").read_bytes()
    assert text.startswith(b"# Shop\r\n\r\n- be brief\r\n")
    assert b"pnpm" in text
    written = b"".join(picture(folder).values())
    assert b"LRN-" not in written
    assert b"reflect-git:" not in written
    assert b"generator" in written


def test_entries_of_colleagues_stay_marked(run_cli: RunCli, home: Path, store: Store) -> None:
    folder = project(home)
    learn(store, "no, never use npm in this project, always use pnpm instead", "project")
    file = folder / "CLAUDE.md"
    theirs = b"<!-- LRN-20260101-aaaaaaaa -->\r\n\r\n- Use tabs.\r\n\r\n<!-- reflect-git:end -->"
    file.write_bytes(file.read_bytes().replace(b"<!-- reflect-git:end -->", theirs))
    run_cli("uninstall", "--unmark", "--yes")
    text = file.read_bytes()
    assert text.count(b"LRN-") == 1
    assert b"reflect-git:begin" in text
    assert b"LRN-20260101-aaaaaaaa" in text


def test_it_asks_and_names_what_it_cannot_do(run_cli: RunCli, home: Path, store: Store) -> None:
    refused = run_cli("uninstall", "--erase")
    assert (refused.code, "pass --yes" in refused.err) == (1, True)
    assert Path(store.root).is_dir()
    settings = {
        "enabledPlugins": {"reflect-git@reflect-git": True},
        "extraKnownMarketplaces": {"reflect-git": {}},
        "statusLine": {"command": "x/hooks/statusline.py"},
    }
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    copy = home / ".claude" / "plugins" / "cache" / "ada's own" / "reflect-git" / "0.0.8"
    copy.mkdir(parents=True)
    left = run_cli("uninstall", "--dry-run", "--json").json()["data"]["left"]
    assert left[:2] == [
        "claude plugin uninstall reflect-git@reflect-git",
        "claude plugin marketplace remove reflect-git",
    ]
    assert shlex.split(left[2], comments=True) == ["rm", "-r", str(copy.parent.parent)]
    (copy.parent.parent / "another").mkdir()
    left = run_cli("uninstall", "--dry-run", "--json").json()["data"]["left"]
    assert shlex.split(left[2], comments=True) == ["rm", "-r", str(copy.parent)]
    assert left[3].startswith("pipx uninstall ")
    assert "statusLine" in left[-1]


def test_the_plugins_own_environment_is_named(tmp_path: Path) -> None:
    venv = tmp_path / "reflect-git-inline" / "venv"
    venv.mkdir(parents=True)
    assert install._format_program_removal(str(venv)).startswith("pipx uninstall ")
    (venv / STAMP_FILE).write_text(f"{__version__}\n")
    assert shlex.split(install._format_program_removal(str(venv)), comments=True) == ["rm", "-r", str(venv.parent)]


def test_what_was_sent_elsewhere_is_named(run_cli: RunCli, home: Path, store: Store) -> None:
    policy.set_keys(store, remotes.build_config("https://example.com/ada/learnings.git"))
    assert "example.com" not in run_cli("uninstall", "--dry-run").out
    done = run_cli("uninstall", "--erase", "--yes")
    assert "then remove 'https://example.com/ada/learnings.git' from its host" in done.out


def test_who_erases_with_the_plugin_is_told_what_comes_first(run_cli: RunCli, home: Path, store: Store) -> None:
    (home / ".claude" / "settings.json").write_text(json.dumps({"enabledPlugins": {"reflect-git@reflect-git": True}}))
    told = "in the next session; first run:\nhint: claude plugin uninstall reflect-git@reflect-git\n"
    assert told not in run_cli("uninstall", "--unmark", "--yes").err
    assert told in run_cli("--no-input", "uninstall", "--erase").err
    assert Path(store.root).is_dir()
    assert told in run_cli("uninstall", "--erase", "--yes").err


def test_what_comes_first_stays_on_one_line_at_a_terminal(home: Path, store: Store) -> None:
    folder = home / "a folder with blanks"
    installed = {"reflect-git@reflect-git": [{"scope": "project", "projectPath": str(folder)}]}
    (folder / ".claude").mkdir(parents=True)
    enabled = {"enabledPlugins": {"reflect-git@reflect-git": True}}
    (folder / ".claude" / "settings.json").write_text(json.dumps(enabled))
    (home / ".claude" / "plugins").mkdir()
    (home / ".claude" / "plugins" / "installed_plugins.json").write_text(json.dumps({"plugins": installed}))
    with Terminal("uninstall", "--erase", cwd=home, env={"COLUMNS": "40"}) as terminal:
        seen = terminal.passes("[y/N]:")
        terminal.types("n")
        terminal.exits_with("nothing was changed", 1)
    whole = f"hint: cd '{folder}' && claude plugin uninstall --scope project reflect-git@reflect-git"
    assert whole in seen.replace("\r", "").splitlines()


@pytest.mark.parametrize("how", [(), ("--unmark",), ("--erase",)])
def test_inside_claude_code_nothing_is_taken_out(
    run_cli: RunCli, home: Path, store: Store, how: tuple[str, ...]
) -> None:
    run_cli("enable")
    learn(store, "always use pnpm instead of npm", "global")
    before, inside = picture(home), {"CLAUDECODE": "1"}
    refused = run_cli("uninstall", *how, "--yes", env=inside)
    command = " ".join(("reflect-git uninstall", *how))
    assert (refused.code, f"run '{command}' in your own terminal" in refused.err) == (1, True), refused.err
    assert ("or type /reflect-toggle to switch capture off" in refused.err) is not bool(how)
    assert Path(store.root).is_dir() and picture(home) == before
    assert run_cli("uninstall", *how, "--dry-run", env=inside).code == 0  # a dry run is always allowed
    assert picture(home) == before


def test_erasing_where_there_is_nothing_asks_nothing(run_cli: RunCli, home: Path, store_home: Path) -> None:
    done = run_cli("uninstall", "--erase")
    assert (done.code, "remove all of this?" in done.err) == (0, False)
    assert not store_home.exists()


def test_the_two_ways_do_not_go_together(run_cli: RunCli) -> None:
    assert run_cli("uninstall", "--erase", "--unmark").code == 2
