"""Read what the continuous-learning skills of ECC (everything-claude-code) learned: instincts, and learned skills.

An instinct is a file with `trigger` in its front matter and a section `Action`. A learned skill is a page with a
problem and its solution.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reflect_git import paths
from reflect_git.candidates.import_texts import ImportedText, ImportResult, get_change_time, read_bytes, read_text
from reflect_git.errors import ReflectError
from reflect_git.redact import redact

if TYPE_CHECKING:
    from reflect_git.redact import Redacted

_ENDINGS = (".yaml", ".yml", ".md")
_INSTINCTS = ("instincts/personal/*", "instincts/inherited/*")
_FIELD = re.compile(r"^(\w+):\s*(.*?)\s*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
_STARTS = re.compile(r"^(?:when|before|after|if|while|whenever|on|for)\b", re.IGNORECASE)


def list_usual_folders(env: Mapping[str, str]) -> list[str]:
    """Return where ECC keeps what it learned, the newest place first."""
    home = paths.home_dir(env)
    data = env.get("XDG_DATA_HOME") or ""
    base = data if os.path.isabs(data) else os.path.join(home, ".local", "share")
    override = env.get("CLV2_HOMUNCULUS_DIR") or ""
    first = override if os.path.isabs(override) else os.path.join(base, "ecc-homunculus")
    claude = paths.config_dir(env)
    found = [first, os.path.join(claude, "homunculus"), os.path.join(claude, "skills", "learned")]
    return [folder for folder in found if os.path.isdir(folder)]


def read_folders(folders: list[str]) -> ImportResult:
    """Read every instinct and learned skill; files that cannot be read are left out."""
    got = ImportResult([], [])
    for folder in map(Path, folders):
        for file, root in _list_files(folder):
            try:
                got.texts.extend(_read_file(file, root))
            except (ReflectError, OSError) as error:
                got.left_out.append(str(error))
    return got


def _list_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file and the folder of its project; empty if it is for all."""
    if folder.is_file():
        yield folder, ""
        return
    places = [(folder / pattern, "") for pattern in _INSTINCTS]
    roots = _read_registry(folder / "projects.json")
    for project in sorted(folder.glob("projects/*")):
        if project.name in roots:  # else its folder is unknown
            places += [(project / pattern, roots[project.name]) for pattern in _INSTINCTS]
    if folder.name == "learned":
        places += [(folder / "*.md", ""), (folder / "*" / "SKILL.md", "")]
    for pattern, root in places:
        for file in sorted(folder.glob(str(pattern.relative_to(folder)))):
            if file.suffix.lower() in _ENDINGS and file.is_file() and not file.is_symlink():
                yield file, root


def _read_registry(path: Path) -> dict[str, str]:
    """Return the folder of each project that ECC knows."""
    try:
        found = json.loads(read_bytes(str(path)))
    except (ReflectError, ValueError, RecursionError):
        return {}
    listed = found.items() if isinstance(found, dict) else ()
    return {name: str(one["root"]) for name, one in listed if isinstance(one, dict) and one.get("root")}


def _read_file(file: Path, root: str) -> Iterator[ImportedText]:
    text, when = redact(read_text(file)), get_change_time(file)
    parts = re.split(r"^---[ \t]*$", text, flags=re.MULTILINE)
    documents = list(zip(parts[1::2], parts[2::2]))
    instincts = [(dict(_FIELD.findall(head)), body) for head, body in documents if "trigger" in head]
    if not instincts:
        if made := _build_skill(documents[0][1] if documents else text, file, root, when):
            yield made
        return
    for fields, body in instincts:
        if said := _join_instinct(fields, body):
            yield ImportedText(said, "convention", when, str(file), root, redact(body.strip()))


def _join_instinct(fields: Mapping[str, str], body: str) -> Redacted | None:
    """Return trigger and action as one sentence: `When writing tests: use fixtures`."""
    sections = _split_sections(body)
    action = sections.get("action") or next((text for text in sections.values() if text), "") or _get_title(body)
    trigger = fields.get("trigger", "").strip("\"' ")
    if not action:
        return None
    lead = trigger if _STARTS.match(trigger) else f"when {trigger}" if trigger else ""
    return redact(f"{lead[0].upper()}{lead[1:]}: {action}" if lead else action)


def _build_skill(text: str, file: Path, root: str, when: str) -> ImportedText | None:
    """Convert a learned skill: its title and the first paragraph of its solution."""
    title, sections = _get_title(text), _split_sections(text)
    solution = sections.get("solution") or sections.get("pattern") or ""
    if not title or not solution:
        return None
    return ImportedText(redact(f"{title}: {solution}"), "discovery", when, str(file), root, redact(text.strip()))


def _get_title(text: str) -> str:
    match = _HEADING.search(text)
    return match[1] if match else ""


def _split_sections(text: str) -> dict[str, str]:
    """Map each heading, in lower case, to the first paragraph below it, on one line."""
    parts = _HEADING.split(text)
    return {
        heading.lower(): " ".join(body.strip().split("\n\n")[0].split())
        for heading, body in zip(parts[1::2], parts[2::2])
    }
