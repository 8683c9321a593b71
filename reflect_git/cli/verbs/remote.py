"""The remote: shown, set or removed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from reflect_git import workflow
from reflect_git.adapters.transport import OutOfTime
from reflect_git.cli import exchange, portrait
from reflect_git.cli.exchange import Progress
from reflect_git.cli.front import Front, ago, one_line, printable
from reflect_git.cli.options import Subverbs, dry_run_option, json_option, timeout_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.counts import plural
from reflect_git.model.ids import utc_precise
from reflect_git.store import machines, policy, remotes
from reflect_git.sync import urls
from reflect_git.workflow import contact, syncing
from reflect_git.workflow.syncing import Wishes

if TYPE_CHECKING:
    from reflect_git.store.repository import Store
    from reflect_git.workflow.contact import Contact

_KINDS = {
    "learnings/": "learnings, as you approved them", "decisions/": "decisions, with your name and e-mail",
    "targets/": "copies of our part of your instruction files", "exposure/": "figures of sessions, without any text",
    "tally/": "counts of signals that went, without any text", "": "other files of the store",
}  # fmt: skip
_TYPED_STAYS = "What you typed in sessions stays on this machine, and so does what you wrote into instruction files."
_TYPED_GOES = "What you typed in sessions goes there, too: 'reflect.sync.signals' is on. Instruction files stay here."


@click.group(cls=Subverbs, invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show the remote through which your machines share what was learned.

    It must be private and yours alone: an empty repository on any git host, or a bare one on a disk.
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
        front.tell("there is no remote")
        front.talk(click.style("hint: set one with 'reflect-git remote set URL'", fg="yellow"))
        return
    front.out(printable(urls.shown(url)))
    front.tell(f"last sync: {ago(state['time'])} ago" if state.get("time") else "never synced")
    front.tell(f"machines: {', '.join(_own(front, store))}")
    if state.get("error"):
        front.talk(printable(f"the last sync failed: {state['error']}"))


def _own(front: Front, store: Store) -> list[str]:
    return sorted(machines.own(store, machines.decisions_in(front.scan(store).decided)) or ())


@command.command("set")
@click.argument("url", metavar="URL")
@dry_run_option
@timeout_option
@json_option
@click.pass_obj
def set_(front: Front, url: str, dry_run: bool, timeout: float | None) -> None:
    """Share through this repository: shows what would be sent, asks, and syncs.

    URL is https://, ssh://, user@host:path, file:// or an absolute path.
    """
    _require_absolute(url)
    urls.parse(url)
    why = "a remote cannot be set from inside Claude Code: what you approved would leave the machine"
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
        f"send this to '{url}', now and with every sync?"
        if met.sends
        else f"share through '{url}', now and with every sync?"
    )
    if not front.confirm(asked):
        raise ReflectError("nothing was sent", code="declined")
    _connect(front, store, url, timeout or 0.0)


def _first_contact(front: Front, store: Store, url: str, timeout: float) -> Contact:
    limits = syncing.limits_of(store, timeout)
    try:
        with Progress(front, syncing.remote_of(store, url).name) as progress:
            return contact.look(store, front.env, url, Wishes(say=progress, limits=limits))
    except OutOfTime as error:
        hint = f"give it more time: reflect-git remote set {shlex.quote(url)} --timeout {error.more}"
        raise ReflectError(error.message, hint, error.code) from None


def _require_absolute(url: str) -> None:
    """Relative to what, the next sync could not tell."""
    if url.startswith(("/", "-")) or ":" in url or not ("/" in url or os.path.isdir(url)):
        return
    whole = shlex.quote(os.path.abspath(os.path.expanduser(url)))
    raise ReflectError(
        f"'{url}' is no address of a remote: a relative path is not taken", f"run 'reflect-git remote set {whole}'",
        "usage", EXIT_USAGE,
    )  # fmt: skip


def _connect(front: Front, store: Store, url: str, timeout: float) -> None:
    machines.begin(store)
    with store.locked(10.0):
        remotes.forget(store)
    commit = _switch(front, store, url)
    report = exchange.exchange(front, store, timeout=timeout)
    waits = exchange.waiting(front, store)
    if front.json:
        front.data({"url": url, "commit": commit, **exchange.as_data(report, waits)})
        return
    exchange.tell(front, report, waits, dry_run=False)
    front.talk("undo with: reflect-git remote remove")


def _switch(front: Front, store: Store, url: str | None) -> str | None:
    """Set or remove the remote; return the commit of the decision, None if the address stays the same."""
    before = remotes.url_of(store)
    if url == before:
        policy.set_keys(store, remotes.changes(url))
        return None
    by = workflow.author(store, workflow.road_of(front.env, front.at_terminal))
    return policy.switch_remote(store, remotes.changes(url), urls.host_of(url or before), by, utc_precise())


def _foretell(front: Front, url: str, met: Contact, with_signals: bool) -> None:
    front.tell(printable(_said_of(met)))
    if not met.sends:
        front.tell("it has all that would be sent; later on, what you approve and decide goes there")
    else:
        count = len(met.sends)
        front.tell(printable(f"{plural(count, 'file')} would be sent to '{url}':"))
        for line in _listed(met.sends):
            front.tell(f"  {line}")
        front.tell("for example:")
        for path, text in met.examples:
            front.out(f"  {printable(path)}")
            front.out(f"    {one_line(_telling(text), portrait.width() - 4)}")
        if count > len(met.examples):
            front.tell(
                printable(f"every file with its size: reflect-git remote set {shlex.quote(url)} --dry-run --json")
            )
    for one in met.refused:
        front.talk(printable(f"would be refused: '{one.path}': {one.reason}"))
    told = (
        "The repository must be private and yours alone: whoever reads it reads your rules, whoever writes to it can "
        "offer you texts. The decision to share through it is sent as well. "
        + (_TYPED_GOES if with_signals else _TYPED_STAYS)
    )
    for line in portrait.wrap(told, portrait.width()):
        front.out(line)


def _telling(text: str) -> str:
    """A record without what its path tells, and without when."""
    kept = [line for line in text.splitlines() if not line.startswith(("id: ", "version: ", "timestamp: "))]
    return " ".join(kept)


def _said_of(met: Contact) -> str:
    if met.kind == contact.EMPTY:
        return "the repository is empty"
    if met.kind == contact.PLAIN:
        stays = "stay" if len(met.hosted) > 1 else "stays"
        return f"the repository has only {', '.join(met.hosted) or 'an empty commit'}, which {stays} in its history"
    return f"the repository is a reflections store; {plural(met.brings, 'file')} would come from it"


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


@command.command("remove")
@dry_run_option
@json_option
@click.pass_obj
def remove(front: Front, dry_run: bool) -> None:
    """Share no more. What is there stays there, what is here stays here."""
    store = front.store(create=False)
    url = remotes.url_of(store)
    if not url:
        raise ReflectError("there is no remote", "set one with 'reflect-git remote set URL'", code="no-remote")
    why = "a remote cannot be removed from inside Claude Code: your machines would not hear of one another any more"
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
    front.tell(printable(f"{'would leave' if dry_run else 'left'} '{url}'"))
    if not dry_run:
        front.talk(printable(f"undo with: reflect-git remote set {url}"))
