"""A replacement for `claude` that gives scripted answers and records its input."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

PROGRAM = """#!{python} -IS
import json, os, sys, time
folder = {folder!r}
given = sys.stdin.read()
number = len([name for name in os.listdir(folder) if name.startswith("call-")])
with open(os.path.join(folder, "call-%03d.json" % number), "w") as file:
    json.dump({{"argv": sys.argv[1:], "env": dict(os.environ), "stdin": given, "cwd": os.getcwd()}}, file)
with open(os.path.join(folder, "replies.json")) as file:
    replies = json.load(file)
reply = replies[min(number, len(replies) - 1)]
time.sleep(reply.get("sleep", 0))
if reply.get("flood"):
    while True:
        sys.stdout.write("x" * 65536)
sys.stdout.write(reply["out"])
sys.stderr.write(reply.get("err", ""))
sys.exit(reply.get("code", 0))
"""


def build_output(
    rules: Optional[list[dict[str, Any]]] = None,
    usd: float = 0.0042,
    tokens: tuple[int, int] = (1800, 200),
    **more: Any,
) -> str:
    """Return what the client prints. `rules` is the model's answer; without it there is no structured output."""
    told: dict[str, Any] = {
        "type": "result", "subtype": "success", "is_error": False, "api_error_status": None, "total_cost_usd": usd,
        "usage": {"input_tokens": tokens[0], "cache_read_input_tokens": 0, "output_tokens": tokens[1]},
        "modelUsage": {"claude-haiku-5-5": {"costUSD": usd}}, "result": "done",
    }  # fmt: skip
    if rules is not None:
        told["structured_output"] = {"rules": rules}
    return json.dumps({**told, **more})


class ScriptedClaude:
    """A scripted client. `env` makes reflect-git find it; `calls` are its recorded inputs, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.path = folder / "claude"
        self.path.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)), encoding="utf-8")
        self.path.chmod(0o755)
        self.env = {"REFLECT_GIT_CLAUDE": str(self.path)}
        self.set_rules()

    def set_rules(self, *rules: Mapping[str, Any], **more: Any) -> None:
        """Answer every call with these entries."""
        self.set_outputs({"out": build_output([dict(rule) for rule in rules], **more)})

    def set_outputs(self, *replies: Mapping[str, Any]) -> None:
        """Answer the calls with these outputs; repeat the last one."""
        (self.folder / "replies.json").write_text(json.dumps([dict(reply) for reply in replies]), encoding="utf-8")

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(self.folder.glob("call-*.json"))]

    def get_proposed_rules(self, number: int = -1) -> list[dict[str, Any]]:
        """Return the proposed rules that a call was given."""
        items: list[dict[str, Any]] = json.loads(self.calls[number]["stdin"])
        return items
