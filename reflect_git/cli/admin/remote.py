"""Run `reflect-git remote` and `reflect-git sync`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from reflect_git.capture import service
from reflect_git.cli import sync_view
from reflect_git.cli.context import Front, ago, one_line, printable
from reflect_git.cli.options import Subverbs, dry_run_option, json_option, timeout_option
from reflect_git.cli.output import candidate_view
from reflect_git.cli.sync_view import Progress
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform.remote_git import OutOfTime
from reflect_git.records.ids import plural, utc_precise
from reflect_git.store import machines, policy, remotes
from reflect_git.sync import exchange, urls
from reflect_git.sync.exchange import Wishes

if TYPE_CHECKING:
    from reflect_git.store.repository import Store
    from reflect_git.sync.remote_setup import Contact

_KINDS = {
    "learnings/": "rules, as you approved them", "decisions/": "decisions, with your name and e-mail",
    "targets/": "copies of your rules in instruction files", "exposure/": "session statistics, without text",
    "tally/": "counts of expired signals, without text", "": "other files of the store",
}  # fmt: skip
_TYPED_STAYS = "Your words in sessions and your instruction files stay on this machine."
_TYPED_GOES = "Your words in sessions are sent, too: 'reflect.sync.signals' is on. Instruction files stay here."


@click.group(cls=Subverbs, invoke_without_command=True)
@json_option
@click.pass_context
def remote_command(ctx: click.Context) -> None:
    """Show the remote through which your machines share rules.

    Use a private repository that only you can read: an empty one on any git host, or a bare one on disk.
    """
    if ctx.invoked_subcommand is None:
        _show(ctx.obj)


def _show(front: Front) -> None:
    store = front.store(create=False)
    url, state = remotes.url_of(store), remotes.state(store)
    if front.json:
        front.data({
            "url": urls.shown(url) if url else None, "last_sync": state.get("time"), "error": state.get("error"),
            "machines": _own(front, store), "refused": state.get("refused", []),
        })  # fmt: skip
        return
    if not url:
        front.tell("no remote")
        front.talk(click.style("hint: set one with 'reflect-git remote set URL'", fg="yellow"))
        return
    front.out(printable(urls.shown(url)))
    front.tell(f"last sync: {ago(state['time'])} ago" if state.get("time") else "never synced")
    front.tell(f"machines: {', '.join(_own(front, store))}")
    if state.get("error"):
        front.talk(printable(f"the last sync failed: {state['error']}"))


def _own(front: Front, store: Store) -> list[str]:
    return sorted(machines.own(store, machines.decisions_in(front.scan(store).decided)) or ())


@remote_command.command("set")
@click.argument("url", metavar="URL")
@dry_run_option
@timeout_option
@json_option
@click.pass_obj
def set_(front: Front, url: str, dry_run: bool, timeout: float | None) -> None:
    """Set the remote: show what would be sent, ask, and sync.

    URL is https://, ssh://, user@host:path, file:// or an absolute path.
    """
    _require_absolute(url)
    urls.parse(url)
    why = "cannot set a remote from inside Claude Code: your rules would leave this machine"
    front.require_outside(why, ["remote", "set", url])
    store = front.store()
    met = _first_contact(front, store, url, timeout or 0.0)
    if not front.json:
        _foretell(front, url, met, remotes.shares_signals(store))
    if dry_run:
        if front.json:
            front.data({"remote": met.kind, "sends": dict(met.sends), "brings": met.brings})
        return
    asked = (
        f"send this to '{url}' now and on every sync?" if met.sends else f"share through '{url}' now and on every sync?"
    )
    if not front.confirm(asked):
        raise ReflectError("nothing was sent", code="declined")
    _connect(front, store, url, timeout or 0.0)


def _first_contact(front: Front, store: Store, url: str, timeout: float) -> Contact:
    from reflect_git.sync import remote_setup  # sync, in this file too, does not need it

    limits = exchange.limits_of(store, timeout)
    try:
        with Progress(front, exchange.remote_of(store, url).name) as progress:
            return remote_setup.look(store, front.env, url, Wishes(say=progress, limits=limits))
    except OutOfTime as error:
        hint = f"allow more time: reflect-git remote set {shlex.quote(url)} --timeout {error.more}"
        raise ReflectError(error.message, hint, error.code) from None


def _require_absolute(url: str) -> None:
    """Relative to what, the next sync could not tell."""
    if url.startswith(("/", "-")) or ":" in url or not ("/" in url or os.path.isdir(url)):
        return
    whole = shlex.quote(os.path.abspath(os.path.expanduser(url)))
    raise ReflectError(
        f"'{url}' is a relative path", f"run 'reflect-git remote set {whole}'",
        "usage", EXIT_USAGE,
    )  # fmt: skip


def _connect(front: Front, store: Store, url: str, timeout: float) -> None:
    machines.begin(store)
    with store.locked(10.0):
        remotes.forget(store)
    commit = _switch(front, store, url)
    report = sync_view.run_sync(front, store, timeout=timeout)
    waits = sync_view.waiting(front, store)
    if front.json:
        front.data({"url": url, "commit": commit, **sync_view.as_data(report, waits)})
        return
    sync_view.tell(front, report, waits, dry_run=False)
    front.talk("undo with: reflect-git remote remove")


def _switch(front: Front, store: Store, url: str | None) -> str | None:
    """Set or remove the remote; return the commit of the decision, None if the address stays the same."""
    before = remotes.url_of(store)
    if url == before:
        policy.set_keys(store, remotes.changes(url))
        return None
    by = service.author(store, service.road_of(front.env, front.at_terminal))
    return policy.switch_remote(store, remotes.changes(url), urls.host_of(url or before), by, utc_precise())


def _foretell(front: Front, url: str, met: Contact, with_signals: bool) -> None:
    front.tell(printable(_said_of(met)))
    if not met.sends:
        front.tell("nothing to send now; later approvals will be")
    else:
        count = len(met.sends)
        front.tell(printable(f"{plural(count, 'file')} would be sent to '{url}':"))
        for line in _listed(met.sends):
            front.tell(f"  {line}")
        front.tell("for example:")
        for path, text in met.examples:
            front.out(f"  {printable(path)}")
            front.out(f"    {one_line(_telling(text), candidate_view.width() - 4)}")
        if count > len(met.examples):
            front.tell(printable(f"list every file with: reflect-git remote set {shlex.quote(url)} --dry-run --json"))
    for one in met.refused:
        front.talk(printable(f"would be refused: '{one.path}': {one.reason}"))
    told = (
        "Use a private repository of your own: readers see your rules, and writers can offer you texts. "
        "The decision to use it is sent too. " + (_TYPED_GOES if with_signals else _TYPED_STAYS)
    )
    for line in candidate_view.wrap(told, candidate_view.width()):
        front.out(line)


def _telling(text: str) -> str:
    """Return a record's text without its id, version and time."""
    kept = [line for line in text.splitlines() if not line.startswith(("id: ", "version: ", "timestamp: "))]
    return " ".join(kept)


def _said_of(met: Contact) -> str:
    from reflect_git.sync import remote_setup  # sync, in this file too, does not need it

    if met.kind == remote_setup.EMPTY:
        return "the repository is empty"
    if met.kind == remote_setup.PLAIN:
        return f"the repository has only {', '.join(met.hosted) or 'an empty commit'}; its history is kept"
    return f"the repository is a reflect-git store; {plural(met.brings, 'file')} would be received"


def _listed(sends: Mapping[str, int]) -> list[str]:
    """Per kind how many, how large and what that is."""
    groups: dict[str, list[int]] = {}
    for path, size in sends.items():
        groups.setdefault(next(folder for folder in _KINDS if path.startswith(folder)), []).append(size)
    return [
        f"{len(groups[folder]):>6}  {_size(sum(groups[folder])):>10}  {said}"
        for folder, said in _KINDS.items()
        if folder in groups
    ]


def _size(count: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return plural(count, "byte")


@remote_command.command("remove")
@dry_run_option
@json_option
@click.pass_obj
def remove(front: Front, dry_run: bool) -> None:
    """Stop sharing. Nothing is deleted, neither here nor on the remote."""
    store = front.store(create=False)
    url = remotes.url_of(store)
    if not url:
        raise ReflectError("no remote", "set one with 'reflect-git remote set URL'", code="no-remote")
    why = "cannot remove a remote from inside Claude Code: your machines would stop sharing rules"
    front.require_outside(why, ["remote", "remove"])
    commit = None
    if not dry_run:
        commit = _switch(front, store, None)
        with store.locked(10.0):
            remotes.forget(store)
    _said_removed(front, urls.shown(url), commit, dry_run)


def _said_removed(front: Front, url: str, commit: str | None, dry_run: bool) -> None:
    data: dict[str, Any] = {"url": url, "removed": not dry_run, "commit": commit}
    if front.json:
        front.data(data)
        return
    front.tell(printable(f"{'would remove' if dry_run else 'removed'} the remote '{url}'"))
    if not dry_run:
        front.talk(printable(f"undo with: reflect-git remote set {url}"))


@click.command()
@dry_run_option
@timeout_option
@json_option
@click.pass_obj
def sync_command(front: Front, dry_run: bool, timeout: float | None) -> int:
    """Send your decisions and receive those of your other machines.

    Every received file is checked, and merging causes no conflicts. Received rules go to 'review' before they change a
    file, unless 'reflect.sync.apply' is 'auto'.

    --timeout limits how long to wait for the remote; Ctrl-C stops at any time. Nothing is lost either way.
    """
    return sync_view.sync(front, dry_run, timeout or 0.0)
