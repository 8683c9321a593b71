#!/usr/bin/env python3
"""Decide about one tool call: `python3 -I -S hooks/guard.py STORE`, with the PreToolUse event's JSON on stdin.

With `stop` as a second word: about the end of a turn, with the Stop event's JSON.
"""

import gc
import os
import sys

gc.disable()  # nothing here makes cycles that are worth a look
try:
    # Beside the package in a checkout, inside it (reflect_git/data/hooks) when installed.
    _UP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.append(_UP if os.path.isdir(os.path.join(_UP, "reflect_git")) else os.path.dirname(os.path.dirname(_UP)))

    if sys.argv[2:] == ["stop"]:
        from reflect_git.hook import check_stop as check
    else:
        from reflect_git.guards.check import main as check

    check(sys.argv[1])
except BaseException:  # a guard never stops a call by accident
    pass
os._exit(0)  # nothing is buffered: an orderly end of the interpreter takes 1.5 ms
