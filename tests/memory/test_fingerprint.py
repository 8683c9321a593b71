"""Failures with one cause share a fingerprint, whatever showed it; noise has none."""

from __future__ import annotations

import json
import time
from collections import Counter

import pytest

from reflect_git.memory.fingerprint import describe_cause, fingerprint
from tests.conftest import RunCli
from tests.memory.failures import labelled

MISSING = "Exit code 1\nError: Cannot find module 'left-padder'\nRequire stack:\n- /home/ada/app/index.js"


def _pairs(counts: Counter[str] | Counter[tuple[str, str]]) -> int:
    return sum(count * (count - 1) // 2 for count in counts.values())


def test_labelled_failures_are_grouped_by_cause() -> None:
    rows = [one for one in labelled() if one.cluster]
    keys = [fingerprint(one.tool, one.given, one.error).key or f"none {at}" for at, one in enumerate(rows)]
    clusters = [one.cluster for one in rows]
    right, found, wanted = (
        _pairs(Counter(zip(clusters, keys, strict=True))), _pairs(Counter(keys)), _pairs(Counter(clusters)),
    )  # fmt: skip
    assert len(rows) >= 120
    assert right / found >= 0.96
    assert right / wanted >= 0.95


def test_noise_gets_no_fingerprint() -> None:
    rows = [one for one in labelled() if not one.cluster]
    kept = [one for one in rows if not fingerprint(one.tool, one.given, one.error).noise]
    assert len(rows) >= 25
    assert len(kept) <= len(rows) // 10, kept


@pytest.mark.parametrize(
    "error",
    [
        MISSING.replace("/home/ada/app", "/Users/kim/w/app-77"),
        f"\x1b[31m{MISSING}\x1b[0m",
        MISSING.replace("'", '"'),
        MISSING.replace("'left-padder'", "‘left-padder’"),
        MISSING.replace("\n", "\r\n"),
        "Exit code 1\n2026-03-04T10:11:12.345Z Error: Cannot find module 'left-padder'",
        "Exit code 2\nsrc/a.ts(3,1): error TS2307: Cannot find module 'left-padder'.",
    ],
)
def test_presentation_does_not_matter(error: str) -> None:
    assert fingerprint("Bash", {"command": "make"}, error) == fingerprint("Bash", {"command": "make"}, MISSING)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Cannot find module 'ab-one'", "Cannot find module 'ab-two'"),
        ('relation "carts" does not exist', 'relation "orders" does not exist'),
        ("connect ECONNREFUSED 127.0.0.1:7001", "listen EADDRINUSE: address already in use :::7001"),
        ("connect ECONNREFUSED 127.0.0.1:7001", "connect ECONNREFUSED 127.0.0.1:7002"),
        ("bash: jq: command not found", "bash: yq: command not found"),
        (
            "error TS2339: Property 'a' does not exist on type 'B'.",
            "error TS2339: Property 'c' does not exist on type 'B'.",
        ),
    ],
)
def test_another_cause_has_another_key(first: str, second: str) -> None:
    keys = {fingerprint("Bash", {"command": "make"}, f"Exit code 1\n{error}").key for error in (first, second)}
    assert len(keys) == 2
    assert "" not in keys


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("ERROR: Reauthentication failed. cannot prompt during non-interactive execution.", "cloud-login"),
        (" ! [rejeté] main -> main (non-fast-forward)", "git-push-behind"),
        ("fatal: could not read Password for 'https://git.example.com': x", "git-login git.example.com"),
        ("terminate called after throwing an instance of 'std::bad_alloc'", "memory make"),
        ("error: too many clients already", "db-connections"),
        ("OSError: [Errno 18] Invalid cross-device link: 'a' -> 'b'", "cross-device"),
        ("error[E0583]: file not found for module `door`", "module-missing door"),
        ("Error: no formulae or casks found for doorbell.", "package-missing doorbell"),
    ],
)
def test_each_wording_of_a_cause_is_recognised(error: str, cause: str) -> None:
    assert fingerprint("Bash", {"command": "make"}, f"Exit code 1\n{error}").cause == cause


def test_a_search_program_that_is_missing_is_no_noise() -> None:
    found = fingerprint("Bash", {"command": "fd door src"}, "Exit code 127\nbash: line 1: fd: command not found")
    assert (found.noise, found.cause) == (False, "command-missing fd")


def test_a_relative_path_is_scrubbed_whole() -> None:
    said = ("door hinges are loose in parts/left/a.yaml", "door hinges are loose in spare/b.yaml")
    keys = {fingerprint("Bash", {"command": "make"}, f"Exit code 2\nerror: {error}").key for error in said}
    assert len(keys) == 1


def test_a_code_within_a_word_is_no_cause() -> None:
    said = "Error: the door is stuck\n    at packageResolve (node:internal/modules/esm/resolve:8:9)"
    assert fingerprint("Bash", {"command": "make"}, f"Exit code 1\n{said}").cause == "other the door is stuck"


def test_a_message_in_another_language_is_the_same() -> None:
    said = ("bash: rg: command not found", "bash: rg: Kommando nicht gefunden.", "bash: rg : commande introuvable",
            "bash: rg: orden no encontrada", "bash: rg: 未找到命令")  # fmt: skip
    assert len({fingerprint("Bash", {"command": "rg x"}, f"Exit code 127\n{error}").key for error in said}) == 1


@pytest.mark.parametrize(
    ("command", "error", "kind"),
    [
        ("npx tsc", "src/a.ts(1,1): error TS2339: Property 'a' does not exist on type 'B'.", "types"),
        ("npx eslint .", "  1:1  error  Unexpected var  no-var", "lint"),
        ("npx playwright test", "Test timeout of 30000ms exceeded.", "test"),
        ("make", "bash: jq: command not found", "tool"),
    ],
)
def test_kind_follows_the_purpose(command: str, error: str, kind: str) -> None:
    assert fingerprint("Bash", {"command": command}, f"Exit code 1\n{error}").kind == kind


def test_describe_cause_reads_like_words() -> None:
    assert describe_cause("module-missing zod") == "module missing: zod"
    assert describe_cause("disk-full") == "disk full"
    assert describe_cause("other the cat sat on the socket") == "the cat sat on the socket"


@pytest.mark.parametrize("text", ["a" * 300_000, "': " * 90_000, "/x" * 150_000, "1:1 error " * 30_000, "\n" * 300_000])
def test_a_huge_error_takes_no_time(text: str) -> None:
    start = time.process_time()
    fingerprint("Bash", {"command": "make"}, f"Exit code 1\n{text} permission denied no such file refused not found")
    assert time.process_time() - start < 2


def test_try_reads_and_writes_json_lines_without_a_store(run_cli: RunCli) -> None:
    rows = [
        {"id": "a", "tool": "Bash", "input": {"command": "make"}, "error": MISSING},
        {"id": "b", "tool": "Bash", "input": {"command": "npm test"}, "error": MISSING.replace("/home/ada", "/srv")},
        {"id": "c", "tool": "Bash", "input": {"command": "grep x y"}, "error": "Exit code 1"},
    ]
    done = run_cli("incidents", "--try", "-", stdin="\n".join(map(json.dumps, rows)))
    first, second, third = map(json.loads, done.out.splitlines())
    assert first["id"] == "a"
    assert first["fingerprint"] == second["fingerprint"]
    assert third == {"id": "c", "fingerprint": None, "noise": True}
    assert run_cli("incidents", "--try", "-", stdin="[1]").code == 2
