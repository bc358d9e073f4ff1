"""`crawl-tasks new`: an address becomes a site file, or one line that says why not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.new import WIDTH
from crawl_tasks.discovery.discover import shortened
from crawl_tasks.fetch.browser import missing
from crawl_tasks.model import Stage
from crawl_tasks.registry.site_publisher import terms_of
from crawl_tasks.sites.loader import load_site, parse_site
from crawl_tasks.sites.schema import BoardKind
from tests.layouts.drawing import content, drawn
from tests.layouts.pages import Pages
from tests.programs.host import served
from tests.script_forum import ScriptForum
from tests.unit.command_line import run
from tests.unit.hostile_server import HostileServer, page
from tests.unit.small_proxy import SmallProxy

FRONT = b"""<html lang="en"><title>Our \xe2\x98\x83 "forum": yes</title><body id="phpbb">
<ul class="topiclist forums"><li><dl><a class="forumtitle" href="./viewforum.php?f=2&amp;sid=aa">General</a></dl></li>
<li><dl><a class="forumtitle" href="./viewforum.php?f=5">Help # me</a></dl></li>
<li><dl><a class="forumtitle" href="https://elsewhere.example/">Elsewhere</a></dl></li></ul>
<div class="copyright">Powered by <a>phpBB</a></div>
<div id="nav-footer"><ul><li class="rightside">All times are <span title="UTC+1">UTC+01:00</span></li></ul></div>"""
LIST = b"""<body id="phpbb"><h2 class="forum-title">General</h2><ul class="topiclist topics"><li class="row bg1"><dl>
<a class="topictitle" href="./viewtopic.php?t=7">First topic</a><div class="topic-poster">by <a class="username">ann</a>
<time datetime="2024-05-01T10:00:00+00:00">May</time></div><dd class="posts">3</dd></dl></li></ul></body>"""
ROBOTS = b"User-agent: *\nDisallow: /forum/search.php\nCrawl-delay: 0.01\n"


@pytest.fixture
def forum() -> Iterator[HostileServer]:
    """A phpBB that lies below /forum."""
    server = HostileServer(
        {
            "/robots.txt": page(ROBOTS, **{"Content-Type": "text/plain"}),
            "/forum/": page(FRONT),
            "/forum/viewforum.php": page(LIST),
        }
    )
    yield server
    server.stop()


@pytest.mark.parametrize(("count", "last"), [(4, "d"), (5, "2 more errors like these")])
def test_many_errors_of_pages_are_told_in_few_lines(count: int, last: str) -> None:
    told = shortened("abcde"[:count])

    assert (len(told), told[-1]) == (4, last)


def test_the_file_names_program_boards_zone_and_pace_and_loads(tmp_path: Path, forum: HostileServer) -> None:
    result = run("new", f"{forum.base}/forum/", "--name", "ours", home=tmp_path)

    assert result.exit_code == Exit.FAILURES, result.output  # the forum has no page of its thread
    assert f"refuted   {forum.base}/forum/viewtopic.php?t=7 answered 404" in result.stderr
    assert "remark    refuted" not in result.stderr
    assert "# refuted: " in (tmp_path / "sites" / "ours.yaml").read_text("utf-8")
    site = load_site(tmp_path / "sites" / "ours.yaml")
    assert (site.engine, site.timezone, site.title) == ("phpbb", "Etc/GMT-1", 'Our ☃ "forum": yes')
    assert [(board.id, board.title) for board in site.boards] == [("2", "General"), ("5", "Help # me")]
    assert site.base == f"{forum.base}/forum"
    assert site.private_hosts == (forum.place,)
    assert "left out  https://elsewhere.example/" in result.stderr
    assert "Crawl-delay 0.01" in result.stderr


ROW = """<li class="row bg1"><dl><a class="topictitle" href="./viewtopic.php?t={}">A topic</a>
<div class="topic-poster">by <a class="username">ann</a> <time datetime="2024-05-01T09:00:00+00:00">May</time> in
<a href="./viewforum.php?f={}">Board</a></div><dd class="posts">3</dd>
<dd class="lastpost"><time datetime="2024-05-01T{}:00:00+00:00">May</time></dd></dl></li>"""
ACTIVE = "/forum/search.php?search_id=active_topics"


def found_on(forum: HostileServer, home: Path, *rows: tuple[int, int, int], robots: bytes = b"") -> tuple[str, str]:
    """Give the site file and the words of `new` for a forum whose active topics are of these topics, boards, hours."""
    active = "".join(ROW.format(*row) for row in rows)
    forum.routes["/robots.txt"] = page(robots, **{"Content-Type": "text/plain"})
    forum.routes["/forum/search.php"] = page(f'<ul class="topiclist topics">{active}</ul>'.encode())
    result = run("new", f"{forum.base}/forum/", "-o", "-", home=home)
    assert result.exit_code == Exit.FAILURES, result.output  # the forum has no pages of its threads
    return result.stdout, result.stderr


def show_counts(forum: HostileServer, hour: str) -> None:
    """Show counts of both boards on the front page, with a last post at an hour."""
    last = f'<dd class="lastpost"><time datetime="2024-05-01T{hour}:00:00+00:00">May</time></dd>'
    row = f'<li class="row"><dl><a class="forumtitle" href="./viewforum.php?f={{}}">B</a><dd class="posts">3</dd>{last}'
    text = b'<body id="phpbb"><ul class="topiclist forums">%s%s</ul>' % (row.format(2).encode(), row.format(5).encode())
    forum.routes["/forum/"] = page(text + FRONT.rpartition(b"</ul>")[2])


def test_a_page_of_active_topics_over_all_boards_becomes_the_news_page(tmp_path: Path, forum: HostileServer) -> None:
    text, said = found_on(forum, tmp_path, (8, 5, 14), (9, 2, 13))

    assert '- {id: news, kind: news, address: "/search.php?search_id=active_topics"}' in text
    assert "freshness: {goal_s: 600}" in text
    assert "2 threads of 2 boards" in said


def test_beside_a_news_page_the_front_page_is_read_once_a_day_for_new_boards(
    tmp_path: Path, forum: HostileServer
) -> None:
    show_counts(forum, "10")

    text, said = found_on(forum, tmp_path, (8, 5, 14), (9, 2, 13))

    site = parse_site(text, "new.yaml")
    seldom = {board.kind: board.interval_s for board in site.boards if board.kind is not BoardKind.LIST}
    assert seldom == {BoardKind.NEWS: None, BoardKind.FRONT: 86400}
    assert "2 boards with counts of their posts" in said
    assert str(terms_of(site)["freshness"]).split()[2:] == ["news"]


@pytest.mark.parametrize(
    ("rows", "robots"),
    [
        (((8, 5, 14), (9, 5, 13)), b""),
        (((8, 5, 12), (9, 2, 13)), b""),
        (((7, 2, 14), (9, 5, 13)), b""),
        ((), b""),
        (((8, 5, 14), (9, 2, 13)), ROBOTS),
    ],
    ids=["one board", "oldest first", "other revisions than the board shows", "empty", "forbidden"],
)
def test_another_page_does_not(
    tmp_path: Path, forum: HostileServer, rows: tuple[tuple[int, int, int], ...], robots: bytes
) -> None:
    text, _ = found_on(forum, tmp_path, *rows, robots=robots)

    assert "kind: news" not in text
    assert "freshness: {goal_s: 600}" in text
    assert len([path for path in forum.paths() if path == ACTIVE]) == (0 if robots else 1)


@pytest.mark.parametrize(("hour", "is_taken"), [("10", True), ("08", False)], ids=["with its last post", "stale"])
def test_a_front_page_with_counts_takes_the_place_of_a_news_page(
    tmp_path: Path, forum: HostileServer, hour: str, is_taken: bool
) -> None:
    show_counts(forum, hour)
    listed = LIST.replace(b"</dl></li>", b'<dd class="lastpost"><time datetime="2024-05-01T10:00:00Z">May</time></dd>')
    forum.routes["/forum/viewforum.php"] = page(listed)

    said = run("new", f"{forum.base}/forum/", "-o", "-", home=tmp_path)

    assert ('  - {id: front, kind: front, address: "/"}' in said.stdout) is is_taken
    assert ("2 boards with counts of their posts" in said.stderr) is is_taken
    assert len([path for path in forum.paths() if path == "/forum/"]) == 1


def test_no_page_is_asked_for_twice_and_few_in_all(tmp_path: Path, forum: HostileServer) -> None:
    run("new", f"{forum.base}/forum/", home=tmp_path)

    paths = forum.paths()
    assert len(paths) == len(set(paths)) <= 4


def test_boards_that_only_the_page_of_a_board_names_are_found_below_it(tmp_path: Path, forum: HostileServer) -> None:
    below = b'<ul class="topiclist forums"><dl><a class="forumtitle" href="./viewforum.php?f=9">Below</a></dl></ul>'
    forum.routes["/forum/viewforum.php"] = page(LIST + below)

    result = run("new", f"{forum.base}/forum/", "-o", "-", home=tmp_path)

    assert '- {id: 9, title: "Below", parent: 2}' in result.stdout
    assert "boards    3, 1 of them below another" in result.stderr
    assert sum(path.startswith("/forum/viewforum.php") for path in forum.paths()) == 3


def test_boards_that_are_known_by_their_links_are_looked_into_there(tmp_path: Path, forum: HostileServer) -> None:
    board = '<li component="categories/category"><h2 class=title><a href="/category/{}">x</a></h2></li>'
    topic = (
        '<li component="category/topic" data-tid=1><h3 component="topic/header"><a href="/topic/1/a">A</a></h3></li>'
    )
    forum.routes["/"] = page(board.format("4/four").encode())
    forum.routes["/category/4/four"] = page((topic + board.format("5/five")).encode())
    forum.routes["/category/5/five"] = page(topic.encode())

    result = run("new", forum.base, "--engine", "nodebb", "-o", "-", home=tmp_path)

    assert f'- {{id: 5, title: "x", parent: 4, address: "{forum.base}/category/5/five"}}' in result.stdout
    assert [path for path in forum.paths() if "category" in path] == ["/category/4/four", "/category/5/five"]


def test_a_file_that_is_there_stays_unless_it_is_forced(tmp_path: Path, forum: HostileServer) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text("mine\n")

    refused = run("new", f"{forum.base}/forum/", "-o", str(path), home=tmp_path)
    kept = path.read_text()
    forced = run("new", f"{forum.base}/forum/", "-o", str(path), "--force", home=tmp_path)

    assert (refused.exit_code, kept, forced.exit_code) == (Exit.USAGE, "mine\n", Exit.FAILURES)
    assert load_site(path).engine == "phpbb"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("https://93.184.216.34/",), Exit.USAGE, "set CRAWL_CONTACT"),
        (("ftp://forum.example/",), Exit.FAILURES, "only http and https"),
        (("http://127.0.0.1:1/",), Exit.FAILURES, "127.0.0.1"),
        (("http://127.0.0.1:1/", "--engine", "nope"), Exit.USAGE, "no preset 'nope'; there are: 4chan, bbpress"),
        (("http://127.0.0.1:1/", "--name", "../x"), Exit.USAGE, "--name: '../x' is none"),
    ],
)
def test_what_cannot_be_looked_at_is_one_line(tmp_path: Path, arguments: tuple[str, ...], code: int, text: str) -> None:
    result = run("new", *arguments, home=tmp_path)

    assert result.exit_code == code
    assert text in result.stderr.splitlines()[-1]
    assert not (tmp_path / "sites").exists()


def test_an_engine_that_reads_nothing_here_is_said_to(tmp_path: Path, forum: HostileServer) -> None:
    result = run("new", f"{forum.base}/forum/", "--engine", "mybb", home=tmp_path)

    assert result.exit_code == Exit.USAGE
    assert "the preset mybb finds no boards here" in result.stderr


def test_a_list_of_addresses_becomes_a_table_of_what_worked(tmp_path: Path, forum: HostileServer) -> None:
    layout = drawn(0)
    with served(Pages(layout, content(layout))) as host:
        lines = ["# forums", host.url, f"{forum.base}/forum/", "http://127.0.0.1:1/", "no address", host.url]
        (tmp_path / "forums.txt").write_text("\n".join(lines), "utf-8")
        result = run("new", "--from", str(tmp_path / "forums.txt"), home=tmp_path)
        log = [one.path for one in host.log]

    assert result.exit_code == Exit.FAILURES
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if "http" in line}
    assert "nothing: crawl-tasks try forum-" in rows[host.url]
    assert re.search(r"(\d+) of \1 checks hold", rows[host.url])
    assert "answered 404" in rows[f"{forum.base}/forum/"]
    assert " none " in rows["http://127.0.0.1:1/"]
    assert len(list((tmp_path / "sites").glob("*.yaml"))) == 2
    assert len(log) == len(set(log)), "an address is looked at once"


def test_a_list_goes_without_a_name_and_an_address(tmp_path: Path) -> None:
    (tmp_path / "forums.txt").write_text("", "utf-8")

    for more in (["http://127.0.0.1:1/"], ["--name", "x"], ["-o", "-"]):
        assert run("new", "--from", str(tmp_path / "forums.txt"), *more, home=tmp_path).exit_code == Exit.USAGE
    assert run("new", home=tmp_path).exit_code == Exit.USAGE


START_PAGES = ("board", "second page of a board", "thread", "second page of a thread", "sitemap", "home page")


@pytest.mark.parametrize("seed", [0, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", START_PAGES)
def test_any_page_of_a_forum_leads_to_its_front_page(tmp_path: Path, seed: int, kind: str) -> None:
    layout = drawn(seed)
    whole = content(layout)
    pages = Pages(layout, whole)
    board, thread = pages.board_url(whole.boards[0]), pages.topic_url(whole.threads[2])
    paths = {
        "board": board,
        "second page of a board": pages.further(board, layout.per_list),
        "thread": thread,
        "second page of a thread": pages.further(thread, layout.per_thread),
        "sitemap": "/sitemap.xml",
        "home page": "/welcome",
    }
    with served(pages) as host:
        result = run("new", f"{host.url}{paths[kind]}", "--name", "made", home=tmp_path)
        asked = len(host.asked)

    assert result.exit_code == Exit.OK, result.stderr
    word = {"sitemap": "a sitemap", "home page": "a page", "thread": "a thread"}.get(kind, "page of a ")
    assert re.search(rf"{re.escape(paths[kind])} is .*{word}.*; its forum begins at {host.url}/$", result.stderr, re.M)
    found = [board for board in load_site(tmp_path / "sites" / "made.yaml").boards if board.kind is BoardKind.LIST]
    assert len(found) == len(whole.boards)
    assert asked <= 40


@pytest.fixture
def script_forum() -> Iterator[ScriptForum]:
    # By POST, so that nothing but the pages can be read.
    forum = ScriptForum(threads=12, method="POST")
    yield forum
    forum.server.stop()


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_forum_that_only_scripts_draw_is_read_by_a_browser_and_the_file_says_so(
    tmp_path: Path, script_forum: ScriptForum
) -> None:
    result = run("new", f"{script_forum.server.base}/", "--name", "ours", home=tmp_path)

    site = load_site(tmp_path / "sites" / "ours.yaml")
    assert list(site.rendered) == [Stage.LIST, Stage.POST, Stage.COMMENT]
    assert [(board.id, board.title) for board in site.boards] == [("1", "General")]
    assert set(site.list.fields) >= {"post_id", "title", "author", "created_at"}
    assert "a browser draws them, as no API was found that tells the same" in result.stderr


def test_without_a_browser_a_forum_that_only_scripts_draw_is_named_as_such(
    tmp_path: Path, script_forum: ScriptForum, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    result = run("new", f"{script_forum.server.base}/", home=tmp_path)

    assert result.exit_code == Exit.FAILURES
    assert "is drawn by scripts: no list of threads was found" in result.stderr
    assert "its scripts ask by POST, as `body` in a site file does" in result.stderr
    assert "; `render` needs" in result.stderr


@pytest.mark.parametrize("seed", [0, pytest.param(8, marks=pytest.mark.long)])
def test_a_board_that_is_called_a_board_is_not_taken_for_the_forum(tmp_path: Path, seed: int) -> None:
    layout = drawn(seed)
    whole = content(layout)
    named = [replace(board, title=f"Board {number}") for number, board in enumerate(whole.boards)]
    whole = replace(whole, boards=named)

    with served(Pages(layout, whole)) as host:
        result = run("new", f"{host.url}/", "--name", "made", home=tmp_path)

    assert result.exit_code == Exit.OK, result.stderr
    assert "its forum begins at" not in result.stderr
    held = re.search(r"^holds     .*\n(?: {10}\S.*\n)+", result.stderr, re.MULTILINE)
    assert held, result.stderr
    assert max(map(len, held[0].splitlines())) <= WIDTH
    assert re.search(rf"^boards\s+{len(named)}\b", result.stderr, re.MULTILINE), result.stderr


def test_a_forum_behind_a_proxy_needs_no_name_server_here(tmp_path: Path, forum: HostileServer) -> None:
    with SmallProxy() as proxy:
        result = run(
            "new", f"http://forum.example:{forum.port}/forum/", "--name", "ours", home=tmp_path,
            proxy=f"http://{proxy.place}", contact="https://crawler.example/",
        )  # fmt: skip

    assert "boards    2" in result.stderr, result.stderr
    assert load_site(tmp_path / "sites" / "ours.yaml").base == f"http://forum.example:{forum.port}/forum"
    assert set(proxy.asked) == {f"forum.example:{forum.port}"}
