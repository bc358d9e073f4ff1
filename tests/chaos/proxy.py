"""A loopback proxy that fails call n of whatever protocol passes through it, before or after it took effect.

A call is what a client sends until the server answers. `BEFORE`: nothing of it is passed on. `AFTER`: it is passed on,
and when the server has answered, the answer is thrown away. Either way the client finds its connection closed.

A hole is worse: connections are taken and stay open, but nothing more comes through them, nor ever will.
"""

from __future__ import annotations

import selectors
import socket
import struct
import threading
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self


class Side(StrEnum):
    """Which side of a call is lost."""

    BEFORE = "call lost"
    AFTER = "answer lost"


@dataclass(eq=False, slots=True)
class _Pair:
    client: socket.socket
    server: socket.socket
    is_asking: bool = False
    is_doomed: bool = False
    is_lost: bool = False


class Proxy:
    """Passes bytes between clients and one server; counts calls, and fails the one it was told to."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.calls = 0
        self.struck = False
        self._at, self._side = 0, Side.BEFORE
        self._hole: int | None = None
        self._wake, self._bell = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._selector.register(self._bell, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._wake.close()
        self._thread.join()

    def fail(self, call: int, side: Side) -> None:
        """Count from 0 again, and fail that call; 0 fails none."""
        self.calls, self.struck, self._at, self._side = 0, False, call, side

    def open_hole(self, after: int = 0) -> None:
        """From now on let nothing through, on no connection; of the answers under way so many bytes."""
        self._hole = after

    def close_hole(self) -> None:
        """Serve new connections again; those that the hole has swallowed stay silent."""
        self._hole = None

    def _run(self) -> None:
        pairs: set[_Pair] = set()
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._bell:
                    for pair in pairs:
                        self._close(pair)
                    self._listener.close()
                    self._bell.close()
                    self._selector.close()
                    return
                if key.fileobj is self._listener:
                    pairs.add(self._accept())
                elif key.data in pairs and not self._lives(key.data, key.fileobj):
                    pairs.remove(key.data)
                    self._close(key.data)

    def _accept(self) -> _Pair:
        pair = _Pair(self._listener.accept()[0], socket.create_connection(self._target))
        for end in (pair.client, pair.server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(end, selectors.EVENT_READ, pair)
        return pair

    def _lives(self, pair: _Pair, source: object) -> bool:
        """Pass on what one end sent; say whether the connection lives."""
        try:
            return self._swallow(pair, source) if pair.is_lost or self._hole is not None else self._pass(pair, source)
        except OSError:
            return False

    def _pass(self, pair: _Pair, source: object) -> bool:
        if source is pair.server:
            if pair.is_doomed:
                return False
            pair.is_asking = False
            return self._move(pair.server, pair.client)
        if not pair.is_asking:
            pair.is_asking = True
            if not pair.client.recv(1, socket.MSG_PEEK):
                return False
            self.calls += 1
            if self.calls == self._at:
                self.struck = True
                if self._side is Side.BEFORE:
                    return False
                pair.is_doomed = True
        return self._move(pair.client, pair.server)

    def _swallow(self, pair: _Pair, source: object) -> bool:
        """Take what one end sent; only the beginning of an answer, where the hole wants it so, is passed on."""
        beginning = 0 if pair.is_lost else self._hole or 0
        if beginning and source is pair.client:
            return self._move(pair.client, pair.server)
        pair.is_lost = True
        end = pair.server if source is pair.server else pair.client
        read = end.recv(1 << 16)
        if beginning:
            pair.client.sendall(read[:beginning])
        return bool(read)

    def _move(self, source: socket.socket, target: socket.socket) -> bool:
        read = source.recv(1 << 16)
        target.sendall(read)
        return bool(read)

    def _close(self, pair: _Pair) -> None:
        # A reset, as of a host that went away: what was on its way is lost too.
        pair.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for end in (pair.client, pair.server):
            self._selector.unregister(end)
            end.close()
