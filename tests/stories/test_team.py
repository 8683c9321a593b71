"""Two people work in one project: each has a store, and the project's git carries what they agree on."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.capture import service
from tests.conftest import RunCli, find_store_problems
from tests.faults import git
from tests.rules.queues import capture_signal
from tests.store.store_checks import allow_unattended, open_store
from tests.sync.clones import create_bare_repository


class Colleague:
    """Somebody with their own clone of the project, store and Claude Code."""

    def __init__(self, base: Path, name: str, origin: Path, run_cli: RunCli) -> None:
        self.name = name
        self.clone, self.store, self._run = base / name / "shop", base / name / "reflections", run_cli
        self._env = {"REFLECT_GIT_HOME": str(self.store), "CLAUDE_CONFIG_DIR": str(base / name / "claude")}
        (base / name).mkdir()
        git(base, "clone", "-q", str(origin), str(self.clone))
        git(self.clone, "config", "user.name", name)
        git(self.clone, "config", "user.email", f"{name}@example.com")
        open_store(self.store)
        allow_unattended(self.store)

    def runs(self, *words: str, code: int = 0) -> str:
        done = self._run(*words, cwd=self.clone, env=self._env)
        assert done.code == code, done.err
        return done.out + done.err

    def learns(self, text: str) -> None:
        """Say it to Claude, and approve it."""
        store = open_store(self.store)
        signal = capture_signal(store, text, project=service.get_project(store, str(self.clone)), session_id=text)
        self.runs("approve", signal, "--to", "rules", "--text", text)

    def files(self) -> set[str]:
        return {path.name for path in (self.clone / ".claude/rules/reflect").glob("*.md")}


@pytest.fixture
def team(tmp_path: Path, run_cli: RunCli) -> tuple[Colleague, Colleague, Path]:
    origin, first = create_bare_repository(tmp_path / "shop.git"), tmp_path / "first"
    git(tmp_path, "clone", "-q", str(origin), str(first))
    (first / "README.md").write_text("# Shop\n")
    git(first, "add", "README.md")
    git(first, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "begin")
    git(first, "push", "-q", "origin", "HEAD:main")
    ada, bob = (Colleague(tmp_path, name, origin, run_cli) for name in ("ada", "bob"))
    return ada, bob, origin


def test_four_approvals_of_two_people_merge_without_a_conflict(team: tuple[Colleague, Colleague, Path]) -> None:
    ada, bob, origin = team
    for person, texts in (
        (ada, ("Use pnpm, not npm", "Run the linter before a commit")),
        (bob, ("Use pytest, not unittest", "Keep migrations in db/migrations")),
    ):
        for text in texts:
            person.learns(text)
        said = person.runs("propose", "--branch", f"{person.name}/learnings")
        assert "proposed 2 rules" in said and "nothing was pushed" in said
        assert f"{person.name}/learnings" not in git(origin, "branch", "--list")
        git(person.clone, "push", "-q", "origin", f"{person.name}/learnings")

    # On the host both are merged, one after another.
    reviewer = origin.parent / "first"
    for name in ("ada", "bob"):
        git(reviewer, "fetch", "-q")
        who = ("-c", "user.name=R", "-c", "user.email=r@b")
        git(reviewer, *who, "merge", "-q", "--no-ff", "--no-edit", f"origin/{name}/learnings")
    git(reviewer, "push", "-q", "origin", "HEAD:main")

    for person in (ada, bob):
        mine = person.files()
        assert len(mine) == 2
        git(person.clone, "clean", "-fdq", ".claude")  # what they approved comes back with the project's own git
        git(person.clone, "pull", "-q", "--ff-only")
        assert mine < person.files() and len(person.files()) == 4
        said = person.runs("audit")
        assert "2 findings; everything else traces to a person" in said
        assert said.count("is not of this store") == 2
        assert "2 entries from another store: left alone" in person.runs("review")
        before = git(person.clone, "rev-parse", "HEAD")
        assert "nothing to propose: all 2 rules are already on your branch" in person.runs("propose")
        assert git(person.clone, "rev-parse", "HEAD") == before
        assert git(person.clone, "status", "--porcelain") == ""
        assert not find_store_problems(person.store)
