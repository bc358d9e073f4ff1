"""Before step 1, survey: how one thread begins, by its own page: what its row in the list says must agree with it."""

from __future__ import annotations

from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import Document
from crawl_tasks.survey.links import Link
from crawl_tasks.survey.moments import moment_of, times_in
from crawl_tasks.survey.pager import next_of
from crawl_tasks.survey.thread import author_in, find_comments, find_post


@dataclass(frozen=True, slots=True)
class Beginning:
    """Who began a thread and when, as far as its page tells; `replies` only where the thread has a single page.

    `row` is where a list names it.
    """

    row: LexborNode
    author: str = ""
    at: int | None = None
    replies: int | None = None


def beginning_of(row: LexborNode, thread: tuple[Link, Document], elsewhere: str = "") -> Beginning:
    """Read how a thread begins; `elsewhere` is the text of another page."""
    link, document = thread
    comments = find_comments(document)
    around = find_post(document, comments, elsewhere)
    nodes = comments.nodes if comments is not None else []
    records = [around] if around is not None else nodes
    replies = len(nodes) - (around is None) if nodes and next_of(document, link.key) is None else None
    return Beginning(row, _author(records), _moment(records), replies)


def _author(records: list[LexborNode]) -> str:
    css = author_in(records) if records else None
    node = records[0].css_first(css) if css else None
    return " ".join(node.text().split()) if node is not None else ""


def _moment(records: list[LexborNode]) -> int | None:
    times = times_in(records[0]) if records else []
    return moment_of(times[0]) if times else None
