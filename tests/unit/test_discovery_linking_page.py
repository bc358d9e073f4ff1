"""A front page whose links lead to the boards is read for new ones, where its other links are not taken for boards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.site_address import place_of
from crawl_tasks.discovery.proof.news_page import SELDOM_S, NewsPage, find_linking_page
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.registry.site_publisher import board_terms, terms_of
from crawl_tasks.sites.board import BoardKind
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.schema import Site
from tests.frontier.small_crawl import RULES
from tests.unit.hostile_server import HostileServer, page


@pytest.fixture
def forum() -> Iterator[HostileServer]:
    server = HostileServer()
    yield server
    server.stop()


def found(forum: HostileServer, more: str, *links: str, address: str = "/list/{board}/{page}") -> NewsPage | None:
    """Look at a front page with some links, as the site file of a forum reads them."""
    forum.routes["/"] = page("".join(f"<a href='{link}'>x</a>" for link in links).encode())
    site = site_of(forum, more, address)
    probe = HttpProbe(Fetcher(build_client("requests")), place_of(f"{forum.base}/", private=True).policy("x"), pace_s=0)
    probe.page(f"{forum.base}/")
    return find_linking_page(probe, site, (f"{forum.base}/",), None)


def site_of(forum: HostileServer, more: str, address: str) -> Site:
    rules = RULES.replace("http://127.0.0.1:1", forum.base).replace("/list/{board}/{page}", address)
    return parse_site(f"{rules}private_hosts: ['{forum.place}']\n{more}", "demo.yaml")


OTHERS = ("/", "/post/7", "/faq", "https://elsewhere.example/list/9/1")


def test_links_to_the_boards_of_the_file_are_enough(forum: HostileServer) -> None:
    page_found = found(forum, "boards: [1, 2]\n", "/list/1/1", "/list/2/1", "/list/2/2", *OTHERS)

    assert page_found == NewsPage(BoardKind.FRONT, "/", "it links 2 boards", SELDOM_S)


@pytest.mark.parametrize(
    ("more", "links", "address"),
    [
        ("boards: [1, 2]\n", ("/list/1/1", "/list/3/1"), ""),
        ("boards: [cars, bikes]\n", ("/cars/1", "/bikes/1", "/login/1", "/faq/1"), "/{board}/{page}"),
        ("boards: [{id: 1, address: /one}, {id: 2, address: /two}]\n", ("/one", "/two"), ""),
        ("boards: [front, 2]\n", ("/list/front/1", "/list/2/1"), ""),
        ("boards: [1, 2]\n", (), ""),
    ],
    ids=["other boards", "any link is a board", "no address tells the board", "a board has that name", "no links"],
)
def test_another_page_is_not_read(forum: HostileServer, more: str, links: tuple[str, ...], address: str) -> None:
    assert found(forum, more, *links, *OTHERS, **({"address": address} if address else {})) is None


def test_a_front_page_without_rules_takes_no_part_in_the_budget_for_news(forum: HostileServer) -> None:
    more = "boards: [1, 2, {id: front, kind: front, address: /%s}]\nfreshness: {goal_s: 600}\n"
    plain, seldom = (site_of(forum, more % one, "/list/{board}/{page}") for one in ("", ", interval_s: 86400"))

    assert [len(str(terms_of(site)["freshness"]).split()) for site in (plain, seldom)] == [2, 2]
    assert board_terms(plain)[2].min_ms == board_terms(plain)[0].min_ms
    assert board_terms(seldom)[2].min_ms == 86_400_000
