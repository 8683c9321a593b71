"""docs/architecture.md describes the house that stands, and the house is built as the style says."""

from __future__ import annotations

import re
from ast import literal_eval
from importlib import import_module
from pathlib import Path
from statistics import median

from docs import house
from tests.conftest import REPO

PAGE = (REPO / "docs" / "architecture.md").read_text(encoding="utf-8")
FOUND = house.modules()


def _in_code() -> list[str]:
    """What stands in backticks or in an indented block."""
    blocks = [line for line in PAGE.splitlines() if line.startswith("    ")]
    return [*re.findall(r"`([^`]+)`", PAGE), *blocks]


def test_the_floors_are_drawn_as_they_are() -> None:
    drawing = PAGE.partition("## The floors")[2].partition("A floor imports")[0]
    rows = [line.strip().partition("  ")[0] for line in drawing.splitlines() if re.match(r" {4}\w", line)]
    drawn = [tuple(row.split(" │ ")) for row in rows]
    assert drawn == list(house.FLOORS)
    assert {module.room for module in FOUND} == {room for floor in house.FLOORS for room in floor}


def test_the_linter_keeps_the_same_floors() -> None:
    settings = (REPO / "pyproject.toml").read_text(encoding="utf-8")
    kept = literal_eval(settings.partition("\nlayers = ")[2].partition("\nexhaustive")[0])
    floors = [{name for name in floor.split(" | ") if not name.startswith("(")} for floor in kept]
    assert floors == [set(floor) for floor in house.FLOORS]


def test_nothing_leans_on_a_floor_above() -> None:
    height = {room: -number for number, floor in enumerate(house.FLOORS) for room in floor}
    wrong = [
        f"{room} → {to}" for room, leans in house.graph(FOUND).items() for to in leans if height[to] >= height[room]
    ]
    assert wrong == []


def test_every_door_is_in_the_table() -> None:
    table = PAGE.partition("| door (")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines() for name in re.findall(r"`([a-z]+)`", row.split("|")[1:2][0])}
    doors = {module.name.split(".")[1] for module in FOUND if module.room == "adapters" and module.name != "adapters"}
    assert named == doors


def test_every_file_that_is_named_is_there() -> None:
    named = {word for text in _in_code() for word in re.findall(r"[\w./<>-]+/[\w.<>-]*", text)}
    places = (REPO, REPO / "reflect_git", REPO / "reflect_git" / "sitting")
    ours = {name for name in named if re.match(r"(\w+/)+(\w+\.(py|json|md))?$", name) and not name.startswith(".")}
    assert len(ours) > 30
    missing = [name for name in sorted(ours) if not any((place / name).exists() for place in places)]
    assert [name for name in missing if name.split("/")[0] not in ("pending", "signals", "purges")] == []


def test_every_function_that_is_named_is_there() -> None:
    rooms = "|".join(room for floor in house.FLOORS for room in floor)
    pattern = rf"(?<![\w./-])(?:{rooms})(?:\.[A-Za-z_]+)+(?![\w/])"
    named = {name for text in _in_code() for name in re.findall(pattern, text)}
    named = {name for name in named if not name.endswith((".py", ".md", ".json"))}
    assert len(named) > 25
    assert [name for name in sorted(named) if not _exists(name)] == []


def _exists(name: str) -> bool:
    """A module, or something in one."""
    parts = name.split(".")
    rest: list[str] = []
    while parts:
        try:
            found = import_module(".".join(["reflect_git", *parts]))
        except ModuleNotFoundError:
            rest.insert(0, parts.pop())
            continue
        for attribute in rest:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


def test_a_module_is_read_in_one_go() -> None:
    assert [module.name for module in FOUND if module.lines > 600] == []


def test_functions_are_short() -> None:
    sizes = [function.lines for module in FOUND for function in module.functions]
    assert median(sizes) <= 10
    assert house.tenth(sizes) <= 30
    assert max(sizes) <= 80


def test_a_new_room_and_a_long_function_are_seen(tmp_path: Path) -> None:
    (tmp_path / "attic").mkdir()
    (tmp_path / "cellar.py").write_text("")
    body = "\n".join(["def climb() -> None:", *["    pass"] * 89])
    late = "def look() -> None:\n    from PACKAGE import cellar\n    from PACKAGE.attic.stairs import climb\n"
    (tmp_path / "attic" / "stairs.py").write_text(body)
    (tmp_path / "door.py").write_text(late.replace("PACKAGE", tmp_path.name))
    stairs, _, door = house.modules(tmp_path)
    assert (stairs.room, stairs.functions) == ("attic", (house.Function("attic.stairs.climb", 90),))
    assert door.leans == {"attic", "cellar"}


def test_counts_are_worded_by_one_function() -> None:
    own = re.compile(r"""'s' if | else 's'|"s" if | else "s\"""")
    files = [*(REPO / "reflect_git").rglob("*.py"), *(REPO / "hooks").glob("*.py")]
    assert [str(file) for file in files if own.search(file.read_text(encoding="utf-8"))] == []
