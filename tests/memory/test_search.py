"""Search: what a person remembers of a text is enough to find it, whatever characters it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reflect_git.memory import search
from reflect_git.platform import yaml_loose
from reflect_git.records.ids import random_id, utc, utc_precise
from reflect_git.store import api, append, index
from reflect_git.store.index import Index
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.store.operations import BY
from tests.store.store_checks import capture, open_store

ROWS = [
    tuple(part.strip() for part in line.split("|"))
    for line in (Path(__file__).parent / "searches.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
THINGS = "cart parser header checkout report footer gateway importer widget ledger".split()
DOINGS = "is rendered twice|needs a lock|was moved to the core|has no owner|reads the old table|waits for input".split(
    "|"
)


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


def find(store: Store, words: str, **more: Any) -> list[search.SearchHit]:
    return search.search(store, Index(store, yaml_loose.parse_edited), words, **more)


def add_many(store: Store, texts: list[str]) -> None:
    first = capture(store, "the first remark")
    append.append_new(
        store,
        [{**first, "id": random_id("SIG", utc()), "content": text, "key": f"k{n}"} for n, text in enumerate(texts)],
    )


def add_digest(store: Store, *lines: tuple[str, str, list[str]], key: str = "") -> str:
    made = {
        "id": random_id("DIG", utc()), "version": 1, "timestamp": utc_precise(), "period": "2026-W07", "project": None,
        "lines": [{"section": s, "text": t, "ids": i, "key": key, "trust": "user_typed"} for s, t, i in lines],
        "figures": {}, "from": [], "meta": {},
    }  # fmt: skip
    append.append_new(store, [made])
    return str(made["id"])


def test_of_fifty_queries_by_stem_or_synonym_45_have_the_right_hit_in_the_top_five(store: Store) -> None:
    assert len(ROWS) == 50
    fillers = [f"the {thing} of the {other} {doing}" for thing in THINGS for other in THINGS for doing in DOINGS]
    add_many(store, [text for _, text in ROWS] + fillers)
    missed = [words for words, text in ROWS if text not in [hit.text for hit in find(store, words, limit=5)]]
    assert len(missed) <= 5, missed


@pytest.mark.parametrize(
    "words",
    [
        "C++",
        "--force-with-lease",
        "src/gen/*.py",
        "a^b",
        "NEAR(",
        "foo()",
        "{}",
        "=>",
        "100%",
        "text:x",
        "$HOME",
        "AND",
    ],
)
def test_special_characters_are_searched_as_text(store: Store, words: str) -> None:
    add_many(
        store, [f"remember {words} for later", "remember c, force, src gen py, a b, foo, 100 and text x for later"]
    )
    assert find(store, words)[0].text == f"remember {words} for later"
    if not words.isalpha():
        assert len(find(store, words)) == 1, "what has only the letters is left out"


@pytest.mark.parametrize(
    "words", ['"', '" OR "', "* *", "(", "a\0b", "NOT", "^", "'; DROP TABLE records; --", "\udcff"]
)
def test_no_query_is_a_syntax_error(store: Store, words: str) -> None:
    add_many(store, ["an ordinary remark"])
    find(store, words)


def test_a_line_of_a_digest_is_a_hit_of_its_own(store: Store) -> None:
    cited = ["SIG-20260101-0a1b2c3d", "SIG-20260102-1a2b3c4d"]
    made = add_digest(store, ("learned", "the warehouse closes at noon", cited), ("open", "paint the fence", cited[:1]))
    (hit,) = find(store, "warehouse closing")
    assert (hit.kind, hit.id, hit.ids, hit.state) == ("digest", made, tuple(cited), "2026-W07, learned")
    assert hit.trust == "user_typed" and "fence" not in hit.snippet
    assert find(store, "warehouse", kinds=("rule", "signal")) == []


def test_rules_read_as_they_do_today_and_say_whether_they_are_in_force(store: Store) -> None:
    signal = capture(store, "always run the formatter before committing")
    target: Any = {"kind": "project", "path": "CLAUDE.md"}
    rule = api.promote(store, reader.read(store), signal["id"], target, "always format before a commit", BY, utc())
    (hit,) = find(store, "formatter", kinds=("rule",))
    assert (hit.id, hit.text, hit.state) == (rule["id"], "always format before a commit", "in force")


def test_failures_with_one_cause_are_one_incident(store: Store) -> None:
    error = "Exit code 1\nConnectionRefusedError: [Errno 111] Connection refused"
    for number in range(3):
        capture(store, "Bash failed: npm test", context=error, type="failure", tags=["Bash"], session_id=f"s{number}")
    hits = find(store, "connection refused", kinds=("incident",))
    assert [hit.kind for hit in hits] == ["incident"] and len(hits[0].ids) == 3
    add_digest(store, ("broken", "connection refused by the mail server", ["SIG-20260101-0a1b2c3d"]), key="fe" * 8)
    assert {hit.id for hit in find(store, "connection refused", kinds=("incident",))} >= {"fe" * 8}


def test_since_project_and_limit(store: Store) -> None:
    add_many(store, [f"zebra number {number}" for number in range(30)])
    assert len(find(store, "zebra", limit=7)) == 7
    assert find(store, "zebra", since="2999-01-01") == []
    assert len(find(store, "zebra", project="nowhere", limit=50)) in (0, 30)


def test_a_foreign_or_unusable_index_is_no_obstacle(store: Store, store_home: Path, run_cli: RunCli) -> None:
    add_many(store, ["zebra crossing"])
    path = Path(index.get_path(store))
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "file").write_text("x")
    done = run_cli("search", "zebra")
    assert "zebra" in done.out and "cannot use" in done.err


def test_the_command(store: Store, run_cli: RunCli) -> None:
    add_many(store, ["the warehouse closes at noon\x1b[31m"])
    done = run_cli("search", "warehouses")
    assert "the warehouse closes at noon" in done.out and "\x1b[31m" not in done.out
    (hit,) = json.loads(run_cli("search", "--json", "warehouses").out)["data"]
    assert hit["kind"] == "signal" and "[warehouse]" in hit["snippet"]
    assert json.loads(run_cli("search", "--json", "elephant").out)["data"] == []
    assert run_cli("search").code == 2
