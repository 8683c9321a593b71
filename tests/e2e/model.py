"""A scripted model: answers the client's requests over loopback and records all of them."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Optional

from tests.e2e.network import open_isolated_listener

GATE_SECONDS = 60
SUMMARISER = re.compile(r"detailed summary of|summary of the conversation", re.I)
SUMMARY = "<analysis>short</analysis>\n<summary>What was done so far.</summary>"


@dataclass(frozen=True)
class Call:
    """A tool call that the model makes."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class Turn:
    """One answer.

    `gate` delays it until the test opens it. `tokens` is the context size that the model reports. With `to`, it is only
    for the conversation that began with these words.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    gate: Optional[threading.Event] = None
    tokens: int = 1000
    error: int = 0
    to: str = ""


@dataclass(frozen=True)
class Request:
    kind: str
    body: Mapping[str, Any]

    def text(self) -> str:
        """Return everything the model is given to read, unescaped."""
        return "\n".join(iter_strings([self.body.get("system"), self.body.get("messages")]))


def bash_call(command: str) -> Call:
    return Call("Bash", {"command": command, "description": "Work"})


def iter_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from iter_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from iter_strings(inner)


def get_request_kind(body: Mapping[str, Any]) -> str:
    """Return `main` for the conversation itself; the client also asks for titles and similar, without tools."""
    asked = [message for message in body.get("messages", ()) if message.get("role") == "user"]
    if asked and SUMMARISER.search("\n".join(iter_strings(asked[-1].get("content")))):
        return "summary"
    return "main" if body.get("tools") else "side"


@dataclass
class Model:
    """A model whose turns are used one per request of the conversation; after the last one it says `done`."""

    turns: list[Turn] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def __enter__(self) -> Model:
        self.door = open_isolated_listener()
        self.turn_taken = threading.Lock()
        self.server = ThreadingHTTPServer(
            self.door.listener.getsockname(), build_handler(self), bind_and_activate=False
        )
        self.server.socket.close()
        self.server.socket = self.door.listener
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.server.shutdown()
        self.door.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.door.listener.getsockname()[1]}"

    def answer(self, body: Mapping[str, Any]) -> Turn:
        kind = get_request_kind(body)
        with self.turn_taken:
            self.requests.append(Request(kind, body))
            if kind == "main":
                opening = "\n".join(iter_strings(body["messages"][0]))
                fitting = (number for number, turn in enumerate(self.turns) if turn.to in opening)
                number = next(fitting, None)
                return Turn("done") if number is None else self.turns.pop(number)
        return Turn(SUMMARY if kind == "summary" else '{"title": "a session"}')

    def list_requests(self, kind: str = "main") -> list[Request]:
        return [request for request in self.requests if request.kind == kind]


def build_message(turn: Turn, model: str) -> dict[str, Any]:
    stamp = time.monotonic_ns()
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    for number, call in enumerate(turn.calls):
        use = {"type": "tool_use", "id": f"toolu_{stamp:x}{number}", "name": call.name, "input": dict(call.input)}
        content.append(use)
    return {
        "id": f"msg_{stamp:x}", "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": turn.tokens, "output_tokens": 10},
    }  # fmt: skip


def stream_events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message as it is streamed: each block opened empty, filled, closed."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            filled = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": filled}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


def build_handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path.split("?")[0] != "/v1/messages":
                return self.reply(404, {"type": "error", "error": {"type": "not_found_error", "message": self.path}})
            turn = model.answer(body)
            if turn.gate is not None:
                turn.gate.wait(GATE_SECONDS)
            if turn.error:
                failed = {"type": "api_error", "message": f"scripted error {turn.error}"}
                return self.reply(turn.error, {"type": "error", "error": failed})
            message = build_message(turn, body["model"])
            return self.stream(message) if body.get("stream") else self.reply(200, message)

        def do_GET(self) -> None:
            self.reply(404, {})

        def reply(self, status: int, document: Mapping[str, Any]) -> None:
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def stream(self, message: Mapping[str, Any]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            try:
                for event in stream_events(message):
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            except OSError:  # the client was interrupted or killed
                pass

        def log_message(self, format: str, *words: Any) -> None:
            pass

    return Handler
