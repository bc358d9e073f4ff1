"""The first post of one thread, read from its own page: the thread's row in the list must agree."""

from __future__ import annotations

from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links import PageLink
from crawl_tasks.discovery.next_page import next_of
from crawl_tasks.discovery.thread_page import author_in, find_comments, find_post
from crawl_tasks.discovery.timestamps import moment_of, times_in
from crawl_tasks.parse.document import Document


@dataclass(frozen=True, slots=True)
class FirstPost:
    """Author and moment of a thread's first post, as far as known. `replies` is known for a thread of a single page.

    `row` is the thread's row in a list.
    """

    row: LexborNode
    author: str = ""
    at: int | None = None
    replies: int | None = None


def beginning_of(row: LexborNode, thread: tuple[PageLink, Document], elsewhere: str = "") -> FirstPost:
    """Return the first post of a thread. `elsewhere` is the text of another page."""
    link, document = thread
    comments = find_comments(document)
    around = find_post(document, comments, elsewhere)
    nodes = comments.nodes if comments is not None else []
    records = [around] if around is not None else nodes
    replies = len(nodes) - (around is None) if nodes and next_of(document, link.key) is None else None
    return FirstPost(row, _author(records), _moment(records), replies)


def _author(records: list[LexborNode]) -> str:
    css = author_in(records) if records else None
    node = records[0].css_first(css) if css else None
    return " ".join(node.text().split()) if node is not None else ""


def _moment(records: list[LexborNode]) -> int | None:
    times = times_in(records[0]) if records else []
    return moment_of(times[0]) if times else None
