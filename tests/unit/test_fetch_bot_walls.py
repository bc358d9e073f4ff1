"""Walls against robots are told from pages, and a refusal that is one is named so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawl_tasks.errors import Challenged, SlowDown
from crawl_tasks.fetch.bot_walls import SMALL, bot_wall_in
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.model import Request, Stage
from tests.frontier.small_crawl import SmallForum, small_forum


@pytest.fixture(scope="module")
def forum() -> Iterator[SmallForum]:
    with small_forum() as forum:
        yield forum


WALLS = [
    ("<html><head><title>Just a moment...</title>", "Cloudflare"),
    ("<div class='h-captcha' data-sitekey=1>", "hCaptcha"),
    ("<script src=https://www.google.com/recaptcha/api.js>", "reCAPTCHA"),
    ("<p>请完成安全验证后继续访问", "安全验证"),
    ("<script src=/.well-known/.git.gammaspectra.live/git/go-away/cmd/go-away/assets/load.mjs>", "go-away"),
    ("<title>One moment, please...</title>", "Imunify360"),
    ('<script>document.cookie="__test=1; path=/"</script>', "testcookie"),
    ("<p>Verify you are human", "Verify you are human"),
]


@pytest.mark.parametrize(("page", "name"), WALLS)
def test_a_wall_is_known_by_its_marks(page: str, name: str) -> None:
    assert bot_wall_in({}, page.encode()) == name


def test_a_wall_is_known_in_the_charset_of_chinese_forums_and_by_its_header() -> None:
    assert bot_wall_in({}, "访问过于频繁".encode("gb18030")) == "访问过于频繁"
    assert bot_wall_in({"cf-mitigated": "challenge"}, b"") == "Cloudflare"


@pytest.mark.parametrize(
    "page",
    [
        "<h1>A thread</h1><script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script>",
        "<form class=login><div class=g-recaptcha></div></form>" + "<p>a long page of a forum" * (SMALL // 20),
        "<p>hello",
        "",
    ],
)
def test_an_ordinary_page_is_no_wall(page: str) -> None:
    assert bot_wall_in({}, page.encode()) is None


@pytest.mark.parametrize(("body", "error"), [("Just a moment", SlowDown), (WALLS[0][0], Challenged)])
def test_a_503_asks_for_patience_unless_it_is_a_wall(forum: SmallForum, body: str, error: type[Exception]) -> None:
    forum.pages["/1"], forum.statuses["/1"] = body, 503
    policy = FetchPolicy("test/1.0", frozenset({forum.url[7:]}), private_hosts=frozenset({forum.url[7:]}), robots=False)

    with pytest.raises(error) as met:
        Fetcher(build_client("requests")).fetch(Request("demo", Stage.POST, "1", f"{forum.url}/1"), policy)

    assert (met.value.status, met.value.says_nothing) == (503, error is Challenged)
