"""A forum that only scripts draw, crawled by real workers of the queue `render`, held against the forum's truth."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime
from html import escape

import psutil
import pytest

from crawl_tasks.cli.exits import Exit
from crawl_tasks.fetch.browser import missing
from crawl_tasks.model import Stage
from crawl_tasks.registry.site_publisher import board_terms, publish_site, terms_of
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.site_json import dump_site
from tests.drawn_comments import DrawnComments
from tests.flow.world import World
from tests.script_forum import FROM_ANSWERS, ScriptForum
from tests.unit.command_line import run
from tests.unit.hostile_server import HostileServer, page
from tests.waiting import eventually

pytestmark = [pytest.mark.flow, pytest.mark.skipif(bool(missing()), reason=missing())]

SPIN = b"<html><body><script>for (;;) {}</script></body></html>"
# Text nodes, which lie outside of the heap of scripts and its limit.
GROW = b"""<html><body><script>const more = () => {
  for (let n = 0; n < 40; n++) document.body.append('x'.repeat(1 << 20) + Math.random());
  setTimeout(more, 1);
}; more()</script></body></html>"""
JPEG = b"\xff\xd8\xff"
KILLS = int(os.environ.get("RENDER_KILLS", "2"))


@pytest.fixture
def forum() -> Iterator[ScriptForum]:
    forum = ScriptForum()
    yield forum
    forum.server.stop()


def stored(world: World, query: str) -> set[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{world.directory / 'crawl.db'}?mode=ro", uri=True)) as connection, connection:
        return set(connection.execute(query).fetchall())


def assert_all_stored(world: World, forum: ScriptForum) -> None:
    """Hold every field of every post and comment against the forum, and the ledger against itself."""

    def said(one: dict, *more: object) -> tuple[object, ...]:
        at = datetime.fromisoformat(one["created_at"]).timestamp()
        return (one["id"], *more, one["author"], int(at), one["body"])

    posts = {said(one, one["title"]) for one in forum.threads.values()}
    comments = {said(one, thread["id"]) for thread in forum.threads.values() for one in thread["comments"]}
    query = "select {}, author, created_at, body from {} where site = 'demo'"
    assert stored(world, query.format("post_id, title", "posts")) == posts
    assert stored(world, query.format("comment_id, post_id", "comments")) == comments
    assert world.count_requests().imbalance() == ""


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill_in_the_middle(world: World, forum: ScriptForum, name: str, *, after: int, kills_browser: bool) -> None:
    """Start a worker, kill it `after` so many requests, or its browser first, and return when no process is left."""
    worker = psutil.Process(world.worker(name, "render", "-c", "2").pid)
    eventually(lambda: "chrom" in str(worker.children(recursive=True)))
    asked = len(forum.server.paths())
    eventually(lambda: len(forum.server.paths()) > asked + after)
    browser = worker.children(recursive=True)
    if kills_browser:
        for process in browser:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        eventually(lambda: any(map(is_alive, worker.children(recursive=True))) or world.is_idle())
        browser += worker.children(recursive=True)
    process = world.processes.pop(name)
    process.kill()
    process.wait()
    eventually(lambda: not any(map(is_alive, browser)))


def test_a_forum_drawn_by_scripts_is_stored_to_the_last_field(world: World, forum: ScriptForum) -> None:
    publish_site(world.frontier, parse_site(forum.site(), "demo.yaml"), contact=None)
    world.worker("render", "render", "-c", "2")
    world.worker("rest", "list,detail,store", "-c", "2")

    world.crawl()

    assert_all_stored(world, forum)
    # The script of the forum is asked for once, and each part of a page once.
    assert set(Counter(forum.server.paths()).values()) == {1}


@pytest.mark.long
def test_the_answers_that_pages_ask_for_are_read_as_documents(world: World, forum: ScriptForum) -> None:
    publish_site(world.frontier, parse_site(forum.site(FROM_ANSWERS), "demo.yaml"), contact=None)
    world.worker("all", "render,list,detail,store", "-c", "2")

    world.crawl()

    assert_all_stored(world, forum)


def served_page(thread: dict) -> bytes:
    """Return the page of a thread as a forum sends it that also serves readers without scripts."""
    said = "<b class=author>{author}</b><time class=created>{created_at}</time><div class=body>{text}</div>"
    one = {**thread, "text": escape(thread["body"])}
    shown = f"<h1 class=title>{thread['title']}</h1><article>{said.format(**one)}</article>"
    return f"{shown}<nav class=pages data-pages=1></nav><script>fetch('/api/boards')</script>".encode()


def test_only_pages_that_say_nothing_themselves_are_drawn_with_auto(world: World, forum: ScriptForum) -> None:
    first = forum.threads["1"]
    first["comments"] = []
    forum.server.routes["/post/1"] = page(served_page(first), Content_Type="text/html; charset=utf-8")
    site = forum.site().replace("render: {wait_for", "render: {auto: true, wait_for")
    publish_site(world.frontier, parse_site(site, "demo.yaml"), contact=None)
    world.worker("all", "render,list,detail,store", "-c", "2")

    world.crawl()

    assert_all_stored(world, forum)
    asked = Counter(forum.server.paths())
    assert set(asked.values()) == {1}  # the document of a page that is drawn is not fetched again
    assert "/api/threads/2" in asked
    assert "/api/boards" not in asked  # for which only the page of thread 1 asks


def test_new_finds_the_api_that_pages_ask_for_and_its_file_reads_all_of_it(world: World) -> None:
    forum = ScriptForum(threads=8)

    found = run("new", f"{forum.server.base}/", "--name", "demo", "-o", "-", home=world.directory)
    site = parse_site(f"{found.stdout}gate: {{window: 4, delay_s: 0}}\n", "demo.yaml")
    publish_site(world.frontier, site, contact=None)
    world.worker("plain", "list,detail,store", "-c", "2")
    world.crawl()

    assert found.exit_code == Exit.OK, found.stderr
    assert "the rules read the API that these ask" in found.stderr
    assert not site.rendered
    assert_all_stored(world, forum)
    forum.server.stop()


@pytest.mark.parametrize("is_framed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_new_finds_the_api_of_comments_that_scripts_draw_below_threads(world: World, is_framed: bool) -> None:
    forum = DrawnComments(is_framed=is_framed)

    found = run("new", f"{forum.server.base}/", "--name", "demo", "-o", "-", home=world.directory)
    site = parse_site(f"{found.stdout}gate: {{window: 4, delay_s: 0}}\n", "demo.yaml")
    publish_site(world.frontier, site, contact=None)
    world.worker("all", "render,list,detail,store", "-c", "2")
    world.crawl()

    assert found.exit_code == Exit.OK, found.stderr
    assert "the rules read comments from the API that threads ask" in found.stderr
    assert set(site.rendered) == ({Stage.LIST, Stage.POST} if is_framed else set())
    assert stored(world, "select post_id, author, created_at, body from posts") == {
        one[:4] for one in forum.posts.values()
    }
    fields = "post_id, comment_id, author, created_at, body, coalesce(parent_id, '')"
    assert stored(world, f"select {fields} from comments") == {
        (key, *one) for key, those in forum.comments.items() for one in those
    }
    forum.server.stop()


@pytest.mark.long
def test_new_names_a_page_whose_button_loads_more_where_it_finds_no_api(world: World) -> None:
    forum = DrawnComments(is_framed=True, as_json=False)

    found = run("new", f"{forum.server.base}/", "--name", "demo", "-o", "-", home=world.directory)

    forum.server.stop()
    assert "a browser draws them" in found.stderr
    assert "has a button for more: name it as `click_more` of `render`" in found.stderr


def test_a_parked_page_keeps_its_screenshot_for_failed_show(world: World) -> None:
    forum = ScriptForum(threads=1)
    broken = forum.site().replace("title: h1.title,", "title: {css: h2.renamed, required: true},")
    publish_site(world.frontier, parse_site(broken, "demo.yaml"), contact=None)
    world.worker("all", "render,list,detail,store", "-c", "2")
    world.crawl()

    eventually(lambda: world.frontier.kept_pages.kept("demo", Stage.POST))
    [kept] = world.frontier.kept_pages.kept("demo", Stage.POST)
    shown = run("failed", "show", "--site", "demo", str(kept.rid), home=world.directory, redis_url=world.server.url,
                redis_prefix="crawl")  # fmt: skip

    picture = world.directory / "state" / "screenshots" / f"demo-{kept.rid}.jpg"
    assert f"screenshot, written to {picture}" in shown.stdout, shown.output
    assert picture.read_bytes() == kept.screenshot
    assert kept.screenshot.startswith(JPEG)
    forum.server.stop()


@pytest.mark.timeout(300 + 30 * KILLS)
@pytest.mark.long
def test_workers_and_browsers_killed_again_and_again_lose_nothing_and_leave_no_browser(world: World) -> None:
    forum = ScriptForum(threads=2 * KILLS - 3)
    # The pages of a killed worker keep their place in the window until their leases run out.
    patient = forum.site().replace("window: 2", "window: 12")
    patient = patient.replace(
        "retry_base_s: 0.2", "retry_base_s: 0.2, retry_max_s: 1, deadline_s: 10, max_attempts: 100"
    )
    site = parse_site(patient, "demo.yaml")
    terms = terms_of(site) | {"lease_ms": 12_000}
    world.frontier.sites.publish(site.name, site.version, dump_site(site), terms, board_terms(site))
    world.worker("rest", "list,detail,store", "-c", "2")
    world.frontier.produce()

    for number in range(KILLS):
        # Not always in the first page: between the requests of its scripts, or in one of the next.
        kill_in_the_middle(world, forum, f"render{number}", after=number % 7, kills_browser=number % 2 == 1)
    world.worker("render", "render", "-c", "2")
    while not world.is_idle():
        asked = len(forum.server.paths())
        eventually(lambda before=asked: len(forum.server.paths()) > before or world.is_idle(), every_s=0.1)

    assert_all_stored(world, forum)
    forum.server.stop()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param(SPIN, "deadline", id="spins"),
        pytest.param(GROW, "browser", id="grows to 1 GB", marks=pytest.mark.long),
    ],
)
def test_a_page_without_end_holds_up_no_other_site(
    world: World, forum: ScriptForum, script: bytes, reason: str
) -> None:
    endless = HostileServer(otherwise=page(script, Content_Type="text/html"))
    ill = forum.site().replace(forum.server.place, endless.place).replace("name: demo", "name: ill")
    deadline_s = 4 if reason == "deadline" else 60
    ill = ill.replace("retry_base_s: 0.2", f"retry_base_s: 0.2, deadline_s: {deadline_s}, max_attempts: 2")
    for text in (ill, forum.site()):
        publish_site(world.frontier, site := parse_site(text, "demo.yaml"), contact=None)
        assert site.rendered
    world.worker("all", "render,list,detail,store", "-c", "3")

    world.crawl()
    eventually(lambda: world.frontier.client.hlen("crawl:s:ill:dead"))

    assert_all_stored(world, forum)
    assert reason in str(world.frontier.client.hvals("crawl:s:ill:dead"))
    endless.stop()
