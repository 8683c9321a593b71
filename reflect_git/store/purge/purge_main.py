"""Purge a text from all history: rewrite main without it, replace main, then clean everything else.

The new history is built outside the store, so nothing has changed until main moves. From then on a journal names what
was purged, and the next command continues: every step of `purge_refs` can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records.ids import plural
from reflect_git.records.purge_marks import is_target_snapshot
from reflect_git.records.search_text import TextSearch
from reflect_git.store import pending
from reflect_git.store.main import backups, commit_log, journal, main_branch, move_main, ref_updates, user_git
from reflect_git.store.purge import purge_digests, purge_refs, purge_search
from reflect_git.store.purge.purge_search import PurgeSet
from reflect_git.store.repository import BACKUP, INBOX, MAIN, get_record_id

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from reflect_git.store.main.commit_log import Commit
    from reflect_git.store.repository import Store

_NO_RECORDS: Mapping[str, Collection[str]] = MappingProxyType({})
_MAX_BYTES = 1 << 26
_LOCKS = ("HEAD.lock", "refs/heads/main.lock", *ref_updates.NEXT_REF_LOCKS)


@dataclass(frozen=True)
class PurgePreview:
    """The records (by id), blobs and backups (by name) that a purge would remove.

    `other_files` are other files of ours with the text. `snapshots` are target snapshots with it in their names.
    `objects` are all git objects that contain it, `commits` the history of main.
    """

    records: tuple[str, ...]
    blobs: tuple[str, ...]
    backups: tuple[str, ...]
    other_files: tuple[str, ...]
    snapshots: tuple[str, ...]
    objects: frozenset[str]
    commits: tuple[Commit, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether nothing would be removed."""
        return not (self.records or self.backups or self.other_files or self.snapshots or self.objects)


def preview_purge(
    store: Store, search: TextSearch, ids: Collection[str], about: Mapping[str, Collection[str]] = _NO_RECORDS
) -> PurgePreview:
    """Find everything that contains the text, and these records in any case. Changes nothing.

    `about` maps a learning to the records that are removed with it.
    """
    affected = purge_search.find_objects(store, PurgeSet((), search))
    commits = commit_log.read(store)
    ids, found = _add_related_records(commits, ids, affected, about)
    digests: set[str] = set()  # they are rewritten, not removed
    for ref in store.git.refs(INBOX):
        for path, blob in store.git.tree(ref).items():
            if get_record_id(path).startswith(purge_digests.PREFIX):
                digests.update([blob] if blob in affected else ())
            elif get_record_id(path) and (get_record_id(path) in ids or blob in affected):
                found.setdefault(get_record_id(path), set()).add(blob)
    for cited, quoting in purge_digests.find_cited(store, {*ids, *found}).items():
        found.setdefault(cited, set())  # also if the record itself expired
        digests |= quoting
    for name in pending.list_pending(store):
        data = files.read_if_exists(store.private_path("pending", name), _MAX_BYTES) or b""
        if name.startswith(purge_digests.PREFIX):
            continue
        if name[:-5] in ids or search.matches_bytes(data):
            found.setdefault(name[:-5], set())
    mirrors = _find_named_snapshots(commits, search)
    blobs = digests | {blob for listed in found.values() for blob in listed if blob.strip("0")}
    # The rewrite drops these paths; their marks remove the same bytes on other machines.
    changes = [change for one in commits for change in one.changes if change.path in mirrors]
    blobs |= {change.new for change in changes if change.new.strip("0")}
    return PurgePreview(
        tuple(sorted(found)), tuple(sorted(blobs | _find_blobs(commits, affected))), _find_backups(store, affected),
        tuple(_find_other_files(store, search)), mirrors, frozenset(affected | blobs), tuple(commits),
    )  # fmt: skip


def _add_related_records(
    commits: Collection[Commit], ids: Collection[str], affected: Collection[str], about: Mapping[str, Collection[str]]
) -> tuple[set[str], dict[str, set[str]]]:
    """Add everything about a purged learning, and the learning of a purged decision, whose state would be unknown."""
    subjects = {one: learning for learning, listed in about.items() for one in listed}
    wanted = set(ids)
    while True:
        found = _find_on_main(commits, wanted, affected)
        learned = {subjects.get(one, one) for one in found}
        more = learned | {one for learning in learned for one in about.get(learning, ())}
        if more <= wanted:
            return wanted, found
        wanted |= more


def _find_on_main(commits: Collection[Commit], ids: Collection[str], affected: Collection[str]) -> dict[str, set[str]]:
    """Return record → its blobs."""
    found: dict[str, set[str]] = {}
    for commit in commits:
        for change in commit.changes:
            if change.record_id and (change.record_id in ids or change.new in affected):
                found.setdefault(change.record_id, set()).add(change.new)
    return found


def _find_other_files(store: Store, search: TextSearch) -> list[str]:
    """List other files with the text, except those of main and the inbox and files derived from them."""
    known = {*store.git.tree(MAIN), *(path for ref in store.git.refs(INBOX) for path in store.git.tree(ref))}
    return [path for path in purge_search.find_files(store, search) if path not in known and not _is_derived(path)]


def _is_derived(path: str) -> bool:
    return path.startswith((".git/reflect/cache/", "learnings/"))


def _find_blobs(commits: Collection[Commit], affected: Collection[str]) -> set[str]:
    """Return the blobs of target snapshots and user files that contain the text, in any version."""
    return {change.new for commit in commits for change in commit.changes if change.new in affected}


def _find_named_snapshots(commits: Collection[Commit], search: TextSearch) -> tuple[str, ...]:
    mirrors = {change.path for commit in commits for change in commit.changes if is_target_snapshot(change.path)}
    return tuple(path for path in sorted(mirrors) if search.matches_text(path))


def _find_backups(store: Store, affected: Collection[str]) -> tuple[str, ...]:
    ours = filter(backups.is_backup, store.git.refs(BACKUP))
    kept = {ref: store.git.tree(ref, backups.FOLDER).values() for ref in ours}
    return tuple(ref.removeprefix("refs/heads/") for ref, blobs in kept.items() if any(b in affected for b in blobs))


def require_ready(store: Store) -> None:
    """Raise an error for anything of the user's that would keep the old history alive."""
    if store.git.get_head_branch() != MAIN:
        hint = f"go back with: git -C '{store.root}' switch main"
        raise ReflectError("main is not checked out in the store", hint, code="head")
    if store.git.refs("refs/stash"):
        hint = f"take it up with 'git -C {store.root} stash pop', or drop it"
        raise ReflectError("the store has a stash, which holds the history it was made on", hint, code="stash")
    listing = store.git.run("worktree", "list", "--porcelain").out.decode("utf-8", "replace")
    if f"\n{listing}".count("\nworktree ") > 1:
        hint = f"remove it: git -C '{store.root}' worktree remove PATH"
        raise ReflectError("the store has a second work tree", hint, code="worktree")


def run_purge(
    store: Store,
    found: PurgePreview,
    search: TextSearch,
    marks: Collection[str],
    new: Mapping[str, bytes],
    subject: str,
) -> str:
    """Purge; return the new main. `new` are the files that record the purge on main. The caller holds the lock."""
    require_ready(store)
    old = store.git.resolve(MAIN) or ""
    try:
        base = _rewrite_main(store, found, search, marks, old)
        made = main_branch.create_commit(store, base, new, f"{subject}\n\nMachine: {store.machine}\n")
        replace_main(store, old, made, search, marks, subject)
    finally:
        purge_search.delete_repository(store)
        purge_search.delete_rewritten_refs(store)
    return made


def replace_main(store: Store, old: str, new: str, search: TextSearch, marks: Collection[str], subject: str) -> None:
    """Replace main by a history without purged content, then clean everything else. The caller holds the lock.

    Also used for a purge made on another machine.
    """
    facts = {"new": new, "patterns": search.patterns, "marks": list(marks)}
    standing = journal.begin(store, "purge", _LOCKS, facts)
    try:
        move_main.move(store, old, new, subject)
    except BaseException:
        if store.git.resolve(MAIN) != new:
            journal.end(standing)
        raise
    finish_purge(store, standing, facts)


def _rewrite_main(store: Store, found: PurgePreview, search: TextSearch, marks: Collection[str], old: str) -> str:
    """Return main without the text; the same commit if main never contained it."""
    purge_set = PurgeSet(marks, search)
    is_told = any(purge_search.build_purged_messages(commit, purge_set) for commit in found.commits)
    if not is_told and not found.snapshots and not purge_refs.contains_any(store, old, found.objects):
        return old
    made = purge_search.rewrite_history(store, {MAIN: old}, purge_set, found.commits)
    if MAIN not in made:
        raise ReflectError("nothing would be left of main", "give a narrower pattern", code="everything")
    return made[MAIN]


def finish_purge(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Continue if main has moved; drop the journal of a purge that never happened."""
    main = store.git.resolve(MAIN)
    purge_search.delete_repository(store)
    if main and user_git.is_ancestor(store, str(facts["new"]), main):
        purge_refs.clean_store(store, facts["marks"], TextSearch(facts["patterns"]))
    journal.end(path)


def find_remains(store: Store, search: TextSearch) -> list[str]:
    """List where the store still contains the text: user files, git objects, names in history."""
    count = len(purge_search.find_objects(store, PurgeSet((), search)))
    named = [f"{name} (a name in history)" for name in purge_search.list_names(store) if search.matches_text(name)]
    return [*purge_search.find_files(store, search), *([plural(count, "git object")] if count else []), *named]
