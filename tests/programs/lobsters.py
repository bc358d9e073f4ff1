"""Lobsters: a page of stories whose tags are its boards, and the JSON of each."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape

from tests.programs.content import Content, Topic
from tests.programs.host import Answer, Ask, data, page

SIZE = 25
FRONT = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Our stories</title></head><body>
<header id="nav"><a href="/">Ours</a></header><div id="inside"><ol class="stories list">{rows}</ol></div></body></html>"""
STORY = """<li id="story_{id}" data-shortid="{id}" class="story"><div class="story_liner h-entry"><div class="details">
<span role="heading" class="link h-cite u-repost-of"><a class="u-url" href="https://elsewhere.example/">{title}</a></span>
<span class="comments_label"><a href="/s/{id}/words">3 comments</a></span></div></div></li>"""


def when(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}.000-00:00"


class Lobsters:
    """Numbers stand in place of short ids."""

    def __init__(self, content: Content) -> None:
        self._content = content

    def answer(self, ask: Ask) -> Answer:
        listed = re.fullmatch(r"/t/([a-z]+)(?:/page/(\d+))?\.json", ask.path)
        story = re.fullmatch(r"/s/(\d+)\.json", ask.path)
        if listed is not None:
            return self._listing(listed[1], int(listed[2] or 1))
        if story is not None:
            topic = self._content.visible.get(int(story[1]))
            return data({"error": "not found"}, 404) if topic is None else data(self._story(topic, is_whole=True))
        if ask.path == "/tags.json":
            tags = [
                {"id": one.number, "tag": one.slug, "description": one.title, "active": True}
                for one in self._content.boards
            ]
            return data([*tags, {"id": 9, "tag": "old", "description": "Old", "active": False}])
        rows = "".join(STORY.format(id=one.number, title=escape(one.title)) for one in self._content.listed(1)[:SIZE])
        return page(FRONT.format(rows=rows)) if ask.path == "/" else page("no", 404)

    def _listing(self, tag: str, at: int) -> Answer:
        board = next((one for one in self._content.boards if one.slug == tag), None)
        if board is None:
            return data({"error": "not found"}, 404)
        rows = [topic for topic in self._content.listed(board.number) if topic.board == board.number]
        return data([self._story(topic, is_whole=False) for topic in rows[(at - 1) * SIZE : at * SIZE]])

    def _story(self, topic: Topic, *, is_whole: bool) -> dict[str, object]:
        first, depths = topic.said[0], {topic.said[0].number: -1}
        story: dict[str, object] = {
            "short_id": str(topic.number), "created_at": when(first.at), "title": topic.title, "url": "", "score": 3,
            "comment_count": len(topic.said) - 1, "description": "".join(f"<p>{escape(one)}</p>\n" for one in first.lines),
            "submitter_user": first.author, "tags": [self._content.board(topic.board).slug],
        }  # fmt: skip
        if not is_whole:
            return story
        comments = []
        for one in topic.said[1:]:
            above = first.number if one.quotes is None else one.quotes
            depths[one.number] = depths[above] + 1
            comments.append({
                "short_id": str(one.number), "created_at": when(one.at), "last_edited_at": when(one.edited_at or one.at),
                "is_deleted": False, "is_moderated": False, "score": 1, "depth": depths[one.number],
                "parent_comment": None if above == first.number else str(above), "commenting_user": one.author,
                "comment": "".join(f"<p>{escape(line)}</p>\n" for line in one.lines),
            })  # fmt: skip
        return story | {"comments": comments}
