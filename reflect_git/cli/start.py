"""Entry point of the program."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from reflect_git.cli.fast_start import Prefetch

COMPLETE_VAR = "_REFLECT_GIT_COMPLETE"  # of both program names, since both are this program


def main() -> NoReturn:
    """Run the console program."""
    gc.disable()  # a run is over before a collection pays: it took 60 of 150 ms of reading 10,000 signals
    try:
        prefetch = start_prefetch()
    except (Exception, KeyboardInterrupt) as error:
        report_and_exit(error)
    try:
        run_program(prefetch)
    except SystemExit as end:
        if prefetch is None:
            raise
        prefetch.cancel()
        exit_now(end.code if isinstance(end.code, int) else int(end.code is not None))
    except KeyboardInterrupt as error:  # while something was loaded
        if prefetch is not None:
            prefetch.cancel()
        report_and_exit(error)


def start_prefetch() -> Prefetch | None:
    words = sys.argv[1:]
    if words[:1] == ["log"]:
        from reflect_git.cli.fast_start import start_log_query

        return start_log_query(words[1:], os.environ)
    if "sync" in words:
        from reflect_git.cli.fast_start import start_fetch

        return start_fetch(words, os.environ)
    return None


def report_and_exit(error: BaseException) -> NoReturn:
    """Report an error of the fast start as a command would, and exit. It may have waited for a lock."""
    from reflect_git.cli import app
    from reflect_git.cli.context import CliContext, exit_flushed, prepare_streams

    prepare_streams()
    cli = CliContext(os.environ)
    cli.json = "--json" in sys.argv[1:]
    exit_flushed(app.handle_error(cli, error, sys.argv[1:]))


def run_program(prefetch: Prefetch | None) -> NoReturn:
    if prefetch is not None and prefetch.sync_options is not None:
        from reflect_git.cli import sync_view

        sync_view.run_prefetched_sync(prefetch, prefetch.sync_options)
    from reflect_git.cli import app

    app.main(prefetch=prefetch)


def exit_now(code: int) -> NoReturn:
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
