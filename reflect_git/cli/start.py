"""Entry point of the program."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from reflect_git.cli.fast_start import Ahead

COMPLETE_VAR = "_REFLECT_GIT_COMPLETE"  # of both program names, since both are this program


def main() -> NoReturn:
    """Run the console program."""
    gc.disable()  # a run is over before a collection pays: it took 60 of 150 ms of reading 10,000 signals
    try:
        ahead = asked_ahead()
    except (Exception, KeyboardInterrupt) as error:
        fail(error)
    try:
        run(ahead)
    except SystemExit as end:
        if ahead is None:
            raise
        ahead.drop()
        end_now(end.code if isinstance(end.code, int) else int(end.code is not None))
    except KeyboardInterrupt as error:  # while something was loaded
        if ahead is not None:
            ahead.drop()
        fail(error)


def asked_ahead() -> Ahead | None:
    words = sys.argv[1:]
    if words[:1] == ["log"]:
        from reflect_git.cli.fast_start import ask

        return ask(words[1:], os.environ)
    if "sync" in words:
        from reflect_git.cli.fast_start import fetch

        return fetch(words, os.environ)
    return None


def fail(error: BaseException) -> NoReturn:
    """Report an error of the fast start as a command would, and exit. It may have waited for a lock."""
    from reflect_git.cli import app
    from reflect_git.cli.context import Front, leave, open_streams

    open_streams()
    front = Front(os.environ)
    front.json = "--json" in sys.argv[1:]
    leave(app.failure(front, error, sys.argv[1:]))


def run(ahead: Ahead | None) -> NoReturn:
    if ahead is not None and ahead.plain is not None:
        from reflect_git.cli import sync_view

        sync_view.run_plain_sync(ahead, ahead.plain)
    from reflect_git.cli import app

    app.main(ahead=ahead)


def end_now(code: int) -> NoReturn:
    """Exit without taking the interpreter apart, which takes 9 ms: the system frees its memory all the same.

    For who asked ahead, and has nothing to let go of any more. What was to be done at the end is done all the same, a
    thread that somebody should wait for is waited for, and output that cannot be written fails as ever.
    """
    import atexit
    import threading

    if threading.active_count() > 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
