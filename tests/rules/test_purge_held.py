"""A purge completes whatever a person made in the store; their objects are rewritten, or named and left."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from reflect_git import purge
from reflect_git.errors import ReflectError
from reflect_git.platform import yaml_loose
from reflect_git.store.main import journal
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store, get_record_path
from tests import disk_search
from tests.faults import git
from tests.rules.audit.audited_store import ADA, approve, create_audited_store, read_claude_md, run_audit
from tests.rules.purges import WORD
from tests.rules.queues import BY, PNPM, get_project_folder
from tests.rules.test_purge import take_out

SAID = f"always deploy to {WORD} at night"


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    store = create_audited_store(store_home, home, PNPM)
    approve(store, SAID)
    return store


def own_file(root: Path, branch: str, text: str = "precious\n") -> None:
    git(root, "switch", "-qc", branch)
    (root / "own.md").write_text(text, encoding="utf-8")
    git(root, "add", "own.md")
    git(root, *ADA, "commit", "-qm", "my own")
    git(root, "switch", "-q", "main")


@pytest.mark.parametrize("branch", ["main-old", "backup/mine", "inbox/mine", "inbox/mine/notes", "refs"])
def test_a_branch_is_rewritten_whatever_it_is_called(store: Store, store_home: Path, branch: str) -> None:
    own_file(store_home, branch)
    assert take_out(store).remaining == () and not journal.has_entries(store)
    assert disk_search.find_texts(store_home, WORD) == []
    assert git(store_home, "show", f"{branch}:own.md") == "precious\n"
    assert git(store_home, "log", "--format=%s", branch).splitlines()[0] == "my own"


def test_refs_that_are_other_names_of_refs_do_not_stand_in_the_way(store: Store, store_home: Path) -> None:
    git(store_home, "update-ref", "refs/stash-old", "main")
    git(store_home, "update-ref", "refs/remotes/origin/main", "main")
    git(store_home, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    git(store_home, "branch", "feature")
    git(store_home, "symbolic-ref", "refs/heads/alias", "refs/heads/feature")
    assert take_out(store).remaining == () and disk_search.find_texts(store_home, WORD) == []
    assert git(store_home, "rev-parse", "alias") == git(store_home, "rev-parse", "feature")


def test_a_tag_of_a_mere_file_or_folder_goes(store: Store, store_home: Path) -> None:
    listed = git(store_home, "ls-tree", "-r", "--name-only", "main").split()
    (mirror,) = (name for name in listed if "CLAUDE.md" in name)
    git(store_home, "tag", "file", f"main:{mirror}")
    git(store_home, "tag", "folder", "main^{tree}")
    git(store_home, "tag", "readme", "main:README.md")
    assert take_out(store).remaining == () and disk_search.find_texts(store_home, WORD) == []
    assert git(store_home, "tag").split() == ["readme"]


def test_what_is_staged_and_not_committed_is_named(store: Store, store_home: Path) -> None:
    (store_home / "own.md").write_text(f"{WORD} mine\n", encoding="utf-8")
    git(store_home, "add", "own.md")
    assert take_out(store).remaining == ("own.md", "1 git object") and not journal.has_entries(store)
    git(store_home, "rm", "-qf", "own.md")
    assert take_out(store).remaining == () and disk_search.find_texts(store_home, WORD) == []


def test_names_of_refs_are_told_before_and_after(store: Store, store_home: Path) -> None:
    git(store_home, "branch", f"{WORD}-x", "main")
    git(store_home, *ADA, "tag", "-a", f"{WORD}-t", "-m", "hm", "main")
    asked = purge.plan_purge(
        store, os.environ, reader.read, purge.select_by_pattern(WORD), str(get_project_folder(os.environ))
    )
    assert [place for place in asked.unreached if WORD in place] == [
        f"'refs/heads/{WORD}-x', which is called so: rename it", f"'refs/tags/{WORD}-t', which is called so: rename it",
    ]  # fmt: skip
    left = take_out(store).remaining
    assert f"refs/heads/{WORD}-x (a name in history)" in left and "1 git object" in left
    git(store_home, "branch", "-m", f"{WORD}-x", "x")
    git(store_home, "tag", "-d", f"{WORD}-t")
    assert take_out(store).remaining == () and disk_search.find_texts(store_home, WORD) == []


def test_a_tag_inside_of_a_merge_is_found(store: Store, store_home: Path) -> None:
    """A merged signed tag is in the header of the merge."""
    own_file(store_home, "side")
    side = git(store_home, "rev-parse", "side").strip()
    body = (
        f"object {side}\ntype commit\ntag t\ntagger A <a@b> 1794922076 +0000\n\nabout Kublai\n"
        "-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n"
    )
    made = subprocess.run(
        ["git", "hash-object", "-t", "tag", "-w", "--stdin"],
        cwd=store_home, input=body, capture_output=True, check=True, text=True,
    )  # fmt: skip
    git(store_home, "update-ref", "refs/tags/t", made.stdout.strip())
    git(store_home, *ADA, "merge", "-q", "--no-ff", "-m", "merged", "t")
    git(store_home, "tag", "-d", "t")
    assert "Kublai" in git(store_home, "cat-file", "-p", "main")
    assert (
        take_out(store, purge.select_by_pattern("Kublai")).remaining == ()
        and disk_search.find_texts(store_home, "Kublai") == []
    )


@pytest.mark.parametrize("pattern", [f"^{WORD}", f"(?s)Ada.*{WORD}", WORD])
def test_a_message_is_searched_as_it_is_cleaned(store: Store, store_home: Path, pattern: str) -> None:
    own_file(store_home, "mine")
    git(store_home, *ADA, "commit", "-q", "--allow-empty", "-m", f"{WORD} hm")
    wish = purge.select_by_pattern(pattern)
    take_out(store, wish)
    assert not journal.has_entries(store)
    assert not any(map(wish.search.matches_text, git(store_home, "log", "--format=%B%x00", "main").split("\0")))


@pytest.mark.parametrize("by", ["pattern", "id"])
def test_a_branch_of_the_users_loses_the_titles_too(store: Store, store_home: Path, by: str) -> None:
    long = f"always deploy to {WORD} at dusk, never to the old host in the cellar that still runs the night jobs"
    done = approve(store, long)
    git(store_home, "branch", "keep")
    wish = purge.select_by_pattern(WORD) if by == "pattern" else purge.select_by_id(reader.read(store), done.learning)
    take_out(store, wish)
    assert f"to {WORD} at dusk" not in git(store_home, "log", "--format=%B", "--name-only", "-p", "keep")
    assert "approve: [purged]" in git(store_home, "log", "--format=%s", "keep")


def test_what_git_leaves_beside_its_objects_goes_or_is_named(store: Store, store_home: Path) -> None:
    folder = store_home / ".git"
    for name in ("TAG_EDITMSG", "NOTES_EDITMSG", "rr-cache/ab/preimage", "description"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(WORD, encoding="utf-8")
    git(store_home, "config", "branch.feature.description", WORD)
    assert take_out(store).remaining == (".git/config", ".git/description")


@pytest.mark.parametrize("pattern", ["purged", "reflect-git", "version", "[a-z]", ".", "Machine", "records?"])
def test_what_every_purge_says_itself_is_refused(store: Store, pattern: str) -> None:
    with pytest.raises(ReflectError, match="that is said by every purge"):
        take_out(store, purge.select_by_pattern(pattern))
    with pytest.raises(ReflectError, match="that is said by every purge"):
        take_out(store, purge.select_by_pattern(store.machine))


def test_nothing_goes_for_what_stands_in_its_hashes_alone(store: Store) -> None:
    wish = purge.select_by_pattern("[0-9a-f]{16}")
    found = purge.plan_purge(store, os.environ, reader.read, wish, str(get_project_folder(os.environ))).found
    assert not found.records and not found.objects and found.other_files, "private files of ours name objects"


@pytest.mark.parametrize("pattern", ["shop", "Ada", "ada@example", "pnpm pays"])
def test_a_rule_leaves_its_file_with_whatever_goes_of_its_records(store: Store, pattern: str) -> None:
    """The name of its project or approver, or the reason: its record or its approval is purged because of it."""
    from reflect_git.rules.approve import Request, plan_approval, write_approval
    from tests.rules.queues import capture_signal, open_queue

    signal = capture_signal(store, "always write tests first", session_id="s-77")
    queue = open_queue(store, os.environ)
    found = queue.candidates.find_candidate(signal)
    assert found
    write_approval(queue, plan_approval(queue, Request(found, to="project", reason="since pnpm pays")), BY)
    take_out(store, purge.select_by_pattern(pattern))
    text = read_claude_md().read_text(encoding="utf-8")
    assert ("Deploy" in text or WORD in text) == (pattern == "pnpm pays") and "tests first" not in text
    assert run_audit(store).ok


def by_hand(store: Store) -> reader.Snapshot:
    return reader.read(store, yaml_loose.parse_edited)


@pytest.mark.parametrize("kind", ["LRN", "DEC"])
@pytest.mark.parametrize("said", ["", WORD])
def test_a_record_that_a_hand_made_larger_than_ours_stops_nothing(
    store: Store, store_home: Path, kind: str, said: str
) -> None:
    rule = next(one for one in by_hand(store).history.get_rules_in_force() if "pnpm" in one["text"])
    path = store_home / get_record_path(rule["id"] if kind == "LRN" else rule["decision"])
    reason = "reason: '" + '"' * 40_000 + f" {said}'"
    path.write_text(re.sub("reason: .*", reason, path.read_text(encoding="utf-8")), encoding="utf-8")
    git(store_home, *ADA, "commit", "-qam", "my own reason")
    folder = str(get_project_folder(os.environ))
    asked = purge.plan_purge(store, os.environ, by_hand, purge.select_by_pattern(WORD), folder)
    assert (rule["id"] in [one["id"] for one in asked.to_revert]) is bool(said)
    assert purge.run_purge(store, os.environ, by_hand, asked, BY, folder).remaining == ()
    assert disk_search.find_texts(store_home, WORD) == []
    assert ("pnpm" in read_claude_md().read_text(encoding="utf-8")) is not bool(said)
