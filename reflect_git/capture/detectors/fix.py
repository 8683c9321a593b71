"""A command fails, then a form of it works.

The working form is the same program with other words, another program for the same purpose or told the same, the same
words behind others (in a container, with a variable set), or the same command in another place or after a step that it
needs. No fixes: the same command again, a success that could be that of a pager or of `|| true`, a red test that turned
green because a file was edited, a check that was made narrower, a failure that passes by itself, a word mistyped.
"""

from __future__ import annotations

from reflect_git.adapters.redact import fill, redact
from reflect_git.capture.detectors.moment import Clock, facts_of, name_of, quote
from reflect_git.capture.detectors.outcome import NOT_FOUND, REAL, WRITERS, Judge, Outcome, is_meant
from reflect_git.capture.detectors.shell import SMALL, Command, command_of, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

    from reflect_git.adapters.redact import Redacted
    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts

FAMILY = "fix"
_MOST = 4
_CALLS = 8  # of Bash between the failure and the form that works
_STEPS = frozenset(
    """install i ci add sync generate gen codegen migrate up start build login init create pull fetch update use link
    setup bootstrap submodule run deploy seed restore auth enable createdb initdb compile configure""".split()
)
# State of the working tree rather than knowledge: git says `error:` for what the next command undoes.
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
    def __init__(self, clock: Clock, judge: Judge) -> None:
        self._clock = clock
        self._judge = judge
        self._open: list[_Failure] = []
        self._edits = 0

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return tool == "Bash" or (tool in WRITERS and not is_error) or kind == "assistant"

    def see(self, turn: Turn) -> Sequence[Facts]:
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
        """How the command that worked is a form of the one that failed; empty if it is none."""
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
    """A success that is one: seen, not bought by stepping around a guard, and without what was wrong before."""
    if any(word in command.essence for word in _BYPASSES):
        return False
    if command.masked and _looks_wrong(output, failure.outcome.cause):
        return False
    return failure.outcome.cause not in _whole_lines(output)  # said in either case, so not what was wrong


def _is_wrapped(first: Command, command: Command) -> bool:
    """The same words with something before them: in a container, as somebody else, with a variable set."""
    before, found, rest = command.main.rpartition(f" {first.main}")
    return bool(found and first.main and not rest) and any(
        word not in _NEUTRAL and word[0] not in "-0123456789" for word in before.split()
    )


def _is_relaunched(first: Command, command: Command) -> bool:
    """Two words or more that another program was told."""
    is_plain = not first.is_look and first.tool not in SMALL
    return is_plain and len(first.words) > 2 and first.words[1:] == command.words[1:]


def _is_addition(step: Command, cause: str) -> bool:
    """What new code wants is made part of the project: work, which the project remembers by itself."""
    return step.tool in _ADDING and any(
        len(word) > 1 and word.partition("@")[0] and word.rstrip("/") in cause
        for word in step.words[2:]
        if word[0] not in "-." and word not in _STEPS
    )


def _is_named(step: Command, low: str) -> bool:
    """The failure names what the step is about."""
    names = [word.rpartition("=")[2].lower() for word in step.words[1:] if word[:1] != "-" or "=" in word]
    return any(len(name) > 3 and name not in _STEPS and name in low for name in names)


def _is_slip(first: Command, command: Command) -> bool:
    """One word, mistyped, or one file looked for in another folder."""
    if len(first.words) != len(command.words) or first.folder != command.folder:
        return False
    pairs = [(left, right) for left, right in zip(first.words, command.words) if left != right]
    return len(pairs) == 1 and (_is_mistyped(*pairs[0]) or _is_same_file(*pairs[0]))


def _is_same_file(left: str, right: str) -> bool:
    name = left.rpartition("/")[2]
    return "." in name[1:-1] and name == right.rpartition("/")[2] and "=" not in left


def _is_mistyped(left: str, right: str) -> bool:
    """A letter too few, too many or in another place, within the word: `tests` for `test` is another name, and so is
    `--names=` for `--name=`."""
    start = next((at for at, (one, other) in enumerate(zip(left, right)) if one != other), 0)
    short, long = sorted((left[start:], right[start:]), key=len)
    if min(len(left), len(right)) < 4 or not start or not short:
        return False
    if len(short) == len(long):
        return len(short) > 1 and short[:2] == long[1::-1] and short[2:] == long[2:] and short[:2].isalpha()
    return long[1:] == short and long[0].isalpha() and short[0] != "="


def _relate_real(failure: _Failure, command: Command) -> str:
    first = failure.command
    if first.inline and first.words != command.words:  # another script, unless it is the same one run otherwise
        return "form" if first.words[1:] == command.words[1:] else ""
    if first.tool == command.tool:
        return _relate_same_tool(failure, command)
    if (first.purpose and first.purpose == command.purpose) or _is_relaunched(first, command):
        return "form"
    if _is_absent(failure) and set(first.words[1:]) & set(command.words[1:]):
        return "form"
    return "form" if _is_advised(failure, command) else ""


def _relate_same(failure: _Failure, command: Command) -> str:
    """The very same words: after a step that was missing, or quoted for the shell."""
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
    if failure.outcome.kind == "place":  # a path that was guessed is no place
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
    """Red, and green by a switch alone that neither narrows the check nor changes what is checked."""
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
    """The failure itself names the program that works."""
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
    """Something that makes other commands work."""
    if command.tool in ("source", ".", "export", "chmod", "createdb", "corepack") or command.purpose == "install":
        return True
    return any(part in _STEPS for word in command.words[1:4] for part in word.split(":"))


def _is_settled(failure: _Failure, command: Command) -> bool:
    """It works by now, or the same thing does."""
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
    """Return the redacted command, without the way to where the session is anyway."""
    prefix, essence = f"cd {cwd} && ", command.redacted().essence
    return redact(essence[len(prefix) :] if cwd and essence.startswith(prefix) else essence)
