"""Detect a command that fails, and then a form of it that works.

Forms: the same program with other words; another program with the same purpose or arguments; the same words behind a
prefix (in a container, with a variable set); the same command in another folder or after a step it needs.

Not counted: the same command again; a success that may be that of a pager or of `|| true`; a failing test that passes
after an edit; a check made narrower; a temporary failure; a typo.
"""

from __future__ import annotations

from reflect_git.capture.detectors.common import Clock, build_facts, format_code, redact_name
from reflect_git.capture.detectors.outcome import (
    EDIT_TOOLS,
    EXIT_NOT_FOUND,
    OBSTACLE_KINDS,
    Outcome,
    OutcomeCache,
    says_expected,
)
from reflect_git.capture.detectors.shell import FILE_PROGRAMS, Command, parse_command, stem
from reflect_git.redact import format_redacted, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

FAMILY = "fix"
_MAX_FAILURES = 4
_MAX_CALLS = 8  # Bash calls between the failure and the form that works
_STEP_WORDS = frozenset(
    """install i ci add sync generate gen codegen migrate up start build login init create pull fetch update use link
    setup bootstrap submodule run deploy seed restore auth enable createdb initdb compile configure""".split()
)
# Working-tree state rather than knowledge: git says `error:` for things that the next command undoes.
_STATEFUL_TOOLS = frozenset(("git", "jj", "hg", "svn"))
_HARMLESS_OPTIONS = frozenset(
    """runInBand test-threads features all-features tags workers maxWorkers config env timeout project profile serial
    no-parallel import-mode forked forceExit experimental-vm-modules legacy-peer-deps""".split()
)
_NARROWING_OPTIONS = frozenset(
    "--filter -F -k -t --grep -run --testNamePattern --workspace -w -p --package --only".split()
)
_BYPASSES = ("--no-verify", "push --force", "push -f", "--no-gpg-sign", "git reset --hard")
_ERROR_WORDS = (
    "error",
    "failed",
    "fatal",
    "not found",
    "cannot",
    "no such",
    "exception",
    "traceback",
    "denied",
    "refused",
)
_SHELL_ERRORS = ("no matches found:", "syntax error near", "event not found", "bad substitution", "parse error near")
_PACKAGE_TOOLS = frozenset("js cargo go uv poetry pdm bundle composer dotnet".split())
_NEUTRAL_WRAPPERS = frozenset("time timeout gtimeout nohup nice stdbuf exec command env caffeinate".split())
_ADVICE_WORDS = (" use ", "use:", " run ", "run:", " try ", "try:", "instead", "please")


class _Failure:
    """A failed command that no working form was found for yet."""

    __slots__ = ("calls", "command", "cwd", "edits", "outcome", "steps", "texts", "tool_use_id")

    def __init__(self, turn: Turn, outcome: Outcome, command: Command, texts: int, edits: int) -> None:
        self.command = command
        self.outcome = outcome
        self.cwd = turn.cwd
        self.tool_use_id = turn.tool_use_id
        self.texts = texts
        self.edits = edits
        self.calls = 0
        self.steps: list[Command] = []


class FixDetector:
    """Detects a working form of a command that failed."""

    def __init__(self, clock: Clock, judge: OutcomeCache) -> None:
        self._clock = clock
        self._outcomes = judge
        self._failures: list[_Failure] = []
        self._edits = 0

    def accepts(self, kind: str, tool: str, is_error: bool) -> bool:
        return tool == "Bash" or (tool in EDIT_TOOLS and not is_error) or kind == "assistant"

    def detect(self, turn: Turn) -> Sequence[Facts]:
        """Remember failed commands, and report a success that is a form of one."""
        if turn.kind == "assistant":
            if self._failures and says_expected(turn.raw):
                self._failures.pop()
        elif turn.tool != "Bash":
            self._edits += 1
        elif turn.is_error:
            self._add_failure(turn)
        elif self._failures and not turn.interrupted:
            return self._check_success(turn)
        return ()

    def _add_failure(self, turn: Turn) -> None:
        outcome = self._outcomes.get(turn)
        command = outcome.command if outcome else None
        if outcome and command and outcome.kind not in ("astray", "passing") and not command.hides_errors:
            self._failures.append(_Failure(turn, outcome, command, self._clock.texts, self._edits))
            del self._failures[:-_MAX_FAILURES]

    def _check_success(self, turn: Turn) -> Sequence[Facts]:
        self._drop_old_failures()
        if not self._failures:
            return ()
        command = parse_command(turn.input.get("command"))
        found = None
        for failure in reversed(self._failures):
            how = self._find_relation(failure, command, turn.raw_output)
            if how:
                found = _build_facts(turn, failure, command, how)
                self._failures = [one for one in self._failures if one.outcome.cause != failure.outcome.cause]
                break
        if any(_is_same_command(one, command) for one in self._failures):
            self._failures = [one for one in self._failures if not _is_same_command(one, command)]
        if self._failures and _is_setup_step(command):
            for failure in self._failures:
                failure.steps = [*failure.steps, command][-3:]
        return (found,) if found else ()

    def _drop_old_failures(self) -> None:
        is_old = False
        for failure in self._failures:
            failure.calls += 1
            is_old = is_old or failure.calls > _MAX_CALLS or not self._clock.is_recent(failure.texts)
        if is_old:
            self._failures = [
                one for one in self._failures if one.calls <= _MAX_CALLS and self._clock.is_recent(one.texts)
            ]

    def _find_relation(self, failure: _Failure, command: Command, output: str) -> str:
        """Return how the command that worked relates to the one that failed; empty if it does not."""
        if command.is_read_only and not failure.command.is_read_only:
            return ""
        is_untouched = failure.edits == self._edits
        kind = failure.outcome.kind
        if failure.command.essence == command.essence:
            how = _relate_same_command(failure, command) if is_untouched else ""
        elif is_untouched and _is_wrapped(failure.command, command):
            how = "form"
        elif kind in OBSTACLE_KINDS or kind == "server":
            how = _relate_obstacle(failure, command)
        elif kind == "red":
            how = _relate_failing_check(failure, command) if is_untouched else ""
        else:
            how = _relate_unknown(failure, command) if is_untouched else ""
        if not how or _is_typo(failure.command, command):
            return ""
        return how if _is_real_success(failure, command, output) else ""


def _is_real_success(failure: _Failure, command: Command, output: str) -> bool:
    """Return whether a success is real: visible, without bypassing a guard or repeating the earlier error."""
    if any(word in command.essence for word in _BYPASSES):
        return False
    if command.hides_exit_code and _has_error(output, failure.outcome.cause):
        return False
    return failure.outcome.cause not in _split_lines(output)  # if printed in both cases, it was not the problem


def _is_wrapped(first: Command, command: Command) -> bool:
    """Return whether it is the same command behind a prefix: in a container, as another user, with a variable set."""
    before, found, rest = command.main.rpartition(f" {first.main}")
    return bool(found and first.main and not rest) and any(
        word not in _NEUTRAL_WRAPPERS and word[0] not in "-0123456789" for word in before.split()
    )


def _has_same_arguments(first: Command, command: Command) -> bool:
    """Return whether another program was called with the same arguments, at least two of them."""
    is_plain = not first.is_read_only and first.tool not in FILE_PROGRAMS
    return is_plain and len(first.words) > 2 and first.words[1:] == command.words[1:]


def _adds_dependency(step: Command, cause: str) -> bool:
    """Return whether a step adds a dependency that new code needs: ordinary work, which the project records itself."""
    return step.tool in _PACKAGE_TOOLS and any(
        len(word) > 1 and word.partition("@")[0] and word.rstrip("/") in cause
        for word in step.words[2:]
        if word[0] not in "-." and word not in _STEP_WORDS
    )


def _names_object(step: Command, low: str) -> bool:
    """Return whether the failure names the object of a step."""
    names = [word.rpartition("=")[2].lower() for word in step.words[1:] if word[:1] != "-" or "=" in word]
    return any(len(name) > 3 and name not in _STEP_WORDS and name in low for name in names)


def _is_typo(first: Command, command: Command) -> bool:
    """Return whether one word was mistyped, or one file was looked for in another folder."""
    if len(first.words) != len(command.words) or first.folder != command.folder:
        return False
    pairs = [(left, right) for left, right in zip(first.words, command.words) if left != right]
    return len(pairs) == 1 and (_is_mistyped(*pairs[0]) or _is_same_file(*pairs[0]))


def _is_same_file(left: str, right: str) -> bool:
    name = left.rpartition("/")[2]
    return "." in name[1:-1] and name == right.rpartition("/")[2] and "=" not in left


def _is_mistyped(left: str, right: str) -> bool:
    """Return whether one letter inside a word is missing, added or swapped.

    Changes at the end make another name: `tests` and `test`, `--names=` and `--name=`.
    """
    start = next((at for at, (one, other) in enumerate(zip(left, right)) if one != other), 0)
    short, long = sorted((left[start:], right[start:]), key=len)
    if min(len(left), len(right)) < 4 or not start or not short:
        return False
    if len(short) == len(long):
        return len(short) > 1 and short[:2] == long[1::-1] and short[2:] == long[2:] and short[:2].isalpha()
    return long[1:] == short and long[0].isalpha() and short[0] != "="


def _relate_obstacle(failure: _Failure, command: Command) -> str:
    first = failure.command
    if first.inline and first.words != command.words:  # a different script, unless the same one is run in another way
        return "form" if first.words[1:] == command.words[1:] else ""
    if first.tool == command.tool:
        return _relate_same_tool(failure, command)
    if (first.purpose and first.purpose == command.purpose) or _has_same_arguments(first, command):
        return "form"
    if _is_program_missing(failure) and set(first.words[1:]) & set(command.words[1:]):
        return "form"
    return "form" if _is_advised(failure, command) else ""


def _relate_same_command(failure: _Failure, command: Command) -> str:
    """Relate identical commands: run after a missing step, or quoted for the shell."""
    misread = any(sign in failure.outcome.cause.lower() for sign in _SHELL_ERRORS)
    if misread:
        return "quoted" if failure.command.text != command.text and not command.hides_exit_code else ""
    low = failure.outcome.text.lower()
    is_real = failure.outcome.kind in OBSTACLE_KINDS
    steps = [step for step in failure.steps if is_real or step.family in low or _names_object(step, low)]
    failure.steps = [step for step in steps if not _adds_dependency(step, failure.outcome.cause)]
    return "after" if failure.steps else ""


def _relate_same_tool(failure: _Failure, command: Command) -> str:
    first, cause = failure.command, failure.outcome.cause
    if failure.outcome.kind == "place":  # a guessed path does not mean a wrong folder
        is_about_files = "no such file" in cause.lower() and first.tool in _STATEFUL_TOOLS | FILE_PROGRAMS
        return "place" if command.folder != first.folder and not is_about_files else ""
    if _relate_same_action(first, command):
        return "form"
    names_action = bool(first.action) and first.action in cause
    return "form" if failure.outcome.kind == "calling" and names_action else ""


def _relate_unknown(failure: _Failure, command: Command) -> str:
    first = failure.command
    if first.tool != command.tool:
        return "form" if _has_same_arguments(first, command) and not first.inline else ""
    is_plain = first.tool not in _STATEFUL_TOOLS | FILE_PROGRAMS and not first.script and not first.inline
    is_same = first.essence != command.essence
    is_narrower = any(word in _NARROWING_OPTIONS and word not in first.words for word in command.words)
    return _relate_same_action(first, command) if is_plain and is_same and not is_narrower else ""


def _relate_failing_check(failure: _Failure, command: Command) -> str:
    """Relate a failing check to one that passes only because of a switch that neither narrows nor changes it."""
    first = failure.command
    if first.tool != command.tool or first.action != command.action or command.hides_exit_code:
        return ""
    if not set(first.words) <= set(command.words):
        return ""
    before = set(first.essence.split())
    added = [word for word in command.essence.split() if word not in before and word not in ("--", "&&")]
    names = {word.lstrip("-").partition("=")[0] for word in added if word[:1] == "-"}
    assigned = any("=" in word and word.partition("=")[0].isidentifier() for word in added)
    return "form" if (assigned and not names) or (names and names <= _HARMLESS_OPTIONS) else ""


def _relate_same_action(first: Command, command: Command) -> str:
    if first.action == command.action:
        return "form"
    return "form" if first.action and stem(first.action) == stem(command.action) else ""


def _is_program_missing(failure: _Failure) -> bool:
    return failure.outcome.code == EXIT_NOT_FOUND or "not found" in failure.outcome.cause.lower()


def _is_advised(failure: _Failure, command: Command) -> bool:
    """Return whether the failure itself names the program that works."""
    if len(command.tool) < 2 or failure.calls > 3:
        return False
    name = command.words[0] if command.words else command.tool
    for line in failure.outcome.text.lower().splitlines()[:40]:
        padded = f" {line} "
        words = padded.translate(_PUNCTUATION_TABLE).split()
        if any(word in padded for word in _ADVICE_WORDS) and (name in words or command.tool in words):
            return True
    return False


_PUNCTUATION_TABLE = str.maketrans(dict.fromkeys("`'\"()[],;:", " "))


def _is_setup_step(command: Command) -> bool:
    """Return whether a command makes other commands work, such as an installation."""
    if command.tool in ("source", ".", "export", "chmod", "createdb", "corepack") or command.purpose == "install":
        return True
    return any(part in _STEP_WORDS for word in command.words[1:4] for part in word.split(":"))


def _is_same_command(failure: _Failure, command: Command) -> bool:
    """Return whether the same command works by now."""
    return failure.command.essence == command.essence and not command.hides_exit_code


def _has_error(output: str, cause: str) -> bool:
    low = output[:4000].lower()
    return not low.strip() or cause.lower() in low or any(word in low for word in _ERROR_WORDS)


def _split_lines(output: str) -> set[str]:
    return {" ".join(line.split()) for line in output[:8000].splitlines()}


def _build_facts(turn: Turn, failure: _Failure, command: Command, how: str) -> Facts:
    found = failure.outcome.get_redacted()
    tried, works = _format_command(failure.command, failure.cwd), _format_command(command, turn.cwd)
    if how == "quoted":
        tried, works = redact(failure.command.get_redacted().text), redact(command.get_redacted().text)
    if how == "after":
        step = _format_command(failure.steps[-1], turn.cwd)
        content = format_redacted(
            "{} fails here ({}) until {} was run", format_code(tried), found.cause, format_code(step)
        )
    else:
        content = format_redacted("{} fails here ({}); {} works", format_code(tried), found.cause, format_code(works))
    return build_facts(
        turn,
        FAMILY,
        "gotcha",
        2,
        content,
        context=failure.outcome.get_excerpt(),
        category="command",
        meta={
            "score": 0.75,
            "tool": redact_name(command.get_redacted().tool),
            "streak": redact_name(failure.tool_use_id),
        },
    )


def _format_command(command: Command, cwd: Optional[str]) -> Redacted:
    """Return the redacted command, without a `cd` to the folder of the session."""
    prefix, essence = f"cd {cwd} && ", command.get_redacted().essence
    return redact(essence[len(prefix) :] if cwd and essence.startswith(prefix) else essence)
