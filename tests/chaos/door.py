"""The forum's door: a relay that notes when the kernel took in each request, whoever had the processor then."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import cpu_count

_STAMP = 35  # SO_TIMESTAMPNS of socket(7), which Python does not name
_MOST = 1 << 16


class Door:
    """Leads from a port of its own to the forum's. `arrivals` are wall-clock seconds, in the order they were read."""

    def __init__(self, forum_port: int) -> None:
        self._target = ("127.0.0.1", forum_port)
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, _STAMP, 1)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(128)
        self.port: int = self._listener.getsockname()[1]
        self.arrivals: list[float] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more."""
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            client.setsockopt(socket.SOL_SOCKET, _STAMP, 1)
            forum = socket.create_connection(self._target)
            for relay in (self._lead_in, self._lead_out):
                threading.Thread(target=relay, args=(client, forum), daemon=True).start()

    def _lead_in(self, client: socket.socket, forum: socket.socket) -> None:
        with suppress(OSError):
            while True:
                data, notes, _, _ = client.recvmsg(_MOST, 256)
                if data.startswith(b"GET "):
                    self.arrivals += [_seconds(value) for _, kind, value in notes if kind == _STAMP]
                forum.sendall(data)
                if not data:
                    break
        with suppress(OSError):
            forum.shutdown(socket.SHUT_WR)

    def _lead_out(self, client: socket.socket, forum: socket.socket) -> None:
        with client, forum, suppress(OSError):
            while data := forum.recv(_MOST):
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)


def _seconds(stamp: bytes) -> float:
    seconds, nanoseconds = struct.unpack("qq", stamp)
    return float(seconds) + float(nanoseconds) / 1e9


@contextmanager
def busy_machine() -> Iterator[None]:
    """Keep every core busy with something else."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cpu_count() or 1)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
