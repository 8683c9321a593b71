"""Requests that are not from the person's browser, over real HTTP: refused and reported; the panel keeps serving."""

from __future__ import annotations

import os
import re
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest

from reflect_git.platform import system
from reflect_git.store.repository import Store
from tests.conftest import REPO, RunCli
from tests.faults import git
from tests.web.panel_client import FORM, Browser, Reply, RunningPanel, wait_until_closed


def read_main(store: Store) -> str:
    return git(Path(store.root), "rev-parse", "main").strip()


def test_only_the_browser_with_the_cookie_is_served(panel: RunningPanel, browser: Browser) -> None:
    assert browser.get("rules").status == 200
    for path in ("", "rules", "rules.json", "today", "machines"):
        refused = panel.request("GET", panel.base + path)
        assert (refused.status, "pnpm" in refused.text) == (403, False)
    assert panel.request("GET", panel.base + "rules", Cookie="reflect-panel=guess").status == 403
    assert panel.request("GET", "/").status == 404
    assert panel.read_note().startswith("refused: GET from no cookie")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost:{port}", "127.0.0.1", "127.0.0.1:1"]
)
def test_another_host_name(panel: RunningPanel, browser: Browser, store: Store, host: str) -> None:
    """A name that an attacker points to this computer: DNS rebinding."""
    before = read_main(store)
    name = host.format(port=panel.port)
    assert browser.get("rules", Host=name).status == 403
    browser.get("today")
    assert browser.post("decline", browser.find_form("decline"), Host=name).status == 403
    assert read_main(store) == before
    assert browser.get("rules").status == 200


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "http://127.0.0.1:1", "http://localhost:{port}", ""])
def test_another_origin(panel: RunningPanel, browser: Browser, store: Store, origin: str) -> None:
    before = read_main(store)
    browser.get("today")
    form = browser.find_form("decline")
    given = origin.format(port=panel.port)
    assert browser.post("decline", form, Origin=given).status == 403
    assert browser.post("decline", form, Sec_Fetch_Site="cross-site").status == 403
    assert read_main(store) == before
    assert browser.post("decline", form).status == 303, "the same form is fine from the panel itself"


def test_a_get_never_changes_anything(browser: Browser, store: Store, project: Path) -> None:
    before, file = read_main(store), (project / "CLAUDE.md").read_bytes()
    candidate = browser.data("today")["question"]["id"]
    rule = browser.data("rules")["rules"][0]["id"]
    for page in (
        "approve", "decline", "skip", "revert", "edit", "guard", "unguard", "resolve", "take-over", "leave", "mute",
        "capture",
    ):  # fmt: skip
        browser.get(f"{page}?id={candidate}&name={rule}&to=project&answer=30m&text=x&mode=deny&yes=yes")
    assert (read_main(store), (project / "CLAUDE.md").read_bytes()) == (before, file)
    assert browser.data("capture")["state"] == "on"


def test_a_form_without_its_token(browser: Browser, store: Store) -> None:
    before = read_main(store)
    browser.get("today")
    form = browser.find_form("decline")
    other = browser.find_form("skip")["form"]
    for token in ("", "x" * 64, other):
        refused = browser.post("decline", {**form, "form": token})
        assert (refused.status, read_main(store)) == (403, before)


def test_a_form_of_another_browser(panel: RunningPanel, browser: Browser, store: Store, project: Path) -> None:
    """A form's token belongs to one cookie: a form made for one browser is nothing in another one."""
    before = read_main(store)
    browser.get("today")
    form = browser.find_form("decline")
    with RunningPanel(project) as second:
        other = second.open()
        assert other.post("decline", form).status == 403
    assert read_main(store) == before


def test_the_token_works_once(panel: RunningPanel, browser: Browser) -> None:
    again = panel.request("POST", f"{panel.base}open", urlencode({"token": panel.token}))
    assert (again.status, "set-cookie" in again.headers) == (403, False)
    assert "used or is too old" in again.text
    assert browser.get("rules").status == 200


def test_a_wrong_token_ends_the_right_one(panel: RunningPanel) -> None:
    assert panel.request("POST", f"{panel.base}open", urlencode({"token": "guess"})).status == 403
    assert panel.request("POST", f"{panel.base}open", urlencode({"token": panel.token})).status == 403


def test_the_cookie_stays_in_its_path(panel: RunningPanel) -> None:
    """Cookies ignore ports: without a path, each other server on this computer would get it."""
    reply = panel.request("POST", f"{panel.base}open", urlencode({"token": panel.token}))
    said = reply.headers["set-cookie"]
    assert f"Path={panel.base}" in said and len(panel.base) > 12
    assert "HttpOnly" in said and "SameSite=Strict" in said and "Domain" not in said


def test_a_websocket(panel: RunningPanel, browser: Browser) -> None:
    reply = panel.request(
        "GET", panel.base + "rules", Cookie=browser.cookie, Upgrade="websocket", Connection="Upgrade",
        Sec_WebSocket_Key="x" * 24, Sec_WebSocket_Version="13",
    )  # fmt: skip
    assert reply.status == 403


def test_static_files_are_read_once(panel: RunningPanel, browser: Browser) -> None:
    assert panel.request("GET", panel.base + "static/panel.css").headers["content-type"].startswith("text/css")
    for path in ("static/../panel.js", "static/%2e%2e/site.py", "static//etc/passwd", "static/", "static/base.html"):
        assert panel.request("GET", panel.base + path).status in (403, 404), path


def test_a_large_form(panel: RunningPanel, browser: Browser, store: Store) -> None:
    before = read_main(store)
    browser.get("today")
    form = browser.find_form("decline")
    assert browser.post("decline", {**form, "text": "x" * (1 << 20)}).status == 413
    assert browser.post("decline", {**form, **{f"f{n}": "" for n in range(300)}}).status == 400
    assert (
        panel.request(
            "POST", panel.base + "decline", "{}", Cookie=browser.cookie, Content_Type="application/json"
        ).status
        == 415
    )
    assert read_main(store) == before and browser.get("rules").status == 200


def test_slow_clients(panel: RunningPanel, browser: Browser) -> None:
    """Connections that never finish a request: the panel answers others meanwhile, and closes them."""
    head = f"POST {panel.base}open HTTP/1.1\r\nHost: {panel.host}:{panel.port}\r\nOrigin: {panel.origin}\r\n"
    parts = (b"GET / HTTP/1.1\r\nHo", f"{head}Content-Type: {FORM}\r\nContent-Length: 50\r\n\r\nto".encode())
    slow = [socket.create_connection((panel.host, panel.port)) for _ in range(40)]
    for at, one in enumerate(slow):
        one.sendall(parts[at % 2])
    assert browser.get("rules").status == 200
    slow[-1].setblocking(False)
    with pytest.raises(BlockingIOError):  # it is still open: nobody waited until it was closed
        slow[-1].recv(1)
    for one in slow:
        one.settimeout(40)
        while one.recv(4096):
            pass
        one.close()
    assert browser.get("rules").status == 200


def test_texts_are_inert(store: Store, project: Path) -> None:
    """Stored markup, in all the places that a signal and a rule are shown."""
    from tests.rules.queues import capture_signal

    evil = '<img src=x onerror=alert(1)> "javascript:alert(1)" </script><svg/onload=x> always use tabs'
    capture_signal(store, evil, session_id="s-5")
    capture_signal(store, "always name files gpj.\u202eexe", session_id="s-6")
    with RunningPanel(project) as panel:
        browser = panel.open()
        for page in (
            "today",
            "rules",
            "rules?q=%3Cimg%20src%3Dx%3E%22%27",
            "rule?id=%3Cb%3E",
            "versions?file=%3Cb%3E",
            "trend",
        ):
            text = browser.get(page).text
            assert not re.search(r"<img|<svg/|<b>|</script><svg|href=.?javascript:|\u202e", text), page
        data = browser.data("today")
        shown = [browser.get(f"today?at={data['next']}").text, browser.get("today").text]
        assert any("&lt;img" in text for text in shown) or "<img" not in "".join(shown)


def test_headers_forbid_what_pages_do_not_need(browser: Browser) -> None:
    said = browser.get("today").headers
    assert "default-src 'none'" in said["content-security-policy"]
    assert (
        "unsafe" not in said["content-security-policy"] and "frame-ancestors 'none'" in said["content-security-policy"]
    )
    assert said["x-content-type-options"] == "nosniff" and said["cache-control"] == "no-store"
    assert said["referrer-policy"] == "same-origin" and "server" not in said
    assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", browser.get("today").text), "no inline code or style"


def test_the_token_is_nowhere_else(panel: RunningPanel, store: Store) -> None:
    """Not in a process list, a file, what the panel logs, or an address that could become a referrer."""
    arguments = b"".join(
        Path("/proc", one, "cmdline").read_bytes() for one in os.listdir("/proc")
        if one.isdigit() and Path("/proc", one, "cmdline").exists()
    )  # fmt: skip
    assert panel.token.encode() not in arguments
    opened = panel.request("GET", f"{panel.base}open")
    assert panel.token not in opened.text
    browser = panel.open()
    for page in ("", "today", "rules"):
        reply = browser.get(page)
        assert panel.token not in str(reply.headers) + reply.text
    panel.request("GET", f"{panel.base}nonsense", Cookie="x=y")
    found = subprocess.run(["grep", "-rlF", panel.token, store.root], capture_output=True, text=True, check=False)
    assert found.stdout == ""
    _, said = panel.stop()
    assert panel.token not in said and panel.base.strip("/") not in said and "refused: " in said


def test_the_file_that_a_browser_opens(project: Path, store: Store, tmp_path: Path) -> None:
    """It is private, names the token in the fragment only, and is deleted once the token is used."""
    program = tmp_path / "fake-browser"
    program.write_text(
        f"""#!/bin/sh
printf '%s\\n' "$@" > '{tmp_path}/arguments'
cp "${{1#file://}}" '{tmp_path}/page'
stat -c %a "${{1#file://}}" > '{tmp_path}/mode'
"""
    )
    program.chmod(0o755)
    surroundings = {
        **os.environ,
        "PYTHONPATH": str(REPO),
        "PYTHONSAFEPATH": "1",
        "DISPLAY": ":0",
        "BROWSER": str(program),
    }
    command = [sys.executable, "-m", "reflect_git.cli.start", "panel"]
    with subprocess.Popen(
        command, cwd=project, env=surroundings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        link = running.stdout.readline().strip()
        deadline = time.monotonic() + 20
        while not (tmp_path / "mode").exists() or not (tmp_path / "mode").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert (tmp_path / "mode").read_text().strip() == "600"
        assert link in (tmp_path / "page").read_text() and "#" in link
        assert link.partition("#")[2] not in (tmp_path / "arguments").read_text()
        (file,) = Path(store.root, ".git", "reflect").glob("panel-*.html")
        opened = RunningPanel.__new__(RunningPanel)
        opened.host, opened.port = "127.0.0.1", int(link.split(":")[2].partition("/")[0])
        opened.base, opened.token = f"/{link.split('/')[3]}/", link.partition("#")[2]
        opened.origin = f"http://127.0.0.1:{opened.port}"
        assert opened.open().get("rules").status == 200
        assert not file.exists()
        running.terminate()
    assert running.returncode == 0


def test_inside_claude_code(run_cli: RunCli, project: Path) -> None:
    refused = run_cli("panel", "--no-open", cwd=project, env={"CLAUDECODE": "1"})
    assert refused.code == 1 and refused.out == ""
    assert refused.err.startswith("error: the panel cannot run inside Claude Code\nhint: run 'reflect-git panel'")


# Sends a form and prints the status and, if it is refused, the page.
SENDER = """
import sys, urllib.error, urllib.request
class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *given): return None
url, body, origin, cookie = sys.argv[1:]
request = urllib.request.Request(url, body.encode(), {"Origin": origin, "Cookie": cookie})
try: urllib.request.build_opener(urllib.request.ProxyHandler({}), Stay).open(request)
except urllib.error.HTTPError as answer: print(answer.code, answer.read().decode())
"""


def _post_as(panel: RunningPanel, browser: Browser, form: dict[str, str], *before: str, **env: str) -> str:
    """Send a form from another process; return the status and the page."""
    given = (f"{panel.origin}{panel.base}decline", urlencode(form), panel.origin, browser.cookie)
    command = [*before, sys.executable, "-c", SENDER, *given]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=True).stdout


def test_a_process_of_claude_code(panel: RunningPanel, browser: Browser, store: Store) -> None:
    """A model that stole the cookie and a form's token: the other end of the connection gives it away."""
    before = read_main(store)
    browser.get("today")
    form = browser.find_form("decline")
    refused = _post_as(panel, browser, form, CLAUDECODE="1")
    assert refused.startswith("403") and "came from Claude Code" in refused
    assert read_main(store) == before
    assert _post_as(panel, browser, form).startswith("303"), "the same from a process of the person"


def test_a_child_of_the_client(panel: RunningPanel, browser: Browser, store: Store) -> None:
    """`env -u` removes the marks of the child, not its parent."""
    browser.get("today")
    form, before = browser.find_form("decline"), read_main(store)
    waiting = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    client = ("bash", "-c", 'exec -a claude "$0" "$@"', sys.executable, "-c", waiting)
    assert _post_as(panel, browser, form, *client).startswith("403")
    assert read_main(store) == before


def test_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    from reflect_git.web.security import Gatekeeper

    monkeypatch.setattr(system.current, "find_peer", lambda client, server: (os.getuid() + 1, -1))
    refused = Gatekeeper(1).check_peer(("127.0.0.1", 2))
    assert refused is not None and (refused.status, refused.why) == (403, "another user")


@pytest.mark.skipif(os.geteuid() != 0 or not os.access("/usr/bin/python3", os.X_OK), reason="starts another user")
def test_another_user_on_this_computer(panel: RunningPanel, browser: Browser, store: Store) -> None:
    """Even with the cookie and the token of a form, which only a file or a process of the person could give away."""
    before = read_main(store)
    browser.get("today")
    form = urlencode(browser.find_form("decline"))
    for cookie, why in ((browser.cookie, "another user"), ("", "no cookie")):
        command = ["/usr/bin/python3", "-c", SENDER, f"{panel.origin}{panel.base}decline", form, panel.origin, cookie]
        done = subprocess.run(
            command, env={"PATH": "/usr/bin:/bin"}, cwd="/", user=65534, group=65534, extra_groups=[],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.startswith("403") and why in done.stdout
    assert read_main(store) == before
    assert _post_as(panel, browser, browser.find_form("decline")).startswith("303")


def test_the_owner_of_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as client:
        accepted, address = listener.accept()
        with accepted:
            assert system.current.find_peer(address, listener.getsockname()) == (os.getuid(), os.getpid())
            assert system.current.find_peer(("127.0.0.1", 1), listener.getsockname()) in (None, (-1, -1))
        assert client.fileno() > 0


def test_it_listens_on_this_computer_alone(panel: RunningPanel) -> None:
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    (address,) = {row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[1].endswith(f":{panel.port:04X}")}
    assert address == "0100007F"


def test_read_only(project: Path, store: Store) -> None:
    before = read_main(store)
    with RunningPanel(project, "--read-only") as panel:
        browser = panel.open()
        assert browser.get("today").status == 200 and '<form method="post"' not in browser.page.text
        for page in ("approve", "decline", "skip", "revert", "edit", "guard", "resolve", "mute", "capture"):
            refused = browser.post(page, {"form": "x" * 64})
            assert (refused.status, "read-only" in refused.text) == (403, True), page
    assert read_main(store) == before


def test_it_ends_when_nobody_uses_it(project: Path) -> None:
    with RunningPanel(project, "--idle", "0.03") as panel:
        assert wait_until_closed(panel) == 0
        assert panel.stop() == (0, "panel closed: nobody used it\n")


def test_it_ends_with_ctrl_c(panel: RunningPanel, browser: Browser, store: Store) -> None:
    browser.get("rules")
    panel.process.send_signal(2)
    assert wait_until_closed(panel) == 0
    assert panel.stop() == (0, "panel closed: stopped\n")
    assert list(Path(store.root, ".git", "reflect").glob("panel-*")) == []


def test_a_port_that_is_taken(run_cli: RunCli, panel: RunningPanel, project: Path) -> None:
    refused = run_cli("panel", "--no-open", "--port", str(panel.port), cwd=project)
    assert (refused.code, refused.err.splitlines()[1]) == (1, "hint: choose another --port")


def test_another_method(panel: RunningPanel, browser: Browser) -> None:
    found: list[Reply] = [
        panel.request(one, panel.base + "rules", Cookie=browser.cookie) for one in ("PUT", "DELETE", "OPTIONS")
    ]
    assert {one.status for one in found} == {405}


def test_a_private_store_is_left_private(panel: RunningPanel, store: Store) -> None:
    panel.open().get("today")
    kept = [path for path in Path(store.root, ".git", "reflect").rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} <= {0o600, 0o700}
