"""The whole loop: a failure comes back, gets a root cause, a rule and a guard; work becomes a skill; it helped."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from reflect_git.capture import service
from reflect_git.effect import table
from reflect_git.memory import digest_page
from reflect_git.memory.incidents import load_incidents
from reflect_git.platform import yaml_loose
from reflect_git.records.ids import utc
from reflect_git.rules import project_files
from reflect_git.skills import deploy
from reflect_git.store.index import Index
from reflect_git.store.reading import reader
from tests.conftest import RunCli, wait_for_background
from tests.memory.failures import fail
from tests.memory.year import Call, Turn, Year, start_year
from tests.rules.guard_calls import load
from tests.store.operations import DAY
from tests.store.store_checks import require_promises
from tests.stories.terminal import Terminal
from tests.stories.test_guard import call_tool

ERROR = "Exit code 1\nnpm error code EBADENGINE\nnpm error engine Unsupported engine: use pnpm in this workspace"
RELEASE = [Call("pnpm build"), Call("pnpm pack --out dist"), Call("node scripts/publish.js --dry")]
RULE = "Use pnpm, not npm"
TASKS = "add a date picker|repair the totals|split the settings page|translate the form|move the templates".split("|")


def work(year: Year, number: int, *, breaks: bool, skill: str = "") -> None:
    """Work for a session: install packages, the wrong way or the right one, and sometimes release."""
    install = [Call("npm install", ERROR), Call("pnpm install")] if breaks else [Call("pnpm install")]
    turns = [
        Turn(f"please {TASKS[number % len(TASKS)]} of module {number}", install, "I changed the page."),
        Turn("now show me what is left", [Call(f"rg -n todo{number} src")], "Two places are left."),
    ]
    if number % 3 == 0:
        turns.append(Turn("publish it", RELEASE, "Published."))
    session = year.end_session(year.home / "shop", turns, skill if number % 3 == 0 else "")
    if breaks:  # the hook stores a failure at once
        store = year.open()
        fail(store, session, ERROR, "npm install", project=service.get_project(store, str(year.home / "shop")))
    year.now += DAY


def test_from_a_failure_to_fewer_of_them(
    home: Path, store_home: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    today = time.time()
    year = start_year(home, store_home, monkeypatch, seed=1, start=today - 13 * DAY)
    shop = home / "shop"
    for number in range(12):
        work(year, number, breaks=True)

    # What fails comes back: an incident. A person says why, and gets a proposed rule.
    (incident,) = run_cli("incidents", "--json", cwd=shop).json()["data"]
    assert incident["sessions"] == 12 and not incident["rule"]
    said = ["--what", "npm refused to install", "--why", "nothing says which package manager this workspace has"]
    done = run_cli(
        "--yes", "rootcause", incident["key"], *said, "--change", RULE, "--class", "process-gap", "--json", cwd=shop
    ).json()["data"]
    assert done["proposed"] == "guard"

    # It is approved and guarded: the call does not run any more.
    with Terminal("approve", done["signal"], "--to", "project", cwd=shop) as terminal:
        terminal.passes("to approve it all the same [no]:")
        terminal.types("yes")
        terminal.ends()
    (rule,) = run_cli("rules", "--json", cwd=shop).json()["data"]
    assert rule["text"] == RULE and RULE in (shop / "CLAUDE.md").read_text()
    with Terminal("guard", rule["id"], "--mode", "deny", cwd=shop) as terminal:
        assert "12 calls in" in terminal.passes("numbers of wrong matches, Enter for none, q to cancel:")
        terminal.types("none")
        terminal.ends()
    assert "pnpm" in call_tool(store_home, shop, "npm install zod")

    # The same three commands in four sessions: a skill, once a person has edited it.
    listed = run_cli("skills", "candidates", "--json", cwd=shop).json()["data"]
    (flow,) = (one for one in listed if one["answer"] == "skill")
    assert [call.command for call in RELEASE] == flow["commands"][-3:]
    made = run_cli("skills", "new", flow["id"], "--name", "publish", "--json", cwd=shop).json()["data"]
    kept = [line for line in made["text"].splitlines() if "draft:" not in line]
    Path(made["path"]).write_text("\n".join([*kept, "", "Ask Miriam for the key first."]) + "\n")
    assert run_cli("skills", "check", "publish", cwd=shop).code == 0
    with Terminal("skills", "deploy", "publish", cwd=shop) as terminal:
        terminal.passes("[y/N]:")
        terminal.types("y")
        terminal.ends()
    wait_for_background(home)

    # Four weeks later: Claude follows the rule, and uses the skill.
    year.now = today + DAY
    for number in range(20):
        work(year, number, breaks=False, skill="publish")
    year.now += 14 * DAY
    year.end_day()

    store = year.open()
    scan = reader.scan(store)
    (found,) = (one for one in load_incidents(store, scan) if one.key == incident["key"])
    assert (found.rule, found.recurrences, found.sessions) == (rule["id"], 0, 12)
    ctx = load(store, shop)
    effects = table.load_effects(scan, project_files.load_key_aliases(store, ctx.place))
    (effect,) = (one for one in effects.rules if one.rule["id"] == rule["id"])
    assert effect.judged.verdict.verdict == "helping", table.verdict_text(effect) + table.counts_text(effect)
    assert effect.judged.case.before.events == 12 and effect.judged.case.after.events == 0
    (skill,) = deploy.list_deployed(scan)
    assert (skill.name, skill.sessions) == ("publish", 7)

    # The digests of those weeks say all of it.
    index = Index(store, yaml_loose.parse_edited)
    page = digest_page.load_page(store, index, utc(today - 30 * DAY)[:10], utc(year.now)[:10], "the loop")
    index.close()
    told = {(line["section"], line["text"]): line["ids"] for _, line in page.lines}
    for what in (f"approved: {RULE}", f"guarded: {RULE}", "root cause: npm refused to install"):
        assert ("decided", what) in told, told
    assert (page.figures["rules_gained"], page.figures["rules_lost"]) == (2, 0), "a rule, and a skill"
    assert [len(ids) for (section, _), ids in told.items() if section == "broken"] == [12] and page.digests
    require_promises(store_home)
