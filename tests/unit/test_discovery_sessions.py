"""Session ids in links: `new` leaves them out, and says so in the site file."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import cast

import pytest

from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.site_address import place_of
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import Fetcher
from crawl_tasks.fetch.warc_records import RequestResponse
from crawl_tasks.model import Fetched, Request
from tests.unit.pages import answer, ask

ID = "63bd0607a17863da3fea9763dd7567e5"
OTHER = "0" * 32


@dataclass
class OnePage:
    """The part of a fetcher that a probe uses, with one page behind each address."""

    body: str
    asked: list[str] = field(default_factory=list)

    def recording(self) -> AbstractContextManager[list[RequestResponse]]:
        return nullcontext([])

    def fetch(self, request: Request, _: FetchPolicy) -> Fetched:
        self.asked.append(request.address)
        return answer(ask(request.stage), self.body)


def probed(body: str, *, drops: bool = True) -> tuple[str, set[str]]:
    probe = HttpProbe(
        cast("Fetcher", OnePage(body)), place_of("http://forum.example/").policy("x"), pace_s=0, drops_sessions=drops
    )
    return probe.page("https://forum.example/").body.decode(), probe.sessions


@pytest.mark.parametrize(
    ("link", "left"),
    [
        (f"/index.php?sid={ID}", "/index.php"),
        (f"/topic.php?sid={ID}&amp;t=5", "/topic.php?t=5"),
        (f"/topic.php?sid={ID}&t=5#7", "/topic.php?t=5#7"),
        (f"/topic.php?t=5&amp;sid={ID}&amp;start=15", "/topic.php?t=5&amp;start=15"),
        (f"/topic.php?t=5;sid={ID};start=15", "/topic.php?t=5;start=15"),
        (f"/topic.php;sid={ID}?t=5", "/topic.php?t=5"),
        (f"/topic.php?t=5&sid={ID}#p7", "/topic.php?t=5#p7"),
    ],
)
def test_a_session_in_three_links_is_left_out_of_all(link: str, left: str) -> None:
    body = "".join(f'<a href="{one}">' for one in (link, f"/a?sid={ID}", f"/b?sid={ID}"))

    shown, names = probed(body)

    assert names == {"sid"}
    assert shown == "".join(f'<a href="{one}">' for one in (left, "/a", "/b"))
    assert probed(body, drops=False) == (body, set())


def test_a_session_of_php_is_known_by_its_name() -> None:
    body = 3 * "<a href='/t?PHPSESSID=k3q9b7d2m1n4p5r6s8t0u2v4w6&amp;topic=1.0'>"

    assert probed(body) == (3 * "<a href='/t?topic=1.0'>", {"PHPSESSID"})


def test_a_session_of_java_stands_in_the_path() -> None:
    body = "".join(f"<a href='/posts/{at}.page;jsessionid={ID.upper()}?order=1'>" for at in range(3))

    assert probed(body) == ("".join(f"<a href='/posts/{at}.page?order=1'>" for at in range(3)), {"jsessionid"})


@pytest.mark.parametrize(
    "body",
    [
        f"<a href='/t?sid={ID}'><a href='/u?sid={ID}'><a href='/v?sid={OTHER}'>",
        f"<a href='/t/{ID}'>" * 3,
        "<a href='/t?id=12345678901234567890'>" * 3,
        f"<a href='/file?hash={ID}f0'>" * 3,
    ],
)
def test_what_differs_or_is_no_session_stays(body: str) -> None:
    assert probed(body) == (body, set())
