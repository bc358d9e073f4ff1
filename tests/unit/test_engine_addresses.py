"""The presets' addresses: whatever the spelling, one topic is one post, and a page of it is that page."""

from __future__ import annotations

from functools import lru_cache

import pytest

from crawl_tasks.model import Stage
from tests.unit.pages import BASE
from tests.unit.presets import Preset

LATEST = "/latest.json?category=4&no_subcategories=true"
POSTS = "/api/posts?filter[discussion]=12&filter[type]=comment&include=user,discussion&sort=number&page[limit]=20"
POST, PAGE_2, LIST, LIST_3 = ("post", "12", 1), ("comment", "12", 2), ("list", "4", 1), ("list", "4", 3)
NAMES = {
    "discourse": {
        "/t/12": POST, "/t/12.json": POST, "/t/some-title/12": POST, "/t/some-title/12/7": POST, "/t/12/7": POST,
        "/t/2024-in-review/12?u=ann#reply": POST, "/t/some-title/12.json?page=1": POST, "/t/-/12?page=2": PAGE_2,
        "/t/12.json?page=2": PAGE_2, "/t/some-title/12?page=2&u=ann": PAGE_2, "/c/support/sub/4": LIST,
        "/c/4/l/latest.json": LIST, "/c/support/4/none?page=2": LIST_3, LATEST: LIST, f"{LATEST}&page=2": LIST_3,
        "/u/ann/12": None, "/t/some-title": None,
    },
    "flarum": {
        "/d/12": POST, "/d/12-some-title": POST, "/d/12-some-title/45": POST, "/d/12?near=4": POST, POSTS: POST,
        "/api/discussions/12": POST, f"{POSTS}&page[offset]=20": PAGE_2, "/t/4": LIST, "/t/4?sort=newest": LIST,
        "/api/discussions?filter[tag]=4&include=user&page[limit]=20&page[offset]=40": LIST_3, "/u/ann": None,
    },
    "lobsters": {
        "/s/12": POST, "/s/12.json": POST, "/s/12/some_title": POST, "/s/12/some_title#c_ab": POST, "/t/4": LIST,
        "/t/4.json": LIST, "/t/4.rss": LIST, "/t/4/page/3": LIST_3, "/t/4/page/3.json": LIST_3, "/~ann": None,
    },
    "hackernews": {
        "/item?id=12": POST, "/item?id=12#13": POST, "/item?goto=news&id=12": POST, "/item?id=12&p=2": PAGE_2,
        "/news": ("list", "news", 1), "/news?p=3": ("list", "news", 3), "/newest?next=9&n=31": ("list", "newest", 1),
        "/user?id=ann": None,
    },
    "wordpress": {
        "/?p=12": POST, "/index.php?p=12": POST, "/?lang=en&p=12#comment-3": POST, "/wp-json/wp/v2/posts/12": POST,
        "/wp-json/wp/v2/comments?post=12&order=asc&per_page=100&page=2": PAGE_2,
        "/wp-json/wp/v2/comments?page=3&per_page=50&_embed=author": ("list", "comments", 3), "/2024/06/title/": None,
    },
    "bbpress": {
        "/?post_type=topic&p=12": POST, "/?p=12": POST, "/forums/forum/4/": LIST, "/forums/forum/above/4/": LIST,
        "/forum/above/4/page/3/": LIST_3, "/?forum=4": LIST, "/?forum=4&paged=3": LIST_3, "/forums/topic/words/": None,
        "/forum/topic/words/": None, "/forums/users/ann/": None,
    },
    "misago": {
        "/t/some-title/12/": POST, "/t/some-title/12/last/": POST, "/t/some-title/12/post/9/": POST,
        "/t/-/12/2/": PAGE_2, "/c/general/4/": LIST, "/c/general/4/?start=389": LIST, "/u/ann/12/": None,
    },
    "flaskbb": {
        "/topic/12": POST, "/topic/12-some-title": POST, "/topic/12-some-title?page=1": POST, "/topic/12#pid7": POST,
        "/topic/12-some-title?page=2": PAGE_2, "/topic/12?page=2#pid7": PAGE_2, "/forum/4-general": LIST,
        "/forum/4": LIST, "/forum/4-general?page=3": LIST_3, "/user/ann": None,
    },
    "phpbb2": {
        "/viewtopic.php?t=12": POST, "/viewtopic.php?t=12&postdays=0&postorder=asc&start=0": POST,
        "/a-title-t12.html": POST,
        "/viewtopic.php?p=7#7": ("post", "p=7", 1), "/viewtopic.php?t=12&start=15": PAGE_2,
        "/a-title-t12-15.html": PAGE_2,
        "/topic12.html": POST, "/viewtopic-12.html": POST, "/viewforum.php?f=4": LIST, "/board-f4.html": LIST,
        "/viewforum.php?f=4&topicdays=0&start=100": LIST_3, "/board-f4-100.html": LIST_3, "/forum4.html": LIST,
        "/profile.php?mode=viewprofile&u=12": None,
    },
    "phpbb": {
        "/viewtopic.php?f=4&t=12": POST, "/a-title-t12.html": POST, "/board-f4/a-title-t12.html": POST,
        "/topic12.html": POST,
        "/viewtopic.php?f=4&t=12&start=10": PAGE_2, "/a-title-t12-10.html": PAGE_2, "/topic12-10.html": PAGE_2,
        "/board-f4.html": LIST, "/board-f4/": LIST, "/board-f4-50.html": LIST_3, "/forum4-50.html": LIST_3,
        "/membre12.html": None, "/post12.html": None,
    },
    "vbulletin3": {
        "/showthread.php?t=12": POST, "/showthread.php?t=12&page=2": PAGE_2,
        "/forumdisplay.php?f=4&order=desc&page=3": LIST_3,
        "/general/12-a-title.html": POST, "/12-a-title.html": POST, "/t12-a-title.html": POST, "/thread12.html": POST,
        "/general/12-a-title-2.html": PAGE_2, "/thread12-2.html": PAGE_2, "/a-title-t12.html": POST,
        "/a-title-t12-2.html": PAGE_2, "/f4-general.html": LIST, "/f4-general/": LIST, "/f4/": LIST, "/forum4/": LIST,
        "/f4-general-3.html": LIST_3, "/f4/index3.html": LIST_3, "/4-general/": LIST, "/4-general/index3.html": LIST_3,
        "/705474-post1.html": None, "/general/": None, "/members/12-ann.html": None, "/blogs/12-ann/": None,
        "/groups/12-name-2.html": None, "/members/12-ann/": None,
    },
    "xenforo": {
        "/threads/12/": POST, "/threads/some-title.12/": POST, "/threads/some-title.12": POST,
        "/threads/some-title.12/latest": POST, "/threads/some-title.12/unread": POST, "/threads/12/page-1": POST,
        "/threads/some-title.12/post-99#post-99": POST, "/index.php?threads/some-title.12/": POST,
        "/threads/v2.5-is-out.12/page-2": PAGE_2, "/threads/some-title.12/page-2#post-9": PAGE_2, "/forums/4/": LIST,
        "/forums/general.4/": LIST, "/forums/general.4/page-3?order=reply_count": LIST_3, "/members/ann.12/": None,
    },
    "vbulletin4": {
        "/showthread.php?t=12": POST, "/showthread.php?12-Some-title": POST, "/showthread.php/12-Some-title": POST,
        "/threads/12-Some-title": POST, "/showthread.php?s=aa11&t=12&p=99#post99": POST,
        "/showthread.php?t=12&goto=newpost": POST, "/showthread.php?t=12&page=1": POST,
        "/showthread.php?t=12&page=2": PAGE_2, "/showthread.php?12-Some-title/page2": PAGE_2,
        "/threads/12-Some-title/page2": PAGE_2, "/forumdisplay.php?f=4": LIST, "/forumdisplay.php?4-General": LIST,
        "/forums/4-General/page3": LIST_3, "/forumdisplay.php?f=4&order=desc&page=3": LIST_3,
        "/member.php?u=12": None,
    },
    "vbulletin5": {
        "/forum/general/12-some-title": POST, "/forum/general/talk/12-some-title#post9": POST,
        "/forum/general/12-some-title?view=thread": POST, "/forum/general/12-some-title/page2": PAGE_2,
        "/forum/general": None,
    },
    "fluxbb": {
        "/viewtopic.php?id=12": POST, "/viewtopic.php?id=12&action=last": POST, "/viewtopic.php?id=12&p=1": POST,
        "/viewtopic.php?pid=99#p99": ("post", "pid=99", 1), "/viewtopic.php?id=12&p=2": PAGE_2,
        "/viewforum.php?id=4": LIST, "/viewforum.php?id=4&p=3": LIST_3, "/profile.php?id=12": None,
    },
    "punbb": {
        "/viewtopic.php?id=12": POST, "/viewtopic.php?id=12&p=1": POST, "/topic12.html": POST,
        "/topic12-some-title.html": POST, "/topic/12/": POST, "/topic/12/some-title/": POST,
        "/viewtopic.php?pid=99#p99": ("post", "pid=99", 1), "/viewtopic.php?id=12&p=2": PAGE_2,
        "/topic12-p2.html": PAGE_2, "/topic12-some-title-p2.html": PAGE_2, "/topic/12/page/2/": PAGE_2,
        "/topic/12/some-title/page/2/": PAGE_2, "/viewforum.php?id=4": LIST, "/forum4.html": LIST,
        "/forum4-general.html": LIST, "/forum/4/": LIST, "/forum/4/general/": LIST, "/forum4-p3.html": LIST_3,
        "/forum4-general-p3.html": LIST_3, "/forum/4/general/page/3/": LIST_3, "/user/12/": None,
    },
    "smf": {
        "/index.php?topic=12.0": POST, "/index.php?topic=12": POST, "/index.php?topic=12.msg99#msg99": POST,
        "/index.php?topic=12.new;topicseen#new": POST, "/index.php?PHPSESSID=aa11&topic=12.0": POST,
        "/index.php/topic,12.0.html": POST, "/index.php?topic=12.15": PAGE_2, "/index.php/topic,12.15.html": PAGE_2,
        "/index.php?board=4.0": LIST, "/index.php?board=4.40": LIST_3, "/index.php/board,4.40.html": LIST_3,
        "/index.php?action=profile;u=12": None,
    },
}  # fmt: skip


@lru_cache
def known(engine: str) -> Preset:
    return Preset(engine)


@pytest.mark.parametrize(
    ("engine", "address", "named"), [(engine, *pair) for engine, table in NAMES.items() for pair in table.items()]
)
def test_an_address_names_one_page_of_one_topic(engine: str, address: str, named: tuple[str, str, int] | None) -> None:
    assert known(engine).named(address) == named


# vBulletin 5 has no address to make, nor have bbPress and Misago of later list pages; a story of Lobsters has one page.
@pytest.mark.parametrize("engine", sorted(set(NAMES) - {"vbulletin5", "bbpress", "lobsters", "misago"}))
@pytest.mark.parametrize(
    ("stage", "key", "page"),
    [(Stage.LIST, "{board}", 1), (Stage.LIST, "{board}", 3), (Stage.POST, "12", 1), (Stage.COMMENT, "12", 2)],
)
def test_an_address_that_is_made_is_read_back(engine: str, stage: Stage, key: str, page: int) -> None:
    preset = known(engine)
    name = key.format(board={"wordpress": "posts", "hackernews": "news"}.get(engine, "4"))
    shown = 1 if (engine, stage) == ("hackernews", Stage.LIST) else page  # its lists are walked by links

    address = preset.addresses.of(stage, name, page)

    assert address is not None
    assert address.startswith(BASE)
    assert preset.named(address) == (stage.value, name, shown)
