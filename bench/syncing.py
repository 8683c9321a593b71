"""Sync against git's own fetch, merge and push of the same commits, and many clones at one bare repository."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import generate
from bench.history import BY
from bench.reading import BASELINE, PROGRAM
from bench.setting import Setting
from bench.table import Row, Table, build_timed_row
from bench.timing import BenchError, Command, Subject, Times, fixed_subject, measure, print_progress, time_command
from reflect_git.errors import ReflectError
from reflect_git.platform.git import COMMITTER
from reflect_git.records import schema, yaml_form
from reflect_git.records.ids import digest, random_id, utc_precise
from reflect_git.store import opening, remotes
from reflect_git.store.opening import open_or_create
from reflect_git.store.repository import MAIN, Store, get_record_path
from reflect_git.sync import exchange
from reflect_git.sync.exchange import SyncOptions
from reflect_git.sync.fetched import Incoming

ROUNDS = 5
CEILING, SYNCS = 2.0, 3
DECISIONS, RECORDS, PER_COMMIT = 200, 10_000, 10
CLONES, DECISIONS_PER_CLONE, POOL_SIZE = 64, 3, 4
_FSYNC_NOTE = (
    "with 'core.fsync=all' git waits for the disk with objects, refs and its index, as this program does; with files "
    "of the work tree it never does"
)
MAX_RETRIES, MAX_ROUNDS = 3, 10


def tables(setting: Setting) -> list[Table]:
    if not PROGRAM.exists():
        note = f"'{PROGRAM.name}' is not installed beside this Python: not measured"
        return [Table("Sync", (), notes=(note,))]
    return [_build_git_table(setting), _measure_clones(setting)]


def _build_git_table(setting: Setting) -> Table:
    """Two machines that worked at once; and one that takes in a great deal."""
    both = _StorePair(setting, "both", DECISIONS, DECISIONS, 1)
    great = _StorePair(setting, "great", 20 if setting.quick else RECORDS // PER_COMMIT, 1, PER_COMMIT)
    pairs = {f"{DECISIONS} decisions on each of two machines": both, f"{great.records:,} new records": great}
    subjects = [fixed_subject(BASELINE, Command((str(PROGRAM), "--version"), generate.build_env(setting.work)))]
    subjects += [one for name, pair in pairs.items() for one in pair.subjects(name)]
    times = measure(subjects, setting.rounds(ROUNDS), warm_up=1)
    rows = []
    for name, pair in pairs.items():
        pair.require_one_tree()
        git, synced, ours = times[_git_name(name)], times[_fsync_name(name)], times[name]
        rows += [build_timed_row(git), build_timed_row(ours, git, None if setting.quick else CEILING)]
        rows += [build_timed_row(synced), build_timed_row(ours, synced, name=f"{name}, for information")]
    rows += [build_timed_row(times[BASELINE]), _build_row_without_start(times, next(iter(pairs)))]
    return Table("Sync, fresh processes", rows, notes=(_format_start_note(times, next(iter(pairs))), _FSYNC_NOTE))


def _build_row_without_start(times: Mapping[str, Times], name: str) -> Row:
    """For information: what is left when the program need not be started."""
    start = SYNCS * times[BASELINE].median
    figures = times[name].fastest - SYNCS * times[BASELINE].fastest, times[name].median - start
    return Row(
        f"{name}, less {SYNCS} × --version", figures, figures[1] / times[_git_name(name)].median, _git_name(name)
    )


def _format_start_note(times: Mapping[str, Times], name: str) -> str:
    start, git = SYNCS * times[BASELINE].median, times[_git_name(name)].median
    return (
        f"{name}: starting the interpreter and the command line {SYNCS} times takes {start * 1000:.0f} ms, "
        f"{start / git:.2f} × all of that git, out of the {CEILING:g} × that are allowed"
    )


def _git_name(name: str) -> str:
    return f"git fetch, merge, push: {name}"


def _fsync_name(name: str) -> str:
    return f"the same with core.fsync=all: {name}"


class _StorePair:
    """Two stores with a common beginning, both ahead of it, and a bare repository; kept, and copied for each round."""

    def __init__(self, setting: Setting, name: str, first: int, second: int, per_commit: int) -> None:
        self.records = first * per_commit
        self._templates, self._folder = setting.create_home(f"sync-{name}-kept"), setting.work / f"sync-{name}"
        self._used_folders = setting.create_home(f"sync-{name}-past")
        self._env = generate.build_env(setting.work)
        self._folder.mkdir()
        _run_git(self._folder, "init", "-q", "--bare", "-b", "main", str(self._folder / "remote.git"))
        for which, count in (("one", first), ("two", second)):
            store = _create_store(self._folder / which, f"bench-{which}", self._folder / "remote.git", self._env)
            add_decisions(store, count, per_commit, self._env)
            # Whoever decided so much has run a command before: what every first one does is not part of a sync.
            time_command(Command((str(PROGRAM), "--store", store.root, "status"), self._env))
        self._folder.rename(self._templates / "world")

    def subjects(self, name: str) -> list[Subject]:
        synced = Subject(_fsync_name(name), lambda number: self._build_git_commands(number, "-c", "core.fsync=all"))
        return [Subject(_git_name(name), self._build_git_commands), synced, Subject(name, self._build_sync_commands)]

    def _copy_templates(self) -> None:
        """What was used stays until all is measured: for minutes ext4 looks at each place of a deleted file before it
        makes a new one there. 10,000 files take 0.3 s, and 2 to 5 s beside as many that went a moment ago."""
        if self._folder.exists():
            self._folder.rename(self._used_folders / str(len(os.listdir(self._used_folders))))
        shutil.copytree(self._templates / "world", self._folder, symlinks=True)
        os.sync()  # what was copied is not written in somebody's time

    def _build_sync_commands(self, number: int) -> list[Command]:
        self._copy_templates()
        return [
            Command((str(PROGRAM), "--store", str(self._folder / which), "--no-input", "sync"), self._env)
            for which in ("one", "two", "one")
        ]

    def _build_git_commands(self, number: int, *settings: str) -> list[Command]:
        self._copy_templates()
        first = (("push", "-q", "origin", "main"),)
        again = (
            ("fetch", "-q", "origin"),
            ("merge", "-q", "--no-edit", "origin/main"),
            ("push", "-q", "origin", "main"),
        )
        steps = [("one", words) for words in first] + [(which, words) for which in ("two", "one") for words in again]
        who = ("-c", "user.name=Dev", "-c", "user.email=dev@example.org")
        return [Command(("/usr/bin/env", "git", "-C", str(self._folder / which), *settings, *who, *words), self._env)
                for which, words in steps]  # fmt: skip

    def require_one_tree(self) -> None:
        """The last round was ours."""
        trees = {_run_git(self._folder / which, "rev-parse", "main^{tree}") for which in ("one", "two", "remote.git")}
        if len(trees) != 1:
            raise BenchError("two machines that synced have different trees")


def _run_git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _create_store(root: Path, machine: str, remote: Path, env: dict[str, str]) -> Store:
    store = open_or_create(str(root), env)
    with store.locked(5.0):
        store.change_config({"reflect.machine": machine, **remotes.build_config(str(remote))})
    return store


def add_decisions(store: Store, commits: int, per_commit: int, env: dict[str, str]) -> None:
    """That many commits of a person's answers on main, as the product leaves them."""
    child = store.git.start("fast-import", "--quiet", "--done", "--force", config=("core.fsync=none",))
    for number in range(commits):
        made = [_build_decision(store.machine, f"{store.root} {number} {at}") for at in range(per_commit)]
        text = f"dismiss: {made[0]['subject']}\n\nDecision: {made[0]['id']}\nMachine: {store.machine}\n".encode()
        head = f"commit {MAIN}\ncommitter {COMMITTER} {int(time.time())} +0000\ndata {len(text)}\n".encode()
        parent = f"\nfrom {MAIN}^0\n".encode() if not number else b"\n"
        data = [(get_record_path(one["id"]), yaml_form.emit(one)) for one in made]
        body = [f"M 100644 inline {path}\ndata {len(blob)}\n".encode() + blob + b"\n" for path, blob in data]
        child.send(b"".join((head, text, parent, *body)))
    result = child.communicate(b"done\n")
    if result.code:
        raise BenchError(result.err.decode("utf-8", "replace"))
    _run_git(Path(store.root), "reset", "-q", "--hard", "main")


def _build_decision(machine: str, what: str) -> dict[str, Any]:
    now = utc_precise()
    return {
        "id": random_id("DEC", now), "version": schema.VERSION, "timestamp": now, "machine": machine, "by": BY,
        "kind": "dismissed", "subject": random_id("SIG", now), "text": None, "text_sha256": None,
        "key": digest(what)[:16], "target": None, "reason": "", "reopens": None, "meta": {},
    }  # fmt: skip


def _measure_clones(setting: Setting) -> Table:
    """Every clone has something new, and all of them sync at once, as many as there are places, until all have all."""
    count = 8 if setting.quick else CLONES
    env = generate.build_env(setting.work)
    home = setting.create_home("sync-many")
    remote = home / "remote.git"
    _run_git(home, "init", "-q", "--bare", "-b", "main", str(remote))
    roots = _create_clones(home, remote, count, env)
    before = _get_size(remote)
    start, retries, moved, rounds = time.monotonic(), [], 0, 0
    with multiprocessing.get_context("fork").Pool(POOL_SIZE) as pool:
        while len({_run_git(root, "rev-parse", "main^{tree}") for root in roots}) > 1:
            rounds += 1
            if rounds > MAX_ROUNDS:
                raise BenchError(f"{count} clones have different trees after {MAX_ROUNDS} rounds")
            print_progress(f"{count} clones, round {rounds}", end="\r")
            random.shuffle(roots)
            done = pool.map(_sync_clone, [(str(root), env) for root in roots], chunksize=1)
            retries += [tries - 1 for tries, _ in done]
            moved += sum(size for _, size in done)
    seconds = time.monotonic() - start
    _require_all_decisions(roots[0], count)
    return _build_clones_table(count, rounds, seconds, retries, moved, _get_size(remote) - before, setting.quick)


def _build_clones_table(
    count: int, rounds: int, seconds: float, retries: Sequence[int], fetched: int, pushed: int, quick: bool
) -> Table:  # fmt: skip
    p95 = Times("", [float(one) for one in retries]).percentile(95)
    rows = [
        Row("rounds until all have all", ratio=rounds),
        Row("seconds until all have all", ratio=round(seconds, 1)),
        Row("retries of a push, p95", ratio=p95, ceiling=None if quick else MAX_RETRIES),
        Row("retries of a push, most", ratio=max(retries)),
        Row("KiB sent and kept", ratio=round(pushed / 1024)),
        Row("KiB fetched", ratio=round(fetched / 1024)),
    ]
    note = (
        f"each with {DECISIONS_PER_CLONE} new decisions, {POOL_SIZE} at any moment; "
        "every one syncs once a round, in random order"
    )
    return Table(f"{count} clones of one bare repository", rows, notes=(note,))


def _create_clones(home: Path, remote: Path, count: int, env: dict[str, str]) -> list[Path]:
    """Made once and copied: a copy is another machine as soon as its binding says so."""
    template = home / "template"
    _create_store(template, "bench-0", remote, env)
    roots = []
    for number in range(count):
        root = home / f"clone-{number}"
        shutil.copytree(template, root, symlinks=True)
        store = Store(str(root), env)
        with store.locked(5.0):
            store.change_config(
                {"reflect.machine": f"bench-{number}", "reflect.binding": opening.get_binding(str(root))}
            )
        add_decisions(store, DECISIONS_PER_CLONE, 1, env)
        roots.append(root)
    return roots


def _sync_clone(task: tuple[str, dict[str, str]]) -> tuple[int, int]:
    """In a process of the pool: how often it tried, and how much it fetched."""
    root, env = task
    fetched = 0
    real = Incoming.fetch_main

    def counted(self: Incoming, *arguments: Any) -> str | None:
        nonlocal fetched
        found = real(self, *arguments)
        fetched += _get_size(Path(self.git.root))
        return found

    Incoming.fetch_main = counted  # type: ignore[assignment, method-assign]
    try:
        store = open_or_create(root, env)
        return exchange.sync(store, env, SyncOptions()).tries, fetched
    except ReflectError as error:
        if error.code != "race":
            raise
        return exchange.MAX_TRIES + 1, fetched  # what it has goes with the next round
    finally:
        Incoming.fetch_main = real  # type: ignore[method-assign]


def _get_size(repository: Path) -> int:
    return sum(path.stat().st_size for path in (repository / "objects").rglob("*") if path.is_file())


def _require_all_decisions(root: Path, count: int) -> None:
    listed = _run_git(root, "ls-tree", "-r", "--name-only", "main", "--", "decisions").splitlines()
    if len(listed) != count * DECISIONS_PER_CLONE:
        raise BenchError(f"{count * DECISIONS_PER_CLONE} decisions were made, {len(listed)} are there")
