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
    "tee", "cp", "mv", "ln", "install", "alias", "export", "read", "hash", "brew", "apt", "apt-get", "dnf", "gh",
    "glab", "bat", "fd", "column", "nl", "tac", "xdg-open", "md5sum", "sha256sum", "zip", "unzip", "scp", "history",
    "set", "unset", "ruff", "mypy", "tr", "rev", "base64", "xxd", "curl", "wget", "wait", "jobs", "id", "whoami",
    "uname", "hostname", "seq", "patch",
))  # fmt: skip
GIT_RUNS = re.compile(r"alias\.|core\.|--exec|^-x$|^bisect$|^foreach$|^filter-branch$|^rebase$|^difftool$|^mergetool$")
# Commands of git that run the hooks of a repository.
GIT_HOOKED = frozenset((
    "commit", "push", "merge", "rebase", "checkout", "switch", "pull", "am", "cherry-pick", "revert", "worktree",
))  # fmt: skip
GIT_WRITES = frozenset((
    "commit", "fast-import", "update-ref", "hash-object", "commit-tree", "am", "merge", "rebase", "reset", "apply",
    "cherry-pick", "mktree", "read-tree", "write-tree", "update-index", "config", "revert", "branch", "symbolic-ref",
    "pull", "reflog", "checkout", "add", "replace", "filter-branch", "fetch",
))  # fmt: skip
