"""The panel over 300 rules, 10,000 signals and 400 sessions: its first answer, the time and size of each page."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from bench import generate
from bench.panel_store import make_home
from bench.setting import Setting
from bench.table import Row, Table, build_timed_row
from bench.timing import Command, Times, fixed_subject, measure

ROUNDS, STARTS = 40, 10
PROGRAM = Path(sys.executable).parent / "reflect-git"
FLOOR = "reflect-git --version"
FIRST_CEILING = 6.0
PAGE_SECONDS = 0.050
MAX_KB = 60.0
# The sum of what moved up to 60 ms after the page was loaded.
LAYOUT_SHIFT = """() => new Promise(done => {
    let sum = 0
    const watcher = new PerformanceObserver(list => list.getEntries().forEach(one => sum += one.value))
    watcher.observe({type: "layout-shift", buffered: true})
    setTimeout(() => done(sum), 60)
})"""
PAGES = ("today", "rules", "rules?scope=here&sort=effect", "versions", "version?v=9", "incidents", "trend", "machines")


def tables(setting: Setting) -> list[Table]:
    title = "Panel of 300 rules, 10,000 signals, 400 sessions"
    if not PROGRAM.exists():
        return [Table(title, (), notes=(f"'{PROGRAM.name}' is not installed beside this Python: not measured",))]
    home = setting.create_home("panel")
    project, env = make_home(home / "home"), generate.build_env(home / "home")
    starts = setting.rounds(STARTS)
    floor = measure([fixed_subject(FLOOR, Command((str(PROGRAM), "--version"), env))], starts)[FLOOR]
    first = Times("start to first answer")
    for _ in range(starts):
        with _RunningPanel(project, env) as running:
            first.seconds.append(running.first_answer)
    rows = [build_timed_row(floor), build_timed_row(first, floor, FIRST_CEILING)]
    with _RunningPanel(project, env) as running:
        pages = running.list_pages()
        rows += [row for page in pages for row in _measure_page(running, page, setting.rounds(ROUNDS))]
        shift = _measure_shift(running, pages)
    notes = ["a page: fastest and 95th percentile, over HTTP, after the first request"]
    if shift is None:
        notes.append("layout shift: not measured, since there is no Chromium or no Playwright")
    else:
        rows.append(Row("layout shift, sum of all pages", (), shift, "", 0.0))
    return [Table(title, rows, notes=notes)]


def _measure_shift(running: _RunningPanel, pages: list[str]) -> float | None:
    """Return how far things move while the pages load, as Chromium counts it; None without Chromium."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if not chromium:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context()
        context.add_cookies([running.build_browser_cookie()])
        page, total = context.new_page(), 0.0
        for address in pages:
            page.goto(running.get_address(address))
            total += page.evaluate(LAYOUT_SHIFT)
        browser.close()
    return total


def _measure_page(running: _RunningPanel, page: str, rounds: int) -> list[Row]:
    running.get(page)
    times, size = Times(page), 0
    for _ in range(rounds):
        begun = time.perf_counter()
        size = len(running.get(page))
        times.seconds.append(time.perf_counter() - begun)
    name, slow = page.partition("?")[0], times.percentile(95)
    return [
        Row(f"{page}, p95", (times.fastest, slow), slow / PAGE_SECONDS, f"{PAGE_SECONDS * 1000:.0f} ms", 1.0),
        Row(f"{name}, HTML in KB", (), size / 1024, "", MAX_KB),
    ]


class _RunningPanel:
    """The panel in its own process, and a connection with its cookie."""

    def __init__(self, project: Path, env: Mapping[str, str]) -> None:
        begun = time.perf_counter()
        command = (str(PROGRAM), "panel", "--no-open")
        self._process = subprocess.Popen(
            command, cwd=project, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        link = urlsplit(self._process.stdout.readline().strip())
        self._origin, self._base = f"http://{link.netloc}", link.path.removesuffix("open")
        self._connection = http.client.HTTPConnection(link.hostname or "", link.port)
        headers = {"Origin": self._origin, "Content-Type": "application/x-www-form-urlencoded"}
        self._connection.request("POST", link.path, urlencode({"token": link.fragment}), headers)
        answer = self._connection.getresponse()
        answer.read()
        self.first_answer = time.perf_counter() - begun
        self._cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def __enter__(self) -> _RunningPanel:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait()

    def get(self, page: str) -> bytes:
        self._connection.request("GET", self._base + page, headers={"Cookie": self._cookie})
        answer = self._connection.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"'{page}' answered {answer.status}")
        return data

    def get_address(self, page: str) -> str:
        return f"{self._origin}{self._base}{page}"

    def build_browser_cookie(self) -> Any:
        """Return the cookie in the form that Playwright takes."""
        name, _, value = self._cookie.partition("=")
        return {"name": name, "value": value, "url": f"{self._origin}{self._base}"}

    def list_pages(self) -> list[str]:
        rule = json.loads(self.get("rules.json?scope=here"))["data"]["rules"][12]["id"]
        incident = json.loads(self.get("incidents.json"))["data"]["incidents"][0]["key"]
        previews = [f"edit?id={rule}&text=Another+wording.", f"revert?name={rule}"]
        return [*PAGES, f"rule?id={rule}", f"incident?key={incident}", *previews]
