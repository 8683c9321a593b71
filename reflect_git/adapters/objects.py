"""Objects of a repository by any name that git knows, asked of one process for as long as somebody has questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from reflect_git.adapters.git import Git

# Bytes of names in flight: more might fill the pipe to git while git, which says each name again that it does not know,
# waits for its answers to be read. A longer name is that of no file.
_AT_ONCE = 4096


class Objects:
    """`with Objects(git) as objects:` – a name is `main:README.md`, `<commit>:path` or an object id.

    `warm` is a name that is asked for at once: git finds its packs while somebody else works, and not with the first
    question that counts.
    """

    def __init__(self, git: Git, warm: str = "") -> None:
        self._child = git.start("cat-file", "--batch")
        self._is_warming = bool(warm)
        if warm:
            self._child.send(_asked_for(warm))

    def __enter__(self) -> Objects:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.drop()

    def get(self, names: Sequence[str]) -> list[bytes | None]:
        """The bytes of each, in order; None for what is not there, and for a name that cannot be asked for."""
        return list(self.ask(names))

    def ask(self, names: Sequence[str]) -> Iterator[bytes | None]:
        """As `get`, one by one, with git at work already; all is to be taken before something else is asked."""
        return self._answers(names, self._send(names, 0))

    def _answers(self, names: Sequence[str], sent: int) -> Iterator[bytes | None]:
        for number, name in enumerate(names):
            if number == sent:
                sent = self._send(names, number)
            yield self._answer() if _asked_for(name) else None

    def _send(self, names: Sequence[str], start: int) -> int:
        """As many of them as may be in flight; returns which is the next one."""
        if self._is_warming:
            self._is_warming = False
            self._answer()
        lines = b""
        for number in range(start, len(names)):
            line = _asked_for(names[number])
            if lines and len(lines) + len(line) > _AT_ONCE:
                break
            lines += line
        else:
            number = len(names)
        self._child.send(lines)
        return number

    def _answer(self) -> bytes | None:
        """`<id> <type> <size>`, the bytes, a newline; whatever is shorter says that there is none."""
        head = self._child.line().split(b" ")
        if len(head) != 3 or not head[2].isdigit():
            return None
        return self._child.take(int(head[2]) + 1)[:-1]


def _asked_for(name: str) -> bytes:
    """A name as git is asked for it; nothing if it cannot be."""
    line = f"{name}\n".encode("utf-8", "surrogateescape")
    return line if name.isprintable() and len(line) <= _AT_ONCE else b""


def names_in(tree: bytes) -> list[str]:
    """The names in a tree object: each entry is `<mode> <name>`, NUL, and the 20 bytes of an id."""
    found, at = [], 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        found.append(tree[at:end].partition(b" ")[2].decode("utf-8", "surrogateescape"))
        at = end + 21
    return found
