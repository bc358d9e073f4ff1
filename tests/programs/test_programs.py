"""Forums of common programs, crawled with what `crawl-tasks new` writes: all is stored once, equal in every field."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Items, Post
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.board import BoardKind
from crawl_tasks.sites.crawl_policy import Gate
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.schema import Site
from tests.frontier.small_crawl import SmallCrawl
from tests.programs import plain_addresses
from tests.programs.bbpress import BbPress
from tests.programs.content import Row, expected, small_forum
from tests.programs.discourse import Discourse
from tests.programs.discuz import DISCUZ
from tests.programs.flarum import Flarum
from tests.programs.flaskbb import FLASKBB
from tests.programs.fluxbb import FLUXBB
from tests.programs.hackernews import BOARDS, HackerNews
from tests.programs.host import Host, Make, served
from tests.programs.invision import INVISION
from tests.programs.lobsters import Lobsters
from tests.programs.misago import MISAGO
from tests.programs.mybb import MYBB
from tests.programs.nodebb import NODEBB
from tests.programs.phpbb import PHPBB
from tests.programs.punbb import PUNBB
from tests.programs.smf import OldSmf, Smf
from tests.programs.subsilver import PHPBB2
from tests.programs.vbseo import VbSeo
from tests.programs.vbulletin4 import VBulletin4
from tests.programs.vbulletin5 import VBulletin5
from tests.programs.wordpress import WordPress
from tests.programs.xenforo import XenForo
from tests.unit.command_line import run

MOST_PAGES = 40
"""What `new` and `try` may ask for together, robots.txt and redirects included."""

CONTENT = small_forum()
FRONTS = {"discourse": "/site.json", "flarum": "/api/tags"} | dict.fromkeys(
    (
        "smf", "vbulletin4", "xenforo", "phpbb", "phpbb2", "invision", "mybb", "discuz", "nodebb", "fluxbb", "punbb", "bbpress", "hackernews",
        "flaskbb", "misago",
    ),
    "/",
)  # fmt: skip
"""The pages of programs that count the posts of every board, or link them."""
QUICK = Gate(window=50, delay_s=0, retry_base_s=0.1)


@dataclass(frozen=True)
class Case:
    """One program as it is shown.

    `lists` finds the addresses of list pages, `news` is the page of all news, `redirects` counts those of a first crawl; without `shows_parents` no page
    tells what a reply answers; `board` gives the number of a board from its id, `comment` that of a post from a topic's
    number and a comment's id. `front_at` is another front page than that of FRONTS, without `has_front` there is none.
    """

    engine: str
    make: Make
    board: Callable[[str], int] = int
    comment: Callable[[int, str], int] = lambda _, one: int(one)
    lists: str = ""
    news: str = ""
    redirects: int = 0
    below: str = ""
    shows_parents: bool = True
    front_at: str = ""
    has_front: bool = True

    @property
    def front(self) -> str:
        """Return the front page where `new` takes it, in place of a page of all news or beside it."""
        if not self.has_front:
            return ""
        if self.engine == "smf" and self.below:
            return "/index.php"
        return self.front_at or FRONTS.get(self.engine, "")


def by_slug(slug: str) -> int:
    return next(one.number for one in CONTENT.boards if one.slug == slug)


def by_place(topic: int, place: str) -> int:
    return CONTENT.visible[topic].said[int(place) - 1].number


FLARUM_NEWS = "/api/discussions?sort=-lastPostedAt&include=user&page[limit]=20"

CASES = {
    "discourse": Case("discourse", Discourse, comment=by_place, lists=r"^/latest\.json", news="/latest.json"),
    "discourse, older, with 10 topics a page": Case(
        "discourse",
        lambda content: Discourse(content, 10, has_site=False),
        comment=by_place,
        lists=r"^/latest\.json",
        news="/latest.json",
        front_at="/categories.json?include_subcategories=true",
    ),
    "discourse, with topics too long to list their posts": Case(
        "discourse",
        lambda content: Discourse(content, mega=30),
        comment=by_place,
        lists=r"^/latest\.json",
        news="/latest.json",
    ),
    "flarum": Case("flarum", Flarum, board=by_slug, lists="^/api/discussions", news=FLARUM_NEWS),
    "smf": Case("smf", Smf, lists="[?]board="),
    "smf, with 10 topics and 7 posts a page": Case("smf", lambda content: Smf(content, 10, 7), lists="[?]board="),
    "smf 2.0": Case("smf", OldSmf, lists="[?]board="),
    "smf 2.0, with 30 topics and 25 posts a page": Case(
        "smf", lambda content: OldSmf(content, 30, 25), lists="[?]board="
    ),
    "xenforo": Case("xenforo", XenForo, lists="^/(forums|whats-new)/", redirects=1, news="/whats-new/posts/"),
    "xenforo, with 15 threads and 6 posts a page": Case(
        "xenforo",
        lambda content: XenForo(content, 15, 6),
        lists="^/(forums|whats-new)/",
        redirects=1,
        news="/whats-new/posts/",
    ),
    "bbpress": Case("bbpress", BbPress, board=by_slug, lists="^/forums/forum/", shows_parents=False),
    "bbpress, as a tree": Case(
        "bbpress", lambda content: BbPress(content, is_tree=True), board=by_slug, lists="^/forums/forum/"
    ),
    "vbulletin 4": Case("vbulletin4", VBulletin4, lists=r"^/forumdisplay\.php"),
    "vbulletin 4, addresses of words": Case(
        "vbulletin4", VbSeo, board=by_slug, lists="^/[a-z]+/(index|$)", redirects=8, has_front=False
    ),
    "vbulletin 5": Case(
        "vbulletin5",
        VBulletin5,
        board=by_slug,
        lists=r"^/forum/(general|general/talk|nobody)(/page\d+)?$",
        shows_parents=False,
    ),
    "wordpress": Case("wordpress", WordPress, board=lambda _: 0, lists=r"^/wp-json/wp/v2/(posts|comments)\?page=\d&"),
    "hacker news": Case("hackernews", HackerNews, board=BOARDS.__getitem__, lists="^/(newest|ask|show)"),
    "lobsters": Case("lobsters", Lobsters, board=by_slug, lists="^/t/"),
    "phpbb": Case("phpbb", PHPBB.shown, lists=r"^/viewforum\.php"),
    "phpbb 2": Case("phpbb2", PHPBB2.shown, lists=r"^/viewforum\.php", shows_parents=False),
    "invision": Case("invision", INVISION.shown, lists="^/forum/", shows_parents=False),
    "mybb": Case("mybb", MYBB.shown, lists=r"^/forumdisplay\.php"),
    "discuz": Case("discuz", DISCUZ.shown, lists="^/forum-"),
    "discuz, no addresses rewritten": Case("discuz", plain_addresses.discuz, lists="mod=forumdisplay"),
    "xenforo, no addresses rewritten": Case(
        "xenforo",
        plain_addresses.xenforo,
        lists="[?](forums|whats-new)/",
        redirects=1,
        news="/index.php?whats-new/posts/",
    ),
    "nodebb": Case("nodebb", NODEBB.shown, lists="^/category/"),
    "fluxbb": Case("fluxbb", FLUXBB.shown, lists=r"^/viewforum\.php", shows_parents=False),
    "punbb": Case("punbb", PUNBB.shown, lists=r"^/viewforum\.php", shows_parents=False),
    "flaskbb": Case("flaskbb", FLASKBB.shown, lists="^/forum/", shows_parents=False),
    "misago": Case("misago", MISAGO.shown, lists="^/c/", shows_parents=False),
} | {
    f"{name}, below a path": replace(case, below="/community", lists=case.lists.replace("^/", "^/community/"))
    for name, case in (
        ("discourse", Case("discourse", Discourse, comment=by_place, lists=r"^/latest\.json", news="/latest.json")),
        ("flarum", Case("flarum", Flarum, board=by_slug, lists="^/api/discussions", news=FLARUM_NEWS)),
        ("smf", Case("smf", Smf, lists="[?]board=")),
        ("xenforo", Case("xenforo", XenForo, lists="^/(forums|whats-new)/", redirects=1, news="/whats-new/posts/")),
    )
}
EACH = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def stored(items: list[Items], case: Case) -> tuple[dict[tuple[int, int], Row], Counter[tuple[int, int]]]:
    """Return what came to be stored, as the truth has it, and how often each came."""
    rows: dict[tuple[int, int], Row] = {}
    count: Counter[tuple[int, int]] = Counter()
    posts = [
        one for page in items for one in page.posts if one.is_page or one.body is not None or one.state == "deleted"
    ]
    comments = [one for page in items for one in page.comments]
    for post in posts:
        rows[int(post.post_id), 0] = row_of(post, case)
        count[int(post.post_id), 0] += 1
    for one in comments:
        topic = int(one.post_id)
        parent = case.comment(topic, one.parent_id) if one.parent_id else None
        place = topic, case.comment(topic, one.comment_id)
        rows[place] = Row(one.author or "", one.created_at or 0, one.body or "", parent=parent)
        count[place] += 1
    return rows, count


def row_of(post: Post, case: Case) -> Row:
    board = CONTENT.visible[int(post.post_id)].board if post.forum_id is None else case.board(post.forum_id)
    return Row(post.author or "", post.created_at or 0, post.body or "", post.title or "", board)


def found_by_new(host: Host, case: Case, home: Path) -> Site:
    result = run("new", host.url, "--name", "demo", home=home)
    assert result.exit_code == Exit.OK, result.output
    assert ": certain (" in result.stderr, result.stderr
    site = load_site(home / "sites" / "demo.yaml")
    boards = {0} if case.engine == "wordpress" else {1, 2, 3}
    found = {case.board(one.id) for one in site.boards if one.kind is BoardKind.LIST}
    assert (site.engine, found) == (case.engine, boards), result.stderr
    assert [one.address for one in site.boards if one.kind is BoardKind.NEWS] == [case.news][: bool(case.news)]
    assert [one.address for one in site.boards if one.kind is BoardKind.FRONT] == [case.front][: bool(case.front)]
    return site


@EACH
def test_new_try_and_a_crawl_need_nothing_but_the_address(
    case: Case, client: redis.Redis, frontier: Frontier, tmp_path: Path
) -> None:
    with served(case.make(CONTENT), case.below) as host:
        site = found_by_new(host, case, tmp_path)
        tried = run("try", "demo", home=tmp_path)
        assert tried.exit_code == Exit.OK, tried.output
        survey = host.log[:]
        crawl = SmallCrawl(client, frontier, host)
        interval = site.interval.model_copy(update={"full_pass_s": 86400.0})
        publish_site(frontier, site.model_copy(update={"gate": QUICK, "interval": interval}), contact=None)

        host.log.clear()
        crawl.scan()
        first, items = host.log[:], crawl.items()
        host.log.clear()
        crawl.scan()
        second = host.log[:]
        crawl.items()
        crawl.full_pass()
        again, _ = stored(crawl.items(), case)

    rows, count = stored(items, case)
    truth = expected(CONTENT)
    if case.engine == "wordpress":
        truth = {place: replace(row, board=row.board and rows[place].board) for place, row in truth.items()}
    if not case.shows_parents:
        truth = {place: replace(row, parent=None) for place, row in truth.items()}
    assert rows == truth
    assert again == {place: row for place, row in truth.items() if place in again}
    assert again.keys() == truth.keys()
    assert max(count.values()) == 1
    assert not [one for one in (*first, *second) if one.status >= 400]
    assert len(survey) <= MOST_PAGES
    assert max(Counter(one.path for one in first).values()) == 1
    assert sum(300 <= one.status < 400 for one in first) == case.redirects
    others = [one.path for one in second if not re.search(case.lists, one.path)]
    assert others == [f"{case.below}{case.front}"][: bool(case.front)]
