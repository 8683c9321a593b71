"""The panel in a real Chromium: every page, the keys, zoom, axe-core, and an approval that is reverted.

`make browser` runs it. Without Chromium, Playwright or axe-core it is skipped, but fails where CI is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from bench import generate
from bench.panel import LAYOUT_SHIFT
from bench.panel_store import SHOP, make_home
from reflect_git.capture import service
from tests.conftest import REPO
from tests.web.large_store import build_panel
from tests.web.panel_client import RunningPanel
from tests.web.reported_store import add_reports

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.browser

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""
AXE = Path(os.environ.get("AXE", REPO / ".browser/node_modules/axe-core/axe.min.js"))
IS_CI = bool(os.environ.get("CI"))
PAGES = (
    "today", "today?weak=1", "rules", "rules?scope=here&sort=effect", "rules?q=nothing+has+this", "versions",
    "version?v=9&from=3", "incidents", "trend", "trend?weeks=12&scope=here", "machines", "capture",
    "evaluations", "digests", "digest?period=2026-W07", "skills",
)  # fmt: skip
WIDTH, HEIGHT = 1280, 800
# A rule that contradicts one in force, one that a guard can enforce, and one that would run if it were not escaped.
EVIL = "always use tabs, <img src=x onerror=alert(1)> </script><script>alert(2)</script><svg onload=alert(3)>"
SAID = "no, use npm, not pnpm", "never run git push --force", EVIL


def _find_missing() -> str:
    if not CHROMIUM:
        return "no Chromium: apt-get install chromium, or set CHROMIUM"
    if not AXE.is_file():
        return f"no axe-core at '{AXE}': make browser installs it"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "no Playwright: pip install playwright"
    return ""


@pytest.fixture(scope="module")
def tools() -> None:
    missing = _find_missing()
    if missing:
        pytest.fail(missing) if IS_CI else pytest.skip(missing)


@pytest.fixture(scope="module")
def large(tools: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("large") / "home"
    make_home(home)
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n", encoding="utf-8")
    made = build_panel(home)
    add_reports(made)
    for at, text in enumerate(SAID):
        given = {
            "type": "correction", "confidence": 2, "trust": "user_typed", "content": text, "context": text,
            "session_id": f"said-{at}", "project": SHOP, "meta": {"durable": True, "score": 0.9},
        }  # fmt: skip
        service.capture_signal(made.store, given, made.env, wait=5)
    return home


@pytest.fixture(scope="module")
def panel(large: Path) -> Iterator[RunningPanel]:
    env = {**generate.build_env(large), "GIT_CONFIG_GLOBAL": str(large / ".gitconfig")}
    with RunningPanel(large / "shop", env=env) as running:
        yield running


@pytest.fixture(scope="module")
def context(panel: RunningPanel) -> Iterator[BrowserContext]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        made = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
        page = made.new_page()
        page.goto(panel.link)
        page.wait_for_selector("header nav")
        assert "#" not in page.url and panel.token not in page.url, "the token leaves the address"
        page.close()
        yield made
        browser.close()


class Watcher:
    """A page that notes console errors, failed requests, and requests to other hosts."""

    def __init__(self, page: Page, panel: RunningPanel) -> None:
        self.page, self.panel = page, panel
        self.troubles: list[str] = []
        page.on("console", lambda said: self.troubles.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("request", self._check_request)

    def _check_request(self, request: Any) -> None:
        if not request.url.startswith(self.panel.origin):
            self.troubles.append(f"request to {request.url}")
        if self.panel.token in str(request.headers):
            self.troubles.append("the token is in a header")

    def go(self, address: str) -> None:
        self.page.goto(f"{self.panel.origin}{self.panel.base}{address}")

    def data(self, address: str) -> Any:
        return self.page.evaluate("address => fetch(address).then(reply => reply.json())", address)["data"]


@pytest.fixture
def watcher(context: BrowserContext, panel: RunningPanel) -> Iterator[Watcher]:
    page = context.new_page()
    made = Watcher(page, panel)
    yield made
    page.close()


def _list_addresses(watcher: Watcher) -> list[str]:
    watcher.go("rules")
    rule = watcher.data("rules.json?scope=here")["rules"][3]["id"]
    incident = watcher.data("incidents.json")["incidents"][0]["key"]
    evaluation = watcher.data("evaluations.json")["evaluations"][-1]["id"]
    edit = f"edit?id={rule}&text=Another+wording."
    return [
        *PAGES,
        f"rule?id={rule}",
        edit,
        f"revert?name={rule}",
        f"incident?key={incident}",
        f"evaluation?id={evaluation}",
    ]


def test_pages_open_without_errors_and_are_accessible(watcher: Watcher) -> None:
    serious: dict[str, list[str]] = {}
    shifts: dict[str, float] = {}
    for address in _list_addresses(watcher):
        watcher.go(address)
        shifts[address] = watcher.page.evaluate(LAYOUT_SHIFT)
        # The page's own policy forbids other scripts, so axe runs in the browser's isolated world.
        watcher.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = watcher.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")["violations"]
        grave = [one for one in found if one["impact"] in ("serious", "critical")]
        bad = [f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in grave]
        if bad:
            serious[address] = bad
    assert serious == {} and watcher.troubles == []
    assert {address: shift for address, shift in shifts.items() if shift > 0} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_in_both_schemes(watcher: Watcher, scheme: Any) -> None:
    watcher.page.emulate_media(color_scheme=scheme)
    for address in ("today", "rules", "machines", "trend", "evaluations", "skills"):
        watcher.go(address)
        watcher.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = watcher.page.evaluate("() => axe.run(document, {runOnly: ['color-contrast']})")["violations"]
        assert [node["html"][:120] for one in found for node in one["nodes"]] == [], address


def test_no_sideways_scrolling(watcher: Watcher) -> None:
    """From 80 to 200 % zoom, which is a narrower or wider window, and from 360 to 1,600 pixels."""
    wide = []
    for address in _list_addresses(watcher):
        for width in (1600, round(WIDTH / 0.8), WIDTH, round(WIDTH / 1.5), WIDTH // 2, 390, 360):
            watcher.page.set_viewport_size({"width": width, "height": HEIGHT})
            watcher.go(address)
            more = watcher.page.evaluate(
                "(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.documentElement)"
            )
            wide += [(address, width, more)] if more > 0 else []
    assert wide == []


def test_keys_of_lists(watcher: Watcher) -> None:
    page = watcher.page
    watcher.go("rules")
    page.keyboard.press("?")
    assert page.locator("dialog#keys").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    second = page.locator("tr.marked .num").inner_text()
    assert second == "2"
    page.keyboard.press("/")
    page.keyboard.type("pnpm")
    page.keyboard.press("Enter")
    page.wait_for_url("**/rules?q=pnpm*")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/rule?id=*")
    assert watcher.troubles == []


def _find_card(watcher: Watcher, words: str) -> str:
    """Return the id of the proposed rule that was said in these words."""
    at = ""
    for _ in range(80):
        data = watcher.data(f"today.json?at={at}&weak=1")
        if data["question"]["quote"] == words:
            return str(data["question"]["id"])
        at = data["next"]
    raise AssertionError(f"no proposed rule '{words}'")


# Each element with a key: the key, what it is, where it leads, and whether it can be used.
LIST_KEYS = """() => [...document.querySelectorAll("[data-key]")].map(one => [
    one.dataset.key, one.tagName, one.href || one.form && one.form.getAttribute("action") || "", !!one.disabled])"""
LIST_HELP = "() => [...document.querySelectorAll('#keys kbd')].map(one => one.textContent)"
ALL_KEYS = set("ynNsetgrvujkwxmbqhadi")


def test_every_key_does_what_its_button_says(watcher: Watcher, large: Path) -> None:
    """Nothing is written: forms are caught on their way."""
    page, sent = watcher.page, []

    def catch(route: Any) -> None:
        sent.append(route.request.url.rpartition("/")[2])
        route.fulfill(status=204)

    page.route(lambda url: True, lambda route: catch(route) if route.request.method == "POST" else route.continue_())
    addresses = _list_addresses(watcher)
    guarded = watcher.data("rules.json?q=Use+pnpm&scope=here")["rules"][0]["id"]
    cards = [_find_card(watcher, words) for words in SAID]
    first = watcher.data("today.json")["next"]
    file = large / "shop" / "CLAUDE.md"
    before = file.read_bytes()
    file.write_bytes(b"".join(line for line in before.splitlines(keepends=True) if b"Keep functions" not in line))
    used: set[str] = set()
    try:
        for address in (*addresses, f"guard?id={guarded}", *(f"today?at={card}&weak=1" for card in (*cards, first))):
            watcher.go(address)
            listed = page.evaluate(LIST_HELP)
            for key, tag, leads_to, is_disabled in page.evaluate(LIST_KEYS):
                assert key in listed, f"'{key}' of {address} is not in the list of keys"
                if is_disabled:
                    continue
                watcher.go(address)
                sent.clear()
                page.keyboard.press(key)
                _require_effect(watcher, key, tag, leads_to, sent)
                used.add(key)
    finally:
        file.write_bytes(before)
    assert used == ALL_KEYS
    assert watcher.troubles == []


def _require_effect(watcher: Watcher, key: str, tag: str, leads_to: str, sent: list[str]) -> None:
    page, element = watcher.page, f'[data-key="{key}"]'
    if tag == "A":
        page.wait_for_url(leads_to)
    elif tag == "BUTTON":
        for _ in range(100):
            if sent:
                break
            page.wait_for_timeout(20)
        assert sent == [leads_to]
    elif tag == "DETAILS":
        assert page.locator(element).evaluate("one => one.open") is True
    else:
        assert page.locator(element).evaluate("one => one === document.activeElement || one.checked") is True


def test_a_text_never_runs(watcher: Watcher) -> None:
    """Where a text is shown, in a field to edit it, and in the address of a page."""
    watcher.page.on("dialog", lambda one: watcher.troubles.append(one.message))
    watcher.go("today")
    card = _find_card(watcher, EVIL)
    word = quote(EVIL)
    for address in (
        f"today?at={card}&weak=1",
        f"today?at={card}&weak=1&text={word}",
        f"rules?q={word}",
        f"rule?id={word}",
    ):
        watcher.go(address)
        assert EVIL[:20] in watcher.page.locator("body").inner_text() or address.startswith("rules?"), address
        assert watcher.page.locator("main img, main script, main svg[onload]").count() == 0
    assert [one for one in watcher.troubles if "404" not in one] == []


def test_slash_searches_from_any_page(watcher: Watcher) -> None:
    watcher.go("trend")
    watcher.page.keyboard.press("/")
    watcher.page.wait_for_url("**/rules#q")
    watcher.page.keyboard.type("pnpm")
    watcher.page.keyboard.press("Enter")
    watcher.page.wait_for_url("**/rules?q=pnpm*")


# The contrast of each shape that carries a figure, by brightness alone: what is left of a colour in greyscale.
CONTRASTS = """() => {
    const light = colour => {
        const [red, green, blue] = colour.match(/[\\d.]+/g).map(one => one / 255)
        const linear = one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4
        return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }
    const back = light(getComputedStyle(document.documentElement).backgroundColor)
    const shapes = document.querySelectorAll(
        ".bar:not(.none), .line, .dot, .mark, .range, .part, .trend text, svg text, .one, span.verdict")
    return [...shapes].map(one => {
        const style = getComputedStyle(one)
        const drawn = one.matches(".line, .mark, .range, .one") ? style.stroke : style.fill
        const there = light(one.tagName === "SPAN" ? style.color : drawn)
        return [one.getAttribute("class"), (Math.max(there, back) + 0.05) / (Math.min(there, back) + 0.05)]
    })
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_are_readable_in_greyscale(watcher: Watcher, scheme: Any) -> None:
    """Shapes differ from the page by brightness; a mark differs from a line by its dashes, a verdict by its sign."""
    watcher.page.emulate_media(color_scheme=scheme)
    watcher.go("rules")
    rule = watcher.data("rules.json?sort=effect&scope=here")["rules"][0]["id"]
    for address in ("trend", "rules?scope=here", f"rule?id={rule}"):
        watcher.go(address)
        found = watcher.page.evaluate(CONTRASTS)
        assert found and [one for one in found if one[1] < 3] == [], address
    watcher.go("trend")
    for kind, dashed in (("mark", True), ("line", False)):
        dashes = watcher.page.evaluate(
            f"() => getComputedStyle(document.querySelector('.trend .{kind}')).strokeDasharray"
        )
        assert (dashes != "none") is dashed, kind


def test_an_export_opens_from_disk(large: Path, context: BrowserContext, tmp_path: Path) -> None:
    """Every page, by its links, with its style sheet, and without a request to anywhere else."""
    env = {**os.environ, **generate.build_env(large), "PYTHONPATH": str(REPO), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "reflect_git.cli.start", "panel", "--export", str(tmp_path / "report")]
    subprocess.run(command, cwd=large / "shop", env=env, check=True, capture_output=True)
    page, troubles = context.new_page(), list[str]()
    page.on("console", lambda said: troubles.append(said.text))
    page.on("request", lambda one: troubles.extend([] if one.url.startswith("file:///") else [one.url]))
    page.on("requestfailed", lambda one: troubles.append(one.url))
    page.goto(f"file://{tmp_path}/report/index.html")
    for title in page.locator("header nav a").all_inner_texts():
        page.click(f"header nav a >> text='{title}'")
        assert page.locator("header [aria-current]").inner_text() == title
        assert page.evaluate("() => getComputedStyle(document.querySelector('header ul')).display") == "flex"
        assert page.locator("form, script, input, button").count() == 0
    page.click("header nav a >> text='Rules'")
    page.click("table.rules a")
    assert page.locator("h1.said").is_visible()
    page.close()
    assert troubles == []


def _open_own_card(watcher: Watcher) -> str:
    """Open a proposed rule in the person's own words; return its id."""
    at = ""
    for _ in range(80):
        data = watcher.data(f"today.json?at={at}")
        if data["question"]["is_own"] and data["question"]["can_approve"] and not data["question"]["is_risky"]:
            watcher.go(f"today?at={data['question']['id']}")
            return str(data["question"]["id"])
        at = data["next"]
    raise AssertionError("no proposed rule in the person's own words")


def test_approve_and_revert_with_the_keys(watcher: Watcher, large: Path) -> None:
    page, file = watcher.page, large / "shop" / "CLAUDE.md"
    before = file.read_bytes()
    watcher.go("today")
    card = _open_own_card(watcher)
    for key in ("v", "e"):
        page.keyboard.press(key)
    assert page.locator("textarea#text").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    assert page.evaluate("() => document.activeElement.id") == "to"
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.wait_for_url(lambda url: card not in url)
    page.keyboard.press("k")
    page.wait_for_url(f"**/today?at={card}*")
    page.keyboard.press("y")
    page.wait_for_selector(".note.good")
    page.wait_for_load_state()
    assert file.read_bytes() != before
    page.keyboard.press("u")
    page.wait_for_url("**/revert?*")
    page.keyboard.press("y")
    page.wait_for_selector(".note.good")
    assert file.read_bytes() == before
    watcher.go(f"today?at={card}")
    page.keyboard.press("s")
    page.wait_for_url(lambda url: card not in url)
    _open_own_card(watcher)
    page.keyboard.press("n")
    page.wait_for_selector(".note.good")
    assert watcher.troubles == []


def test_without_javascript(large: Path, panel: RunningPanel, context: BrowserContext) -> None:
    """The link's page has a field for the token, and everything but the keys works."""
    env = {**generate.build_env(large), "GIT_CONFIG_GLOBAL": str(large / ".gitconfig")}
    with RunningPanel(large / "shop", env=env) as other:
        assert context.browser is not None
        plain = context.browser.new_context(java_script_enabled=False)
        page = plain.new_page()
        page.goto(other.link)
        page.fill("#token", other.token)
        page.click("button")
        page.wait_for_selector("header nav")
        page.click("text=Rules")
        page.fill("#q", "pnpm")
        page.click("text=Show")
        assert "pnpm" in page.locator("table.rules tbody").inner_text()
        plain.close()
