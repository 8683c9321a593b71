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
from bench.panel_store import make_home  # noqa: E402

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WIDTHS = (390, 820, 1440)
HEIGHTS = {390: 844, 820: 1180, 1440: 900}
PAGES = ("today", "rules", "rule", "edit", "revert", "versions", "version", "incidents", "incident", "trend",
         "machines", "capture")  # fmt: skip
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
    rules = page.evaluate("fetch('rules.json?scope=here').then(r => r.json())")["data"]["rules"]
    incidents = page.evaluate("fetch('incidents.json').then(r => r.json())")["data"]["incidents"]
    rule = rules[len(rules) // 2]["id"]
    at, question = "", {"is_own": False}
    while at != "end" and not question["is_own"]:
        shown = page.evaluate(f"fetch('today.json?at={at}').then(r => r.json())")["data"]
        question, following = shown["question"], shown["next"]
        at = question["id"] if question["is_own"] else following
    more = {
        "today": f"today?at={at}", "rules": "rules?scope=here",
        "rule": f"rule?id={rule}", "edit": f"edit?id={rule}&text=Use+pnpm+for+all+packages.",
        "revert": f"revert?name={rule}", "version": "version?v=9", "incident": f"incident?key={incidents[0]['key']}",
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
        with run_panel(home, make_home(home)) as link:
            take_pictures(link, folder, everything=bool(words))


if __name__ == "__main__":
    main(sys.argv[1:])
