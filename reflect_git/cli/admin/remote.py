"""Run `reflect-git remote` and `reflect-git sync`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from reflect_git.capture import service
from reflect_git.cli import sync_view
from reflect_git.cli.context import CliContext, format_age, one_line, printable
from reflect_git.cli.options import SubcommandGroup, dry_run_option, json_option, timeout_option
from reflect_git.cli.output import candidate_view
from reflect_git.cli.sync_view import Progress
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform.remote_git import RemoteTimeout
from reflect_git.records.ids import plural, utc_precise
from reflect_git.store import machines, policy, remotes
from reflect_git.sync import exchange, urls
from reflect_git.sync.exchange import SyncOptions

if TYPE_CHECKING:
    from reflect_git.store.repository import Store
    from reflect_git.sync.remote_setup import RemoteContents

_FOLDER_NOTES = {
    "learnings/": "rules, as you approved them", "decisions/": "decisions, with your name and e-mail",
    "targets/": "copies of your rules in instruction files", "exposure/": "session statistics, without text",
    "evaluations/": "scores that a judge gave to sessions, without text",
    "tally/": "counts of expired signals, without text", "": "other files of the store",
}  # fmt: skip
_SIGNALS_STAY_NOTE = "Your words in sessions and your instruction files stay on this machine."
_SIGNALS_SENT_NOTE = "Your words in sessions are sent, too: 'reflect.sync.signals' is on. Instruction files stay here."


@click.group(cls=SubcommandGroup, invoke_without_command=True)
@json_option
@click.pass_context
def remote_command(ctx: click.Context) -> None:
    """Show the remote through which your machines share rules.

    Use a private repository that only you can read: an empty one on any git host, or a bare one on disk.
    """
    if ctx.invoked_subcommand is None:
        _print_remote(ctx.obj)


def _print_remote(cli: CliContext) -> None:
    store = cli.open_store(create=False)
    url, state = remotes.get_url(store), remotes.load_state(store)
    if cli.json:
        cli.print_json({
            "url": urls.format_url(url) if url else None, "last_sync": state.get("time"), "error": state.get("error"),
            "machines": _list_own_machines(cli, store), "refused": state.get("refused", []),
        })  # fmt: skip
        return
    if not url:
        cli.print_text("no remote")
        cli.print_note(click.style("hint: set one with 'reflect-git remote set URL'", fg="yellow"))
        return
    cli.print_line(printable(urls.format_url(url)))
    cli.print_text(f"last sync: {format_age(state['time'])} ago" if state.get("time") else "never synced")
    cli.print_text(f"machines: {', '.join(_list_own_machines(cli, store))}")
    if state.get("error"):
        cli.print_note(printable(f"the last sync failed: {state['error']}"))


def _list_own_machines(cli: CliContext, store: Store) -> list[str]:
    return sorted(machines.get_own_machines(store, machines.filter_decisions(cli.scan(store).main_records)) or ())


@remote_command.command("set")
@click.argument("url", metavar="URL")
@dry_run_option
@timeout_option
@json_option
@click.pass_obj
def set_remote(cli: CliContext, url: str, dry_run: bool, timeout: float | None) -> None:
    """Set the remote: show what would be sent, ask, and sync.

    URL is https://, ssh://, user@host:path, file:// or an absolute path.
    """
    _require_absolute_path(url)
    urls.parse(url)
    why = "cannot set a remote from inside Claude Code: your rules would leave this machine"
    cli.require_outside_client(why, ["remote", "set", url])
    store = cli.open_store()
    met = _inspect_remote(cli, store, url, timeout or 0.0)
    if not cli.json:
        _print_preview(cli, url, met, remotes.shares_signals(store))
    if dry_run:
        if cli.json:
            cli.print_json({"remote": met.kind, "sends": dict(met.files_to_send), "brings": met.receive_count})
        return
    asked = (
        f"send this to '{url}' now and on every sync?"
        if met.files_to_send
        else f"share through '{url}' now and on every sync?"
    )
    if not cli.confirm(asked):
        raise ReflectError("nothing was sent", code="declined")
    _connect(cli, store, url, timeout or 0.0)


def _inspect_remote(cli: CliContext, store: Store, url: str, timeout: float) -> RemoteContents:
    from reflect_git.sync import remote_setup  # sync, in this file too, does not need it

    limits = exchange.get_limits(store, timeout)
    try:
        with Progress(cli, exchange.get_remote(store, url).name) as progress:
            return remote_setup.inspect_remote(store, cli.env, url, SyncOptions(show_step=progress, limits=limits))
    except RemoteTimeout as error:
        hint = f"allow more time: reflect-git remote set {shlex.quote(url)} --timeout {error.suggested_seconds}"
        raise ReflectError(error.message, hint, error.code) from None


def _require_absolute_path(url: str) -> None:
    """Relative to what, the next sync could not tell."""
    if url.startswith(("/", "-")) or ":" in url or not ("/" in url or os.path.isdir(url)):
        return
    whole = shlex.quote(os.path.abspath(os.path.expanduser(url)))
    raise ReflectError(
        f"'{url}' is a relative path", f"run 'reflect-git remote set {whole}'",
        "usage", EXIT_USAGE,
    )  # fmt: skip


def _connect(cli: CliContext, store: Store, url: str, timeout: float) -> None:
    machines.prepare_connection(store)
    with store.locked(10.0):
        remotes.delete_state(store)
    commit = _write_remote(cli, store, url)
    report = sync_view.run_sync(cli, store, timeout=timeout)
    waits = sync_view.list_waiting(cli, store)
    if cli.json:
        cli.print_json({"url": url, "commit": commit, **sync_view.build_sync_json(report, waits)})
        return
    sync_view.print_report(cli, report, waits, dry_run=False)
    cli.print_note("undo with: reflect-git remote remove")


def _write_remote(cli: CliContext, store: Store, url: str | None) -> str | None:
    """Set or remove the remote; return the commit of the decision, None if the address stays the same."""
    before = remotes.get_url(store)
    if url == before:
        policy.set_keys(store, remotes.build_config(url))
        return None
    by = service.get_author(store, service.get_channel(cli.env, cli.is_at_terminal))
    return policy.set_remote(store, remotes.build_config(url), urls.get_host(url or before), by, utc_precise())


def _print_preview(cli: CliContext, url: str, met: RemoteContents, with_signals: bool) -> None:
    cli.print_text(printable(_describe_remote(met)))
    if not met.files_to_send:
        cli.print_text("nothing to send now; later approvals will be")
    else:
        count = len(met.files_to_send)
        cli.print_text(printable(f"{plural(count, 'file')} would be sent to '{url}':"))
        for line in _format_sent_files(met.files_to_send):
            cli.print_text(f"  {line}")
        cli.print_text("for example:")
        for path, text in met.examples:
            cli.print_line(f"  {printable(path)}")
            cli.print_line(f"    {one_line(_strip_record_header(text), candidate_view.text_width() - 4)}")
        if count > len(met.examples):
            cli.print_text(
                printable(f"list every file with: reflect-git remote set {shlex.quote(url)} --dry-run --json")
            )
    for one in met.refused:
        cli.print_note(printable(f"would be refused: '{one.path}': {one.reason}"))
    sentence = (
        "Use a private repository of your own: readers see your rules, and writers can offer you texts. "
        "The decision to use it is sent too. " + (_SIGNALS_SENT_NOTE if with_signals else _SIGNALS_STAY_NOTE)
    )
    for line in candidate_view.wrap(sentence, candidate_view.text_width()):
        cli.print_line(line)


def _strip_record_header(text: str) -> str:
    """Return a record's text without its id, version and time."""
    kept = [line for line in text.splitlines() if not line.startswith(("id: ", "version: ", "timestamp: "))]
    return " ".join(kept)


def _describe_remote(met: RemoteContents) -> str:
    from reflect_git.sync import remote_setup  # sync, in this file too, does not need it

    if met.kind == remote_setup.EMPTY:
        return "the repository is empty"
    if met.kind == remote_setup.PLAIN:
        return f"the repository has only {', '.join(met.host_files) or 'an empty commit'}; its history is kept"
    return f"the repository is a reflect-git store; {plural(met.receive_count, 'file')} would be received"


def _format_sent_files(sends: Mapping[str, int]) -> list[str]:
    """Per kind how many, how large and what that is."""
    groups: dict[str, list[int]] = {}
    for path, size in sends.items():
        groups.setdefault(next(folder for folder in _FOLDER_NOTES if path.startswith(folder)), []).append(size)
    return [
        f"{len(groups[folder]):>6}  {_format_size(sum(groups[folder])):>10}  {said}"
        for folder, said in _FOLDER_NOTES.items()
        if folder in groups
    ]


def _format_size(count: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return plural(count, "byte")


@remote_command.command("remove")
@dry_run_option
@json_option
@click.pass_obj
def remove_remote(cli: CliContext, dry_run: bool) -> None:
    """Stop sharing. Nothing is deleted, neither here nor on the remote."""
    store = cli.open_store(create=False)
    url = remotes.get_url(store)
    if not url:
        raise ReflectError("no remote", "set one with 'reflect-git remote set URL'", code="no-remote")
    why = "cannot remove a remote from inside Claude Code: your machines would stop sharing rules"
    cli.require_outside_client(why, ["remote", "remove"])
    commit = None
    if not dry_run:
        commit = _write_remote(cli, store, None)
        with store.locked(10.0):
            remotes.delete_state(store)
    _print_removed(cli, urls.format_url(url), commit, dry_run)


def _print_removed(cli: CliContext, url: str, commit: str | None, dry_run: bool) -> None:
    data: dict[str, Any] = {"url": url, "removed": not dry_run, "commit": commit}
    if cli.json:
        cli.print_json(data)
        return
    cli.print_text(printable(f"{'would remove' if dry_run else 'removed'} the remote '{url}'"))
    if not dry_run:
        cli.print_note(printable(f"undo with: reflect-git remote set {url}"))


@click.command()
@dry_run_option
@timeout_option
@json_option
@click.pass_obj
def sync_command(cli: CliContext, dry_run: bool, timeout: float | None) -> int:
    """Send your decisions and receive those of your other machines.

    Every received file is checked, and merging causes no conflicts. Received rules go to 'review' before they change a
    file, unless 'reflect.sync.apply' is 'auto'.

    --timeout limits how long to wait for the remote; Ctrl-C stops at any time. Nothing is lost either way.
    """
    return sync_view.run_sync_command(cli, dry_run, timeout or 0.0)
