"""docs/architecture.md describes the code as it is, and the code keeps the limits of docs/house.py."""

from __future__ import annotations

import ast
import re
from ast import literal_eval
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import median

from docs import house
from tests.conftest import REPO

PAGE = (REPO / "docs" / "architecture.md").read_text(encoding="utf-8")


@cache
def _load_modules() -> list[house.Module]:
    """Parse the package once for all tests of this file, and not when a worker only collects them."""
    return house.load_modules()


def _in_code() -> list[str]:
    """Return everything in backticks and every line of an indented block."""
    blocks = [line for line in PAGE.splitlines() if line.startswith("    ")]
    return [*re.findall(r"`([^`]+)`", PAGE), *blocks]


def _contract() -> list[tuple[set[str], bool]]:
    """Return the layers of pyproject.toml, each with whether its packages may import one another."""
    settings = (REPO / "pyproject.toml").read_text(encoding="utf-8")
    rows = literal_eval(settings.partition("\nlayers = ")[2].partition("\nexhaustive")[0])
    return [(set(re.split(r" [|:] ", row)), " : " in row) for row in rows]


def test_page_lists_the_layers() -> None:
    drawing = PAGE.partition("## Layers")[2].partition("A layer imports")[0]
    rows = [line.strip().partition("  ")[0] for line in drawing.splitlines() if re.match(r" {4}\w", line)]
    assert [tuple(row.split(" │ ")) for row in rows] == list(house.LAYERS)
    assert {module.package for module in _load_modules()} == {package for layer in house.LAYERS for package in layer}


def test_linter_checks_the_same_layers() -> None:
    assert [packages for packages, _ in _contract()] == [set(layer) for layer in house.LAYERS]


def test_no_package_imports_a_higher_layer() -> None:
    height = {package: -number for number, (layer, _) in enumerate(_contract()) for package in layer}
    mixed = {package for layer, may_mix in _contract() if may_mix for package in layer}
    wrong = [
        f"{package} → {to}"
        for package, imports in house.count_imports(_load_modules()).items()
        for to in imports
        if height[to] > height[package] or (height[to] == height[package] and package not in mixed)
    ]
    assert wrong == []


def test_page_describes_every_package() -> None:
    table = PAGE.partition("| package | what it does |")[2].partition("\n\n")[0]
    named = set(re.findall(r"^\| `([\w/]+)` \|", table, re.MULTILINE))
    assert named == {
        module.name.replace(".", "/") for module in _load_modules() if module.is_package or "." not in module.name
    }


def test_page_describes_every_adapter() -> None:
    table = PAGE.partition("| adapter (")[2].partition("\n\n")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert named == {
        module.name.split(".")[1]
        for module in _load_modules()
        if module.package == "platform" and not module.is_package
    }


def test_folders_are_small() -> None:
    counts = house.count_folders(_load_modules())
    assert {folder: count for folder, count in counts.items() if count > house.MAX_FOLDER_MODULES} == {}


def test_modules_are_few() -> None:
    assert len(_load_modules()) <= house.MAX_MODULES


def test_late_imports_and_functions_used_once_do_not_grow() -> None:
    assert sum(module.late_imports for module in _load_modules()) <= house.MAX_LATE_IMPORTS
    assert sum(len(module.used_once) for module in _load_modules()) <= house.MAX_USED_ONCE


def test_no_module_imports_a_name_twice() -> None:
    """At the top and for type checking. An import in a function may be there for another reason."""
    twice = []
    for path in (REPO / "reflect_git").rglob("*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        blocks = [node.body for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
        nodes = [node for block in (body, *blocks) for node in block if isinstance(node, ast.ImportFrom)]
        found = Counter((node.module, alias.name, alias.asname) for node in nodes for alias in node.names)
        twice += [(path.name, name) for name, times in found.items() if times > 1]
    assert twice == []


def test_no_module_has_an_old_name() -> None:
    assert house.find_old_names(_load_modules()) == []


def test_every_module_has_a_summary() -> None:
    assert [module.path for module in _load_modules() if not module.summary] == []


def test_report_lists_every_module_with_its_summary() -> None:
    lines = house.format_report(_load_modules()).splitlines()
    for module in _load_modules():
        shown = module.path.removesuffix("__init__.py")
        assert any(line.startswith(f"  {shown} ") and line.endswith(module.summary) for line in lines), module.path


def test_every_named_file_exists() -> None:
    named = {word for text in _in_code() for word in re.findall(r"[\w./<>-]+/[\w.<>-]*", text)}
    places = (REPO, REPO / "reflect_git")
    ours = {name for name in named if re.match(r"(\w+/)+(\w+\.(py|json|md))?$", name) and not name.startswith(".")}
    assert len(ours) > 30
    missing = [name for name in sorted(ours) if not any((place / name).exists() for place in places)]
    assert [name for name in missing if name.split("/")[0] not in ("pending", "signals", "purges")] == []


def test_every_named_function_exists() -> None:
    packages = "|".join(package for layer in house.LAYERS for package in layer)
    pattern = rf"(?<![\w./-])(?:{packages})(?:\.[A-Za-z_]+)+(?![\w/])"
    named = {name for text in _in_code() for name in re.findall(pattern, text)}
    named = {name for name in named if not name.endswith((".py", ".md", ".json"))}
    assert len(named) > 25
    assert [name for name in sorted(named) if not _exists(name)] == []


def test_every_row_names_code_that_its_files_define() -> None:
    """In "Where a change belongs": functions, classes and constants, each in one of the files that its row names."""
    table = PAGE.partition("## Where a change belongs")[2].partition("\n## ")[0]
    checked, missing = 0, []
    for row in re.findall(r"^\| (.+) \| (.+) \|$", table, re.MULTILINE)[1:]:
        words = re.findall(r"`([^`]+)`", row[1])
        files = [path for word in words if word.endswith(".py") for path in _find_files(word)]
        named = [word for word in words if re.fullmatch(r"_?[A-Za-z]+(_[A-Za-z]+)+|_?[A-Z]\w*[a-z]\w*|[A-Z]{4,}", word)]
        texts = [path.read_text(encoding="utf-8") for path in files or (REPO / "reflect_git").rglob("*.py")]
        for name in named:
            checked += 1
            definition = re.compile(rf"^ *(?:def|class) {name}\b|^{name}(?:: [^=]+)? = ", re.MULTILINE)
            if not any(definition.search(text) for text in texts):
                missing.append((row[0], name))
    assert checked > 20
    assert missing == []


def _find_files(word: str) -> list[Path]:
    found = [place / word for place in (REPO, REPO / "reflect_git") if (place / word).is_file()]
    assert found or "<" in word, f"no file {word}"
    return found


def _exists(name: str) -> bool:
    """Return whether a dotted name is a module, or an attribute of one."""
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


def test_modules_are_short() -> None:
    assert [module.name for module in _load_modules() if module.lines > 900] == []  # the shell grammar is one module


def test_functions_are_short() -> None:
    sizes = [function.lines for module in _load_modules() for function in module.functions]
    assert median(sizes) <= 10
    assert house.get_90th_percentile(sizes) <= 30
    assert max(sizes) <= 80


def test_reads_imports_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "paths.py").write_text("")
    body = "\n".join(['"""Find things."""', "def find() -> None:", *["    pass"] * 89])
    late = "def look() -> None:\n    from PACKAGE import paths\n    from PACKAGE.store.search import find\n"
    (tmp_path / "store" / "search.py").write_text(body)
    (tmp_path / "cli.py").write_text(late.replace("PACKAGE", tmp_path.name))
    cli, _, search = house.load_modules(tmp_path)
    assert (search.package, search.summary) == ("store", "Find things.")
    assert search.functions == (house.Function("store.search.find", 90),)
    assert cli.imports == {"store", "paths"}
    assert house.count_folders([cli, search]) == {".": 1, "store": 1}
    assert (cli.late_imports, search.late_imports) == (2, 0)


def test_finds_private_functions_used_once() -> None:
    source = "def _a(): ...\ndef _b(): ...\ndef _c(): ...\n_a()\n_b()\n_b()\nclass C:\n    def _d(self): self._d()\n"
    assert list(house.find_used_once(list(ast.walk(ast.parse(source))))) == ["_a", "_d"]


def test_finds_old_names(tmp_path: Path) -> None:
    for name in ("desk", "review_deck", "desktop"):
        (tmp_path / f"{name}.py").write_text("")
    assert house.find_old_names(house.load_modules(tmp_path)) == ["desk.py", "review_deck.py"]


def test_counts_are_worded_by_one_function() -> None:
    own = re.compile(r"""'s' if | else 's'|"s" if | else "s\"""")
    files = [*(REPO / "reflect_git").rglob("*.py"), *(REPO / "hooks").glob("*.py")]
    assert [str(file) for file in files if own.search(file.read_text(encoding="utf-8"))] == []
