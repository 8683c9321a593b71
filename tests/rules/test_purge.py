"""A purge: the text is gone everywhere, and everything else is unchanged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from reflect_git import purge
from reflect_git.errors import ReflectError
from reflect_git.records.ids import utc_precise
from reflect_git.records.purge_marks import blob_mark, id_mark
from reflect_git.store import pending
from reflect_git.store.main import journal, main_branch
from reflect_git.store.purge import purge_marks
from reflect_git.store.purge.purge_marks import PurgeMarks
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from reflect_git.sync import store_paths
from tests import disk_search
from tests.faults import FAIL, KILL, FaultRun, SavedStore, check_every_fault, git
from tests.rules import purges
from tests.rules.audit.audited_store import (
    ADA,
    TABS,
    approve,
    create_audited_store,
    list_codes,
    read_claude_md,
    run_audit,
)
from tests.rules.purges import WORD
from tests.rules.queues import BY, PNPM, capture_signal, get_project_folder
from tests.store.store_checks import capture, open_recovered_store, require_promises

SECRET = f"no, always deploy to {WORD} at night, never to the old host"


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    """Create three rules, the second to be purged, with its signal, its backups, and traces in other places."""
    store = create_audited_store(store_home, home, PNPM, SECRET, TABS)
    capture(store, "an ordinary remark")
    capture(store, f"and {WORD} is down again")
    return store


def take_out(store: Store, wish: purge.PurgeRequest | None = None) -> purge.PurgeResult:
    store = open_recovered_store(Path(store.root))
    folder = str(get_project_folder(os.environ))
    proposal = purge.plan_purge(store, os.environ, reader.read, wish or purge.select_by_pattern(WORD), folder)
    return purge.run_purge(store, os.environ, reader.read, proposal, BY, folder)


def contents(store: Store) -> dict[str, Any]:
    """Return every record that does not contain it."""
    found = reader.read(store).by_id
    return {one: record for one, record in found.items() if WORD not in str(record)}


def require_gone(root: Path) -> None:
    assert disk_search.find_texts(root, WORD) == []
    assert WORD not in read_claude_md().read_text(encoding="utf-8")


def test_the_text_is_nowhere_and_everything_else_is_there(store: Store, store_home: Path) -> None:
    before, live = contents(store), read_claude_md().read_text()
    assert disk_search.find_texts(store_home, WORD) and WORD in live
    done = take_out(store)
    require_gone(store_home)
    after = contents(store)
    assert after == before, "what took the rule out of its file is about it, and went with it"
    assert len(done.records) == 4, "two signals, a learning, an approval"
    assert "pnpm" in read_claude_md().read_text() and "tabs" in read_claude_md().read_text()
    require_promises(store_home)
    assert run_audit(store).ok


def test_history_keeps_its_shape(store: Store, store_home: Path) -> None:
    before = git(store_home, "log", "--format=%s %at %ct", "main").splitlines()
    take_out(store)
    after = git(store_home, "log", "--format=%s %at %ct", "main").splitlines()
    assert after[0].startswith("purge: 4 records") and after[1].startswith("revert: [purged]")
    assert [line for line in after if "[purged]" not in line][1:] == [line for line in before if WORD not in line]
    assert len(after) == len(before) + 2


def test_other_rules_keep_their_versions_and_their_mirror(store: Store, store_home: Path) -> None:
    take_out(store)
    (mirror,) = (store_home / "targets").rglob("CLAUDE.md")
    text = mirror.read_text()
    assert text.startswith("version: 4\n") and "pnpm" in text and "tabs" in text


def test_the_epoch_is_raised_and_names_what_is_gone_by_hashes(store: Store, store_home: Path) -> None:
    learning = next(one for one, record in reader.read(store).history.learnings.items() if WORD in record["text"])
    blob = git(store_home, "rev-parse", f"main:learnings/{learning}.yaml").strip()
    assert take_out(store).epoch == 1
    (path,) = (store_home / "purges").iterdir()
    made = store_paths.parse_purge(path.read_bytes())
    assert {id_mark(learning), blob_mark(blob)} <= set(made.purged)
    capture_signal(store, f"{WORD} once more")
    assert take_out(store).epoch == 2


def test_a_purge_after_the_last_number_is_one_too(store: Store, store_home: Path) -> None:
    """A remote may offer any number that fits into a name."""
    last = store_paths.emit_purge(store_paths.Purge(store_paths.MAX_EPOCH, "2026-02-11T10:00:00Z", "desk-k3f9", ()))
    with store.locked(5):
        main_branch.commit_files(
            store, {store_paths.build_purge_path(store_paths.MAX_EPOCH, "00000000"): last}, "purge: 1 record\n"
        )
    gone = next(one for one, record in reader.read(store).history.learnings.items() if WORD in record["text"])
    assert take_out(store).epoch == store_paths.MAX_EPOCH
    made = [path for path in (store_home / "purges").iterdir() if store_paths.get_main_kind(f"purges/{path.name}")]
    assert id_mark(gone) in store_paths.collect_marks(store_paths.parse_purge(path.read_bytes()) for path in made)


def test_every_other_file_of_ours_forgets_it(store: Store, store_home: Path) -> None:
    store.log(f"something about {WORD}")
    Path(f"{store.root}.log").write_text(f"2026-02-11T09:00:00Z {WORD}\n")
    private = Path(store.private)
    for name, text in {
        "answers/a.json": '{"answers": [{"label": "say \\u0058anadu"}]}',
        "cursors/open/c.json": f'{{"folder": "/{WORD}"}}',
        "quarantine/q.yaml": f"broken {WORD}",
        "corpses/c": WORD,
        "edit-1.md": WORD,
        "projects.json": f'{{"/{WORD}": 1}}',
        "pending/.tmp-1-a": WORD,
        "incoming/objects/x": WORD,
    }.items():
        (private / name).parent.mkdir(parents=True, exist_ok=True)
        (private / name).write_text(text)
    (store_home / ".git" / "COMMIT_EDITMSG").write_text(WORD)
    (store_home / "learnings" / "LEARNINGS.md").write_text(WORD)
    take_out(store)
    assert disk_search.find_texts(store_home, "anadu") == []
    assert "[purged]" in Path(f"{store.root}.log").read_text()
    assert "something about [purged]" in (private / "log").read_text()


def test_a_capture_that_is_pending_goes_too(store: Store, store_home: Path) -> None:
    from reflect_git.capture.new_signal import build_signal_from_input

    record = build_signal_from_input({"content": f"{WORD} is slow"}, store.machine, utc_precise())
    git(store_home, "checkout", "-q", f"inbox/{store.machine}/0001")
    pending.write_record(store, record)
    git(store_home, "checkout", "-q", "-f", "main")
    take_out(store)
    require_gone(store_home)


def test_backups_that_hold_it_are_dropped_and_others_stay(store: Store, store_home: Path) -> None:
    names = git(store_home, "for-each-ref", "--format=%(refname:short)", "refs/heads/backup/").split()
    kept = {name: git(store_home, "show", f"{name}:backup/1") for name in names}
    assert sum(WORD in text for text in kept.values()) == 1
    take_out(store)
    left = git(store_home, "for-each-ref", "--format=%(refname:short)", "refs/heads/backup/").split()
    assert {name: git(store_home, "show", f"{name}:backup/1") for name in left} == {
        name: text for name, text in kept.items() if WORD not in text
    }


def test_branches_and_tags_of_the_user_are_made_anew(store: Store, store_home: Path) -> None:
    git(store_home, "branch", "mine", "main")
    git(store_home, *ADA, "tag", "-a", "v1", "-m", f"with {WORD}", "main~1")
    git(store_home, "branch", "old", git(store_home, "rev-list", "--max-parents=0", "main").strip())
    old = git(store_home, "rev-parse", "old")
    take_out(store)
    require_gone(store_home)
    assert git(store_home, "log", "--format=%s", "mine").count("approve: ") == 3
    assert git(store_home, "cat-file", "-p", "v1").endswith("with [purged]\n")
    assert git(store_home, "rev-parse", "old") == old, "what never had it keeps its name"


def test_what_the_user_did_not_commit_and_origin_stay(store: Store, store_home: Path, home: Path) -> None:
    git(home, "init", "-q", "--bare", "remote.git")
    git(store_home, "remote", "add", "origin", str(home / "remote.git"))
    git(store_home, "push", "-q", "origin", "main")
    git(store_home, "fetch", "-q", "origin")
    (store_home / "README.md").write_text("mine now\n")
    (store_home / "staged.md").write_text("staged\n")
    (store_home / "untracked.md").write_text("untracked\n")
    git(store_home, "add", "staged.md")
    before = git(store_home, "status", "--porcelain")
    done = take_out(store)
    assert git(store_home, "status", "--porcelain") == before
    assert git(store_home, "remote", "get-url", "origin").strip() == str(home / "remote.git")
    require_gone(store_home)
    assert done.remaining == ()
    git(store_home, "checkout", "-q", "--", "README.md")
    git(store_home, "rm", "-qf", "staged.md")
    os.unlink(store_home / "untracked.md")


def test_a_file_of_the_users_that_says_it_is_named_and_left(store: Store, store_home: Path) -> None:
    (store_home / "notes.md").write_text(f"{WORD}!\n")
    assert take_out(store).remaining == ("notes.md",)
    os.unlink(store_home / "notes.md")
    require_gone(store_home)


def test_a_text_in_quotes_and_with_line_breaks_is_found(store: Store, store_home: Path) -> None:
    words = 'run "make\nall" before\tyou ship'
    capture(store, words, context=f"{words} – ünïcode")
    take_out(store, purge.select_by_pattern(r'make\nall"'))
    assert disk_search.find_texts(store_home, "you ship", "make\\nall") == []


def test_a_learning_goes_by_its_id_with_all_that_it_was_made_from(store: Store, store_home: Path) -> None:
    found = reader.read(store)
    learning = next(one for one, record in found.history.learnings.items() if WORD in record["text"])
    gone = {learning, found.history.learnings[learning]["decision"], *found.history.learnings[learning]["signals"]}
    done = take_out(store, purge.select_by_id(found, learning))
    assert gone == set(done.records)
    assert all(record.get("subject") != learning for record in reader.read(store).by_id.values())
    assert not gone & set(reader.read(store).by_id)
    assert disk_search.find_texts(store_home, f"always deploy to {WORD}") == []
    assert "deploy" not in read_claude_md().read_text()


def test_a_signal_goes_by_its_id_and_nothing_else_of_the_same_kind(store: Store, store_home: Path) -> None:
    identity = capture(store, "yes")["id"]
    other = capture(store, "yes, and so on")["id"]
    done = take_out(store, purge.select_by_id(reader.read(store), identity))
    assert done.records == (identity,)
    assert other in reader.read(store).by_id


def test_a_rule_that_another_one_replaced_does_not_come_back(store: Store) -> None:
    learning = next(one for one, r in reader.read(store).history.learnings.items() if WORD in r["text"])
    from reflect_git.rules.approve import Request, plan_approval, write_approval
    from tests.rules.queues import open_queue

    signal = capture_signal(store, f"no, always deploy to {WORD} at noon, never at night", session_id="s-7")
    queue = open_queue(store, os.environ)
    candidate = queue.candidates.find_candidate(signal)
    assert candidate is not None
    write_approval(queue, plan_approval(queue, Request(candidate, to="project", supersedes=(learning,))), BY)
    proposal = purge.plan_purge(
        store, os.environ, reader.read, purge.select_by_pattern(WORD), str(read_claude_md().parent)
    )
    assert proposal.reinstated == ()
    take_out(store)
    require_gone(Path(store.root))


def test_a_rule_that_was_replaced_and_says_something_else_comes_back_and_is_named(store: Store) -> None:
    old = next(one for one, r in reader.read(store).history.learnings.items() if WORD not in r["text"])
    from reflect_git.rules.approve import Request, plan_approval, write_approval
    from tests.rules.queues import open_queue

    signal = capture_signal(store, f"no, always sing of {WORD} at noon, never at night", session_id="s-7")
    queue = open_queue(store, os.environ)
    write_approval(
        queue, plan_approval(queue, Request(queue.find_candidate(signal), to="project", supersedes=(old,))), BY
    )
    proposal = purge.plan_purge(
        store, os.environ, reader.read, purge.select_by_pattern(WORD), str(read_claude_md().parent)
    )
    assert [one["id"] for one in proposal.reinstated] == [old]
    before = {one["id"] for one in reader.read(store).history.get_rules_in_force()}
    take_out(store)
    after = {one["id"] for one in reader.read(store).history.get_rules_in_force()}
    assert after - before == {old} and old in read_claude_md().read_text()


def test_of_rules_that_replaced_one_another_those_that_say_it_go_and_the_first_that_does_not_comes_back(
    store: Store,
) -> None:
    """The middle one says it only in a decision, and is in force only after the last one is reverted."""
    from reflect_git.rules import amend
    from reflect_git.rules.approve import Request, plan_approval, write_approval
    from tests.rules.queues import open_queue

    first = next(one for one, r in reader.read(store).history.learnings.items() if WORD not in r["text"])
    chain = [first]
    for text in ("no, always sing at noon, never at night", f"no, always sing {WORD} at six, never at seven"):
        signal = capture_signal(store, text, session_id=f"s-{len(chain)}")
        queue = open_queue(store, os.environ)
        wanted = Request(queue.find_candidate(signal), to="project", supersedes=(chain[-1],))
        chain.append(write_approval(queue, plan_approval(queue, wanted), BY).learning)
        if len(chain) == 2:
            queue = open_queue(store, os.environ)
            rule = amend.find_rule_to_amend(queue, chain[1])
            amend.write_amendment(
                queue, amend.plan_amendment(queue, rule, amend.AmendRequest("Sing at one.", reason=WORD)), BY
            )
    wish = purge.select_by_pattern(WORD)
    proposal = purge.plan_purge(store, os.environ, reader.read, wish, str(read_claude_md().parent))
    assert chain[2] in {one["id"] for one in proposal.to_revert} and [one["id"] for one in proposal.reinstated] == [
        first
    ]
    take_out(store)
    known = reader.read(store).history
    assert first in {one["id"] for one in known.get_rules_in_force()} and known.learnings.keys().isdisjoint(chain[1:])
    assert first in read_claude_md().read_text() and not any(one in read_claude_md().read_text() for one in chain[1:])
    require_gone(Path(store.root))


def test_undo_does_not_take_an_older_decision_for_the_purge(store: Store) -> None:
    """Nor the revert of a learning that no longer exists."""
    from reflect_git.rules import restore
    from tests.rules.queues import open_queue

    take_out(store)
    with pytest.raises(ReflectError, match="was a purge") as no:
        restore.select_last(open_queue(store, os.environ))
    (named,) = [one for one in reader.read(store).by_id if one.startswith("DEC-") and one in (no.value.hint or "")]
    made = reader.read(store).by_id[named]
    assert made["kind"] == "approved" and made["subject"] in reader.read(store).history.learnings


def test_undo_goes_on_from_what_was_decided_after_a_purge(store: Store) -> None:
    from tests.rules import reverts

    take_out(store)
    learning = next(iter(reader.read(store).history.get_rules_in_force()))["id"]
    reverts.revert(store, learning)
    assert learning not in read_claude_md().read_text()
    reverts.undo(store)
    assert learning in read_claude_md().read_text()


def test_a_rule_goes_from_a_project_in_another_folder(store: Store, home: Path) -> None:
    proposal = purge.plan_purge(store, os.environ, reader.read, purge.select_by_pattern(WORD), str(home))
    assert not any("which is not here" in one for one in proposal.unreached)
    purge.run_purge(store, os.environ, reader.read, proposal, BY, str(home))
    require_gone(Path(store.root))
    assert WORD not in read_claude_md().read_text()


def test_a_reworded_entry_goes_all_the_same(store: Store) -> None:
    text = read_claude_md().read_text()
    line = next(line for line in text.splitlines() if WORD in line)
    read_claude_md().write_text(text.replace(line, f"{line} Or {WORD}2."))
    take_out(store)
    require_gone(Path(store.root))


@pytest.mark.parametrize("pattern", ["[", "x*", ""])
def test_a_pattern_that_is_none_or_matches_everything_is_refused(pattern: str) -> None:
    with pytest.raises(ReflectError):
        purge.select_by_pattern(pattern)


def test_what_nobody_said_is_not_purged(store: Store) -> None:
    with pytest.raises(ReflectError, match="nothing in the store says that"):
        take_out(store, purge.select_by_pattern("Kublai"))


@pytest.mark.parametrize("code", ["head", "stash", "worktree"])
def test_what_would_hold_on_to_the_old_history_is_settled_first(
    store: Store, store_home: Path, tmp_path: Path, code: str
) -> None:
    before = git(store_home, "rev-parse", "main")
    if code == "head":
        git(store_home, "checkout", "-q", "--detach")
    elif code == "stash":
        (store_home / "README.md").write_text("mine\n")
        git(store_home, *ADA, "stash", "-q")
    else:
        git(store_home, "worktree", "add", "-q", "-b", "second", str(tmp_path / "second"))
    with pytest.raises(ReflectError) as caught:
        take_out(store)
    assert (caught.value.code, git(store_home, "rev-parse", "main")) == (code, before)
    git(store_home, "checkout", "-q", "main")


def test_a_dry_run_changes_nothing_and_lists_it(store: Store, store_home: Path, run_cli: Any) -> None:
    before = git(store_home, "for-each-ref")
    shown = run_cli("purge", "--match", WORD, "--dry-run", "--json").json()["data"]
    assert len(shown["records"]) == 4 and len(shown["reverted"]) == 1 and len(shown["backups"]) == 1
    assert git(store_home, "for-each-ref") == before
    refused = run_cli("purge", "--match", WORD)
    assert refused.code == 1 and "terminal" in refused.err
    assert git(store_home, "for-each-ref") == before


def test_the_audit_knows_what_was_purged_and_nobody_can_pretend_it(store: Store, store_home: Path) -> None:
    take_out(store)
    assert list_codes(store) == []
    (mirror,) = (store_home / "targets").rglob("CLAUDE.md")
    mirror.write_text(mirror.read_text().replace("pnpm", "yarn"))
    git(store_home, "add", "-A")
    ours = ("-c", "user.name=reflect-git", "-c", "user.email=reflect-git@localhost")
    git(store_home, *ours, "commit", "-qm", "approve: [purged]\n\nPurged: LRN-20260211-7k3v9q2m\n")
    assert "commit-without-decision" in list_codes(store)


def test_an_entry_that_was_purged_and_stands_in_a_file_is_named(store: Store) -> None:
    """As on a machine whose project was elsewhere, or after a checkout of an old branch of it."""
    from reflect_git.rules.drift import drift
    from tests.rules.queues import open_queue

    before = read_claude_md().read_bytes()
    take_out(store)
    read_claude_md().write_bytes(before)
    (found,) = (one for one in run_audit(store).findings if one.needs_decision)
    assert found.code == "entry-purged" and found.line and "was purged, but is still here" in found.message
    queue = open_queue(store, os.environ)
    drifted = drift.find_drift(store, os.environ, queue.place, queue.scan.history)
    (told,) = drifted.troubles
    assert told == f"CLAUDE.md:{found.line}: '{found.subject}' was purged, but is still here: delete the entry"
    assert drifted.foreign_count == 0


def test_a_hand_in_the_file_that_tells_of_a_purge_stops_nothing(store: Store, store_home: Path) -> None:
    gone = next(one for one, r in reader.read(store).history.learnings.items() if WORD in r["text"])
    take_out(store)
    (path,) = (store_home / "purges").iterdir()
    path.write_text(path.read_text(encoding="utf-8").replace('["', '["no mark", "'), encoding="utf-8")
    git(store_home, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qam", "edited")
    assert PurgeMarks(store).is_purged(gone)
    approve(store, "no, never push on fridays, always on mondays")
    assert take_out(store, purge.select_by_pattern("mondays")).epoch == 2
    assert PurgeMarks(store).is_purged(gone)


def test_a_file_that_comes_back_with_it_does_not_bring_it_to_main(store: Store, store_home: Path) -> None:
    before = read_claude_md().read_bytes()
    take_out(store)
    read_claude_md().write_bytes(before)
    approve(store, "always run the linter before a push")
    assert WORD.encode() in read_claude_md().read_bytes()
    assert WORD not in git(store_home, "log", "-p", "main")


def test_sync_can_have_a_clone_forget_by_the_marks_alone(store: Store, store_home: Path) -> None:
    """Another machine purged: main came from there, and only hashes show what must be removed here."""
    from reflect_git.store.main import move_main
    from reflect_git.store.purge import purge_refs

    found = reader.read(store)
    gone = [one for one, record in found.by_id.items() if WORD in str(record)]
    paths = {path: blob for path, blob in store.git.tree("main").items() if any(one in path for one in gone)}
    marks = [*map(id_mark, gone), *map(blob_mark, paths.values())]
    root = git(store_home, "rev-list", "--max-parents=0", "main").strip()
    kept = [path for path in store.git.tree("main") if path not in paths and "targets/" not in path]
    listed = git(store_home, "ls-tree", "-r", "main").splitlines()
    index = store.private_path("cache", "new-index")
    lines = "".join(f"{line}\n" for line in listed if line.partition("\t")[2] in kept)
    store.git.run("update-index", "--add", "--index-info", stdin=lines.encode(), index=index)
    tree = store.git.run("write-tree", index=index).out.decode().strip()
    new = git(store_home, *ADA, "commit-tree", "-p", root, "-m", "sync: taken over", tree).strip()
    with store.locked(5):
        move_main.move(store, git(store_home, "rev-parse", "main").strip(), new, "sync: taken over")
        purge_refs.clean_store(store, marks)
    assert not set(gone) & set(reader.read(store).by_id)
    left = [place for place in disk_search.find_texts(store_home, WORD) if place.startswith("object ")]
    kinds = {git(store_home, "cat-file", "-t", place.split()[1]).strip() for place in left}
    assert kinds <= {"blob"}, "backups alone: their bytes are known by no mark"


@pytest.mark.parametrize(("mode", "first", "step"), [
    (KILL, 1, 29), (FAIL, 5, 29), pytest.param(KILL, 1, 1, marks=pytest.mark.slow),
    pytest.param(FAIL, 1, 1, marks=pytest.mark.slow),
])  # fmt: skip
def test_struck_anywhere_it_is_whole_or_not_begun(
    store: Store, store_home: Path, tmp_path: Path, mode: str, first: int, step: int
) -> None:
    kept, live = contents(store), read_claude_md().read_bytes()
    gone = set(reader.read(store).by_id) - set(kept)
    prepared = SavedStore(store_home, tmp_path)

    def check(fault_run: FaultRun) -> None:
        require_promises(store_home)
        after = contents(Store(str(store_home), os.environ))
        assert {one: after.get(one) for one in kept} == kept, "a record that has nothing to do with it"
        assert not journal.has_entries(store)
        is_done = git(store_home, "log", "-1", "--format=%s", "main").startswith("purge: ")
        if is_done:
            require_gone(store_home)
            assert purge_marks.find_purged(store, gone) == gone
        elif fault_run.effect is None:
            raise AssertionError("it came through and did nothing")
        else:
            assert fault_run.output == ()
            take_out(Store(str(store_home), os.environ))
            require_gone(store_home)
        read_claude_md().write_bytes(live)

    check_every_fault(purges.purge, prepared, mode, check, first, step)
