"""What other tools kept, as signals to be answered like any other. Their files are read and never written.

Whatever wrote them, a person has not said it to us: the trust of all of it is `imported`.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.adapters import files
from reflect_git.adapters.redact import join, redact
from reflect_git.capture.draft import draft_given
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.counts import plural
from reflect_git.model.ids import utc, utc_precise
from reflect_git.review.baseline import head_of, statements
from reflect_git.store import append
from reflect_git.workflow import project_of

if TYPE_CHECKING:
    from reflect_git.adapters.redact import Redacted
    from reflect_git.model.schema import Project, Signal
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

CLAUDE_REFLECT, AUTO_MEMORY, LEARNINGS_MD = "claude-reflect", "auto-memory", "learnings-md"
KINDS = (CLAUDE_REFLECT, AUTO_MEMORY, LEARNINGS_MD)
_PATH = {AUTO_MEMORY: "reflect-git import auto-memory FILE", LEARNINGS_MD: "reflect-git import learnings-md FILE"}
_QUEUE, _INDEX = "learnings-queue.json", "MEMORY.md"
_MEMORIES = ("*/memory/*.md", "memory/*.md", "*.md")
_LIMIT = 16 << 20
_FEWEST_WORDS = 3
_NAMED, _LONG = 3, 40  # of what is too short: how many are named, with how many characters
_WAIT = 10.0
# When an entry was made, and how it stands: facts about it, which nobody has to follow.
_FACTS = re.compile(r"(?:\*\*)?(?:Logged|Priority|Status|Area|Source|Pattern-Key|Recurrence-Count|First-Seen|Last-Seen|"
                    r"Related Files|See Also|Tags)(?:\*\*)?:")  # fmt: skip
_KEPT_TAIL = re.compile(r"\s*\((?:confirmed|unconfirmed|verified)[^)]*\)\s*$", re.IGNORECASE)
_POINTER = re.compile(r"\[[^\]]*\]\([^)]*\.md\)")
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_REASON = re.compile(r"[*_]*(?:why|how(?: to apply)?|reasons?|rationale)[*_]*:", re.IGNORECASE)
_NOTE_KIND = re.compile(r"^\s*type:\s*[\"']?(\w+)", re.MULTILINE)
_NOTED = {"feedback": "convention"}
_TYPES = {"correction": "correction", "guardrail": "correction", "positive": "pattern", "explicit": "convention"}


@dataclass(frozen=True)
class Kept:
    """One thing that a tool kept; `folder` is where it was said, empty for anywhere."""

    text: Redacted
    type: str
    timestamp: str
    file: str
    folder: str = ""
    context: Redacted | None = None


@dataclass(frozen=True)
class Found:
    """What a source gives, and why some of its files or entries give nothing."""

    kept: list[Kept]
    left_out: list[str]


def found(kind: str, env: Mapping[str, str], path: str) -> Found:
    """What a tool kept, from where it usually keeps it or from `path`."""
    place = os.path.abspath(path or _usual(kind, env))
    if not os.path.exists(place):
        raise ReflectError(f"there is no '{place}'", f"give the path: reflect-git import {kind} PATH", "no-source")
    got = _queue(place) if kind == CLAUDE_REFLECT else _pages(kind, place)
    short = [kept for kept in got.kept if _is_short(kept)]
    return Found([kept for kept in got.kept if not _is_short(kept)], [*got.left_out, *_told(short)])


def _is_short(kept: Kept) -> bool:
    return len(kept.text.split()) < _FEWEST_WORDS


def _told(short: list[Kept]) -> Iterator[str]:
    """One line for each file."""
    for file in dict.fromkeys(kept.file for kept in short):
        texts = [f"'{_shortened(kept.text)}'" for kept in short if kept.file == file]
        more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
        yield f"too short, in '{file}': {', '.join(texts[:_NAMED])}{more}"


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONG else f"{flat[:_LONG]}…"


def _usual(kind: str, env: Mapping[str, str]) -> str:
    if kind == LEARNINGS_MD:
        raise ReflectError("which file is to be imported?", f"reflect-git import {kind} PATH", "usage", EXIT_USAGE)
    if kind == AUTO_MEMORY:
        return paths.projects_dir(env)
    # claude-reflect does not know CLAUDE_CONFIG_DIR.
    usual = [os.path.join(folder, _QUEUE) for folder in (paths.config_dir(env), f"{paths.home_dir(env)}/.claude")]
    return next(filter(os.path.exists, usual), usual[0])


def _queue(path: str) -> Found:
    """A JSON list of messages that were matched, each with its kind, time and project."""
    try:
        items = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise _no_queue(path, str(error)) from None
    if not isinstance(items, list):
        raise _no_queue(path, "it is not a list")
    said = [item for item in items if isinstance(item, dict) and isinstance(item.get("message"), str)]
    odd = len(items) - len(said)
    left_out = [f"{odd} of {plural(len(items), 'entry', 'entries')} of '{path}': no message"] if odd else []
    return Found([_queued(item, path) for item in said], left_out)


def _queued(item: Mapping[str, Any], path: str) -> Kept:
    kind = _TYPES.get(str(item.get("type"))) or _TYPES.get(str(item.get("sentiment")), "correction")
    return Kept(
        redact(item["message"].strip()), kind, _utc(item.get("timestamp")), path, str(item.get("project") or "")
    )


def _no_queue(path: str, why: str) -> ReflectError:
    hint = f"claude-reflect keeps it in '~/.claude/{_QUEUE}'"
    return ReflectError(f"'{path}' is no queue of claude-reflect: {why}", hint, code="bad-source")


def _pages(kind: str, path: str) -> Found:
    """What Markdown says: one file, or all that a folder has. One of many that cannot be read is left out."""
    place = Path(path)
    read, patterns = (_memory, _MEMORIES) if kind == AUTO_MEMORY else (_learnings, ("**/*.md",))
    if place.is_file():
        return Found(list(read(place)), [])
    listed = {file for pattern in patterns for file in place.glob(pattern) if file.is_file() and not file.is_symlink()}
    if not listed:
        raise ReflectError(
            f"there is nothing to import in '{path}'", f"give a file of Markdown: {_PATH[kind]}", "empty"
        )
    got = Found([], [])
    for file in sorted(listed):
        try:
            got.kept.extend(read(file))
        except (ReflectError, OSError) as error:
            got.left_out.append(str(error))
    return got


def _memory(file: Path) -> Iterator[Kept]:
    """A note of the client's says facts with their reasons; the index says again what the notes say."""
    text, folder, when = redact(_text_of(file)), _folder_of(file.parent.parent), _changed(file)
    kind = _NOTED.get(_kind_of(text), "discovery")
    for said in _with_reasons(_texts(file, text)):
        if file.name != _INDEX or not _POINTER.search(said[0]):
            yield Kept(said[0], kind, when, str(file), folder, join("\n", said))


def _with_reasons(texts: Iterator[Redacted]) -> list[list[Redacted]]:
    """Each fact with the paragraphs after it that say why it is so, or how it is to be applied."""
    found: list[list[Redacted]] = []
    for text in texts:
        if found and _REASON.match(text):
            found[-1].append(text)
        else:
            found.append([text])
    return found


def _kind_of(text: str) -> str:
    match = _NOTE_KIND.search("\n".join(head_of(text.splitlines())))
    return match[1] if match else ""


def _learnings(file: Path) -> Iterator[Kept]:
    for text in _texts(file, redact(_text_of(file))):
        if _FACTS.match(text):
            continue
        yield Kept(redact(_KEPT_TAIL.sub("", text)), "convention", _changed(file), str(file), str(file.parent))


def _texts(file: Path, text: Redacted) -> Iterator[Redacted]:
    """Each bullet and paragraph, whole: the sentences of one belong together. From a page that is redacted as a whole,
    since code and tables are left out."""
    seen = set()
    for said in statements(str(file), text):
        if said.line not in seen:
            seen.add(said.line)
            yield redact(said.text)


def _text_of(file: Path) -> str:
    try:
        return _read(str(file)).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ReflectError(f"'{file}' is not UTF-8 text", "give a file of Markdown", code="bad-source") from None


def _folder_of(project: Path) -> str:
    """Where the sessions of one folder of transcripts ran: its name alone does not say it."""
    for transcript in sorted(project.glob("*.jsonl")):
        try:
            match = _CWD.search(files.read_regular(str(transcript), 1 << 16))
        except OSError:
            continue
        if match:
            try:
                return str(json.loads(match[1]))
            except ValueError:
                continue
    return ""


def _read(path: str) -> bytes:
    if not os.path.isfile(path):
        raise ReflectError(f"'{path}' is not a file", "give one", code="bad-source")
    with open(path, "rb") as file:
        data = file.read(_LIMIT + 1)
    if len(data) > _LIMIT:
        raise ReflectError(f"'{path}' is larger than {_LIMIT >> 20} MiB", "split it", code="bad-source")
    return data


def _utc(value: Any) -> str:
    try:
        moment = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return utc()
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _changed(file: Path) -> str:
    return utc(min(file.stat().st_mtime, time.time()))


def signals(
    kind: str, kept: list[Kept], store: Store | None, scan: Scan | None, env: Mapping[str, str]
) -> list[Signal]:
    """As they would be stored, without those that were imported before: the file may have been saved again since."""
    known = _known(scan, kind) if scan else set()
    made = []
    for one in kept:
        signal = _signal(kind, one, store, env)
        if signal["key"] not in known:
            known.add(signal["key"])
            made.append(signal)
    return made


def _known(scan: Scan, kind: str) -> set[str]:
    rows = scan.whole(row for row in scan.rows if scan.columns["trust"][row] == "imported")
    return {signal["key"] for signal in rows if signal["meta"].get("imported") == kind}


def _signal(kind: str, kept: Kept, store: Store | None, env: Mapping[str, str]) -> Signal:
    facts = {
        "type": kept.type, "content": kept.text, "context": kept.context or kept.text, "timestamp": kept.timestamp,
        "trust": "imported", "confidence": 1, "source": {"hook": "import", "file": kept.file},
        "project": _project(store, kept.folder), "meta": {"imported": kind, "durable": True}, "tags": [kind],
    }  # fmt: skip
    return draft_given(facts, store.machine if store else "", utc_precise(), paths.home_dir(env))


def _project(store: Store | None, folder: str) -> Project | None:
    return project_of(store, folder) if store and folder else None


def take(store: Store, made: list[Signal]) -> list[str]:
    """All of a source in one commit; returns the ids."""
    return append.append_new(store, made, _WAIT)
