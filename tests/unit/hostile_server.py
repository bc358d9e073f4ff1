"""A forum's web server at its worst: raw sockets on loopback, one thread per connection, one function per path."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Answer = Callable[["Visit"], None]


@dataclass
class Visit:
    """One request as it came, and the socket to answer it on."""

    server: HostileServer
    sock: socket.socket
    target: str
    headers: dict[str, str]
    connection: int
    keep: bool = True
    method: str = "GET"
    body: bytes = b""

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def reply(self, body: bytes = b"", status: str = "200 OK", **headers: str) -> None:
        dated = {"Date": self.server.date} if self.server.date else {}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in {**dated, **headers}.items())
        self.send(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode("latin-1") + body)

    def drip(self, data: bytes, every_s: float = 0.02) -> None:
        """Send one byte at a time, again and again, until the other side or the test ends."""
        self.keep = False
        while True:
            for byte in data:
                if self.server.stopped.wait(every_s):
                    return
                self.send(bytes([byte]))

    def flood(self, data: bytes) -> None:
        self.keep = False
        while not self.server.stopped.is_set():
            self.send(data)

    def hang(self) -> None:
        self.keep = False
        self.server.stopped.wait(60)

    def reset(self) -> None:
        """Close with a RST instead of a FIN."""
        self.keep = False
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def close(self) -> None:
        self.keep = False


class HostileServer:
    """The server of all forums of tests but the demo: a forum is a class with an answer, and this one serves it.

    It listens on a free port unless one is named, and speaks TLS if it has a certificate.
    """

    def __init__(
        self, routes: dict[str, Answer] | None = None, otherwise: Answer | None = None, *, port: int = 0,
        certificate: Path | None = None,
    ) -> None:  # fmt: skip
        self.routes: dict[str, Answer] = {"/robots.txt": not_found, **(routes or {})}
        self._otherwise = otherwise or not_found
        self.visits: list[Visit] = []
        self.connections = 0
        self.date = ""
        self.stopped = threading.Event()
        self._open: set[socket.socket] = set()
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port = self._listener.getsockname()[1]
        self.place = f"127.0.0.1:{self.port}"
        self.base = f"http{'s' * (certificate is not None)}://{self.place}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def paths(self) -> list[str]:
        return [visit.target for visit in self.visits if visit.target != "/robots.txt"]

    def stop(self) -> None:
        self.stopped.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self._open.add(sock)
            thread = threading.Thread(target=self._serve, args=(sock, self.connections), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        with sock, contextlib.suppress(OSError):
            stream = self._tls.wrap_socket(sock, server_side=True) if self._tls else sock
            with stream:
                self._answer(stream, number)
        self._open.discard(sock)

    def _answer(self, stream: socket.socket, number: int) -> None:
        for head, body in _requests(stream):
            line, *rest = head.decode("latin-1").split("\r\n")
            method, target = line.split(" ")[:2]
            visit = Visit(self, stream, target, _fields(rest), number, method=method, body=body)
            self.visits.append(visit)
            self.routes.get(visit.target.partition("?")[0], self._otherwise)(visit)
            if not visit.keep:
                break


def _fields(lines: list[str]) -> dict[str, str]:
    """Return headers by their names in lower case, repeated ones joined."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        key = name.lower()
        fields[key] = f"{fields[key]}, {value.strip()}" if key in fields else value.strip()
    return fields


def not_found(visit: Visit) -> None:
    visit.reply(b"no", "404 Not Found")


def page(body: bytes = b"<p>page</p>", status: str = "200 OK", **headers: str) -> Answer:
    return lambda visit: visit.reply(body, status, **headers)


def raw(data: bytes, *, keep: bool = False) -> Answer:
    """Answer with these very bytes."""

    def answer(visit: Visit) -> None:
        visit.send(data)
        visit.keep = keep

    return answer


def redirect(location: str, status: int = 302) -> Answer:
    return page(b"moved", f"{status} Moved", Location=location)


def _requests(sock: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    buffer = b""
    while True:
        while b"\r\n\r\n" not in buffer:
            data = sock.recv(65536)
            if not data:
                return
            buffer += data
        head, _, buffer = buffer.partition(b"\r\n\r\n")
        length = int(_fields(head.decode("latin-1").split("\r\n")).get("content-length", "0"))
        while len(buffer) < length:
            data = sock.recv(65536)
            if not data:
                return
            buffer += data
        yield head, buffer[:length]
        buffer = buffer[length:]
