"""Detect a command that fails, and then a form of it that works.

Forms: the same program with other words; another program with the same purpose or arguments; the same words behind a
prefix (in a container, with a variable set); the same command in another folder or after a step it needs.

Not counted: the same command again; a success that may be that of a pager or of `|| true`; a failing test that passes
after an edit; a check made narrower; a temporary failure; a typo.
"""

from __future__ import annotations

from reflect_git.capture.detectors.moment import Clock, facts_of, name_of, quote
from reflect_git.capture.detectors.outcome import NOT_FOUND, REAL, WRITERS, Judge, Outcome, is_meant
from reflect_git.capture.detectors.shell import SMALL, Command, command_of, stem
from reflect_git.redact import fill, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

FAMILY = "fix"
_MOST = 4
_CALLS = 8  # Bash calls between the failure and the form that works
_STEPS = frozenset(
    """install i ci add sync generate gen codegen migrate up start build login init create pull fetch update use link
    setup bootstrap submodule run deploy seed restore auth enable createdb initdb compile configure""".split()
)
# Working-tree state rather than knowledge: git says `error:` for things that the next command undoes.
_STATEFUL = frozenset(("git", "jj", "hg", "svn"))
_SWITCHES = frozenset(
    """runInBand test-threads features all-features tags workers maxWorkers config env timeout project profile serial
    no-parallel import-mode forked forceExit experimental-vm-modules legacy-peer-deps""".split()
)
_NARROWING = frozenset("--filter -F -k -t --grep -run --testNamePattern --workspace -w -p --package --only".split())
_BYPASSES = ("--no-verify", "push --force", "push -f", "--no-gpg-sign", "git reset --hard")
_WRONG = ("error", "failed", "fatal", "not found", "cannot", "no such", "exception", "traceback", "denied", "refused")
_SHELL_SIGNS = ("no matches found:", "syntax error near", "event not found", "bad substitution", "parse error near")
_ADDING = frozenset("js cargo go uv poetry pdm bundle composer dotnet".split())
_NEUTRAL = frozenset("time timeout gtimeout nohup nice stdbuf exec command env caffeinate".split())
_ADVICE = (" use ", "use:", " run ", "run:", " try ", "try:", "instead", "please")


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


class Fix:
    """Detects a working form of a command that failed."""

    def __init__(self, clock: Clock, judge: Judge) -> None:
        self._clock = clock
        self._judge = judge
        self._open: list[_Failure] = []
        self._edits = 0

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return tool == "Bash" or (tool in WRITERS and not is_error) or kind == "assistant"

    def see(self, turn: Turn) -> Sequence[Facts]:
        """Remember failed commands, and report a success that is a form of one."""
        if turn.kind == "assistant":
            if self._open and is_meant(turn.raw):
                self._open.pop()
        elif turn.tool != "Bash":
            self._edits += 1
        elif turn.is_error:
            self._fail(turn)
        elif self._open and not turn.interrupted:
            return self._succeed(turn)
        return ()

    def _fail(self, turn: Turn) -> None:
        outcome = self._judge.of(turn)
        command = outcome.command if outcome else None
        if outcome and command and outcome.kind not in ("astray", "passing") and not command.silent:
            self._open.append(_Failure(turn, outcome, command, self._clock.texts, self._edits))
            del self._open[:-_MOST]

    def _succeed(self, turn: Turn) -> Sequence[Facts]:
        self._age()
        if not self._open:
            return ()
        command = command_of(turn.input.get("command"))
        found = None
        for failure in reversed(self._open):
            how = self._relate(failure, command, turn.raw_output)
            if how:
                found = _facts(turn, failure, command, how)
                self._open = [one for one in self._open if one.outcome.cause != failure.outcome.cause]
                break
        if any(_is_settled(one, command) for one in self._open):
            self._open = [one for one in self._open if not _is_settled(one, command)]
        if self._open and _is_step(command):
            for failure in self._open:
                failure.steps = [*failure.steps, command][-3:]
        return (found,) if found else ()

    def _age(self) -> None:
        is_old = False
        for failure in self._open:
            failure.calls += 1
            is_old = is_old or failure.calls > _CALLS or not self._clock.is_near(failure.texts)
        if is_old:
            self._open = [one for one in self._open if one.calls <= _CALLS and self._clock.is_near(one.texts)]

    def _relate(self, failure: _Failure, command: Command, output: str) -> str:
        """Return how the command that worked relates to the one that failed; empty if it does not."""
        if command.is_look and not failure.command.is_look:
            return ""
        is_untouched = failure.edits == self._edits
        kind = failure.outcome.kind
        if failure.command.essence == command.essence:
            how = _relate_same(failure, command) if is_untouched else ""
        elif is_untouched and _is_wrapped(failure.command, command):
            how = "form"
        elif kind in REAL or kind == "server":
            how = _relate_real(failure, command)
        elif kind == "red":
            how = _relate_red(failure, command) if is_untouched else ""
        else:
            how = _relate_unknown(failure, command) if is_untouched else ""
        if not how or _is_slip(failure.command, command):
            return ""
        return how if _works(failure, command, output) else ""


def _works(failure: _Failure, command: Command, output: str) -> bool:
    """Return whether a success is real: visible, without bypassing a guard or repeating the earlier error."""
    if any(word in command.essence for word in _BYPASSES):
        return False
    if command.masked and _looks_wrong(output, failure.outcome.cause):
        return False
    return failure.outcome.cause not in _whole_lines(output)  # if printed in both cases, it was not the problem


def _is_wrapped(first: Command, command: Command) -> bool:
    """Return whether it is the same command behind a prefix: in a container, as another user, with a variable set."""
    before, found, rest = command.main.rpartition(f" {first.main}")
    return bool(found and first.main and not rest) and any(
        word not in _NEUTRAL and word[0] not in "-0123456789" for word in before.split()
    )


def _is_relaunched(first: Command, command: Command) -> bool:
    """Return whether another program was called with the same arguments, at least two of them."""
    is_plain = not first.is_look and first.tool not in SMALL
    return is_plain and len(first.words) > 2 and first.words[1:] == command.words[1:]


def _is_addition(step: Command, cause: str) -> bool:
    """Return whether a step adds a dependency that new code needs: ordinary work, which the project records itself."""
    return step.tool in _ADDING and any(
        len(word) > 1 and word.partition("@")[0] and word.rstrip("/") in cause
        for word in step.words[2:]
        if word[0] not in "-." and word not in _STEPS
    )


def _is_named(step: Command, low: str) -> bool:
    """Return whether the failure names the object of a step."""
    names = [word.rpartition("=")[2].lower() for word in step.words[1:] if word[:1] != "-" or "=" in word]
    return any(len(name) > 3 and name not in _STEPS and name in low for name in names)


def _is_slip(first: Command, command: Command) -> bool:
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


def _relate_real(failure: _Failure, command: Command) -> str:
    first = failure.command
    if first.inline and first.words != command.words:  # a different script, unless the same one is run in another way
        return "form" if first.words[1:] == command.words[1:] else ""
    if first.tool == command.tool:
        return _relate_same_tool(failure, command)
    if (first.purpose and first.purpose == command.purpose) or _is_relaunched(first, command):
        return "form"
    if _is_absent(failure) and set(first.words[1:]) & set(command.words[1:]):
        return "form"
    return "form" if _is_advised(failure, command) else ""


def _relate_same(failure: _Failure, command: Command) -> str:
    """Relate identical commands: run after a missing step, or quoted for the shell."""
    misread = any(sign in failure.outcome.cause.lower() for sign in _SHELL_SIGNS)
    if misread:
        return "quoted" if failure.command.text != command.text and not command.masked else ""
    low = failure.outcome.text.lower()
    is_real = failure.outcome.kind in REAL
    steps = [step for step in failure.steps if is_real or step.family in low or _is_named(step, low)]
    failure.steps = [step for step in steps if not _is_addition(step, failure.outcome.cause)]
    return "after" if failure.steps else ""


def _relate_same_tool(failure: _Failure, command: Command) -> str:
    first, cause = failure.command, failure.outcome.cause
    if failure.outcome.kind == "place":  # a guessed path does not mean a wrong folder
        is_about_files = "no such file" in cause.lower() and first.tool in _STATEFUL | SMALL
        return "place" if command.folder != first.folder and not is_about_files else ""
    if _same_action(first, command):
        return "form"
    names_action = bool(first.action) and first.action in cause
    return "form" if failure.outcome.kind == "calling" and names_action else ""


def _relate_unknown(failure: _Failure, command: Command) -> str:
    first = failure.command
    if first.tool != command.tool:
        return "form" if _is_relaunched(first, command) and not first.inline else ""
    is_plain = first.tool not in _STATEFUL | SMALL and not first.script and not first.inline
    is_same = first.essence != command.essence
    is_narrower = any(word in _NARROWING and word not in first.words for word in command.words)
    return _same_action(first, command) if is_plain and is_same and not is_narrower else ""


def _relate_red(failure: _Failure, command: Command) -> str:
    """Relate a failing check to one that passes only because of a switch that neither narrows nor changes it."""
    first = failure.command
    if first.tool != command.tool or first.action != command.action or command.masked:
        return ""
    if not set(first.words) <= set(command.words):
        return ""
    before = set(first.essence.split())
    added = [word for word in command.essence.split() if word not in before and word not in ("--", "&&")]
    names = {word.lstrip("-").partition("=")[0] for word in added if word[:1] == "-"}
    assigned = any("=" in word and word.partition("=")[0].isidentifier() for word in added)
    return "form" if (assigned and not names) or (names and names <= _SWITCHES) else ""


def _same_action(first: Command, command: Command) -> str:
    if first.action == command.action:
        return "form"
    return "form" if first.action and stem(first.action) == stem(command.action) else ""


def _is_absent(failure: _Failure) -> bool:
    return failure.outcome.code == NOT_FOUND or "not found" in failure.outcome.cause.lower()


def _is_advised(failure: _Failure, command: Command) -> bool:
    """Return whether the failure itself names the program that works."""
    if len(command.tool) < 2 or failure.calls > 3:
        return False
    name = command.words[0] if command.words else command.tool
    for line in failure.outcome.text.lower().splitlines()[:40]:
        padded = f" {line} "
        words = padded.translate(_SIGNS).split()
        if any(word in padded for word in _ADVICE) and (name in words or command.tool in words):
            return True
    return False


_SIGNS = str.maketrans(dict.fromkeys("`'\"()[],;:", " "))


def _is_step(command: Command) -> bool:
    """Return whether a command makes other commands work, such as an installation."""
    if command.tool in ("source", ".", "export", "chmod", "createdb", "corepack") or command.purpose == "install":
        return True
    return any(part in _STEPS for word in command.words[1:4] for part in word.split(":"))


def _is_settled(failure: _Failure, command: Command) -> bool:
    """Return whether the same command works by now."""
    return failure.command.essence == command.essence and not command.masked


def _looks_wrong(output: str, cause: str) -> bool:
    low = output[:4000].lower()
    return not low.strip() or cause.lower() in low or any(word in low for word in _WRONG)


def _whole_lines(output: str) -> set[str]:
    return {" ".join(line.split()) for line in output[:8000].splitlines()}


def _facts(turn: Turn, failure: _Failure, command: Command, how: str) -> Facts:
    found = failure.outcome.redacted()
    tried, works = _shown(failure.command, failure.cwd), _shown(command, turn.cwd)
    if how == "quoted":
        tried, works = redact(failure.command.redacted().text), redact(command.redacted().text)
    if how == "after":
        step = _shown(failure.steps[-1], turn.cwd)
        content = fill("{} fails here ({}) until {} was run", quote(tried), found.cause, quote(step))
    else:
        content = fill("{} fails here ({}); {} works", quote(tried), found.cause, quote(works))
    return facts_of(
        turn, FAMILY, "gotcha", 2, content, context=failure.outcome.excerpt(), category="command",
        meta={"score": 0.75, "tool": name_of(command.redacted().tool), "streak": name_of(failure.tool_use_id)},
    )  # fmt: skip


def _shown(command: Command, cwd: Optional[str]) -> Redacted:
    """Return the redacted command, without a `cd` to the folder of the session."""
    prefix, essence = f"cd {cwd} && ", command.redacted().essence
    return redact(essence[len(prefix) :] if cwd and essence.startswith(prefix) else essence)
