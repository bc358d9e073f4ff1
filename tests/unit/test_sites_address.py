"""Addresses of pages, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_tasks.errors import RefusedAddress
from crawl_tasks.model import Stage
from crawl_tasks.sites.addresses import Addresses, Target
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.urls import normalize

PLAIN = """\
name: plain
base: https://forum.example
hosts: [www.forum.example]
boards: [{id: news, address: /latest}, {id: 2}]
list: {address: "/list/{board}/{page}", record: tr, next: a, fields: {post_id: a}}
post: {address: "/post/{post}", fields: {title: h1}, pages: .p}
comment: {address: "/comment/{post}/{page}", first_page: 2, record: div, fields: {comment_id: b}}
"""
OFFSETS = """\
name: offsets
base: https://forum.example
drop_params: [sid]
list:
  address: /viewforum.php?f={board}&start={offset:25}
  first_address: /viewforum.php?f={board}
  identity: '/viewforum\\.php\\?(?:.*&)?f=(?P<board>\\d+)(?:.*&start=(?P<offset>\\d+))?'
  record: li
  next: a
  fields: {post_id: a}
post:
  address: /viewtopic.php?t={post}
  identity: '/viewtopic\\.php\\?t=(?P<post>\\d+)$'
  fields: {title: h1}
  pages: .p
comment:
  address: /viewtopic.php?t={post}&start={offset:10}
  first_page: 2
  record: div
  fields: {comment_id: b}
"""
COMMAS = """\
name: commas
base: https://forum.example
list: {address: "/list?{board},page={page}", first_address: "/list?{board}", record: tr, next: a, fields: {post_id: a}}
post: {address: "/post/{post}", fields: {title: h1}}
"""
plain, offsets, commas = (Addresses(parse_site(text, "f.yaml")) for text in (PLAIN, OFFSETS, COMMAS))


@pytest.mark.parametrize(
    ("addresses", "target", "address"),
    [
        (plain, Target(Stage.LIST, "2", 3), "https://forum.example/list/2/3"),
        (commas, Target(Stage.LIST, "4", 1), "https://forum.example/list?4"),
        (commas, Target(Stage.LIST, "4", 2), "https://forum.example/list?4,page=2"),
        (plain, Target(Stage.LIST, "news", 1), "https://forum.example/latest"),
        (plain, Target(Stage.LIST, "news", 2), "https://forum.example/list/news/2"),
        (plain, Target(Stage.POST, "a/b c", 1), "https://forum.example/post/a%2Fb%20c"),
        (plain, Target(Stage.POST, "水", 1), "https://forum.example/post/%E6%B0%B4"),
        (plain, Target(Stage.COMMENT, "7", 2), "https://forum.example/comment/7/2"),
        (offsets, Target(Stage.LIST, "3", 1), "https://forum.example/viewforum.php?f=3"),
        (offsets, Target(Stage.LIST, "3", 3), "https://forum.example/viewforum.php?f=3&start=50"),
        (offsets, Target(Stage.COMMENT, "7", 2), "https://forum.example/viewtopic.php?t=7&start=10"),
        (offsets, Target(Stage.POST, "7", 1), "https://forum.example/viewtopic.php?t=7"),
    ],
)
def test_a_page_has_an_address_and_the_address_names_the_page(
    addresses: Addresses, target: Target, address: str
) -> None:
    assert addresses.of(*target) == address
    assert addresses.read(address) == target


@pytest.mark.parametrize(
    ("addresses", "address", "target"),
    [
        (plain, "/post/5", Target(Stage.POST, "5", 1)),
        (plain, "HTTPS://FORUM.EXAMPLE:443/post/5#p7", Target(Stage.POST, "5", 1)),
        (plain, "https://www.forum.example/post/5", Target(Stage.POST, "5", 1)),
        (plain, "https://forum.example.evil.example/post/5", None),
        (plain, "https://notforum.example/post/5", None),
        (plain, "/post/5/6", None),
        (plain, "/comment/5/1", None),
        (plain, "/comment/5/99999999", None),
        (plain, "/post/", None),
        (plain, "/", None),
        (offsets, "/viewforum.php?sid=0123&f=3&start=25", Target(Stage.LIST, "3", 2)),
        (offsets, "/viewtopic.php?t=7&sid=abc", Target(Stage.POST, "7", 1)),
        (offsets, "/viewtopic.php?p=7", None),
    ],
)
def test_an_address_is_read_as_what_it_names(addresses: Addresses, address: str, target: Target | None) -> None:
    assert addresses.read(address) == target


@pytest.mark.parametrize("address", ["javascript:alert(1)", "https://", "http://[::1", ""])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(RefusedAddress):
        plain.read(address)


@pytest.mark.parametrize("key", ["", ".", "..", "x" * 201])
def test_a_key_that_makes_no_address_is_refused(key: str) -> None:
    with pytest.raises(RefusedAddress):
        plain.of(Stage.POST, key)


@settings(deadline=None)
@given(key=st.text(min_size=1, max_size=30).filter(lambda text: text not in (".", "..")), page=st.integers(2, 9000))
def test_every_key_and_page_comes_back_from_its_address(key: str, page: int) -> None:
    try:
        address = plain.of(Stage.COMMENT, key, page)
    except (RefusedAddress, UnicodeEncodeError):
        return

    assert address is not None
    assert normalize(address) == address
    assert plain.read(address) == Target(Stage.COMMENT, key, page)


@pytest.mark.parametrize(
    ("engine", "shown", "seen", "target", "written"),
    [
        ("xenforo", (Stage.POST, "9", 1), "/threads/a-title.9/", (Stage.COMMENT, "9", 2), "/threads/a-title.9/page-2"),
        ("xenforo", (Stage.LIST, "4", 1), "/forums/talk.4/", (Stage.LIST, "4", 2), "/forums/talk.4/page-2"),
        ("xenforo", (Stage.LIST, "4", 2), "/forums/talk.4/page-2", (Stage.LIST, "4", 3), "/forums/talk.4/page-3"),
        ("vbulletin4", (Stage.POST, "9", 1), "/threads/9-Title", (Stage.COMMENT, "9", 2), None),
        ("phpbb", (Stage.POST, "9", 1), "/viewtopic.php?t=9&sid=ab", (Stage.COMMENT, "9", 2), None),
        ("discuz", (Stage.POST, "9", 1), "/thread-9-1-3.html", (Stage.COMMENT, "9", 2), None),
        ("mybb", (Stage.POST, "9", 1), "/thread-9.html", (Stage.COMMENT, "9", 2), None),
        ("xenforo", (Stage.POST, "9", 1), "/threads/merged.12/", (Stage.COMMENT, "9", 2), None),
        ("xenforo", (Stage.POST, "9", 1), "/login/", (Stage.COMMENT, "9", 2), None),
    ],
)
def test_pages_of_a_thread_are_written_as_the_forum_wrote_the_one_it_sent_us_to(
    engine: str, shown: Target, seen: str, target: Target, written: str | None
) -> None:
    known = Addresses(parse_site(f"name: s\nbase: https://forum.example\nengine: {engine}\n", "s.yaml"))
    made = known.of(*target)
    assert made is not None

    given = known.as_seen(made, Target(*target), known.absolute(seen), Target(*shown))

    assert given == (f"https://forum.example{written}" if written else made)
    assert known.read(given) == Target(*target)
