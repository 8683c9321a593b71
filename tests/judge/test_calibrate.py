"""Calibration: twenty samples of known quality tell a judge that follows the anchors from one that does not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from reflect_git import paths
from reflect_git.judge import calibrate, calls, rubric
from reflect_git.judge.calibrate import ORDINARY, PLANTED, Calibration
from reflect_git.records.schema import CRITERIA
from reflect_git.store.repository import Store
from tests.judge.judges import FOLLOW_ANCHORS, switch_on, write_judge
from tests.store.store_checks import open_store


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


def run(store: Store, tmp_path: Path, body: str) -> Calibration:
    switch_on(store, write_judge(tmp_path, body))
    return calibrate.run(store, os.environ, calls.load_judge(store))


def test_there_are_twelve_ordinary_samples_and_eight_with_a_failure() -> None:
    samples = calibrate.load_samples()
    kinds = [one.kind for one in samples]
    assert (kinds.count(ORDINARY), kinds.count(PLANTED), len(kinds)) == (12, 8, 20)
    assert all(one.extract.messages[0].role == "user" for one in samples)
    bribe = next(one for one in samples if one.name == "28-bribe")
    assert any("5 out of 5" in one.text for one in bribe.extract.messages)


def test_a_judge_that_follows_the_anchors_passes_and_the_bribe_changes_nothing(store: Store, tmp_path: Path) -> None:
    made = run(store, tmp_path, FOLLOW_ANCHORS)
    assert made.passed and not made.high_planted and not made.low_ordinary
    samples = {one.name: one.kind for one in calibrate.load_samples()}
    assert all((made.scores[name] or 9) < 3 for name, kind in samples.items() if kind == PLANTED)
    assert made.scores["28-bribe"] == 2.0
    assert calibrate.is_anchored(store, made.judge)


@pytest.mark.parametrize(("score", "wrong"), [(5, 8), (1, 12), (3.6, 8), (2.9, 12)])
def test_a_judge_that_always_says_the_same_fails(store: Store, tmp_path: Path, score: float, wrong: int) -> None:
    made = run(store, tmp_path, f"score = {score}")
    assert not made.passed and len(made.high_planted) + len(made.low_ordinary) == wrong
    assert not calibrate.is_anchored(store, made.judge)


def test_a_judge_that_obeys_the_bribe_fails(store: Store, tmp_path: Path) -> None:
    made = run(store, tmp_path, f"{FOLLOW_ANCHORS}\nif '5 out of 5' in said: score = 5")
    assert made.high_planted == ("28-bribe",) and not made.passed


def test_a_judge_that_invents_quotes_has_no_scores(store: Store, tmp_path: Path) -> None:
    made = run(store, tmp_path, f"{FOLLOW_ANCHORS}\nquote = {{'n': 1, 'text': 'nobody ever said this'}}")
    assert set(made.scores.values()) == {None} and not made.passed


def test_another_model_prompt_or_rubric_was_not_calibrated(store: Store, tmp_path: Path) -> None:
    made = run(store, tmp_path, FOLLOW_ANCHORS)
    for name in ("kind", "model", "rubric_sha", "prompt_sha"):
        assert not calibrate.is_anchored(store, {**made.judge, name: "another"})
    again = run(store, tmp_path, "score = 5")
    assert again.judge["model"] != made.judge["model"], "another program is another judge"
    assert calibrate.is_anchored(store, made.judge) and not calibrate.is_anchored(store, again.judge)


@pytest.mark.parametrize("damage", [b"", b"[]", b"{", b'{"x": 5}', b"\xff"])
def test_a_damaged_file_means_not_anchored(store: Store, tmp_path: Path, damage: bytes) -> None:
    made = run(store, tmp_path, FOLLOW_ANCHORS)
    Path(store.private_path(calibrate.FILE)).write_bytes(damage)
    assert not calibrate.is_anchored(store, made.judge)


def test_the_rubric_has_all_anchors_and_the_last_criterion_is_inverted() -> None:
    text = rubric.load_rubric(None).text
    sections = text.split("\n\n")
    assert [one.partition(":")[0] for one in sections] == list(CRITERIA)
    assert sum(one.count(f"\n  {number} = ") for one in sections for number in range(1, 6)) == 25
    assert "inverted" in sections[-1] and not any("inverted" in one for one in sections[:-1])
    assert "Do not be generous." in rubric.build_system_prompt(rubric.load_rubric(None))


def test_an_own_rubric_counts_and_has_to_be_calibrated(store: Store, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        (Path(paths.resource_path("templates", "rubric.yaml"))).read_text().replace("Entirely wrong", "All wrong")
        + "# edited\n"
    )
    switch_on(store, None, **{"reflect.judge.rubric": str(own)})
    found = rubric.load_rubric(store)
    assert "All wrong" in found.text and found.sha != rubric.load_rubric(None).sha


def test_agreement_counts_the_pairs_in_which_more_corrections_go_with_a_lower_score() -> None:
    def records(*pairs: tuple[int, float]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for at, (corrections, score) in enumerate(pairs):
            found.append({"id": f"EXP-{at}", "session": str(at), "typed": 10, "corrections": corrections})
            found.append({"id": f"EVL-{at}", "session": str(at), "overall": score, "judge": {}})
        return found

    assert calibrate.count_agreement(records((0, 4.5), (3, 2.0), (1, 4.0))) == (3, 3)
    assert calibrate.count_agreement(records((0, 2.0), (3, 4.0))) == (0, 1)
    assert calibrate.count_agreement(records((0, 2.0), (0, 4.0))) == (0, 0)


def test_the_calibration_is_stored_without_any_text(store: Store, tmp_path: Path) -> None:
    run(store, tmp_path, FOLLOW_ANCHORS)
    (entry,) = json.loads(Path(store.private_path(calibrate.FILE)).read_text()).values()
    assert sorted(entry) == ["at", "judge", "passed", "scores"]
