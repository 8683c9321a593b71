"""More everyday transcripts, in many languages and tools: which of them teach something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.windows import Step, broke, call, edited, families, globbed, grepped, missed, ran, said

TEACHING: dict[str, list[Step]] = {
    "db role": [
        broke(
            "psql -U lamp -c 'select 1'",
            'psql: error: connection to server failed: FATAL: role "lamp" does not exist',
            2,
        ),
        broke("psql -U lamp -l", 'psql: error: FATAL: role "lamp" does not exist', 2),
    ],
    "port": [
        broke(
            "docker compose up -d",
            "Error response from daemon: driver failed: Bind for 0.0.0.0:5432 failed: port is already allocated",
        ),
        broke(
            "docker compose up -d db",
            "Error response from daemon: Bind for 0.0.0.0:5432 failed: port is already allocated",
        ),
    ],
    "turbo": [
        broke("npx turbo test", "x Could not find turbo.json. Follow directions at https://turbo.build"),
        ran("cd .. && npx turbo test", "5 successful"),
    ],
    "poetry": [
        broke(
            "python manage.py migrate",
            "ImportError: Couldn't import Django. Are you sure it's installed and available on your PYTHONPATH",
        ),
        ran("poetry run python manage.py migrate", "OK"),
    ],
    "alembic": [
        broke("alembic upgrade head", "FAILED: No config file 'alembic.ini' found, or file has no '[alembic]' section"),
        ran("alembic -c backend/alembic.ini upgrade head", "INFO"),
    ],
    "prisma gen": [
        broke(
            "npm test",
            'Error: @prisma/client did not initialize yet. Please run "prisma generate".\n1 failed',
        ),
        ran("npx prisma generate", "Generated"),
        ran("npm test", "12 passed"),
    ],
    "nvm": [
        broke(
            "npm run build",
            'error lamp@1.0.0: The engine "node" is incompatible with this module.',
        ),
        ran("nvm use 20 && npm run build", "built"),
    ],
    "make var": [broke("make deploy", "make: *** ENV is not set.  Stop."), ran("make deploy ENV=staging", "deployed")],
    "rails": [
        broke(
            "rails test",
            "ActiveRecord::PendingMigrationError: Migrations are pending, run: bin/rails db:migrate",
        ),
        ran("bin/rails db:migrate RAILS_ENV=test", "ok"),
        ran("rails test", "10 runs, 0 failures"),
    ],
    "flutter": [
        broke("flutter test", "bash: flutter: command not found", 127),
        ran("fvm flutter test", "All tests passed!"),
    ],
    "go tags": [
        broke("go test ./e2e", "package lamp/e2e: build constraints exclude all Go files in /x/e2e"),
        ran("go test -tags=e2e ./e2e", "ok"),
    ],
    "jest config": [
        broke("npx jest src/a.test.ts", "● Validation Error: Could not find a config file based on provided values"),
        ran("npx jest -c config/jest.config.js src/a.test.ts", "PASS"),
    ],
    "ts-node": [
        broke("npx ts-node scripts/seed.ts", 'TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension ".ts"'),
        ran("npx tsx scripts/seed.ts", "seeded"),
    ],
    "python3 -m venv": [
        broke("pip install -r requirements.txt", "error: externally-managed-environment"),
        ran("python3 -m venv .venv && .venv/bin/pip install -r requirements.txt", "Successfully installed"),
    ],
    "terraform var": [
        broke("terraform plan", "Error: No value for required variable"),
        ran("terraform plan -var-file=env/dev.tfvars", "No changes"),
    ],
    "hook blocks": [
        broke(
            "git push origin main",
            "remote: error: GH006: Protected branch update failed.\nerror: failed to push some refs",
        ),
        ran("git push origin HEAD:feature/x", "ok"),
    ],
    "aws profile": [
        broke("aws s3 ls", 'Unable to locate credentials. You can configure credentials by running "aws configure".'),
        ran("aws s3 ls --profile lamp", "bucket"),
    ],
    "xcode": [
        broke(
            "xcodebuild test",
            "xcodebuild: error: The directory /x does not contain an Xcode project, workspace or package.",
        ),
        ran("cd ios && xcodebuild test", "TEST SUCCEEDED"),
    ],
    "mypy": [broke("mypy .", "/bin/sh: mypy: not found", 127), ran("uv run mypy .", "Success")],
    "vitest watch": [
        call("Bash", {"command": "npm test"}, "Command timed out after 2m 0.0s", True),
        ran("npm test -- --run", "12 passed"),
    ],
    "read big": [
        broke("cargo clippy", "error: no such command: `clippy`", 101),
        ran("rustup component add clippy", "ok"),
        ran("cargo clippy", "Finished"),
    ],
    "bundle": [
        broke("rspec spec/lamp_spec.rb", "Could not find rspec-core-3.12 in any of the sources (Bundler::GemNotFound)"),
        ran("bundle exec rspec spec/lamp_spec.rb", "3 examples, 0 failures"),
    ],
    "mvn": [
        broke(
            "mvn test",
            "[ERROR] The goal you specified requires a project to execute but there is no POM in this directory",
        ),
        ran("mvn -f server/pom.xml test", "BUILD SUCCESS"),
    ],
    "dotnet": [
        broke(
            "dotnet test",
            "MSBUILD : error MSB1011: Specify which project or solution file to use",
        ),
        ran("dotnet test Lamp.sln", "Passed!"),
    ],
    "php": [broke("phpunit", "bash: phpunit: command not found", 127), ran("vendor/bin/phpunit", "OK (4 tests)")],
    "sam": [
        broke(
            "gh pr create --fill",
            "pull request create failed: GraphQL: Head sha can't be blank, Base sha can't be blank",
        ),
        ran("gh pr create --fill --base develop", "https://x/pull/1"),
    ],
    "wrangler": [
        broke("wrangler deploy", "Authentication error [code: 10000]"),
        broke("wrangler deploy --env prod", "Authentication error [code: 10000]"),
    ],
    "supabase": [
        broke("supabase db reset", "Cannot find project ref. Have you run supabase link?"),
        ran("supabase link --project-ref abc", "Linked"),
        ran("supabase db reset", "Finished"),
    ],
    "hook says": [
        broke("npm install lodash", "PreToolUse:Bash hook error: blocked: use pnpm in this repo"),
        ran("pnpm add lodash", "+ lodash"),
    ],
    "mcp": [
        call("mcp__db__query", {"sql": "a"}, "MCP error -32000: Connection closed", True),
        call("mcp__db__query", {"sql": "b"}, "MCP error -32000: Connection closed", True),
    ],
    "notebook": [
        broke("jupyter nbconvert a.ipynb", "Jupyter command `jupyter-nbconvert` not found."),
        ran("uv run jupyter nbconvert a.ipynb", "ok"),
    ],
    "bazel": [
        broke("bazel test //lamp", "ERROR: no such target '//lamp:lamp': target 'lamp' not declared in package"),
        ran("bazel test //lamp/...", "PASSED"),
    ],
    "thrash2": [
        globbed("**/routes.ts"),
        globbed("**/router/*.ts"),
        grepped("createRouter"),
        grepped("addRoute"),
        ran("grep -rl 'path:' apps | head", "apps/shell/src/nav/table.ts"),
    ],
}

PASSING: dict[str, list[Step]] = {
    "flaky": [broke("npm test", "Tests: 1 failed, 20 passed"), ran("npm test", "21 passed")],
    "tests fixed by write": [
        broke("go test ./...", "./lamp.go:3:1: undefined: Dim\nFAIL lamp [build failed]"),
        call("Write", {"file_path": "dim.go", "content": "x"}, "File created"),
        ran("go test ./...", "ok"),
    ],
    "merge conflict": [
        broke("git merge dev", "CONFLICT (content): Merge conflict in a.py\nAutomatic merge failed; fix conflicts"),
        edited("a.py"),
        ran("git add a.py && git merge --continue", "ok"),
    ],
    "test exists": [broke("test -f lamp.py", ""), broke("test -f bulb.py", "")],
    "which": [broke("which docker", ""), broke("which podman", "")],
    "cat": [
        broke("cat config/lamp.yml", "cat: config/lamp.yml: No such file or directory"),
        ran("cat conf/lamp.yml", "on: true"),
    ],
    "ruff loop": [
        broke("ruff check .", "lamp.py:1:1 F401 unused import\nFound 3 errors."),
        edited("lamp.py"),
        broke("ruff check .", "lamp.py:9:1 E501 line too long\nFound 1 error."),
        edited("lamp.py"),
        ran("ruff check .", "All checks passed!"),
    ],
    "build loop": [
        broke("npm run build", "src/a.ts:4:3 - error TS2304: Cannot find name 'Lamp'."),
        edited("src/a.ts"),
        broke("npm run build", "src/b.ts:4:3 - error TS2304: Cannot find name 'Bulb'."),
        edited("src/b.ts"),
        ran("npm run build", "ok"),
    ],
    "mutation": [
        edited("a.py", "x > 1", "x >= 1"),
        broke("pytest", "FAILED\n1 failed"),
        edited("a.py", "x >= 1", "x > 1"),
        ran("pytest", "ok"),
    ],
    "jq": [
        broke("jq .a x.json", 'jq: error (at x.json:1): Cannot index array with string "a"', 5),
        ran("jq .[0].a x.json", "1"),
    ],
    "sql": [
        broke("sqlite3 a.db 'select lamp from t'", "Error: in prepare, no such column: lamp"),
        ran("sqlite3 a.db 'select name from t'", "x"),
    ],
    "diff": [
        broke("git diff --exit-code", "diff --git a/a b/a\n-error\n+ok"),
        broke("git diff --exit-code", "diff --git a/a b/a\n-error\n+ok"),
    ],
    "kill": [
        broke("kill 123", "bash: kill: (123) - No such process"),
        broke("kill 124", "bash: kill: (124) - No such process"),
    ],
    "tail": [
        broke("cargo build", "error[E0425]: cannot find value `x`", 101),
        ran("cargo build 2>&1 | tail -5", "error: could not compile"),
    ],
    "pip masked": [
        broke("pip install lamp", "ERROR: No matching distribution found for lamp"),
        ran("pip install lamp || echo skipped", "ERROR: No matching distribution found for lamp\nskipped"),
    ],
    "commit hook lint": [
        broke("git commit -m 'feat: a'", "husky > pre-commit\n✖ eslint --fix:\n  4:1 error unused"),
        edited("a.ts"),
        ran("git add -A && git commit -m 'feat: a'", "[main 1] feat: a"),
    ],
    "multi edits ok": [edited("a.md", f"s{i}", f"t{i}") for i in range(5)],
    "read then edit": [missed("a.py"), call("Read", {"file_path": "a.py"}, "1→x"), edited("a.py")],
    "parallel reads": [
        call("Read", {"file_path": "a"}, "File does not exist.", True),
        call("Read", {"file_path": "b"}, "<tool_use_error>Sibling tool call errored</tool_use_error>", True),
    ],
    "unused check then delete": [
        grepped("dimLamp"),
        grepped("dim_lamp"),
        grepped("DimLamp"),
        said("No usages found, safe to delete."),
        ran("rm src/dim.ts", ""),
        grepped("x", "a.ts"),
    ],
    "gh checks": [
        broke("gh run watch 12 --exit-status", "X main CI · 12\nJOBS\nX build failed"),
        broke("gh run view 12 --log-failed", "X build failed with error"),
    ],
    "go build": [
        broke("go build ./...", 'lamp/dim.go:10:2: imported and not used: "fmt"'),
        edited("lamp/dim.go"),
        ran("go build ./...", ""),
    ],
    "swift": [
        broke("swift build", "error: cannot convert value of type 'Int' to 'String'"),
        edited("a.swift"),
        broke("swift build", "error: missing return"),
        edited("a.swift"),
        ran("swift build", "ok"),
    ],
    "pod": [
        broke(
            "kubectl logs lamp-7f9", "Error from server (BadRequest): container is waiting to start: ContainerCreating"
        ),
        ran("kubectl logs lamp-7f9", "on"),
    ],
    "rebase": [
        broke("git rebase main", "error: cannot rebase: You have unstaged changes."),
        ran("git stash && git rebase main", "ok"),
    ],
    "py script": [
        broke("python3 scripts/dim.py", "Traceback (most recent call last):\n  File\nKeyError: 'lamp'"),
        edited("scripts/dim.py"),
        ran("python3 scripts/dim.py", "ok"),
    ],
    "docker build edit": [
        broke(
            "docker build -t lamp .",
            'ERROR: failed to solve: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1',
        ),
        edited("Dockerfile"),
        broke("docker build -t lamp .", "ERROR: failed to solve: failed to compute cache key"),
        edited("Dockerfile"),
        ran("docker build -t lamp .", "ok"),
    ],
    "absent2": [
        ran("grep -rn 'lampV1' src", ""),
        ran("grep -rn 'LampV1' tests", ""),
        ran("grep -rn 'lamp_v1' docs", ""),
        said("No leftover references to the old name."),
        ran("git add -A && git commit -m 'rename'", "ok"),
        ran("grep -rn lampV2 src", "src/a.ts"),
    ],
    "make red": [
        broke("make test", "--- FAIL: TestDim (0.00s)\nmake: *** [Makefile:4: test] Error 1"),
        edited("dim.go"),
        ran("make test", "ok"),
    ],
    "playwright": [
        broke(
            "npx playwright test a.spec.ts",
            "  1 failed\n    a.spec.ts:3:1 › lamp\nError: expect(locator).toBeVisible() failed",
        ),
        edited("a.tsx"),
        ran("npx playwright test a.spec.ts", "1 passed"),
    ],
    "narrow build": [
        broke("pnpm build", "ELIFECYCLE Command failed with exit code 1.\nerror during build"),
        ran("pnpm --filter ui build", "ok"),
    ],
    "heredoc": [
        broke("python3 - <<'E'\nimport json\njson.loads(x)\nE", "NameError: name 'x' is not defined"),
        ran("python3 - <<'E'\nprint(1)\nE", "1"),
    ],
}


@pytest.mark.parametrize("name", TEACHING)
def test_kept(tmp_path: Path, name: str) -> None:
    assert families(tmp_path, TEACHING[name]) != []


@pytest.mark.parametrize("name", PASSING)
def test_not_kept(tmp_path: Path, name: str) -> None:
    assert families(tmp_path, PASSING[name]) == []
