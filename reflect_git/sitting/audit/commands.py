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
    planted,
    verb_with_id,
)
from reflect_git.sitting.shell import UNKNOWN, Command
from reflect_git.sitting.written import NAMED, PACKAGE, Written, note_writes

_DEEPEST = 6
_LARGEST = 1 << 16  # of a script that is read; a longer one that names us counts as opaque

_SPAWNS = re.compile(
    r"os\.system|subprocess|popen|spawn|pty\.|runpy|exec[lv(]|child_process|execSync|system\s*\(|qx|`|eval|__import__",
    re.I,
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
_HOOK_FILE = re.compile(r"hooks?/(?:hook\.py|launch\.sh)|reflect_git[./]hook")
_EVENT = "PostToolUse"
_STARTED = re.compile(
    r"/cron|/systemd/|autostart/|LaunchAgents/|\.(?:bash|zsh|k?sh|tmux|screen|vim)(?:rc|env|\.conf)$"
    r"|\.(?:bash_|z)?(?:profile|login|logout|aliases)$|/fish/"
)
# A path below the client's folder that cannot be read.
_PATTERN = re.compile(rf"\.claude/?[^\s'\"/]*[*?\[{UNKNOWN}]")
_WRITERS = frozenset((
    "tee", "mv", "ln", "touch", "patch", "rm", "truncate", "dd", "unzip", "scp", "curl", "wget", "sponge",
))  # fmt: skip
_OTHERS = frozenset(("git", "eval", "source", ".", "cd", "pushd", "popd", "for", "set", "read", "code"))
_READS_LINES = re.compile(r"\b(?:read|mapfile|readarray)\b")
_TYPES_KEYS = re.compile(r"TIOCSTI|keystroke|send-keys|send-text|write-chars|xdotool|ydotool|pyautogui|pynput")
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
    found = list(_Judge(written, place, text).text(text, 0))
    written.is_armed = written.is_armed or any(one.is_planted and one.verb in programs.DECIDING for one in found)
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
    def __init__(self, written: Written, place: Place, whole: str) -> None:
        self.written, self.place, self.whole = written, place, whole
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
            yield from self._writes(command)
            yield from self._variables(command)
            yield from self._command(command, command.words, depth)

    def _writes(self, command: Command) -> Iterator[Suspicion]:
        """Judge the files that a command writes. A program that is not known to read only may write what it names."""
        targets = [target for operator, target in command.redirects if ">" in operator]
        if command.name in ("cp", "install", "rsync"):
            targets += _copied_to(command.words)
        elif command.name in _WRITERS or _writes_its_files(command, self.written):
            targets += command.words[1:]
        for target in targets:
            yield from writes_into(self._resolve(target), self.place)
            yield from starts_by_itself(target, self.written.files.get(target, ""))
            if UNKNOWN in target:  # `T=$(ls ~/.claude/projects/*/*.jsonl); echo … >> $T`
                yield from writes_into(self.whole, self.place)

    def _resolve(self, path: str) -> str:
        """Return where a path leads: below the folder of the call, and through links that a session made."""
        path = os.path.join(self.cwd, path)
        for link, source in self.written.links.items():
            at = path.find(link)
            if at >= 0 and path[at + len(link) :][:1] in ("", "/"):
                return source + path[at + len(link) :]
        return path

    def _variables(self, command: Command) -> Iterator[Suspicion]:
        """Judge variables whose value another program runs, now or later."""
        is_exported = command.name in ("export", "declare", "typeset")
        for name, value in command.variables.items():
            if is_exported or programs.RUN_VARIABLES.fullmatch(name):
                found = [*planted(value), *planted(self.written.find(value) or "")]
                self.written.arms_git = self.written.arms_git or bool(found)
                yield from found

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
            yield from self._script(command, words[1] if len(words) > 1 else "", depth)
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
            yield from planted(" ".join(words))
        else:
            yield from self._unlisted(command, words)

    def _unlisted(self, command: Command, words: Sequence[str]) -> Iterator[Suspicion]:
        """Judge any other program: unless it only reads, it may run what its words or its input say."""
        name = words[0].rpartition("/")[2]
        if name in programs.INERT and name != "alias":
            form = programs.RUN_WORDS.get(name)
            for word in filter(form.search, words[1:]) if form else ():
                yield from planted(word)
            return
        if name in programs.TYPE_KEYS:
            yield Suspicion(KEYS)
        found = [*self._other(words, [word for word in words if " " in word]), *verb_with_id(words)]
        yield from found or planted(" ".join(words))
        yield from planted(shell.input_of(command, self.written.files) or "")

    def _git(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        rest = list(words[1:])
        where = os.path.join(self.cwd, command.variables.get("GIT_DIR", command.variables.get("GIT_WORK_TREE", "")))
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            value = rest.pop(0) if option in ("-C", "-c", "--git-dir", "--work-tree") and rest else ""
            given = value if option in ("-C", "--git-dir") else option.partition("git-dir=")[2]
            where = self._resolve(os.path.join(where, given))
            if option == "-c" and NAMED.search(value):
                yield Suspicion(RUNS)
        if not rest:
            return
        if f"git-{rest[0]}" in self.written.names:
            yield from invocation(rest[1:], is_plain=depth == 0)
        elif any(programs.GIT_RUNS.search(word) for word in rest):
            found = [*(mentions(" ".join(rest)) if NAMED.search(" ".join(rest)) else planted(" ".join(rest)))]
            self.written.arms_git = self.written.arms_git or bool(found)
            yield from found
        elif rest[1:2] and rest[1] in programs.DECIDING:
            yield from verb_with_id(rest[1:])
        sent_to = [self._resolve(word) for word in rest[1:]] if rest[0] in programs.GIT_SENDS else []
        if any(_names(path, self.place.store) for path in (*([where] if _git_writes(rest) else ()), *sent_to)):
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
            yield from self._hook(*words[1:])
            yield from verb_with_id(words[1:])
            yield from self._script(command, script, depth)
        else:
            text = shell.input_of(command, self.written.files)
            if text is not None:
                fed = command.feeds is not None and (
                    _is_decoding(command.feeds) or programs.CODE.fullmatch(command.feeds.name)
                )
                self.decodes = self.decodes or bool(fed)
                yield from self._run(text, depth)
                yield from self._piped(command)

    def _script(self, command: Command, path: str, depth: int) -> Iterator[Suspicion]:
        """Judge a script by its path: a file, the standard input, or `<(…)`, which reads as what it prints."""
        if path in ("/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"):
            yield from self._run(shell.input_of(command, self.written.files) or "", depth)
            yield from self._piped(command)
        elif path == UNKNOWN and self.decodes:
            yield Suspicion(OPAQUE)
        elif any(character in path for character in " \n"):
            yield from self._run(path, depth)
        yield from self._file(path, depth)

    def _piped(self, command: Command) -> Iterator[Suspicion]:
        """Judge what a pipe feeds to a shell if its text cannot be told: by the words of the commands before."""
        before = command.feeds
        while before is not None:
            if UNKNOWN in shell.output_of(before, self.written.files):
                yield from planted(" ".join(before.words))
                yield from planted(shell.input_of(before, self.written.files) or "")
            before = before.feeds

    def _interpreter(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        """Judge a program in another language: its code, its script, or our package."""
        yield from self._hook(*words[1:])
        for at, word in enumerate(words[1:], 1):
            option = re.fullmatch(r"-[A-Za-z]*?m(.*)", word)
            behind = at + 1 if option is None or option[1] else at + 2
            module = (option[1] or "".join(words[at + 1 : at + 2])) if option else word
            name = module.partition(".")[0] if option else module.rstrip("/").rpartition("/")[2]
            if name in {*self.written.names, "reflect_git"} or PACKAGE.search(module):
                yield from (one for one in invocation(words[behind:]) if not _HOOK.search(module))
                return
        yield from verb_with_id(words[1:])
        codes = [
            words[at + 1] for at in range(1, len(words) - 1) if re.fullmatch(r"-\w*[ceEr]|--eval|--print", words[at])
        ]
        if words[0].rpartition("/")[2].endswith("awk"):
            codes = list(words[1:])
        scripts = [self.written.find(word) for word in words[1:]]
        first = next((word for word in words[1:] if not word.startswith("-")), "") if not codes else ""
        if (self.written.find(first) or "").startswith(UNKNOWN):
            yield Suspicion(OPAQUE)
        fed = shell.input_of(command, self.written.files) if not codes and not any(scripts) else None
        for code in (*codes, *filter(None, scripts), *([fed] if fed else ())):
            yield from self._code(code, words[1:])

    def _code(self, code: str, words: Sequence[str] = ()) -> Iterator[Suspicion]:
        """Judge code; `words` are its arguments, which may name the file that it writes."""
        joined = re.sub(r"""(['"])\s*[+.]?\s*\1""", "", code)
        joined = re.sub(r"""['"]\s*\+\s*['"]""", "", joined)
        if UNKNOWN in code and self.decodes and (code.lstrip().startswith(UNKNOWN) or _SPAWNS.search(code)):
            yield Suspicion(OPAQUE)
        if _APPROVES.search(joined) and _SPAWNS.search(code):
            yield Suspicion(RUNS, "approve", is_planted=True)
        yield from planted(joined)
        if _TYPES_KEYS.search(code):
            yield Suspicion(KEYS)
        if _HOOK_FILE.search(code) and _SPAWNS.search(code):
            yield Suspicion(HOOK)
        if NAMED.search(joined):
            yield from mentions(joined)
        elif _DECODES.search(code) and _SPAWNS.search(code):
            yield Suspicion(OPAQUE)
        for places, kind in ((self.place.transcripts, TRANSCRIPT), (self.place.store, STORE)):
            named = (code, _JOINS.sub("/", code), *map(self._resolve, words))
            is_named = any(one in path for one in places for path in named)
            if is_named and (_WRITES.search(code) or _SPAWNS.search(code)):
                yield Suspicion(kind)

    def _launcher(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        """Judge what a launcher starts: its words from the first program on, its texts, and its input."""
        name = words[0].rpartition("/")[2]
        if name == "find" and not any(word.startswith(("-exec", "-ok")) for word in words):
            return
        if name in programs.TERMINALS and sends_keys(words):
            yield Suspicion(KEYS)
        late, is_data, has_program = name in programs.SCHEDULERS, False, False
        for at, word in enumerate(words[1:], 1):
            if not has_program and "=" not in word and (UNKNOWN in word or word.startswith("{")):
                yield from self._unknown(word.rpartition("/")[2], words[at:])
                yield from planted(word)
            if "IFS" in command.variables:  # then other characters than spaces can part the words of a variable
                yield from planted(word)
            if any(character in word for character in " ;\n"):
                found = [
                    *self._run(word, depth + 1),
                    *(mentions(word) if name == "socat" and NAMED.search(word) else ()),
                ]
                yield from (one._replace(is_plain=False, is_scheduled=late) for one in found)
            elif self._is_program(word):
                rest = [*words[at:], *(self._arguments(command) if name in ("xargs", "parallel") else ())]
                yield from planted(shell.input_of(command, self.written.files) or "")
                for one in self._command(command, rest, depth + 1):
                    if not is_data or one.verb in programs.DECIDING:
                        yield one._replace(is_plain=False, is_scheduled=late or one.is_scheduled)
                return
            is_data = is_data or word in programs.INERT
            has_program = has_program or is_data or "/" in word
        text = shell.input_of(command, self.written.files)
        if text is not None:
            found = list(self._run(_CRON.sub("", text), depth)) or list(planted(text))
            found += self._piped(command) if name not in ("xargs", "parallel") else ()
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
        if text.startswith(UNKNOWN):  # a download, or what a program printed
            yield Suspicion(OPAQUE)
        first = text.partition("\n")[0]
        is_code = first.startswith("#!") and not re.search(r"\b(?:ba|da|z|k|fi)?sh\b", first)
        if is_code or path.endswith((".py", ".js", ".mjs", ".ts", ".pl", ".rb", ".php", ".lua")):
            yield from self._code(text)
        else:
            yield from (one._replace(is_plain=False) for one in self._run(_CRON.sub("", text), depth))

    def _hook(self, *words: str) -> Iterator[Suspicion]:
        """Judge a program and its words: our hook has one name of an event, wherever it was copied to."""
        if any(_HOOK.search(word) or word == _EVENT for word in words):
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
        elif name == UNKNOWN and _READS_LINES.search(self.whole):  # `while read l; do $l; done <<< "…"`
            yield from planted(self.whole)

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


def _git_writes(rest: Sequence[str]) -> bool:
    """Tell whether a command of git may change the repository it runs in."""
    if rest[0] in programs.GIT_LISTS:
        return not programs.GIT_LISTING.issuperset(rest[1:])
    return rest[0] not in programs.GIT_READS


def _writes_its_files(command: Command, written: Written) -> bool:
    """Tell whether a program may write files that its words name. Code, launchers and git are judged by themselves."""
    name = command.name
    if name in ("sed", "yq", "perl", "ruby", "awk", "gawk"):
        return any(re.match(r"-\w*i|--in-?place", word) for word in command.words[1:])
    if name == "tar":
        return not re.match(r"-?[a-z]*[ct]|--create|--list", "".join(command.words[1:2]))
    if programs.CODE.fullmatch(name):  # a script that no session wrote; `-c` and `-m json.tool` show what they do
        first = "".join(command.words[1:2])
        return bool(first) and not first.startswith("-") and written.find(first) is None
    known = (programs.INERT, programs.LAUNCHERS, programs.SHELLS, written.names, _OTHERS)
    return bool(name) and not any(name in names for names in known)


def starts_by_itself(path: str, text: str) -> list[Suspicion]:
    """Judge a text in a file that the system, or the user's next shell, runs without being told."""
    return [one._replace(is_scheduled=True) for one in planted(text)] if _STARTED.search(path) else []


def writes_into(path: str, place: Place) -> Iterator[Suspicion]:
    """Judge a file that a call writes: the client's transcripts and the store are nobody's to write by hand."""
    is_pattern = bool(_PATTERN.search(path))
    if is_pattern or _names(path, place.transcripts):
        yield Suspicion(TRANSCRIPT)
    if is_pattern or _names(path, place.store):
        yield Suspicion(STORE)


def _names(word: str, places: Sequence[str]) -> bool:
    return any(one in word for one in places)


def sends_keys(words: Sequence[str]) -> bool:
    """Tell whether a terminal's own command types an answer into it: short keys, or what cannot be read."""
    if "pipe-pane" in words:  # with -I, what a program prints is typed
        return any(re.fullmatch(r"-\w*I\w*", word) for word in words)
    verbs = {"send-keys", "send", "stuff", "paste-buffer", "pasteb", "send-text", "write-chars", "write"}
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


def runs_anything(text: str, arms_git: bool = False) -> bool:
    """Tell whether a call runs more than programs that read and list. A command of git may run a hook; `arms_git`: a
    session changed what git runs, so that every command of git counts."""
    listed = [command for command in shell.read(text) if command.words]
    return any(
        command.name not in programs.INERT
        and (command.name != "git" or arms_git or not programs.GIT_HOOKED.isdisjoint(command.words))
        for command in listed
    )
