"""Make the pictures of docs/panel.md: the panel over an invented store, in Chromium. `make screenshots` runs it.

With a folder as argument, it writes every page there in three widths, light and dark.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parent.parent
sys.path[0] = str(REPO)

from bench import generate  # noqa: E402 - a script starts with its own folder on the path
from bench.panel_store import SESSIONS, get_session_name, make_home  # noqa: E402
from tests.sessions import Session  # noqa: E402
from tests.web.large_store import build_panel  # noqa: E402
from tests.web.reported_store import add_reports  # noqa: E402

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WIDTHS = (390, 820, 1440)
HEIGHTS = {390: 844, 820: 1180, 1440: 900}
PAGES = ("today", "rules", "rule", "edit", "guard", "revert", "versions", "version", "session", "incidents", "incident",
         "trend", "evaluations", "evaluation", "digests", "digest", "skills", "machines", "capture")  # fmt: skip
SHOWN = {"today": 1000, "rules": 1000, "trend": 1000}  # page of docs/panel.md → width


@contextmanager
def run_panel(home: Path, project: Path) -> Iterator[str]:
    """Run the panel for a project; yield its link."""
    program = Path(sys.executable).parent / "reflect-git"
    command = [str(program), "panel", "--no-open"]
    env = {**generate.build_env(home), "TZ": "UTC"}
    with subprocess.Popen(command, cwd=project, env=env, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().strip()
        finally:
            running.terminate()


def list_addresses(page: Any) -> dict[str, str]:
    """Map the name of each page to an address with an id that exists."""

    def load(address: str) -> Any:
        return page.evaluate("address => fetch(address).then(reply => reply.json())", address)["data"]

    rules = load("rules.json?scope=here")["rules"]
    rule = next(one["id"] for one in rules if one["effect"] and one["effect"]["verdict"].startswith("recurring"))
    guarded = next(one["id"] for one in rules if "pnpm" in one["text"])
    newest = load("version.json?v=" + str(load("versions.json")["newest"]))
    known = [one["session"] for one in newest["ran"] if one["has_messages"]]
    at, question = "", {"is_own": False}
    while at != "end" and not question["is_own"]:
        shown = load(f"today.json?at={at}")
        question, following = shown["question"], shown["next"]
        at = question["id"] if question["is_own"] else following
    more = {
        "today": f"today?at={at}", "rules": "rules?scope=here",
        "rule": f"rule?id={rule}", "edit": f"edit?id={rule}&text=Use+pnpm+for+all+packages.",
        "revert": f"revert?name={rule}", "version": "version?v=9", "guard": f"guard?id={guarded}",
        "incident": f"incident?key={load('incidents.json')['incidents'][0]['key']}",
        "session": f"session?id={known[0]}",
        "evaluation": f"evaluation?id={load('evaluations.json')['evaluations'][0]['id']}",
        "digest": f"digest?period={load('digests.json')['digests'][0]['period']}",
    }  # fmt: skip
    return {name: more.get(name, name) for name in PAGES}


def take_pictures(link: str, folder: Path, everything: bool) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.goto(link)
        page.wait_for_selector("header nav")
        for name, address in list_addresses(page).items():
            widths = WIDTHS if everything else (SHOWN.get(name, 0),)
            for width in filter(None, widths):
                for scheme in ("light", "dark") if everything else ("light",):
                    page.emulate_media(color_scheme=scheme)
                    page.set_viewport_size({"width": width, "height": HEIGHTS.get(width, 760)})
                    page.goto(f"{link.partition('open#')[0]}{address}")
                    file = f"{name}-{width}-{scheme}.png" if everything else f"panel-{name}.png"
                    page.screenshot(path=str(folder / file), full_page=everything and width != 390)
        browser.close()


def main(words: list[str]) -> None:
    folder = Path(words[0]) if words else REPO / "docs"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary, "home")
        project = make_home(home)
        add_reports(build_panel(home))
        session = Session(home, get_session_name(SESSIONS - 1), cwd=str(project))
        for said in ("add a search field to the orders page", "no, use the search of the catalogue", "now test it"):
            session.say(said)
        with run_panel(home, project) as link:
            take_pictures(link, folder, everything=bool(words))


if __name__ == "__main__":
    main(sys.argv[1:])
