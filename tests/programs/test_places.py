"""`crawl-tasks new` where no forum is, or not at once: it goes on to where it is, or says in one line why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from crawl_tasks.cli.exits import Exit
from crawl_tasks.fetch.browser import missing
from crawl_tasks.sites.loader import load_site
from tests.programs.content import small_forum
from tests.programs.flarum import SHELL
from tests.programs.host import Answer, Ask, moved, page, served
from tests.programs.smf import Smf
from tests.unit.command_line import run

FORUM = Smf(small_forum(3))
PORTAL = '<title>Club</title><h1>Welcome</h1><a href="/about">About us</a> <a href="{}">Forum</a>'
LOGIN = "<title>Log in</title><form><input name=login><input type=password name=password></form>"


@dataclass(frozen=True)
class Place:
    """A site in a few words: what it answers to a request."""

    answer: Callable[[Ask], Answer]


def club(ask: Ask) -> Answer:
    if ask.path.startswith("/forum/"):
        return FORUM.answer(replace(ask, path=ask.path.removeprefix("/forum"), base=f"{ask.base}/forum"))
    return page(PORTAL.format("/forum/")) if ask.path == "/" else page("no", 404)


def bakery(ask: Ask) -> Answer:
    return page("<title>Bread</title><a href=/contact>Contact</a>") if ask.path == "/" else page("no", 404)


def members_only(ask: Ask) -> Answer:
    return page(LOGIN) if ask.path == "/login" else moved(f"{ask.base}/login", 302)


def test_a_forum_that_a_portal_links_to_is_found(tmp_path: Path) -> None:
    with served(Place(club)) as host:
        result = run("new", host.url, "--name", "club", home=tmp_path)

    assert result.exit_code == Exit.OK, result.output
    site = load_site(tmp_path / "sites" / "club.yaml")
    assert (site.engine, site.base) == ("smf", f"{host.url}/forum")
    assert [board.id for board in site.boards] == ["1", "2", "3", "front"]


@pytest.mark.parametrize("address", ["/community", "/community/", "/community/index.php"])
def test_a_forum_below_a_path_is_found_with_and_without_a_slash(tmp_path: Path, address: str) -> None:
    with served(FORUM, "/community") as host:
        result = run("new", host.url.removesuffix("/community") + address, "--name", "club", home=tmp_path)

    assert result.exit_code == Exit.OK, result.output
    assert load_site(tmp_path / "sites" / "club.yaml").base == host.url


NOT_DRAWN = "is drawn by scripts: no list of threads was found" if missing() else "Flarum: no boards found on"
"""A page that scripts draw is looked at as they leave it only where Chromium is."""


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        (bakery, Exit.FAILURES, "no forum was found here"),
        (lambda _: page(PORTAL.format("http://127.0.0.1:1/")), Exit.FAILURES, "nor behind http://127.0.0.1:1/"),
        pytest.param(
            lambda ask: page(SHELL) if ask.path == "/" else page("", 404), Exit.FAILURES, NOT_DRAWN, id="drawn"
        ),
        (members_only, Exit.FAILURES, "asks for a login"),
        (lambda _: page(LOGIN, 403), Exit.FAILURES, "wants a login"),
        (lambda _: moved("http://127.0.0.1:1/"), Exit.USAGE, "crawl-tasks new http://127.0.0.1:1/"),
    ],
)
def test_what_is_no_forum_for_us_is_one_line(
    tmp_path: Path, answer: Callable[[Ask], Answer], code: int, text: str
) -> None:
    with served(Place(answer)) as host:
        result = run("new", host.url, "--name", "club", home=tmp_path)

    assert result.exit_code == code, result.output
    (line,) = result.stderr.splitlines()
    assert text in line
    assert not (tmp_path / "sites").exists()


def archive(ask: Ask) -> Answer:
    """Answer as an archive by month, whose threads stand on a page each."""
    post = "<div class=m id=m{0}><b class=who>{1}</b> <time>2024-05-{2:02d} 10:{3:02d}</time><p class=say>words {0} of the lamp"
    names = ("ann", "bob", "carl")
    if ask.path in ("/talk/2024/05/", "/talk/all/"):
        rows = [
            f"<li><a href=/talk/t/{n}/>Thread of the lamp {n}</a> <b>{names[n % 3]}</b> <time>2024-05-{n:02d} 10:00</time>"
            for n in range(1, 15)
        ]
        return page(f"<title>May</title><ul>{''.join(rows)}</ul>")
    if ask.path.startswith("/talk/t/"):
        n = int(ask.path.split("/")[3])
        said = [post.format(n * 10 + turn, names[(n + turn) % 3], n, turn) for turn in range(1 + n % 5)]
        return page(f"<h1>Thread of the lamp {n}</h1>{'</div>'.join(said)}</div>")
    return page("no", 404)


def test_a_month_of_an_archive_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    with served(Place(archive)) as host:
        month = run("new", f"{host.url}/talk/2024/05/", "--name", "month", home=tmp_path)
        whole = run("new", f"{host.url}/talk/all/", "--name", "whole", home=tmp_path)

    assert month.exit_code == Exit.FAILURES
    assert "lists the threads of one month or year; give the address of a list of all threads" in month.stderr
    assert whole.exit_code == Exit.OK, whole.stderr


def test_a_forum_whose_robots_txt_shuts_us_out_is_said_to(tmp_path: Path) -> None:
    with served(FORUM, robots="User-agent: *\nDisallow: /\n") as host:
        result = run("new", host.url, "--name", "club", home=tmp_path)

    assert result.exit_code == Exit.FAILURES
    (line,) = result.stderr.splitlines()
    assert "robots.txt does not allow" in line
    assert host.asked == []
