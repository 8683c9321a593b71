"""Judge the arguments of our own program: whether they decide something or only read; with tables of programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reflect_git.rules.drift.shell import UNKNOWN
from reflect_git.rules.drift.shell_writes import OUR_NAME

READING_VERBS = frozenset((
    "status", "candidates", "log", "show", "why", "rules", "stats", "signals", "mine", "help", "completion", "capture",
    "demo", "propose", "init", "guards",
))  # fmt: skip
# Verbs that decide only with one of these words; `config` and `remote` depend on the number of words.
DECIDING_WORDS = {
    "audit": ("--accept",), "doctor": ("--fix",), "improvements": ("apply", "defer"), "import": ("--yes",),
}  # fmt: skip
DECIDING_VERBS = frozenset(
    (
        "approve",
        "review",
        "edit",
        "revert",
        "undo",
        "restore",
        "purge",
        "dismiss",
        "audit",
        "config",
        "promote",
        "guard",
        "unguard",
        "pin",
        "unpin",
        "panel",
        "keep",
    )
)
READ_ONLY_OPTIONS = frozenset((
    "--dry-run", "--help", "-h", "--version", "-V", "--later", "--test", "--call", "--try", "--read-only", "--export",
))  # fmt: skip
# Options of ours that take no value: the next word is not their value.
FLAGS = frozenset((
    "--add", "--all", "--ask", "--diff", "--erase", "--fix", "--force", "--global", "--json", "--keep", "--never",
    "--no-input", "--patch", "--reopen", "--unmark", "--unset", "--yes", "-q", "--quiet",
))  # fmt: skip
SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "rbash"))
INTERPRETER = re.compile(
    r"(?:python|pypy|perl|ruby|php|lua|node|nodejs|deno|bun|osascript|expect|tclsh|awk|gawk|mawk)[\d.]*"
)
# They start what their arguments say, some of them detached from the client.
LAUNCHERS = frozenset((
    "env", "sudo", "doas", "su", "runuser", "nohup", "setsid", "exec", "command", "builtin", "time", "timeout", "nice",
    "ionice", "stdbuf", "unbuffer", "script", "xargs", "parallel", "watch", "flock", "find", "strace", "faketime",
    "tmux", "screen", "byobu", "zellij", "dtach", "abduco", "at", "batch", "crontab", "systemd-run", "ssh", "docker",
    "podman", "busybox", "unshare", "nsenter", "chroot", "fakeroot", "socat", "start-stop-daemon", "daemonize", "xterm",
    "gnome-terminal", "konsole", "kitty", "alacritty", "wezterm", "foot", "open", "entr", "trap", "uv", "uvx", "pipx",
    "npx", "coproc", "ltrace", "chrt", "taskset", "prlimit", "setpriv", "runcon", "dbus-run-session", "systemctl", "fg",
    "proot", "expect", "ttyd", "mosh", "rlwrap", "chpst", "su-exec", "gosu", "if", "then",
))  # fmt: skip
PACKAGE_RUNNERS = frozenset(("npx", "uv", "uvx", "pipx"))  # mostly formatters and linters: documents are their data
TERMINALS = frozenset(("tmux", "screen", "byobu", "zellij", "kitty", "wezterm"))
SCHEDULERS = frozenset(("at", "batch", "crontab", "systemd-run", "sleep"))
DECODERS = frozenset((
    "base64", "base32", "xxd", "openssl", "rev", "tr", "gunzip", "zcat", "gzip", "bzip2", "xz", "uudecode", "od",
    "curl", "wget", "nc", "gpg", "printf", "awk", "perl",
))  # fmt: skip
# They read, list, or change files of a project; they do not run their arguments.
INERT_PROGRAMS = frozenset((
    "cat", "ls", "grep", "egrep", "fgrep", "rg", "ag", "ack", "echo", "printf", "head", "tail", "less", "more", "wc",
    "sort", "uniq", "cut", "diff", "cmp", "stat", "file", "du", "df", "pwd", "cd", "pushd", "popd", "mkdir", "rmdir",
    "touch", "rm", "chmod", "chown", "which", "type", "whereis", "man", "tree", "jq", "yq", "basename", "dirname",
    "realpath", "readlink", "date", "true", "false", "test", "[", "[[", "sleep", "ps", "pgrep", "kill", "pkill", "sed",
    "tee", "cp", "mv", "ln", "install", "alias", "export", "hash", "brew", "apt", "apt-get", "dnf", "gh",
    "glab", "bat", "fd", "column", "nl", "tac", "xdg-open", "md5sum", "sha256sum", "zip", "unzip", "scp", "history",
    "unset", "ruff", "mypy", "tr", "rev", "base64", "xxd", "curl", "wget", "wait", "jobs", "id", "whoami",
    "uname", "hostname", "seq", "patch",
))  # fmt: skip
GIT_RUN_PATTERN = re.compile(
    r"alias\.|core\.|--exec|^-x$|^bisect$|^foreach$|^filter-branch$|^rebase$|^difftool$|^mergetool$"
)
# Git commands that run the hooks of a repository.
GIT_HOOK_COMMANDS = frozenset((
    "commit", "push", "merge", "rebase", "checkout", "switch", "pull", "am", "cherry-pick", "revert", "worktree",
))  # fmt: skip
# Git commands that change nothing but how objects are packed; every other one counts as a write.
GIT_READ_COMMANDS = frozenset((
    "status", "log", "show", "diff", "cat-file", "ls-files", "ls-tree", "ls-remote", "rev-parse", "rev-list", "blame",
    "grep", "shortlog", "describe", "for-each-ref", "show-ref", "name-rev", "merge-base", "fsck", "count-objects",
    "diff-tree", "diff-index", "whatchanged", "help", "version", "var", "check-ignore", "archive", "clone", "gc",
    "repack", "verify-commit", "verify-pack", "range-diff", "cherry", "show-branch",
))  # fmt: skip
# These only list without arguments, or with one of the words below.
GIT_LIST_COMMANDS = frozenset(("branch", "remote", "stash", "reflog", "tag", "notes", "worktree"))
GIT_LIST_OPTIONS = frozenset((
    "-a", "-v", "-vv", "-r", "-l", "list", "show", "--list", "--all", "--show-current", "--no-color",
))  # fmt: skip
# Git commands that can write into another repository that they name.
GIT_SEND_COMMANDS = frozenset(("push", "send-pack", "remote", "config"))
# Another program, often a later one, runs the value of these variables.
RUN_VARIABLES = re.compile(
    r"\w*PAGER|\w*EDITOR|VISUAL|LESSOPEN|LESSCLOSE|BROWSER|PROMPT_COMMAND|BASH_ENV|ENV|SHELL|\w*_COMMAND|\w*ASKPASS|GIT_\w+"
)
# Programs of INERT that run one of their arguments if it has this form.
RUN_ARGUMENTS = {
    "sed": re.compile(r"(?:^|[\d$;{}/,])\s*e\s"), "less": re.compile(r"^\+"), "man": re.compile(""),
    "sort": re.compile("^--compress-prog"), "zip": re.compile("^-TT|^--unzip-command"),
}  # fmt: skip
KEY_PROGRAMS = frozenset(("xdotool", "ydotool", "wtype", "dotool", "ttyecho", "writevt"))
# They can run a file that they open.
EDITORS = frozenset(("vi", "vim", "nvim", "ex", "view", "emacs", "ed", "kak", "hx"))


RUNS, OPAQUE, KEYS, HOOK, TRANSCRIPT, STORE = "runs", "opaque", "keys", "hook", "transcript", "store"
PAGE = "page"  # a request to a local web page, which could be the panel
PANEL_VERB = "panel"
CAPTURES = "captures"  # in its own terminal, a session could capture text that then counts as typed by the user
CAPTURE = "capture"
# The program of the store, which the plugin has beside its hooks: `promote` approves, `append` captures.
STORE_PROGRAM = re.compile(r"(?:^|/)hooks/store\.py$")
_STORE_PROGRAM_IN_TEXT = re.compile(r"hooks/store\.py[^A-Za-z\n]*(promote|append)(?![A-Za-z])")
PROMOTE, APPEND = "promote", "append"
ID = re.compile(r"\b(?:SIG|LRN|DEC)-\d{8}-[0-9a-z]{8}\b")
# These two can also only read; in a text they decide only with the words below.
_REQUIRED_WORDS = {"audit": r"[^\n]*--accept", "config": r"\W+reflect\.\w+\W+\w"}
_ALWAYS_DECIDING = DECIDING_VERBS - {*_REQUIRED_WORDS}
_ANY_VERB = "|".join(sorted(DECIDING_VERBS))
_VERB_AFTER_NAME = re.compile(rf"(?:{OUR_NAME.pattern})[^A-Za-z\n]*({_ANY_VERB}|{CAPTURE})(?![A-Za-z])", OUR_NAME.flags)
_VERB_BEFORE_ID = re.compile(rf"(?<![\w-])({'|'.join(sorted(_ALWAYS_DECIDING))})(?![\w-])[^\n]{{0,80}}?{ID.pattern}")


class Suspicion(NamedTuple):
    """Why a call could have decided something; `verb` and `ids` are empty if unknown.

    `is_plain`: the program runs directly, as a child of the client, where it refuses. `is_scheduled`: it may run much
    later. `is_in_text`: the command is part of a text that another program stores or runs.
    """

    kind: str
    verb: str = ""
    ids: frozenset[str] = frozenset()
    is_plain: bool = False
    is_scheduled: bool = False
    is_in_text: bool = False


def find_mentions(code: str) -> Iterator[Suspicion]:
    """Judge our name in code by the verb after it, or as our package.

    Code can compute an id, so ids stay empty.
    """
    for match in OUR_NAME.finditer(code):
        if code.startswith((":begin", ":end"), match.end()):  # the markers of our block, not our program
            continue
        verb = re.compile(r"[^A-Za-z]*([a-z]+)").match(code, match.end())
        if verb and verb[1] == CAPTURE:
            yield Suspicion(CAPTURES, CAPTURE)
        is_package = "_" in match[0] and not re.search(r"-m[^A-Za-z]*$", code[: match.start()])
        if is_package or not verb or verb[1] not in READING_VERBS:
            yield Suspicion(RUNS, verb[1] if verb and verb[1] in DECIDING_VERBS else "", is_in_text=True)


def find_commands_in_text(text: str) -> Iterator[Suspicion]:
    """Judge a text that some program may run: our name with a deciding verb, or such a verb with an id of ours.

    The program's name is not required, because a copy of it can have any name.
    """
    for match in _VERB_AFTER_NAME.finditer(text):
        if match[1] == CAPTURE:
            yield Suspicion(CAPTURES, CAPTURE)
        elif match[1] not in _REQUIRED_WORDS or re.compile(_REQUIRED_WORDS[match[1]]).match(text, match.end()):
            yield Suspicion(RUNS, match[1], is_in_text=True)
    for match in _STORE_PROGRAM_IN_TEXT.finditer(text):
        yield Suspicion(RUNS, PROMOTE, is_in_text=True) if match[1] == PROMOTE else Suspicion(CAPTURES, APPEND)
    for match in _VERB_BEFORE_ID.finditer(text):
        yield Suspicion(RUNS, match[1], is_in_text=True)


def check_verb_with_id(words: Sequence[str]) -> Iterator[Suspicion]:
    """Judge the arguments of any program: a deciding verb with an id is ours, whatever the program is called."""
    for at, word in enumerate(words[:-1]):
        if word in _ALWAYS_DECIDING and any(ID.fullmatch(one) for one in words[at + 1 :]):
            yield from check_invocation(words[at:])
            return


def check_store_program(args: Sequence[str]) -> Iterator[Suspicion]:
    """Judge the arguments of the store's program. Its other verbs only read, or change no rule."""
    verb = next((word for word in args if not word.startswith("-")), "")
    if verb == APPEND:
        yield Suspicion(CAPTURES, APPEND)
    elif verb == PROMOTE or UNKNOWN in verb:
        yield Suspicion(RUNS, PROMOTE)


def check_invocation(args: Sequence[str], is_plain: bool = False) -> Iterator[Suspicion]:
    """Judge the arguments of our program: nothing for a verb that only reads."""
    words = list(args)
    if _is_harmless(words):
        return
    rest, skip = [], False
    for word in words:
        if not skip and not word.startswith("-"):
            rest.append(word)
        skip = word in ("--store", "--color") and not skip
    verb = rest[0] if rest else ""
    if not verb and not any(UNKNOWN in word for word in words):
        return
    if verb == CAPTURE and not is_plain:
        yield Suspicion(CAPTURES, CAPTURE)
    if verb in READING_VERBS or (verb in DECIDING_WORDS and not {*DECIDING_WORDS[verb], UNKNOWN} & set(words)):
        return
    is_listing = {"config": len(rest) < 3 and "--unset" not in words, "restore": len(rest) < 2, "remote": len(rest) < 2}
    if is_listing.get(verb):
        return
    yield Suspicion(RUNS, "" if UNKNOWN in verb else verb, _find_ids(words, verb), is_plain)


def _find_ids(words: Sequence[str], verb: str) -> frozenset[str]:
    """Return the ids that a command is about; empty if one of its arguments may be another id.

    An id in the value of an option, such as `--reason`, does not count.
    """
    found: set[str] = set()
    behind = list(words[words.index(verb) :])
    for before, word in zip(behind, behind[1:]):
        is_value = before.startswith("-") and before not in FLAGS and "=" not in before
        if UNKNOWN in word or not (is_value or word.startswith("-") or ID.fullmatch(word)):
            return frozenset()
        found |= {word} if not is_value and ID.fullmatch(word) else set()
    return frozenset(found)


def _is_harmless(words: Sequence[str]) -> bool:
    """Tell whether an option makes our program read-only.

    The value of another option does not count, nor does a word of a launcher's next command (`tmux … ';' …`).
    """
    for before, word in zip(["", *words], words):
        if word in ("--", ";"):
            return False
        takes_it = before.startswith("-") and before not in FLAGS
        if word in READ_ONLY_OPTIONS and not takes_it:
            return True
    return False
