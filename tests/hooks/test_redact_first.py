"""Secrets that only the whole text reveals: no file and no git object of the store has any part of them."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture.failure import build_facts
from tests.conftest import RunCli
from tests.disk_search import find_texts
from tests.hooks.test_session_hooks import exposures
from tests.sessions import Session, list_lessons, load_signals
from tests.store.store_checks import open_store

_BODY = base64.b64encode(random.Random(73).randbytes(1216)).decode()
LINES = [_BODY[at : at + 64] for at in range(0, len(_BODY), 64)]
KEY = "\n".join(["-----BEGIN OPENSSH PRIVATE KEY-----", *LINES, "-----END OPENSSH PRIVATE KEY-----"])
INDENTED = KEY.replace("\n", "\n    ")
PASSWORD = "quartz81lantern"
STEM = PASSWORD[:8]
TOKEN = "ghp_" + "k9Zt2Lq8Vw4Xn6Rb1Yc3Md5Jf7Hs0GpAeUo2"
HIDDEN = f"<private>\nThe vault opens with {PASSWORD}.\n```\nsay {STEM}\n```\n{STEM} again\n</private>"
TASK = "please deploy the shop to the staging server with this"
MAKE = "make: *** No rule to make target 'all'.  Stop."
# Parts of secrets: none of them may remain, whatever was cut off.
PARTS = [*(line[:24] for line in LINES), STEM, TOKEN[4:16]]

Speak = Callable[[Session], None]


@pytest.fixture
def session(home: Path, store_home: Path) -> Session:
    open_store(store_home)
    return Session(home)


def end(session: Session) -> None:
    session.run_hook("SessionEnd", reason="other")


def summaries(store_home: Path) -> list[dict[str, Any]]:
    return [signal for signal in load_signals(store_home) if signal["type"] == "summary"]


@pytest.mark.parametrize("secret", [KEY, INDENTED, HIDDEN, KEY.replace("\n", "\r\n"), f"```\n{KEY}\n```"])
@pytest.mark.parametrize("form", ["{task}\n{secret}", "{secret}\n{task}", "{task}:\n\n{secret}\nand tell me"])
def test_no_key_of_the_first_prompt_is_in_a_summary(session: Session, store_home: Path, secret: str, form: str) -> None:
    session.say(form.format(task=TASK, secret=secret))
    session.run_tool("Bash", command="ls")
    session.answer("The shop is deployed.")
    end(session)
    (summary,) = summaries(store_home)
    assert "deploy the shop" in summary["content"]
    assert find_texts(store_home, *PARTS) == []


def in_the_last_line(session: Session) -> None:
    session.say(f"{TASK}\nthe password is\n{PASSWORD}")
    session.run_tool("Bash", command="ls")


def longer_than_a_cut(session: Session) -> None:
    session.say(f"{TASK} token={TOKEN}{'a1B2' * 2000}{STEM} and go on")
    session.run_tool("Bash", command="ls")


def behind_the_head_that_is_read(session: Session) -> None:
    """A long message is read at both ends; the key begins in between."""
    before, after = "and look at the page of the cart\n" * 60, "look at the images\n" * 10
    session.say(f"{TASK}\n{before}{KEY}\n{after}")
    session.run_tool("Bash", command="ls")


def in_a_correction(session: Session) -> None:
    session.write_sample_work()
    session.say(f"no, never use npm here, always use pnpm. The deploy key:\n{INDENTED}\nno, always sign with it.")


def in_a_queued_message(session: Session) -> None:
    session.write_sample_work()
    session.queue(f"no, never use npm here, always use pnpm, signed with\n{KEY}")


def in_a_refusal(session: Session) -> None:
    session.say(TASK)
    session.reject_tool(f"no, never push by hand, always use the key\n{INDENTED}\nnever npm", command="git push")


def in_a_todo(session: Session) -> None:
    session.say(TASK)
    todos = [{"content": f"rotate {'the old key ' * 40}\n{KEY}", "status": "pending"}]
    todos += [{"content": f"{'x' * 280} postgres://shop:{PASSWORD}@db.example.org/shop", "status": "pending"}]
    todos += [{"content": HIDDEN, "status": "in_progress"}]
    session.run_tool("TodoWrite", todos=todos)


def in_a_failing_command(session: Session) -> None:
    session.say(TASK)
    session.run_tool("Bash", f"Exit code 1\n{MAKE}", True, command=f"cat > key <<EOF\n{KEY}\nEOF\nmake all")


def in_a_command_that_is_cut(session: Session) -> None:
    """The normal form of a command is made from its first 2,000 characters."""
    session.say(TASK)
    line = f"make all {'x' * 1950} TOKEN={TOKEN}{'b2C3' * 400}"
    for _ in range(3):
        session.run_tool("Bash", f"Exit code 2\n{MAKE}", True, command=line)


def in_the_form_that_works(session: Session) -> None:
    session.say(TASK)
    session.run_tool("Bash", f"Exit code 2\n{MAKE}", True, command=f"make all KEY='{KEY}'")
    session.run_tool("Bash", "done", command=f"make everything DEPLOY_TOKEN={TOKEN} KEY='{KEY}'")


def in_an_output(session: Session) -> None:
    """The line with the error is between the key's lines."""
    session.say(TASK)
    broken = KEY.replace(f"\n{LINES[9]}\n", f"\nerror: invalid line {LINES[9]}\n")
    for _ in range(5):
        session.run_tool("Bash", f"Exit code 1\n{broken}", True, command="make all")


def at_the_edge_of_an_excerpt(session: Session) -> None:
    session.say(TASK)
    for size in (480, 990, 1480, 2000, 4060):
        output = f"Exit code 2\n{MAKE}\n{'x' * size} {KEY}\n{'y' * size}"
        for _ in range(2):
            session.run_tool("Bash", output, True, command=f"make all-{size}")


def across_the_middle_of_an_output(session: Session) -> None:
    session.say(TASK)
    before, after = "log line\n" * 7500, f"{STEM} seen\n" * 20000
    for _ in range(2):
        session.run_tool("Bash", f"Exit code 2\n{MAKE}\n{before}<private>{after}", True, command="make all")


def in_an_edit_that_is_taken_back(session: Session) -> None:
    session.say(TASK)
    old, new = "key = None", f"{'#' * 3990}\npassword = '{PASSWORD}'\n{KEY}"
    session.run_tool("Edit", file_path="/srv/shop/key.py", old_string=old, new_string=f"key = '''{KEY}'''")
    session.say(f"undo that edit of yours, {HIDDEN}")
    session.run_tool("Edit", file_path="/srv/shop/key.py", old_string=f"key = '''{KEY}'''", new_string=old)
    session.run_tool("Edit", file_path="/srv/shop/a.py", old_string=new, new_string=old)


def in_searches(session: Session) -> None:
    session.say(TASK)
    for number in range(4):
        session.run_tool("Grep", "No matches found", pattern=f"{'a' * 190}{number} token={TOKEN}")
    session.run_tool("Grep", f"/srv/shop/{TOKEN}/config.py:3: token", pattern="deploy")


def in_an_answer_to_a_question(session: Session) -> None:
    session.say(TASK)
    question = f"the key is\n{KEY}\nWhich folder in this project is it for?"
    session.answer(question)
    session.say("deploy/keys/main")
    session.answer_question(f"{HIDDEN} Which folder in this project?", ["a", "b"], f"db/keys with token {TOKEN}")


def in_what_the_assistant_says(session: Session) -> None:
    session.say(TASK)
    session.run_tool("Bash", f"Exit code 2\n{MAKE}", True, command="make all")
    session.run_tool("Bash", "done", command="make everything")
    session.answer(f"I wrote {INDENTED}\n    {LINES[3]}. It is deployed with {HIDDEN}")


def in_names(session: Session) -> None:
    """In names of tools, agents, files, models and clients."""
    session.say(TASK)
    session.run_tool("Edit", "String to replace not found in file", True, file_path=f"/srv/{'x' * 150}/{TOKEN}/a.py")
    session.run_tool("Edit", "String to replace not found in file", True, file_path=f"/srv/{'x' * 150}/{TOKEN}/a.py")
    session.run_tool("Edit", file_path=f"/srv/shop/{TOKEN}/b.py")
    session.write(
        "assistant", version=f"{'2' * 70}{TOKEN}", timestamp=f"2026-02-11T10:20:00.000Z {TOKEN}",
        message={"role": "assistant", "model": f"{'m' * 70}{TOKEN}", "content": [{"type": "text", "text": "Done."}]},
    )  # fmt: skip
    for _ in range(3):
        session.run_tool(f"mcp__{'n' * 50}{TOKEN}__send", "Error: connection refused", True)


def in_a_stop(session: Session) -> None:
    session.say(TASK)
    session.write(
        "assistant", isApiErrorMessage=True, error=f"{'e' * 150} token={TOKEN}",
        message={"role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": f"no\n{KEY}"}]},
    )  # fmt: skip


def in_a_request_of_three_sessions(session: Session) -> None:
    for number in range(3):
        session.write(
            "user", message={"role": "user", "content": f"always run the deploy checks first, password: {PASSWORD}"},
            sessionId=f"s-{number}", promptSource="typed", origin={"kind": "human"},
        )  # fmt: skip
    session.run_tool("Bash", command="ls")


SPOKEN: dict[str, list[Speak]] = {
    "summary": [in_the_last_line, longer_than_a_cut, behind_the_head_that_is_read, in_a_todo, in_a_failing_command],
    "correction": [in_a_correction, in_a_queued_message, in_a_refusal],
    "failure": [
        in_a_command_that_is_cut,
        in_an_output,
        at_the_edge_of_an_excerpt,
        across_the_middle_of_an_output,
        in_a_stop,
    ],
    "gotcha": [in_the_form_that_works, in_what_the_assistant_says],
    "pattern": [in_an_edit_that_is_taken_back, in_names],
    "project_friction": [in_searches],
    "discovery": [in_an_answer_to_a_question],
    "convention": [in_a_request_of_three_sessions],
}


@pytest.mark.parametrize(("kind", "speak"), [(kind, speak) for kind, all_of in SPOKEN.items() for speak in all_of])
def test_no_part_of_a_secret_is_stored(session: Session, store_home: Path, kind: str, speak: Speak) -> None:
    speak(session)
    session.answer("It does not work yet.")
    session.run_hook("PreCompact", trigger="auto")
    end(session)
    assert kind in [signal["type"] for signal in load_signals(store_home)] and exposures(store_home)
    assert find_texts(store_home, *PARTS) == []


def test_a_key_whose_beginning_was_pasted_goes_as_a_whole(session: Session, home: Path, store_home: Path) -> None:
    pasted, typed = "\n".join(KEY.split("\n")[:8]), "\n".join(KEY.split("\n")[8:])
    entry = {"display": "x", "sessionId": session.name, "pastedContents": {"1": {"id": 1, "content": pasted}}}
    (home / ".claude" / "history.jsonl").write_text(json.dumps(entry, separators=(",", ":")) + "\n")
    session.write_sample_work()
    session.say(f"no, never use npm here, always use pnpm\n{pasted}\n{typed}")
    session.say(f"please update the deploy key\n{pasted}\n{typed}")
    session.run_tool("Bash", command="ls")
    end(session)
    assert "always use pnpm" in str(list_lessons(store_home))
    assert find_texts(store_home, *PARTS) == []


@pytest.mark.parametrize("size", [500, 1000, 2040, 4090, 32760, 65530, 131060, 200_000])
@pytest.mark.parametrize("secret", [KEY, HIDDEN, f"token={TOKEN}{'a1B2' * 40000}{STEM}"], ids=["key", "tag", "long"])
def test_no_part_of_a_secret_is_in_a_failure(size: int, secret: str) -> None:
    for before, after in ((size, 10), (10, size), (size, size), (size, 0)):
        error = f"{'log line ' * (before // 9)}\n{secret}\n{'more ' * (after // 5)}"
        facts = build_facts({"tool_name": "Bash", "error": error, "tool_input": {"command": error}})
        assert facts is not None
        text = json.dumps(facts)
        assert [part for part in PARTS if part in text] == [], (before, after)


def test_a_failure_hook_stores_no_part_of_a_key(session: Session, store_home: Path) -> None:
    for number, field in enumerate(("error", "command", "agent")):
        given = {"command": f"make all {KEY if field == 'command' else ''}"}
        error = f"{'x ' * 480}{KEY if field == 'error' else ''}"
        session.run_hook(
            "PostToolUseFailure", tool_name="Bash", tool_use_id=f"toolu_{number}", tool_input=given, error=error,
            agent_id=f"{'a' * 50}{TOKEN}",
        )  # fmt: skip
    session.run_hook("StopFailure", error=f"{'x' * 280} token={TOKEN}", last_assistant_message=f"I used\n{KEY}")
    assert len(load_signals(store_home)) == 4
    assert find_texts(store_home, *PARTS) == []


def wrapped(size: int) -> str:
    """Return a token that is wrapped around the `size`-th character, and a key behind it."""
    token = "\n".join(["DEPLOY_TOKEN=" + LINES[0][:40], *(line[:40] for line in LINES[1:4])])
    filler = "log line " * (size // 9)
    return f"{filler[:-60]}\n{token}\n{filler[:400]}\n{KEY}\n"


def in_an_error(session: Session, text: str) -> None:
    for _ in range(3):
        session.run_tool("Bash", f"Exit code 2\n{MAKE}\n{text}", True, command="make all")
    session.run_hook(
        "PostToolUseFailure", tool_name="Bash", tool_use_id="t-1", tool_input={"command": "make"}, error=text
    )


def in_a_command(session: Session, text: str) -> None:
    given = {"command": f"make all <<EOF\n{text}\nEOF"}
    for _ in range(3):
        session.run_tool("Bash", f"Exit code 2\n{MAKE}", True, **given)
    session.run_hook("PostToolUseFailure", tool_name="Bash", tool_use_id="t-1", tool_input=given, error=MAKE)


def in_a_message(session: Session, text: str) -> None:
    session.say(f"{TASK}\n{text}\nand tell me")
    session.run_tool("Bash", command="ls")


def in_a_long_correction(session: Session, text: str) -> None:
    session.write_sample_work()
    session.say(f"no, never use npm here, always use pnpm\n{text}\nno, always sign with it")


def in_the_last_answer(session: Session, text: str) -> None:
    session.run_tool("Bash", command="ls")
    session.answer(f"The shop is deployed with\n{text}")


@pytest.mark.parametrize("size", [300, 1000, 2000, 4096, 65536])
@pytest.mark.parametrize("speak", [in_an_error, in_a_command, in_a_message, in_a_long_correction, in_the_last_answer])
def test_no_part_of_a_wrapped_secret_at_a_cut_is_stored(
    session: Session, store_home: Path, speak: Callable[[Session, str], None], size: int
) -> None:
    session.say(TASK)
    speak(session, wrapped(size))
    session.run_hook("PreCompact", trigger="auto")
    end(session)
    assert load_signals(store_home)
    assert find_texts(store_home, *PARTS) == []


@pytest.mark.parametrize("size", [300, 1000, 2000, 4096, 65536])
def test_capture_stores_no_part_of_a_wrapped_secret(store_home: Path, run_cli: RunCli, size: int) -> None:
    open_store(store_home)
    text = f"use pnpm, not npm\n{wrapped(size)}"
    run_cli("capture", "--type", "convention", "--content", text)
    run_cli("capture", "--type", "convention", "--content", "use pnpm, not npm", "--context", text)
    assert load_signals(store_home)
    assert find_texts(store_home, *PARTS) == []


def test_a_folder_with_a_secret_in_its_name_is_not_remembered(home: Path, store_home: Path) -> None:
    open_store(store_home)
    folder = home / f"client-{TOKEN}"
    (folder / ".git").mkdir(parents=True)
    session = Session(home, cwd=str(folder))
    session.path = home / ".claude" / "projects" / f"-client-{TOKEN}" / session.path.name
    session.path.parent.mkdir()
    session.run_hook("SessionStart", {"CLAUDE_PROJECT_DIR": str(folder)}, source="startup")
    session.write_sample_work()
    session.say("no, never use npm in this project, always use pnpm instead")
    session.run_hook("PreCompact", {"CLAUDE_PROJECT_DIR": str(folder)}, trigger="auto")
    end(session)
    assert len(summaries(store_home)) == 1 and list_lessons(store_home)
    assert find_texts(store_home, *PARTS) == []


@pytest.mark.parametrize("place", ["--content", "--context", "--quote", "--tag", "--session"])
def test_capture_stores_no_part_of_a_key(store_home: Path, run_cli: RunCli, place: str) -> None:
    open_store(store_home)
    options = {"--content": "use pnpm, not npm", place: f"{'word ' * 400}{KEY}\n{HIDDEN}"}
    given = [one for option in options.items() for one in option]
    assert run_cli("capture", "--type", "convention", *given).code == 0
    assert len(load_signals(store_home)) == 1
    assert find_texts(store_home, *PARTS) == []


def test_an_import_stores_no_part_of_a_key(store_home: Path, run_cli: RunCli, tmp_path: Path) -> None:
    open_store(store_home)
    page = tmp_path / "learnings.md"
    page.write_text(f"# Notes\n\n- always use pnpm here\n\n<private>\n\n- {STEM} opens it\n\n</private>\n\n{KEY}\n")
    assert run_cli("import", "learnings-md", "--yes", str(page)).code == 0
    assert "always use pnpm here" in list_lessons(store_home)
    assert find_texts(store_home, *PARTS) == []


def test_a_reason_is_stored_without_a_secret(store_home: Path, run_cli: RunCli) -> None:
    open_store(store_home)
    run_cli("capture", "--type", "convention", "--content", "always use pnpm here, never npm")
    (signal,) = load_signals(store_home)
    assert run_cli("dismiss", signal["id"], "--reason", f"wrong, see\n{KEY}").code == 0
    assert find_texts(store_home, *PARTS) == []
