"""Unknown forums that answer with status 200 for a thread that is gone: the proposed file knows their page."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.crawl_policy import Gate
from crawl_tasks.sites.loader import load_site
from crawl_tasks.store.upsert import Store
from tests.frontier.small_crawl import SmallCrawl
from tests.programs.classic import CLASSIC
from tests.programs.content import Content, small_forum
from tests.programs.e107 import E107, HERE
from tests.programs.host import Answer, Ask, served
from tests.programs.layouts import Layout
from tests.programs.phorum import PHORUM
from tests.programs.subsilver import RESTYLED
from tests.unit.command_line import run

CONTENT = small_forum(24)
REMOVED = 12
LOGIN = """<html><title>Log in</title><body><form id=login method=post><p class=information>We looked for this topic,
  but it   is nowhere to be found. It is off limits to you.</p><input name=user><input name=password></form></body></html>"""
GONE = {
    "a box": "<html><body><div id=head>Our forum</div><div class=errorbox>Dieses Thema existiert nicht.</div></body></html>",
    "a login form": LOGIN,
    "no name at all": "<html><body><table><tr><td><b>指定的主题不存在或已被删除</b></td></tr></table></body></html>",
    "two messages": "<html><body><div class=errorbox>{2}</div></body></html>",
    "an echo": "<html><body><p class=err>Error: there is no such topic (id {0}).</p></body></html>",
}
LAYOUTS = {"subsilver": RESTYLED, "classic": CLASSIC, "phorum": PHORUM}
OTHER = {
    "a login form that says no more": (LOGIN.replace("nowhere to be found", "for members"), "count as failed"),
    "another thread": (RESTYLED.shown(CONTENT).answer(Ask("/viewtopic.php", {"t": "3"}, "")).body, "pass for threads"),
}


@dataclass
class Losing:
    """A forum in a layout, some of whose threads are gone meanwhile."""

    layout: Layout
    content: Content = CONTENT
    frame: str = ""
    """Markup at the end of every page of the layout."""

    def answer(self, ask: Ask) -> Answer:
        said = self.layout.shown(self.content).answer(ask)
        if said.body == self.layout.gone:
            tip = "one" if ask.number("t", 0) % 2 else "two"
            was_there = re.search(rf"\b{REMOVED}\b", f"{ask.path} {ask.query}") is not None
            told = "该帖子已被删除" if was_there else "该帖子不存在或已被删除"
            body = said.body.replace("{0}", str(id(ask))).replace("{1}", tip).replace("{2}", told)
            return replace(said, body=body)
        return replace(said, body=said.body.replace("</body>", f"{self.frame}</body>"))

    def lose(self, number: int) -> None:
        rest = tuple(one for one in self.content.topics if one.number != number)
        self.content = replace(self.content, topics=rest)


def crawled_before_and_after(forum: Losing, tmp_path: Path, client: redis.Redis, frontier: Frontier) -> dict[str, str]:
    """Return the states of all posts after a proposed file crawled the forum, a thread went, and a full pass."""
    with served(forum) as host, Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        new = run("new", host.url, "--name", "demo", home=tmp_path)
        assert new.exit_code == Exit.OK, new.output
        site = load_site(tmp_path / "sites" / "demo.yaml")
        crawl = SmallCrawl(client, frontier, host)
        interval = site.interval.model_copy(update={"full_pass_s": 86400.0})
        gate = Gate(window=50, delay_s=0, retry_base_s=0.1)
        publish_site(frontier, site.model_copy(update={"gate": gate, "interval": interval}), contact=None)
        crawl.scan()
        crawl.store_into(store)
        forum.lose(REMOVED)
        crawl.full_pass()
        crawl.store_into(store)
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as connection, connection:
        return dict(connection.execute("select post_id, state from posts"))


@pytest.mark.parametrize(
    ("shown", "layout"),
    [
        pytest.param(shown, layout, id=f"{name}-{program}", marks=[pytest.mark.long] * ((row + column) % 3 > 0))
        for row, (name, shown) in enumerate(GONE.items())
        for column, (program, layout) in enumerate(LAYOUTS.items())
    ],
)
def test_a_thread_that_is_gone_with_status_200_is_stored_as_deleted(
    shown: str, layout: Layout, client: redis.Redis, frontier: Frontier, tmp_path: Path
) -> None:
    states = crawled_before_and_after(Losing(replace(layout, gone=shown)), tmp_path, client, frontier)

    assert states == {str(number): "normal" for number in CONTENT.visible} | {str(REMOVED): "deleted"}
    text = (tmp_path / "sites" / "demo.yaml").read_text("utf-8")
    assert text.count("gone_when") == 1 + ("\ncomment:" in text)


NOTICE = "<p class=head>Posts that were deleted are not restored.</p>"
BOX = "<html><body>{before}<div class={name}>Dieses Thema existiert nicht.</div></body></html>"
RULES = {
    "words of all pages": (BOX.format(before=NOTICE, name="box"), "div.box"),
    "words of one page": (BOX.format(before="<p class=tip>Tip {1}: deleted posts count.</p>", name="box"), "div.box"),
    "an element of all pages": (BOX.format(before="", name="foot"), "'body:not("),
}


@pytest.mark.parametrize(("shown", "css"), RULES.values(), ids=RULES)
def test_only_words_of_gone_threads_in_elements_of_their_pages_become_the_rule(
    shown: str, css: str, tmp_path: Path
) -> None:
    forum = Losing(replace(RESTYLED, gone=shown), frame=NOTICE + "<div class=foot>the end</div>")
    with served(forum) as host:
        new = run("new", host.url, "--name", "demo", home=tmp_path)

    assert new.exit_code == Exit.OK, new.output
    text = (tmp_path / "sites" / "demo.yaml").read_text("utf-8")
    [rule, _] = re.findall("gone_when: (.+)", text)
    assert (rule.startswith(f"{{css: {css}"), "existiert" in rule) == (True, True), rule


@pytest.mark.parametrize(("shown", "told"), OTHER.values(), ids=OTHER)
def test_a_page_that_may_be_shown_for_other_reasons_proves_no_deletion(shown: str, told: str, tmp_path: Path) -> None:
    with served(Losing(replace(RESTYLED, gone=shown))) as host:
        new = run("new", host.url, "--name", "demo", home=tmp_path)

    assert new.exit_code == Exit.OK, new.output
    assert re.search(rf"t=10000\d\d, a thread that does not exist, has status 200 and .* {told}", new.output)
    assert "gone_when: " not in (tmp_path / "sites" / "demo.yaml").read_text("utf-8")


def test_a_forum_that_answers_404_is_asked_for_one_thread_that_does_not_exist(tmp_path: Path) -> None:
    with served(Losing(RESTYLED)) as host:
        new = run("new", host.url, "--name", "demo", home=tmp_path)
        missed = [path for path in host.asked if "t=100" in path]

    assert new.exit_code == Exit.OK, new.output
    [path] = missed
    assert re.fullmatch(r"/viewtopic\.php\?t=10000\d\d", path)
    assert "gone_when" not in (tmp_path / "sites" / "demo.yaml").read_text("utf-8")


def test_a_forum_that_redirects_to_its_front_page_needs_no_rule(tmp_path: Path) -> None:
    with served(E107.shown(CONTENT)) as host:
        new = run("new", f"{host.url}{HERE}/forum.php", "--name", "demo", home=tmp_path)

    assert new.exit_code == Exit.OK, new.output
    assert "does not exist" not in new.output
    text = (tmp_path / "sites" / "demo.yaml").read_text("utf-8")
    assert "gone_when" not in text
    # A page of statistics is called a forum too, and is no better one.
    assert "forum_stats" not in new.output + text
