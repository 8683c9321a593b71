"""A running panel, and a browser without a screen: it keeps the cookie, reads forms and sends them."""

from __future__ import annotations

import http.client
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.conftest import REPO

FORM = "application/x-www-form-urlencoded"


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def next(self) -> str:
        """Return the page that a redirect names, without the panel's path."""
        return self.headers["location"].split("/", 2)[2]


class RunningPanel:
    """`reflect-git panel`, as its own process."""

    def __init__(
        self, cwd: Path, *options: str, env: Mapping[str, str] | None = None, before: tuple[str, ...] = ()
    ) -> None:
        surroundings = {**os.environ, "PYTHONPATH": str(REPO), "PYTHONSAFEPATH": "1", **(env or {})}
        command = [*before, sys.executable, "-m", "reflect_git.cli.start", "panel", "--no-open", *options]
        self.process = subprocess.Popen(
            command, cwd=cwd, env=surroundings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.link = self.process.stdout.readline().strip()
        address = urlsplit(self.link)
        self.token = address.fragment
        self.host, self.port = address.hostname or "", address.port or 0
        self.base = address.path.removesuffix("open")
        self.origin = f"http://{self.host}:{self.port}"

    def __enter__(self) -> RunningPanel:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> tuple[int, str]:
        """End it as ^C does; return its exit code and what it printed for people."""
        if self.process.poll() is None:
            self.process.terminate()
        assert self.process.stderr is not None
        try:
            _, said = self.process.communicate(timeout=30)
        except ValueError:  # stopped before
            said = ""
        return self.process.returncode, said

    def read_note(self, seconds: float = 10.0) -> str:
        """Return the next line that it prints for people."""
        assert self.process.stderr is not None
        ready, _, _ = select.select([self.process.stderr], [], [], seconds)
        return self.process.stderr.readline() if ready else ""

    def request(self, method: str, path: str, body: str = "", **headers: str) -> Reply:
        """Send one request; a header with the value "" is left out."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        given = {"Host": f"{self.host}:{self.port}"}
        if method == "POST":
            given |= {"Origin": self.origin, "Content-Type": FORM, "Content-Length": str(len(body.encode()))}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders(body.encode() if body else None)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8")
        connection.close()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)

    def open(self) -> Browser:
        """Exchange the token for a cookie, as the page behind the link does."""
        reply = self.request("POST", f"{self.base}open", urlencode({"token": self.token}))
        assert reply.status == 303, reply.text
        return Browser(self, reply.headers["set-cookie"].partition(";")[0])


class Browser:
    """One browser: its cookie, and the forms of the page that it shows."""

    def __init__(self, panel: RunningPanel, cookie: str) -> None:
        self.panel, self.cookie = panel, cookie
        self.page = Reply(0, {}, "")

    def get(self, page: str, **headers: str) -> Reply:
        self.page = self.panel.request("GET", self.panel.base + page, Cookie=self.cookie, **headers)
        return self.page

    def data(self, page: str) -> Any:
        """Return the data of a page, from its JSON twin."""
        name, _, query = page.partition("?")
        reply = self.get(f"{name}.json{'?' if query else ''}{query}")
        assert reply.status == 200, reply.text
        return json.loads(reply.text)["data"]

    def find_form(self, action: str) -> dict[str, str]:
        """Return the fields of a form of the page."""
        found = FormReader(self.page.text).forms
        assert action in found, f"no form '{action}' among {sorted(found)}"
        return found[action]

    def send(self, action: str, **fields: str) -> Reply:
        """Send a form of the page with these fields filled in."""
        return self.post(action, {**self.find_form(action), **fields})

    def post(self, action: str, fields: Mapping[str, str], **headers: str) -> Reply:
        reply = self.panel.request(
            "POST", self.panel.base + action, urlencode(fields), **{"Cookie": self.cookie, **headers}
        )
        if reply.status != 303:
            self.page = reply
        return reply


class FormReader(HTMLParser):
    """Reads the forms that send something: the hidden fields of each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self._open: dict[str, str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = {} if given.get("method") == "post" else None
            if self._open is not None:
                self.forms.setdefault(given["action"], self._open)
        elif tag == "input" and self._open is not None and given.get("type") == "hidden":
            self._open[given["name"]] = given["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None


def wait_until_closed(panel: RunningPanel, seconds: float = 30.0) -> int:
    deadline = time.monotonic() + seconds
    while panel.process.poll() is None:
        assert time.monotonic() < deadline, "the panel did not end"
        time.sleep(0.05)
    return int(panel.process.returncode)
