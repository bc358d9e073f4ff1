"""The function that the documentation shows in place of rules."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from crawl_tasks.errors import Gone
from crawl_tasks.model import FULL_REACH, Reach, Request, Stage
from crawl_tasks.parse.site_parser import SiteParser
from tests.unit.pages import COMMENT, LIST, POST, answer, ask, site_parser

PAGE = Path(__file__).parents[2] / "docs" / "site-files.md"
THREAD = """<h1>How do I <i>begin</i>?</h1><div class=first><p class=text>I have<br>no idea.</p></div>
<table class=replies>
<tr id=r17 data-number=1><td class=who>Ada</td><td class=text>Read on.</td></tr>
<tr id=r19 data-number=2 data-answers=1><td class=who>Bo</td><td class=text>I did.</td></tr>
</table>"""


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SiteParser:
    [code] = re.findall(r'```python\n("""my_forum.py.*?)```', PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "my_forum.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_forum", raising=False)
    return site_parser(post="  parser: my_forum:read_post\n", stages=(LIST, "\n  address: '/thread/{post}'\n", COMMENT))


def test_the_function_of_the_documentation_reads_a_thread(parser: SiteParser) -> None:
    request = ask(Stage.POST)

    items = parser.parse(request, answer(request, THREAD), 0).items

    [post] = items.posts
    assert (post.title, post.body) == ("How do I begin ?", "I have\nno idea.")
    assert [(row.comment_id, row.parent_id, row.author, row.body) for row in items.comments] == [
        ("r17", None, "Ada", "Read on."),
        ("r19", "r17", "Bo", "I did."),
    ]


def test_the_function_of_the_documentation_knows_a_thread_that_is_gone(parser: SiteParser) -> None:
    request = ask(Stage.POST)

    with pytest.raises(Gone):
        parser.parse(request, answer(request, "<p id=no-such-thread>No such thread</p>"), 0)


def further_pages(tail: int, reach: Reach = FULL_REACH) -> list[Request]:
    [code] = re.findall(r"```python\n(def further_pages.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {"Stage": Stage}
    exec(code, names)
    site = site_parser(stages=(LIST, POST, COMMENT)).site
    request = ask(Stage.POST)._replace(revision="7", reach=reach)
    return list(names["further_pages"](request, site, BeautifulSoup("<p class=pager data-pages=4>", "lxml"), tail))


def test_the_function_for_further_pages_asks_for_those_that_are_new() -> None:
    assert [(one.stage, one.page, one.revision) for one in further_pages(tail=3)] == [
        (Stage.COMMENT, 3, "7"),
        (Stage.COMMENT, 4, "7"),
    ]
    assert [one.page for one in further_pages(tail=0)] == [2, 3, 4]
    assert further_pages(tail=0)[0].address.endswith("/thread/1/2")


def test_the_function_for_further_pages_reads_all_of_them_in_a_full_pass() -> None:
    whole = Reach(whole="3")

    assert [(one.page, one.reach) for one in further_pages(tail=3, reach=whole)] == [(2, whole), (3, whole), (4, whole)]
