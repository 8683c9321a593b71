"""The bench measures what it claims to; with stores of five signals, because the figures are not used here."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import (
    capture,
    concurrency,
    dedup_quality,
    generate,
    reading,
    reliability,
    remembering,
    reviewing,
    run,
    scoring,
    timing,
    varied_signals,
)
from bench.setting import REPO, Setting
from bench.table import Row, Table, as_markdown, as_text, build_timed_row
from bench.timing import BenchError, Command, Subject, Times, count_runs, fixed_subject, measure
from reflect_git.capture.score import TYPES
from reflect_git.records import yaml_form
from reflect_git.store.repository import Store


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setting]:
    """Generate stores in the folder of this test, not in the shared temporary folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for module in (capture, reading, remembering, reviewing):
        monkeypatch.setattr(module, "ROUNDS", 3)
    work = tmp_path / "work"
    work.mkdir()
    yield Setting(work, generate.make_project(work / "shop"), quick=True)


def python(program: str) -> Command:
    return Command((sys.executable, "-I", "-S", "-c", program), {})


def test_subjects_take_turns_and_rare_ones_sit_out() -> None:
    order: list[str] = []

    def subject(name: str, every: int) -> Subject:
        def prepare(_: int) -> list[Command]:
            order.append(name)
            return [python("pass")]

        return Subject(name, prepare, every)

    a, b = subject("a", 1), subject("b", 2)
    found = measure([a, b], rounds=3, warm_up=1)
    assert order == ["a", "a", "b", "a", "a", "b"]
    assert [len(found[name].seconds) for name in "ab"] == [3, 2]
    assert [count_runs(one, rounds=3, warm_up=1) for one in (a, b)] == [order.count("a"), order.count("b")]


def test_a_process_gets_its_input_and_its_time_is_its_own() -> None:
    wait = "import sys, time; sys.exit(sys.stdin.read() != 'moment'); "
    nap = "import time; time.sleep(0.2)"
    found = measure(
        [fixed_subject("nap", python(nap)), fixed_subject("reads", Command((*python(wait).argv,), {}, b"moment"))], 1, 0
    )
    assert found["nap"].fastest >= 0.2
    assert found["reads"].seconds


def test_what_fails_is_not_measured() -> None:
    with pytest.raises(BenchError, match="ended with 3: no such luck"):
        measure([fixed_subject("bad", python("import os; os.write(2, b'no such luck'); os._exit(3)"))], 1)


def test_a_generated_store_is_sound_and_its_copy_keeps_its_name(setting: Setting) -> None:
    store = generate.copy_store(5, setting.create_home("copy"), plain_copies=True)
    first = Store(str(generate.get_cached_store(5)), {})
    assert generate.count_committed(store) == 5
    assert store.machine == first.machine
    assert store.git.fsck().code == 0
    copies = sorted(Path(store.root, "signals").rglob("SIG-*.yaml"))
    kinds = {yaml_form.parse(copy.read_bytes())["type"] for copy in copies}
    assert len(copies) == 5
    assert kinds <= {"failure", "correction"}


def test_capture_is_measured_with_everything_beside_it(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "SIZES", (5,))
    (table,) = capture.tables(setting)
    rows = {row.name: row for row in table.rows}
    assert {capture.BASELINE, capture.BARE, capture.TYPICAL_RIVAL, "failure hook at 5"} <= set(rows)
    assert {"git add && git commit at 5", "GitPython index.add + commit at 5"} <= set(rows)
    assert rows["failure hook at 5"].ceiling == capture.CEILING
    assert rows[capture.BASELINE].ratio == 1.0


def test_a_hook_that_stores_nothing_is_not_measured(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    idle = setting.work / "idle.sh"
    idle.write_text("", encoding="utf-8")
    monkeypatch.setattr(capture, "SIZES", (5,))
    monkeypatch.setattr(capture, "LAUNCHER", idle)
    monkeypatch.setattr(capture, "APPEND", setting.work / "missing.py")
    monkeypatch.setattr(capture, "_build_git_batches", lambda *_: [])
    with pytest.raises(BenchError, match="hook at 5: 5 committed, 10 expected"):
        capture.tables(setting)


def test_hooks_at_once_lose_nothing(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "LANES", 4)
    monkeypatch.setattr(concurrency, "SIZE", 5)
    monkeypatch.setattr(concurrency, "BURST_SIZE", 6)
    table, together = concurrency.tables(setting)
    assert table.rows[-1] == together.rows[-1] == Row("captures lost", ratio=0, ceiling=0)
    assert "8 captures" in table.notes[0]
    assert [row.name for row in together.rows[1:3]] == ["6 hooks", "6 hooks, the first of a store"]


@pytest.mark.skipif(not reading.PROGRAM.exists(), reason="the console program is not installed beside this Python")
def test_search_incidents_and_digest_are_measured(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "SIZES", (200,))
    (table,) = remembering.tables(setting)
    assert [row.name for row in table.rows] == [
        remembering.FLOOR, "search at 200, warm", "incidents at 200, warm", "digest --week at 200, warm",
    ]  # fmt: skip
    assert [row.ceiling for row in table.rows] == [None, 4.0, 4.0, 4.0]


@pytest.mark.skipif(not reading.PROGRAM.exists(), reason="the console program is not installed beside this Python")
def test_reading_is_measured_cold_and_warm(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SIZES", (5,))
    monkeypatch.setattr(reading, "COMMANDS", ("stats",))
    (table,) = reading.tables(setting)
    assert [row.name for row in table.rows] == [reading.BASELINE, "stats --json at 5, warm", "stats --json at 5, cold"]


@pytest.mark.skipif(not reading.PROGRAM.exists(), reason="the console program is not installed beside this Python")
def test_what_waits_is_measured_to_the_first_candidate(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviewing, "SIZES", (200,))
    monkeypatch.chdir(setting.project)
    (table,) = reviewing.tables(setting)
    names = ["candidates at 200, cold", "candidates at 200, warm", "review at 200, until its first candidate"]
    assert [row.name for row in table.rows] == [reading.BASELINE, *names, "cold beyond warm at 200"]
    assert table.rows[-1].base == "1 s"


def test_signals_differ_as_people_do(setting: Setting) -> None:
    made = list(varied_signals.generate_signals(400, "desk", 1_771_000_000.0))
    assert len({one["content"] for one in made}) > 300
    assert {"failure", "correction", "discovery", "summary"} <= {one["type"] for one in made}
    assert made == list(varied_signals.generate_signals(400, "desk", 1_771_000_000.0))
    yaml_form.check(made[0])


def test_at_a_terminal_the_clock_stops_where_the_words_are() -> None:
    program = "import time; input('go [y]? '); print('there it is'); input(); time.sleep(1)"
    started = time.perf_counter()
    seconds = timing.time_command(Command(python(program).argv, {}, b"y\n", b"there it is"))
    assert time.perf_counter() - started - seconds > 0.9
    with pytest.raises(BenchError, match="ended with 0: "):
        timing.time_command(Command(python("input('go [y]? ')").argv, {}, b"y\n", b"never shown"))


def test_pairs_are_measured_where_they_are_labelled(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LABELLED", raising=False)
    assert run.SUBJECTS["dedup"](setting) == []
    folder = setting.work / "labelled" / "dev"
    folder.mkdir(parents=True)
    pairs = [("use pnpm, not npm", "don't use npm, use pnpm", "same"), ("use tabs", "use spaces", "contradicts")]
    lines = [json.dumps({"id": f"{at}", "a": a, "b": b, "label": label}) for at, (a, b, label) in enumerate(pairs)]
    (folder / "dedup.jsonl").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("LABELLED", str(folder.parent))
    (table,) = run.SUBJECTS["dedup"](setting)
    rows = {row.name: row.ratio for row in table.rows}
    assert rows["contradictions merged"] == 0
    assert rows["precision of merges"] == rows["contradictions: recall"] == 1
    assert set(dedup_quality.MIN_RATES) <= set(rows)


def test_what_blind_readers_say_is_counted(setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run.SUBJECTS["wording"](setting) == []
    verdicts = tmp_path / "reader.jsonl"
    lines = [{"n": 1, "acceptable": True, "inverted": False}, {"n": 2, "acceptable": False, "inverted": True}]
    verdicts.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    monkeypatch.setenv("RATED", str(verdicts))
    (table,) = run.SUBJECTS["wording"](setting)
    assert [row.ratio for row in table.rows] == [2, 0.5, 1]
    assert [row.is_over for row in table.rows] == [False, False, True]


def test_a_ratio_is_that_of_the_medians() -> None:
    base, slow = Times("base", [0.010, 0.020, 0.090]), Times("slow", [0.030, 0.050, 0.070])
    row = build_timed_row(slow, base, ceiling=2.0)
    assert row.ratio == pytest.approx(2.5)
    assert row.is_over
    assert not build_timed_row(slow, base, ceiling=2.5).is_over
    assert not build_timed_row(slow, base).is_over
    assert slow.percentile(50) == 0.050
    assert slow.percentile(95) == 0.070


def test_a_broken_ceiling_is_named_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = Table("Title", [Row("one | two", (0.001, 0.002), 2.5, "base", 2.0), Row("three", (0.001, 0.002))])
    monkeypatch.setattr(run, "SUBJECTS", {"one": lambda _: [table]})
    monkeypatch.setattr(run, "REPO", tmp_path)
    monkeypatch.setattr(run, "RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.chdir(os.getcwd())
    assert run.main(["--write"]) == 1
    assert capsys.readouterr().out.rstrip() == as_text(table)
    assert "  one | two     1.0        2.0   2.50  base        2  OVER" in as_text(table).splitlines()
    assert as_markdown(table) in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| one \\| two | 1.0 | 2.0 | 2.50 | base | 2 | OVER |" in as_markdown(table)


def test_only_what_exists_can_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run.main(["--only", "speed"])
    assert end.value.code == 2
    assert "there is no measurement 'speed'" in capsys.readouterr().err


def test_a_part_that_is_measured_anew_leaves_the_rest_of_the_results(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tables = {name: Table(f"Title of {name}", [Row("row", ratio=1)]) for name in ("one", "two", "never")}
    subjects = {"one": lambda _: [tables["one"]], "two": lambda _: [tables["two"]], "never": lambda _: []}
    monkeypatch.setattr(run, "SUBJECTS", subjects)
    monkeypatch.setattr(run, "REPO", tmp_path)
    monkeypatch.setattr(run, "RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.chdir(os.getcwd())
    assert run.main(["--write", "--only", "two"]) == 0
    assert run.main(["--write", "--only", "one,never"]) == 0
    text = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == ["Title of one", "Title of two"]
    assert text.count("Measured on ") == 2
    assert run.main(["--write"]) == 0
    assert (tmp_path / "RESULTS.md").read_text(encoding="utf-8") == text


def test_the_figures_of_a_run_are_those_of_all_its_processes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: Setting
) -> None:
    monkeypatch.setenv("RELIABILITY", str(tmp_path))
    assert reliability.tables("deep", setting) == [], "nothing is told of what did not run"
    (tmp_path / "deep" / "part").mkdir(parents=True)
    for path, facts in {
        "1.json": {"counts": {"kills": 3}},
        "2.json": {"counts": {"kills": 4, "storms": 1}},
        "3.json": {"counts": {}, "passed": 8, "failed": 1, "skipped": 0, "seconds": 1200, "ended": "2026-02-11"},
        "part/4.json": {"counts": {}, "passed": 4, "failed": 0, "skipped": 0, "seconds": 34, "ended": "2026-02-10"},
    }.items():
        (tmp_path / "deep" / path).write_text(json.dumps(facts))
    (table,) = reliability.tables("deep", setting)
    assert [(row.name, row.ratio, row.is_over) for row in table.rows] == [
        ("kills", 7, False), ("storms", 1, False),
        ("tests passed", 12, False), ("tests failed", 1, True), ("tests skipped", 0, False),
    ]  # fmt: skip
    assert table.notes == ["ended 2026-02-11, after 1,234 s"]


def test_scoring_is_measured_on_messages_of_ours_of_every_kind(setting: Setting) -> None:
    (table,) = scoring.tables(setting)
    assert [row.name for row in table.rows] == ["one message", "the slowest message", "loading the knowledge"]
    assert all(row.ratio and row.ratio > 0 for row in table.rows)
    assert any("\n" in text for text in scoring.load_messages())


def test_what_the_scorer_learns_from_is_whole() -> None:
    kinds = {"none", *TYPES}
    for name, columns, places in (("examples.tsv", 5, (1, 2)), ("sessions.tsv", 9, (2, 3))):
        head, *lines = (REPO / "bench" / name).read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in lines]
        assert {len(row) for row in (head.split("\t"), *rows)} == {columns}
        assert {row[places[0]] for row in rows} == kinds
        assert {row[places[1]] for row in rows} <= {"+", "-", "."}
        assert len({tuple(row) for row in rows}) == len(rows)


def test_what_teaches_the_scorer_what_lasts_has_both_kinds_in_every_language_and_channel() -> None:
    head, *lines = (REPO / "bench" / "lasting.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    assert head.split("\t") == ["language", "lasts", "via", "text"]
    assert {tuple(row[:2]) for row in rows} == {(one, kind) for one, *_ in rows for kind in "+-"}
    assert {tuple(row[1:3]) for row in rows} == {
        (kind, via) for kind in "+-" for via in ("prompt", "queued", "feedback")
    }
    assert len({row[3] for row in rows}) == len(rows)


def test_statements_have_both_kinds_in_every_language_and_enough_themes_to_hold_some_out() -> None:
    head, *lines = (REPO / "bench" / "statements.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    assert head.split("\t") == ["theme", "language", "type", "lasts", "via", "text"] and {len(row) for row in rows} == {
        6
    }
    assert {row[2] for row in rows} <= {"none", *TYPES} and {row[4] for row in rows} == {"prompt", "queued", "feedback"}
    assert all((row[2] == "none") == (row[3] == ".") for row in rows)
    assert {(row[1], row[3]) for row in rows} == {(one[1], kind) for one in rows for kind in "+-."}
    assert {"docs", "embedded", "mobile", "product", "security"} < {row[0] for row in rows}
    assert len({row[5] for row in rows}) == len(rows)
