"""Objects of a repository by any name that git knows, asked of one process for as long as somebody has questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from reflect_git.adapters.git import Git

_AT_ONCE = 100  # names in flight: more might fill the pipe to git while git waits for its answers to be read


class Objects:
    """`with Objects(git) as objects:` – a name is `main:README.md`, `<commit>:path` or an object id."""

    def __init__(self, git: Git) -> None:
        self._child = git.start("cat-file", "--batch")

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
        self._send(names[:_AT_ONCE])
        return self._answers(names)

    def _answers(self, names: Sequence[str]) -> Iterator[bytes | None]:
        for number, name in enumerate(names):
            if number and number % _AT_ONCE == 0:
                self._send(names[number : number + _AT_ONCE])
            yield self._answer() if name.isprintable() else None

    def _send(self, names: Sequence[str]) -> None:
        lines = "".join([f"{name}\n" for name in names if name.isprintable()])
        self._child.send(lines.encode("utf-8", "surrogateescape"))

    def _answer(self) -> bytes | None:
        """`<id> <type> <size>`, the bytes, a newline; whatever is shorter says that there is none."""
        head = self._child.line().split(b" ")
        if len(head) != 3 or not head[2].isdigit():
            return None
        return self._child.take(int(head[2]) + 1)[:-1]


def names_in(tree: bytes) -> list[str]:
    """The names in a tree object: each entry is `<mode> <name>`, NUL, and the 20 bytes of an id."""
    found, at = [], 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        found.append(tree[at:end].partition(b" ")[2].decode("utf-8", "surrogateescape"))
        at = end + 21
    return found
