"""The error type of the program, and its exit codes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

EXIT_OK = 0
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_BUG = 3
EXIT_DECISION = 4
EXIT_INTERRUPTED = 130


class ReflectError(Exception):
    """An error that a person can act on.

    `message` follows git's style: lower case, no full stop, the subject in single quotes. `code` is a stable word for
    programs. `exit_code` is the exit code of the process.
    """

    def __init__(
        self, message: str, hint: Optional[str] = None, code: str = "failed", exit_code: int = EXIT_REFUSED
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
        self.exit_code = exit_code
