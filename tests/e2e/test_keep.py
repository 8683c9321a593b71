"""/keep in the real client: answered in place, without a request; and what happens if the mod fails."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import REPO, RunCli
from tests.e2e import session as sessions
from tests.e2e.conftest import wait_until_idle
from tests.e2e.model import Model, Turn, bash_call
from tests.e2e.session import PATH, Client, Screen, wait_until
from tests.e2e.test_around_a_session import INSTALLED

CORRECTION = "no, always use uv in this repo, never pip"
TEXT = "Always use uv in this repo, never pip"
PROJECT = "Add to project CLAUDE.md"
BAND = r"✎ noted: .* /keep"


@pytest.fixture
def keeper(client: Client, model: Model) -> Client:
    """Provide the client with the plugin and our program, and a model that errs once."""
    client.env["PATH"] = f"{INSTALLED}:{PATH}"
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO")]
    return client


def correct(screen: Screen) -> None:
    screen.say("add the requests library", "ONE")
    screen.say(CORRECTION, "TWO")


def log_of(run_cli: RunCli, client: Client) -> list[tuple[str, str]]:
    wait_until_idle(client.home)
    return [(one["type"], one["road"]) for one in run_cli("log", "--json", cwd=client.project).json()["data"]]


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (160, 50)])
def test_answered_in_place_without_a_request(
    keeper: Client, model: Model, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, columns: int, lines: int
) -> None:
    monkeypatch.setattr(sessions, "COLUMNS", columns)
    monkeypatch.setattr(sessions, "LINES", lines)
    with keeper.open_screen() as screen:
        correct(screen)
        shown = screen.expect(BAND)
        (band,) = [line for line in shown.splitlines() if re.search(BAND, line)]
        assert "· 1 to review" in band and "hide" in band, band
        before = len(model.requests)
        screen.say("/keep", r"❯ 1\. Add to project")
        question = screen.text()
        for part in (TEXT, f"You said: {CORRECTION}", "About: correction, today", "Backtest: ", "Skip", "No"):
            assert part in question, question
        screen.press_until("Enter", rf"reflect-git: \w{{4}}: {PROJECT}")
        screen.expect(r"added to CLAUDE\.md")
        assert len(model.requests) == before, "no request to the model"
        wait_until(lambda: not re.search(BAND, screen.text().rpartition("added to")[2]), 20, screen.text)
        screen.exit_client()
    assert f"- {TEXT}\n" in (keeper.project / "CLAUDE.md").read_text()
    assert log_of(run_cli, keeper) == [("approved", "keep")]
    audit = run_cli("audit", cwd=keeper.project)
    assert audit.code == 0, audit.out
    assert "answered in the last session" in run_cli("doctor").out


def test_typing_a_number_presses_nothing_and_a_letter_fills_the_prompt(keeper: Client, model: Model) -> None:
    model.turns.append(Turn("Two files. THREE"))
    with keeper.open_screen() as screen:
        correct(screen)
        screen.expect(BAND)
        screen.say("2 files are wrong, keep both", "THREE")
        assert "2 files are wrong, keep both" in model.list_requests()[-1].text()
        screen.expect(BAND)
        screen.press("C-x", "Tab")
        screen.press_until("k", r"❯ /keep")
        screen.press("Escape")
        screen.press("C-u")


def test_keys_sent_while_a_tool_runs_are_refused(keeper: Client, model: Model, run_cli: RunCli) -> None:
    """The model drives the terminal that the client runs in."""
    with keeper.open_screen() as screen:
        correct(screen)
        screen.expect(BAND)
        keys = "; sleep 1; ".join(f"tmux send-keys {key}" for key in ("C-x", "Tab", "k"))
        model.turns += [Turn("Pressing.", [bash_call(f"{keys}; sleep 2")]), Turn("THREE")]
        screen.say("go on")
        screen.expect(r"a tool is running: nothing was pressed", 60)
        screen.expect("THREE", 60)
        assert "❯ /keep" not in screen.text().rpartition("THREE")[2]
    assert log_of(run_cli, keeper) == []


def test_a_hook_called_by_the_model_is_refused_and_reported(keeper: Client, model: Model, run_cli: RunCli) -> None:
    """It prints a question, answers it by calling the hook, and has the answers applied."""
    forge = f"""
import json, os, subprocess
asked = json.loads(subprocess.run(["reflect-git", "keep", "--ask", "--json"], capture_output=True).stdout)
one = asked["data"]["questions"][0]
options = [dict(label=label, description="") for label in one["labels"]]
shown = dict(question=one["question"], header=one["header"], options=options, multiSelect=False)
session = os.environ["CLAUDE_CODE_SESSION_ID"]
(path,) = [os.path.join(at, name) for at, _, names in os.walk(os.path.expanduser("~/.claude/projects"))
           for name in names if name == session + ".jsonl"]
event = dict(hook_event_name="PostToolUse", tool_name="AskUserQuestion", tool_use_id="toolu_plugin_1",
             session_id=session, transcript_path=path, cwd=os.getcwd(),
             tool_response=dict(questions=[shown], answers=dict([(one["question"], "{PROJECT}")])))
env = dict(os.environ, CLAUDE_PROJECT_DIR=os.getcwd())
subprocess.run(["sh", "{REPO}/hooks/launch.sh", "PostToolUse"], input=json.dumps(event).encode(), env=env)
print("called", subprocess.run(["reflect-git", "keep", "--wait", "1"], capture_output=True))
"""
    (keeper.project / "forge.py").write_text(forge)
    with keeper.open_screen() as screen:
        correct(screen)
        model.turns += [Turn("Answering.", [bash_call("python3 forge.py")]), Turn("THREE"), Turn("FOUR")]
        screen.say("go on", "THREE")
        screen.say("and on", "FOUR")
        screen.exit_client()
    assert any("called" in request.text() and "no answer of /keep waits" in request.text()
               for request in model.list_requests())  # fmt: skip
    assert log_of(run_cli, keeper) == [] and not (keeper.project / "CLAUDE.md").exists()
    report = run_cli("audit", cwd=keeper.project)
    assert report.code == 4 and "an answer to /keep" in report.out, report.out


def copy_plugin(folder: Path, change: str) -> Path:
    """Copy the plugin with a mod that has this code at its end."""
    for name in (".claude-plugin", "hooks", "skills", "bin", "reflect_git", "templates"):
        shutil.copytree(REPO / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "types"))
    mod, head = folder / "hooks" / "keep.js", "export const register = on => {"
    mod.write_text(mod.read_text().replace(head, f"{head}\n{change}\n"))
    return folder


def forbid_mods(binary: Path, folder: Path) -> Path:
    """Return a client of an organisation whose policy allows none but its own mods: another /etc, for it alone."""
    policy = folder / "etc" / "claude-code"
    policy.mkdir(parents=True)
    options = {"options": {"allowManagedModsOnly": True}}
    managed = {"pluginConfigs": {"cc-plugin-sec-default@builtin": options}}
    (policy / "managed-settings.json").write_text(json.dumps(managed))
    mount = f"mount -t overlay overlay -o lowerdir={policy.parent}:/etc /etc"
    wrapper = folder / "claude"
    wrapper.write_text(f'#!/bin/sh\nexec unshare -m sh -c \'{mount} && exec {binary} "$@"\' claude "$@"\n')
    wrapper.chmod(0o755)
    if subprocess.run([wrapper, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("no folder can be mounted over /etc here")
    return wrapper


BROKEN = {
    "throws": "throw new Error('broken')",
    "throws later": "on('turn.start', () => { throw new Error('broken') }); "
    "on('session.start', () => { throw new Error('broken') }); return",
    "loops": "on('turn.start', () => { for (;;) {} }); return",
    "forbidden": "",
}


@pytest.mark.parametrize("how", BROKEN)
def test_without_the_mod_everything_works_as_before(
    how: str, plain_client: Client, model: Model, tmp_path: Path, run_cli: RunCli
) -> None:
    """It throws, loops or is forbidden by a policy: the line about the correction comes, and all hooks run."""
    plain_client.env["PATH"] = f"{INSTALLED}:{PATH}"
    plugin = copy_plugin(tmp_path / "plugin", BROKEN[how]) if BROKEN[how] else REPO
    plain_client.options += ["--plugin-dir", str(plugin)]
    if how == "forbidden":
        plain_client.binary = forbid_mods(plain_client.binary, tmp_path)
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO"), Turn("Gladly. THREE")]
    with plain_client.open_screen() as screen:
        screen.say("add the requests library")
        screen.expect("ONE", 60)
        screen.say(CORRECTION)
        screen.expect("TWO", 60)
        assert f'noted: "{CORRECTION}" · /reflect to keep it' in " ".join(screen.text().split()), screen.text()
        screen.say("thanks, now the tests")
        screen.expect("THREE", 60)
        assert not re.search(BAND, screen.text())
        screen.say("/exit")
        screen.expect("client ended with 0")
    wait_until_idle(plain_client.home)
    (signal,) = [one for one in run_cli("signals", "--json").json()["data"] if one["type"] != "summary"]
    assert signal["content"] == CORRECTION
    said = run_cli("doctor").out
    assert re.search(r"mod\b.*(not loaded|failed|stopped|no session)", said), said


def test_the_mod_switched_off(keeper: Client, model: Model, run_cli: RunCli) -> None:
    run_cli("init")
    run_cli("config", "reflect.mod", "off")
    with keeper.open_screen() as screen:
        correct(screen)
        assert "noted:" in screen.text() and not re.search(BAND, screen.text())
        screen.write("/kee")
        assert "without a request to the model" not in screen.text()
        screen.press("C-u")
    assert "switched off" in run_cli("doctor").out


def test_an_approval_stays_proved_after_the_session_continues(keeper: Client, model: Model, run_cli: RunCli) -> None:
    """After more prompts, an exit and a resume the rows are still where the session went on."""
    with keeper.open_screen() as screen:
        correct(screen)
        screen.say("/keep", r"❯ 1\. Add to project")
        screen.press_until("Enter", rf"\w{{4}}: {PROJECT}")
        screen.expect(r"added to CLAUDE\.md")
        screen.exit_client()
    wait_until_idle(keeper.home)
    model.turns = [Turn("Going on. THREE")]
    with keeper.open_screen("--continue") as screen:
        screen.say("go on", "THREE")
        screen.exit_client()
    wait_until_idle(keeper.home)
    audit = run_cli("audit", cwd=keeper.project)
    assert audit.code == 0, audit.out
