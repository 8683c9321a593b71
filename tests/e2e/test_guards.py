"""A guard in the real client: what it denies does not run, and the model gets the rule."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from reflect_git.guards import entry, stored, table
from tests.e2e.conftest import Signals
from tests.e2e.model import Call, Model, Turn, bash_call
from tests.e2e.session import Client, wait_until
from tests.guards.guarded_store import NPM, make_guard, make_store, read_firings, write_guards

DENIED = "Not run, because a rule of the user forbids it."


@pytest.fixture
def npm(client: Client, home: Path) -> Path:
    """Provide an npm that logs its calls."""
    log = home / "npm.log"
    (home / "bin").mkdir()
    program = home / "bin" / "npm"
    program.write_text(f'#!/bin/sh\necho "$*" >> {log}\necho done by npm\n')
    program.chmod(0o755)
    client.env["PATH"] = f"{home}/bin:/usr/local/bin:/usr/bin:/bin"
    return log


def list_results(model: Model) -> list[str]:
    """Return the results of all calls that the model was given, in order."""
    last = model.list_requests()[-1].body["messages"]
    blocks: list[dict[str, Any]] = [
        block for message in last if isinstance(message["content"], list) for block in message["content"]
    ]
    return [json.dumps(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def test_denied_calls_do_not_run(client: Client, model: Model, npm: Path, project: Path, signals: Signals) -> None:
    gen = make_guard(
        "Keep out of web/gen.", learning="LRN-20261104-00000001", matcher={"any": [{"paths": ["web/gen/**"]}]}
    )
    store = make_store([make_guard(), gen])
    entry.install_entry(os.environ)
    (project / "web").mkdir()
    denied = ["npm i zod", 'bash -c "npm i"', "env X=1 npm i", f"{npm.parent}/bin/npm i", "cd web && npm ci", "npm t"]
    model.turns = [Turn("", [bash_call(command)]) for command in denied]
    model.turns += [Turn("", [Call("Write", {"file_path": str(project / "web/gen/a.ts"), "content": "x"})])]
    model.turns += [Turn("", [bash_call('grep -rs "npm i" docs/; echo searched')]), Turn("Done.")]
    run = client.run_print("add zod")
    assert run.code == 0
    assert not npm.exists()
    assert not (project / "web/gen").exists()
    *refused, searched = list_results(model)
    assert all(DENIED in one and "LRN-20261104" in one for one in refused)
    assert NPM in refused[0] and "Use instead: pnpm" in refused[0]
    assert "searched" in searched and DENIED not in searched
    assert [one["outcome"] for one in read_firings(store, run.session)] == ["denied"] * 7
    assert signals() == []  # neither failures nor a person's refusals


def test_a_hint_reaches_the_model_and_the_call_runs(client: Client, model: Model, npm: Path) -> None:
    make_store([make_guard(mode="hint")])
    entry.install_entry(os.environ)
    model.turns = [Turn("", [bash_call("npm i zod")]), Turn("Done.")]
    client.run_print("add zod")
    assert npm.read_text() == "i zod\n"
    assert f"Rule LRN-20261104-3k7v9q2m: {NPM}" in model.list_requests()[-1].text()


def test_ask_without_a_person_is_a_hint(client: Client, model: Model, npm: Path) -> None:
    store = make_store([make_guard(mode="ask")])
    entry.install_entry(os.environ)
    model.turns = [Turn("", [bash_call("npm i zod")]), Turn("Done.")]
    run = client.run_print("add zod")
    assert npm.read_text() == "i zod\n"
    assert [one["note"] for one in read_firings(store, run.session)] == ["no person present"]


def test_ask_opens_a_dialogue_with_the_rule(client: Client, model: Model, npm: Path) -> None:
    make_store([make_guard(mode="ask")])
    entry.install_entry(os.environ)
    model.turns = [Turn("", [bash_call("npm i zod")]), Turn("Finished. ONE")]
    with client.open_screen() as screen:
        screen.say("add zod", NPM)
        assert not npm.exists()
        screen.press_until("Enter", "ONE")
        screen.exit_client()
    assert npm.read_text() == "i zod\n"


def test_guards_come_and_go_during_a_session(client: Client, model: Model, npm: Path) -> None:
    other = make_guard("Use yarn, not bower.", mode="hint", learning="LRN-20261104-00000002")
    store = make_store([other])  # its entry is in the settings when the client reads them
    entry.install_entry(os.environ)
    gates = [threading.Event() for _ in range(3)]
    model.turns = [
        Turn("", [bash_call("npm run one")]), Turn("", [bash_call("npm run two")], gates[0]),
        Turn("", [bash_call("npm run three")], gates[1]), Turn("Finished. ONE", gate=gates[2]),
    ]  # fmt: skip
    with client.open_screen() as screen:
        screen.say("run it")
        wait_until(npm.exists, 30, screen.text)
        write_guards(store, [other, make_guard()])
        gates[0].set()
        wait_until(lambda: DENIED in "".join(list_results(model)), 30, screen.text)
        assert npm.read_text() == "run one\n"
        write_guards(store, [other])
        gates[1].set()
        gates[2].set()
        screen.expect("ONE")
        screen.say("/exit")  # `exit_client` would take the denial on the screen for an error
        screen.expect("client ended with 0")
    assert npm.read_text() == "run one\nrun three\n"


def test_the_first_guard_works_in_a_session_that_runs(client: Client, model: Model, npm: Path) -> None:
    """The client notices changed settings by itself, after a moment, so the model tries until the guard answers."""
    store = make_store()
    gate = threading.Event()
    tries = [Turn("", [bash_call(f"sleep 0.5; npm run {number}")]) for number in range(20)]
    model.turns = [Turn("", [bash_call("npm run first")]), Turn("", [bash_call("npm run second")], gate), *tries]
    with client.open_screen() as screen:
        screen.say("run it")
        wait_until(npm.exists, 30, screen.text)
        write_guards(store, [make_guard()])
        entry.install_entry(os.environ)
        gate.set()
        wait_until(lambda: DENIED in "".join(list_results(model)), 30, screen.text)
        model.turns.clear()
        screen.expect("done")
        screen.say("/exit")  # `exit_client` would take the denial on the screen for an error
        screen.expect("client ended with 0")


@pytest.mark.parametrize("harm", ["gone", "not executable", "broken table"])
def test_without_a_working_script_calls_run_and_nothing_is_shown(
    client: Client, model: Model, npm: Path, harm: str
) -> None:
    store = make_store([make_guard()])
    entry.install_entry(os.environ)
    script = Path(table.get_script_path(store.git_dir))
    if harm == "gone":
        script.unlink()
    elif harm == "not executable":
        script.chmod(0o600)
    else:
        Path(stored.get_table_path(store.git_dir)).write_bytes(b"\xff")
    model.turns = [Turn("", [bash_call("npm i zod")]), Turn("Finished. ONE")]
    with client.open_screen() as screen:
        screen.say("add zod", "ONE")
        screen.exit_client()
    assert npm.read_text() == "i zod\n"


def test_a_linked_work_tree_and_a_subfolder_have_the_rules_of_their_project(
    client: Client, model: Model, npm: Path, project: Path
) -> None:
    subprocess.run(["git", "-C", project, "remote", "add", "origin", "git@example.com:pat/shop.git"], check=True)
    make_store([make_guard(project="example.com/pat/shop"), make_guard(project="example.com/pat/other", mode="watch")])
    entry.install_entry(os.environ)
    (project / "web").mkdir()
    model.turns = [Turn("", [bash_call("cd web")]), Turn("", [bash_call("npm ci")]), Turn("Done.")]
    client.run_print("install")
    assert not npm.exists()
    assert DENIED in list_results(model)[-1]


def test_claude_is_sent_back_once_before_it_is_done(client: Client, model: Model, home: Path, project: Path) -> None:
    """The first turn lacks the check, and ends although Claude ignores the reminder; the second has it."""
    ruff = home / "bin" / "ruff"
    ruff.parent.mkdir()
    ruff.write_text("#!/bin/sh\necho checked\n")
    ruff.chmod(0o755)
    client.env["PATH"] = f"{ruff.parent}:/usr/local/bin:/usr/bin:/bin"
    matcher = {"any": [{"paths": ["*.py"]}], "requires": [{"run": "ruff check"}]}
    text = "Run ruff check before you say you are done."
    store = make_store([make_guard(text, matcher=matcher, instead="")])
    entry.install_entry(os.environ)

    def write(name: str) -> Turn:
        return Turn("", [Call("Write", {"file_path": str(project / name), "content": "x = 1\n"})])

    model.turns = [
        write("a.py"), Turn("All fine."), Turn("Finished. ONE"),
        write("b.py"), Turn("", [bash_call("ruff check .")]), Turn("Finished. TWO"),
        write("notes.md"), Turn("Finished. THREE"),
    ]  # fmt: skip
    with client.open_screen() as screen:
        screen.say("add a", "ONE")
        assert text in model.list_requests()[-1].text()
        assert len(model.list_requests()) == 3
        screen.say("add b", "TWO")
        screen.say("add notes", "THREE")
        assert len(model.list_requests()) == 8
        screen.say("/exit")  # `exit_client` would take the reminder on the screen for an error
        screen.expect("client ended with 0")
    (transcript,) = client.transcripts()
    assert [one["outcome"] for one in read_firings(store, transcript.stem)] == ["denied", "ignored"]
    model.turns = [write("c.py"), Turn("Finished.")]
    run = client.run_print("add c")  # nobody is there
    assert run.code == 0 and len(model.list_requests()) == 10
