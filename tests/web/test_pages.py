"""Each page, its JSON twin, its size, and the figures of its charts, over a large store."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from bench.panel_store import RULES, make_home
from reflect_git.store.repository import Store
from reflect_git.web.site import MENU, PAGES, Site
from tests.web.large_store import ask, build_panel, build_panel_in, list_pages
from tests.web.reported_store import ADVICE, LINES, MARKER, add_reports

MAX_HTML = 60 << 10


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    home = tmp_path_factory.mktemp("large") / "home"
    make_home(home)
    return Site(build_panel(home))


def read_data(site: Site, name: str, /, **fields: str) -> Any:
    return json.loads(ask(site, f"{name}.json", fields).body)["data"]


def test_every_page_answers_and_is_small(site: Site) -> None:
    asked = list_pages(site)
    assert set(MENU) <= {name for name, _ in asked} and {name for name, _ in asked} <= set(PAGES)
    for name, fields in asked:
        html = ask(site, name, fields)
        assert (html.status, len(html.body) <= MAX_HTML) == (200, True), (name, fields, len(html.body))
        twin = json.loads(ask(site, f"{name}.json", fields).body)
        assert twin["schema_version"] == 1 and isinstance(twin["data"], dict), name
        text = html.body.decode()
        assert text.count("<h1") == 1 and "</html>" in text and "Traceback" not in text


def test_a_list_is_paged_by_50(site: Site) -> None:
    found = [read_data(site, "rules", page=str(number)) for number in range(1, 8)]
    assert [len(one["rules"]) for one in found] == [50] * 7, "the last page is shown again"
    assert {one["total"] for one in found} == {RULES}
    assert [one["rules"][0]["number"] for one in found[:6]] == [1, 51, 101, 151, 201, 251]
    assert len({rule["id"] for one in found for rule in one["rules"]}) == RULES


def test_search_and_scope(site: Site) -> None:
    found = read_data(site, "rules", q="PNPM")
    assert found["total"] and all("pnpm" in rule["text"].lower() for rule in found["rules"])
    assert {rule["project"] for rule in read_data(site, "rules", scope="global")["rules"]} == {""}
    assert {rule["project"] for rule in read_data(site, "rules", scope="here")["rules"]} == {"", "shop"}


def test_an_unknown_page_or_id(site: Site) -> None:
    for name, fields in (
        ("nonsense", {}),
        ("rule", {"id": "LRN-1"}),
        ("version", {"v": "999"}),
        ("incident", {"key": "x"}),
    ):
        answer = ask(site, name, fields)
        assert answer.status == 404 and b"<h1>Not possible</h1>" in answer.body, name
        failure = json.loads(ask(site, f"{name}.json", fields).body)["error"]
        assert failure["message"] and failure["message"].encode() in answer.body.replace(b"&#39;", b"'")


def _read_cells(text: str, table: int = -1) -> list[list[str]]:
    body = re.findall(r"<tbody>(.*?)</tbody>", text, re.S)[table]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.S)
    return [
        [re.sub("<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S)]
        for row in rows
    ]


def test_the_table_of_the_trend_has_the_figures_of_its_chart(site: Site) -> None:
    data, text = read_data(site, "trend", weeks="12"), ask(site, "trend", {"weeks": "12"}).body.decode()
    cells = _read_cells(text)
    assert [row[0] for row in cells] == [week["start"] for week in reversed(data["weeks"])]
    corrections = [week["per_100"]["corrections"] for week in data["weeks"]]
    assert [float(row[3]) for row in reversed(cells)] == pytest.approx(corrections, abs=0.06)
    # The first panel of the chart: its points are at these heights, from the baseline up.
    points = [(float(x), float(y)) for x, y in re.findall(r'<circle class="dot" cx="([\d.]+)" cy="([\d.]+)"', text)][
        :12
    ]
    heights = [74 + 76 - y for _, y in points]
    assert [one / max(heights) for one in heights] == pytest.approx(
        [one / max(corrections) for one in corrections], abs=0.02
    )
    marks = re.findall(r'<text class="count"[^>]*>(\d+)</text>', text)
    assert [int(one) for one in marks] == [week["approvals"] for week in data["weeks"] if week["approvals"]]


def test_the_bars_of_a_rule_have_the_figures_beside_them(site: Site) -> None:
    rows = read_data(site, "rules")["rules"]
    text = ask(site, "rules").body.decode()
    said = re.findall(r"needed per week: ([\d, ]+)", text)
    assert [list(map(int, one.split(", "))) for one in said] == [row["per_week"] for row in rows]
    drawn = re.findall(r'<svg class="spark"[^>]*>(.*?)</svg>', text)
    for bars, row in zip(drawn, rows, strict=True):
        full = "".join(re.findall(r'class="bar" d="([^"]*)"', bars))
        assert full.count("M") == sum(1 for one in row["per_week"] if one)


def test_a_verdict_is_readable_without_colour(site: Site) -> None:
    text = ask(site, "rules").body.decode()
    assert set(re.findall(r'class="verdict \w+">(\S)', text)) <= {"▼", "▲", "↻", "·"}
    verdicts = {re.sub(r"<[^>]*>", "", one) for one in re.findall(r'class="verdict [^>]*>.*?</span>', text)}
    assert all(len(one) > 3 for one in verdicts), "each has words, not only a colour"


def test_how_full_a_file_is(site: Site) -> None:
    data, text = read_data(site, "rules"), ask(site, "rules").body.decode()
    cells = _read_cells(text, 0)
    assert [(row[0], int(row[1]), int(row[2])) for row in cells] == [
        (one["file"], one["rules"], one["lines"]) for one in data["files"]
    ]
    widths = [float(one) for one in re.findall(r'<rect class="part[^"]*"[^>]*width="(\d+)"', text)]
    assert widths == [min(120, round(120 * one["lines"] / one["most_lines"])) for one in data["files"]]


def test_texts_that_stay_are_left_out_for_others(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_home(home)
    private, shared = Site(build_panel(home)), Site(build_panel(home, is_private=False))
    quote = read_data(private, "today")["question"]["quote"]
    assert quote and read_data(shared, "today")["question"] is None
    cause = read_data(private, "incidents")["incidents"][0]["cause"]
    for name, fields in list_pages(shared):
        if name not in ("edit", "revert", "capture"):
            body = ask(shared, name, fields).body.decode()
            assert quote not in body and cause not in body, name


@pytest.fixture
def reported(store: Store, project: Path) -> Site:
    site = Site(build_panel_in(os.environ, project))
    assert not {"evaluations", "digests", "skills"} & _list_menu(site), "they are in the menu once there is something"
    add_reports(site.panel)
    return site


def _list_menu(site: Site) -> set[str]:
    found = re.search(r"<header>.*</header>", ask(site, "rules").body.decode(), re.S)
    return set(re.findall(r'href="(\w+)"', found[0])) if found else set()


def test_pages_are_in_the_menu_once_they_have_data(reported: Site) -> None:
    assert set(MENU) <= _list_menu(reported)
    for name in ("evaluations", "digests", "skills"):
        assert f'href="{name}" aria-current="page"' in ask(reported, name).body.decode()


def test_every_mean_says_whether_it_is_anchored(reported: Site) -> None:
    data, text = read_data(reported, "evaluations"), ask(reported, "evaluations").body.decode()
    assert [(one["mean"], one["count"], one["anchored"]) for one in data["means"]] == [(2.5, 2, True), (4.5, 1, False)]
    assert [row[1:3] for row in _read_cells(text)] == [
        [f"{one['overall']:.2f}", "anchored" if one["anchored"] else "not anchored"] for one in data["evaluations"]
    ]
    assert re.findall(r"Mean <strong>([\d.]+)</strong> of .*?>((?:not )?anchored)<", text) == [
        ("2.50", "anchored"), ("4.50", "not anchored"),
    ], "what a session judged itself is in no mean"  # fmt: skip
    for one in data["evaluations"]:
        shown = ask(reported, "evaluation", {"id": one["id"]}).body.decode()
        assert (">not anchored</span></h1>" in shown, ">anchored</span></h1>" in shown) == (
            not one["anchored"], one["anchored"],
        )  # fmt: skip


def test_what_the_judge_cost_is_shown(reported: Site) -> None:
    data, text = read_data(reported, "evaluations"), ask(reported, "evaluations").body.decode()
    assert (data["usage"]["calls"], data["usage"]["usd"]) == (1, 0.0127)
    assert "Calls to models in 90 days: 1 call, 9,034 tokens, $0.01; $0.01 today." in text
    one = ask(reported, "evaluation", {"id": data["evaluations"][-1]["id"]}).body.decode()
    assert "9,034 tokens, $0.0127" in one


def test_a_suggestion_is_answered_where_it_can_be(reported: Site) -> None:
    (one,) = read_data(reported, "evaluations")["suggestions"]
    assert (one["text"], one["priority"]) == (ADVICE, 4)
    text = ask(reported, "evaluations").body.decode()
    assert f"at={one['at']}" in text
    question = read_data(reported, "today", at=one["at"], weak="1")["question"]
    assert (question["id"], question["text"]) == (one["at"], ADVICE.rstrip("."))
    shown = read_data(reported, "evaluation", id=one["evaluation"])
    assert {found["kind"] for found in shown["findings"]} == {"weakness", "suggests"} and MARKER in shown["analysis"]


def test_a_digest_has_its_lines_with_ids(reported: Site) -> None:
    assert [one["period"] for one in read_data(reported, "digests")["digests"]] == ["2026-W07", "2026-01", "2025-12"]
    parts = [read_data(reported, "digest", period="2026-W07", page=str(number)) for number in (1, 2, 3)]
    assert [len(one["list"]) for one in parts] == [50, 50, LINES + 2 - 100] and parts[0]["pages"] == 3
    decided, learned = parts[0]["list"][:2]
    assert (decided["section"], decided["ids"]) == ("decided", decided["rules"]) and len(learned["ids"]) == 5
    for number in (1, 2, 3):
        html = ask(reported, "digest", {"period": "2026-W07", "page": str(number)})
        assert len(html.body) <= MAX_HTML
        assert all(one["ids"][0] in html.body.decode() for one in parts[number - 1]["list"])
        assert f'href="rule?id={decided["ids"][0]}"'.encode() in html.body or number > 1
    assert ask(reported, "digest", {"period": "2025-W50"}).status == 404, "its month has its lines"


def test_skills_and_drafts(reported: Site) -> None:
    data, text = read_data(reported, "skills"), ask(reported, "skills").body.decode()
    (skill,), (draft,) = data["skills"], data["drafts"]
    assert (skill["name"], skill["uses"], draft["edited"]) == ("release", 0, False)
    assert f'href="rule?id={skill["rule"]}"' in text and f"reflect-git skills edit tune-{MARKER}" in text


def test_texts_of_reports_are_left_out_for_others(reported: Site, project: Path) -> None:
    shared = Site(build_panel_in(os.environ, project, is_private=False))
    evaluation = read_data(reported, "evaluations")["evaluations"][-1]["id"]
    for name, fields in (
        ("evaluations", {}), ("evaluation", {"id": evaluation}), ("digests", {}), ("digest", {"period": "2026-W07"}),
        ("skills", {}),
    ):  # fmt: skip
        for end in ("", ".json"):
            assert MARKER.encode() not in ask(shared, name + end, fields).body, name
        assert (MARKER.encode() in ask(reported, name, fields).body) == (name != "digests"), name
