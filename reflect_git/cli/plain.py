"""A plain `sync` without click, which takes longer to load than a remote on the same machine takes to answer."""

from __future__ import annotations

import os
import sys

from reflect_git.cli import exchange
from reflect_git.cli.front import Front, end, open_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from reflect_git.cli.ahead import Ahead, Plain


def main(ahead: Ahead, plain: Plain) -> NoReturn:
    open_streams()
    front = Front(os.environ, ahead)
    front.store_option, front.json, front.no_input, front.yes = plain.store, plain.json, plain.no_input, plain.yes
    try:
        code = exchange.sync(front, plain.dry_run)
    except (Exception, KeyboardInterrupt) as error:
        from reflect_git.cli import app

        code = app.failure(front, error, sys.argv[1:])
    end(front, code)
