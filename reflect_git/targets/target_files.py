"""Resolve `--to`: choose the file for a learning, given what exists."""

from __future__ import annotations

import posixpath
import re

from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.named_tuple import NamedTuple

PROJECT_FILES = ("CLAUDE.md", ".claude/CLAUDE.md")
LOCAL_FILE = "CLAUDE.local.md"
AGENTS_FILE = "AGENTS.md"
IMPROVEMENTS_FILE = ".claude/improvements.md"
AGENT_FOLDER = ".claude/agents"
SKILL_FILE = "SKILL.md"
_SKILL_FOLDERS = {"skill": ".claude/skills", "global-skill": "skills"}
USUAL_FILES = (*PROJECT_FILES, LOCAL_FILE, AGENTS_FILE, IMPROVEMENTS_FILE)  # of a project
AGENTS_IMPORT = f"@{AGENTS_FILE}\n"
KINDS = ("project", "project-local", "global", "rules", "global-rules", "improvements", "agents", "agent", "dir")
_KINDS_WITHOUT_ARGUMENT = ("project", "project-local", "global", "global-rules", "improvements", "agents")
_GLOBAL_KINDS = ("global", "global-rules", "global-skill")
FORM_BY_KIND = {
    "rules": "rules", "global-rules": "rules", "skill": "rules", "global-skill": "rules",
    "improvements": "improvements",
}  # fmt: skip
_AGENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class ExistingFiles(NamedTuple):
    """The files in the project, relative to its root. `blocks` are those with our block."""

    existing: frozenset[str] = frozenset()
    blocks: frozenset[str] = frozenset()
    has_project: bool = True


class Target(NamedTuple):
    """A file. `path` is relative to the project's root, or for global targets to Claude Code's own folder.

    `opening` is how the file begins if it does not exist yet.
    """

    kind: str
    path: str
    opening: str = ""

    @property
    def is_global(self) -> bool:
        return self.kind in _GLOBAL_KINDS

    @property
    def form(self) -> str:
        """Return how the file is written: block, rules or improvements."""
        return FORM_BY_KIND.get(self.kind, "block")


GLOBAL_TARGET = Target("global", "CLAUDE.md")


def resolve_target(to: str, around: ExistingFiles, record_id: str, title: str = "") -> Target:
    """Return the target that `--to` names; id and title give a rules file its name."""
    kind, _, rest = to.partition(":")
    if kind not in KINDS or (kind in _KINDS_WITHOUT_ARGUMENT and ":" in to) or (kind in ("agent", "dir") and not rest):
        raise ReflectError(
            f"'{to}' is not a target",
            "one of project, project-local, global, rules[:topic], global-rules, improvements, agents, agent:NAME, "
            "dir:PATH",
            code="usage",
            exit_code=EXIT_USAGE,
        )
    if kind not in _GLOBAL_KINDS and not around.has_project:
        raise ReflectError(f"'{to}' needs a project, and this folder is in none", "use --to global", code="no-project")
    from reflect_git.targets.rules_file import build_slug  # not needed for listing what is waiting

    path = _build_path(kind, rest, around, build_slug(rest or title, record_id))
    return Target(kind, path, AGENTS_IMPORT if _hides_agents(kind, path, around) else "")


def get_target_for_file(path: str, is_global: bool) -> Target:
    """Return the target for a file, judging by its name."""
    if is_global:
        kinds = {"rules": "global-rules", "skills": "global-skill"}
        return Target(kinds.get(path.partition("/")[0], "global"), path)
    if path.startswith(".claude/rules/"):
        return Target("rules", path)
    if path.startswith(f"{AGENT_FOLDER}/"):
        return Target("agent", path)
    if path.startswith(".claude/skills/"):
        return Target("skill", path)
    kinds = {LOCAL_FILE: "project-local", AGENTS_FILE: "agents", IMPROVEMENTS_FILE: "improvements"}
    return Target(kinds.get(path, "project" if path in PROJECT_FILES else "dir"), path)


def list_folder_files(to: str) -> tuple[str, ...]:
    """Return the files in the folder of `dir:PATH` that affect what is written there."""
    kind, _, rest = to.partition(":")
    names = (PROJECT_FILES[0], AGENTS_FILE) if kind == "dir" and rest else ()
    return tuple(posixpath.join(_check_inside(rest), name) for name in names)


def _hides_agents(kind: str, path: str, around: ExistingFiles) -> bool:
    """Return whether a new CLAUDE.md would hide an AGENTS.md: Claude Code then stops reading that."""
    beside = posixpath.join(posixpath.dirname(path), AGENTS_FILE)
    return kind in ("project", "dir") and path not in around.existing and beside in around.existing


def _build_path(kind: str, rest: str, around: ExistingFiles, name: str) -> str:
    if kind == "project":
        return _choose_project_file(around)
    if kind == "dir":
        return posixpath.join(_check_inside(rest), "CLAUDE.md")
    if kind == "agent":
        return f"{AGENT_FOLDER}/{_check_agent_name(rest)}.md"
    return {
        "project-local": LOCAL_FILE,
        GLOBAL_TARGET.kind: GLOBAL_TARGET.path,
        "rules": f".claude/rules/reflect/{name}.md",
        "global-rules": f"rules/reflect/{name}.md",
        "improvements": IMPROVEMENTS_FILE,
        "agents": AGENTS_FILE,
    }[kind]


def _choose_project_file(around: ExistingFiles) -> str:
    found = [path for path in PROJECT_FILES if path in around.blocks]
    found += [path for path in PROJECT_FILES if path in around.existing]
    return (found or PROJECT_FILES)[0]


def get_agent_name(target: Target) -> str:
    """Return the name of the agent that alone reads this file; empty for other files."""
    return posixpath.basename(target.path)[: -len(".md")] if target.kind == "agent" else ""


def build_skill_target(name: str, is_global: bool) -> Target:
    """Return the file of a skill of a project, or of all projects."""
    kind = "global-skill" if is_global else "skill"
    return Target(kind, f"{_SKILL_FOLDERS[kind]}/{name}/{SKILL_FILE}")


def get_skill_name(target: Target) -> str:
    """Return the name of the skill whose file this is; empty for other files."""
    return target.path.split("/")[-2] if target.kind in _SKILL_FOLDERS else ""


def is_agent_target(to: str) -> bool:
    """Return whether a text is `agent:NAME` with a name that a file can have."""
    return to.startswith("agent:") and bool(_AGENT_NAME.fullmatch(to[len("agent:") :]))


def _check_agent_name(name: str) -> str:
    if not _AGENT_NAME.fullmatch(name):
        hint = f"give the name of a file in {AGENT_FOLDER} without .md, as in agent:reviewer"
        raise ReflectError(f"'{name}' is not the name of an agent", hint, "usage", EXIT_USAGE)
    return name


def _check_inside(folder: str) -> str:
    path = posixpath.normpath(folder)
    if path.startswith(("/", "~", "../")) or path == ".." or "\0" in path:
        raise ReflectError(
            f"'{folder}' is not inside the project", "give a folder relative to its root", code="outside"
        )
    return "" if path == "." else path
