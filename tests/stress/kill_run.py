"""Kill commands one after another while a person works in the store: approve, revert, sync, purge.

Each world is made from a seed, so that a run can be repeated. The exact moment of a timed kill depends on the machine.
After each kill the next command must recover, whatever it is.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

from reflect_git.platform import files
from reflect_git.store.main import backups, journal
from tests import fork_server
from tests.counters import count
from tests.faults import git
from tests.store.store_checks import open_recovered_store, open_store, require_promises
from tests.stress import kill_operations
from tests.sync.clones import NO_PAUSE, Clone, create_bare_repository

OPERATIONS = ("capture", "capture", "approve", "approve", "revert", "sync", "purge")
MAX_EFFECTS = {"capture": 15, "approve": 90, "revert": 90, "sync": 80, "purge": 160}
BASE = b"# Shop\r\n\r\nOur own text, without an end"
# Rules are named in the opening marker of a plain list, and each on its own line under headings.
_ENTRY = re.compile(rb"(?:<!--|(?<=\w)) (LRN-[0-9]{8}-[0-9a-z]{8})(?= -->|:)")
_SECONDS = 120
_RECOVERY = 60
AGREED = NO_PAUSE._replace(confirm_purges=lambda purges: True)


class User(threading.Thread):
    """A person who commits in the store, on main and other branches, and runs git's garbage collection."""

    def __init__(self, root: Path, seed: int, pause: float) -> None:
        super().__init__(daemon=True)
        self._root, self._chance, self._pause = root, random.Random(seed), pause
        self._is_over = threading.Event()
        self.action_lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self._number = 0

    def run(self) -> None:
        while not self._is_over.wait(self._pause * self._chance.uniform(0.5, 1.5)):
            with self.action_lock:
                self._run_action(self._chance.choice(("gc", "commit", "branch")))

    def stop(self) -> None:
        self._is_over.set()
        self.join(60)

    def _run_action(self, what: str) -> None:
        self._number += 1
        if what == "gc":
            ended = self._git("gc", "--quiet", "--prune=now")
        elif what == "branch":
            tree = git(self._root, "rev-parse", "main^{tree}").strip()
            made = self._git("commit-tree", "-m", f"mine {self._number}", tree).stdout.strip()
            ended = self._git("update-ref", "refs/heads/mine", made)
        else:
            ended = self.commit(f"notes-{self._number % 5}.txt")
        self.counts[what if ended.returncode == 0 else f"{what} refused"] += 1

    def commit(self, name: str) -> subprocess.CompletedProcess[str]:
        (self._root / name).write_text(f"note {self._number}\n", encoding="utf-8")
        self._git("add", name)
        return self._git("commit", "-qm", name)

    def commit_rest(self) -> None:
        """Commit what is left from a refused commit."""
        for _ in range(20):
            self._git("add", "--update", "notes-*.txt")
            if self._git("commit", "-qm", "what is left", "--", "notes-*.txt").returncode in (0, 1):
                return
            time.sleep(0.1)

    def _git(self, *words: str) -> subprocess.CompletedProcess[str]:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
        command = ["git", "-C", str(self._root), *who, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


class KillRun:
    """A store, a project with a CLAUDE.md, a remote and a second machine, for a number of kills."""

    def __init__(self, home: Path, root: Path, folder: Path, seed: int) -> None:
        self.root, self.seed, self.rng = root, seed, random.Random(seed)
        self.file = home / "shop" / "CLAUDE.md"
        self.file.parent.mkdir()
        git(self.file.parent, "init", "-q", "-b", "main")
        self.file.write_bytes(BASE)
        self.remote = create_bare_repository(folder / "remote.git")
        self.machine = Clone(root, str(self.remote))
        self.other = Clone(folder / "other", str(self.remote))
        self.acknowledged: dict[str, str] = {}  # signal → the word it contains
        self.words: list[str] = []
        self.killed_purges: set[str] = set()  # started and killed: completed by the next command, or not at all
        self.purged: set[str] = set()
        self.blobs: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.backups: set[str] = set()
        self.approved: dict[str, str] = {}  # learning → the word it contains
        self.action_log: list[str] = []
        self.kills: Counter[str] = Counter()

    def run(self, kills: int, pause: float = 1.5, every: int = 15) -> None:
        """Kill that often; check after every few kills and at the end."""
        self.machine.sync()
        user = User(self.root, self.seed, pause)
        user.start()
        checked = 0
        try:
            while self.kills.total() < kills:
                self._step()
                if self.kills.total() >= checked + every:
                    checked = self.kills.total()
                    with user.action_lock:
                        self.check(user)
        finally:
            user.stop()
        self.check(user)
        self._require_shared()
        for name, number in (*self.kills.items(), *user.counts.items()):
            count(f"kills: {name}", number)

    def _step(self) -> None:
        operation = self.rng.choice(OPERATIONS)
        word = f"zq{self.seed:x}x{len(self.words):04d}"
        if operation == "capture":
            self.words.append(word)
        elif operation == "purge":
            left = sorted(set(self.acknowledged.values()) - self.purged)
            if len(left) < 4:
                return
            word = self.rng.choice(left)
        elif operation == "sync" and self.rng.random() < 0.3:
            self.other.approve(self.rng.randrange(1 << 20))
            self.other.sync(self.rng.choice((NO_PAUSE, AGREED)))
        code, said = self._run_killed(operation, word)
        self._record_result(operation, word, code, said)

    def _run_killed(self, operation: str, word: str) -> tuple[int, list[str]]:
        env = {
            **os.environ,
            "REFLECT_GIT_HOME": str(self.root),
            "TMPDIR": str(self.root.parent),
            kill_operations.WORD_VARIABLE: word,
            kill_operations.CHOICE_VARIABLE: str(self.rng.randrange(100)),
        }
        way = self.rng.choice(("effect", "effect", "moment", "group"))
        if way == "effect":
            env["REFLECT_GIT_FAULT"] = f"kill:{self.rng.randint(1, MAX_EFFECTS[operation])}"
        wait = self.rng.uniform(0.0, 0.6)
        self.action_log.append(f"{operation} {word} {env.get('REFLECT_GIT_FAULT') or f'{way} after {wait:.3f} s'}")
        told, out = os.pipe()
        with open(os.devnull, "r+b") as null, open(self.root.parent / "complaints", "ab") as complaints:
            streams = (null.fileno(), out, complaints.fileno())
            begun = fork_server.start(
                ("operation", kill_operations.__name__, operation), streams, env, self.file.parent
            )
        os.close(out)
        if way != "effect":
            time.sleep(wait)
            if begun.poll() is None:  # otherwise its pid may belong to another process by now
                _kill_process(begun.pid, way)
        code = begun.wait(_SECONDS)
        with open(told, encoding="utf-8") as said:
            return code, said.read().split()

    def _record_result(self, operation: str, word: str, code: int, said: list[str]) -> None:
        self.action_log[-1] += f" → {code} {' '.join(said)}"
        if code == -signal.SIGKILL:
            self.kills[operation] += 1
        if operation == "capture":
            self.acknowledged.update(dict.fromkeys(said, word))
        elif operation == "approve":
            self.approved.update((one[:21], one[22:]) for one in said)
        elif operation == "purge":
            (self.purged if said else self.killed_purges).add(word)

    def check(self, user: User) -> None:
        try:
            self._check(user)
        except AssertionError as error:
            past = "\n".join(self.action_log[-25:])
            raise AssertionError(f"seed {self.seed}, after {self.kills.total()} kills: {error}\n{past}") from error

    def _check(self, user: User) -> None:
        self._recover()  # a lock left by a killed process blocks the user's own commit
        user.commit_rest()
        self._recover()
        safe = self.purged | self.killed_purges
        store = require_promises(self.root, [one for one, word in self.acknowledged.items() if word not in safe])
        self._finish_purges()
        rules, entries = kill_operations.list_own_rules(store), _ENTRY.findall(self.file.read_bytes())
        said = sorted(entry.decode() for entry in entries)
        assert said == rules, f"the file has {said}, the history {rules}"
        if not rules:
            assert self.file.read_bytes() == BASE, "all was taken back, and the file is another one"
        self._require_records()
        self._require_backups()
        for word in self.purged:
            assert (where := self._find_word(word)) is None, f"'{word}' was purged and is in {where}"

    def _require_shared(self) -> None:
        """Check that both machines end with the same records, and that no purged word is on the other or the remote."""
        for clone in (self.machine, self.other, self.machine, self.other):
            clone.sync(AGREED)
        listed = [{path for path in clone.list_paths() if "/" in path} for clone in (self.machine, self.other)]
        assert listed[0] == listed[1], f"seed {self.seed}: only one machine has {sorted(listed[0] ^ listed[1])}"
        git(self.remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
        for root in (self.other.root, self.remote):
            for word in self.purged:
                assert (where := _place_of(root, word)) is None, (
                    f"seed {self.seed}: '{word}' was purged and is in {where}"
                )

    def _recover(self) -> None:
        """Recover as the next commands do: one that runs while the user's git writes leaves it to another."""
        deadline = time.monotonic() + _RECOVERY
        while journal.has_entries(open_recovered_store(self.root)) and time.monotonic() < deadline:
            time.sleep(0.3)
        left = files.list_names(str(self.root / ".git/reflect/journal"))
        log = self.root / ".git/reflect/log"
        assert not left, f"not finished: {left}; {log.read_text()[-600:] if log.exists() else ''}"

    def _finish_purges(self) -> None:
        """Repeat killed purges: either they were completed and there is nothing to purge, or they are completed now."""
        for word in sorted(self.killed_purges - self.purged):
            env = {**os.environ, "REFLECT_GIT_HOME": str(self.root), kill_operations.WORD_VARIABLE: word}
            done = fork_server.run(("operation", kill_operations.__name__, "purge"), env, self.file.parent)
            said = done.stderr.decode().strip()
            is_done = done.returncode == 0 or said.endswith("nothing in the store says that")
            assert is_done, f"'{word}' cannot be purged: {said}"
            self.action_log.append(f"purge {word} again → {done.returncode} {said}")
            self.purged.add(word)

    def _require_records(self) -> None:
        """Check that records are created and never edited; only a purge removes some."""
        listed = git(self.root, "ls-tree", "-r", "main", "--", "learnings", "decisions").splitlines()
        now = {path: head.split()[2] for head, _, path in (line.partition("\t") for line in listed)}
        edited = [path for path, blob in now.items() if self.blobs.get(path, blob) != blob]
        assert not edited, f"records were edited: {edited}"
        texts = self.texts
        gone = [path for path in self.blobs if path not in now and not self._was_purged(texts.get(path, ""))]
        assert not gone, f"records are gone: {gone}"
        stands = {one for one, word in self.approved.items() if word not in self.purged}
        lost = [one for one in stands if f"learnings/{one}.yaml" not in now]
        assert not lost, f"approved and not in the history: {lost}"
        self.blobs = {**self.blobs, **now}
        self.texts = {**texts, **{path: (self.root / path).read_text() for path in now if path not in texts}}

    def _was_purged(self, text: str) -> bool:
        """Tell whether a text contains a purged word, or is a decision about a record that does."""
        about = re.findall(r"(?:LRN|SIG)-[0-9]{8}-[0-9a-z]{8}", text)
        said = [text, *(self.texts.get(f"learnings/{one}.yaml", "") for one in about)]
        words = [self.acknowledged.get(one, "") for one in about]
        return any(word in words or any(word in each for each in said) for word in self.purged)

    def _require_backups(self) -> None:
        """Check that backups exist until a purge removes those with a purged word, and others of the same target."""
        kept = set(git(self.root, "for-each-ref", "--format=%(refname)", "refs/heads/backup/").split())
        if not self.purged:
            assert self.backups <= kept, f"backups are gone: {sorted(self.backups - kept)}"
        lost = backups.find_missing(open_store(self.root), time.time())
        assert not lost, f"backups are gone, and no purge took them: {lost}"
        for name in sorted(kept):
            there = git(self.root, "ls-tree", "--name-only", name, "backup/").split()
            named = backups.parse_targets(git(self.root, "log", "-1", "--format=%B", name))
            lacking = [at for at, path in enumerate(named, 1) if path == str(self.file) and f"backup/{at}" not in there]
            assert named and not lacking, f"'{name}' lacks the project's file: it has {there}"
        self.backups = kept

    def _find_word(self, word: str) -> str | None:
        """Return where the store or the project still has a word; None if nowhere."""
        return str(self.file) if word.encode() in self.file.read_bytes() else _place_of(self.root, word)


def _place_of(root: Path, word: str) -> str | None:
    """Return where a repository has a word: an object, a file, a name; None if nowhere."""
    for path in root.rglob("*"):
        if word in path.name or (path.is_file() and word.encode() in path.read_bytes()):
            return str(path)
    done = subprocess.run(
        ["git", "-C", str(root), "cat-file", "--batch-all-objects", "--batch", "--unordered"],
        capture_output=True, check=True,
    )  # fmt: skip
    return "a git object" if word.encode() in done.stdout else None


def _kill_process(pid: int, way: str) -> None:
    """Kill the process alone, whose git continues for a while, or its whole group."""
    try:
        if way == "group":
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # it had already finished
        pass


def create_kill_run(home: Path, root: Path, folder: Path, seed: int) -> KillRun:
    open_store(root)
    return KillRun(home, root, folder, seed)
