"""More everyday transcripts, in many languages and tools: which of them teach something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.transcript_steps import (
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
)

TEACHING: dict[str, list[Step]] = {
    "db role": [
        failed_bash_call(
            "psql -U lamp -c 'select 1'",
            'psql: error: connection to server failed: FATAL: role "lamp" does not exist',
            2,
        ),
        failed_bash_call("psql -U lamp -l", 'psql: error: FATAL: role "lamp" does not exist', 2),
    ],
    "port": [
        failed_bash_call(
            "docker compose up -d",
            "Error response from daemon: driver failed: Bind for 0.0.0.0:5432 failed: port is already allocated",
        ),
        failed_bash_call(
            "docker compose up -d db",
            "Error response from daemon: Bind for 0.0.0.0:5432 failed: port is already allocated",
        ),
    ],
    "turbo": [
        failed_bash_call("npx turbo test", "x Could not find turbo.json. Follow directions at https://turbo.build"),
        bash_call("cd .. && npx turbo test", "5 successful"),
    ],
    "poetry": [
        failed_bash_call(
            "python manage.py migrate",
            "ImportError: Couldn't import Django. Are you sure it's installed and available on your PYTHONPATH",
        ),
        bash_call("poetry run python manage.py migrate", "OK"),
    ],
    "alembic": [
        failed_bash_call(
            "alembic upgrade head", "FAILED: No config file 'alembic.ini' found, or file has no '[alembic]' section"
        ),
        bash_call("alembic -c backend/alembic.ini upgrade head", "INFO"),
    ],
    "prisma gen": [
        failed_bash_call(
            "npm test",
            'Error: @prisma/client did not initialize yet. Please run "prisma generate".\n1 failed',
        ),
        bash_call("npx prisma generate", "Generated"),
        bash_call("npm test", "12 passed"),
    ],
    "nvm": [
        failed_bash_call(
            "npm run build",
            'error lamp@1.0.0: The engine "node" is incompatible with this module.',
        ),
        bash_call("nvm use 20 && npm run build", "built"),
    ],
    "make var": [
        failed_bash_call("make deploy", "make: *** ENV is not set.  Stop."),
        bash_call("make deploy ENV=staging", "deployed"),
    ],
    "rails": [
        failed_bash_call(
            "rails test",
            "ActiveRecord::PendingMigrationError: Migrations are pending, run: bin/rails db:migrate",
        ),
        bash_call("bin/rails db:migrate RAILS_ENV=test", "ok"),
        bash_call("rails test", "10 runs, 0 failures"),
    ],
    "flutter": [
        failed_bash_call("flutter test", "bash: flutter: command not found", 127),
        bash_call("fvm flutter test", "All tests passed!"),
    ],
    "go tags": [
        failed_bash_call("go test ./e2e", "package lamp/e2e: build constraints exclude all Go files in /x/e2e"),
        bash_call("go test -tags=e2e ./e2e", "ok"),
    ],
    "jest config": [
        failed_bash_call(
            "npx jest src/a.test.ts", "● Validation Error: Could not find a config file based on provided values"
        ),
        bash_call("npx jest -c config/jest.config.js src/a.test.ts", "PASS"),
    ],
    "ts-node": [
        failed_bash_call(
            "npx ts-node scripts/seed.ts", 'TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension ".ts"'
        ),
        bash_call("npx tsx scripts/seed.ts", "seeded"),
    ],
    "python3 -m venv": [
        failed_bash_call("pip install -r requirements.txt", "error: externally-managed-environment"),
        bash_call("python3 -m venv .venv && .venv/bin/pip install -r requirements.txt", "Successfully installed"),
    ],
    "terraform var": [
        failed_bash_call("terraform plan", "Error: No value for required variable"),
        bash_call("terraform plan -var-file=env/dev.tfvars", "No changes"),
    ],
    "hook blocks": [
        failed_bash_call(
            "git push origin main",
            "remote: error: GH006: Protected branch update failed.\nerror: failed to push some refs",
        ),
        bash_call("git push origin HEAD:feature/x", "ok"),
    ],
    "aws profile": [
        failed_bash_call(
            "aws s3 ls", 'Unable to locate credentials. You can configure credentials by running "aws configure".'
        ),
        bash_call("aws s3 ls --profile lamp", "bucket"),
    ],
    "xcode": [
        failed_bash_call(
            "xcodebuild test",
            "xcodebuild: error: The directory /x does not contain an Xcode project, workspace or package.",
        ),
        bash_call("cd ios && xcodebuild test", "TEST SUCCEEDED"),
    ],
    "mypy": [failed_bash_call("mypy .", "/bin/sh: mypy: not found", 127), bash_call("uv run mypy .", "Success")],
    "vitest watch": [
        build_call("Bash", {"command": "npm test"}, "Command timed out after 2m 0.0s", True),
        bash_call("npm test -- --run", "12 passed"),
    ],
    "read big": [
        failed_bash_call("cargo clippy", "error: no such command: `clippy`", 101),
        bash_call("rustup component add clippy", "ok"),
        bash_call("cargo clippy", "Finished"),
    ],
    "bundle": [
        failed_bash_call(
            "rspec spec/lamp_spec.rb", "Could not find rspec-core-3.12 in any of the sources (Bundler::GemNotFound)"
        ),
        bash_call("bundle exec rspec spec/lamp_spec.rb", "3 examples, 0 failures"),
    ],
    "mvn": [
        failed_bash_call(
            "mvn test",
            "[ERROR] The goal you specified requires a project to execute but there is no POM in this directory",
        ),
        bash_call("mvn -f server/pom.xml test", "BUILD SUCCESS"),
    ],
    "dotnet": [
        failed_bash_call(
            "dotnet test",
            "MSBUILD : error MSB1011: Specify which project or solution file to use",
        ),
        bash_call("dotnet test Lamp.sln", "Passed!"),
    ],
    "php": [
        failed_bash_call("phpunit", "bash: phpunit: command not found", 127),
        bash_call("vendor/bin/phpunit", "OK (4 tests)"),
    ],
    "sam": [
        failed_bash_call(
            "gh pr create --fill",
            "pull request create failed: GraphQL: Head sha can't be blank, Base sha can't be blank",
        ),
        bash_call("gh pr create --fill --base develop", "https://x/pull/1"),
    ],
    "wrangler": [
        failed_bash_call("wrangler deploy", "Authentication error [code: 10000]"),
        failed_bash_call("wrangler deploy --env prod", "Authentication error [code: 10000]"),
    ],
    "supabase": [
        failed_bash_call("supabase db reset", "Cannot find project ref. Have you run supabase link?"),
        bash_call("supabase link --project-ref abc", "Linked"),
        bash_call("supabase db reset", "Finished"),
    ],
    "hook says": [
        failed_bash_call("npm install lodash", "PreToolUse:Bash hook error: blocked: use pnpm in this repo"),
        bash_call("pnpm add lodash", "+ lodash"),
    ],
    "mcp": [
        build_call("mcp__db__query", {"sql": "a"}, "MCP error -32000: Connection closed", True),
        build_call("mcp__db__query", {"sql": "b"}, "MCP error -32000: Connection closed", True),
    ],
    "notebook": [
        failed_bash_call("jupyter nbconvert a.ipynb", "Jupyter command `jupyter-nbconvert` not found."),
        bash_call("uv run jupyter nbconvert a.ipynb", "ok"),
    ],
    "bazel": [
        failed_bash_call(
            "bazel test //lamp", "ERROR: no such target '//lamp:lamp': target 'lamp' not declared in package"
        ),
        bash_call("bazel test //lamp/...", "PASSED"),
    ],
    "thrash2": [
        glob_call("**/routes.ts"),
        glob_call("**/router/*.ts"),
        grep_call("createRouter"),
        grep_call("addRoute"),
        bash_call("grep -rl 'path:' apps | head", "apps/shell/src/nav/table.ts"),
    ],
}

PASSING: dict[str, list[Step]] = {
    "flaky": [failed_bash_call("npm test", "Tests: 1 failed, 20 passed"), bash_call("npm test", "21 passed")],
    "tests fixed by write": [
        failed_bash_call("go test ./...", "./lamp.go:3:1: undefined: Dim\nFAIL lamp [build failed]"),
        build_call("Write", {"file_path": "dim.go", "content": "x"}, "File created"),
        bash_call("go test ./...", "ok"),
    ],
    "merge conflict": [
        failed_bash_call(
            "git merge dev", "CONFLICT (content): Merge conflict in a.py\nAutomatic merge failed; fix conflicts"
        ),
        edit_call("a.py"),
        bash_call("git add a.py && git merge --continue", "ok"),
    ],
    "test exists": [failed_bash_call("test -f lamp.py", ""), failed_bash_call("test -f bulb.py", "")],
    "which": [failed_bash_call("which docker", ""), failed_bash_call("which podman", "")],
    "cat": [
        failed_bash_call("cat config/lamp.yml", "cat: config/lamp.yml: No such file or directory"),
        bash_call("cat conf/lamp.yml", "on: true"),
    ],
    "ruff loop": [
        failed_bash_call("ruff check .", "lamp.py:1:1 F401 unused import\nFound 3 errors."),
        edit_call("lamp.py"),
        failed_bash_call("ruff check .", "lamp.py:9:1 E501 line too long\nFound 1 error."),
        edit_call("lamp.py"),
        bash_call("ruff check .", "All checks passed!"),
    ],
    "build loop": [
        failed_bash_call("npm run build", "src/a.ts:4:3 - error TS2304: Cannot find name 'Lamp'."),
        edit_call("src/a.ts"),
        failed_bash_call("npm run build", "src/b.ts:4:3 - error TS2304: Cannot find name 'Bulb'."),
        edit_call("src/b.ts"),
        bash_call("npm run build", "ok"),
    ],
    "mutation": [
        edit_call("a.py", "x > 1", "x >= 1"),
        failed_bash_call("pytest", "FAILED\n1 failed"),
        edit_call("a.py", "x >= 1", "x > 1"),
        bash_call("pytest", "ok"),
    ],
    "jq": [
        failed_bash_call("jq .a x.json", 'jq: error (at x.json:1): Cannot index array with string "a"', 5),
        bash_call("jq .[0].a x.json", "1"),
    ],
    "sql": [
        failed_bash_call("sqlite3 a.db 'select lamp from t'", "Error: in prepare, no such column: lamp"),
        bash_call("sqlite3 a.db 'select name from t'", "x"),
    ],
    "diff": [
        failed_bash_call("git diff --exit-code", "diff --git a/a b/a\n-error\n+ok"),
        failed_bash_call("git diff --exit-code", "diff --git a/a b/a\n-error\n+ok"),
    ],
    "kill": [
        failed_bash_call("kill 123", "bash: kill: (123) - No such process"),
        failed_bash_call("kill 124", "bash: kill: (124) - No such process"),
    ],
    "tail": [
        failed_bash_call("cargo build", "error[E0425]: cannot find value `x`", 101),
        bash_call("cargo build 2>&1 | tail -5", "error: could not compile"),
    ],
    "pip masked": [
        failed_bash_call("pip install lamp", "ERROR: No matching distribution found for lamp"),
        bash_call("pip install lamp || echo skipped", "ERROR: No matching distribution found for lamp\nskipped"),
    ],
    "commit hook lint": [
        failed_bash_call("git commit -m 'feat: a'", "husky > pre-commit\n✖ eslint --fix:\n  4:1 error unused"),
        edit_call("a.ts"),
        bash_call("git add -A && git commit -m 'feat: a'", "[main 1] feat: a"),
    ],
    "multi edits ok": [edit_call("a.md", f"s{i}", f"t{i}") for i in range(5)],
    "read then edit": [failed_edit_call("a.py"), build_call("Read", {"file_path": "a.py"}, "1→x"), edit_call("a.py")],
    "parallel reads": [
        build_call("Read", {"file_path": "a"}, "File does not exist.", True),
        build_call("Read", {"file_path": "b"}, "<tool_use_error>Sibling tool call errored</tool_use_error>", True),
    ],
    "unused check then delete": [
        grep_call("dimLamp"),
        grep_call("dim_lamp"),
        grep_call("DimLamp"),
        assistant_text("No usages found, safe to delete."),
        bash_call("rm src/dim.ts", ""),
        grep_call("x", "a.ts"),
    ],
    "gh checks": [
        failed_bash_call("gh run watch 12 --exit-status", "X main CI · 12\nJOBS\nX build failed"),
        failed_bash_call("gh run view 12 --log-failed", "X build failed with error"),
    ],
    "go build": [
        failed_bash_call("go build ./...", 'lamp/dim.go:10:2: imported and not used: "fmt"'),
        edit_call("lamp/dim.go"),
        bash_call("go build ./...", ""),
    ],
    "swift": [
        failed_bash_call("swift build", "error: cannot convert value of type 'Int' to 'String'"),
        edit_call("a.swift"),
        failed_bash_call("swift build", "error: missing return"),
        edit_call("a.swift"),
        bash_call("swift build", "ok"),
    ],
    "pod": [
        failed_bash_call(
            "kubectl logs lamp-7f9", "Error from server (BadRequest): container is waiting to start: ContainerCreating"
        ),
        bash_call("kubectl logs lamp-7f9", "on"),
    ],
    "rebase": [
        failed_bash_call("git rebase main", "error: cannot rebase: You have unstaged changes."),
        bash_call("git stash && git rebase main", "ok"),
    ],
    "py script": [
        failed_bash_call("python3 scripts/dim.py", "Traceback (most recent call last):\n  File\nKeyError: 'lamp'"),
        edit_call("scripts/dim.py"),
        bash_call("python3 scripts/dim.py", "ok"),
    ],
    "docker build edit": [
        failed_bash_call(
            "docker build -t lamp .",
            'ERROR: failed to solve: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1',
        ),
        edit_call("Dockerfile"),
        failed_bash_call("docker build -t lamp .", "ERROR: failed to solve: failed to compute cache key"),
        edit_call("Dockerfile"),
        bash_call("docker build -t lamp .", "ok"),
    ],
    "absent2": [
        bash_call("grep -rn 'lampV1' src", ""),
        bash_call("grep -rn 'LampV1' tests", ""),
        bash_call("grep -rn 'lamp_v1' docs", ""),
        assistant_text("No leftover references to the old name."),
        bash_call("git add -A && git commit -m 'rename'", "ok"),
        bash_call("grep -rn lampV2 src", "src/a.ts"),
    ],
    "make red": [
        failed_bash_call("make test", "--- FAIL: TestDim (0.00s)\nmake: *** [Makefile:4: test] Error 1"),
        edit_call("dim.go"),
        bash_call("make test", "ok"),
    ],
    "playwright": [
        failed_bash_call(
            "npx playwright test a.spec.ts",
            "  1 failed\n    a.spec.ts:3:1 › lamp\nError: expect(locator).toBeVisible() failed",
        ),
        edit_call("a.tsx"),
        bash_call("npx playwright test a.spec.ts", "1 passed"),
    ],
    "narrow build": [
        failed_bash_call("pnpm build", "ELIFECYCLE Command failed with exit code 1.\nerror during build"),
        bash_call("pnpm --filter ui build", "ok"),
    ],
    "heredoc": [
        failed_bash_call("python3 - <<'E'\nimport json\njson.loads(x)\nE", "NameError: name 'x' is not defined"),
        bash_call("python3 - <<'E'\nprint(1)\nE", "1"),
    ],
}


@pytest.mark.parametrize("name", TEACHING)
def test_kept(tmp_path: Path, name: str) -> None:
    assert find_failures(tmp_path, TEACHING[name]) != []


@pytest.mark.parametrize("name", PASSING)
def test_not_kept(tmp_path: Path, name: str) -> None:
    assert find_failures(tmp_path, PASSING[name]) == []
