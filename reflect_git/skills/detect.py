"""Find repeated work in past sessions: the same commands in the same order."""

from __future__ import annotations

import os
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from reflect_git import paths
from reflect_git.capture.detectors import shell as attempts
from reflect_git.capture.transcript.calls import ToolCall, list_transcripts, read_past_calls
from reflect_git.guards import shell
from reflect_git.records.ids import digest
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.redact import redact
from reflect_git.rules import project_files

if TYPE_CHECKING:
    from reflect_git.rules.context import Context

MIN_STEPS = 3
MIN_SESSIONS = 3
_MAX_STEPS = 8
_MAX_GAP = 3  # other commands between two steps
_MAX_CALLS = 2000  # of a session
_MAX_COMMAND = 300
# Of the sessions that have all steps in any order, the share that has them in this order, close together.
_MIN_ORDERED = 0.6
# Two sequences that share steps are one workflow if they share this many of their sessions.
_MIN_SHARED = 0.5
# With fewer sessions than this, no command can be told to be in nearly all of them.
_MIN_SESSIONS_FOR_COMMON = 20
_COMMON_SHARE = 0.3
# What everybody does around every change is no workflow of its own.
_COMMON_TOOLS = frozenset(("git", "gh"))
_EDITED_ENDINGS = (".md", ".toml", ".json", ".yaml", ".yml", ".cfg", ".ini", ".txt", ".lock")
_EDIT_TOOLS = frozenset(("Edit", "Write", "MultiEdit"))
_IGNORED_ACTIONS = frozenset(("git status", "git diff", "git log", "git show", "git branch", "git fetch", "git stash"))
_SEPARATOR = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
_IGNORED_PROGRAMS = attempts.AUXILIARY_PROGRAMS | attempts.EXPLORING_PROGRAMS | attempts.FILE_PROGRAMS


class Step(NamedTuple):
    """One step of a session: what it was for, and the command as it was run; `tokens` were written up to here."""

    purpose: str
    command: str
    timestamp: str
    tokens: int


class Workflow(NamedTuple):
    """Steps that several sessions have in this order.

    `project` is the root of the project that has all of them, else empty. `tokens` is the median of what the model
    wrote between the first and the last step.
    """

    key: str
    purposes: tuple[str, ...]
    commands: tuple[str, ...]
    sessions: int
    first: str
    last: str
    project: str
    tokens: int


@dataclass(frozen=True)
class _Session:
    name: str
    project: str
    steps: tuple[Step, ...]


def find_workflows(ctx: Context, on_file: Callable[[int, int], None] | None = None) -> list[Workflow]:
    """Find repeated work in every transcript that still exists, most sessions first.

    `on_file`: called with the number of transcripts that were read, and of all. Ignored projects are left out.
    """
    return find_in_sessions(list(_load_sessions(ctx, on_file)))


def find_in_sessions(sessions: Sequence[_Session]) -> list[Workflow]:
    """Find the sequences of at least three steps that at least three sessions have."""
    named = [tuple(step.purpose for step in one.steps) for one in sessions]
    having: dict[str, set[int]] = defaultdict(set)
    for number, steps in enumerate(named):
        for step in steps:
            having[step].add(number)
    frequent = {step for step, numbers in having.items() if len(numbers) >= MIN_SESSIONS}
    common = _find_common_steps(having, len(sessions)) & frequent
    found = _grow_sequences(named, frequent, common)
    kept: list[tuple[tuple[str, ...], set[int]]] = []
    for sequence, numbers in sorted(found.items(), key=lambda one: (-len(one[0]) * len(one[1]), one[0])):
        if len(set(sequence) - common) < MIN_STEPS - 1 or not _is_ordered(sequence, numbers, having):
            continue
        if not any(_overlaps(other, its, sequence, numbers) for other, its in kept):
            kept.append((sequence, numbers))
    flows = [_build_workflow(sequence, [sessions[one] for one in sorted(numbers)]) for sequence, numbers in kept]
    return sorted(flows, key=lambda one: (-one.sessions, one.last, one.key))


def _find_common_steps(having: dict[str, set[int]], sessions: int) -> set[str]:
    """Return the steps that belong to everyday work: git, and what a third of all sessions do."""
    often = _COMMON_SHARE * sessions if sessions >= _MIN_SESSIONS_FOR_COMMON else sessions + 1
    return {step for step, numbers in having.items() if step.split()[0] in _COMMON_TOOLS or len(numbers) >= often}


def _grow_sequences(
    named: Sequence[tuple[str, ...]], frequent: set[str], common: set[str]
) -> dict[tuple[str, ...], set[int]]:
    """Map each sequence that is frequent enough to its sessions: pairs first, then one step longer at a time.

    One that is mostly everyday work is dropped early, or there would be very many.
    """
    places: dict[tuple[str, ...], dict[int, set[int]]] = {}
    for number, steps in enumerate(named):
        for at, step in enumerate(steps):
            if step in frequent:
                places.setdefault((step,), {}).setdefault(number, set()).add(at)
    found: dict[tuple[str, ...], set[int]] = {}
    while places:
        longer: dict[tuple[str, ...], dict[int, set[int]]] = {}
        for sequence, ends in places.items():
            for number, positions in ends.items():
                steps = named[number]
                for end in positions:
                    for at in range(end + 1, min(len(steps), end + _MAX_GAP + 2)):
                        if steps[at] in frequent and steps[at] not in sequence:
                            longer.setdefault((*sequence, steps[at]), {}).setdefault(number, set()).add(at)
        places = {
            sequence: ends for sequence, ends in longer.items()
            if len(ends) >= MIN_SESSIONS and len(sequence) <= _MAX_STEPS
            and len(common.intersection(sequence)) <= len(set(sequence) - common) + 1
        }  # fmt: skip
        found.update((sequence, set(ends)) for sequence, ends in places.items() if len(sequence) >= MIN_STEPS)
    return found


def _is_ordered(sequence: tuple[str, ...], numbers: set[int], having: dict[str, set[int]]) -> bool:
    """Tell whether sessions that have all the steps mostly have them in this order; chance would mix them."""
    everywhere = set.intersection(*(having[step] for step in sequence))
    return len(numbers) >= _MIN_ORDERED * len(everywhere)


def _overlaps(other: tuple[str, ...], its: set[int], sequence: tuple[str, ...], numbers: set[int]) -> bool:
    """Tell whether a sequence is a part or a variant of one that was found already."""
    shared = len(set(sequence) & set(other))
    return shared >= MIN_STEPS - 1 and len(its & numbers) >= _MIN_SHARED * min(len(numbers), len(its))


def _build_workflow(sequence: tuple[str, ...], sessions: Sequence[_Session]) -> Workflow:
    runs = [_find_run(one.steps, sequence) for one in sessions]
    runs.sort(key=lambda run: run[0].timestamp)
    commands = tuple(run.command for run in runs[-1])
    projects = {one.project for one in sessions}
    return Workflow(
        digest("\0".join(sequence))[:8], sequence, commands, len(sessions), runs[0][0].timestamp,
        runs[-1][-1].timestamp, projects.pop() if len(projects) == 1 else "",
        int(median(run[-1].tokens - run[0].tokens for run in runs)),
    )  # fmt: skip


def _find_run(steps: Sequence[Step], sequence: tuple[str, ...]) -> list[Step]:
    """Return the last steps of a session that follow a sequence within the gap."""

    def search(at: int, rest: tuple[str, ...]) -> list[Step] | None:
        if not rest:
            return []
        for one in range(at, min(len(steps), at + _MAX_GAP + 1)):
            if steps[one].purpose == rest[0] and (tail := search(one + 1, rest[1:])) is not None:
                return [steps[one], *tail]
        return None

    for start in range(len(steps) - 1, -1, -1):
        if steps[start].purpose == sequence[0] and (tail := search(start + 1, sequence[1:])) is not None:
            return [steps[start], *tail]
    raise ValueError("the session does not have the sequence")


def _load_sessions(ctx: Context, on_file: Callable[[int, int], None] | None) -> Iterator[_Session]:
    """Yield each session with its steps; calls of subagents belong to the session that the person sees."""
    projects = paths.projects_dir(ctx.env)
    transcripts = sorted(list_transcripts(projects))
    calls: dict[str, list[ToolCall]] = defaultdict(list)
    roots: dict[str, str | None] = {}
    for number, path in enumerate(transcripts):
        if on_file:
            on_file(number, len(transcripts))
        for made in read_past_calls(path, projects):
            calls[made.session].append(made)
    home = paths.home_dir(ctx.env)
    for name, listed in calls.items():
        listed.sort(key=lambda made: made.timestamp)
        folder = listed[0].cwd
        if folder not in roots:
            roots[folder] = _find_root(ctx, folder)
        root = roots[folder]
        if root is not None:
            yield _Session(name, root, tuple(_list_steps(listed[:_MAX_CALLS], home)))


def _find_root(ctx: Context, folder: str) -> str | None:
    """Return the root of the folder's project; None if the project is ignored."""
    if not folder:
        return ""
    place = project_files.find_place(ctx.store, ctx.env, folder)
    return None if project_files.is_ignored(ctx.store, place) else place.root


def _list_steps(calls: Iterable[ToolCall], home: str) -> Iterator[Step]:
    """Yield the steps of a session. Repeats in a row count once; commands that only look around are left out."""
    tokens, last = 0, ""
    written: dict[str, int] = {}
    for made in calls:
        tokens += made.tokens - written.get(made.message, 0)  # several calls of one message repeat its figure
        written[made.message] = made.tokens
        for purpose, command in _describe_call(made, home):
            if purpose != last:
                yield Step(purpose, command[:_MAX_COMMAND], made.timestamp, tokens)
                last = purpose


def _split_as_typed(text: str, commands: Sequence[shell.Command]) -> list[str]:
    """Return each command as it was typed, with its redirects and variables; one in a pipe or loop by its words."""
    pieces = _SEPARATOR.split(text.strip())
    if len(pieces) == len(commands) and all(one.program in piece for one, piece in zip(commands, pieces)):
        return pieces
    return [shlex.join([one.program, *one.args]) for one in commands]


def _describe_call(made: ToolCall, home: str) -> Iterator[tuple[str, str]]:
    """Yield what a call was for, and its command; a call that only looks around has none."""
    if made.tool == "Bash":
        text = redact(str(made.input.get("command") or ""), home)
        commands = shell.parse_commands(text)
        for command, line in zip(commands, _split_as_typed(text, commands)):
            parsed = attempts.parse_command(shlex.join([command.name, *command.args]))
            if parsed is None or command.name in _IGNORED_PROGRAMS or parsed.family in _IGNORED_ACTIONS:
                continue
            yield parsed.family if parsed.script in parsed.family else f"{parsed.family} {parsed.script}", line
    elif made.tool in _EDIT_TOOLS:
        name = os.path.basename(str(made.input.get("file_path") or ""))
        if name.endswith(_EDITED_ENDINGS):
            yield f"edit {name}", f"edit {name}"
    elif made.tool.startswith("mcp__"):
        yield made.tool, made.tool
