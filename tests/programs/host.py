"""A web server on loopback that shows a forum as one program does, and notes what it was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.programs.content import PICTURE, Content
from tests.serving import serving


@dataclass(frozen=True)
class Ask:
    """A request: its path below the forum's, its parameters in order, and where the forum is."""

    path: str
    query: Mapping[str, str]
    base: str

    def number(self, name: str, default: int) -> int:
        text = self.query.get(name, "")
        return int(text) if text.isdigit() else default


@dataclass(frozen=True)
class Answer:
    """A response."""

    body: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "text/html; charset=utf-8"


class Program(Protocol):
    """How one program shows a forum."""

    def answer(self, ask: Ask) -> Answer: ...


Make = Callable[[Content], Program]


@dataclass(frozen=True)
class Asked:
    """A request as the server saw it, and how it answered."""

    path: str
    status: int


@dataclass
class Host:
    """A forum that is being served at `url`."""

    url: str
    log: list[Asked] = field(default_factory=list)

    @property
    def asked(self) -> list[str]:
        return [one.path for one in self.log if not one.path.endswith("/robots.txt")]


def page(body: str, status: int = 200, **headers: str) -> Answer:
    return Answer(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


def data(value: object, status: int = 200, kind: str = "application/json; charset=utf-8") -> Answer:
    return Answer(json.dumps(value), status, kind=kind)


def moved(target: str, status: int = 301) -> Answer:
    return Answer("", status, {"Location": target})


@contextmanager
def served(
    program: Program, below: str = "", *, port: int = 0, robots: str = "User-agent: *\nDisallow: /admin/\n",
    certificate: Path | None = None,
) -> Iterator[Host]:  # fmt: skip
    """Serve a forum below a path, on a free port unless one is named, over TLS if it has a certificate."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # head and body in one segment: two would wait for each other's acknowledgement

        def do_GET(self) -> None:
            where = urlsplit(self.path)
            if where.path == "/robots.txt":
                said = Answer(robots, kind="text/plain")
            elif where.path.startswith(f"{below}/") or where.path == below:
                query = dict(parse_qsl(where.query.replace(";", "&"), keep_blank_values=True))
                said = program.answer(Ask(unquote(where.path[len(below) :]) or "/", query, host.url))
            else:
                said = Answer("not here", 404)
            host.log.append(Asked(self.path, said.status))
            # Without quotation marks, it is the same in HTML and in JSON.
            body = said.body.replace(PICTURE, "<img src=/cat.png>").encode()
            self.send_response(said.status)
            for name, value in {"Content-Type": said.kind, **said.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    with serving(server, certificate) as url:
        host = Host(f"{url}{below}")
        yield host
