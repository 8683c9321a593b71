"""Let only one person's browser in: the one that came with the token that the terminal shows.

Every request is checked before its page is made. The checks know nothing of the web framework: they get a method, a
path and headers, and return why the request is refused.
"""

from __future__ import annotations

import hmac
import os
import secrets
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from reflect_git.errors import ReflectError
from reflect_git.platform import processes, system

HOST = "127.0.0.1"
COOKIE = "reflect-panel"
TOKEN_SECONDS = 60.0
MAX_BODY = 64 << 10
FORM_FIELD = "form"  # the field with a form's token
# No inline code or style, no other host, no frame. Fonts are those of the system.
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    # Not `no-referrer`: with it, browsers send `Origin: null` with a form. The token is never in an address.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refusal(NamedTuple):
    """Why a request is refused; `hint` is for the person who sees the page."""

    status: int
    why: str
    hint: str = ""


class Gatekeeper:
    """The secrets of one run of the panel, and the checks of its requests."""

    def __init__(self, port: int, is_read_only: bool = False) -> None:
        self.origin = f"http://{HOST}:{port}"
        self.base = f"/{secrets.token_urlsafe(12)}/"
        self.is_read_only = is_read_only
        self._port = port
        self._cookies: set[str] = set()
        self._key = secrets.token_bytes(32)
        self._token, self._ends = "", 0.0

    @property
    def url(self) -> str:
        return f"{self.origin}{self.base}"

    def create_token(self) -> str:
        """Return a new token for one browser; an earlier one is void."""
        self._token, self._ends = secrets.token_urlsafe(24), time.monotonic() + TOKEN_SECONDS
        return self._token

    def exchange_token(self, token: str) -> str:
        """Return a cookie for a token; raise if it is wrong, used or too old. Each attempt ends the token."""
        expected, self._token = self._token, ""
        if not expected or time.monotonic() > self._ends or not hmac.compare_digest(expected, token.strip()):
            raise ReflectError(
                "this link was used or is too old", "press Enter in the terminal of the panel for a new one", "token"
            )
        cookie = secrets.token_urlsafe(24)
        self._cookies.add(cookie)
        return cookie

    def format_cookie(self, cookie: str) -> str:
        """Return the cookie's header. With the path, no other local server ever gets it."""
        return f"{COOKIE}={cookie}; Path={self.base}; HttpOnly; SameSite=Strict"

    def check(self, method: str, path: str, headers: Mapping[str, str], is_public: bool) -> Refusal | None:
        """Return why a request is refused, from its first line and headers; None if it may go on."""
        if headers.get("host") != self.origin.removeprefix("http://"):
            return Refusal(403, "another host name", f"open {self.origin} under that name")
        if headers.get("upgrade"):
            return Refusal(403, "an upgrade of the connection")
        if method not in ("GET", "HEAD", "POST"):
            return Refusal(405, f"method {method[:10]}")
        if not path.startswith(self.base):
            return Refusal(404, "an unknown path", "use the address that the terminal shows")
        origin = headers.get("origin")
        if origin != self.origin and (method == "POST" or origin is not None):
            return Refusal(403, "another origin")
        if method == "POST" and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return Refusal(403, "another site")
        if not is_public and self._find_cookie(headers) is None:
            return Refusal(403, "no cookie", "press Enter in the terminal of the panel for a new link")
        if method == "POST" and self.is_read_only and not is_public:
            return Refusal(403, "the panel is read-only", "start it without --read-only to change anything")
        return None

    def check_peer(self, client: tuple[str, int]) -> Refusal | None:
        """Return why whoever is at the other end may change nothing: another user, or Claude Code."""
        found = system.current.find_peer(client, (HOST, self._port))
        if found is None:
            return Refusal(403, "a connection that does not exist any more", "try again")
        user, process = found  # not every system tells: there the cookie has to do
        if user not in (-1, os.getuid()):
            return Refusal(403, "another user")
        if process > 0 and processes.is_started_by_client(process):
            return Refusal(403, "Claude Code", "a person decides: use a browser that you started yourself")
        return None

    def create_form_token(self, headers: Mapping[str, str], path: str) -> str:
        """Return the token of the forms that this browser may send to a path."""
        return self._sign(self._find_cookie(headers) or "", path)

    def check_form(self, headers: Mapping[str, str], path: str, token: str) -> Refusal | None:
        """Return why a form is refused: it was not made by this run for this browser and path."""
        expected = self._sign(self._find_cookie(headers) or "", path)
        return None if hmac.compare_digest(expected, token) else Refusal(403, "a form without its token", "reload it")

    def _sign(self, cookie: str, path: str) -> str:
        return hmac.new(self._key, f"{cookie}\n{path}".encode(), sha256).hexdigest()

    def _find_cookie(self, headers: Mapping[str, str]) -> str | None:
        """Return the cookie of a request if it is one of ours."""
        for part in headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == COOKIE and any(hmac.compare_digest(value.encode(), one.encode()) for one in self._cookies):
                return value
        return None
