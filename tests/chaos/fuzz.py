"""Rows i: addresses, pages and start entries that nobody meant; nothing may escape but the errors that are named."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import redis

from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.errors import CrawlError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Fetched, Request, Stage
from crawl_tasks.parse.site_parser import compile_parser
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.schedule.start_requests import StartRequests
from crawl_tasks.sites.loader import load_site
from crawl_tasks.urls import normalize
from tests.chaos.rows import Row, Scale
from tests.flow.world import ROOT

GOAL = "0 unhandled errors"
PIECES = (
    *("http://", "https:", "//", "/", "\\", "?", "#", "@", ":", "[::1]", "[", "]", "%00", "%2e%2e/", "..", "%", "%zz"),
    *("127.0.0.1", "0x7f.1", "2130706433", "例え.jp", "xn--", "xn--a", ".", "..", ":0", ":99999", ":٣", "user:pw@"),
    *("\x00", "\r\n", "\t", " ", "\ud800", "\u202e", "\ufeff", "é", "ß", "İ", "𝒽", "a" * 300, "javascript:", "data:,"),
    *("&amp;", ";", "=", "+", "<", ">", '"', "'", "{", "|", "~", "1", "page=", "sid=0123456789abcdef0123456789abcdef"),
)
MARKS = (b"<div", b"</div>", b"<table>", b"<!--", b"-->", b"<script>", b'"', b">", b"<", b"\x00", b"\xff\xfe", b"&#0;")
JUNK = (
    b"{",
    b"null",
    b"5",
    b"[]",
    b'{"post":',
    b"\xff",
    b'{"url": []}',
    b'{"site": "nobody", "post": "1"}',
    b"[" * 9000,
)


class Tally:
    """Counts tries, what escaped, and the longest of them."""

    def __init__(self) -> None:
        self.tries, self.refused, self.worst_ms = 0, 0, 0.0
        self.faults: list[str] = []

    def one(self, what: object, work: Callable[[], object]) -> None:
        """Try once."""
        self.tries += 1
        began = time.perf_counter()
        try:
            work()
        except CrawlError:
            self.refused += 1
        except Exception as error:  # noqa: BLE001 (this is what is looked for)
            self.faults.append(f"{type(error).__name__}: {error}: {what!r}"[:300])
        self.worst_ms = max(self.worst_ms, (time.perf_counter() - began) * 1000)

    def row(self, figure: str) -> Row:
        """Sum up."""
        size = f"{self.tries:,}, of which {self.refused:,} were refused"
        result = f"{len(self.faults)} unhandled errors; the longest took {self.worst_ms:.0f} ms"
        return Row(figure, size, result, GOAL, tuple(self.faults[:10]))


def run(scale: Scale, seed: int) -> list[Row]:
    """Try what nobody meant."""
    chance = random.Random(seed)
    return [_urls(chance, scale.urls), _pages(chance, scale.pages), _entries(chance, scale.messages)]


def _urls(chance: random.Random, count: int) -> Row:
    tally = Tally()
    for _ in range(count):
        start = chance.choice(("http://forum.example.org/", "https://例え.jp/a?b=", ""))
        text = start + "".join(chance.choices(PIECES, k=chance.randint(1, 12)))
        tally.one(text, lambda text=text: _is_stable(text))
    return tally.row("random addresses, normalised twice")


def _is_stable(text: str) -> None:
    once = normalize(text)
    if normalize(once) != once:
        raise AssertionError(f"{once!r} is not normal")


def _pages(chance: random.Random, count: int) -> Row:
    tally = Tally()
    site = load_site(ROOT / "config" / "sites" / "demo.yaml")
    parser = compile_parser(site)
    samples = list(_samples())
    for _ in range(count):
        request, page = chance.choice(samples)
        spoilt = page._replace(body=_spoil(chance, page.body))
        tally.one(request.address, lambda request=request, spoilt=spoilt: parser.parse(request, spoilt, 0))
    return tally.row("mutated list, post and comment pages, parsed")


def _samples() -> Iterator[tuple[Request, Fetched]]:
    forum = DemoForum(1)
    posts = [row.post_id for row in forum.truth().posts if row.state == "normal" and row.pages > 1][:8]
    wanted = [(Stage.LIST, str(board), 1) for board in (1, 2, 3, 4)]
    wanted += [(Stage.POST, post, 1) for post in posts] + [(Stage.COMMENT, post, 2) for post in posts]
    for stage, key, page in wanted:
        path = f"/{stage}/{key}" + ("" if stage is Stage.POST else f"/{page}")
        answer = forum.render(path)
        yield (
            Request("demo", stage, key, f"http://127.0.0.1:8765{path}", page=page),
            Fetched(f"http://127.0.0.1:8765{path}", 200, answer.headers, answer.body, time.time(), 1, 1),
        )


def _spoil(chance: random.Random, body: bytes) -> bytes:
    spoilt = bytearray(body)
    for _ in range(chance.randint(1, 20)):
        at, length = chance.randrange(len(spoilt) + 1), chance.choice((1, 3, 40, 2000))
        match chance.randrange(4):
            case 0:
                del spoilt[at : at + length]
            case 1:
                spoilt[at:at] = chance.choice(MARKS) * chance.choice((1, 1, 1, 400))
            case 2:
                spoilt[at:at] = spoilt[at : at + length]
            case _:
                spoilt[at : at + length] = chance.randbytes(min(length, 8))
    return bytes(spoilt)


def _entries(chance: random.Random, count: int) -> Row:
    tally = Tally()
    with (
        TemporaryDirectory(prefix="crawl-chaos-") as name,
        RedisServer(Path(name) / "redis") as server,
        redis.Redis.from_url(server.url) as client,
    ):
        frontier = Frontier(client, "crawl")
        site = load_site(ROOT / "config" / "sites" / "demo.yaml")
        gate = site.gate.model_copy(update={"max_backlog": 1_000_000})
        publish_site(frontier, site.model_copy(update={"gate": gate}), contact=None)
        inbox = StartRequests(frontier, "crawl:start")
        for start in range(0, count, 1000):
            entries = [_entry(chance) for _ in range(min(1000, count - start))]
            client.lpush("crawl:start", *entries)
            client.lpush("crawl:start:demo", *entries)
            tally.one("a thousand entries, twice", inbox.drain)
        counted = {key.decode(): int(value) for key, value in client.hgetall("crawl:starts").items()}
        left = client.llen("crawl:start") + client.llen("crawl:start:demo") + client.hlen("crawl:claimed")
        settled = sum(counted.get(key, 0) for key in ("new", "known", "refused"))
        if left or settled != 2 * count:
            tally.faults.append(f"{settled} of {2 * count} entries were settled, {left} are left: {counted}")
        if imbalance := Inspector(frontier).count_requests("demo").imbalance():
            tally.faults.append(imbalance)
        tally.tries, tally.refused = 2 * count, counted.get("refused", 0)
    return tally.row("random start entries pushed to Redis, drained a thousand at a time")


def _entry(chance: random.Random) -> bytes:
    match chance.randrange(4):
        case 0:
            return chance.choice(JUNK)
        case 1:
            return chance.randbytes(chance.randint(0, 60))
        case 2:
            return "".join(chance.choices(PIECES, k=5)).encode("utf-8", "surrogatepass")
    values: list[object] = [
        1,
        -1,
        1e400,
        "7",
        "x" * 300,
        None,
        [],
        {},
        True,
        "../..",
        10**400 if chance.random() < 0.1 else 3,
    ]
    names = ("site", "board", "post", "url", "stage", "page", "priority", "revision", "task", "eta")
    entry = {name: chance.choice(values) for name in chance.sample(names, chance.randint(0, 3))}
    if chance.random() < 0.7:
        entry |= {"site": "demo", "post": str(chance.randrange(10**6))}
    return json.dumps(entry).encode()
