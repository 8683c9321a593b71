"""Overview of the code: every package and module with its summary, the imports between packages, and sizes.

`make house` prints it. tests/test_house.py checks docs/architecture.md and the limits below against the same figures.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from textwrap import wrap
from typing import Union

PACKAGE = Path(__file__).resolve().parent.parent / "reflect_git"
# Top to bottom, as in pyproject.toml: a package imports only packages of lower layers.
LAYERS = (
    ("cli", "hook"),
    ("web",),
    ("audit", "purge", "history", "doctor", "effect", "memory", "judge", "skills"),
    ("rules",),
    ("candidates",),
    ("targets", "capture"),
    ("guards",),
    ("sync", "language"),
    ("store",),
    ("platform",),
    ("redact",),
    ("records",),
    ("errors", "paths"),
)
MAX_FOLDER_MODULES = 20
MAX_MODULES = 370
# Both may only fall. A late import belongs at a real seam: the hook path, a heavy library, a cycle.
MAX_LATE_IMPORTS = 460
MAX_USED_ONCE = 1800
# Names from before the tree had layers. No file, folder or part of a file name may use one again.
OLD_NAMES = frozenset(
    "sitting sittings stains desk deck portrait corpses spool glance chronicle mainline fold folding forgetting "
    "hearing live looks adapters care workflow verbs beside excerpt quiet skimming sweep storytelling telling "
    "taking dialogue cards differences handwritten ancestry talk spoken orders carrying senses clashes likeness "
    "pointing spots verdicts sought readings plainwords briefing thrash cleansing joining landing offer work kept "
    "trail authority unasked rivals declining settle together places proposing story matter condition mending".split()
)
_SHOWN = 12
_FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef]


@dataclass(frozen=True)
class Function:
    name: str
    lines: int


@dataclass(frozen=True)
class Module:
    """One file. `package` is the folder or file directly below `reflect_git`; `imports` are other such packages.

    `late_imports` counts import statements inside functions. `used_once` are private functions with one mention.
    """

    name: str
    path: str
    package: str
    summary: str
    lines: int
    imports: frozenset[str]
    functions: tuple[Function, ...]
    late_imports: int
    used_once: tuple[str, ...]

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")


def load_modules(package: Path = PACKAGE) -> list[Module]:
    """Read every module below a package, except its own `__init__.py`."""
    packages = {path.stem for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}
    paths = [path for path in sorted(package.rglob("*.py")) if path != package / "__init__.py"]
    return [_load_module(path, package, packages) for path in paths]


def _load_module(path: Path, package: Path, packages: set[str]) -> Module:
    text = path.read_text(encoding="utf-8")
    relative = path.relative_to(package)
    parts = relative.with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    imports = {word for found in _iter_imports(nodes, package.name) for word in found} & packages - {parts[0]}
    return Module(
        name,
        relative.as_posix(),
        parts[0],
        (ast.get_docstring(tree) or "").partition("\n")[0],
        text.count("\n"),
        frozenset(imports),
        tuple(
            Function(f"{name}.{each.name}", (each.end_lineno or each.lineno) - each.lineno + 1) for each in functions
        ),
        _count_late_imports(nodes, functions),
        tuple(find_used_once(nodes)),
    )


def _iter_imports(nodes: Iterable[ast.AST], package: str) -> Iterator[tuple[str, ...]]:
    """Yield the packages that each import names, including late imports and imports for type checking."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield tuple(each.name.split(".")[1] for each in node.names if each.name.startswith(f"{package}."))
        elif isinstance(node, ast.ImportFrom) and node.module == package:
            yield tuple(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
            yield ((node.module or "").split(".")[1],)


def _count_late_imports(nodes: Iterable[ast.AST], functions: Sequence[_FunctionNode]) -> int:
    """Count the import statements inside functions."""
    inside = {line for each in functions for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)}
    return sum(isinstance(node, (ast.Import, ast.ImportFrom)) and node.lineno in inside for node in nodes)


def find_used_once(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the private functions and methods that their module mentions once."""
    mentions: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for node in nodes:
        if isinstance(node, ast.Name):
            mentions[node.id] += 1
        elif isinstance(node, ast.Attribute):
            mentions[node.attr] += 1
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            named[node.name] += 1
    for name, times in named.items():
        if name.startswith("_") and not name.startswith("__") and times == mentions[name] == 1:
            yield name


def count_imports(found: Iterable[Module]) -> dict[str, Counter[str]]:
    """Map each package to the packages it imports, with the number of its modules that import each."""
    edges: dict[str, Counter[str]] = {}
    for module in found:
        edges.setdefault(module.package, Counter()).update(module.imports)
    return edges


def count_folders(found: Iterable[Module]) -> Counter[str]:
    """Count the modules of each folder, without `__init__.py`."""
    return Counter(module.path.rpartition("/")[0] or "." for module in found if not module.is_package)


def find_old_names(found: Iterable[Module]) -> list[str]:
    """List the modules with a name, or a part of a name, from the old vocabulary."""
    return [module.path for module in found if not OLD_NAMES.isdisjoint(_split_words(module.path))]


def _split_words(path: str) -> list[str]:
    return path.removesuffix(".py").replace("/", "_").split("_")


def format_report(found: Sequence[Module]) -> str:
    """Return the whole overview as text."""
    functions = [function for module in found for function in module.functions]
    return "\n".join([
        "reflect_git, top layer first; a package imports only packages of lower layers", "",
        *_format_tree(found),
        f"Modules: {len(found)} (at most {MAX_MODULES}); in the fullest folders (at most {MAX_FOLDER_MODULES}): "
        + ", ".join(f"{folder} {count}" for folder, count in count_folders(found).most_common(3)), "",
        f"Late imports: {sum(module.late_imports for module in found)} (at most {MAX_LATE_IMPORTS}); most in: "
        + _format_most(found, lambda module: module.late_imports),
        f"Private functions used once: {sum(len(module.used_once) for module in found)} (at most {MAX_USED_ONCE}); "
        "most in: " + _format_most(found, lambda module: len(module.used_once)), "",
        f"Lines of a module: {_format_spread([module.lines for module in found])}", "",
        *_format_largest((module.lines, module.name) for module in found), "",
        f"Lines of a function: {_format_spread([function.lines for function in functions])}", "",
        *_format_largest((function.lines, function.name) for function in functions),
    ])  # fmt: skip


def _format_most(found: Iterable[Module], count: Callable[[Module], int]) -> str:
    """Return the three modules with the highest count."""
    most = sorted(found, key=count, reverse=True)[:3]
    return ", ".join(f"{module.name} {count(module)}" for module in most)


def _format_tree(found: Sequence[Module]) -> Iterator[str]:
    edges = count_imports(found)
    for number, layer in enumerate(LAYERS, 1):
        yield f"── layer {number}: {', '.join(layer)} ".ljust(118, "─")
        for package in layer:
            inside = [module for module in found if module.package == package]
            yield from _format_package(package, inside)
            imports = ", ".join(f"{to} {edges[package][to]}" for below in LAYERS for to in below if edges[package][to])
            yield from wrap(imports, 112, initial_indent="    imports ", subsequent_indent=" " * 12)
            yield ""


def _format_package(package: str, inside: Sequence[Module]) -> Iterator[str]:
    """Yield one line for the package, one for each subpackage and one for each module."""
    if len(inside) > 1:
        yield f"{package}/  {len(inside)} modules, {sum(module.lines for module in inside)} lines"
    for module in sorted(inside, key=lambda each: (each.path.rpartition("/")[0], not each.is_package, each.path)):
        shown = module.path.removesuffix("__init__.py")
        yield f"  {shown:<40}{module.lines:>4}  {module.summary}"


def _format_spread(sizes: Sequence[int]) -> str:
    spread = f"median {median(sizes):g}, 90 % at most {get_90th_percentile(sizes)}, largest {max(sizes)}"
    return f"{sum(sizes)} in {len(sizes)}; {spread}"


def get_90th_percentile(sizes: Sequence[int]) -> int:
    """Return the size that nine of ten do not exceed."""
    return sorted(sizes)[len(sizes) * 9 // 10]


def _format_largest(sized: Iterable[tuple[int, str]]) -> Iterator[str]:
    for lines, name in sorted(sized, reverse=True)[:_SHOWN]:
        yield f"{lines:>6}  {name}"


def main() -> int:
    sys.stdout.write(f"{format_report(load_modules())}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
