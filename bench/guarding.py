"""A tool call with 500 guards, from the entry in the settings on: one that no guard is about, and one that is denied.

Measured next to `python3 -I -S -c pass`. The call that is denied is matched, decided and logged. If HOOKIFY names a
copy of that plugin, its hook runs beside ours with as many rules.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.generate import build_env
from bench.setting import Setting
from bench.table import Row, Table, build_timed_row
from bench.timing import BenchError, Command, count_runs, fixed_subject, measure
from reflect_git.capture import service
from reflect_git.guards import entry, table
from reflect_git.guards.table import Guard

ROUNDS = 80
GUARDS = 500
LONG = 60_000
MISS_CEILING, HIT_CEILING = 0.4, 3.0
BASELINE = "floor: python3 -I -S -c pass"
MISS, LONG_MISS, HIT = "call without a match", "call without a match, 60 KB", "denied call, logged"


def tables(setting: Setting) -> list[Table]:
    home = setting.create_home("guards")
    env = build_env(home, CLAUDE_PROJECT_DIR=str(setting.project), CLAUDECODE="1")
    store = service.open_store(env)
    table.write_table(store, build_guards())
    # The script has this program's interpreter, which may be that of an environment.
    script = Path(table.get_script_path(store.git_dir))
    script.write_text(script.read_text().replace(sys.executable, setting.python))
    words = entry.get_entry_command(env)
    text = "cat > notes.txt <<'EOF'\n" + "a line of a note that somebody takes about a lamp\n" * (LONG // 50)
    calls = {
        MISS: "git status --short && ls -la src",
        LONG_MISS: f"{text[:LONG]}\nEOF",
        HIT: "cd web && tool250 add lamp",
    }
    subjects = [fixed_subject(BASELINE, setting.python_command("pass"))]
    for name, command in calls.items():
        subjects.append(fixed_subject(name, Command(words, env, build_event(command, str(setting.project)))))
    if setting.hookify:
        write_hookify_rules(setting.project)
        told = build_env(home, CLAUDE_PROJECT_DIR=str(setting.project), CLAUDE_PLUGIN_ROOT=str(setting.hookify))
        hook = (setting.python, str(setting.hookify / "hooks" / "pretooluse.py"))
        for name, command in calls.items():
            event = build_event(command, str(setting.project))
            subjects.append(fixed_subject(f"hookify: {name.removesuffix(', logged')}", Command(hook, told, event)))
        answer = subprocess.run(
            hook, env=told, cwd=setting.project, input=event, capture_output=True, check=True
        ).stdout
        if b'"deny"' not in answer:
            raise BenchError("hookify did not deny the call: HOOKIFY has to name a copy of that plugin")
    rounds = setting.rounds(ROUNDS)
    times = measure(subjects, rounds)
    logged = len(Path(store.private_path("firings", "5e55.jsonl")).read_text().splitlines())
    if logged != count_runs(next(one for one in subjects if one.name == HIT), rounds):
        raise BenchError(f"{logged} firings were logged")
    ceilings = {MISS: MISS_CEILING, LONG_MISS: MISS_CEILING, HIT: HIT_CEILING}
    rows: list[Row] = [build_timed_row(found, times[BASELINE], ceilings.get(name)) for name, found in times.items()]
    return [Table(f"A tool call with {GUARDS} guards, fresh process", rows)]


def write_hookify_rules(project: Path) -> None:
    """Write as many rules of hookify as we have guards, one of which blocks the call that ours denies."""
    folder = project / ".claude"
    folder.mkdir(exist_ok=True)
    for number in range(GUARDS):
        fields = (
            f"name: rule-{number}\nenabled: true\nevent: bash\npattern: tool{number:03} (add|install)\naction: block"
        )
        text = f"---\n{fields}\n---\n\nNever use number {number}.\n"
        (folder / f"hookify.rule-{number}.local.md").write_text(text, encoding="utf-8")


def build_guards() -> list[Guard]:
    """Return guards of programs, subcommands, files and content, each about something else."""
    found = []
    for number in range(GUARDS):
        clause = [
            {"run": f"tool{number:03} add|install"}, {"run": f"make{number:03}", "flags": ["-f|--force"]},
            {"paths": [f"src/made{number:03}/**"]}, {"content": f"\\blegacy_{number:03}\\(", "paths": ["*.py"]},
        ][number % 5 % 4 if number != GUARDS // 2 else 0]  # fmt: skip
        text = f"Never use number {number}, because it breaks the build of the lamp."
        found.append(Guard(f"LRN-20261104-{number:08}", "deny", {"any": [clause]}, text, "the other one", None))
    return found


def build_event(command: str, folder: str) -> bytes:
    event = {
        "session_id": "5e55", "transcript_path": f"{folder}/5e55.jsonl", "cwd": folder, "prompt_id": "b3eb",
        "permission_mode": "default", "effort": {"level": "medium"}, "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": command, "description": "Work"}, "tool_use_id": "toolu_17",
    }  # fmt: skip
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
