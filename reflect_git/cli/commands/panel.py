"""Run `reflect-git panel`: local web pages to look, decide and revert."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import click

from reflect_git.capture import service
from reflect_git.cli import capture_switch
from reflect_git.cli.context import CliContext, format_duration, get_cwd, printable
from reflect_git.cli.options import json_option, project_option
from reflect_git.cli.review_setup import open_context
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform import files, system
from reflect_git.records.ids import parse_utc, plural, utc

if TYPE_CHECKING:
    import asyncio

    from reflect_git.store.repository import Store
    from reflect_git.web.model import CaptureSwitch, Panel
    from reflect_git.web.security import Gatekeeper

CHANNEL = "panel"
_MINUTE = 60
_HANDSHAKE = "panel-{}.html"
_PAGE = '<!doctype html><meta http-equiv="refresh" content="0;url={0}"><a href="{0}">reflect-git</a>\n'


@click.command()
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="The port; default: any free one.")
@click.option("--no-open", "is_quiet", is_flag=True, help="Only print the link; open no browser.")
@click.option("--read-only", "is_read_only", is_flag=True, help="Show everything, change nothing.")
@click.option("--idle", "idle_minutes", metavar="MINUTES", type=click.FloatRange(min=0.01), default=30.0,
              help="End after this time without a request; default: 30.")  # fmt: skip
@click.option("--export", "folder", metavar="DIR", default="", help="Write the pages into a new folder instead.")
@click.option("--private", "is_private", is_flag=True, help="With --export: also texts that never leave the machine.")
@project_option
@json_option
@click.pass_obj
def panel_command(
    cli: CliContext,
    port: int,
    is_quiet: bool,
    is_read_only: bool,
    idle_minutes: float,
    folder: str,
    is_private: bool,
    project: str | None,
) -> None:
    """Look at rules, incidents and trends in a browser; approve, edit and revert there.

    Only this computer can open the pages. The printed link works once, for 60 seconds; press Enter for a new one.
    End it with Ctrl-C. It does not start inside Claude Code.

    \b
    Examples:
      reflect-git panel
      reflect-git panel --read-only --port 8700
      reflect-git panel --export report
    """
    if cli.json:
        raise ReflectError("the panel has no JSON output", "each page has one: add .json to it", "usage", EXIT_USAGE)
    if is_private and not folder:
        raise ReflectError("--private is for --export", "add --export DIR", "usage", EXIT_USAGE)
    if folder:
        _export(cli, folder, is_private, project)
        return
    cli.require_outside_client("the panel cannot run inside Claude Code", ["panel"])
    panel = _load_panel(cli, project, True)
    from reflect_git.web import server
    from reflect_git.web.security import Gatekeeper
    from reflect_git.web.site import Site

    listener = server.bind(port)
    gate = Gatekeeper(listener.getsockname()[1], is_read_only)
    app = server.PanelApp(gate, Site(panel), lambda said: cli.print_note(printable(said)))
    handshake = Handshake(cli, panel.store, gate, not is_quiet)
    app.on_opened = handshake.remove_file
    try:
        why = server.serve(listener, app, idle_minutes * _MINUTE, handshake.start)
    finally:
        handshake.remove_file()
    cli.print_note(f"panel closed: {why}")


def _export(cli: CliContext, folder: str, is_private: bool, project: str | None) -> None:
    """Write static pages. They can also be written inside Claude Code, since they decide nothing."""
    panel = _load_panel(cli, project, is_private)
    from reflect_git.web.export import export_pages

    count = export_pages(panel, folder)
    cli.print_text(printable(f"wrote {plural(count, 'page')} to '{folder}'; open {os.path.join(folder, 'index.html')}"))
    if not is_private:
        cli.print_note("texts that never leave the machine are left out; add them with --private")


def _load_panel(cli: CliContext, project: str | None, is_private: bool) -> Panel:
    """Open the store, read the latest messages, and apply postponed decisions, as a review does."""
    cli.mine_live_sessions(cli.open_store(create=False))
    ctx = open_context(cli, project, writes=not cli.is_inside_client)
    from reflect_git.web.model import Panel

    folder = os.path.abspath(project or get_cwd())
    return Panel(ctx.store, cli.env, folder, cli.scan, _build_switch(cli, ctx.store, folder), is_private)


def _build_switch(cli: CliContext, store: Store, folder: str) -> CaptureSwitch:
    """Return the switch of capture, which `pause` and `resume` share."""
    from reflect_git.web.model import CaptureSwitch

    def describe() -> tuple[str, str]:
        found = capture_switch.get_capture_state(store, cli.env, folder, time.time())
        if found.state != "paused":
            return found.state, found.state
        left = max(0.0, parse_utc(found.until or "") - time.time() + _MINUTE)
        return found.state, f"paused, {format_duration(left)} left"

    def pause(span: str) -> None:
        until = utc(time.time() + capture_switch.parse_span(span))
        _write_switch(store, capture_switch.plan_pause(store, until))

    return CaptureSwitch(describe, pause, lambda: _write_switch(store, capture_switch.plan_switch_on(store, None)))


def _write_switch(store: Store, change: capture_switch.SwitchChange) -> None:
    """Switch capture, with the panel as the channel."""
    capture_switch.write_switch(store, change, service.get_author(store, CHANNEL))


class Handshake:
    """Gives the link to one browser: in the terminal, and through a private file that the browser opens.

    The token is in no argument of a process. The file is deleted as soon as the token is used or too old.
    """

    def __init__(self, cli: CliContext, store: Store, gate: Gatekeeper, opens_browser: bool) -> None:
        self._cli, self._gate, self._opens_browser = cli, gate, opens_browser
        self._path = store.private_path(_HANDSHAKE.format(os.getpid()))

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Print the first link, and another one each time the person presses Enter."""
        self._offer(loop)
        if sys.stdin.isatty():
            loop.add_reader(sys.stdin.fileno(), self._handle_line, loop)

    def _handle_line(self, loop: asyncio.AbstractEventLoop) -> None:
        if os.read(sys.stdin.fileno(), 4096):
            self._offer(loop)
        else:
            loop.remove_reader(sys.stdin.fileno())

    def _offer(self, loop: asyncio.AbstractEventLoop) -> None:
        from reflect_git.web.security import TOKEN_SECONDS

        link = f"{self._gate.url}open#{self._gate.create_token()}"
        self._cli.print_line(link)
        if self._opens_browser and system.current.has_screen(self._cli.env):
            files.write_atomic(self._path, _PAGE.format(link).encode("ascii"))
            _open_browser(self._path)
            loop.call_later(TOKEN_SECONDS, self.remove_file)

    def remove_file(self) -> None:
        files.remove(self._path)


def _open_browser(path: str) -> None:
    import webbrowser

    webbrowser.open(f"file://{path}")
