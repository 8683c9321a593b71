"""Skills: from repeated work to a SKILL.md that a person edited, deployed and reverted byte for byte."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.rules.guarding import guards
from reflect_git.skills import deploy, detect, draft
from reflect_git.skills.detect import Step, _Session
from reflect_git.targets.rules_file import RulesFile, parse, render
from tests.conftest import REAL_GIT, RunCli
from tests.memory.failures import fail_all
from tests.rules.guard_calls import bash, load, write_calls
from tests.rules.queues import BY
from tests.store.store_checks import open_store
from tests.stories.terminal import Terminal

RELEASE = ("pnpm build && pnpm test", "node scripts/release.js --dry", "git push origin v1.3")


@pytest.fixture
def project(home: Path, tmp_path: Path, store_home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run([REAL_GIT, "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def released(home: Path, project: Path, run_cli: RunCli) -> Path:
    """Return a project in which four sessions released a version."""
    for number in range(4):
        write_calls(home, project, f"s{number}", [bash("ls"), *map(bash, RELEASE)], days_ago=5 - number)
    run_cli("init")
    return project


def write_by_hand(path: Path) -> None:
    text = "\n".join(line for line in path.read_text().splitlines() if "draft:" not in line)
    path.write_text(text.replace("description: ", "description: Use it to release a version. #", 1) + "\n")


def draft_release(project: Path, run_cli: RunCli) -> Path:
    (found,) = run_cli("skills", "candidates", "--json", cwd=project).json()["data"]
    made = run_cli("skills", "new", found["id"], "--name", "release", "--json", cwd=project).json()["data"]
    return Path(made["path"])


def test_repeated_work_is_found_with_its_commands(released: Path, run_cli: RunCli) -> None:
    (found,) = run_cli("skills", "candidates", "--json", cwd=released).json()["data"]
    assert found["commands"] == ["pnpm build", "pnpm test", "node scripts/release.js --dry", "git push origin v1.3"]
    assert (found["answer"], found["scope"]) == ("skill", "project")
    screen = run_cli("skills", "candidates", cwd=released).out
    assert "1. pnpm build" in screen and f"skills new {found['id']}" in screen


def test_commands_are_shown_as_they_were_typed(home: Path, project: Path, run_cli: RunCli) -> None:
    steps = ["./gradlew clean && ENV=prod ./gradlew assemble", "pg_dump shop > dump.sql", "gzip dump.sql"]
    for number in range(3):
        write_calls(home, project, f"s{number}", [*map(bash, steps)])
    run_cli("init")
    (found,) = run_cli("skills", "candidates", "--json", cwd=project).json()["data"]
    assert found["commands"][:3] == ["./gradlew clean", "ENV=prod ./gradlew assemble", "pg_dump shop > dump.sql"]


def test_an_ignored_project_appears_nowhere(released: Path, run_cli: RunCli) -> None:
    run_cli("disable", "--project", str(released))
    assert run_cli("skills", "candidates", "--json", cwd=released).json()["data"] == []


def test_a_scaffold_that_nobody_edited_is_not_deployed(released: Path, run_cli: RunCli) -> None:
    path = draft_release(released, run_cli)
    refused = run_cli("skills", "deploy", "release", cwd=released)
    assert (refused.code, "nobody has edited" in refused.err) == (4, True)
    path.write_text(path.read_text() + "\nMore.\n")  # the note to the editor is still there
    assert "note to the editor" in run_cli("skills", "deploy", "release", cwd=released).err
    assert not (released / ".claude").exists()


def test_it_is_deployed_used_and_reverted_byte_for_byte(released: Path, run_cli: RunCli) -> None:
    write_by_hand(draft_release(released, run_cli))
    assert run_cli("skills", "check", "release", cwd=released).code == 0
    with Terminal("skills", "deploy", "release", cwd=released) as terminal:
        terminal.passes("[y/N]:")
        terminal.types("y")
        assert "deployed 'release'" in terminal.ends()
    path = released / ".claude" / "skills" / "release" / "SKILL.md"
    text = path.read_text()
    assert text.startswith("---\nid: LRN-") and "node scripts/release.js --dry" in text and "draft:" not in text
    (listed,) = run_cli("skills", "list", "--json", cwd=released).json()["data"]["skills"]
    assert (listed["name"], listed["uses"]) == ("release", 0)
    assert run_cli("skills", "list", "--json", cwd=released).json()["data"]["drafts"] == []
    assert run_cli("audit", "--json", cwd=released).json()["data"]["ok"]
    assert "release" in run_cli("log", cwd=released).out
    with Terminal("skills", "retire", "release", cwd=released) as terminal:
        terminal.ends()
    assert not (released / ".claude").exists()
    with Terminal("undo", cwd=released) as terminal:
        terminal.ends()
    assert path.read_text() == text


def test_a_person_edits_the_deployed_file_and_keeps_the_wording(released: Path, run_cli: RunCli) -> None:
    write_by_hand(draft_release(released, run_cli))
    with Terminal("skills", "deploy", "release", cwd=released) as terminal:
        terminal.passes("[y/N]:")
        terminal.types("y")
        terminal.ends()
    path = released / ".claude" / "skills" / "release" / "SKILL.md"
    path.write_text(path.read_text().replace("1. `pnpm build`", "1. `pnpm build --prod`"))
    with Terminal("review", cwd=released) as terminal:
        screen = terminal.passes("Put it back [b,f,i,s,q,?]?")
        assert "Skill release" in screen and "-1. `pnpm build --prod`" in screen and "now reads" not in screen
        terminal.presses("f")
        terminal.ends()
    assert "pnpm build --prod" in path.read_text()
    assert run_cli("audit", "--json", cwd=released).json()["data"]["ok"]


def test_nobody_deploys_inside_claude_code(released: Path, run_cli: RunCli) -> None:
    write_by_hand(draft_release(released, run_cli))
    refused = run_cli("skills", "deploy", "release", cwd=released, env={"CLAUDECODE": "1"})
    assert (refused.code, "needs a person" in refused.err) == (1, True)
    assert not (released / ".claude").exists()


@pytest.mark.parametrize("name", ["../x", "con", "nul", "a/b", "Größe", "", "-x", "x-", "a" * 65, ".x", "com1"])
def test_hostile_names_are_refused(name: str, released: Path, run_cli: RunCli) -> None:
    (found,) = run_cli("skills", "candidates", "--json", cwd=released).json()["data"]
    with pytest.raises(ReflectError):
        draft.check_name(name)
    if name:
        assert run_cli("skills", "new", found["id"], "--name", name, cwd=released).code == 2


@pytest.mark.parametrize(
    ("about", "answer"),
    [
        ("Use pnpm.", "rule"),
        ("Use pnpm. It is faster.", "rule"),
        ("Never push to main.", "guard"),
        ("Build first. Then run the tests. Then tag the commit and push the tag.", "skill"),
    ],
)
def test_the_smallest_answer_that_fits_is_named(about: str, answer: str, released: Path, run_cli: RunCli) -> None:
    assert draft.choose_answer(draft.build_request_gap(about))[0] == answer
    done = run_cli("skills", "new", "--about", about, "--dry-run", cwd=released)
    assert done.code == (0 if answer == "skill" else 4)
    if answer != "skill":
        assert "not a skill" in done.err


def test_observed_text_does_not_run_when_the_skill_is_loaded() -> None:
    hostile = ("echo !`touch /tmp/x`", "```! rm -rf /", "hooks:\n  Stop: x", "allowed-tools: Bash")
    text = draft.render_scaffold(draft.Gap("k", "t\nhooks: x", "say\nallowed-tools: Bash", hostile), "odd")
    assert [one for one in draft.check_text(text, "odd") if one.kind == draft.RISK] == []
    assert draft.check_text(text, "odd") == [
        draft.Finding(draft.PROBLEM, "the note to the editor is still there: follow it and delete it")
    ]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("---\nname: x\ndescription: d\nhooks:\n  Stop: []\n---\nBody\n", draft.RISK, "'hooks'"),
        ("---\nname: x\ndescription: d\nallowed-tools: Bash\n---\nBody\n", draft.RISK, "'allowed-tools'"),
        ("---\nname: x\ndescription: d\n---\nNow !`date`\n", draft.RISK, "runs a command"),
        ("---\nname: x\ndescription: d\n---\n```!\ndate\n```\n", draft.RISK, "runs a command"),
        ("Body\n", draft.PROBLEM, "no front matter"),
        ("---\nname: x\n---\nBody\n", draft.PROBLEM, "no description"),
        ("---\ndescription: d\n---\nBody\n", draft.PROBLEM, "no name"),
        ("---\nname: y\ndescription: d\n---\nBody\n", draft.PROBLEM, "the folder is 'x'"),
        (f"---\nname: x\ndescription: {'d' * 1537}\n---\nBody\n", draft.PROBLEM, "1536"),
        ("---\nname: x\ndescription: d\n---\n" + "line\n" * 500, draft.PROBLEM, "500"),
        ("---\nname: x\ndescription: d\n---\n", draft.PROBLEM, "empty"),
        ("---\nname: x\ndescription: d\n---\nexport API_KEY=sk-ant-api03-" + "aB3" * 30, draft.PROBLEM, "secret"),
    ],
)
def test_a_bad_skill_is_reported(text: str, kind: str, message: str) -> None:
    found = draft.check_text(text, "x")
    assert any(one.kind == kind and message in one.message for one in found), found


def test_scripts_beside_a_skill_are_checked(tmp_path: Path, run_cli: RunCli) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: x\ndescription: d\n---\nBody\n")
    assert run_cli("skills", "check", str(folder)).code == 0
    (folder / "a.sh").write_text("if true; then\n")
    (folder / "b.py").write_text("def\n")
    found = run_cli("skills", "check", str(folder), "--json").json()["data"]["findings"]
    assert [one["message"].partition(":")[0] for one in found] == ["a.sh", "b.py"]


def test_a_risk_needs_a_typed_yes(released: Path, run_cli: RunCli) -> None:
    path = draft_release(released, run_cli)
    write_by_hand(path)
    path.write_text(path.read_text() + "\nToday: !`date`\n")
    with Terminal("skills", "deploy", "release", cwd=released) as terminal:
        assert "risk: Claude Code runs a command" in terminal.passes("[no]:")
        terminal.types("")
        assert "nothing was changed" in terminal.ends(1)
    assert not (released / ".claude").exists()


def test_the_file_of_a_skill_is_read_back(tmp_path: Path) -> None:
    text = "---\nname: x\ndescription: d\n---\n\n# X\n\n1. `a`\n"
    rule = RulesFile("LRN-20260211-4c8d2a1f", text)
    assert render(rule).startswith(b"---\nid: LRN-20260211-4c8d2a1f\nname: x\n")
    assert parse(render(rule)) == rule


def _build_sessions(seed: int) -> tuple[list[list[str]], list[_Session]]:
    """Plant twelve workflows in 200 sessions of ordinary commands."""
    dice = random.Random(seed)
    noise = [
        "pytest", "ruff check", "git status", "git diff", "git add", "git commit", "git push", "js test", "js lint",
        "mypy", "make build", "docker ps", "edit README.md", "cargo test", "js install", "pip install", "curl",
    ]  # fmt: skip
    planted = [
        [*(f"{name} {step}" for step in range(dice.randint(2, 5))), dice.choice([*noise, *["z"] * len(noise)])]
        for name in (f"tool{number}" for number in range(12))
    ]
    runs = [flow for flow in planted for _ in range(dice.randint(3, 8))]
    sessions = []
    for number in range(200):
        steps = [dice.choice(noise) for _ in range(dice.randint(5, 40))]
        if number < len(runs):
            at = dice.randint(0, len(steps))
            mixed = [one for step in runs[number] for one in (step, dice.choice(noise))[: 1 + (dice.random() < 0.25)]]
            steps[at:at] = mixed
        kept = [step for at, step in enumerate(steps) if at == 0 or step != steps[at - 1]]
        sessions.append(
            _Session(f"s{number}", "", tuple(Step(one, one, "2026-01-01T00:00:00Z", at) for at, one in enumerate(kept)))
        )
    dice.shuffle(sessions)
    return planted, sessions


@pytest.mark.parametrize("seed", range(5))
def test_planted_workflows_are_found_and_ordinary_work_is_not(seed: int) -> None:
    planted, sessions = _build_sessions(seed)
    started = time.monotonic()
    found = detect.find_in_sessions(sessions)
    assert time.monotonic() - started < 20
    hits = [flow for flow in planted if any(len(set(flow) & set(one.purposes)) >= min(3, len(flow)) for one in found)]
    wrong = [one for one in found if not any(len(set(flow) & set(one.purposes)) >= 2 for flow in planted)]
    assert len(hits) >= 10 and len(wrong) <= 2, (len(hits), wrong)


def test_the_tokens_of_a_workflow_are_those_between_its_ends(home: Path, project: Path, run_cli: RunCli) -> None:
    for number in range(3):
        path = write_calls(home, project, f"s{number}", [bash("make a"), bash("make b"), bash("make c")])
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for at, line in enumerate(lines):
            line["message"] |= {"id": f"m{at}", "usage": {"output_tokens": 100 * (at + 1)}}
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run_cli("init")
    (found,) = run_cli("skills", "candidates", "--json", cwd=project).json()["data"]
    assert "about 500 tokens were written each time" in found["sources"]


def test_a_skill_that_nobody_uses_is_asked_about_until_a_person_keeps_it(
    released: Path, store_home: Path, run_cli: RunCli
) -> None:
    write_by_hand(draft_release(released, run_cli))
    with Terminal("skills", "deploy", "release", cwd=released) as terminal:
        terminal.passes("[y/N]:")
        terminal.types("y")
        terminal.ends()

    def find(days: float) -> list[str]:
        ctx = load(open_store(store_home), released)
        return [why for _, why in deploy.find_useless(ctx, time.time() + days * 86400)]

    assert find(59) == []
    assert find(61) == ["release: not used so far"]
    ctx = load(open_store(store_home), released)
    guards.write_advice(ctx, deploy.find_deployed(ctx, "release"), BY)
    assert find(61) == []


def test_a_skill_that_does_not_help_is_asked_about(released: Path, store_home: Path, run_cli: RunCli) -> None:
    """The failure that a root cause named, and the skill should have ended, comes back in two sessions."""
    store = open_store(store_home)
    error = "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:7101"
    project = load(store, released).place.project
    fail_all(store, [(f"before-{number}", error) for number in range(2)], project=project)
    (incident,) = run_cli("incidents", "--json", cwd=released).json()["data"]
    said = ["--what", "the importer crashed", "--why", "nobody knows which services it needs", "--class", "process-gap"]
    change = "Start redis. Load the fixtures. Wait for the index. Start the importer."
    run_cli("--yes", "rootcause", incident["key"], *said, "--change", change, cwd=released)
    made = run_cli("skills", "new", incident["key"], "--name", "importer", "--json", cwd=released).json()["data"]
    write_by_hand(Path(made["path"]))
    with Terminal("skills", "deploy", "importer", cwd=released) as terminal:
        terminal.passes("[y/N]:")
        terminal.types("y")
        terminal.ends()

    def find() -> list[str]:
        return [why for _, why in deploy.find_useless(load(open_store(store_home), released), time.time())]

    assert find() == []
    time.sleep(1.1)  # the time of a failure has no fractions
    fail_all(store, [("after-0", error)], project=project)
    assert find() == [], "once may be chance"
    fail_all(store, [("after-1", error)], project=project)
    (why,) = find()
    assert why.startswith("importer: the failure it is for came back in 2 sessions since")
    assert "came back in 2 sessions" in run_cli("skills", "list", cwd=released).out
    (listed,) = run_cli("skills", "list", "--json", cwd=released).json()["data"]["skills"]
    assert listed["returned"] == 2


def test_uninstalling_gives_back_every_byte(released: Path, home: Path, run_cli: RunCli) -> None:
    def list_files() -> dict[str, bytes]:
        roots = (released, home / ".claude")
        return {
            str(path): path.read_bytes()
            for root in roots
            for path in sorted(root.rglob("*"))
            if path.is_file() and not {"reflections", ".git", "projects"} & set(path.parts)
        }

    before = list_files()
    write_by_hand(draft_release(released, run_cli))
    about = "Open the admin page. Choose a tenant. Run the export. Check it."
    made = run_cli("skills", "new", "--about", about, "--name", "export", "--json", cwd=released).json()["data"]
    write_by_hand(Path(made["path"]))
    for words in (("release",), ("export", "--global")):
        with Terminal("skills", "deploy", *words, cwd=released) as terminal:
            terminal.passes("[y/N]:")
            terminal.types("y")
            terminal.ends()
    assert len(list_files()) == len(before) + 2
    done = run_cli("uninstall", "--erase", "--yes", cwd=released)
    assert done.code == 0, done.err
    assert list_files() == before and not (released / ".claude").exists()
