"""A global file that is a link is followed inside the home folder, once a person agreed to it (row 42)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.candidates.gate import Finding
from reflect_git.errors import ReflectError
from reflect_git.rules import client_questions, revert
from reflect_git.rules.approve import Proposal, Request, plan_approval, write_approval
from reflect_git.rules.arrivals import list_arrivals
from reflect_git.rules.write_change import LinkNotAllowed, check_link, check_links
from reflect_git.store.repository import Store
from reflect_git.targets.target_files import GLOBAL_TARGET
from tests.rules.queues import BY, PNPM, capture_signal, open_queue
from tests.rules.test_arrivals import approved_elsewhere
from tests.store.store_checks import open_store

ASKED = "'~/.claude/CLAUDE.md' is a link: '~/dotfiles/claude.md' would be changed"


@pytest.fixture
def real(home: Path) -> Path:
    """Return the target of the global file's link."""
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "claude.md").write_text("# Mine\n")
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude" / "CLAUDE.md").symlink_to(home / "dotfiles" / "claude.md")
    (home / "shop").mkdir()
    return home / "dotfiles" / "claude.md"


@pytest.fixture
def store(store_home: Path, real: Path) -> Store:
    store = open_store(store_home)
    capture_signal(store, PNPM)
    return store


def proposed(store: Store, to: str = "global") -> Proposal:
    queue = open_queue(store, os.environ)
    return plan_approval(queue, Request(queue.candidates.strong[0], to=to))


def links(found: Proposal) -> list[str]:
    return [one.message for one in found.findings if one.code == "link"]


def test_it_is_a_risk_until_it_was_said_yes_to(store: Store, real: Path) -> None:
    first = proposed(store)
    assert links(first) == [ASKED] and first.is_risky
    assert links(proposed(store, "project")) == []
    write_approval(open_queue(store, os.environ), first, BY)
    assert first.learning["id"] in real.read_text() and (real.parent.parent / ".claude/CLAUDE.md").is_symlink()
    capture_signal(store, "always use ruff here, never black", session_id="two")
    assert links(proposed(store)) == []


def test_another_place_is_asked_about_again(store: Store, real: Path, home: Path) -> None:
    write_approval(open_queue(store, os.environ), proposed(store), BY)
    capture_signal(store, "always use ruff here, never black", session_id="two")
    (home / ".claude" / "CLAUDE.md").unlink()
    (home / ".claude" / "CLAUDE.md").symlink_to(home / ".bashrc")
    (home / ".bashrc").write_text("alias x=y\n")
    assert links(proposed(store)) == ["'~/.claude/CLAUDE.md' is a link: '~/.bashrc' would be changed"]


def test_a_question_of_the_client_shows_it_and_an_answer_rests_on_that(store: Store) -> None:
    queue = open_queue(store, os.environ)
    assert (
        f"Risk: {ASKED}"
        in client_questions.store_candidate_question(queue, queue.candidates.strong[0], 1, 1)["question"].splitlines()
    )
    assert f"Risk: {ASKED}" in client_questions.build_approval_request(queue, proposed(store)).shown
    assert f"Risk: {ASKED}" not in client_questions.build_approval_request(queue, proposed(store, "project")).shown


def test_what_another_machine_decided_does_not_go_through_it_unasked(store: Store) -> None:
    facts = {"scope": "global", "project": None, "target": {"kind": "global", "path": "CLAUDE.md"}}
    approved_elsewhere(store, "Use bun, not deno", **facts)
    (found,) = list_arrivals(open_queue(store, os.environ))
    assert Finding("risk", "link", ASKED, found.risks[0].hint) == found.risks[0]


def test_a_file_that_became_a_link_is_not_written_by_a_revert_unasked(store: Store, home: Path, real: Path) -> None:
    path = home / ".claude" / "CLAUDE.md"
    path.unlink()
    path.write_text("# Mine\n")
    write_approval(open_queue(store, os.environ), proposed(store), BY)
    real.write_text(path.read_text())
    path.unlink()
    path.symlink_to(real)
    before, ctx = real.read_text(), open_queue(store, os.environ)
    (made,) = ctx.scan.history.decisions
    reversal = revert.plan_revert(ctx, revert.select_by_name(ctx, made["id"]))
    with pytest.raises(LinkNotAllowed, match="is a link"):
        revert.write_revert(ctx, reversal, BY)
    assert real.read_text() == before
    asked = check_links(store, ctx.place, [step.plan for step in reversal.steps])
    revert.write_revert(ctx, reversal, BY, asked)
    assert real.read_text() == "# Mine\n"
    assert check_link(store, ctx.place, GLOBAL_TARGET) == []


def test_a_link_in_the_way_to_a_file_is_one(store: Store, home: Path, tmp_path: Path) -> None:
    (home / "dotfiles" / "rules").mkdir()
    (home / ".claude" / "rules").symlink_to(home / "dotfiles" / "rules")
    (message,) = links(proposed(store, "global-rules"))
    assert "~/dotfiles/rules/reflect/" in message
    (home / ".claude" / "rules").unlink()
    (tmp_path / "outside").mkdir()
    (home / ".claude" / "rules").symlink_to(tmp_path / "outside")
    with pytest.raises(ReflectError, match="outside"):
        proposed(store, "global-rules")


def test_a_link_out_of_the_home_folder_is_no_reason_to_ask_nothing(store: Store, home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("")
    (home / ".claude" / "CLAUDE.md").unlink()
    (home / ".claude" / "CLAUDE.md").symlink_to(tmp_path / "elsewhere.md")
    queue = open_queue(store, os.environ)
    assert "Risk" not in client_questions.store_candidate_question(queue, queue.candidates.strong[0], 1, 1)["question"]


def test_out_of_the_home_folder_it_does_not_lead(store: Store, home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("")
    (home / ".claude" / "CLAUDE.md").unlink()
    (home / ".claude" / "CLAUDE.md").symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(ReflectError, match="outside"):
        proposed(store)
