"""A loopback address that only the client under test can reach, and the only one it can reach."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import threading
from dataclasses import dataclass
from typing import Optional

CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1


@dataclass(frozen=True)
class IsolatedListener:
    """A listening socket, and the prefix for a command that must reach it."""

    listener: socket.socket
    network: Optional[int] = None

    @property
    def prefix(self) -> list[str]:
        if self.network is None:
            return []
        return ["nsenter", f"--net=/proc/{os.getpid()}/fd/{self.network}", "--"]

    def close(self) -> None:
        self.listener.close()
        if self.network is not None:
            os.close(self.network)


def open_isolated_listener() -> IsolatedListener:
    """Open a socket in a separate network namespace if possible (Linux, as root), else in the current network."""
    opened: list[IsolatedListener] = []
    # A thread can enter another network alone; its sockets stay where they were created.
    maker = threading.Thread(target=lambda: opened.append(_enter_namespace() or IsolatedListener(_listen())))
    maker.start()
    maker.join()
    return opened[0]


def _enter_namespace() -> Optional[IsolatedListener]:
    if shutil.which("nsenter") is None or os.geteuid() != 0 or ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        return None
    listener = _listen()
    request = struct.pack("16sh", b"lo", 0)
    flags = struct.unpack("16sh", fcntl.ioctl(listener, SIOCGIFFLAGS, request))[1]
    fcntl.ioctl(listener, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | IFF_UP))
    return IsolatedListener(listener, os.open("/proc/thread-self/ns/net", os.O_RDONLY))


def _listen() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener
