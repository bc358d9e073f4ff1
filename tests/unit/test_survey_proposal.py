"""A forum whose program nobody knows: its pages say enough for rules to begin with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl_tasks.cli.exits import Exit
from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.server import DemoServer
from crawl_tasks.sites.loader import load_site
from crawl_tasks.survey.links import identity_of, paged_template, shape_of
from tests.unit.command_line import run
from tests.unit.hostile_server import HostileServer, page


@pytest.fixture
def forum() -> Iterator[DemoServer]:
    with DemoServer(DemoForum(1)) as server:
        yield server


def test_the_rules_proposed_for_the_demo_forum_read_its_pages_unedited(tmp_path: Path, forum: DemoServer) -> None:
    new = run("new", forum.url, "--name", "two", home=tmp_path)
    tried = run("try", "two", home=tmp_path)

    assert (new.exit_code, tried.exit_code) == (Exit.OK, Exit.OK), new.output + tried.output
    text = (tmp_path / "sites" / "two.yaml").read_text("utf-8")
    rules = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(rules) <= 40
    site = load_site(tmp_path / "sites" / "two.yaml")
    assert [board.id for board in site.boards] == ["1", "2", "3", "4"]
    assert site.comment is not None
    addresses = (site.list.address, site.post.address, site.comment.address)
    assert addresses == ("/list/{board}/{page}", "/post/{post}", "/comment/{post}/{page}")
    assert {"title", "author", "created_at", "reply_count", "view_count", "last_reply_at"} <= set(site.list.fields)
    assert {"author", "created_at", "body", "parent_id"} <= set(site.comment.fields)
    assert not [path for path in forum.log if "/private" in str(path)]


def test_a_page_without_threads_gives_a_form_to_fill_in(tmp_path: Path) -> None:
    server = HostileServer({"/": page(b"<title>Shop</title><a href='/cart/1'>Cart</a>")})
    result = run("new", server.base, "--name", "shop", home=tmp_path)
    server.stop()

    assert result.exit_code == Exit.OK, result.output
    assert "no list of threads was found" in result.stderr
    assert load_site(tmp_path / "sites" / "shop.yaml").boards == ()


@pytest.mark.parametrize(
    ("url", "shape", "keys"),
    [
        ("http://f/viewtopic.php?f=2&t=31&sid=0123456789abcdef0123456789abcdef", "/viewtopic.php?f=#&t=#", ["2", "31"]),
        ("http://f/thread-12-1-1.html", "/thread-#-#-#.html", ["12", "1", "1"]),
        ("http://f/topic/12/some-words", "/topic/#/*", ["12"]),
        ("http://f/t/12-some-words", "/t/#~", ["12"]),
        ("http://f/threads/some-words-here.12/", "/threads/~#/", ["12"]),
        ("http://f/d/some-words-here", "/d/*", ["some-words-here"]),
        ("http://f/about", "/about", []),
    ],
)
def test_links_of_one_kind_have_one_shape(url: str, shape: str, keys: list[str]) -> None:
    assert shape_of(url) == (shape, keys)


@pytest.mark.parametrize("path", ["/thread-12-3-1.html", "/topic/12/words", "/t/12-words", "/threads/some-words.12/"])
def test_the_identity_of_a_shape_reads_its_key(path: str) -> None:
    shape, keys = shape_of(f"http://f{path}")

    found = re.search(identity_of(shape, "post"), path)

    assert found is not None
    assert found["post"] == keys[0] == "12"


@pytest.mark.parametrize(
    ("first", "following", "key", "template"),
    [
        ("/list/1/1", "/list/1/2", "1", "/list/{post}/{page}"),
        ("/post/77", "/comment/77/2", "77", "/comment/{post}/{page}"),
        ("/viewtopic.php?t=7", "/viewtopic.php?t=7&start=10", "7", "/viewtopic.php?t={post}&start={offset:10}"),
        ("/forum-2-1.html", "/forum-2-2.html", "2", "/forum-{post}-{page}.html"),
        ("/t/7", "/t/7?page=2", "7", "/t/{post}?page={page}"),
        ("/t/7", "/t/7/older", "7", None),
        ("/t/7", "/t/8?page=2", "7", None),
    ],
)
def test_a_template_is_inferred_from_two_addresses(first: str, following: str, key: str, template: str | None) -> None:
    assert paged_template(f"http://f{first}", f"http://f{following}", key, "post") == template
