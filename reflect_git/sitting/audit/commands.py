"""Tell from the text of a Bash call whether it could have run a reflect-git command that decides something.

Ordinary calls and read-only verbs give nothing. A call counts if it names a deciding verb, directly or through another
program, a script that a session wrote, an alias or a variable; if it runs a text that the transcript does not show; or
if it calls our hook, or writes into the store or the client's transcripts, by itself.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reflect_git.sitting import shell
from reflect_git.sitting.audit import programs
from reflect_git.sitting.audit.invocations import (
    HOOK,
    ID,
    KEYS,
    OPAQUE,
    RUNS,
    STORE,
    TRANSCRIPT,
    Suspicion,
    invocation,
    mentions,
)
from reflect_git.sitting.shell import UNKNOWN, Command
from reflect_git.sitting.written import NAMED, Written, note_writes

_DEEPEST = 6
_LARGEST = 1 << 16  # of a script that is read; a longer one that names us counts as opaque

_SPAWNS = re.compile(
    r"os\.system|subprocess|popen|spawn|pty\.|exec[lv(]|child_process|execSync|system\s*\(|qx|`|eval|__import__", re.I
)
_DECODES = re.compile(
    r"b64decode|fromhex|unhexlify|codecs|rot.?13|\bchr\s*\(|\[::-1\]|atob|fromCharCode|decompress|pack\("
)
_WRITES = re.compile(
    r"""(?:,\s*|mode\s*=\s*|open\(\s*)['"](?:w|a|x|r\+)[bt+]*['"]|(?<!stdout)(?<!stderr)\.write|(?:write|append|copy|rename|unlink|rm)(?:File|Sync)"""
    r"""|\bos\.(?:rename|replace|link|symlink|unlink|remove|truncate|open)|shutil|json\.dump\("""
    r"""|\.(?:rename|unlink|touch|truncate|symlink_to|hardlink_to)\(|>>"""
)
# Parts of a path that code joins, as `home / ".claude" / "projects"` or `join(home, ".claude", "projects")`.
_JOINS = re.compile(r"""['"]\s*[/,]\s*['"]""")
_APPROVES = re.compile(r"(?<![\w-])approve(?![\w-])")
_HOOK = re.compile(r"(?:^|/)(?:hooks?/)?(?:hook\.py|launch\.sh)$|reflect_git[./]hook")
_CRON = re.compile(r"^\s*(?:@\w+|(?:[\d*/,-]+\s+){5})", re.MULTILINE)
_LEAVES = frozenset(("C-c", "C-d", "C-z", "C-l"))  # keys that end or suspend a program, and answer nothing
_YES = frozenset("yesYES \n")  # `yyyy` answers four questions
_DOCS = (".md", ".rst", ".txt", ".adoc", ".html")


class Place(NamedTuple):
    """Where the store and the client's transcripts are, as a command may name them."""

    store: tuple[str, ...] = (".claude/reflections",)
    transcripts: tuple[str, ...] = (".claude/projects",)
    cwd: str = ""


def suspicions(text: str, written: Written, place: Place = Place()) -> list[Suspicion]:  # noqa: B008 - it is immutable
    """Return why this call could have decided something; nothing for an ordinary one.

    What the call writes into files, and the names it gives to our program, is added to `written` for later calls.
    """
    listed = shell.read(text)
    for command in listed:
        note_writes(command, written)
    found = list(_Judge(written, place).text(text, 0))
    is_detached = any(command.is_background for command in listed)
    is_late = any(_is_scheduling(command) for command in listed)
    return [
        one._replace(is_plain=one.is_plain and not is_detached, is_scheduled=one.is_scheduled or is_late)
        for one in dict.fromkeys(found)
    ]


def _is_scheduling(command: Command) -> bool:
    return any(word.rpartition("/")[2] in programs.SCHEDULERS for word in command.words) or any(
        re.search(r"\bsleep\W+\d", word) for word in command.words
    )


class _Judge:
    def __init__(self, written: Written, place: Place) -> None:
        self.written, self.place = written, place
        self.cwd = place.cwd
        self.decodes = False

    def text(self, text: str, depth: int) -> Iterator[Suspicion]:
        """Judge a text that a shell runs; `depth` is how many shells are above it."""
        if depth > _DEEPEST or len(text) > _LARGEST:
            if NAMED.search(text):
                yield Suspicion(OPAQUE)
            return
        listed = shell.read(text)
        self.decodes = self.decodes or any(_is_decoding(command) for command in listed)
        for command in listed:
            if command.name in ("cd", "pushd") and len(command.words) > 1:
                self.cwd = os.path.join(self.cwd, command.words[1])
            yield from self._redirects(command)
            yield from self._command(command, command.words, depth)

    def _redirects(self, command: Command) -> Iterator[Suspicion]:
        targets = [target for operator, target in command.redirects if ">" in operator]
        if command.name in ("cp", "install", "rsync"):
            targets += _copied_to(command.words)
        if command.name in ("tee", "mv", "ln", "touch", "patch", "rm", "truncate", "dd"):
            targets += command.words[1:]
        if command.name == "sed" and any(word.startswith(("-i", "--in-place")) for word in command.words):
            targets += command.words[1:]
        for target in targets:
            yield from writes_into(os.path.join(self.cwd, target), self.place)

    def _command(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        """Judge one simple command; `words` are its own, or those that a launcher starts."""
        if not words:
            return
        name = words[0].rpartition("/")[2]
        if name in self.written.names:
            yield from invocation(words[1:], is_plain=depth == 0 and words is command.words)
        elif name == "git":
            yield from self._git(command, words, depth)
        elif name == "eval":
            yield from self._run(" ".join(words[1:]), depth)
        elif name in ("source", "."):
            yield from self._file(words[1] if len(words) > 1 else "", depth)
        elif name in programs.SHELLS:
            yield from self._shell(command, words, depth)
        elif programs.CODE.fullmatch(name):
            yield from self._interpreter(command, words, depth)
        elif name in programs.LAUNCHERS:
            yield from self._launcher(command, words, depth)
        elif self.written.find(words[0]) is not None and ("/" in words[0] or name not in programs.INERT):
            yield from self._file(words[0], depth)
        elif not set(name).isdisjoint(f"{UNKNOWN}*?[{{"):
            yield from self._unknown(name, words)
        elif name not in programs.INERT:
            yield from self._other(words, [word for word in words[1:] if " " in word])

    def _git(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        rest = list(words[1:])
        where = os.path.join(self.cwd, command.variables.get("GIT_DIR", command.variables.get("GIT_WORK_TREE", "")))
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            value = rest.pop(0) if option in ("-C", "-c", "--git-dir", "--work-tree") and rest else ""
            given = value if option in ("-C", "--git-dir") else option.partition("git-dir=")[2]
            where = os.path.join(where, given)
            if option == "-c" and NAMED.search(value):
                yield Suspicion(RUNS)
        if rest[:1] == ["reflect"]:
            yield from invocation(rest[1:], is_plain=depth == 0)
        elif any(programs.GIT_RUNS.search(word) for word in rest) and any(NAMED.search(word) for word in words):
            yield from self._other(words, texts=rest)
        elif rest and rest[0] in programs.GIT_WRITES and _names(where, self.place.store):
            yield Suspicion(STORE)

    def _run(self, text: str, depth: int) -> Iterator[Suspicion]:
        """Judge a text that is run by a shell below this one."""
        yield from self.text(text, depth + 1)

    def _shell(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        flags = [at for at, word in enumerate(words) if re.fullmatch(r"-\w*c", word)]
        if flags:
            yield from self._run(" ".join(words[flags[0] + 1 : flags[0] + 2]), depth)
            return
        script = next((word for word in words[1:] if not word.startswith("-")), "")
        if script:
            if script.rpartition("/")[2] in self.written.names:
                yield from invocation(words[words.index(script) + 1 :])
            yield from self._hook(script)
            yield from self._file(script, depth)
        else:
            text = shell.input_of(command, self.written.files)
            if text is not None:
                fed = command.feeds is not None and (
                    _is_decoding(command.feeds) or programs.CODE.fullmatch(command.feeds.name)
                )
                self.decodes = self.decodes or bool(fed)
                yield from self._run(text, depth)

    def _interpreter(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        """Judge a program in another language: its code, its script, or our package."""
        for at, word in enumerate(words[1:], 1):
            module = words[at + 1] if word == "-m" and at + 1 < len(words) else ""
            if module.partition(".")[0] == "reflect_git":
                yield from invocation(words[at + 2 :])
                return
            if word.rpartition("/")[2] in self.written.names or re.search(r"reflect_git/(?:__main__|cli/start)", word):
                yield from invocation(words[at + 1 :])
                return
            yield from self._hook(word)
        codes = [
            words[at + 1] for at in range(1, len(words) - 1) if re.fullmatch(r"-\w*[ceEr]|--eval|--print", words[at])
        ]
        if words[0].rpartition("/")[2].endswith("awk"):
            codes = list(words[1:])
        scripts = [self.written.find(word) for word in words[1:]]
        fed = shell.input_of(command, self.written.files) if not codes and not any(scripts) else None
        for code in (*codes, *filter(None, scripts), *([fed] if fed else ())):
            yield from self._code(code)

    def _code(self, code: str) -> Iterator[Suspicion]:
        joined = re.sub(r"""(['"])\s*[+.]?\s*\1""", "", code)
        joined = re.sub(r"""['"]\s*\+\s*['"]""", "", joined)
        if UNKNOWN in code and self.decodes and (code.lstrip().startswith(UNKNOWN) or _SPAWNS.search(code)):
            yield Suspicion(OPAQUE)
        if _APPROVES.search(joined) and _SPAWNS.search(code):
            yield Suspicion(RUNS, "approve", frozenset(ID.findall(joined)))
        if NAMED.search(joined):
            yield from mentions(joined)
        elif _DECODES.search(code) and _SPAWNS.search(code):
            yield Suspicion(OPAQUE)
        for places, kind in ((self.place.transcripts, TRANSCRIPT), (self.place.store, STORE)):
            is_named = any(one in path for one in places for path in (code, _JOINS.sub("/", code)))
            if is_named and (_WRITES.search(code) or _SPAWNS.search(code)):
                yield Suspicion(kind)

    def _launcher(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        """Judge what a launcher starts: its words from the first program on, its texts, and its input."""
        name = words[0].rpartition("/")[2]
        if name == "find" and not any(word.startswith(("-exec", "-ok")) for word in words):
            return
        if name in ("tmux", "screen") and sends_keys(words):
            yield Suspicion(KEYS)
        late, is_data, has_program = name in programs.SCHEDULERS, False, False
        for at, word in enumerate(words[1:], 1):
            if UNKNOWN in word and not has_program and "=" not in word:
                yield from self._unknown(word.rpartition("/")[2], words[at:])
            if any(character in word for character in " ;\n"):
                found = [
                    *self._run(word, depth + 1),
                    *(mentions(word) if name == "socat" and NAMED.search(word) else ()),
                ]
                yield from (one._replace(is_plain=False, is_scheduled=late) for one in found)
            elif self._is_program(word):
                rest = [*words[at:], *(self._arguments(command) if name in ("xargs", "parallel") else ())]
                for one in self._command(command, rest, depth + 1):
                    if not is_data or one.verb in programs.DECIDING:
                        yield one._replace(is_plain=False, is_scheduled=late or one.is_scheduled)
                return
            is_data = is_data or word in programs.INERT
            has_program = has_program or is_data or "/" in word
        if name in ("at", "batch", "crontab", "xargs", "parallel", "tmux", "script"):
            text = shell.input_of(command, self.written.files)
            if text is not None:
                found = [*self._run(_CRON.sub("", text), depth)]
                yield from (one._replace(is_plain=False, is_scheduled=late) for one in found)

    def _arguments(self, command: Command) -> list[str]:
        """Return the words that xargs adds, from its input."""
        text = shell.input_of(command, self.written.files)
        return text.split() if text and UNKNOWN not in text else [UNKNOWN]

    def _is_program(self, word: str) -> bool:
        name = word.rpartition("/")[2]
        known = (
            name in self.written.names
            or name in programs.SHELLS
            or name in programs.LAUNCHERS
            or name in ("git", "eval", "source")
        )
        return known or bool(programs.CODE.fullmatch(name)) or self.written.find(word) is not None

    def _file(self, path: str, depth: int) -> Iterator[Suspicion]:
        """Judge a script that is run, if a session wrote it."""
        text = self.written.find(path)
        if text is None:
            return
        first = text.partition("\n")[0]
        is_code = first.startswith("#!") and not re.search(r"\b(?:ba|da|z|k|fi)?sh\b", first)
        if is_code or path.endswith((".py", ".js", ".mjs", ".ts", ".pl", ".rb", ".php", ".lua")):
            yield from self._code(text)
        else:
            yield from (one._replace(is_plain=False) for one in self._run(_CRON.sub("", text), depth))

    def _hook(self, word: str) -> Iterator[Suspicion]:
        if _HOOK.search(word):
            yield Suspicion(HOOK)

    def _unknown(self, name: str, words: Sequence[str]) -> Iterator[Suspicion]:
        """Judge a program whose name cannot be read: by the pattern it is, or by a verb of ours behind it."""
        pattern = name.replace(UNKNOWN, "*")
        is_pattern = bool(pattern.strip("*")) and any(fnmatch.fnmatch(one, pattern) for one in self.written.names)
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        if (
            is_pattern
            or verb in ("approve", "undo", "dismiss", "purge")
            or (verb in programs.DECIDING and ID.search(" ".join(words)))
        ):
            yield from invocation(words[1:]) if verb else (Suspicion(OPAQUE),)
        elif self.decodes and name == UNKNOWN:
            yield Suspicion(OPAQUE)

    def _other(self, words: Sequence[str], texts: Sequence[str] = ()) -> Iterator[Suspicion]:
        """Judge an unknown program: our name among its words counts if a deciding verb follows."""
        for at, word in enumerate(words):
            yield from self._hook(word)
            if word.rpartition("/")[2] in self.written.names:
                yield from (one for one in invocation(words[at + 1 :]) if one.verb in programs.DECIDING)
        for text in texts:
            yield from mentions(text) if NAMED.search(text) else ()


def _is_decoding(command: Command) -> bool:
    """Tell whether a command makes a text that its own words do not show."""
    if command.name == "printf":
        return any("\\" in word for word in command.words[1:]) and UNKNOWN in shell.output_of(command)
    return command.name in programs.DECODERS or bool(
        programs.CODE.fullmatch(command.name) and _DECODES.search(" ".join(command.words))
    )


def _copied_to(words: Sequence[str]) -> list[str]:
    """Return where `cp` and its like write: what they copy from is only read."""
    for at, word in enumerate(words):
        if word in ("-t", "--target-directory") or word.startswith("--target-directory="):
            return [word, *words[at + 1 : at + 2]]
    return list(words[-1:])


def writes_into(path: str, place: Place) -> Iterator[Suspicion]:
    """Judge a file that a call writes: the client's transcripts and the store are nobody's to write by hand."""
    if _names(path, place.transcripts):
        yield Suspicion(TRANSCRIPT)
    if _names(path, place.store):
        yield Suspicion(STORE)


def _names(word: str, places: Sequence[str]) -> bool:
    return any(one in word for one in places)


def sends_keys(words: Sequence[str]) -> bool:
    """Tell whether tmux or screen types an answer into a terminal: short keys, or what cannot be read."""
    verbs = {"send-keys", "send", "stuff", "paste-buffer", "pasteb"}
    at = next((at for at, word in enumerate(words) if word in verbs), 0)
    if not at:
        return False
    rest = list(words[at + 1 :])
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] == "-t" else rest[1:]
    if rest and _LEAVES.issuperset(rest):
        return False
    keys = [key.strip() for key in rest if key not in ("Enter", "C-m", "Space", "Tab")]
    return all(UNKNOWN in key or len(key) <= 3 or key.startswith("C-") or _YES.issuperset(key) for key in keys)


def is_armed(path: str, text: str) -> bool:
    """Tell whether a file that a session wrote decides something when anything runs it; documents are not run."""
    if path.lower().endswith(_DOCS) or not NAMED.search(text):
        return False
    return any(one.kind == RUNS and one.verb in programs.DECIDING for one in mentions(text))


def runs_anything(text: str) -> bool:
    """Tell whether a call runs more than programs that read and list; a command of git may run a hook."""
    listed = [command for command in shell.read(text) if command.words]
    return any(
        command.name not in programs.INERT
        and (command.name != "git" or not programs.GIT_HOOKED.isdisjoint(command.words))
        for command in listed
    )
