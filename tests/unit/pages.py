"""Small sites and pages for the tests of parsing."""

from __future__ import annotations

from crawl_tasks.model import Comment, Fetched, Post, Request, Stage
from crawl_tasks.parse.site_parser import SiteParser, compile_parser
from crawl_tasks.sites.loader import parse_site

AT_S = 1_718_866_440.0
SEEN_AT = 1.0
BASE = "https://forum.example"
ADDRESSES = {Stage.LIST: "/list/{}/{}", Stage.POST: "/post/{}", Stage.COMMENT: "/comment/{}/{}"}

LIST = """
  address: /list/{board}/{page}
  record: .row
  fields: {post_id: {attr: data-id}, title: .t, reply_count: .n}
  revision: [reply_count]
"""
POST = """
  address: /post/{post}
  fields: {title: h1, body: .body, reply_count: {css: .total, required: false}}
"""
COMMENT = """
  address: /comment/{post}/{page}
  record: .c
  fields: {comment_id: {attr: data-id}, parent_id: {attr: data-parent}, author: .who, body: .say}
"""


def site_parser(
    *, listing: str = "  next: .next", post: str = "  pages: .pages", comment: str = "  first_page: 2", head: str = "",
    stages: tuple[str, str, str] = (LIST, POST, COMMENT),
) -> SiteParser:  # fmt: skip
    parts = [f"{text}{more}\n" for text, more in zip(stages, (listing, post, comment), strict=True)]
    text = f"name: forum\nbase: {BASE}\n{head}\nlist:{parts[0]}post:{parts[1]}comment:{parts[2]}"
    return compile_parser(parse_site(text, "forum.yaml"))


def ask(stage: Stage, key: str = "1", page: int = 1, *, revision: str = "", priority: int = 5) -> Request:
    return Request("forum", stage, key, BASE + ADDRESSES[stage].format(key, page), page, revision, priority)


def answer(request: Request, body: str | bytes, *, url: str | None = None) -> Fetched:
    raw = body.encode() if isinstance(body, str) else body
    return Fetched(
        url or request.address, 200, {"content-type": "text/html; charset=utf-8"}, raw, AT_S, seen_at=SEEN_AT
    )


def found_extra(item: Post | Comment) -> dict[str, str]:
    """Return what was found of an item's extra; None stands for what its page shows no more."""
    return {name: value for name, value in (item.extra or {}).items() if value is not None}
