"""A deployed skill in the real client: it is listed, loaded, and its use is counted."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import RunCli
from tests.e2e.conftest import wait_until_idle
from tests.e2e.model import Call, Model, Turn
from tests.e2e.session import TOOLS, Client
from tests.rules.guard_calls import bash, write_calls
from tests.stories.terminal import Terminal


def test_a_deployed_skill_is_listed_run_and_counted(
    client: Client, model: Model, project: Path, home: Path, run_cli: RunCli
) -> None:
    run_cli("init")
    for number in range(3):
        write_calls(home, project, f"s{number}", [bash("make notes"), bash("make pack"), bash("make upload")])
    (found,) = run_cli("skills", "candidates", "--json", cwd=project).json()["data"]
    made = run_cli("skills", "new", found["id"], "--name", "release", "--json", cwd=project).json()["data"]
    kept = [line for line in made["text"].splitlines() if "draft:" not in line]
    kept[2] = "description: Use it to publish a new version of this project."
    Path(made["path"]).write_text("\n".join(kept) + "\n")
    with Terminal("skills", "deploy", "release", cwd=project) as terminal:
        terminal.passes("[y/N]:")
        terminal.types("y")
        terminal.ends()

    model.turns = [Turn("I use the skill.", [Call("Skill", {"skill": "release"})]), Turn("Released.")]
    client.run_print("release it", "--allowedTools", f"{TOOLS},Skill")
    listed, loaded = model.list_requests()[0].text(), model.list_requests()[-1].text()
    assert "publish a new version of this project" in listed
    assert "make upload" in loaded and "make upload" not in listed
    wait_until_idle(home)
    (skill,) = run_cli("skills", "list", "--json", cwd=project).json()["data"]["skills"]
    assert (skill["name"], skill["uses"], skill["sessions"]) == ("release", 1, 1)
