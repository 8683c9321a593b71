"""What such a hook usually is: a prompt against some forty patterns, a JSON queue read, lengthened and written again.

Nothing is synced, committed or locked. Takes the queue's path; reads the event on stdin.
"""

import datetime
import json
import os
import pathlib
import re
import sys

KEPT = 1000
WORDS = (
    "no", "don't", "stop", "actually", "wrong", "instead", "not that", "remember", "always", "never", "use", "prefer",
    "please", "should", "must", "incorrect", "again", "I said", "I told you", "that's not", "you forgot", "perfect",
    "great", "exactly", "keep doing", "love it", "well done", "make sure", "be careful", "avoid", "rather", "switch to",
    "go back", "undo", "revert", "why did you", "we use", "our convention", "by default", "from now on",
)  # fmt: skip
PATTERNS = [(rf"(?i)(?:^|[.!?,;]\s*)\b{word}\b[^.!?\n]{{0,200}}", word) for word in WORDS]


def main() -> None:
    event = json.loads(sys.stdin.read())
    prompt = event["prompt"]
    found = [word for pattern, word in PATTERNS if re.search(pattern, prompt)]
    queue = pathlib.Path(sys.argv[1])
    items = json.loads(queue.read_text(encoding="utf-8")) if queue.exists() else []
    now = datetime.datetime.now(datetime.timezone.utc)
    items.append({"message": prompt, "patterns": found, "timestamp": now.isoformat(), "project": os.getcwd()})
    queue.write_text(json.dumps(items[-KEPT:], indent=2), encoding="utf-8")


main()
