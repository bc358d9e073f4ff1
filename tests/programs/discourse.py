"""Discourse: a shell of scripts with everything in its JSON; topics count their posts from 1."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape

from tests.programs.content import Content, Said, Topic
from tests.programs.host import Answer, Ask, data, moved, page

CHUNK = 20
SHELL = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Our forum</title>
<meta name="generator" content="Discourse 3.4.0.beta2 - https://github.com/discourse/discourse version 1a2b">
<meta name="discourse_theme_id" content="1"></head><body class="crawler"><noscript data-path="/"></noscript>
<discourse-assets></discourse-assets></body></html>"""
GONE = {"errors": ["The requested URL or resource could not be found."], "error_type": "not_found"}


def when(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}.123Z"


class Discourse:
    """Lists have `per_page` topics. Topics of `mega` posts or more have no stream, and the last is not counted."""

    def __init__(self, content: Content, per_page: int = 30, *, has_site: bool = True, mega: int = 10_000) -> None:
        self._content = content
        self._per_page = per_page
        self._has_site = has_site
        self._mega = mega

    def answer(self, ask: Ask) -> Answer:
        topic = re.fullmatch(r"/t/(?:[^/]+/)?(\d+)(\.json)?", ask.path)
        if topic is not None:
            return self._topic(ask, int(topic[1]), is_json=bool(topic[2]))
        if ask.path == "/latest.json":
            return self._latest(ask)
        if ask.path == "/site.json" and self._has_site:
            return data({"categories": self._categories(), "groups": [], "default_archetype": "regular"})
        if ask.path == "/categories.json":
            return data({"category_list": {"categories": self._tree()}})
        return page(SHELL) if ask.path == "/" else page(SHELL, 404)

    def _categories(self) -> list[dict[str, object]]:
        return [
            {"id": one.number, "name": one.title, "slug": one.slug, "read_restricted": False}
            | self._counts(one.number)
            | ({"parent_category_id": one.parent} if one.parent else {})
            for one in self._content.boards
        ]

    def _counts(self, board: int) -> dict[str, object]:
        topics = [topic for topic in self._content.listed(board) if topic.board == board]
        return {"topic_count": len(topics), "post_count": sum(len(topic.said) for topic in topics)}

    def _tree(self) -> list[dict[str, object]]:
        flat = self._categories()
        return [
            one | {"subcategory_list": [sub for sub in flat if sub.get("parent_category_id") == one["id"]]}
            for one in flat
            if "parent_category_id" not in one
        ]

    def _latest(self, ask: Ask) -> Answer:
        board, number = ask.number("category", 0), ask.number("page", 0)
        rows = [topic for topic in self._content.listed(board) if topic.board == board] if board else self._newest()
        shown = rows[number * self._per_page : (number + 1) * self._per_page]
        users = {said.author for topic in shown for said in topic.said}
        known = {name: place for place, name in enumerate(sorted(users), 10)}
        listing: dict[str, object] = {"topics": [self._row(topic, known) for topic in shown], "per_page": 30}
        if len(rows) > (number + 1) * self._per_page:
            listing["more_topics_url"] = f"/latest?category={board}&no_subcategories=true&page={number + 1}"
        return data({"users": [{"id": id_, "username": name} for name, id_ in known.items()], "topic_list": listing})

    def _newest(self) -> list[Topic]:
        return sorted(self._content.visible.values(), key=lambda topic: -topic.last.at)

    def _row(self, topic: Topic, known: dict[str, int]) -> dict[str, object]:
        posters = [{"extras": None, "description": "Original Poster", "user_id": known[topic.said[0].author]}]
        return {
            "id": topic.number, "title": topic.title, "fancy_title": escape(topic.title), "slug": topic.slug,
            "posts_count": len(topic.said), "reply_count": 1, "highest_post_number": len(topic.said),
            "created_at": when(topic.said[0].at), "last_posted_at": when(topic.last.at), "pinned": topic.is_pinned,
            "pinned_globally": False, "closed": topic.is_locked, "archived": False, "views": 9,
            "category_id": topic.board, "posters": posters,
        }  # fmt: skip

    def _topic(self, ask: Ask, number: int, *, is_json: bool) -> Answer:
        topic = self._content.visible.get(number)
        if topic is None:
            return data(GONE, 404)
        if not is_json:
            return moved(f"{ask.base}/t/{topic.slug}/{number}") if number else page(SHELL)
        at = ask.number("page", 1)
        shown = topic.said[(at - 1) * CHUNK : at * CHUNK]
        if not shown:
            return data(GONE, 404)
        posts = [self._post(topic, said) for said in shown]
        stream: dict[str, object] = {"posts": posts}
        if len(topic.said) >= self._mega:
            stream |= {"isMegaTopic": True, "firstId": topic.said[0].number, "lastId": topic.last.number}
        elif at == 1:
            stream["stream"] = [said.number for said in topic.said]
        return data({
            "id": number, "title": topic.title, "slug": topic.slug, "views": 9,
            "posts_count": len(topic.said) - 2 * ("isMegaTopic" in stream),
            "category_id": topic.board, "created_at": when(topic.said[0].at), "last_posted_at": when(topic.last.at),
            "post_stream": stream, "suggested_topics": [], "details": {"created_by": {"username": "nobody"}},
        })  # fmt: skip

    def _post(self, topic: Topic, said: Said) -> dict[str, object]:
        numbers = {one.number: place for place, one in enumerate(topic.said, 1)}
        cooked = "".join(f"<p>{escape(line)}</p>\n" for line in said.lines)
        if said.quotes:
            cooked = f'<aside class="quote" data-post="{numbers[said.quotes]}"><p>old words</p></aside>{cooked}'
        return {
            "id": said.number, "username": said.author, "name": "A name", "created_at": when(said.at),
            "cooked": cooked, "post_number": numbers[said.number], "post_type": 1, "hidden": False,
            "updated_at": when(said.edited_at or said.at), "version": 2 if said.edited_at else 1,
            "reply_to_post_number": numbers[said.quotes] if said.quotes else None, "user_deleted": False,
        }  # fmt: skip
