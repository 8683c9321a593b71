"""By default only approved texts, decisions and figures leave the machine, and nothing that was only said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.rules.dismiss import dismiss
from reflect_git.store.local import session_state
from tests.conftest import RunCli, wait_for_background
from tests.disk_search import find_texts
from tests.faults import git
from tests.rules.queues import BY, capture_signal, open_queue
from tests.sessions import Session
from tests.sync.clones import Clone, create_bare_repository

QUOTE = "for heaven's sake, in this project never use npm, always use pnpm instead"
ASIDE = "and by the way my bank is Umbrella Savings"
NO = "never put a semicolon at the end of a line in any of these files"
MINE = "The access code of the office is lobster."


@pytest.mark.parametrize("to", ["global", "project", "rules", "improvements"])
def test_a_remote_has_no_quote_no_session_and_nothing_of_a_file_but_our_part(
    store_home: Path, home: Path, tmp_path: Path, to: str, run_cli: RunCli
) -> None:
    remote = create_bare_repository(tmp_path / "remote.git")
    clone = Clone(store_home, str(remote))
    shop = home / "shop"
    shop.mkdir()
    git(tmp_path, "init", "-q", str(shop))
    for path in (shop / "CLAUDE.md", home / ".claude" / "CLAUDE.md"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Mine\n\n{MINE}\n")
    capture_signal(clone.store, QUOTE, context=f"{QUOTE}. {ASIDE}", session_id="0f0e0d0c-secret-session")
    session = Session(home, cwd=str(shop))
    session.say(f"{QUOTE}, {ASIDE}")
    session.run_hook("SessionEnd")
    wait_for_background(home)
    queue = open_queue(clone.open_store(), os.environ)
    candidate = queue.candidates.strong[0]
    done = write_approval(queue, plan_approval(queue, Request(candidate, to=to, text="Use pnpm, never npm")), BY)
    capture_signal(clone.store, NO, session_id="0f0e0d0c-secret-session")
    queue = open_queue(clone.open_store(), os.environ)
    dismiss(clone.store, next(one for one in queue.candidates.strong if "semicolon" in one.text), BY)
    with clone.store.locked(5):
        session_state.move_to_main(clone.store)
    assert find_texts(clone.root, QUOTE), "it is here, so the scan can fail"
    if to in ("global", "project"):
        assert find_texts(clone.root, MINE), "in the backup"
    clone.sync()
    assert find_texts(remote, "Use pnpm, never npm"), "what was approved went"
    for text in (
        QUOTE,
        "heaven",
        ASIDE,
        "Umbrella",
        NO,
        "semicolon",
        MINE,
        "lobster",
        "secret-session",
        session.name,
    ):
        assert find_texts(remote, text) == [], text
    assert git(remote, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
    assert done.learning in "".join(git(remote, "ls-tree", "-r", "--name-only", "main").split())
