"""`why`: the origin of each line of an instruction file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_git.store import api
from reflect_git.store.main import main_branch
from reflect_git.store.repository import Store
from reflect_git.sync import store_paths
from tests.cli.old_store import approve, replace_varying_parts, reword
from tests.conftest import RunCli
from tests.faults import git
from tests.rules.project_edits import ClaudeEditor, commit, make_project
from tests.rules.queues import BY, capture_signal
from tests.store.store_checks import open_store

Why = Callable[..., str]


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    """Create a rule that was reworded, repeated, and committed to the project."""
    store = open_store(store_home)
    rule = approve(store, project, "use pnpm, not npm")
    reword(store, project, rule, "Use pnpm for everything.", "npm is gone")
    commit(project, "Take the rules in")
    capture_signal(store, "use pnpm, not npm", session_id="s-2")
    return store


@pytest.fixture
def why(run_cli: RunCli, project: Path, store: Store) -> Why:
    def ask(name: str) -> str:
        return replace_varying_parts(run_cli("why", name, cwd=project, env={"COLUMNS": "100"}).out, store)

    return ask


def line_of(file: Path, words: str) -> int:
    lines = file.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if words in line)


def data(run_cli: RunCli, name: str, project: Path) -> Any:
    return run_cli("why", name, "--json", cwd=project).json()["data"]


def test_a_learning(why: Why, project: Path) -> None:
    told = why(f"CLAUDE.md:{line_of(project / 'CLAUDE.md', 'Use pnpm')}")
    assert (
        told
        == """\
CLAUDE.md:7  LRN-1  in force

    Use pnpm for everything.

  approved      WHEN, Ada at a terminal, MACHINE
  you said      "use pnpm, not npm"
                SIG-1, WHEN, session s-1
  earlier text  "Use pnpm, not npm"
                until WHEN, Ada at a terminal, MACHINE: npm is gone
  said again    1 time in 1 session, last WHEN
  does it help  reflect-git effect LRN-1
  change it     reflect-git edit LRN-1
  revert it     reflect-git revert LRN-1
  commit        commit-1
"""
    )


def test_data_has_it_all(run_cli: RunCli, store: Store, project: Path) -> None:
    number = line_of(project / "CLAUDE.md", "Use pnpm")
    (found,) = data(run_cli, f"CLAUDE.md:{number}", project)
    assert (found["file"], found["lines"], found["author"]) == (
        str(project / "CLAUDE.md"), [number], {"kind": "learning"},
    )  # fmt: skip
    story = found["story"]
    assert (story["learning"]["text"], story["state"]) == ("Use pnpm for everything.", "in force")
    assert [made["kind"] for made in story["decisions"]] == ["approved", "amended"]
    assert [one["text"] for one in story["replaced"]] == ["Use pnpm, not npm"]
    assert [one["session_id"] for one in story["signals"]] == ["s-1"]
    assert (story["again"]["times"], story["again"]["sessions"]) == (1, 1)
    first = git(Path(store.root), "log", "--format=%H", "--grep=^approve", "main").strip()
    assert story["commit"] == first


def test_what_the_file_reads_by_now_is_told(why: Why, project: Path) -> None:
    file = project / "CLAUDE.md"
    file.write_text(file.read_text(encoding="utf-8").replace("Use pnpm for everything.", "Use yarn."), encoding="utf-8")
    told = why(f"CLAUDE.md:{line_of(file, 'Use yarn')}")
    assert '\n    Use pnpm for everything.\n\n  reads now     "Use yarn."\n  approved ' in told


def test_one_that_was_replaced(why: Why, store: Store, project: Path) -> None:
    old = approve(store, project, "use ruff, not black", "rules")
    kept = next((project / ".claude" / "rules" / "reflect").iterdir())
    before = kept.read_bytes()
    approve(store, project, "use uv and ruff, not black", supersedes=(old,))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(before)
    told = why(f"{kept}:5")
    assert told.startswith(f".claude/rules/reflect/{kept.name}:5  LRN-1  superseded by LRN-2\n")
    assert "\n  superseded    WHEN, Ada at a terminal, MACHINE, DEC-1\n" in told
    assert "reflect-git edit" not in told
    heir = why(f"CLAUDE.md:{line_of(project / 'CLAUDE.md', 'Use uv')}")
    assert '\n  replaced      LRN-2 "Use ruff, not black"\n' in heir


def test_the_figures_of_sessions(why: Why, store: Store, project: Path, run_cli: RunCli) -> None:
    from reflect_git.records import yaml_form
    from reflect_git.store.main import main_branch
    from reflect_git.store.repository import get_record_path

    (found,) = data(run_cli, f"CLAUDE.md:{line_of(project / 'CLAUDE.md', 'Use pnpm')}", project)
    rule = found["story"]["learning"]["id"]
    base = {
        "id": "", "version": 1, "session": "0" * 12, "project": None, "start": "", "end": "2999-01-01T00:00:00Z",
        "turns": 1, "typed": 1, "corrections": 0, "failures": {}, "interruptions": 0, "model": None, "client": None,
        "attended": True, "rules": {"CLAUDE.md": [rule]}, "hits": {},
    }  # fmt: skip
    made: list[dict[str, Any]] = [
        {**base, "id": "EXP-20250101-00000000", "start": "2025-01-01T00:00:00Z", "hits": {rule: 5}, "rules": {}},
        {**base, "id": "EXP-29990101-00000000", "start": "2999-01-01T00:00:00Z", "hits": {rule: 1}},
        {**base, "id": "EXP-29990101-00000001", "start": "2999-01-01T00:00:00Z"},
    ]
    with store.locked(5):
        main_branch.commit_files(
            store, {get_record_path(one["id"]): yaml_form.emit(one) for one in made}, "record: 3 sessions\n"
        )
    told = " ".join(why(f"CLAUDE.md:{line_of(project / 'CLAUDE.md', 'Use pnpm')}").split())
    assert "sessions 2 sessions loaded it; its matcher applied 5 times before it was approved, last " in told
    assert "; its matcher applied 1 time since, last " in told


def test_a_line_of_the_project(why: Why, project: Path) -> None:
    assert (
        why("CLAUDE.md:3")
        == """\
CLAUDE.md:3  Our own text.
  committed by  Ada, WHEN
  commit        commit-1 work
"""
    )


def test_a_line_that_moved_is_the_same_line(why: Why, project: Path) -> None:
    file = project / "CLAUDE.md"
    file.write_text("A new first line\n\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert "committed by  Ada" in why("CLAUDE.md:5")
    assert (
        why("CLAUDE.md:1")
        == """\
CLAUDE.md:1  A new first line
  written by    you; not committed, and not written in a session
"""
    )


def test_a_line_that_claude_wrote(why: Why, home: Path, project: Path) -> None:
    claude = ClaudeEditor(home, project, "5a1b2c3d-0000-4000-8000-000000000001")
    claude.say("please tidy the rules up")
    claude.edit(project / "CLAUDE.md", "Our own text.\n", "Our own text.\nClaude knows better.\n")
    assert (
        why("CLAUDE.md:4")
        == """\
CLAUDE.md:4  Claude knows better.
  written by    Claude in session 5a1b2c3d, WHEN; not approved
  you had said  "please tidy the rules up"
"""
    )
    assert "1 line written by Claude in session 5a1b2c3d" in " ".join(why("CLAUDE.md").split())


def test_marks_and_blank_lines(why: Why, project: Path) -> None:
    begin = line_of(project / "CLAUDE.md", "reflect-git:begin")
    assert why(f"CLAUDE.md:{begin}").endswith(
        "\n  written by    reflect-git, to mark its rules; removed with the last rule\n"
    )
    assert why("CLAUDE.md:2") == "CLAUDE.md:2\n                a blank line\n"


def test_what_a_file_that_we_made_begins_with(why: Why, store: Store, project: Path) -> None:
    ours = "\n  written by    reflect-git, to mark its rules; removed with the last rule\n"
    (project / "web").mkdir()
    (project / "web/AGENTS.md").write_text("Theirs.\n", encoding="utf-8")
    approve(store, project, "use vite, not webpack", to="dir:web")
    approve(store, project, "the tests are flaky on mondays", to="improvements")
    assert why("web/CLAUDE.md:1") == f"web/CLAUDE.md:1  @AGENTS.md{ours}"
    assert why(".claude/improvements.md:3") == f".claude/improvements.md:3  # Project Improvements{ours}"
    (project / "web/CLAUDE.md").write_text("@AGENTS.md\n\nMine.\n", encoding="utf-8")
    assert "written by    you" in why("web/CLAUDE.md:1")


def test_the_rule_of_a_colleague(why: Why, run_cli: RunCli, project: Path) -> None:
    foreign = "LRN-20250101-c0113ag0"
    file = project / "CLAUDE.md"
    text = file.read_text(encoding="utf-8")
    entry = f"<!-- {foreign} -->\n\n- Deploy on Mondays.\n\n<!-- reflect-git:end -->"
    file.write_text(text.replace("<!-- reflect-git:end -->", entry), encoding="utf-8")
    git(project, "add", "-A")
    git(project, "-c", "user.name=Bob", "-c", "user.email=bob@example.org", "commit", "-q", "-m", "Bob's rule")
    number = line_of(file, "Deploy on Mondays")
    assert (
        why(f"CLAUDE.md:{number}")
        == f"""\
CLAUDE.md:{number}  - Deploy on Mondays.
  written by    a colleague with reflect-git; 'LRN-1' is not in this store
  committed by  Bob, WHEN
  commit        commit-1 Bob's rule
"""
    )
    (found,) = data(run_cli, f"CLAUDE.md:{number}", project)
    assert (found["author"]["kind"], found["author"]["id"], found["author"]["name"]) == ("colleague", foreign, "Bob")


def test_an_entry_that_was_purged_is_not_a_colleagues(why: Why, run_cli: RunCli, store: Store, project: Path) -> None:
    gone = "LRN-20250101-c0113ag0"
    mark_purged(store, gone)
    file = project / "CLAUDE.md"
    entry = f"<!-- {gone} -->\n\n- Deploy on Mondays.\n\n<!-- reflect-git:end -->"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("<!-- reflect-git:end -->", entry), encoding="utf-8")
    number = line_of(file, "Deploy on Mondays")
    told = why(f"CLAUDE.md:{number}")
    assert "  purged        'LRN-1' was purged from the history, but is still in this file\n" in told
    assert "  to do         delete the line with the id, and the text below it\n" in told
    assert "colleague" not in told + why("CLAUDE.md") and "LRN-2  purged, but still here\n" in why("CLAUDE.md")
    (found,) = data(run_cli, f"CLAUDE.md:{number}", project)
    assert (found["author"]["kind"], found["author"]["id"]) == ("purged", gone)
    path = project / ".claude" / "improvements.md"
    path.parent.mkdir()
    path.write_text(f"## Pending\n\n<!-- {gone} -->\n\n### [2026-01-01] Split the tests\n", encoding="utf-8")
    assert f"  {gone} (purged: delete it)\n" in run_cli("improvements", cwd=project).out


def mark_purged(store: Store, identity: str) -> None:
    made = store_paths.Purge(1, "2026-01-01T00:00:00Z", store.machine, tuple(store_paths.build_marks([identity], [])))
    with store.locked(5.0):
        main_branch.commit_files(
            store, {store_paths.build_purge_path(1, "abcdefgh"): store_paths.emit_purge(made)}, "purge: 1 record\n"
        )


def test_a_whole_file(why: Why, run_cli: RunCli, project: Path) -> None:
    with (project / "CLAUDE.md").open("a", encoding="utf-8") as file:
        file.write("\nNot committed.\n")
    assert (
        why("CLAUDE.md")
        == """\
line 7  LRN-1  in force
    Use pnpm for everything.
    approved WHEN, Ada at a terminal, MACHINE; said again 1 time since

the rest of CLAUDE.md: 2 lines committed by Ada; 2 lines of reflect-git markers; 1 line yours, not
committed
"""
    )
    found = data(run_cli, "CLAUDE.md", project)
    kinds = [(one["author"]["kind"], one["lines"]) for one in found]
    begin = line_of(project / "CLAUDE.md", "begin")
    assert kinds[0] == ("learning", [begin + 2])
    assert sorted(kinds[1:]) == [("commit", [1, 3]), ("mark", [begin, begin + 4]), ("you", [begin + 6])]


def test_a_file_without_rules_has_no_rest(why: Why, project: Path) -> None:
    (project / "CLAUDE.md").write_text("# Shop\n", encoding="utf-8")
    assert why("CLAUDE.md").startswith("CLAUDE.md: 1 line ")


def test_a_file_outside_any_repository(why: Why, store: Store, home: Path, project: Path) -> None:
    approve(store, project, "answer in German", "global")
    told = why("~/.claude/CLAUDE.md".replace("~", str(home)))
    assert "    Answer in German\n" in told
    assert told.endswith("the rest of ~/.claude/CLAUDE.md: 2 lines of reflect-git markers\n")


def test_after_its_signals_are_gone(why: Why, store: Store, project: Path) -> None:
    ref = next(iter(store.git.refs("refs/heads/inbox/")))
    for name in ("inbox-rows", "inbox"):
        Path(store.private_path("cache", name)).unlink(missing_ok=True)
    first = git(Path(store.root), "rev-list", "--max-parents=0", ref).strip()
    store.git.update_refs(f"update {ref} {first}\n")
    shutil.rmtree(store.path("signals"))
    told = why("CLAUDE.md:7")
    assert "you said" not in told
    assert "1 signal expired, or only on another machine" in told


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("AGENTS.md", 1, "there is no file "),
        ("CLAUDE.md:999", 2, "'CLAUDE.md' has "),
        ("CLAUDE.md:0", 2, "line numbers start at 1"),
    ],
)
def test_what_is_not_there(run_cli: RunCli, store: Store, project: Path, name: str, code: int, message: str) -> None:
    result = run_cli("why", name, cwd=project)
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(f"error: {message}")


def test_without_a_store(run_cli: RunCli, project: Path, store_home: Path) -> None:
    assert run_cli("why", "CLAUDE.md", cwd=project).err.startswith("error: there is no store at ")
    assert not store_home.exists()


def test_a_reverted_rule_that_still_stands(why: Why, store: Store, project: Path) -> None:
    number = line_of(project / "CLAUDE.md", "Use pnpm")
    rule = next(iter((Path(store.root) / "learnings").glob("LRN-*.yaml"))).stem
    made = api.build_decision(store, "reverted", rule, BY, "2999-01-01T00:00:00.000Z", reason="too strict")
    api.commit_records(store, [made], "revert: x", {"Learning-Id": [rule]})
    told = why(f"CLAUDE.md:{number}")
    assert told.startswith(f"CLAUDE.md:{number}  LRN-1  reverted\n")
    assert "\n  reason        too strict\n" in told
