"""A git that is fed and heard out by a thread, while its caller has other things to do.

What is longer than a pipe would wait for its reader otherwise: a walk through 1,000 commits stood still until the files
of the last one were looked at.
"""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.adapters.child import Child, Result


class Heard:
    """`data` is what it is fed; past `most` bytes of answer it is killed, as by `Child.finish`."""

    def __init__(self, child: Child, data: bytes = b"", most: float = float("inf")) -> None:
        self._child = child
        self._found: list[Result] = []
        self._failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._listen, args=(data, most), daemon=True)
        self._thread.start()

    def _listen(self, data: bytes, most: float) -> None:
        try:
            self._found.append(self._child.finish(data, most=most))
        except BaseException as error:  # the caller's to meet, not the thread's
            self._failed.append(error)

    def result(self) -> Result:
        """Once it is there."""
        self._thread.join()
        if self._failed:
            raise self._failed[0]
        return self._found[0]

    def drop(self) -> None:
        """It is not needed any more."""
        if self._thread.is_alive():
            self._child.kill()
        self._thread.join()
