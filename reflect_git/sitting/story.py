"""Where the story of a learning is read: records that speak of it, signals behind it, the commit that brought it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reflect_git.history.story import Material, Story, keys_of, story_of
from reflect_git.store.fold import History
from reflect_git.store.layout import path_of
from reflect_git.store.repository import INBOX, MAIN

if TYPE_CHECKING:
    from reflect_git.adapters.child import Child
    from reflect_git.model.schema import Decision
    from reflect_git.store.excerpt import Excerpt
    from reflect_git.store.repository import Store


def tell(store: Store, excerpt: Excerpt, identity: str) -> Story | None:
    """Of a learning; None if this store has no such one."""
    asked = ask_for_commit(store, identity, MAIN)  # at work while we read
    told = tell_all(excerpt, [identity])
    commit = commit_in(asked)
    return replace(told[identity], commit=commit) if told else None


def tell_all(excerpt: Excerpt, wanted: Sequence[str]) -> dict[str, Story]:
    """Of those that this store has, without their commits: a colleague's may stand in the same file."""
    found = excerpt.mentioning(*wanted)
    identities = [one for one in wanted if one in found]
    replaced = [old for one in identities for old in found[one]["supersedes"]]
    if replaced:  # in the words they had when they went
        found = {**excerpt.mentioning(*replaced, figures=False), **found}
    keys = {one: keys_of(_history(found), one) for one in identities}
    tallied = excerpt.mentioning(*set().union(*keys.values()), figures=False)
    history = _history({**_of(tallied, "TLY"), **found})
    return {one: story_of(_material(excerpt, history, found, one, keys[one]), one) for one in identities}


def _material(
    excerpt: Excerpt, history: History, found: Mapping[str, Any], identity: str, keys: set[str]
) -> Material:  # fmt: skip
    signals = excerpt.signals(history.learnings[identity]["signals"])
    return Material(history, _of(found, "LRN"), list(_of(found, "EXP").values()), signals, excerpt.said(keys))


def decisions_about(excerpt: Excerpt, identity: str) -> list[Decision]:
    """About a learning, a signal, or what it became; those that take one of them back included."""
    found = excerpt.mentioning(identity)
    learnings = [one for one, record in _of(found, "LRN").items() if identity in (one, *record["signals"])]
    found = {**excerpt.mentioning(*learnings), **found} if learnings and learnings != [identity] else found
    history = _history(found)
    return [made for made in history.decisions if identity in (made["subject"], *history.signals_of(made))]


def _history(found: Mapping[str, Any]) -> History:
    return History(_of(found, "LRN").values(), _of(found, "DEC").values(), _of(found, "TLY").values())


def _of(found: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {identity: record for identity, record in found.items() if identity.startswith(prefix)}


def ask_for_commit(store: Store, identity: str, *branches: str) -> Child:
    """The newest commit that brought a record: changed-path filters of the commit-graph make it quick."""
    wanted = ("--max-count=1", "--diff-filter=A", "--format=%H", "--end-of-options", *branches, "--")
    return store.git.start("log", *wanted, path_of(identity))


def commit_in(asked: Child) -> str:
    return asked.finish().out.decode("ascii", "replace").strip()


def commit_that_brought(store: Store, identity: str) -> str:
    """Nothing while the record is still pending."""
    return commit_in(ask_for_commit(store, identity, *store.git.refs(INBOX, MAIN)))
