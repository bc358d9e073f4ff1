"""Links to further pages, and those that look alike."""

from __future__ import annotations

import pytest

from crawl_tasks.discovery.next_page import further_links
from crawl_tasks.model import Fetched
from crawl_tasks.parse.document import Document

HERE = "http://a.example/topics/7"


@pytest.mark.parametrize(
    ("link", "leads_on"),
    [
        ("/topics/7?page=2", True),
        ("/topics/7?page=2#page-2", True),
        ("/topics/7?before=c90", True),
        ("/topics/7?r=341#message-341", False),
        ("/topics/7?p=5#p5", False),
        ("/topics/7?go=next", False),
        ("/topics/8?page=2", False),
    ],
)
def test_the_address_of_a_reply_is_no_further_page(link: str, leads_on: bool) -> None:
    body = f"<a href='{link}'>link</a>".encode()
    page = Document(Fetched(HERE, 200, {"content-type": "text/html"}, body, 0.0, 1, len(body)))

    assert bool(further_links(page)) is leads_on
