"""Real transports on the loopback: git's own daemon, its http backend, and a connection that is cut."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import REAL_GIT


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def run_daemon(base: Path) -> Iterator[int]:
    """Run a daemon at git://127.0.0.1:PORT/…, for reading and writing."""
    port = find_free_port()
    child = subprocess.Popen(
        [REAL_GIT, "daemon", "--reuseaddr", "--listen=127.0.0.1", f"--port={port}", f"--base-path={base}",
         "--export-all", "--enable=receive-pack", "--informative-errors", str(base)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait_for_port(port)
        yield port
    finally:
        child.terminate()
        child.wait()


def _wait_for_port(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            threading.Event().wait(0.05)
    raise AssertionError("git daemon does not answer")


class CuttingProxy:
    """A connection to a port that is cut after so many bytes in either direction; never, with None."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.cut_after: int | None = None
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        left = [self.cut_after if self.cut_after is not None else 1 << 60]
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:  # the other end has already closed
            client.close()
            return
        with client, server:
            ways = [
                threading.Thread(target=self._copy, args=(source, sink, left), daemon=True)
                for source, sink in ((client, server), (server, client))
            ]
            for way in ways:
                way.start()
            for way in ways:
                way.join()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket, left: list[int]) -> None:
        try:
            while left[0] > 0:
                data = source.recv(min(65536, left[0]))
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                left[0] -= len(data)
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class _HttpBackend(http.server.BaseHTTPRequestHandler):
    base: Path

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._run_backend(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            self._run_backend(b"".join(iter(self._read_chunk, b"")))
        else:
            self._run_backend(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _read_chunk(self) -> bytes:
        size = int(self.rfile.readline().split(b";")[0], 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def _run_backend(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        env = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.base), "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)), "REMOTE_USER": "ada", "REMOTE_ADDR": "127.0.0.1",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }  # fmt: skip
        done = subprocess.run([REAL_GIT, "http-backend"], input=body, env=env, capture_output=True, check=False)
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n") if b": " in line)
        self.send_response(int(fields.pop(b"Status", b"200 OK").split()[0]))
        for name, value in fields.items():
            self.send_header(name.decode(), value.decode())
        self.end_headers()
        self.wfile.write(rest)


@contextmanager
def run_http_backend(base: Path) -> Iterator[int]:
    handler = type("Backend", (_HttpBackend,), {"base": base})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
