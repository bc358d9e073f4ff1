"""A forum whose program nobody knows: its pages say enough for rules to begin with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl_tasks.cli.exits import Exit
from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.discovery.links.address_shape import identity_of, shape_of
from crawl_tasks.discovery.links.address_template import paged_template
from crawl_tasks.discovery.proof.checks import check_trials
from crawl_tasks.discovery.proof.dry_run import reread
from crawl_tasks.discovery.start_page import is_one_of_several
from crawl_tasks.fetch.browser import missing
from crawl_tasks.model import Fetched, Request, Stage
from crawl_tasks.operate.new_site import find_address, open_probe
from crawl_tasks.parse.document import Document
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.settings import load_settings
from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.loader import load_site, parse_site
from tests.threaded_forum import ThreadedForum
from tests.unit.command_line import run
from tests.unit.hostile_server import Answer, HostileServer, Visit, page


@pytest.fixture
def forum() -> Iterator[ThreadedForum]:
    with ThreadedForum(DemoForum(1)) as server:
        yield server


def test_the_rules_proposed_for_the_demo_forum_read_its_pages_unedited(tmp_path: Path, forum: ThreadedForum) -> None:
    new = run("new", forum.url, "--name", "two", home=tmp_path)
    tried = run("try", "two", home=tmp_path)

    assert (new.exit_code, tried.exit_code) == (Exit.OK, Exit.OK), new.output + tried.output
    text = (tmp_path / "sites" / "two.yaml").read_text("utf-8")
    rules = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(rules) <= 40
    site = load_site(tmp_path / "sites" / "two.yaml")
    assert [board.id for board in site.boards] == ["1", "2", "3", "4", "front"]
    assert site.timezone == "Asia/Shanghai"  # by times to come
    assert site.comment is not None
    addresses = (site.list.address, site.post.address, site.comment.address)
    assert addresses == ("/list/{board}/{page}", "/post/{post}", "/comment/{post}/{page}")
    assert {"title", "author", "created_at", "reply_count", "view_count", "last_reply_at"} <= set(site.list.fields)
    assert [sign.field for sign in site.list.revision] == ["reply_count", "last_reply_at"]
    assert {"author", "created_at", "body", "parent_id"} <= set(site.comment.fields)
    assert not [path for path in forum.log if "/private" in str(path)]


def test_a_page_without_threads_is_said_to_be_no_forum(tmp_path: Path) -> None:
    server = HostileServer({"/": page(b"<title>Shop</title><a href='/cart/1'>Cart</a>")})
    result = run("new", server.base, "--name", "shop", home=tmp_path)
    server.stop()

    assert result.exit_code == Exit.FAILURES
    assert "no forum was found here" in result.stderr
    assert "button" not in result.stderr
    assert not (tmp_path / "sites").exists()


FRAME = """<!DOCTYPE html><title>Chains</title><div id=app>Loading...</div><script>
fetch('/api%s').then(one => one.text()).then(text => { app.innerHTML = text })</script>"""


@pytest.mark.long
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_threads_that_scripts_draw_behind_boards_in_html_are_drawn(tmp_path: Path) -> None:
    html, boards = {"Content_Type": "text/html"}, {1: range(10, 20), 2: range(20, 30)}
    server = HostileServer(
        {"/": page(b"<title>Chains</title><li><a href=/board/1>Board 1</a></li><li><a href=/board/2>Board 2</a></li>")}
    )
    for board, shown in boards.items():
        rows = "".join(
            f"<li class=row data-id={at}><a class=title href=/topic/{at}>Title of thread {at}</a>"
            f" <span class=author>ann{at}</span>"
            f" <time datetime=2026-01-{at}T10:00:00Z>2026-01-{at}T10:00:00Z</time> <b class=replies>3</b></li>"
            for at in shown
        )  # fmt: skip
        server.routes[f"/board/{board}"] = page(f"<title>Chains</title><h1>Board</h1><ul>{rows}</ul>".encode(), **html)
        for at in shown:
            server.routes[f"/topic/{at}"] = page((FRAME % f"/topic/{at}").encode(), **html)
            server.routes[f"/api/topic/{at}"] = page(drawn_thread(at).encode(), **html)
    result = run("new", server.base, "--name", "chains", home=tmp_path)
    server.stop()

    rules = (tmp_path / "sites" / "chains.yaml").read_text("utf-8")
    site = load_site(tmp_path / "sites" / "chains.yaml")
    assert "render: true" in rules
    assert site.comment is not None or site.post.comments is not None
    assert "scripts" in result.output


def drawn_thread(at: int) -> str:
    """Return what the script of a thread shows."""
    replies = "".join(
        f"<div class=reply id=r{at}{turn}><b class=who>bob{turn}</b>"
        f" <time datetime='2026-01-{at}T1{turn}:00:00Z'>t</time>"
        f"<p class=say>A reply on links, number {turn} of thread {at}.</p></div>" for turn in range(3)
    )  # fmt: skip
    return (
        f"<h1>A thread on chains {at}</h1><div class=post><b class=who>ann{at}</b>"
        f" <time datetime='2026-01-{at}T10:00:00Z'>t</time><p class=say>Words on chain {at}.</p></div>{replies}"
    )


def test_boards_that_are_a_login_page_to_guests_are_named(tmp_path: Path) -> None:
    login = page(b"<title>Club</title><form method=post><input name=u><input type=password name=p></form>")
    links = b"<title>Club</title><a href=/board/1>Board 1</a> <a href=/board/2>Forum 2</a>"
    server = HostileServer({"/": page(links), "/board/1": login, "/board/2": login})
    result = run("new", server.base, "--name", "club", home=tmp_path)
    server.stop()

    assert result.exit_code == Exit.FAILURES
    assert "asks for a login" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("wall", "button"),
    [
        ("""<h1>Cookies</h1><button onclick="document.cookie='c=1';location.reload()">Accept</button>""", "Accept"),
        ("<h1>Age</h1><form method=post><input type=submit value='I am over 18'></form>", "I am over 18"),
        (
            "<p>未满18岁请离开</p><a href='?yes=1'>我已满18岁，进入</a> <a href='https://x.example/'>离开</a>",
            "我已满18岁，进入",
        ),
    ],
)
def test_a_wall_of_consent_before_a_forum_is_named(wall: str, button: str, tmp_path: Path) -> None:
    head = "<!DOCTYPE html><meta charset=utf-8><title>Club</title>"
    server = HostileServer({"/": page((head + wall).encode(), Content_Type="text/html")})
    result = run("new", server.base, "--name", "club", home=tmp_path)
    server.stop()

    assert result.exit_code == Exit.FAILURES
    assert f"a page with the button '{button}' stands before it" in " ".join(result.stderr.split())
    assert "headers: {Cookie: NAME=VALUE}" in " ".join(result.stderr.split())


def test_a_front_page_that_lacks_threads_is_refuted(tmp_path: Path) -> None:
    shown, older = range(20, 32), range(1, 6)
    rows = "".join(f"<li><a href='/t/{at}'>A thread on chains {at}</a> <b>{at % 3}</b></li>" for at in shown)
    more = "".join(f"<p><a href='/t/{at}'>Another thread {at}</a></p>" for at in older)
    threads = {
        f"/t/{at}": page(f"<h1>A thread on chains {at}</h1><div>Words of {at}</div><footer>{more}</footer>".encode())
        for at in shown
    }
    server = HostileServer({"/": page(f"<title>Chains</title><ul>{rows}</ul>".encode()), **threads})
    result = run("new", server.base, "--name", "chains", home=tmp_path)
    server.stop()

    assert result.exit_code == Exit.FAILURES
    assert "lists every thread: 5 that other pages link are not on it, as " in result.stderr


@pytest.mark.parametrize("links", [3, 40])
def test_a_login_box_beside_boards_is_no_login_page(links: int, tmp_path: Path) -> None:
    others = "<a href='/about'>About us</a>" * links
    server = HostileServer({"/": page(f"<title>Club</title><form><input type=password></form>{others}".encode())})
    result = run("new", server.base, "--name", "club", home=tmp_path)
    server.stop()

    assert result.exit_code == Exit.FAILURES
    assert ("asks for a login" in result.stderr) is (links == 3)
    assert "`login` in a site file" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("url", "shape", "keys"),
    [
        ("http://f/viewtopic.php?f=2&t=31&sid=0123456789abcdef0123456789abcdef", "/viewtopic.php?f=#&t=#", ["2", "31"]),
        ("http://f/thread-12-1-1.html", "/thread-#-#-#.html", ["12", "1", "1"]),
        ("http://f/topic/12/some-words", "/topic/#/~", ["12"]),
        ("http://f/topic/12/some-words-91/", "/topic/#/~/", ["12"]),
        ("http://f/forum/some-board-2/topic/some-words-13/", "/forum/~#/topic/~#/", ["2", "13"]),
        (
            "http://f/thread/5d0f6c1e-8a3b-4c55-9d77-0123456789ab/",
            "/thread/*/",
            ["5d0f6c1e-8a3b-4c55-9d77-0123456789ab"],
        ),
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
    ("shape", "place", "path", "key"),
    [
        ("/*/res/#", 1, "/b/res/12", "b/res/12"),
        ("/board.php?b=*&id=#", 1, "/board.php?b=qa&id=12", "qa&id=12"),
        ("/read.php?id=#&b=*", 0, "/read.php?id=12&b=qa", "12&b=qa"),
    ],
)
def test_an_id_with_its_boards_name_has_all_keys(shape: str, place: int, path: str, key: str) -> None:
    found = re.search(identity_of(shape, "post", place, is_whole=True), path)

    assert found is not None
    assert found["post"] == key


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
        ("/t/7", "/t/7?after=412", "7", None),
        ("/old-lamp_7.html", "/old-lamp_7_2.html", "old-lamp_7.html", None),
        ("/t/7", "/t/7?start=90244", "7", None),
    ],
)
def test_a_template_is_inferred_from_two_addresses(first: str, following: str, key: str, template: str | None) -> None:
    assert paged_template(f"http://f{first}", f"http://f{following}", key, "post") == template


def test_titles_in_addresses_and_times_in_words_are_read(tmp_path: Path) -> None:
    server = HostileServer(_titled_forum())
    new = run("new", server.base, "--name", "titled", home=tmp_path)
    tried = run("try", "titled", home=tmp_path)
    server.stop()

    # All is read, but this forum's pages repeat each other.
    assert (new.exit_code, tried.exit_code) == (Exit.FAILURES, Exit.FAILURES), new.output + tried.output
    assert "the next page lists further threads: 3 of 3 threads stand on the page before" in new.stderr
    assert "missing" not in tried.stdout
    site = load_site(tmp_path / "sites" / "titled.yaml")
    assert [(board.id, board.address) for board in site.boards] == [("2", "/f/bikes-2/"), ("3", "/f/sea-and-hills-3/")]
    assert "leads to 3 post pages, first http" in tried.output
    assert "2026-04-24 18:00:00 UTC" in tried.output
    identity = re.compile(site.post.identity[0])
    assert identity.findall("/f/sea-and-hills-3/topic/short-5/") == ["5"]
    body = site.comment.fields["body"] if site.comment is not None else None
    assert isinstance(body, Rule)
    assert body.css == "div.text"
    assert body.drop is not None
    assert "blockquote" in body.drop


def test_words_and_uuids_are_keys_and_a_pager_may_lead_nowhere(tmp_path: Path) -> None:
    server = HostileServer(_keyed_forum())
    new = run("new", f"{server.base}/club/", "--name", "keyed", home=tmp_path)
    tried = run("try", "keyed", home=tmp_path)

    # All is read, but this forum's pages repeat each other.
    assert (new.exit_code, tried.exit_code) == (Exit.FAILURES, Exit.FAILURES), new.output + tried.output
    assert "the next page lists further threads: 3 of 3 threads stand on the page before" in new.stderr
    assert "missing" not in tried.stdout
    site = load_site(tmp_path / "sites" / "keyed.yaml")
    assert [board.id for board in site.boards] == ["bikes", "garden", "front"]
    assert site.comment is not None
    addresses = (site.list.address, site.post.address, site.comment.address)
    assert addresses == ("/club/board/{board}/?page={page}", "/club/thread/{post}/", "/club/thread/{post}/?page={page}")
    assert site.list.record is not None
    assert site.list.record.css == "tr:has(a[href*='/club/thread/'])"
    assert site.list.empty is not None
    empty = run("try", "keyed", "--url", f"{server.base}/club/board/garden/", home=tmp_path)
    server.stop()
    assert "no rows" not in empty.output
    assert "ben" in tried.output
    assert "no next page was found" in tried.output.rpartition("comment page")[2]
    assert not [visit.target for visit in server.visits if "login" in visit.target]


def test_a_board_of_some_length_is_read_and_a_card_has_the_name_of_its_board(tmp_path: Path) -> None:
    server = HostileServer(_carded_forum())
    new = run("new", server.base, "--name", "carded", home=tmp_path)
    server.stop()

    site = load_site(tmp_path / "sites" / "carded.yaml")
    assert new.exit_code == Exit.OK, new.stderr
    assert [(board.id, board.title) for board in site.boards[:2]] == [("bikes", "Bikes"), ("attic", "Attic")]
    assert site.post.identity[0].startswith("^/d/")


@pytest.mark.parametrize(("beside", "is_board"), [("/f/bikes", True), ("/d/2x7q2", False)])
def test_a_list_called_discussion_beside_other_lists_is_a_board(beside: str, is_board: bool) -> None:
    carded = _carded_forum()
    links = "".join(f"<h3><a href=/{one}>Words</a></h3>" for one in ("talk", "walks"))
    pages = {"/": page(f"<main>{links}</main>".encode()), "/talk": carded["/f/bikes"], "/walks": carded[beside]}
    server = HostileServer(carded | pages)
    settings = load_settings()
    probe = open_probe(find_address(server.base, settings), settings)

    front, door = (Document(probe.page(f"{server.base}{path}")) for path in ("/", "/talk"))
    is_found = is_one_of_several(probe, front, door)
    server.stop()

    assert is_found is is_board


def _carded_forum() -> dict[str, Answer]:
    who = ("ann", "ben", "cy")
    card = '<a class=card href="/f/{}"><b>{}</b><i>Words about them.</i></a>'
    row = (
        '<div class=row><h3><a href="/d/{0}x7q{0}">Words on lamp {0}</a></h3><a class=who href="/p/u{2}">{1}</a>'
        '<time datetime="2026-04-{3:02}T10:00:00Z">April</time> <span class=count>2</span></div>'
    )
    said = (
        '<article id="post-{0}"><h4><a class=who href="/p/u{2}">{1}</a></h4><time datetime="2026-04-{3:02}T10:00:00Z">'
        "April</time><div class=text>{4} words of a post about lamps</div></article>"
    )
    pages = {"/": page(f"<main>{card.format('attic', 'Attic')}{card.format('bikes', 'Bikes')}</main>".encode())}
    for board, name, numbers in (("attic", "Attic", (1,)), ("bikes", "Bikes", range(2, 9))):
        rows = "".join(row.format(n, who[n % 3], n % 3, n) for n in numbers)
        pages[f"/f/{board}"] = page(f"<main><h1>{name}</h1>{rows}</main>".encode())
        for n in numbers:
            posts = "".join(
                said.format(
                    n * 10 + at, who[(n + at) % 3], (n + at) % 3, n + at, "abcdefghij"[(n + at) % 10] * (5 + at)
                )
                for at in range(3)
            )
            pages[f"/d/{n}x7q{n}"] = page(f"<main><h1>Words on lamp {n}</h1>{posts}</main>".encode())
    return pages


def _titled_forum() -> dict[str, Answer]:
    boards = (
        '<h3><a class=group href="/f/machines-1/">Machines</a></h3>'
        '<a class=forum href="/f/bikes-2/">Bikes</a> <a class=forum href="/f/sea-and-hills-3/">Sea and hills</a>'
    )
    rows = "".join(
        f'<div class="row line"><a class=topic href="/f/bikes-2/topic/how-do-i-mend-it-{n}/">How do I mend it, {n}</a>'
        f'<p class=by>By: <a href="/member/{n}/">ann</a> on April {n}, 2026, 2:54 p.m.</p>'
        f'<div class="row replies">{n}</div></div>'
        for n in (11, 12, 13)
    )
    posts = "".join(
        f'<div class="card post" id="{n + 70}"><div class=user>{("ann", "ben", "cy", "ann")[n]}</div>'
        f"<small class=muted>on April {24 + n}, 2026, 6 p.m.</small>"
        f'<div class="text"><blockquote>somebody said</blockquote>the words of reply {n}</div></div>'
        for n in range(4)
    )
    thread = page(f"<h1>How do I mend it</h1>{posts}<a href=''>»</a>".encode())
    return {
        "/": page(boards.encode()),
        "/f/machines-1/": page(boards.encode()),
        "/f/bikes-2/": page(f"{rows}<ul class=pages><a href='?page=2'>»</a></ul>".encode()),
        **{f"/f/bikes-2/topic/how-do-i-mend-it-{n}/": thread for n in (11, 12, 13)},
    }


def _keyed_forum() -> dict[str, Answer]:
    keys = [f"5d0f6c1e-8a3b-4c55-9d77-0123456789a{n}" for n in range(3)]
    head = "<tr><td>Title</td><td>Replies</td></tr>"
    front = (
        "<a href=/club/board/bikes/>Bikes</a> <a href=/club/board/garden/>Garden</a> <a href=/club/login/>Log in</a>"
    )
    rows = "".join(
        f"<tr><td><a href=/club/thread/{key}/>A long title of a thread</a> "
        f"<a href=/club/members/7/>{('ben', 'ann', 'ben')[n]}</a>"
        f"<time datetime=2026-04-2{n}T18:00:00Z>Apr 2{n}</time></td><td>{n}</td></tr>"
        for n, key in enumerate(keys)
    )
    own = (
        "<div class=box><time datetime=2026-04-2%sT18:00:00Z></time><div class=user>%s</div>"
        "<div class=text>%s</div></div>"
    )
    later = "".join(
        own.replace("<div", f"<div id=post-{key}", 1) % (n, who, f"words of a reply {key}")
        for n, (key, who) in enumerate(zip(keys[1:], ("ann", "cy"), strict=True), 5)
    )

    def thread(visit: Visit) -> None:
        first = "page=2" not in visit.target
        last = "<a href='?page=1'>1</a><a href='#'>Next</a>"
        body = (
            "<h1>A long title</h1>"
            + own % (4, "ben", "the words of the post itself")
            + later
            + "<a href='?page=2'>Next</a>"
        )
        visit.reply((body if first else later.replace("0123456789a", "0123456789b") + last).encode())

    return {
        "/club/": page(front.encode()),
        "/club/board/garden/": page(f"<table>{head}</table>".encode()),
        "/club/board/bikes/": page(f"<table>{head}{rows}</table><a href='?page=2'>Next</a>".encode()),
        **{f"/club/thread/{key}/": thread for key in keys},
    }


@pytest.mark.parametrize(("target", "holds"), [("/c/cats/2", True), ("/t/99", False)])
def test_the_only_pager_of_lists_refutes_a_file_if_it_leads_elsewhere(target: str, holds: bool) -> None:
    site = parse_site(
        "name: f\nbase: https://f.example\nboards: [cats, dogs]\n"
        "list: {address: '/c/{board}', identity: '^/c/(?P<board>\\w+)$', record: li, "
        "fields: {post_id: {css: a, attr: href, regex: '/t/(\\d+)'}, title: a}, "
        "next: {css: .on, attr: href, as: url}}\n"
        "post: {address: '/t/{post}', fields: {title: h1, body: p}}\n",
        "f.yaml",
    )
    opened, trials = compile_site(site, None), []
    for board, start, more in (("cats", 1, f"<a class=on href={target}>on</a>"), ("dogs", 11, "")):
        request = Request("f", Stage.LIST, board, f"https://f.example/c/{board}")
        rows = "".join(f"<li><a href=/t/{start + at}>Lamp {start + at}</a></li>" for at in range(4))
        page = Fetched(request.address, 200, {"content-type": "text/html"}, f"{rows}{more}".encode(), 1_718_866_440.0)
        trials.append(reread(opened, request, page))

    refuted = [one.name for one in check_trials(site, trials) if not one.holds]

    assert ("the pager of lists leads on" not in refuted) is holds
