"""Whatever comes, a page gives items or a PageError; and threads may share a parser."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from random import Random

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.errors import PageError
from crawl_tasks.frontier.outbox import read_items
from crawl_tasks.model import Fetched, Parsed, Request, Stage
from crawl_tasks.parse.site_parser import SiteParser, compile_parser
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.loader import load_site
from tests.unit.heavy_markup import HEAVY

FILE = Path(__file__).parents[2] / "config" / "sites" / "demo.yaml"


@cache
def parser() -> SiteParser:
    return compile_parser(load_site(FILE))


@cache
def samples() -> tuple[tuple[Request, Fetched], ...]:
    """Return a list page, a post page and a comment page."""
    forum, addresses = DemoForum(seed=2), Addresses(parser().site)
    found: dict[Stage, tuple[Request, Fetched]] = {}
    for path in forum.truth().paths:
        target = addresses.read(parser().site.base + path)
        answer = forum.render(path)
        if target is not None and answer.status == 200:
            request = Request("demo", target.stage, target.key, parser().site.base + path, target.page)
            found[target.stage] = (request, Fetched(request.address, 200, answer.headers, answer.body, 1.7e9))
    return tuple(found.values())


def outcome(request: Request, page: Fetched, body: bytes, headers: dict[str, str] | None = None) -> Parsed | str:
    try:
        return parser().parse(request, Fetched(page.url, 200, headers or page.headers, body, page.at_s), 0)
    except PageError as error:
        return str(error)


TRAIL = ["1", '1 post 5 1 http://f/9 ["9",1,""]']
"""What a commit adds to the items."""


def assert_sound(found: Parsed | str, body: bytes) -> None:
    """It is a complaint of a line or two, or items that a wire can carry and that are no larger than their page."""
    if isinstance(found, str):
        assert 0 < len(found) < 500
        return
    sent = orjson.dumps((*found.items[:5], (), "v", TRAIL), default=tuple)
    assert read_items(sent)[:5] == found.items[:5]
    assert len(sent) < 6 * len(body) + 1000  # an escaped character takes six


@settings(deadline=None)
@given(
    body=st.binary(max_size=2000) | st.text(max_size=500).map(lambda text: text.encode("utf-8", "surrogatepass")),
    which=st.integers(0, 2),
    charset=st.sampled_from(["", "; charset=utf-8", "; charset=gb18030", "; charset=utf-16", "; charset=x"]),
)
def test_random_bytes_give_a_result_or_a_page_error(body: bytes, which: int, charset: str) -> None:
    request, page = samples()[which]

    assert_sound(outcome(request, page, body, {"content-type": f"text/html{charset}"}), body)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_damaged_pages_give_a_result_or_a_page_error(which: int) -> None:
    random = Random(which)
    request, page = samples()[which]

    for _ in range(60):
        body = bytearray(page.body)
        for _ in range(random.randint(1, 100)):
            body[random.randrange(len(body))] = random.choice(b"<>\"'=/& \x00\xff0aZ")
        start = random.randrange(len(body))
        found = outcome(request, page, bytes(body[: start if random.random() < 0.3 else None]))
        assert_sound(found, page.body)
        assert isinstance(found, str) or all(one.comment_id for one in found.items.comments)


@pytest.mark.timeout(60)  # what takes a second here takes two minutes and more in quadratic time
@pytest.mark.parametrize(
    "body",
    HEAVY.values(),
    ids=HEAVY.keys(),
)
def test_hostile_pages_end_well_and_soon(body: bytes) -> None:
    for request, page in samples():
        assert_sound(outcome(request, page, body), body)


def test_the_number_of_pages_a_post_can_claim_is_limited() -> None:
    request, page = next(one for one in samples() if one[0].stage is Stage.POST)
    post = b"<article class=post><h1 class=title>x</h1><div class=body>x</div></article>"
    body = post + b"<nav class=pager data-pages=99999999>"

    found = outcome(request, page, body)

    assert isinstance(found, Parsed)
    assert len(found.children) <= 10_000


def test_threads_may_share_a_parser() -> None:
    alone = [outcome(request, page, page.body) for request, page in samples()]

    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(outcome, request, page, page.body) for _ in range(20) for request, page in samples()]
        found = [job.result() for job in jobs]

    assert found == alone * 20
