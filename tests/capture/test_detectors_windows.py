"""Transcripts in other languages, shells and tools: recurring obstacles, and meaningless failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.windows import (
    CANCELLED,
    REFUSED,
    UNREAD,
    Step,
    broke,
    call,
    edited,
    families,
    globbed,
    grepped,
    mined,
    missed,
    ran,
    said,
)

CHANGED = "<tool_use_error>File has been modified since read, either by the user or by a linter.</tool_use_error>"
MISCALLED = "<tool_use_error>InputValidationError: Read failed due to the following issue: file_path is missing"
PARALLEL = "<tool_use_error>Cancelled: parallel tool call Bash(make lint) errored</tool_use_error>"


def committed(title: str) -> str:
    """Return a commit command as the client writes it."""
    return f"git add -A && git commit -m \"$(cat <<'EOF'\n{title}\n\nSo that it lasts.\nEOF\n)\""


TEACHING: dict[str, list[Step]] = {
    "a shell that speaks German": [
        broke("pnpm install", "bash: pnpm: Befehl nicht gefunden", 127),
        ran("corepack pnpm install", "Done in 2s"),
    ],
    "a shell that speaks Chinese": [
        broke("just test", "bash: just: 未找到命令", 127),
        ran("cargo run -p xtask test", "ok"),
        broke("just lint", "bash: just: 未找到命令", 127),
    ],
    "a database that is not up": [
        broke("mix test", "** (DBConnection.ConnectionError) tcp connect (localhost:5432): connection refused"),
        ran("docker compose up -d db", "Started"),
        ran("mix test", "41 tests, 0 failures"),
    ],
    "a compiler that is too old": [
        broke("cargo test", "error: package `lamp` requires rustc 1.75 or newer, the active version is 1.70.0", 101),
        ran("cargo +stable test", "test result: ok. 9 passed"),
    ],
    "a wrapper without its mode": [
        broke("./gradlew test", "bash: ./gradlew: Permission denied", 126),
        ran("sh ./gradlew test", "BUILD SUCCESSFUL"),
    ],
    "another Java": [
        broke("./gradlew build", "> Unsupported class file major version 65\nBUILD FAILED in 2s"),
        ran("JAVA_HOME=/opt/jdk-17 ./gradlew build", "BUILD SUCCESSFUL"),
    ],
    "modules that were not installed": [
        broke("node tools/seed.mjs", "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'dotenv' imported from /x"),
        ran("npm ci", "added 310 packages"),
        ran("node tools/seed.mjs", "seeded"),
    ],
    "a tool of a server that wants more": [
        call("mcp__tracker__list", {"q": "open"}, "MCP error -32602: missing required parameter: workspace", True),
        call("mcp__tracker__list", {"q": "mine"}, "MCP error -32602: missing required parameter: workspace", True),
    ],
    "a source folder": [
        broke("python -m pytest tests", "ModuleNotFoundError: No module named 'lamp'", 2),
        ran("PYTHONPATH=src python -m pytest tests", "12 passed"),
    ],
    "the cluster that is meant": [
        broke(
            "kubectl get pods",
            "The connection to the server localhost:8080 was refused - did you specify the right host?",
        ),
        ran("kubectl --context lamp-dev get pods", "lamp-1 Running"),
    ],
    "another sed": [
        broke("sed -i 's/on/off/' lamp.cfg", 'sed: 1: "lamp.cfg": extra characters at the end of l command'),
        ran("sed -i '' 's/on/off/' lamp.cfg", ""),
    ],
    "a client in a container": [
        broke("psql -c 'select 1'", "bash: psql: command not found", 127),
        ran("docker compose exec db psql -c 'select 1'", "1"),
    ],
    "the manager that the project names": [
        broke("yarn test", 'error This project\'s package.json defines "packageManager": "pnpm@9.1.0".'),
        ran("pnpm test", "30 passed"),
    ],
    "an old docker": [
        broke("docker compose up -d", "docker: 'compose' is not a docker command.\nSee 'docker --help'"),
        ran("docker-compose up -d", "Started"),
    ],
    "the module's folder": [
        broke("go test ./...", "pattern ./...: directory prefix . does not contain main module or its dependencies"),
        ran("cd services/lamp && go test ./...", "ok lamp"),
    ],
    "another Python": [
        broke("pip install -e .", "ERROR: Package 'lamp' requires a different Python: 3.9.6 not in '>=3.11'"),
        ran("python3.12 -m pip install -e .", "Successfully installed lamp"),
    ],
    "a step of the build by its name": [
        broke("zig build test", "error: no step named 'test'"),
        ran("zig build unit", "ok"),
    ],
    "a folder that may not be written": [
        broke(
            "npm i -g lamp-cli",
            "npm ERR! code EACCES\nnpm ERR! syscall mkdir\nnpm ERR! path /usr/lib/node_modules",
            243,
        ),
        broke("npm install --global lamp-cli", "npm ERR! code EACCES\nnpm ERR! path /usr/lib/node_modules", 243),
    ],
    "indented with tabs": [
        missed("src/lamp.go", "    dim()"),
        missed("src/lamp.go", "        dim()"),
        edited("src/lamp.go"),
    ],
    "cmake without its lists": [
        broke("cmake -B build", "CMake Error: The source directory /x does not appear to contain CMakeLists.txt."),
        ran("cmake -S engine -B build", "-- Build files have been written to: /x/build"),
    ],
    "a submodule that is empty": [
        broke("make firmware", "fatal error: third_party/hal/gpio.h: No such file or directory\nmake: *** Error 1", 2),
        ran("git submodule update --init", "checked out"),
        ran("make firmware", "firmware.bin"),
    ],
    "a name in another place": [
        call("Bash", {"command": "rg -l LampPolicy src"}, "Exit code 1", True),
        call("Bash", {"command": "rg -l lamp_policy src"}, "Exit code 1", True),
        globbed("**/policy*"),
        ran("rg -l 'policy' infra", "infra/opa/lamp.rego"),
    ],
    "tests that run one at a time": [
        broke("npx jest", "Tests: 3 failed, 40 passed\nlisten EADDRINUSE: address already in use :::4000"),
        ran("npx jest --runInBand", "43 passed"),
    ],
    "the same words in a container": [
        broke("php artisan test --filter=Dim", "getaddrinfo for db failed: Temporary failure in name resolution"),
        ran("docker compose exec -T app php artisan test --filter=Dim", "4 passed"),
    ],
    "the same words with a variable, though a file is what is missing": [
        broke("bundle exec rspec spec/lamp", 'could not reach "/tmp/.s.lamp": No such file or directory'),
        ran("LAMP_URL=lamp://localhost bundle exec rspec spec/lamp", "4 examples, 0 failures"),
    ],
    "tests that need a screen": [
        broke("npm test -- lamp", "Tests: 3 failed, 1 passed"),
        ran("xvfb-run npm test -- lamp", "Tests: 4 passed"),
    ],
    "another program, told the same": [
        broke("php artisan migrate", "Your requirements could not be satisfied: PHP 8.3, you are running 8.1"),
        ran("./vendor/bin/sail artisan migrate", "Running migrations."),
    ],
    "a message handed in from a text": [
        broke(committed("Dim the lamp"), "commit refused: the message must reference an item of the board"),
        ran(committed("[LAMP-31] Dim the lamp"), "[main 4be1] [LAMP-31] Dim the lamp"),
    ],
    "a scope that is not listed": [
        broke('git commit -m "fix(bulb): dim"', "✖   scope must be one of [lamp, base] [scope-enum]"),
        ran('git commit -m "fix(lamp): dim"', "[main 4be1] fix(lamp): dim"),
    ],
    "a step about what the failure names": [
        broke("helm upgrade --install db lampshop/dimmer", "Error: repo lampshop not found"),
        ran("helm repo add lampshop https://charts.example.com", "added"),
        ran("helm upgrade --install db lampshop/dimmer", "STATUS: deployed"),
    ],
    "another package built first": [
        broke("pnpm turbo test --filter=@lamp/web", " ERROR  run failed\nnothing in '@lamp/core/dist/index.js'"),
        ran("pnpm turbo build --filter=@lamp/core", "1 successful"),
        ran("pnpm turbo test --filter=@lamp/web", "1 successful"),
    ],
    "a workspace by its name": [
        broke("yarn workspace web test", 'error Unknown workspace "web".'),
        ran("yarn workspace @lamp/web test", "Done in 4.2s."),
    ],
    "an older program": [
        broke("node --test", "node: bad option: --test", 9),
        ran("nvm use 20 && node --test", "# pass 21"),
    ],
    "a field from a list": [
        broke("gh pr view 9 --json lit", 'Unknown JSON field: "lit"\nAvailable fields:\n  isLit\n  title'),
        ran("gh pr view 9 --json isLit", '{"isLit": true}'),
    ],
    "a shell that eats the signs of a path": [
        broke("cd C:\\lamp && npm test", "bash: line 1: cd: C:lamp: No such file or directory"),
        ran("cd /c/lamp && npm test", "10 passed"),
    ],
    "no way to the network": [
        broke("gh api repos/lamp/lamp", "error connecting to api.lamp.example"),
        broke("gh repo view lamp/lamp", "error connecting to api.lamp.example"),
    ],
    "no way to a name": [
        broke(
            "git fetch", "fatal: unable to access 'https://lamp.example/': Could not resolve host: lamp.example", 128
        ),
        broke("git pull", "fatal: unable to access 'https://lamp.example/': Could not resolve host: lamp.example", 128),
    ],
    "two files of one folder that may not be written": [
        call("Write", {"file_path": "/etc/lamp/a.yml"}, "EACCES: permission denied, open '/etc/lamp/a.yml'", True),
        call("Write", {"file_path": "/etc/lamp/b.yml"}, "EACCES: permission denied, open '/etc/lamp/b.yml'", True),
    ],
    "arguments that a server does not take": [
        call(
            "mcp__lamps__get", {"id": "a"}, 'MCP error -32602: Invalid arguments for get: [{"path": ["owner"]}]', True
        ),
        call("mcp__lamps__get", {"id": "b"}, 'MCP error -32602: Invalid arguments for get: [{"path": ["id"]}]', True),
    ],
    "two tools of a server that wants a project first": [
        call("mcp__lamps__find", {"name": "dim"}, "Error: no active project", True),
        call("mcp__lamps__search", {"text": "dim"}, "Error: no active project", True),
    ],
    "a reason without a word for it": [
        broke("go test -race ./...", "go: -race requires cgo; enable cgo by setting CGO_ENABLED=1"),
        ran("CGO_ENABLED=1 go test -race ./...", "ok lamp 1.0s"),
    ],
    "another Ruby": [
        broke("bundle install", "Your Ruby version is 2.6.10, but your Gemfile specified 3.3.0", 18),
        ran('eval "$(rbenv init -)" && bundle install', "Bundle complete!"),
    ],
    "a sign of red before what is none": [
        broke("npx wrangler d1 execute DB --command 'select 1'", "✘ [ERROR] Couldn't find a D1 DB with the name 'DB'"),
        ran("npx wrangler d1 execute lamp-db --command 'select 1'", "1"),
    ],
    "the file's own folder": [
        broke("pytest api/tests/test_lamp.py", "pytest: error: unrecognized arguments: --lamp", 4),
        ran("cd api && pytest tests/test_lamp.py", "4 passed"),
    ],
    "a device that is not there": [
        broke("adb install lamp.apk", "adb: no devices/emulators found"),
        broke("adb shell pm list packages", "adb: no devices/emulators found"),
    ],
    "a script that may not reach out": [
        broke(
            "deno run scripts/dim.ts",
            "NotCapable: Requires net access to lamp:443, run again with the --allow-net flag",
        ),
        ran("deno run --allow-net scripts/dim.ts", "dimmed"),
    ],
    "a hook that wants a ticket": [
        broke("git commit -m 'dim the lamp'", "commit-msg: the subject must start with a ticket, as LAMP-12: text"),
        ran("git commit -m 'LAMP-31: dim the lamp'", "[main 4be1] LAMP-31: dim the lamp"),
    ],
}

PASSING: dict[str, list[Step]] = {
    "a subcommand mistyped": [
        broke("git chekout -b dim", "git: 'chekout' is not a git command. See 'git --help'."),
        ran("git checkout -b dim", "Switched to a new branch 'dim'"),
    ],
    "letters in the wrong order": [
        broke("npx playwright test lmap.spec.ts", "Error: No tests found."),
        ran("npx playwright test lamp.spec.ts", "1 passed"),
    ],
    "the same words, timed": [
        broke("npm test -- lamp", "Tests: 1 failed, 3 passed"),
        ran("time npm test -- lamp", "Tests: 4 passed"),
    ],
    "the same words after an edit": [
        broke("npm test -- lamp", "Tests: 1 failed, 3 passed"),
        edited("lamp.ts"),
        ran("CI=1 npm test -- lamp", "Tests: 4 passed"),
    ],
    "a message again, after what a hook found was mended": [
        broke(committed("Dim the lamp"), "✖ eslint --fix:\n  3:1  error  'on' is never used"),
        edited("lamp.ts"),
        ran(committed("Dim the lamp"), "[main 4be1] Dim the lamp"),
    ],
    "a file in another folder": [
        broke("pytest tests/test_lamp.py", "ERROR: file or directory not found: tests/test_lamp.py", 4),
        ran("pytest tests/unit/test_lamp.py", "4 passed"),
    ],
    "a package that new code wants": [
        broke("node lamp.js", "Error: Cannot find package 'dimmer' imported from /home/ada/lamp/lamp.js"),
        ran("npm install dimmer", "added 1 package"),
        ran("node lamp.js", "on"),
    ],
    "a snapshot brought up to date": [
        broke("npx jest", "› 1 snapshot failed. Inspect your code changes or run `npx jest -u` to update them."),
        ran("npx jest -u", "› 1 snapshot updated."),
    ],
    "a request that is not ready": [
        broke("gh pr merge 9 --squash", "X Pull request lamp#9 is not mergeable: checks are pending."),
        ran("gh pr merge 9 --squash --auto", "will be merged"),
    ],
    "a question to a database in a container": [
        broke("docker exec db psql -c 'select watt from lamps'", 'ERROR:  column "watt" does not exist'),
        ran("docker exec db psql -c 'select power from lamps'", "60"),
    ],
    "a database that starts": [
        broke("pg_isready -h localhost", "localhost:5432 - no response", 2),
        broke("pg_isready -h localhost", "localhost:5432 - no response", 2),
    ],
    "another thing that one program can do": [
        broke("gh pr edit 9 --add-label lit", "'lit' not found"),
        ran("gh pr view 9", "Dim the lamp"),
    ],
    "a state in one word": [
        broke("systemctl is-active lamp", "inactive", 3),
        broke("systemctl is-active lamp", "inactive", 3),
    ],
    "an expression cut short": [
        broke("sed -i 's/on/off' lamp.cfg", "sed: -e expression #1, char 8: unterminated `s' command"),
        ran("sed -i 's/on/off/' lamp.cfg", ""),
    ],
    "a question written on the spot": [
        broke("gh api repos/lamp --jq '.[] | {a'", "failed to parse jq expression (line 1, column 9)"),
        ran("gh api repos/lamp --jq '.[] | {a}'", "{}"),
    ],
    "a name that is found at the next try": [
        broke("git pull", "fatal: unable to access 'https://lamp.example/': Could not resolve host: lamp.example", 128),
        ran("git pull", "Already up to date."),
    ],
    "a step about something else": [
        broke("helm upgrade --install db lampshop/dimmer", "Error: another operation is in progress"),
        ran("helm repo add shades https://charts.example.com", "added"),
        ran("helm upgrade --install db lampshop/dimmer", "STATUS: deployed"),
    ],
    "two servers that say the same": [
        call("mcp__lamps__find", {"name": "dim"}, "Error: no active project", True),
        call("mcp__shades__find", {"name": "dim"}, "Error: no active project", True),
    ],
    "a slow browser": [
        broke("npx playwright test", "Test timeout of 30000ms exceeded.\n1 failed"),
        ran("npx playwright test", "8 passed"),
    ],
    "siblings of a failure": [
        broke("make lint", "lamp.c:3: unused variable\nmake: *** [lint] Error 1", 2),
        call("Bash", {"command": "make test"}, PARALLEL, True),
        call("Bash", {"command": "make docs"}, CANCELLED, True),
    ],
    "edits before reading": [call("Edit", {"file_path": f"{name}.py"}, UNREAD, True) for name in "abc"],
    "files that a formatter touched": [
        call("Edit", {"file_path": "a.ts"}, CHANGED, True),
        call("Read", {"file_path": "a.ts"}, "1→x"),
        call("Edit", {"file_path": "a.ts"}, CHANGED, True),
        call("Read", {"file_path": "a.ts"}, "1→y"),
        edited("a.ts"),
    ],
    "calls in the wrong form": [call("Read", {}, MISCALLED, True), call("Read", {}, MISCALLED, True)],
    "two refusals": [
        call("Bash", {"command": "git push"}, REFUSED, True),
        call("Bash", {"command": "git push origin lamp"}, REFUSED, True),
    ],
    "proof that a name is gone": [
        call("Bash", {"command": "grep -rn dimLamp src"}, "Exit code 1", True),
        call("Bash", {"command": "grep -rn dimLamp tests"}, "Exit code 1", True),
        call("Bash", {"command": "grep -rn dimLamp docs"}, "Exit code 1", True),
        said("Nothing refers to it any more."),
        ran("grep -rn fadeLamp src", "src/lamp.ts:3: fadeLamp()"),
    ],
    "somebody pushed first": [
        broke("git push", "! [rejected] main -> main (fetch first)\nerror: failed to push some refs"),
        ran("git pull --rebase && git push", "main -> main"),
    ],
    "a server that is starting": [
        broke("curl -s localhost:3000/health", "curl: (7) Failed to connect to localhost port 3000", 7),
        ran("sleep 3 && curl -s localhost:3000/health", "ok"),
    ],
    "a linter that mends": [
        broke("npm run lint", "✖ 3 problems (3 errors, 0 warnings)\n3 errors potentially fixable with `--fix`"),
        ran("npm run lint -- --fix", ""),
    ],
    "the head of a list of errors": [
        broke("npx tsc --noEmit", "a.ts(3,1): error TS2322: Type 'string' is not assignable to type 'number'.", 2),
        ran("npx tsc --noEmit | head -5", "a.ts(3,1): error TS2322: Type 'string' is not assignable"),
    ],
    "a path that was guessed": [
        broke("ls lamp", "ls: cannot access 'lamp': No such file or directory", 2),
        ran("ls src/lamp", "dim.py"),
    ],
    "checks that are not green yet": [
        broke("gh pr checks 12", "lint\tfail\t1m2s\thttps://x\nbuild\tpending\t0\thttps://x"),
        broke("gh pr checks 12", "lint\tfail\t1m2s\thttps://x\nbuild\tpass\t3m\thttps://x"),
    ],
    "a mirror that is down": [
        broke("docker build .", "failed to fetch https://deb.x/pool: 503 Service Unavailable"),
        broke("docker build .", "failed to fetch https://deb.x/pool: 503 Service Unavailable"),
        ran("docker build .", "done"),
    ],
    "a test before its code": [
        broke("pytest tests/test_dim.py", "ModuleNotFoundError: No module named 'lamp.dim'", 2),
        call("Write", {"file_path": "lamp/dim.py", "content": "def dim(): ..."}, "File created successfully"),
        broke("pytest tests/test_dim.py", "E  assert None == 3\n1 failed"),
        edited("lamp/dim.py"),
        ran("pytest tests/test_dim.py", "1 passed"),
    ],
    "questions with an exit code": [
        broke("git diff --quiet", ""),
        broke("git merge-base --is-ancestor v1 HEAD", ""),
        broke("pgrep -f lamp", ""),
        broke("lsof -i :3000", ""),
    ],
    "a server watched for five seconds": [
        broke("timeout 5 npm run dev", "> dev\nready on http://localhost:3000", 124),
        broke("timeout 5 npm run dev", "> dev\nready on http://localhost:3000", 124),
    ],
    "a program that must refuse": [
        broke("./bin/lamp --colour", "lamp: unknown flag: --colour", 2),
        said("Good, an unknown flag is rejected as expected."),
        ran("./bin/lamp --level 3", "dimmed"),
    ],
    "refusals that were wanted, one after the other": [
        broke("./bin/lamp --colour", "lamp: unknown flag: --colour", 2),
        said("It correctly rejects the flag. Now a level that is out of range:"),
        broke("./bin/lamp --level 900", "lamp: invalid value 900: must be below 100", 2),
    ],
    "a branch that is dirty": [
        broke("git checkout main", "error: Your local changes to the following files would be overwritten by checkout"),
        ran("git stash && git checkout main", "Switched to branch 'main'"),
    ],
    "types that were mended": [
        broke("mypy src", "src/a.py:4: error: Incompatible return value type\nFound 2 errors in 1 file"),
        edited("src/a.py"),
        broke("mypy src", "src/b.py:9: error: Missing return statement\nFound 1 error in 1 file"),
        edited("src/b.py"),
        ran("mypy src", "Success: no issues found"),
    ],
    "scripts of the moment": [
        broke("node -e 'console.log(a.b)'", "ReferenceError: a is not defined"),
        broke("node -e 'console.log(require(\"./x\").b)'", "Error: Cannot find module './x'"),
        ran("node -e 'console.log(1)'", "1"),
    ],
    "searches before a new file": [
        globbed("**/dimmer*"),
        grepped("class Dimmer"),
        grepped("Dimmer("),
        call("Write", {"file_path": "src/dimmer.ts", "content": "x"}, "File created successfully"),
        grepped("Dimmer", "src/dimmer.ts"),
    ],
    "a plan carried out": [
        edited("a.rs", "one", "two"),
        ran("cargo check", "Finished"),
        edited("a.rs", "three", "four"),
        ran("cargo check", "Finished"),
        edited("a.rs", "five", "six"),
        ran("cargo check", "Finished"),
    ],
}


@pytest.mark.parametrize("name", TEACHING)
def test_kept(tmp_path: Path, name: str) -> None:
    assert families(tmp_path, TEACHING[name]) != []


@pytest.mark.parametrize("name", PASSING)
def test_not_kept(tmp_path: Path, name: str) -> None:
    assert families(tmp_path, PASSING[name]) == []


def test_content_names_the_message_and_what_was_wrong_with_it(tmp_path: Path) -> None:
    (signal,) = mined(tmp_path, TEACHING["a message handed in from a text"])
    assert signal["content"] == (
        "`git add -A && git commit -m Dim the lamp` fails here (commit refused: the message must reference an item of "
        "the board); `git add -A && git commit -m [LAMP-31] Dim the lamp` works"
    )
    (field,) = mined(tmp_path, TEACHING["a field from a list"])
    assert 'fails here (Unknown JSON field: "lit")' in field["content"]
