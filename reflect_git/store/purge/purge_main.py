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
from reflect_git.records.purge_marks import is_mirror
from reflect_git.records.search_text import Sought
from reflect_git.store import pending
from reflect_git.store.main import backups, commit_log, journal, main_branch, move_main, ref_updates, user_git
from reflect_git.store.purge import purge_refs, purge_search
from reflect_git.store.purge.purge_search import Doomed
from reflect_git.store.repository import BACKUP, INBOX, MAIN, id_in

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from reflect_git.store.main.commit_log import Commit
    from reflect_git.store.repository import Store

_NONE: Mapping[str, Collection[str]] = MappingProxyType({})
_LARGEST = 1 << 26
_LOCKS = ("HEAD.lock", "refs/heads/main.lock", *ref_updates.LOCKS)


@dataclass(frozen=True)
class Found:
    """The records (by id), blobs and backups (by name) that a purge would remove.

    `others` are other files of ours with the text. `mirrors` are target snapshots with it in their names. `objects` are
    all git objects that contain it, `commits` the history of main.
    """

    records: tuple[str, ...]
    blobs: tuple[str, ...]
    backups: tuple[str, ...]
    others: tuple[str, ...]
    mirrors: tuple[str, ...]
    objects: frozenset[str]
    commits: tuple[Commit, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether nothing would be removed."""
        return not (self.records or self.backups or self.others or self.mirrors or self.objects)


def look(store: Store, sought: Sought, ids: Collection[str], about: Mapping[str, Collection[str]] = _NONE) -> Found:
    """Find everything that contains the text, and these records in any case. Changes nothing.

    `about` maps a learning to the records that are removed with it.
    """
    spoiled = purge_search.objects(store, Doomed((), sought))
    commits = commit_log.read(store)
    ids, found = _closed(commits, ids, spoiled, about)
    for ref in store.git.refs(INBOX):
        for path, blob in store.git.tree(ref).items():
            if id_in(path) and (id_in(path) in ids or blob in spoiled):
                found.setdefault(id_in(path), set()).add(blob)
    for name in pending.pending(store):
        data = files.read_if_there(store.private_path("pending", name), _LARGEST) or b""
        if name[:-5] in ids or sought.in_bytes(data):
            found.setdefault(name[:-5], set())
    mirrors = _named(commits, sought)
    blobs = {blob for listed in found.values() for blob in listed if blob.strip("0")}
    # The rewrite drops these paths; their marks remove the same bytes on other machines.
    changes = [change for one in commits for change in one.changes if change.path in mirrors]
    blobs |= {change.new for change in changes if change.new.strip("0")}
    return Found(
        tuple(sorted(found)), tuple(sorted(blobs | _files(commits, spoiled))), _backups(store, spoiled),
        tuple(_others(store, sought)), mirrors, frozenset(spoiled | blobs), tuple(commits),
    )  # fmt: skip


def _closed(
    commits: Collection[Commit], ids: Collection[str], spoiled: Collection[str], about: Mapping[str, Collection[str]]
) -> tuple[set[str], dict[str, set[str]]]:
    """Add everything about a purged learning, and the learning of a purged decision, whose state would be unknown."""
    subjects = {one: learning for learning, listed in about.items() for one in listed}
    wanted = set(ids)
    while True:
        found = _on_main(commits, wanted, spoiled)
        learned = {subjects.get(one, one) for one in found}
        more = learned | {one for learning in learned for one in about.get(learning, ())}
        if more <= wanted:
            return wanted, found
        wanted |= more


def _on_main(commits: Collection[Commit], ids: Collection[str], spoiled: Collection[str]) -> dict[str, set[str]]:
    """Return record → its blobs."""
    found: dict[str, set[str]] = {}
    for commit in commits:
        for change in commit.changes:
            if change.record and (change.record in ids or change.new in spoiled):
                found.setdefault(change.record, set()).add(change.new)
    return found


def _others(store: Store, sought: Sought) -> list[str]:
    """List other files with the text, except those of main and the inbox and files derived from them."""
    known = {*store.git.tree(MAIN), *(path for ref in store.git.refs(INBOX) for path in store.git.tree(ref))}
    return [path for path in purge_search.places(store, sought) if path not in known and not _is_derived(path)]


def _is_derived(path: str) -> bool:
    return path.startswith((".git/reflect/cache/", "learnings/"))


def _files(commits: Collection[Commit], spoiled: Collection[str]) -> set[str]:
    """Return the blobs of target snapshots and user files that contain the text, in any version."""
    return {change.new for commit in commits for change in commit.changes if change.new in spoiled}


def _named(commits: Collection[Commit], sought: Sought) -> tuple[str, ...]:
    mirrors = {change.path for commit in commits for change in commit.changes if is_mirror(change.path)}
    return tuple(path for path in sorted(mirrors) if sought.in_text(path))


def _backups(store: Store, spoiled: Collection[str]) -> tuple[str, ...]:
    ours = filter(backups.is_backup, store.git.refs(BACKUP))
    kept = {ref: store.git.tree(ref, backups.FOLDER).values() for ref in ours}
    return tuple(ref.removeprefix("refs/heads/") for ref, blobs in kept.items() if any(b in spoiled for b in blobs))


def require_ready(store: Store) -> None:
    """Raise an error for anything of the user's that would keep the old history alive."""
    if store.git.checked_out() != MAIN:
        hint = f"go back with: git -C '{store.root}' switch main"
        raise ReflectError("main is not checked out in the store", hint, code="head")
    if store.git.refs("refs/stash"):
        hint = f"take it up with 'git -C {store.root} stash pop', or drop it"
        raise ReflectError("the store has a stash, which holds the history it was made on", hint, code="stash")
    listing = store.git.run("worktree", "list", "--porcelain").out.decode("utf-8", "replace")
    if f"\n{listing}".count("\nworktree ") > 1:
        hint = f"remove it: git -C '{store.root}' worktree remove PATH"
        raise ReflectError("the store has a second work tree", hint, code="worktree")


def carry_out(
    store: Store, found: Found, sought: Sought, marks: Collection[str], new: Mapping[str, bytes], subject: str
) -> str:
    """Purge; return the new main. `new` are the files that record the purge on main. The caller holds the lock."""
    require_ready(store)
    old = store.git.resolve(MAIN) or ""
    try:
        base = _rewritten(store, found, sought, marks, old)
        made = main_branch.make_commit(store, base, new, f"{subject}\n\nMachine: {store.machine}\n")
        swap(store, old, made, sought, marks, subject)
    finally:
        purge_search.discard(store)
        purge_search.release(store)
    return made


def swap(store: Store, old: str, new: str, sought: Sought, marks: Collection[str], subject: str) -> None:
    """Replace main by a history without purged content, then clean everything else. The caller holds the lock.

    Also used for a purge made on another machine.
    """
    facts = {"new": new, "patterns": sought.patterns, "marks": list(marks)}
    standing = journal.begin(store, "purge", _LOCKS, facts)
    try:
        move_main.move(store, old, new, subject)
    except BaseException:
        if store.git.resolve(MAIN) != new:
            journal.end(standing)
        raise
    finish(store, standing, facts)


def _rewritten(store: Store, found: Found, sought: Sought, marks: Collection[str], old: str) -> str:
    """Return main without the text; the same commit if main never contained it."""
    doomed = Doomed(marks, sought)
    is_told = any(purge_search.retold(commit, doomed) for commit in found.commits)
    if not is_told and not found.mirrors and not purge_refs.holds(store, old, found.objects):
        return old
    made = purge_search.rewrite(store, {MAIN: old}, doomed, found.commits)
    if MAIN not in made:
        raise ReflectError("nothing would be left of main", "give a narrower pattern", code="everything")
    return made[MAIN]


def finish(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Continue if main has moved; drop the journal of a purge that never happened."""
    main = store.git.resolve(MAIN)
    purge_search.discard(store)
    if main and user_git.is_ancestor(store, str(facts["new"]), main):
        purge_refs.forget(store, facts["marks"], Sought(facts["patterns"]))
    journal.end(path)


def remains(store: Store, sought: Sought) -> list[str]:
    """List where the store still contains the text: user files, git objects, names in history."""
    count = len(purge_search.objects(store, Doomed((), sought)))
    named = [f"{name} (a name in history)" for name in purge_search.names(store) if sought.in_text(name)]
    return [*purge_search.places(store, sought), *([plural(count, "git object")] if count else []), *named]
