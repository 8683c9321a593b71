"""Homes as people really have them: install, capture, approve, revert, uninstall, and every byte is as before."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.conftest import REAL_GIT, RunCli, find_store_problems, wait_for_background
from tests.stories.terminal import Terminal

NOTES = b"# Mine\r\n\r\n- be brief\r\n- answer in English"
SETTINGS = b'{\n\t"model": "opus"\n}'
# What the launcher keeps for the next start; `uninstall` removes it and may leave the folders.
CACHES = (".cache", ".cache/reflect-git")


class Person:
    """Somebody with a home, who works in a project."""

    def __init__(self, run_cli: RunCli, home: Path, project: Path) -> None:
        self.run_cli, self.home, self.project = run_cli, home, project
        home.mkdir(parents=True, exist_ok=True)
        (home / ".gitconfig").write_text(
            '[user]\n\tname = Ada\n\temail = ada@example.com\n[protocol "file"]\n\tallow = always\n'
        )
        self.env = {
            "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        }  # fmt: skip

    @property
    def store(self) -> Path:
        return self.home / ".claude" / "reflections"

    def write(self, path: Path, data: bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def git(self, *words: str, cwd: Path | None = None) -> None:
        subprocess.run(
            [REAL_GIT, *words], cwd=cwd or self.project, env={**os.environ, **self.env}, check=True, capture_output=True
        )

    def init(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", cwd=folder)
        self.write(folder / "CLAUDE.md", NOTES)
        self.git("add", ".", cwd=folder)
        self.git("commit", "-qm", "start", cwd=folder)
        return folder

    def run(self, *words: str, code: int = 0, cwd: Path | None = None) -> str:
        done = self.run_cli(*words, cwd=cwd or self.project, env=self.env)
        assert done.code == code, done.out + done.err
        return done.out + done.err

    def at_terminal(self, *words: str, code: int = 0, cwd: Path | None = None, typed: str = "") -> str:
        with Terminal(*words, cwd=cwd or self.project, env=self.env) as terminal:
            if typed:
                terminal.passes("[no]:")
                terminal.types(typed)
            return terminal.ends(code)

    def capture(self, text: str, cwd: Path | None = None) -> str:
        return self.at_terminal("capture", "--type", "correction", "--content", text, cwd=cwd).split()[1]

    def fail_a_tool(self) -> None:
        """Run the hook as the client does, through the entry of the settings."""
        settings = json.loads((self.home / ".claude" / "settings.json").read_bytes())
        event = {
            "hook_event_name": "PostToolUseFailure", "session_id": "s1", "tool_name": "Bash", "tool_use_id": "toolu_1",
            "tool_input": {"command": "make widgets"}, "error": "no rule to make target", "cwd": str(self.project),
        }  # fmt: skip
        command = settings["hooks"]["PostToolUseFailure"][0]["hooks"][0]["command"]
        done = subprocess.run(
            ["/bin/sh", "-c", command], input=json.dumps(event).encode(), env={**os.environ, **self.env},
            cwd=self.project, capture_output=True, check=True,
        )  # fmt: skip
        assert (done.stdout, done.stderr) == (b"", b"")

    def picture(self) -> dict[str, tuple[object, ...]]:
        """Return every file, folder and link of home and project, outside the store and git's own folders."""
        found: dict[str, tuple[object, ...]] = {}
        for base in {self.home, self.project}:
            for path in sorted(base.rglob("*")):
                name = str(path)
                inner = str(path.relative_to(self.home)) if path.is_relative_to(self.home) else ""
                if f"{self.store}/" in f"{name}/" or "/.git/" in f"{name}/" or inner in CACHES:
                    continue
                link = os.readlink(path) if path.is_symlink() else ""
                data = path.read_bytes() if path.is_file() else b""
                found[name] = link, stat.S_IMODE(path.lstat().st_mode), data
        return found

    def count_waiting(self) -> int:
        return int(json.loads(self.run("status", "--json"))["data"]["waiting"])

    def live_through_it(
        self, to: str = "project", file: Path | None = None, cwd: Path | None = None, typed: str = ""
    ) -> None:
        """Install, capture, approve for everywhere and for the project, revert, uninstall: the same bytes."""
        before = self.picture()
        self.run("enable")
        waiting = self.count_waiting()
        self.fail_a_tool()
        assert self.count_waiting() == waiting + 1
        rules = []
        for target, path, text in (
            ("global", self.home / ".claude" / "CLAUDE.md", "no, never use npm, always use pnpm instead"),
            (to, file or self.project / "CLAUDE.md", "never edit generated files, run the generator instead"),
        ):
            there = path.read_bytes() if path.exists() else None
            said = self.at_terminal(
                "approve", self.capture(text, cwd), "--to", target, cwd=cwd, typed=typed if target == "global" else ""
            )
            rule = re.findall(r"approved (LRN-\d{8}-\w{8})", said)[0]
            assert rule.encode() in path.read_bytes()
            rules.append((rule, path, there))
        for rule, path, there in rules:
            self.at_terminal("revert", rule, cwd=cwd)
            assert (path.read_bytes() if path.exists() else None) == there
        assert find_store_problems(self.store) == []
        self.run("audit")
        self.run("uninstall", "--erase", "--yes")
        wait_for_background(self.home)
        after = self.picture()
        assert {name: one for name, one in after.items() if before.get(name) != one} == {}
        assert {name for name in before if name not in after} == set()
        assert not self.store.exists()


@pytest.fixture
def person(run_cli: RunCli, home: Path, tmp_path: Path) -> Person:
    made = Person(run_cli, home, tmp_path / "shop")
    made.write(home / ".claude" / "CLAUDE.md", NOTES)
    made.write(home / ".claude" / "settings.json", SETTINGS)
    made.init(made.project)
    return made


NAMES = {
    "spaces": "Ada  Byron ",
    "quotes": 'it\'s "A" `da` $HOME; & (x) *',
    "emoji": "ada 👩‍💻 é",
    "200 characters": "a" * 200,
    "percent and backslash": "100%s \\n %(x)d {0}",
    "a line break": "two\nlines",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_home_with_an_odd_name(run_cli: RunCli, tmp_path: Path, name: str) -> None:
    home = tmp_path / NAMES[name]
    made = Person(run_cli, home, home / "shop")
    made.write(home / ".claude" / "CLAUDE.md", NOTES)
    made.write(home / ".claude" / "settings.json", SETTINGS)
    made.init(made.project)
    made.live_through_it()


def _link_files(person: Person, dotfiles: Path, relative: bool) -> None:
    """As chezmoi in symlink mode, or stow: the files are in a repository, the home has links."""
    for name in ("CLAUDE.md", "settings.json"):
        real = person.write(dotfiles / "claude" / name, (person.home / ".claude" / name).read_bytes())
        (person.home / ".claude" / name).unlink()
        target = os.path.relpath(real, person.home / ".claude") if relative else real
        (person.home / ".claude" / name).symlink_to(target)
    person.git("init", "-q", cwd=dotfiles)


@pytest.mark.parametrize("relative", [True, False])
def test_files_that_a_dotfiles_manager_links(person: Person, relative: bool) -> None:
    _link_files(person, person.home / ".local/share/chezmoi", relative)
    person.live_through_it(typed="yes")


def test_a_folder_that_stow_links(person: Person) -> None:
    shutil.move(person.home / ".claude", person.home / "dotfiles")
    (person.home / ".claude").symlink_to("dotfiles")
    person.live_through_it()


def test_a_read_only_settings_file_is_refused_and_all_else_works(person: Person) -> None:
    settings = person.home / ".claude" / "settings.json"
    settings.chmod(0o444)
    said = person.run("enable", code=1)
    assert "settings.json' is read-only" in said and "chmod u+w" in said
    assert (settings.read_bytes(), stat.S_IMODE(settings.stat().st_mode)) == (SETTINGS, 0o444)
    said = person.at_terminal("approve", person.capture("use pnpm, not npm"), "--to", "global")
    person.at_terminal("revert", re.findall(r"LRN-\d{8}-\w{8}", said)[0])
    assert (person.home / ".claude" / "CLAUDE.md").read_bytes() == NOTES
    settings.chmod(0o644)
    person.run("uninstall", "--erase", "--yes")
    assert (person.home / ".claude" / "CLAUDE.md").read_bytes() == NOTES


def test_a_read_only_instruction_file_is_refused_with_the_command(person: Person) -> None:
    notes = person.home / ".claude" / "CLAUDE.md"
    notes.chmod(0o444)
    signal = person.capture("use pnpm, not npm")
    said = person.at_terminal("approve", signal, "--to", "global", code=1)
    assert "is read-only" in " ".join(said.split()) and "chmod u+w" in said
    assert notes.read_bytes() == NOTES
    notes.chmod(0o644)
    person.live_through_it()


def test_a_home_on_a_drive_of_windows(run_cli: RunCli, tmp_path: Path) -> None:
    """In WSL, everything below /mnt/c has mode 0777."""
    home = tmp_path / "mnt/c/Users/Ada Byron"
    made = Person(run_cli, home, home / "source/shop")
    made.write(home / ".claude" / "CLAUDE.md", NOTES).chmod(0o777)
    made.write(home / ".claude" / "settings.json", SETTINGS.replace(b"\n", b"\r\n")).chmod(0o777)
    made.init(made.project)
    for folder in (home, home / ".claude", home / "source", made.project):
        folder.chmod(0o777)
    made.live_through_it()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_a_container_with_another_user_s_store_and_files(person: Person) -> None:
    person.run("enable")
    signal = person.capture("use pnpm, not npm")
    notes = person.project / "CLAUDE.md"
    os.chown(notes, 12345, 12345)
    said = person.at_terminal("approve", signal, "--to", "project", code=1)
    assert "belongs to another user" in said and notes.read_bytes() == NOTES
    said = person.at_terminal("approve", signal, "--to", "global")
    person.at_terminal("revert", re.findall(r"LRN-\d{8}-\w{8}", said)[0])
    assert (person.home / ".claude" / "CLAUDE.md").read_bytes() == NOTES
    os.chown(notes, 0, 0)
    os.chown(person.store, 12345, 12345)
    assert "belongs to another user" in person.run("status", code=1)
    person.fail_a_tool()
    os.chown(person.store, 0, 0)
    person.run("disable")
    person.run("uninstall", "--erase", "--yes")
    assert (notes.read_bytes(), (person.home / ".claude/settings.json").read_bytes()) == (NOTES, SETTINGS)


def test_a_monorepo_with_nested_files(person: Person) -> None:
    web = person.project / "packages" / "web"
    person.write(web / "CLAUDE.md", NOTES.replace(b"Mine", b"Web"))
    person.write(person.project / "packages" / "api" / "CLAUDE.md", b"")
    person.live_through_it("dir:packages/web", web / "CLAUDE.md", cwd=web)


def test_a_bare_repository_with_work_trees(person: Person, tmp_path: Path) -> None:
    bare, tree = tmp_path / "trees" / ".bare", tmp_path / "trees" / "feature"
    person.git("clone", "-q", "--bare", str(person.project), str(bare))
    person.write(bare.parent / ".git", b"gitdir: ./.bare\n")
    person.git("worktree", "add", "-q", "-b", "feature", str(tree), cwd=bare.parent)
    person.project = tree
    person.live_through_it()


def test_a_submodule(person: Person, tmp_path: Path) -> None:
    library = person.init(tmp_path / "library")
    person.git("submodule", "--quiet", "add", str(library), "vendor/library")
    person.git("commit", "-qm", "library")
    outer = person.project
    person.project = outer / "vendor" / "library"
    person.live_through_it()
    person.project = outer
    person.live_through_it()
