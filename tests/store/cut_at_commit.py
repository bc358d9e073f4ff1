"""A relay before PostgreSQL that cuts the connection at a COMMIT: before it is passed on, or before its answer is."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

PIECE = 65_536


class CutAtCommit:
    """Relays connections to a port of loopback; the next COMMIT is cut once `arm` was called."""

    def __init__(self, port: int) -> None:
        self._there = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._moment = ""
        self._is_swallowing = False
        self.cuts = 0

    def arm(self, moment: str) -> None:
        """Cut the next COMMIT `before` it reaches the server, or `after`."""
        self._moment = moment

    @contextlib.contextmanager
    def running(self) -> Iterator[CutAtCommit]:
        """Accept connections until the block ends."""
        threading.Thread(target=self._accept, daemon=True).start()
        yield self
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._there)
                threading.Thread(target=self._relay, args=(client, server, self._to_server), daemon=True).start()
                threading.Thread(target=self._relay, args=(server, client, self._to_client), daemon=True).start()

    def _relay(self, here: socket.socket, there: socket.socket, passes: object) -> None:
        with contextlib.suppress(OSError), here, there:
            while (data := here.recv(PIECE)) and passes(data):  # type: ignore[operator]  # one of the two below
                there.sendall(data)
            there.shutdown(socket.SHUT_RDWR)
            here.shutdown(socket.SHUT_RDWR)

    def _to_server(self, data: bytes) -> bool:
        if not self._moment or b"COMMIT\0" not in data:
            return True
        moment, self._moment = self._moment, ""
        self.cuts += 1
        self._is_swallowing = moment == "after"
        return self._is_swallowing

    def _to_client(self, _: bytes) -> bool:
        passes, self._is_swallowing = not self._is_swallowing, False
        return passes
