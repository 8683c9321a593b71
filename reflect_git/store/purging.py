"""A text taken out of all history: main is made anew without it and swapped in; then everything else forgets it.

Until main moves nothing has happened: the new history is made beside the store. From then on a journal says what was
taken out, and whoever finds it goes on: every step of `forgetting` can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from reflect_git.adapters import files
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.model.marks import is_mirror
from reflect_git.model.sought import Sought
from reflect_git.store import (
    backups,
    chronicle,
    forgetting,
    journal,
    keeping,
    mainline,
    moves,
    rewriting,
    spool,
    stains,
)
from reflect_git.store.care import guard
from reflect_git.store.layout import id_in
from reflect_git.store.repository import BACKUP, INBOX, MAIN
from reflect_git.store.stains import Doomed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from reflect_git.store.chronicle import Commit
    from reflect_git.store.repository import Store

_NONE: Mapping[str, Collection[str]] = MappingProxyType({})
_LARGEST = 1 << 26
_LOCKS = ("HEAD.lock", "refs/heads/main.lock", *keeping.LOCKS)


@dataclass(frozen=True)
class Found:
    """What would go: records by id, their blobs, backups by name; `others` are files of ours that say it, too.

    `mirrors` have it in their names. `objects` is everything in git that holds it, `commits` the history of main.
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
        return not (self.records or self.backups or self.others or self.mirrors or self.objects)


def look(store: Store, sought: Sought, ids: Collection[str], about: Mapping[str, Collection[str]] = _NONE) -> Found:
    """Everything that says it, and these records whatever they say; with a learning all that is `about` it.

    Nothing is changed.
    """
    spoiled = stains.objects(store, Doomed((), sought))
    commits = chronicle.read(store)
    ids, found = _closed(commits, ids, spoiled, about)
    for ref in store.git.refs(INBOX):
        for path, blob in store.git.tree(ref).items():
            if id_in(path) and (id_in(path) in ids or blob in spoiled):
                found.setdefault(id_in(path), set()).add(blob)
    for name in spool.pending(store):
        data = files.read_if_there(store.private_path("pending", name), _LARGEST) or b""
        if name[:-5] in ids or sought.in_bytes(data):
            found.setdefault(name[:-5], set())
    mirrors = _named(commits, sought)
    blobs = {blob for listed in found.values() for blob in listed if blob.strip("0")}
    # Whatever stood there, the rewriting drops; the same bytes go from other machines by their marks.
    changes = [change for one in commits for change in one.changes if change.path in mirrors]
    blobs |= {change.new for change in changes if change.new.strip("0")}
    return Found(
        tuple(sorted(found)), tuple(sorted(blobs | _files(commits, spoiled))), _backups(store, spoiled),
        tuple(_others(store, sought)), mirrors, frozenset(spoiled | blobs), tuple(commits),
    )  # fmt: skip


def _closed(
    commits: Collection[Commit], ids: Collection[str], spoiled: Collection[str], about: Mapping[str, Collection[str]]
) -> tuple[set[str], dict[str, set[str]]]:
    """With a learning goes what is about it; and with a decision its learning, which nobody would know the state of."""
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
    """Record → its blobs."""
    found: dict[str, set[str]] = {}
    for commit in commits:
        for change in commit.changes:
            if change.record and (change.record in ids or change.new in spoiled):
                found.setdefault(change.record, set()).add(change.new)
    return found


def _others(store: Store, sought: Sought) -> list[str]:
    """Beside what main and the inbox have, and what is made from them."""
    known = {*store.git.tree(MAIN), *(path for ref in store.git.refs(INBOX) for path in store.git.tree(ref))}
    return [path for path in stains.places(store, sought) if path not in known and not _is_derived(path)]


def _is_derived(path: str) -> bool:
    return path.startswith((".git/reflect/cache/", "learnings/"))


def _files(commits: Collection[Commit], spoiled: Collection[str]) -> set[str]:
    """Mirrors, and files of the user's, in any version that says it."""
    return {change.new for commit in commits for change in commit.changes if change.new in spoiled}


def _named(commits: Collection[Commit], sought: Sought) -> tuple[str, ...]:
    mirrors = {change.path for commit in commits for change in commit.changes if is_mirror(change.path)}
    return tuple(path for path in sorted(mirrors) if sought.in_text(path))


def _backups(store: Store, spoiled: Collection[str]) -> tuple[str, ...]:
    ours = filter(backups.is_backup, store.git.refs(BACKUP))
    kept = {ref: store.git.tree(ref, backups.FOLDER).values() for ref in ours}
    return tuple(ref.removeprefix("refs/heads/") for ref, blobs in kept.items() if any(b in spoiled for b in blobs))


def require_ready(store: Store) -> None:
    """What would hold on to the old history, and is the user's to settle."""
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
    """Take it out. `new` are the files that say on main what was purged. Returns main. The caller holds the lock."""
    require_ready(store)
    old = store.git.resolve(MAIN) or ""
    try:
        base = _rewritten(store, found, sought, marks, old)
        made = mainline.make_commit(store, base, new, f"{subject}\n\nMachine: {store.machine}\n")
        swap(store, old, made, sought, marks, subject)
    finally:
        rewriting.discard(store)
        rewriting.release(store)
    return made


def swap(store: Store, old: str, new: str, sought: Sought, marks: Collection[str], subject: str) -> None:
    """main goes to a history without what was purged, here or on another machine; then everything forgets it.

    The caller holds the lock.
    """
    facts = {"new": new, "patterns": sought.patterns, "marks": list(marks)}
    standing = journal.begin(store, "purge", _LOCKS, facts)
    try:
        moves.move(store, old, new, subject)
    except BaseException:
        if store.git.resolve(MAIN) != new:
            journal.end(standing)
        raise
    finish(store, standing, facts)


def _rewritten(store: Store, found: Found, sought: Sought, marks: Collection[str], old: str) -> str:
    """main without it; main as it is where it never said it."""
    doomed = Doomed(marks, sought)
    is_told = any(rewriting.retold(commit, doomed) for commit in found.commits)
    if not is_told and not found.mirrors and not forgetting.holds(store, old, found.objects):
        return old
    made = rewriting.rewrite(store, {MAIN: old}, doomed, found.commits)
    if MAIN not in made:
        raise ReflectError("nothing would be left of main", "give a narrower pattern", code="everything")
    return made[MAIN]


def finish(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Go on where main moved; drop the journal of a purge that never happened."""
    main = store.git.resolve(MAIN)
    rewriting.discard(store)
    if main and guard.is_ancestor(store, str(facts["new"]), main):
        forgetting.forget(store, facts["marks"], Sought(facts["patterns"]))
    journal.end(path)


def remains(store: Store, sought: Sought) -> list[str]:
    """Where the store says it still, in words: files of the user's own, objects of git, names in history."""
    count = len(stains.objects(store, Doomed((), sought)))
    named = [f"{name} (a name in history)" for name in stains.names(store) if sought.in_text(name)]
    return [*stains.places(store, sought), *([plural(count, "git object")] if count else []), *named]
