"""A web server on loopback that shows a forum as one program does, and notes what it was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import responses
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.programs.content import PICTURE, Content
from tests.unit.hostile_server import HostileServer, Visit


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

    def answer(visit: Visit) -> None:
        where = urlsplit(visit.target)
        if where.path == "/robots.txt":
            said = Answer(robots, kind="text/plain")
        elif where.path.startswith(f"{below}/") or where.path == below:
            query = dict(parse_qsl(where.query.replace(";", "&"), keep_blank_values=True))
            said = program.answer(Ask(unquote(where.path[len(below) :]) or "/", query, host.url))
        else:
            said = Answer("not here", 404)
        host.log.append(Asked(visit.target, said.status))
        # Without quotation marks, it is the same in HTML and in JSON.
        body = said.body.replace(PICTURE, "<img src=/cat.png>").encode()
        visit.reply(body, f"{said.status} {responses[said.status]}", **{"Content-Type": said.kind, **said.headers})

    server = HostileServer({"/robots.txt": answer}, otherwise=answer, port=port, certificate=certificate)
    host = Host(f"{server.base}{below}")
    try:
        yield host
    finally:
        server.stop()
