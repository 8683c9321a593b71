"""Find rules that may no longer be true: their time is over, they name what is gone, or nobody loads them.

Only names that can be looked up count: scripts, targets, files and packages of the rule's own project. A rule is never
changed because of this; a person is asked whether it still holds.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.platform import files
from reflect_git.records import schema
from reflect_git.records.ids import parse_utc, utc_precise
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store import api

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import DecisionAuthor, Learning
    from reflect_git.rules.context import Context
    from reflect_git.store.repository import Store

DAY = 86400
SETTING = "reflect.ttl"
NEVER = "never"
LIFETIMES = dict.fromkeys(schema.CATEGORIES, "365") | {"preference": NEVER, "configuration": "183"}
_CONFIRMING_KINDS = ("approved", "amended", "pinned", "kept")
ENDED, NAME, UNLOADED = "ended", "name", "unloaded"
_UNLOADED_DAYS, _MIN_SESSIONS = 60, 5
_MAX_BYTES = 1 << 20
_RUNNERS = ("npm", "pnpm", "yarn", "bun")
# Words after a package manager that are not scripts of the project.
_BUILT_IN = frozenset(
    "install i ci add remove rm uninstall update upgrade up init publish link exec dlx x audit outdated why list"
    " ls pack run create config cache login version workspace workspaces store import rebuild prune dedupe".split()
)
_SPAN = re.compile(r"`([^`\n]+)`")
_COMMAND = re.compile(r"\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?[A-Za-z][\w:.-]*|\bmake\s+[A-Za-z][\w.-]*"
                      r"|\b(?:npx|poetry run|uv run|python3? -m)\s+[A-Za-z][\w.-]*")  # fmt: skip
_ENDINGS = "py|js|ts|tsx|jsx|go|rs|rb|java|kt|sh|sql|toml|yaml|yml|json|md|css|scss|html|proto|env|lock|cfg|ini|tf"
_PATH = re.compile(
    r"(?<![\w/:@~$.-])\.{0,2}/?(?:[\w@.-]+/)+[\w@.*-]*|(?<![\w/:@~$.-])[\w-]+(?:\.[\w-]+)*\.(?:" + _ENDINGS + r")\b"
)
_PACKAGE = re.compile(
    r"`([@\w][\w./@-]*)`\s+(?:package|library|module|dependency|crate)\b"
    r"|\b(?:package|library|module|dependency|crate)\s+`([@\w][\w./@-]*)`|\bimport\s+`?([a-z][\w-]+)`?"
)
_OPPOSED = re.compile(r"(?:instead of|rather than|not|no longer|replaces?|over)\s+[`'\"]?$", re.IGNORECASE)
_TARGET = re.compile(r"^([A-Za-z0-9][\w./-]*(?:\s+[A-Za-z0-9][\w./-]*)*)\s*:(?!=)", re.MULTILINE)
_TABLE = re.compile(r"^\s*\[([^\]]+)\]\s*$", re.MULTILINE)
_WORDS = frozenset(
    "and/or either/or input/output read/write client/server yes/no on/off he/she i/o ci/cd tcp/ip".split()
)


class Reason(NamedTuple):
    """Why a rule may no longer be true: `kind` is ended, name or unloaded; `name` is what was looked up."""

    kind: str
    name: str
    text: str


def get_lifetime(store: Store, category: str) -> int:
    """Return how many days a rule of a category holds; 0 for ever."""
    text = store.get_setting(f"{SETTING}.{category}", LIFETIMES.get(category, "365"))
    return int(text) if text.isascii() and text.isdigit() else 0


def find_reasons(
    store: Store, history: History, rules: Iterable[Learning], root: str, sessions: Sequence[Mapping[str, Any]],
    now: float,
) -> dict[str, list[Reason]]:  # fmt: skip
    """Return for each rule why it may no longer be true. `sessions`: exposures of this project; `root`: its folder."""
    project = Project(root)
    found: dict[str, list[Reason]] = {}
    for rule in rules:
        reasons = [*_find_end(store, history, rule, now), *_find_unloaded(rule, sessions, now)]
        if rule["scope"] != "global":
            reasons += find_missing_names(rule["text"], project)
        if reasons:
            found[rule["id"]] = reasons
    return found


def _find_end(store: Store, history: History, rule: Learning, now: float) -> Iterator[Reason]:
    """Yield that the end date has come, or that nobody confirmed the rule for its lifetime.

    A rule that was confirmed after its end date holds for another lifetime.
    """
    until = str(rule["meta"].get("until") or "")
    said = [
        (made["timestamp"], made["kind"])
        for made in history.decisions
        if made["subject"] == rule["id"]
        and made["kind"] in _CONFIRMING_KINDS
        and made["id"] not in history.void_decisions
    ]
    if until:
        end = f"{until}T00:00:00Z"
        if not any(kind != "approved" and parse_utc(moment) >= parse_utc(end) for moment, kind in said):
            if parse_utc(end) <= now:
                yield Reason(ENDED, until, f"it was to end on {until}")
            return
    last = max([rule["timestamp"], *(moment for moment, _ in said)])
    days = get_lifetime(store, rule["category"])
    if days and parse_utc(last) + days * DAY <= now:
        yield Reason(
            ENDED, last[:10], f"nobody confirmed it since {last[:10]}; rules on {rule['category']} hold {days} days"
        )


def find_ended(store: Store, history: History, rules: Iterable[Learning], now: float) -> list[tuple[Learning, str]]:
    """Return the rules whose time is over, oldest first, and why."""
    ordered = sorted(rules, key=lambda rule: rule["timestamp"])
    return [(rule, reason.text) for rule in ordered for reason in _find_end(store, history, rule, now)]


def write_keep(ctx: Context, rule: Learning, by: DecisionAuthor) -> tuple[str, str]:
    """Record that a rule is still true; return the ids of the decision and the commit."""
    made = api.build_decision(ctx.store, "kept", rule["id"], by, utc_precise())
    project = rule["project"] if rule["scope"] != "global" else None
    trailers = {"Learning-Id": [rule["id"]], **({"Project": [project["key"]]} if project else {})}
    trailers["Approved-By"] = [by["road"]]
    title = api.format_title(rule["title"] or rule["text"])
    return made["id"], api.commit_records(ctx.store, [made], f"keep: {title}", trailers)


def _find_unloaded(rule: Learning, sessions: Sequence[Mapping[str, Any]], now: float) -> Iterator[Reason]:
    """Yield that no session loaded the rule for 60 days, if sessions were recorded."""
    since = now - _UNLOADED_DAYS * DAY
    recent = [one for one in sessions if parse_utc(one["start"]) >= since and one["rules"]]
    if parse_utc(rule["timestamp"]) > since or len(recent) < _MIN_SESSIONS:
        return
    if not any(rule["id"] in listed for one in recent for listed in one["rules"].values()):
        yield Reason(UNLOADED, "", f"none of {len(recent)} sessions in {_UNLOADED_DAYS} days loaded it")


class Project:
    """The names that a project has: scripts, targets, packages. Its files are read once, and nothing is run."""

    def __init__(self, root: str) -> None:
        self.root = root
        package = self._read_json("package.json")
        self.scripts = set(package.get("scripts") or {}) if "package.json" in self._present else None
        npm = [package.get(name) or {} for name in ("dependencies", "devDependencies", "peerDependencies")]
        self.packages: set[str] = {name.lower() for listed in npm for name in listed}
        makefile = next((name for name in ("Makefile", "makefile", "GNUmakefile") if self._has(name)), "")
        text = self._read(makefile) if makefile else ""
        self.targets = {one for line in _TARGET.findall(text) for one in line.split()} if makefile else None
        self.commands: set[str] = set()
        for name in ("pyproject.toml", "Cargo.toml"):
            self._add_toml(self._read(name))
        for line in self._read("requirements.txt").splitlines():
            self.packages.update(re.findall(r"^[A-Za-z0-9][\w.-]*", line.lower()))

    @property
    def _present(self) -> set[str]:
        return {
            name for name in ("package.json", "pyproject.toml", "Cargo.toml", "requirements.txt") if self._has(name)
        }

    def _has(self, name: str) -> bool:
        return os.path.isfile(os.path.join(self.root, name))

    def _read(self, name: str) -> str:
        try:
            return files.read_regular(os.path.join(self.root, name), _MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""

    def _read_json(self, name: str) -> dict[str, Any]:
        try:
            found = json.loads(self._read(name) or "{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _add_toml(self, text: str) -> None:
        """Add the packages and commands of a TOML file. Every quoted or first word of such a table counts."""
        parts = _TABLE.split(text)
        for name, body in zip(parts[1::2], parts[2::2]):
            keys = set(re.findall(r"^\s*\"?([A-Za-z0-9][\w.-]*)\"?\s*=", body, re.MULTILINE))
            if "scripts" in name or name.endswith("bin]") or name == "[bin":
                self.commands |= keys
            if "dependencies" in name:
                self.packages |= {key.lower() for key in keys}
            quoted = re.findall(r"[\"']([A-Za-z0-9][\w.-]*)(?:\[[^\"']*\])?\s*(?:[<>=!~;@ ][^\"']*)?[\"']", body)
            self.packages |= {one.lower() for one in quoted}
            if name.split(".")[0] in ("tool", "package", "project", "workspace"):
                self.packages.update(part.lower() for part in name.split(".")[1:2])

    def has_packages(self) -> bool:
        """Return whether the project lists its packages anywhere."""
        return bool(self._present)

    def has_path(self, path: str) -> bool:
        """Return whether a path, or anything that a glob matches, exists in the project, at the root or deeper."""
        import glob

        name = path.removeprefix("./").rstrip("/.,")
        inside = os.path.normpath(os.path.join(self.root, name))
        if not inside.startswith(os.path.normpath(self.root)):
            return True  # outside of the project: unknown
        if os.path.lexists(inside) or (("*" in name or "?" in name) and glob.glob(inside, recursive=True)):
            return True
        return "/" not in name and any(name in listed for listed in self._list_names())

    def _list_names(self) -> Iterator[list[str]]:
        """Yield the names in each folder, without those of other programs."""
        for number, (_, folders, names) in enumerate(os.walk(self.root)):
            folders[:] = [one for one in folders if one not in (".git", "node_modules", ".venv", "target", "dist")]
            yield [*names, *folders]
            if number > 2000:
                return


def find_missing_names(text: str, project: Project) -> list[Reason]:
    """Return the scripts, targets, packages and paths that a rule names and the project does not have."""
    found: dict[str, Reason] = {}
    for match in _COMMAND.finditer(text):
        if not _OPPOSED.search(text[: match.start()]):
            _add(found, _check_command(match[0], project))
    spans = {part for span in _SPAN.findall(text) for part in span.split()}
    for match in _PATH.finditer(re.sub(r"\w+://\S+", " ", text)):
        name = match[0].rstrip(".,:;")
        if _is_path(name, spans, project) and not project.has_path(name):
            _add(found, Reason(NAME, name, f"'{name}' does not exist"))
    for match in _PACKAGE.finditer(text):
        name = next(filter(None, match.groups()))
        if not _OPPOSED.search(text[: match.start()]) and project.has_packages() and not _has_package(project, name):
            _add(found, Reason(NAME, name, f"no file lists the package '{name}'"))
    return list(found.values())


def _add(found: dict[str, Reason], reason: Reason | None) -> None:
    if reason is not None:
        found.setdefault(reason.name, reason)


def _check_command(command: str, project: Project) -> Reason | None:
    """Return that a script, target or program is missing, if the project says which ones it has."""
    words = command.split()
    name = words[-1].rstrip(".,:;")
    if words[0] == "make":
        if (
            project.targets is not None
            and name not in project.targets
            and name not in ("sure", "it", "a", "the", "them")
        ):
            return Reason(NAME, f"make {name}", f"the Makefile has no target '{name}'")
    elif words[0] in _RUNNERS:
        is_run, is_odd = "run" in words[1:-1], name == "test" or ":" in name or words[0] != "npm"
        is_program = words[0] != "npm" and not is_run and _has_package(project, name)
        is_script = (is_run or (is_odd and name not in _BUILT_IN)) and not is_program
        if is_script and project.scripts is not None and name not in project.scripts:
            return Reason(NAME, name, f"package.json has no script '{name}'")
    elif project.has_packages() and not _has_package(project, name) and name not in project.commands:
        is_module = words[0].startswith("python") and project.has_path(name.replace(".", "/"))
        if not is_module and not project.has_path(f"{name.replace('.', '/')}.py") and name not in _STANDARD:
            return Reason(NAME, name, f"no file lists '{name}'")
    return None


_NO_TARGETS = ("sure", "it", "a", "an", "the", "them", "every", "all", "new", "small", "changes")
_STANDARD = frozenset(
    "venv pip http.server unittest timeit json.tool cProfile pdb doctest ensurepip build python".split()
)


def _has_package(project: Project, name: str) -> bool:
    plain = name.lower().replace("_", "-")
    known = {one.replace("_", "-") for one in project.packages}
    return plain in known or plain.split(".")[0] in known or f"python-{plain}" in known


def _is_path(name: str, spans: set[str], project: Project) -> bool:
    """Return whether a word with a slash or an ending means a file: in code, with an ending, or in a known folder."""
    if name.lower() in _WORDS or name.startswith("..") or name.count("/") > 12 or len(name) < 4:
        return False
    if name in spans or any(name in span for span in spans if "/" in span):
        return True
    last = name.rstrip("/").rpartition("/")[2]
    first = name.removeprefix("./").partition("/")[0]
    has_folder = "/" in name and os.path.isdir(os.path.join(project.root, first))
    return bool(re.search(r"\.\w{1,5}$", last)) or name.endswith("/") or has_folder
