"""Checks of `doctor` outside the store: Claude Code, its files, git, and leftovers of older installations."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import reflect_git
from reflect_git import __version__, paths
from reflect_git.candidates.gate import MAX_ENTRIES
from reflect_git.capture import service
from reflect_git.cli import capture_switch
from reflect_git.cli.context import format_duration, get_cwd
from reflect_git.doctor.transcripts import count_entries
from reflect_git.errors import ReflectError
from reflect_git.guards import entry, rebuild, stored, table
from reflect_git.platform import claude_settings, files
from reflect_git.platform.git import Git
from reflect_git.platform.instruction_files import MAX_BYTES
from reflect_git.platform.project import top_of
from reflect_git.records.ids import plural
from reflect_git.rules import approver, derived_files
from reflect_git.store import expiry, inbox, pending, recover, remotes
from reflect_git.store.lost_signals import DAY, NOTE, OK, WARNING
from reflect_git.store.reading import reader
from reflect_git.store.repository import MAIN, Store, get_record_id
from reflect_git.targets import block

_RECENT_SECONDS = 7 * DAY
_TRANSCRIPTS_CHECKED = 5
_LONG_FILE_LINES = 200  # lines: what Anthropic advises for a CLAUDE.md
_STARTUP_FILES = ("CLAUDE.md", os.path.join(".claude", "CLAUDE.md"), "CLAUDE.local.md")
_BYTES_PER_TOKEN = 4
_COMMENT = re.compile(rb"^<!--.*?-->[ \t]*$\s*", re.M | re.S)  # the client leaves them out
_REMOTE_SECONDS = 15.0  # seconds that a remote has to answer
_SYNC_HINT = "run 'reflect-git sync' for details"
_CANARY_SECONDS = 10
_TRANSCRIPT_DAYS = 30  # what the client keeps without a setting
# Weaknesses of git that a hostile repository or remote could use, as of 2026-11-10, with the first version of each
# line of releases that is known to have the remedy: the release notes of git 2.45.1 and 2.50.1, and those of Git for
# Windows 2.56.1 for the last two. Distributions bring remedies into older versions without a new number.
_ADVISORIES = {
    "CVE-2024-32002": ((2, 39, 4), (2, 40, 2), (2, 41, 1), (2, 42, 2), (2, 43, 4), (2, 44, 1), (2, 45, 1)),
    "CVE-2025-48384": (
        (2, 43, 7), (2, 44, 4), (2, 45, 4), (2, 46, 4), (2, 47, 3), (2, 48, 2), (2, 49, 1), (2, 50, 1),
    ),
    "CVE-2026-111760": ((2, 56, 1),),
    "CVE-2026-113408": ((2, 56, 1),),
}  # fmt: skip


@dataclass(frozen=True)
class CheckResult:
    """A finding with the name of its check."""

    check: str
    level: str
    message: str
    hint: str = ""
    fixable: bool = False
    details: tuple[str, ...] = ()


Known_contra = TypeVar("Known_contra", contravariant=True)  # the store, or none where there is none yet


@dataclass(frozen=True)
class EnvCheck(Generic[Known_contra]):
    """One thing to look at, in a line or more; `repair` does something about those that are fixable and says what."""

    run: Callable[[Mapping[str, str], Known_contra], Iterator[CheckResult]]
    repair: Callable[[Mapping[str, str], Known_contra], str] | None = None


def _check_hooks(env: Mapping[str, str], store: Store | None) -> Iterator[CheckResult]:
    """Check whether Claude Code calls our hooks, how, at the right path, and whether it did so recently."""
    if _get_client_setting(env, "disableAllHooks") is True:
        yield CheckResult(
            "hooks", WARNING, "Claude Code's settings.json disables all hooks", 'remove "disableAllHooks" from it'
        )
    found = capture_switch.find_hooks(env)
    try:
        planned = capture_switch.plan_hooks(env, store, True)
    except (ReflectError, OSError) as error:
        yield CheckResult("hooks", WARNING, str(error), getattr(error, "hint", None) or f"look at '{found.path}'")
        return
    if found.state == capture_switch.NONE:
        yield CheckResult("hooks", NOTE, "not installed", "run 'reflect-git enable' or install the plugin")
        return
    if found.state == capture_switch.PROJECTS:
        said = f"installed by the plugin, only in {', '.join(map(repr, found.projects))}{_format_last_hook(store)}"
        yield CheckResult("hooks", OK, said)
        return
    yield _check_hook_source(store, found, planned.has_changes)
    yield from _check_silent_hooks(env, store)


def _check_hook_source(store: Store | None, found: capture_switch.HookInstall, changes: bool) -> CheckResult:
    """Check how the hooks are installed, and whether they are up to date."""
    if found.state == capture_switch.PLUGIN and claude_settings.has_our_hooks(found.before):
        said = f"installed twice: by the plugin and in '{found.path}'; nothing is captured twice"
        return CheckResult("hooks", NOTE, said, "remove the second ones with 'reflect-git enable'", fixable=True)
    folder = claude_settings.get_marketplace_folder(found.before) if found.state == capture_switch.PLUGIN else ""
    if folder and not os.path.isfile(os.path.join(folder, "hooks", "launch.sh")):
        hint = "restore it, or register its new place: claude plugin marketplace add DIR"
        return CheckResult("hooks", WARNING, f"the plugin is missing from '{folder}'", hint)
    if changes:
        said = f"'{found.path}' points to another installation"
        return CheckResult("hooks", WARNING, said, "update it with 'reflect-git enable'", fixable=True)
    where = "by the plugin" if found.state == capture_switch.PLUGIN else f"in '{found.path}'"
    return CheckResult("hooks", OK, f"installed {where}{_format_last_hook(store)}")


def _get_last_hook_time(store: Store | None) -> float:
    """Return when a hook last ran, as far as the store knows."""
    return _get_newest_mtime(Path(store.private_path("cursors")).glob("*/*.json")) if store else 0.0


def _format_last_hook(store: Store | None) -> str:
    last = _get_last_hook_time(store)
    if not last:
        return ", not run yet"
    since = format_duration(time.time() - last)
    return ", last run just now" if since == "a moment" else f", last run {since} ago"


def _repair_hooks(env: Mapping[str, str], store: Store | None) -> str:
    renewed = capture_switch.install_hooks(env, store, True)
    return f"repaired the hooks in '{renewed.path}'"


def _check_silent_hooks(env: Mapping[str, str], store: Store | None) -> Iterator[CheckResult]:
    """Warn if sessions ran but no hook did: Claude Code may not trust them, or another client runs."""
    spoken = _get_newest_mtime(Path(paths.projects_dir(env)).glob("*/*.jsonl"))
    is_on = store is None or store.is_enabled("reflect.capture", True)
    if is_on and spoken - _get_last_hook_time(store) > _RECENT_SECONDS and time.time() - spoken < _RECENT_SECONDS:
        said = f"a session ran {format_duration(time.time() - spoken)} ago, but no hook ran"
        yield CheckResult("hooks", WARNING, said, "restart Claude Code, then check '/hooks' in it")


def _get_newest_mtime(found: Iterator[Path]) -> float:
    return max((changed for changed, _ in _list_with_mtime(found)), default=0.0)


def _list_with_mtime(found: Iterator[Path]) -> Iterator[tuple[float, str]]:
    """Yield the modification time of each file. Skip deleted files and dangling links."""
    for path in found:
        try:
            yield path.stat().st_mtime, str(path)
        except OSError:
            continue


def _check_guards(env: Mapping[str, str], store: Store) -> Iterator[CheckResult]:
    """Check the table of guards and its entry, and send a call that must be refused through the entry."""
    problem, guards = table.find_problem(store.git_dir), table.read_table(store.git_dir)
    if problem:
        yield CheckResult("guards", WARNING, f"{problem}: its guards do not work", "rebuild it", fixable=True)
        return
    state = entry.entry_state(env, store.root)
    if not guards:
        if state in (entry.PRESENT, entry.OUTDATED):
            said = "Claude Code's settings.json has an entry for guards, but there are no guards"
            yield CheckResult("guards", WARNING, said, "remove it", fixable=True)
        return
    if state != entry.PRESENT:
        said = f"{plural(len(guards), 'guard')}, but the entry in Claude Code's settings.json is {state}"
        yield CheckResult("guards", WARNING, said, "add it with 'reflect-git enable'", fixable=True)
        return
    reason = _send_canary(entry.get_entry_command(env, store.root), env)
    if reason == f"{stored.CANARY}: {len(guards)}":
        yield CheckResult("guards", OK, f"{plural(len(guards), 'guard')}, tested with a call that must be refused")
    else:
        said = f"{plural(len(guards), 'guard')}, but a call that must be refused was not: {reason or 'no answer'}"
        yield CheckResult("guards", WARNING, said, "rebuild the table", fixable=True)


def _send_canary(command: list[str], env: Mapping[str, str]) -> str:
    """Return why a call was refused; empty if it was not."""
    call = {"hook_event_name": "PreToolUse", "session_id": "doctor", "cwd": os.sep, "tool_name": "Bash",
            "tool_input": {"command": stored.CANARY}}  # fmt: skip
    given = {name: value for name, value in env.items() if name != "REFLECT_GIT_OFF"}
    try:
        done = subprocess.run(
            command, input=json.dumps(call).encode() + b"\n", env=given, capture_output=True, timeout=_CANARY_SECONDS,
            check=False,
        )  # fmt: skip
        answer = json.loads(done.stdout)["hookSpecificOutput"]
        return str(answer["permissionDecisionReason"]) if answer["permissionDecision"] == "deny" else ""
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return ""


def _repair_guards(env: Mapping[str, str], store: Store) -> str:
    count = derived_files.refresh_guards(store, env, reader.scan(store))
    if not count:
        rebuild.remove_all(store, env)
    return f"rebuilt the table of {plural(count, 'guard')}"


def _check_client(env: Mapping[str, str], store: Store) -> Iterator[CheckResult]:
    folder = paths.config_dir(env)
    if not os.path.isdir(folder):
        yield CheckResult("client", NOTE, f"no '{folder}' yet", "start Claude Code once")
        return
    elsewhere = " (CLAUDE_CONFIG_DIR)" if env.get("CLAUDE_CONFIG_DIR") else ""
    given = _get_client_setting(env, "cleanupPeriodDays")
    days = given if isinstance(given, int) and not isinstance(given, bool) else _TRANSCRIPT_DAYS
    kept = f"transcripts are kept for {plural(days, 'day')}"
    lifetime = expiry.get_ttl_days(store)
    if days < lifetime:
        hint = f'set "cleanupPeriodDays" in its settings.json to {lifetime} or more'
        yield CheckResult(
            "client", WARNING, f"{kept}, signals for {lifetime}: an audit cannot check the older ones", hint
        )
    else:
        yield CheckResult("client", OK, f"'{folder}'{elsewhere}, {kept}")


def _get_client_setting(env: Mapping[str, str], name: str) -> object:
    try:
        settings = json.loads(
            claude_settings.read_settings(claude_settings.get_settings_path(paths.config_dir(env))) or b"{}"
        )
    except (ReflectError, ValueError, OSError, RecursionError):
        return None
    return settings.get(name) if isinstance(settings, dict) else None


def _check_transcripts(env: Mapping[str, str], store: Store | None) -> Iterator[CheckResult]:
    """Check that we can read the transcripts that Claude Code writes."""
    root = paths.projects_dir(env)
    dated = sorted(_list_with_mtime(Path(root).glob("*/*.jsonl")), reverse=True)
    if not dated:
        yield CheckResult("transcripts", OK, f"none below '{root}' yet")
        return
    found = count_entries([path for _, path in dated[:_TRANSCRIPTS_CHECKED]], root)
    if not found.files:
        said = f"not a regular file of yours: '{dated[0][1]}'"
        yield CheckResult("transcripts", WARNING, said, "links are not followed; move the files here")
        return
    versions = ", ".join(sorted(found.versions)[-3:])
    if found.has_many_errors:
        entries = plural(found.entries, "entry", "entries")
        said = f"{found.unreadable + found.malformed} of {entries} cannot be read (client {versions})"
        yield CheckResult(
            "transcripts", WARNING, said, "upgrade reflect-git, then run 'reflect-git import transcripts'"
        )
    else:
        client = f", client {versions}" if versions else ""
        which = "the newest one is" if found.files == 1 else f"the newest {found.files} are"
        yield CheckResult("transcripts", OK, f"{which} readable{client}")


def _check_instructions(env: Mapping[str, str], store: Store | None) -> Iterator[CheckResult]:
    """Check the size of the files that Claude Code reads at every start.

    They cost tokens in every session, and Claude follows long ones less.
    """
    root = top_of(get_cwd()) or get_cwd()
    listed = [os.path.join(paths.config_dir(env), "CLAUDE.md"), *(os.path.join(root, name) for name in _STARTUP_FILES)]
    for path in dict.fromkeys(os.path.realpath(one) for one in listed):
        try:
            data = files.read_small_file(path, MAX_BYTES)
        except FileNotFoundError:
            continue
        except OSError:
            yield CheckResult("instructions", WARNING, f"cannot read '{path}'", "check it with 'ls -l'")
            continue
        lines, tokens = data.count(b"\n"), len(_COMMENT.sub(b"", data)) // _BYTES_PER_TOKEN
        learned = _count_rules(data)
        rules = f"{learned} of at most {MAX_ENTRIES} rules, " if learned else ""
        said = f"'{path}' has {rules}{plural(lines, 'line')}, about {plural(tokens, 'token')} in every session"
        is_long = lines > _LONG_FILE_LINES  # 50 rules, of which an approval warns, are as many
        yield (
            CheckResult("instructions", NOTE, said, _format_shorten_hint(learned))
            if is_long
            else CheckResult("instructions", OK, said)
        )


def _count_rules(data: bytes) -> int:
    try:
        found = block.find_block(data)
    except ReflectError:  # no text
        return 0
    return len(found.entries) if found else 0


def _format_shorten_hint(learned: int) -> str:
    if learned:
        return "list the rules with 'reflect-git rules' and move some: reflect-git edit LRN --to rules"
    return "move parts of it to files in '.claude/rules'; add 'paths:' for rules about some files only"


def _check_outer_repository(env: Mapping[str, str], store: Store) -> Iterator[CheckResult]:
    """Warn if a surrounding repository, such as one for dotfiles, would commit the store."""
    top = top_of(os.path.dirname(store.root))
    if not top or os.path.realpath(top) == os.path.realpath(store.root):
        return
    name, outer = os.path.relpath(store.root, top), Git(store.git.program, top)
    if outer.run("ls-files", "-z", "--", name, check=False).out:
        hint = f"untrack it: git -C {shlex.quote(top)} rm -r -f -q --cached {shlex.quote(name)}"
        yield CheckResult("nested", WARNING, f"the repository '{top}' tracks the store", hint)
        return
    asked = outer.run("check-ignore", "--quiet", "--no-index", "--", name, check=False)
    if asked.code == 0:
        yield CheckResult("nested", OK, f"the repository '{top}' ignores the store")
    else:
        hint = f"add '/{name}/' to '{os.path.join(top, '.gitignore')}'"
        yield CheckResult("nested", WARNING, f"the store is inside the repository '{top}'", hint)


def _check_remote(env: Mapping[str, str], store: Store) -> Iterator[CheckResult]:
    """Check that the remote answers, and count the decisions that were not sent to it yet."""
    if not remotes.get_url(store):
        return
    from reflect_git.platform import remote_git
    from reflect_git.sync import exchange

    git = Git(store.git.program, store.root, user=remote_git.build_unattended_env(env))
    try:
        there = remote_git.list_heads(git, exchange.get_remote(store), remote_git.Limits(seconds=_REMOTE_SECONDS))
    except ReflectError as error:
        yield CheckResult("remote", WARNING, error.message, error.hint or _SYNC_HINT)
        return
    unsent = _count_unsent(store)
    if unsent is None:
        yield CheckResult(
            "remote", NOTE, "reachable; local history was rewritten since the last sync", "run 'reflect-git sync'"
        )
    elif unsent:
        yield CheckResult(
            "remote", NOTE, f"reachable; {plural(unsent, 'decision')} not sent yet", "run 'reflect-git sync'"
        )
    elif there.get(MAIN) not in (remotes.load_state(store).get("tip"), store.git.resolve(remotes.TRACKING_REF)):
        yield CheckResult("remote", NOTE, "reachable; changed since the last sync", "run 'reflect-git sync'")
    else:
        yield CheckResult("remote", OK, "reachable and up to date")


def _count_unsent(store: Store) -> int | None:
    """Count the decisions since the last sync or the user's own push.

    Return None after a purge, which replaces all commits.

    The remote's commit may be missing here; then it has no ref.
    """
    known = [
        str(one) for one in (remotes.load_state(store).get("main"), store.git.resolve(remotes.TRACKING_REF)) if one
    ]
    if not known:
        return 0
    asked = store.git.run("rev-list", "--count", MAIN, "--not", *known, "--", "decisions", check=False)
    return int(asked.out) if asked.code == 0 else None


def _check_leftovers(env: Mapping[str, str], store: Store | None) -> Iterator[CheckResult]:
    """Report other versions on PATH, and files left by killed runs."""
    programs = _find_programs(env)
    if len(programs) > 1:
        hint = f"the first one runs (version {__version__}); uninstall the others"
        yield CheckResult("leftovers", NOTE, "reflect-git is on PATH more than once", hint, details=tuple(programs))
    line = _get_client_setting(env, "statusLine")
    lost = [path for path in _find_statusline_scripts(line) if not os.path.isfile(path)]
    if lost:
        hint = "print the correct entry with 'reflect-git status --format statusline-setup'"
        yield CheckResult("leftovers", WARNING, f"the status line runs a missing file: '{lost[0]}'", hint)
    copies = claude_settings.list_plugin_copies(paths.config_dir(env), left_over=True)
    if copies:
        said = "unused copies of the plugin, left by Claude Code"
        yield CheckResult("leftovers", NOTE, said, "remove them with 'rm -r'", details=tuple(copies))
    staged = capture_switch.find_staging_file(env)
    if staged:
        yield CheckResult("leftovers", NOTE, "a killed run left a file behind", fixable=True, details=(staged,))


def _find_statusline_scripts(line: object) -> list[str]:
    """Return our scripts in the entry for a status line."""
    command = line.get("command") if isinstance(line, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return []
    return [word for word in words if word.endswith("/hooks/statusline.py")]


def _remove_staging_file(env: Mapping[str, str], store: Store | None) -> str:
    return f"removed {capture_switch.remove_staging_file(env, store)}"


def _find_programs(env: Mapping[str, str]) -> list[str]:
    folders = [folder for folder in env.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    listed = dict.fromkeys(os.path.join(folder, "reflect-git") for folder in folders)
    return list({os.path.realpath(path): path for path in listed if os.access(path, os.X_OK)}.values())


def find_advisories(version: tuple[int, ...]) -> list[str]:
    """List the known vulnerabilities of a version of git, by its number alone."""
    return [name for name, mended in _ADVISORIES.items() if not _is_fixed_in(version, mended)]


def _is_fixed_in(version: tuple[int, ...], mended: tuple[tuple[int, ...], ...]) -> bool:
    line = [first for first in mended if first[:2] == version[:2]]
    return version >= line[0] if line else version[:2] > mended[-1][:2]


def _check_identity(env: Mapping[str, str], store: Store) -> Iterator[CheckResult]:
    """Check that decisions are recorded with a name."""
    name = (store.git.get_user_config().get("user.name") or [""])[-1]
    if name:
        yield CheckResult("identity", OK, f"decisions are recorded as '{name}'")
    else:
        yield CheckResult("identity", NOTE, approver.NO_NAME_WARNING, approver.NO_NAME_HINT)


# Why no hook made a store yet.
CHECKS_WITHOUT_STORE: tuple[EnvCheck[Store | None], ...] = (
    EnvCheck(_check_hooks, _repair_hooks),
    EnvCheck(_check_transcripts),
    EnvCheck(_check_instructions),
    EnvCheck(_check_leftovers, _remove_staging_file),
)
ENV_CHECKS: tuple[EnvCheck[Store], ...] = (
    *CHECKS_WITHOUT_STORE,
    EnvCheck(_check_guards, _repair_guards),
    EnvCheck(_check_client),
    EnvCheck(_check_outer_repository),
    EnvCheck(_check_identity),
    EnvCheck(_check_remote),
)


PROCESSES = 20
KILL_AT_EFFECT = 18  # side effects; five captures have 20 at least, more when this process gets the lock
_KILLED_CAPTURES = 5
_CHILD_SECONDS = 60
_CHILD_SCRIPT = """\
import os, sys
sys.path.insert(0, sys.argv[1])
from reflect_git.capture import service
store = service.open_store(os.environ)
for number in range(int(sys.argv[3])):
    facts = {"type": "discovery", "content": f"self-test {sys.argv[2]} {number}", "session_id": "self-test"}
    signal, _ = service.capture_signal(store, facts, os.environ)
    os.write(1, (signal["id"] + "\\n").encode())
"""


@dataclass(frozen=True)
class SelftestStep:
    name: str
    ok: bool
    message: str
    seconds: float


class _Selftest:
    """One run: the store, and the ids that were acknowledged to their processes."""

    def __init__(self, folder: str, env: Mapping[str, str]) -> None:
        kept = {name: env[name] for name in ("PATH", "LANG", "LC_ALL") if name in env}
        self.env = {**kept, "HOME": folder, "TMPDIR": os.path.dirname(folder), "REFLECT_GIT_HOME": f"{folder}/store"}
        self.acknowledged: set[str] = set()
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = service.open_store(self.env)
        return self._store

    def create_store(self) -> str:
        return f"created a temporary store with '{self.store.git.program}'"

    def run_captures(self) -> str:
        children = [self._start_capture(number) for number in range(PROCESSES)]
        codes = []
        for child in children:
            out, _ = child.communicate(timeout=_CHILD_SECONDS)
            self.acknowledged.update(out.decode("ascii").split())
            codes.append(child.returncode)
        if codes[0] != -9 or any(codes[1:]):
            raise ReflectError(f"processes ended with {sorted(set(codes))}")
        return f"{PROCESSES} processes at once, one killed: {plural(len(self.acknowledged), 'capture')} acknowledged"

    def _start_capture(self, number: int) -> subprocess.Popen[bytes]:
        package = os.path.dirname(os.path.dirname(reflect_git.__file__))
        captures = _KILLED_CAPTURES if number == 0 else 1
        command = [sys.executable, "-I", "-S", "-c", _CHILD_SCRIPT, package, str(number), str(captures)]
        fault = {service.FAULT_VARIABLE: f"kill:{KILL_AT_EFFECT}"} if number == 0 else {}
        return subprocess.Popen(
            command,
            env={**self.env, **fault},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def recover_store(self) -> str:
        waiting = len(pending.list_pending(self.store))
        recover.recover_store(self.store)
        left = pending.list_pending(self.store)
        if left:
            raise ReflectError(f"still pending: {plural(len(left), 'capture')}")
        return f"{plural(waiting, 'pending capture')} committed"

    def compare_captures(self) -> str:
        tree = self.store.git.tree(inbox.get_current_ref(self.store), "signals")
        lost = self.acknowledged - {get_record_id(path) for path in tree}
        if lost or not self.acknowledged:
            raise ReflectError(f"{len(lost)} of {len(self.acknowledged)} acknowledged captures are lost")
        found = len(reader.read(self.store).signals)
        return f"all {len(self.acknowledged)} acknowledged captures are in the inbox ({found} in all)"

    def check_git(self) -> str:
        result = self.store.git.fsck()
        changed = self.store.git.run("status", "--porcelain").out
        if result.code or changed:
            raise ReflectError("git fsck or git status complains")
        return "git fsck and git status are clean"


def run_selftest(env: Mapping[str, str]) -> Iterator[SelftestStep]:
    """Yield the steps as they are done; stop at the first that fails."""
    with tempfile.TemporaryDirectory(prefix="reflect-git-selftest-") as folder:
        trial = _Selftest(os.path.realpath(folder), env)
        steps: dict[str, Callable[[], str]] = {
            "store": trial.create_store,
            "capture": trial.run_captures,
            "sweep": trial.recover_store,
            "compare": trial.compare_captures,
            "git": trial.check_git,
        }
        for name, act in steps.items():
            step = _run_timed(name, act)
            yield step
            if not step.ok:
                return


def _run_timed(name: str, act: Callable[[], str]) -> SelftestStep:
    start = time.monotonic()
    try:
        ok, message = True, act()
    except (ReflectError, OSError, subprocess.TimeoutExpired) as error:
        ok, message = False, str(error)
    return SelftestStep(name, ok, message, round(time.monotonic() - start, 3))
