"""The charset that `new` writes into a site file: that of all pages that name none that fits, never that of a few."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import cast

import pytest

from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.site_address import place_of
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import Fetcher
from crawl_tasks.fetch.warc_records import RequestResponse
from crawl_tasks.model import Fetched, Request

RUSSIAN = "<p>Съешь ещё этих мягких французских булок, да выпей же чаю. Широкая электрификация южных губерний</p>"
META = "<meta charset={}>"
UTF8 = META.format("utf-8")
PLAIN = f"{UTF8}<p>all is ASCII here".encode()
DAMAGED = f"{UTF8}<p>the café of Zoë in Köln, à Paris".encode("latin-1")


@dataclass
class Pages:
    """The part of a fetcher that a probe uses: each address is the number of a page."""

    bodies: list[bytes]

    def recording(self) -> AbstractContextManager[list[RequestResponse]]:
        return nullcontext([])

    def crawl_delay_s(self, *_: object) -> None:
        return None

    def fetch(self, request: Request, _: FetchPolicy) -> Fetched:
        body = self.bodies[int(request.address.rpartition("/")[2])]
        return Fetched(request.address, 200, {"content-type": "text/html"}, body, 1.0)


def guessed(*bodies: bytes) -> str:
    probe = HttpProbe(
        cast("Fetcher", Pages([*bodies])), place_of("http://forum.example/").policy("x"), pace_s=0, drops_sessions=False
    )
    for number in range(len(bodies)):
        probe.page(f"http://forum.example/{number}")
    return probe.guessed_charset()


@pytest.mark.parametrize("others", [[PLAIN] * 5, [f"{UTF8}{RUSSIAN}".encode()] * 5, [PLAIN], []])
def test_one_damaged_page_chooses_no_charset(others: list[bytes]) -> None:
    assert guessed(*others, DAMAGED) == ""


def test_few_damaged_pages_among_many_that_fit_choose_no_charset() -> None:
    assert guessed(DAMAGED, DAMAGED, *[f"{UTF8}{RUSSIAN}".encode()] * 3) == ""


@pytest.mark.parametrize("claim", ["", META.format("iso-8859-1")])
def test_one_page_that_names_no_charset_that_fits_is_enough_where_nothing_is_lost(claim: str) -> None:
    assert guessed(b"<p>all is ASCII here", f"{claim}{RUSSIAN}".encode("cp1251")) == "cp1251"


def test_several_pages_that_refute_the_charset_they_name_are_enough() -> None:
    page = f"{UTF8}{RUSSIAN}".encode("cp1251")

    assert guessed(PLAIN, page, page) == "cp1251"
