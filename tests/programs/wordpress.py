"""A blog of WordPress with comments: its pages point to the API, which tells pages in a header."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape

from tests.programs.content import Content, Said, Topic
from tests.programs.host import Answer, Ask, data, page

SHELL = """<!DOCTYPE html><html lang="en-US"><head><meta charset="UTF-8"><meta name="generator" content="WordPress 6.5.2">
<title>Our blog</title><link rel="https://api.w.org/" href="{base}/wp-json/"></head><body class="home blog wp-embed-responsive">
<main><h2><a href="{base}/2024/06/hello/">Hello</a></h2></main></body></html>"""


def when(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}"


def _html(name: str) -> str:
    return escape(name).replace("_", "&#95;")


class WordPress:
    """Topics are articles, replies their comments."""

    def __init__(self, content: Content) -> None:
        self._content = content

    def answer(self, ask: Ask) -> Answer:
        article = re.fullmatch(r"/wp-json/wp/v2/posts/(\d+)", ask.path)
        if article is not None:
            topic = self._content.visible.get(int(article[1]))
            gone = {"code": "rest_post_invalid_id", "message": "Invalid post ID.", "data": {"status": 404}}
            return data(gone, 404) if topic is None else data(self._article(topic))
        articles = sorted(self._content.visible.values(), key=lambda topic: -topic.said[0].at)
        said = [(topic, one) for topic in self._content.visible.values() for one in topic.said[1:]]
        if ask.path == "/wp-json/wp/v2/posts":
            return self._paged(ask, [self._article(topic) for topic in articles])
        if ask.path == "/wp-json/wp/v2/comments":
            wanted = ask.number("post", 0)
            rows = sorted((one for one in said if wanted in (0, one[0].number)), key=lambda one: one[1].at)
            rows = rows if ask.query.get("order") == "asc" else rows[::-1]
            return self._paged(ask, [self._comment(topic, one) for topic, one in rows])
        if ask.path == "/wp-json/":
            return data({"name": "Our blog", "namespaces": ["wp/v2"], "timezone_string": "Asia/Tokyo", "gmt_offset": 9})
        return page(SHELL.format(base=ask.base)) if ask.path == "/" else page(SHELL.format(base=ask.base), 404)

    def _paged(self, ask: Ask, rows: list[dict[str, object]]) -> Answer:
        size, at = min(100, ask.number("per_page", 10)), ask.number("page", 1)
        count = -(-len(rows) // size)
        if at > max(1, count):
            return data({"code": "rest_post_invalid_page_number", "data": {"status": 400}}, 400)
        answer = data(rows[(at - 1) * size : at * size])
        return Answer(answer.body, 200, {"X-WP-Total": str(len(rows)), "X-WP-TotalPages": str(count)}, answer.kind)

    def _article(self, topic: Topic) -> dict[str, object]:
        first = topic.said[0]
        return {
            "id": topic.number, "date": when(first.at + 9 * 3600), "date_gmt": when(first.at),
            "modified_gmt": when(first.edited_at or first.at), "link": f"https://blog.example/{topic.slug}/",
            "status": "publish", "type": "post", "title": {"rendered": escape(topic.title)},
            "content": {"rendered": self._html(first), "protected": False}, "author": 1, "comment_status": "open",
            "_embedded": {"author": [{"id": 1, "name": _html(first.author)}]},
        }  # fmt: skip

    def _comment(self, topic: Topic, said: Said) -> dict[str, object]:
        parent = 0 if said.quotes in (None, topic.said[0].number) else said.quotes
        return {
            "id": said.number, "post": topic.number, "parent": parent, "author": 0, "author_name": _html(said.author),
            "date": when(said.at + 9 * 3600), "date_gmt": when(said.at), "content": {"rendered": self._html(said)},
            "status": "approved", "type": "comment",
        }  # fmt: skip

    def _html(self, said: Said) -> str:
        return "".join(f"<p>{escape(line)}</p>\n" for line in said.lines)
