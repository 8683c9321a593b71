"""Transcripts in other languages, shells and tools: recurring obstacles, and meaningless failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.transcript_steps import (
    CANCELLED,
    FILE_NOT_READ,
    REFUSED,
    Step,
    assistant_text,
    bash_call,
    build_call,
    edit_call,
    failed_bash_call,
    failed_edit_call,
    find_failures,
    glob_call,
    grep_call,
    mine_steps,
)

CHANGED = "<tool_use_error>File has been modified since read, either by the user or by a linter.</tool_use_error>"
MISCALLED = "<tool_use_error>InputValidationError: Read failed due to the following issue: file_path is missing"
PARALLEL = "<tool_use_error>Cancelled: parallel tool call Bash(make lint) errored</tool_use_error>"


def committed(title: str) -> str:
    """Return a commit command as the client writes it."""
    return f"git add -A && git commit -m \"$(cat <<'EOF'\n{title}\n\nSo that it lasts.\nEOF\n)\""


TEACHING: dict[str, list[Step]] = {
    "a shell that speaks German": [
        failed_bash_call("pnpm install", "bash: pnpm: Befehl nicht gefunden", 127),
        bash_call("corepack pnpm install", "Done in 2s"),
    ],
    "a shell that speaks Chinese": [
        failed_bash_call("just test", "bash: just: 未找到命令", 127),
        bash_call("cargo run -p xtask test", "ok"),
        failed_bash_call("just lint", "bash: just: 未找到命令", 127),
    ],
    "a database that is not up": [
        failed_bash_call(
            "mix test", "** (DBConnection.ConnectionError) tcp connect (localhost:5432): connection refused"
        ),
        bash_call("docker compose up -d db", "Started"),
        bash_call("mix test", "41 tests, 0 failures"),
    ],
    "a compiler that is too old": [
        failed_bash_call(
            "cargo test", "error: package `lamp` requires rustc 1.75 or newer, the active version is 1.70.0", 101
        ),
        bash_call("cargo +stable test", "test result: ok. 9 passed"),
    ],
    "a wrapper without its mode": [
        failed_bash_call("./gradlew test", "bash: ./gradlew: Permission denied", 126),
        bash_call("sh ./gradlew test", "BUILD SUCCESSFUL"),
    ],
    "another Java": [
        failed_bash_call("./gradlew build", "> Unsupported class file major version 65\nBUILD FAILED in 2s"),
        bash_call("JAVA_HOME=/opt/jdk-17 ./gradlew build", "BUILD SUCCESSFUL"),
    ],
    "modules that were not installed": [
        failed_bash_call(
            "node tools/seed.mjs", "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'dotenv' imported from /x"
        ),
        bash_call("npm ci", "added 310 packages"),
        bash_call("node tools/seed.mjs", "seeded"),
    ],
    "a tool of a server that wants more": [
        build_call(
            "mcp__tracker__list", {"q": "open"}, "MCP error -32602: missing required parameter: workspace", True
        ),
        build_call(
            "mcp__tracker__list", {"q": "mine"}, "MCP error -32602: missing required parameter: workspace", True
        ),
    ],
    "a source folder": [
        failed_bash_call("python -m pytest tests", "ModuleNotFoundError: No module named 'lamp'", 2),
        bash_call("PYTHONPATH=src python -m pytest tests", "12 passed"),
    ],
    "the cluster that is meant": [
        failed_bash_call(
            "kubectl get pods",
            "The connection to the server localhost:8080 was refused - did you specify the right host?",
        ),
        bash_call("kubectl --context lamp-dev get pods", "lamp-1 Running"),
    ],
    "another sed": [
        failed_bash_call("sed -i 's/on/off/' lamp.cfg", 'sed: 1: "lamp.cfg": extra characters at the end of l command'),
        bash_call("sed -i '' 's/on/off/' lamp.cfg", ""),
    ],
    "a client in a container": [
        failed_bash_call("psql -c 'select 1'", "bash: psql: command not found", 127),
        bash_call("docker compose exec db psql -c 'select 1'", "1"),
    ],
    "the manager that the project names": [
        failed_bash_call("yarn test", 'error This project\'s package.json defines "packageManager": "pnpm@9.1.0".'),
        bash_call("pnpm test", "30 passed"),
    ],
    "an old docker": [
        failed_bash_call("docker compose up -d", "docker: 'compose' is not a docker command.\nSee 'docker --help'"),
        bash_call("docker-compose up -d", "Started"),
    ],
    "the module's folder": [
        failed_bash_call(
            "go test ./...", "pattern ./...: directory prefix . does not contain main module or its dependencies"
        ),
        bash_call("cd services/lamp && go test ./...", "ok lamp"),
    ],
    "another Python": [
        failed_bash_call(
            "pip install -e .", "ERROR: Package 'lamp' requires a different Python: 3.9.6 not in '>=3.11'"
        ),
        bash_call("python3.12 -m pip install -e .", "Successfully installed lamp"),
    ],
    "a step of the build by its name": [
        failed_bash_call("zig build test", "error: no step named 'test'"),
        bash_call("zig build unit", "ok"),
    ],
    "a folder that may not be written": [
        failed_bash_call(
            "npm i -g lamp-cli",
            "npm ERR! code EACCES\nnpm ERR! syscall mkdir\nnpm ERR! path /usr/lib/node_modules",
            243,
        ),
        failed_bash_call(
            "npm install --global lamp-cli", "npm ERR! code EACCES\nnpm ERR! path /usr/lib/node_modules", 243
        ),
    ],
    "indented with tabs": [
        failed_edit_call("src/lamp.go", "    dim()"),
        failed_edit_call("src/lamp.go", "        dim()"),
        edit_call("src/lamp.go"),
    ],
    "cmake without its lists": [
        failed_bash_call(
            "cmake -B build", "CMake Error: The source directory /x does not appear to contain CMakeLists.txt."
        ),
        bash_call("cmake -S engine -B build", "-- Build files have been written to: /x/build"),
    ],
    "a submodule that is empty": [
        failed_bash_call(
            "make firmware", "fatal error: third_party/hal/gpio.h: No such file or directory\nmake: *** Error 1", 2
        ),
        bash_call("git submodule update --init", "checked out"),
        bash_call("make firmware", "firmware.bin"),
    ],
    "a name in another place": [
        build_call("Bash", {"command": "rg -l LampPolicy src"}, "Exit code 1", True),
        build_call("Bash", {"command": "rg -l lamp_policy src"}, "Exit code 1", True),
        glob_call("**/policy*"),
        bash_call("rg -l 'policy' infra", "infra/opa/lamp.rego"),
    ],
    "tests that run one at a time": [
        failed_bash_call("npx jest", "Tests: 3 failed, 40 passed\nlisten EADDRINUSE: address already in use :::4000"),
        bash_call("npx jest --runInBand", "43 passed"),
    ],
    "the same words in a container": [
        failed_bash_call(
            "php artisan test --filter=Dim", "getaddrinfo for db failed: Temporary failure in name resolution"
        ),
        bash_call("docker compose exec -T app php artisan test --filter=Dim", "4 passed"),
    ],
    "the same words with a variable, though a file is what is missing": [
        failed_bash_call("bundle exec rspec spec/lamp", 'could not reach "/tmp/.s.lamp": No such file or directory'),
        bash_call("LAMP_URL=lamp://localhost bundle exec rspec spec/lamp", "4 examples, 0 failures"),
    ],
    "tests that need a screen": [
        failed_bash_call("npm test -- lamp", "Tests: 3 failed, 1 passed"),
        bash_call("xvfb-run npm test -- lamp", "Tests: 4 passed"),
    ],
    "another program, told the same": [
        failed_bash_call(
            "php artisan migrate", "Your requirements could not be satisfied: PHP 8.3, you are running 8.1"
        ),
        bash_call("./vendor/bin/sail artisan migrate", "Running migrations."),
    ],
    "a message handed in from a text": [
        failed_bash_call(committed("Dim the lamp"), "commit refused: the message must reference an item of the board"),
        bash_call(committed("[LAMP-31] Dim the lamp"), "[main 4be1] [LAMP-31] Dim the lamp"),
    ],
    "a scope that is not listed": [
        failed_bash_call('git commit -m "fix(bulb): dim"', "✖   scope must be one of [lamp, base] [scope-enum]"),
        bash_call('git commit -m "fix(lamp): dim"', "[main 4be1] fix(lamp): dim"),
    ],
    "a step about what the failure names": [
        failed_bash_call("helm upgrade --install db lampshop/dimmer", "Error: repo lampshop not found"),
        bash_call("helm repo add lampshop https://charts.example.com", "added"),
        bash_call("helm upgrade --install db lampshop/dimmer", "STATUS: deployed"),
    ],
    "another package built first": [
        failed_bash_call(
            "pnpm turbo test --filter=@lamp/web", " ERROR  run failed\nnothing in '@lamp/core/dist/index.js'"
        ),
        bash_call("pnpm turbo build --filter=@lamp/core", "1 successful"),
        bash_call("pnpm turbo test --filter=@lamp/web", "1 successful"),
    ],
    "a workspace by its name": [
        failed_bash_call("yarn workspace web test", 'error Unknown workspace "web".'),
        bash_call("yarn workspace @lamp/web test", "Done in 4.2s."),
    ],
    "an older program": [
        failed_bash_call("node --test", "node: bad option: --test", 9),
        bash_call("nvm use 20 && node --test", "# pass 21"),
    ],
    "a field from a list": [
        failed_bash_call("gh pr view 9 --json lit", 'Unknown JSON field: "lit"\nAvailable fields:\n  isLit\n  title'),
        bash_call("gh pr view 9 --json isLit", '{"isLit": true}'),
    ],
    "a shell that eats the signs of a path": [
        failed_bash_call("cd C:\\lamp && npm test", "bash: line 1: cd: C:lamp: No such file or directory"),
        bash_call("cd /c/lamp && npm test", "10 passed"),
    ],
    "no way to the network": [
        failed_bash_call("gh api repos/lamp/lamp", "error connecting to api.lamp.example"),
        failed_bash_call("gh repo view lamp/lamp", "error connecting to api.lamp.example"),
    ],
    "no way to a name": [
        failed_bash_call(
            "git fetch", "fatal: unable to access 'https://lamp.example/': Could not resolve host: lamp.example", 128
        ),
        failed_bash_call(
            "git pull", "fatal: unable to access 'https://lamp.example/': Could not resolve host: lamp.example", 128
        ),
    ],
    "two files of one folder that may not be written": [
        build_call(
            "Write", {"file_path": "/etc/lamp/a.yml"}, "EACCES: permission denied, open '/etc/lamp/a.yml'", True
        ),
        build_call(
            "Write", {"file_path": "/etc/lamp/b.yml"}, "EACCES: permission denied, open '/etc/lamp/b.yml'", True
        ),
    ],
    "arguments that a server does not take": [
        build_call(
            "mcp__lamps__get", {"id": "a"}, 'MCP error -32602: Invalid arguments for get: [{"path": ["owner"]}]', True
        ),
        build_call(
            "mcp__lamps__get", {"id": "b"}, 'MCP error -32602: Invalid arguments for get: [{"path": ["id"]}]', True
        ),
    ],
    "two tools of a server that wants a project first": [
        build_call("mcp__lamps__find", {"name": "dim"}, "Error: no active project", True),
        build_call("mcp__lamps__search", {"text": "dim"}, "Error: no active project", True),
    ],
    "a reason without a word for it": [
        failed_bash_call("go test -race ./...", "go: -race requires cgo; enable cgo by setting CGO_ENABLED=1"),
        bash_call("CGO_ENABLED=1 go test -race ./...", "ok lamp 1.0s"),
    ],
    "another Ruby": [
        failed_bash_call("bundle install", "Your Ruby version is 2.6.10, but your Gemfile specified 3.3.0", 18),
        bash_call('eval "$(rbenv init -)" && bundle install', "Bundle complete!"),
    ],
    "a sign of red before what is none": [
        failed_bash_call(
            "npx wrangler d1 execute DB --command 'select 1'", "✘ [ERROR] Couldn't find a D1 DB with the name 'DB'"
        ),
        bash_call("npx wrangler d1 execute lamp-db --command 'select 1'", "1"),
    ],
    "the file's own folder": [
        failed_bash_call("pytest api/tests/test_lamp.py", "pytest: error: unrecognized arguments: --lamp", 4),
        bash_call("cd api && pytest tests/test_lamp.py", "4 passed"),
    ],
    "a device that is not there": [
        failed_bash_call("adb install lamp.apk", "adb: no devices/emulators found"),
        failed_bash_call("adb shell pm list packages", "adb: no devices/emulators found"),
    ],
    "a script that may not reach out": [
        failed_bash_call(
            "deno run scripts/dim.ts",
            "NotCapable: Requires net access to lamp:443, run again with the --allow-net flag",
        ),
        bash_call("deno run --allow-net scripts/dim.ts", "dimmed"),
    ],
    "a hook that wants a ticket": [
        failed_bash_call(
            "git commit -m 'dim the lamp'", "commit-msg: the subject must start with a ticket, as LAMP-12: text"
        ),
        bash_call("git commit -m 'LAMP-31: dim the lamp'", "[main 4be1] LAMP-31: dim the lamp"),
    ],
}

PASSING: dict[str, list[Step]] = {
    "a subcommand mistyped": [
        failed_bash_call("git chekout -b dim", "git: 'chekout' is not a git command. See 'git --help'."),
        bash_call("git checkout -b dim", "Switched to a new branch 'dim'"),
    ],
    "letters in the wrong order": [
        failed_bash_call("npx playwright test lmap.spec.ts", "Error: No tests found."),
        bash_call("npx playwright test lamp.spec.ts", "1 passed"),
    ],
    "the same words, timed": [
        failed_bash_call("npm test -- lamp", "Tests: 1 failed, 3 passed"),
        bash_call("time npm test -- lamp", "Tests: 4 passed"),
    ],
    "the same words after an edit": [
        failed_bash_call("npm test -- lamp", "Tests: 1 failed, 3 passed"),
        edit_call("lamp.ts"),
        bash_call("CI=1 npm test -- lamp", "Tests: 4 passed"),
    ],
    "a message again, after what a hook found was mended": [
        failed_bash_call(committed("Dim the lamp"), "✖ eslint --fix:\n  3:1  error  'on' is never used"),
        edit_call("lamp.ts"),
        bash_call(committed("Dim the lamp"), "[main 4be1] Dim the lamp"),
    ],
    "a file in another folder": [
        failed_bash_call("pytest tests/test_lamp.py", "ERROR: file or directory not found: tests/test_lamp.py", 4),
        bash_call("pytest tests/unit/test_lamp.py", "4 passed"),
    ],
    "a package that new code wants": [
        failed_bash_call("node lamp.js", "Error: Cannot find package 'dimmer' imported from /home/ada/lamp/lamp.js"),
        bash_call("npm install dimmer", "added 1 package"),
        bash_call("node lamp.js", "on"),
    ],
    "a snapshot brought up to date": [
        failed_bash_call(
            "npx jest", "› 1 snapshot failed. Inspect your code changes or run `npx jest -u` to update them."
        ),
        bash_call("npx jest -u", "› 1 snapshot updated."),
    ],
    "a request that is not ready": [
        failed_bash_call("gh pr merge 9 --squash", "X Pull request lamp#9 is not mergeable: checks are pending."),
        bash_call("gh pr merge 9 --squash --auto", "will be merged"),
    ],
    "a question to a database in a container": [
        failed_bash_call("docker exec db psql -c 'select watt from lamps'", 'ERROR:  column "watt" does not exist'),
        bash_call("docker exec db psql -c 'select power from lamps'", "60"),
    ],
    "a database that starts": [
        failed_bash_call("pg_isready -h localhost", "localhost:5432 - no response", 2),
        failed_bash_call("pg_isready -h localhost", "localhost:5432 - no response", 2),
    ],
    "another thing that one program can do": [
        failed_bash_call("gh pr edit 9 --add-label lit", "'lit' not found"),
        bash_call("gh pr view 9", "Dim the lamp"),
    ],
    "a state in one word": [
        failed_bash_call("systemctl is-active lamp", "inactive", 3),
        failed_bash_call("systemctl is-active lamp", "inactive", 3),
    ],
    "an expression cut short": [
        failed_bash_call("sed -i 's/on/off' lamp.cfg", "sed: -e expression #1, char 8: unterminated `s' command"),
        bash_call("sed -i 's/on/off/' lamp.cfg", ""),
    ],
    "a question written on the spot": [
        failed_bash_call("gh api repos/lamp --jq '.[] | {a'", "failed to parse jq expression (line 1, column 9)"),
        bash_call("gh api repos/lamp --jq '.[] | {a}'", "{}"),
    ],
    "a name that is found at the next try": [
        failed_bash_call(
            "git pull", "fatal: unable to access 'https://lamp.example/': Could not resolve host: lamp.example", 128
        ),
        bash_call("git pull", "Already up to date."),
    ],
    "a step about something else": [
        failed_bash_call("helm upgrade --install db lampshop/dimmer", "Error: another operation is in progress"),
        bash_call("helm repo add shades https://charts.example.com", "added"),
        bash_call("helm upgrade --install db lampshop/dimmer", "STATUS: deployed"),
    ],
    "two servers that say the same": [
        build_call("mcp__lamps__find", {"name": "dim"}, "Error: no active project", True),
        build_call("mcp__shades__find", {"name": "dim"}, "Error: no active project", True),
    ],
    "a slow browser": [
        failed_bash_call("npx playwright test", "Test timeout of 30000ms exceeded.\n1 failed"),
        bash_call("npx playwright test", "8 passed"),
    ],
    "siblings of a failure": [
        failed_bash_call("make lint", "lamp.c:3: unused variable\nmake: *** [lint] Error 1", 2),
        build_call("Bash", {"command": "make test"}, PARALLEL, True),
        build_call("Bash", {"command": "make docs"}, CANCELLED, True),
    ],
    "edits before reading": [build_call("Edit", {"file_path": f"{name}.py"}, FILE_NOT_READ, True) for name in "abc"],
    "files that a formatter touched": [
        build_call("Edit", {"file_path": "a.ts"}, CHANGED, True),
        build_call("Read", {"file_path": "a.ts"}, "1→x"),
        build_call("Edit", {"file_path": "a.ts"}, CHANGED, True),
        build_call("Read", {"file_path": "a.ts"}, "1→y"),
        edit_call("a.ts"),
    ],
    "calls in the wrong form": [build_call("Read", {}, MISCALLED, True), build_call("Read", {}, MISCALLED, True)],
    "two refusals": [
        build_call("Bash", {"command": "git push"}, REFUSED, True),
        build_call("Bash", {"command": "git push origin lamp"}, REFUSED, True),
    ],
    "proof that a name is gone": [
        build_call("Bash", {"command": "grep -rn dimLamp src"}, "Exit code 1", True),
        build_call("Bash", {"command": "grep -rn dimLamp tests"}, "Exit code 1", True),
        build_call("Bash", {"command": "grep -rn dimLamp docs"}, "Exit code 1", True),
        assistant_text("Nothing refers to it any more."),
        bash_call("grep -rn fadeLamp src", "src/lamp.ts:3: fadeLamp()"),
    ],
    "somebody pushed first": [
        failed_bash_call("git push", "! [rejected] main -> main (fetch first)\nerror: failed to push some refs"),
        bash_call("git pull --rebase && git push", "main -> main"),
    ],
    "a server that is starting": [
        failed_bash_call("curl -s localhost:3000/health", "curl: (7) Failed to connect to localhost port 3000", 7),
        bash_call("sleep 3 && curl -s localhost:3000/health", "ok"),
    ],
    "a linter that mends": [
        failed_bash_call(
            "npm run lint", "✖ 3 problems (3 errors, 0 warnings)\n3 errors potentially fixable with `--fix`"
        ),
        bash_call("npm run lint -- --fix", ""),
    ],
    "the head of a list of errors": [
        failed_bash_call(
            "npx tsc --noEmit", "a.ts(3,1): error TS2322: Type 'string' is not assignable to type 'number'.", 2
        ),
        bash_call("npx tsc --noEmit | head -5", "a.ts(3,1): error TS2322: Type 'string' is not assignable"),
    ],
    "a path that was guessed": [
        failed_bash_call("ls lamp", "ls: cannot access 'lamp': No such file or directory", 2),
        bash_call("ls src/lamp", "dim.py"),
    ],
    "checks that are not green yet": [
        failed_bash_call("gh pr checks 12", "lint\tfail\t1m2s\thttps://x\nbuild\tpending\t0\thttps://x"),
        failed_bash_call("gh pr checks 12", "lint\tfail\t1m2s\thttps://x\nbuild\tpass\t3m\thttps://x"),
    ],
    "a mirror that is down": [
        failed_bash_call("docker build .", "failed to fetch https://deb.x/pool: 503 Service Unavailable"),
        failed_bash_call("docker build .", "failed to fetch https://deb.x/pool: 503 Service Unavailable"),
        bash_call("docker build .", "done"),
    ],
    "a test before its code": [
        failed_bash_call("pytest tests/test_dim.py", "ModuleNotFoundError: No module named 'lamp.dim'", 2),
        build_call("Write", {"file_path": "lamp/dim.py", "content": "def dim(): ..."}, "File created successfully"),
        failed_bash_call("pytest tests/test_dim.py", "E  assert None == 3\n1 failed"),
        edit_call("lamp/dim.py"),
        bash_call("pytest tests/test_dim.py", "1 passed"),
    ],
    "questions with an exit code": [
        failed_bash_call("git diff --quiet", ""),
        failed_bash_call("git merge-base --is-ancestor v1 HEAD", ""),
        failed_bash_call("pgrep -f lamp", ""),
        failed_bash_call("lsof -i :3000", ""),
    ],
    "a server watched for five seconds": [
        failed_bash_call("timeout 5 npm run dev", "> dev\nready on http://localhost:3000", 124),
        failed_bash_call("timeout 5 npm run dev", "> dev\nready on http://localhost:3000", 124),
    ],
    "a program that must refuse": [
        failed_bash_call("./bin/lamp --colour", "lamp: unknown flag: --colour", 2),
        assistant_text("Good, an unknown flag is rejected as expected."),
        bash_call("./bin/lamp --level 3", "dimmed"),
    ],
    "refusals that were wanted, one after the other": [
        failed_bash_call("./bin/lamp --colour", "lamp: unknown flag: --colour", 2),
        assistant_text("It correctly rejects the flag. Now a level that is out of range:"),
        failed_bash_call("./bin/lamp --level 900", "lamp: invalid value 900: must be below 100", 2),
    ],
    "a branch that is dirty": [
        failed_bash_call(
            "git checkout main", "error: Your local changes to the following files would be overwritten by checkout"
        ),
        bash_call("git stash && git checkout main", "Switched to branch 'main'"),
    ],
    "types that were mended": [
        failed_bash_call("mypy src", "src/a.py:4: error: Incompatible return value type\nFound 2 errors in 1 file"),
        edit_call("src/a.py"),
        failed_bash_call("mypy src", "src/b.py:9: error: Missing return statement\nFound 1 error in 1 file"),
        edit_call("src/b.py"),
        bash_call("mypy src", "Success: no issues found"),
    ],
    "scripts of the moment": [
        failed_bash_call("node -e 'console.log(a.b)'", "ReferenceError: a is not defined"),
        failed_bash_call("node -e 'console.log(require(\"./x\").b)'", "Error: Cannot find module './x'"),
        bash_call("node -e 'console.log(1)'", "1"),
    ],
    "searches before a new file": [
        glob_call("**/dimmer*"),
        grep_call("class Dimmer"),
        grep_call("Dimmer("),
        build_call("Write", {"file_path": "src/dimmer.ts", "content": "x"}, "File created successfully"),
        grep_call("Dimmer", "src/dimmer.ts"),
    ],
    "a plan carried out": [
        edit_call("a.rs", "one", "two"),
        bash_call("cargo check", "Finished"),
        edit_call("a.rs", "three", "four"),
        bash_call("cargo check", "Finished"),
        edit_call("a.rs", "five", "six"),
        bash_call("cargo check", "Finished"),
    ],
}


@pytest.mark.parametrize("name", TEACHING)
def test_kept(tmp_path: Path, name: str) -> None:
    assert find_failures(tmp_path, TEACHING[name]) != []


@pytest.mark.parametrize("name", PASSING)
def test_not_kept(tmp_path: Path, name: str) -> None:
    assert find_failures(tmp_path, PASSING[name]) == []


def test_content_names_the_message_and_what_was_wrong_with_it(tmp_path: Path) -> None:
    (signal,) = mine_steps(tmp_path, TEACHING["a message handed in from a text"])
    assert signal["content"] == (
        "`git add -A && git commit -m Dim the lamp` fails here (commit refused: the message must reference an item of "
        "the board); `git add -A && git commit -m [LAMP-31] Dim the lamp` works"
    )
    (field,) = mine_steps(tmp_path, TEACHING["a field from a list"])
    assert 'fails here (Unknown JSON field: "lit")' in field["content"]
