"""What `doctor` looks at outside the store: Claude Code, its files, git, and what older installations left."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from reflect_git import __version__, paths
from reflect_git.adapters import claude, claudehooks, files
from reflect_git.adapters.git import Git
from reflect_git.adapters.live import LIMIT
from reflect_git.adapters.project import top_of
from reflect_git.adapters.transcript.formats import survey
from reflect_git.apply import block
from reflect_git.cli import wiring
from reflect_git.cli.front import age
from reflect_git.cli.sittings import here
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.review.gate import MOST_ENTRIES
from reflect_git.sitting import authority
from reflect_git.store import expiry, remotes
from reflect_git.store.care.case import DAY, NOTE, OK, WARNING
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.store.repository import Store

_LATELY = 7 * DAY
_LOOKED_AT = 5
_LONG_FILE = 200  # lines: what Anthropic advises for a CLAUDE.md
_READ_AT_START = ("CLAUDE.md", os.path.join(".claude", "CLAUDE.md"), "CLAUDE.local.md")
_BYTES_A_TOKEN = 4
_COMMENT = re.compile(rb"^<!--.*?-->[ \t]*$\s*", re.M | re.S)  # the client leaves them out
_ANSWER = 15.0  # seconds that a remote has to answer
_ASK_IT = "see what 'reflect-git sync' says"
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
class Line:
    """A finding with the name of its check."""

    check: str
    level: str
    message: str
    hint: str = ""
    fixable: bool = False
    details: tuple[str, ...] = ()


Known_contra = TypeVar("Known_contra", contravariant=True)  # the store, or none where there is none yet


@dataclass(frozen=True)
class Look(Generic[Known_contra]):
    """One thing to look at, in a line or more; `mend` does something about those that are fixable and says what."""

    run: Callable[[Mapping[str, str], Known_contra], Iterator[Line]]
    mend: Callable[[Mapping[str, str], Known_contra], str] | None = None


def _hooks(env: Mapping[str, str], store: Store | None) -> Iterator[Line]:
    """Whether Claude Code calls us, by which road, at the place where we are now, and whether it did lately."""
    if _setting(env, "disableAllHooks") is True:
        yield Line(
            "hooks", WARNING, "Claude Code's settings.json disables all hooks", 'take "disableAllHooks" out of it'
        )
    found = wiring.look(env)
    try:
        planned = wiring.plan(env, store, True)
    except (ReflectError, OSError) as error:
        yield Line("hooks", WARNING, str(error), getattr(error, "hint", None) or f"look at '{found.path}'")
        return
    if found.state == wiring.NONE:
        yield Line(
            "hooks", NOTE, "Claude Code does not call them", "add them with 'reflect-git enable', or install the plugin"
        )
        return
    if found.state == wiring.PROJECTS:
        said = f"the plugin has them in {', '.join(map(repr, found.projects))} alone{_last_call(store)}"
        yield Line("hooks", OK, said)
        return
    yield _road(store, found, planned.changes)
    yield from _silent(env, store)


def _road(store: Store | None, found: wiring.Wiring, changes: bool) -> Line:
    """By which road hooks come, and whether they still fit."""
    if found.state == wiring.PLUGIN and claudehooks.has_ours(found.before):
        said = f"they stand in the plugin and in '{found.path}', too; nothing is captured twice"
        return Line("hooks", NOTE, said, "take the second ones out with 'reflect-git enable'", fixable=True)
    folder = claude.marketplace_folder(found.before) if found.state == wiring.PLUGIN else ""
    if folder and not os.path.isfile(os.path.join(folder, "hooks", "launch.sh")):
        hint = "put it back, or say where it is now: claude plugin marketplace add DIR"
        return Line("hooks", WARNING, f"the plugin is run from '{folder}', where it is not any more", hint)
    if changes:
        said = f"'{found.path}' names another place"
        return Line("hooks", WARNING, said, "renew it with 'reflect-git enable'", fixable=True)
    road = "the plugin" if found.state == wiring.PLUGIN else f"'{found.path}'"
    return Line("hooks", OK, f"they stand in {road}{_last_call(store)}")


def _heard(store: Store | None) -> float:
    """When a hook was called last, as far as the store knows."""
    return _newest(Path(store.private_path("cursors")).glob("*/*.json")) if store else 0.0


def _last_call(store: Store | None) -> str:
    last = _heard(store)
    return f" and were called {age(time.time() - last)} ago" if last else ", and no session called them yet"


def _renew_hooks(env: Mapping[str, str], store: Store | None) -> str:
    renewed = wiring.carry_out(env, store, True)
    return f"put the hooks in '{renewed.path}' right"


def _silent(env: Mapping[str, str], store: Store | None) -> Iterator[Line]:
    """Sessions went on and no hook was heard of: the client may not trust them, or be another one."""
    spoken = _newest(Path(paths.projects_dir(env)).glob("*/*.jsonl"))
    is_on = store is None or store.switched("reflect.capture", True)
    if is_on and spoken - _heard(store) > _LATELY and time.time() - spoken < _LATELY:
        said = f"a session went on {age(time.time() - spoken)} ago and no hook was called"
        yield Line("hooks", WARNING, said, "restart Claude Code, then see '/hooks' in it")


def _newest(found: Iterator[Path]) -> float:
    return max((changed for changed, _ in _dated(found)), default=0.0)


def _dated(found: Iterator[Path]) -> Iterator[tuple[float, str]]:
    """When each was changed; what went meanwhile, or is a link to nowhere, is not there."""
    for path in found:
        try:
            yield path.stat().st_mtime, str(path)
        except OSError:
            continue


def _client(env: Mapping[str, str], store: Store) -> Iterator[Line]:
    folder = paths.config_dir(env)
    if not os.path.isdir(folder):
        yield Line("client", NOTE, f"there is no '{folder}' yet", "start Claude Code once")
        return
    elsewhere = " (CLAUDE_CONFIG_DIR)" if env.get("CLAUDE_CONFIG_DIR") else ""
    given = _setting(env, "cleanupPeriodDays")
    days = given if isinstance(given, int) and not isinstance(given, bool) else _TRANSCRIPT_DAYS
    kept = f"transcripts are kept for {plural(days, 'day')}"
    lifetime = expiry.lifetime(store)
    if days < lifetime:
        hint = f'set "cleanupPeriodDays" in its settings.json to {lifetime} or more'
        yield Line("client", WARNING, f"{kept}, signals for {lifetime}: an audit cannot look them up", hint)
    else:
        yield Line("client", OK, f"'{folder}'{elsewhere}, {kept}")


def _setting(env: Mapping[str, str], name: str) -> object:
    try:
        settings = json.loads(claude.read_settings(claude.settings_path(paths.config_dir(env))) or b"{}")
    except (ReflectError, ValueError, OSError, RecursionError):
        return None
    return settings.get(name) if isinstance(settings, dict) else None


def _transcripts(env: Mapping[str, str], store: Store | None) -> Iterator[Line]:
    """Whether what the client writes is what we read."""
    root = paths.projects_dir(env)
    dated = sorted(_dated(Path(root).glob("*/*.jsonl")), reverse=True)
    if not dated:
        yield Line("transcripts", OK, f"none below '{root}' yet")
        return
    found = survey([path for _, path in dated[:_LOOKED_AT]], root)
    if not found.files:
        said = "the newest is no plain file of yours" if len(dated) == 1 else "the newest are no plain files of yours"
        yield Line("transcripts", WARNING, f"{said}, such as '{dated[0][1]}'", "links are not followed; move them here")
        return
    versions = ", ".join(sorted(found.versions)[-3:])
    if found.is_odd:
        entries = plural(found.entries, "entry", "entries")
        said = f"{found.unreadable + found.odd} of {entries} cannot be read (client {versions})"
        yield Line(
            "transcripts", WARNING, said, "look for a newer reflect-git; its 'import transcripts' reads them then"
        )
    else:
        client = f", client {versions}" if versions else ""
        which = "the newest one is" if found.files == 1 else f"the newest {found.files} are"
        yield Line("transcripts", OK, f"{which} readable{client}")


def _instructions(env: Mapping[str, str], store: Store | None) -> Iterator[Line]:
    """What the client reads at every start costs tokens in every session, and long files are followed less."""
    root = top_of(here()) or here()
    listed = [os.path.join(paths.config_dir(env), "CLAUDE.md"), *(os.path.join(root, name) for name in _READ_AT_START)]
    for path in dict.fromkeys(os.path.realpath(one) for one in listed):
        try:
            data = files.read_followed(path, LIMIT)
        except FileNotFoundError:
            continue
        except OSError:
            yield Line("instructions", WARNING, f"'{path}' is not a file that can be read", "see what it is: ls -l")
            continue
        lines, tokens = data.count(b"\n"), len(_COMMENT.sub(b"", data)) // _BYTES_A_TOKEN
        learned = _learned(data)
        rules = f"{learned} of at most {MOST_ENTRIES} rules, " if learned else ""
        said = f"'{path}' has {rules}{plural(lines, 'line')}, about {plural(tokens, 'token')} in every session"
        is_long = lines > _LONG_FILE  # 50 rules, of which an approval warns, are as many
        yield Line("instructions", NOTE, said, _shorter(learned)) if is_long else Line("instructions", OK, said)


def _learned(data: bytes) -> int:
    try:
        found = block.find(data)
    except ReflectError:  # no text
        return 0
    return len(found.entries) if found else 0


def _shorter(learned: int) -> str:
    if learned:
        return "'reflect-git rules' lists what was learned; move some of it: reflect-git edit LRN --to rules"
    return "move parts of it to files in '.claude/rules', those for some files only with 'paths:' at their head"


def _surrounding_git(env: Mapping[str, str], store: Store) -> Iterator[Line]:
    """Who keeps ~/.claude in a repository of dotfiles would commit the store into it."""
    top = top_of(os.path.dirname(store.root))
    if not top or os.path.realpath(top) == os.path.realpath(store.root):
        return
    name, outer = os.path.relpath(store.root, top), Git(store.git.program, top)
    if outer.run("ls-files", "-z", "--", name, check=False).out:
        hint = f"take it out: git -C {shlex.quote(top)} rm -r -f -q --cached {shlex.quote(name)}"
        yield Line("nested", WARNING, f"'{top}' is under git, too, and tracks the store", hint)
        return
    asked = outer.run("check-ignore", "--quiet", "--no-index", "--", name, check=False)
    if asked.code == 0:
        yield Line("nested", OK, f"'{top}' is under git, too, and ignores the store")
    else:
        hint = f"add '/{name}/' to '{os.path.join(top, '.gitignore')}'"
        yield Line("nested", WARNING, f"'{top}' is under git, too", hint)


def _remote(env: Mapping[str, str], store: Store) -> Iterator[Line]:
    """Whether the remote answers, and what was decided here and is not there yet."""
    if not remotes.url_of(store):
        return
    from reflect_git.adapters import transport
    from reflect_git.workflow import syncing

    git = Git(store.git.program, store.root, user=transport.quiet(env))
    try:
        there = transport.heads(git, syncing.remote_of(store), transport.Limits(seconds=_ANSWER))
    except ReflectError as error:
        yield Line("remote", WARNING, error.message, error.hint or _ASK_IT)
        return
    unsent = _unsent(store)
    if unsent is None:
        yield Line("remote", NOTE, "it answers; what is here was rewritten since then", "run 'reflect-git sync'")
    elif unsent:
        said = "a decision was not sent yet" if unsent == 1 else f"{unsent} decisions were not sent yet"
        yield Line("remote", NOTE, f"it answers; {said}", "run 'reflect-git sync'")
    elif there.get(MAIN) not in (remotes.state(store).get("tip"), store.git.resolve(remotes.TRACKED)):
        yield Line("remote", NOTE, "it answers, and is not what it was at the last sync", "run 'reflect-git sync'")
    else:
        yield Line("remote", OK, "it answers, and has every decision")


def _unsent(store: Store) -> int | None:
    """Decisions since the last sync, or since a push of the user's own. What is there may be a commit that is not here:
    it has no ref then. None after a purge: what was sent is no more."""
    known = [str(one) for one in (remotes.state(store).get("main"), store.git.resolve(remotes.TRACKED)) if one]
    if not known:
        return 0
    asked = store.git.run("rev-list", "--count", MAIN, "--not", *known, "--", "decisions", check=False)
    return int(asked.out) if asked.code == 0 else None


def _leftovers(env: Mapping[str, str], store: Store | None) -> Iterator[Line]:
    """Other versions on PATH, and what was left by runs that were killed."""
    programs = _programs(env)
    if len(programs) > 1:
        hint = f"the first one runs; uninstall those that are not needed (this is reflect-git {__version__})"
        yield Line("leftovers", NOTE, "reflect-git is on PATH more than once", hint, details=tuple(programs))
    line = _setting(env, "statusLine")
    lost = [path for path in _scripts(line) if not os.path.isfile(path)]
    if lost:
        hint = "'reflect-git status --format statusline-setup' prints the entry as it should be"
        yield Line("leftovers", WARNING, f"the status line runs '{lost[0]}', which is not there", hint)
    copies = claude.copies(paths.config_dir(env), left_over=True)
    if copies:
        said = "Claude Code kept copies of the plugin that it does not use"
        yield Line("leftovers", NOTE, said, "remove them with 'rm -r'", details=tuple(copies))
    staged = wiring.left_behind(env)
    if staged:
        yield Line("leftovers", NOTE, "a killed run left a file behind", fixable=True, details=(staged,))


def _scripts(line: object) -> list[str]:
    """Our scripts in the entry for a status line."""
    command = line.get("command") if isinstance(line, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return []
    return [word for word in words if word.endswith("/hooks/statusline.py")]


def _remove_staged(env: Mapping[str, str], store: Store | None) -> str:
    return f"removed {wiring.remove_left_behind(env, store)}"


def _programs(env: Mapping[str, str]) -> list[str]:
    folders = [folder for folder in env.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    listed = dict.fromkeys(os.path.join(folder, "reflect-git") for folder in folders)
    return list({os.path.realpath(path): path for path in listed if os.access(path, os.X_OK)}.values())


def advisories(version: tuple[int, ...]) -> list[str]:
    """The weaknesses that this version of git has, going by its number alone."""
    return [name for name, mended in _ADVISORIES.items() if not _is_mended(version, mended)]


def _is_mended(version: tuple[int, ...], mended: tuple[tuple[int, ...], ...]) -> bool:
    line = [first for first in mended if first[:2] == version[:2]]
    return version >= line[0] if line else version[:2] > mended[-1][:2]


def _identity(env: Mapping[str, str], store: Store) -> Iterator[Line]:
    """Whose name stands under decisions."""
    name = (store.git.user_settings().get("user.name") or [""])[-1]
    if name:
        yield Line("identity", OK, f"decisions are by '{name}'")
    else:
        yield Line("identity", NOTE, authority.NAMELESS, authority.GIVE_A_NAME)


# Why no hook made a store yet.
WITHOUT_A_STORE: tuple[Look[Store | None], ...] = (
    Look(_hooks, _renew_hooks),
    Look(_transcripts),
    Look(_instructions),
    Look(_leftovers, _remove_staged),
)
LOOKS: tuple[Look[Store], ...] = (
    *WITHOUT_A_STORE,
    Look(_client),
    Look(_surrounding_git),
    Look(_identity),
    Look(_remote),
)
