"""A proxy on loopback that speaks CONNECT and SOCKS5; the names it knows all lead to 127.0.0.1."""

from __future__ import annotations

import base64
import contextlib
import socket
import struct
import threading
from types import TracebackType
from typing import Self

CLOSED = b""


class SmallProxy:
    """Leads to `127.0.0.1` whatever it is asked for, but notes it. With a `login` (`user:password`) it wants that.

    `asked` are the targets as they were asked for, `heads` what came with each CONNECT; `answer` is said in place of
    a tunnel.
    """

    def __init__(self, login: str = "", answer: bytes | None = None) -> None:
        self.asked: list[str] = []
        self.heads: list[str] = []
        self._login, self._answer = login, answer
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.place = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self._open.append(sock)
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError, EOFError):
            first = _take(sock, 1)
            port = self._socks(sock) if first == b"\x05" else self._connect(sock, first)
            if port is not None:
                self._carry(sock, port)

    def _connect(self, sock: socket.socket, head: bytes) -> int | None:
        while not head.endswith(b"\r\n\r\n"):
            head += _take(sock, 1)
        text = head.decode("latin-1")
        self.heads.append(text)
        place = text.split(" ")[1]
        self.asked.append(place)
        secret = base64.b64encode(self._login.encode()).decode()
        if self._login and f"Proxy-Authorization: Basic {secret}\r\n" not in text:
            sock.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 5\r\n\r\nlogin")
            return None
        if self._answer is not None:
            sock.sendall(self._answer)
            return None
        sock.sendall(b"HTTP/1.1 200 Connection established\r\nX-From: proxy\r\n\r\n")
        return int(place.rpartition(":")[2])

    def _socks(self, sock: socket.socket) -> int | None:
        offered = _take(sock, _take(sock, 1)[0])
        wanted = 2 if self._login else 0
        if wanted not in offered:
            sock.sendall(b"\x05\xff")
            return None
        sock.sendall(bytes([5, wanted]))
        if wanted == 2:
            _take(sock, 1)
            user, password = (_take(sock, _take(sock, 1)[0]).decode() for _ in range(2))
            sock.sendall(b"\x01\x00" if f"{user}:{password}" == self._login else b"\x01\x01")
            if f"{user}:{password}" != self._login:
                return None
        kind = _take(sock, 4)[3]
        if kind == 3:
            host = _take(sock, _take(sock, 1)[0]).decode()
        else:
            host = socket.inet_ntop(
                *((socket.AF_INET, _take(sock, 4)) if kind == 1 else (socket.AF_INET6, _take(sock, 16)))
            )
        port: int = struct.unpack("!H", _take(sock, 2))[0]
        self.asked.append(f"{host}:{port}")
        if self._answer is not None:
            sock.sendall(self._answer)
            return None
        sock.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        return port

    def _carry(self, sock: socket.socket, port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as there:
            self._open.append(there)
            back = threading.Thread(target=_pump, args=(there, sock), daemon=True)
            back.start()
            _pump(sock, there)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _take(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data
