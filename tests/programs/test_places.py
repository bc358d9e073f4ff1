"""`crawl-tasks new` where no forum is, or not at once: it goes on to where it is, or says in one line why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from crawl_tasks.cli.exits import Exit
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


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        (bakery, Exit.FAILURES, "no forum was found here"),
        (lambda _: page(PORTAL.format("http://127.0.0.1:1/")), Exit.FAILURES, "nor behind http://127.0.0.1:1/"),
        (lambda ask: page(SHELL) if ask.path == "/" else page("", 404), Exit.FAILURES, "Flarum: no boards found on"),
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


def test_a_forum_whose_robots_txt_shuts_us_out_is_said_to(tmp_path: Path) -> None:
    with served(FORUM, robots="User-agent: *\nDisallow: /\n") as host:
        result = run("new", host.url, "--name", "club", home=tmp_path)

    assert result.exit_code == Exit.FAILURES
    (line,) = result.stderr.splitlines()
    assert "robots.txt does not allow" in line
    assert host.asked == []
