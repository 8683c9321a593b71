"""Serve the panel on this computer alone: the one module that knows the web framework.

Pages and changes run in the main thread, one after the other: one person looks at them, and guards are tested under a
timer that only the main thread has. Connections are asynchronous, so a slow client keeps nobody waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from reflect_git.errors import ReflectError
from reflect_git.web import security
from reflect_git.web.model import Call
from reflect_git.web.security import Gatekeeper, Refusal

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from reflect_git.web.site import Answer, Site

OPEN = "open"
STATIC_FOLDER = "static/"
_CLIENT_SECONDS = 10.0  # how long a client may take to send a request
_MAX_CONNECTIONS = 200
_MAX_HEADERS = 16 << 10
_MAX_FIELDS = 200
_SECONDS_TO_CLOSE = 2
_CHECK_SECONDS = 1.0


class PanelApp:
    """Answers requests, after the gatekeeper let them in."""

    def __init__(self, gate: Gatekeeper, site: Site, report: Callable[[str], None]) -> None:
        self.last_used = time.monotonic()
        self.on_opened: Callable[[], None] = lambda: None
        self._gate = gate
        self._site = site
        self._report = report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, _limit_time(receive))
        try:
            response = await self._answer(request)
        except (asyncio.TimeoutError, ClientDisconnect):
            response = self._refuse(request, Refusal(408, "a request that took too long"))
        for name, value in security.HEADERS.items():
            response.headers[name] = value
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        gate, path = self._gate, request.url.path
        name = path[len(gate.base) :]
        is_public = name == OPEN or name.startswith(STATIC_FOLDER)
        refused = gate.check(request.method, path, request.headers, is_public)
        if refused:
            return self._refuse(request, refused)
        self.last_used = time.monotonic()
        if name.startswith(STATIC_FOLDER):
            return self._send_static(request, name[len(STATIC_FOLDER) :])
        if request.method == "POST":
            return await self._change(request, name)
        if name == OPEN:
            return _send(self._site.render_open())
        forms = _FormTokens(gate, request.headers)
        call = Call(name, dict(request.query_params), forms.get_token, gate.is_read_only)
        return _send(self._site.answer(call))

    async def _change(self, request: Request, name: str) -> Response:
        """Check who is at the other end, read the form, and carry it out."""
        assert request.client is not None
        refused = self._gate.check_peer((request.client.host, request.client.port))
        if refused:
            return self._refuse(request, refused)
        fields = await _read_form(request)
        if isinstance(fields, Refusal):
            return self._refuse(request, fields)
        if name == OPEN:
            return self._open(fields.get("token", ""))
        refused = self._gate.check_form(request.headers, name, fields.pop(security.FORM_FIELD, ""))
        if refused:
            return self._refuse(request, refused)
        forms = _FormTokens(self._gate, request.headers)
        done = self._site.change(Call(name, fields, forms.get_token, self._gate.is_read_only))
        return _redirect(self._gate.base + done) if isinstance(done, str) else _send(done)

    def _open(self, token: str) -> Response:
        try:
            cookie = self._gate.exchange_token(token)
        except ReflectError as error:
            self._report(f"refused: {error.message}")
            return _send(self._site.render_refusal(403, error.message, error.hint or ""))
        self.on_opened()
        response = _redirect(self._gate.base)
        response.headers["Set-Cookie"] = self._gate.format_cookie(cookie)
        return response

    def _refuse(self, request: Request, refused: Refusal) -> Response:
        """Say why, here and in the terminal; the address is left out of both, since it has the panel's path."""
        self._report(f"refused: {request.method[:10]} from {refused.why}")
        return _send(self._site.render_refusal(refused.status, refused.why, refused.hint))

    def _send_static(self, request: Request, name: str) -> Response:
        """Send one of the files that were read at the start. No path of a request ever reaches the disk."""
        found = self._site.assets.get(name)
        if found is None or request.method == "POST":
            return self._refuse(request, Refusal(404, "an unknown file"))
        return Response(found.data, media_type=found.type)


class _FormTokens:
    """Makes the tokens of the forms on a page."""

    def __init__(self, gate: Gatekeeper, headers: Mapping[str, str]) -> None:
        self._gate, self._headers = gate, headers

    def get_token(self, path: str) -> str:
        return self._gate.create_form_token(self._headers, path)


def _send(answer: Answer) -> Response:
    return Response(answer.body, answer.status, media_type=answer.type)


def _redirect(path: str) -> Response:
    return RedirectResponse(path, 303)


def _limit_time(receive: Receive) -> Receive:
    """Give up on a client that sends its request too slowly."""

    async def receive_soon() -> Message:
        return await asyncio.wait_for(receive(), _CLIENT_SECONDS)

    return receive_soon


async def _read_form(request: Request) -> dict[str, str] | Refusal:
    """Read a small form; anything else is refused without reading on."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/x-www-form-urlencoded":
        return Refusal(415, "something that is no form")
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > security.MAX_BODY:
            return Refusal(413, "a form that is too large", "give a shorter text")
    try:
        pairs = parse_qsl(data.decode("utf-8"), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict")
    except ValueError:
        return Refusal(400, "a form that cannot be read")
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


class _Protocol(H11Protocol):
    """HTTP, for clients that send a request in time. The framework only limits the time between two requests."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch(None)

    def _watch(self, last: Any) -> None:
        """Close the connection if no request was finished since the last look and none is being answered."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if self.transport.is_closing():
            return
        if is_idle and last == (self.cycle,):
            self.transport.close()
            return
        self.loop.call_later(_CLIENT_SECONDS, self._watch, (self.cycle,))


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: `serve` below handles them."""
        yield


def bind(port: int) -> socket.socket:
    """Return a socket that listens on this computer alone; port 0 means any free one."""
    # asyncio switches Nagle's algorithm off only if the protocol is named. With it, each page took 40 ms longer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((security.HOST, port))
    except OSError as error:
        listener.close()
        why = (error.strerror or str(error)).lower()
        raise ReflectError(f"cannot listen on port {port}: {why}", "choose another --port", "system") from error
    return listener


def serve(
    listener: socket.socket, app: PanelApp, idle_seconds: float, on_ready: Callable[[asyncio.AbstractEventLoop], None]
) -> str:
    """Serve until ^C, a signal, or nobody used it for a while; return why it ended."""
    return asyncio.run(_serve(listener, app, idle_seconds, on_ready))


async def _serve(
    listener: socket.socket, app: PanelApp, idle_seconds: float, on_ready: Callable[[asyncio.AbstractEventLoop], None]
) -> str:
    config = uvicorn.Config(
        app, http=_Protocol, loop="asyncio", ws="none", lifespan="off", interface="asgi3", log_config=None,
        log_level="critical", access_log=False, server_header=False, limit_concurrency=_MAX_CONNECTIONS,
        h11_max_incomplete_event_size=_MAX_HEADERS, timeout_graceful_shutdown=_SECONDS_TO_CLOSE, proxy_headers=False,
    )  # fmt: skip
    server, ended = _Server(config), ["stopped"]
    loop = asyncio.get_running_loop()

    def stop(why: str) -> None:
        ended[:] = [why]
        server.should_exit = True

    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(one, stop, "stopped")

    def check_idle() -> None:
        if time.monotonic() - app.last_used > idle_seconds:
            stop("nobody used it")
        else:
            loop.call_later(min(_CHECK_SECONDS, idle_seconds), check_idle)

    check_idle()
    loop.call_soon(on_ready, loop)
    await server.serve([listener])
    return ended[0]
