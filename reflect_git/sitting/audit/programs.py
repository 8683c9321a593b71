"""Programs by what they do with the words they are given: tables for `commands`."""

from __future__ import annotations

import re

READS = frozenset((
    "status", "candidates", "log", "show", "why", "rules", "stats", "signals", "mine", "help", "completion", "capture",
    "demo", "propose", "init",
))  # fmt: skip
# Verbs that decide only with one of these words; `config` and `remote` are told apart by how many words they have.
DECIDES_WITH = {
    "audit": ("--accept",), "doctor": ("--fix",), "improvements": ("apply", "defer"), "import": ("--yes",),
}  # fmt: skip
DECIDING = frozenset(("approve", "review", "edit", "revert", "undo", "restore", "purge", "dismiss", "audit", "config"))
HARMLESS = frozenset(("--dry-run", "--help", "-h", "--version", "-V", "--later"))
# Options of ours that take no value: the word after one of them is not its value.
FLAGS = frozenset((
    "--add", "--all", "--ask", "--diff", "--erase", "--fix", "--force", "--global", "--json", "--keep", "--never",
    "--no-input", "--patch", "--reopen", "--unmark", "--unset", "--yes", "-q", "--quiet",
))  # fmt: skip
SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "rbash"))
CODE = re.compile(r"(?:python|pypy|perl|ruby|php|lua|node|nodejs|deno|bun|osascript|expect|tclsh|awk|gawk|mawk)[\d.]*")
# They start what their words say, some of them where no ancestor is left behind.
LAUNCHERS = frozenset((
    "env", "sudo", "doas", "su", "runuser", "nohup", "setsid", "exec", "command", "builtin", "time", "timeout", "nice",
    "ionice", "stdbuf", "unbuffer", "script", "xargs", "parallel", "watch", "flock", "find", "strace", "faketime",
    "tmux", "screen", "byobu", "zellij", "dtach", "abduco", "at", "batch", "crontab", "systemd-run", "ssh", "docker",
    "podman", "busybox", "unshare", "nsenter", "chroot", "fakeroot", "socat", "start-stop-daemon", "daemonize", "xterm",
    "gnome-terminal", "konsole", "kitty", "alacritty", "wezterm", "foot", "open", "entr", "trap", "uv", "uvx", "pipx",
    "npx", "coproc", "ltrace", "chrt", "taskset", "prlimit", "setpriv", "runcon", "dbus-run-session", "systemctl", "fg",
    "proot", "expect", "ttyd", "mosh", "rlwrap", "chpst", "su-exec", "gosu", "if", "then",
))  # fmt: skip
TERMINALS = frozenset(("tmux", "screen", "byobu", "zellij", "kitty", "wezterm"))
SCHEDULERS = frozenset(("at", "batch", "crontab", "systemd-run", "sleep"))
DECODERS = frozenset((
    "base64", "base32", "xxd", "openssl", "rev", "tr", "gunzip", "zcat", "gzip", "bzip2", "xz", "uudecode", "od",
    "curl", "wget", "nc", "gpg", "printf", "awk", "perl",
))  # fmt: skip
# They read, list, or change files of a project; what they are given as words is not run.
INERT = frozenset((
    "cat", "ls", "grep", "egrep", "fgrep", "rg", "ag", "ack", "echo", "printf", "head", "tail", "less", "more", "wc",
    "sort", "uniq", "cut", "diff", "cmp", "stat", "file", "du", "df", "pwd", "cd", "pushd", "popd", "mkdir", "rmdir",
    "touch", "rm", "chmod", "chown", "which", "type", "whereis", "man", "tree", "jq", "yq", "basename", "dirname",
    "realpath", "readlink", "date", "true", "false", "test", "[", "[[", "sleep", "ps", "pgrep", "kill", "pkill", "sed",
    "tee", "cp", "mv", "ln", "install", "alias", "export", "hash", "brew", "apt", "apt-get", "dnf", "gh",
    "glab", "bat", "fd", "column", "nl", "tac", "xdg-open", "md5sum", "sha256sum", "zip", "unzip", "scp", "history",
    "unset", "ruff", "mypy", "tr", "rev", "base64", "xxd", "curl", "wget", "wait", "jobs", "id", "whoami",
    "uname", "hostname", "seq", "patch",
))  # fmt: skip
GIT_RUNS = re.compile(r"alias\.|core\.|--exec|^-x$|^bisect$|^foreach$|^filter-branch$|^rebase$|^difftool$|^mergetool$")
# Commands of git that run the hooks of a repository.
GIT_HOOKED = frozenset((
    "commit", "push", "merge", "rebase", "checkout", "switch", "pull", "am", "cherry-pick", "revert", "worktree",
))  # fmt: skip
# Commands of git that change nothing but how objects are packed; every other one counts as a write.
GIT_READS = frozenset((
    "status", "log", "show", "diff", "cat-file", "ls-files", "ls-tree", "ls-remote", "rev-parse", "rev-list", "blame",
    "grep", "shortlog", "describe", "for-each-ref", "show-ref", "name-rev", "merge-base", "fsck", "count-objects",
    "diff-tree", "diff-index", "whatchanged", "help", "version", "var", "check-ignore", "archive", "clone", "gc",
    "repack", "verify-commit", "verify-pack", "range-diff", "cherry", "show-branch",
))  # fmt: skip
# These list with nothing behind them, or with one of these words.
GIT_LISTS = frozenset(("branch", "remote", "stash", "reflog", "tag", "notes", "worktree"))
GIT_LISTING = frozenset((
    "-a", "-v", "-vv", "-r", "-l", "list", "show", "--list", "--all", "--show-current", "--no-color",
))  # fmt: skip
# Commands of git that can write into a repository they name, from another one.
GIT_SENDS = frozenset(("push", "send-pack", "remote", "config"))
# What runs the value of these variables is another program, and often a later one.
RUN_VARIABLES = re.compile(
    r"\w*PAGER|\w*EDITOR|VISUAL|LESSOPEN|LESSCLOSE|BROWSER|PROMPT_COMMAND|BASH_ENV|ENV|SHELL|\w*_COMMAND|\w*ASKPASS|GIT_\w+"
)
# Programs of INERT that run one of their words if it has this form.
RUN_WORDS = {
    "sed": re.compile(r"(?:^|[\d$;{}/,])\s*e\s"), "less": re.compile(r"^\+"), "man": re.compile(""),
    "sort": re.compile("^--compress-prog"), "zip": re.compile("^-TT|^--unzip-command"),
}  # fmt: skip
TYPE_KEYS = frozenset(("xdotool", "ydotool", "wtype", "dotool"))
