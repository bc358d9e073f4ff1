"""Flarum: a shell with its payload, and JSON:API in which posts name their users by id."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TypeVar
from urllib.parse import urlencode

from tests.programs.content import AUTHORS, Content, Said, Topic
from tests.programs.host import Answer, Ask, data, page

SHELL = """<!doctype html><html dir="ltr" lang="en"><head><meta charset="utf-8"><title>Our forum</title></head>
<body><div id="app" class="App"><header id="header" class="App-header"></header><main class="App-content">
<noscript id="flarum-content"><div class="container"><h1>All Discussions</h1></div></noscript></main></div>
<script>document.getElementById('flarum-loading').style.display = 'block';var flarum = {extensions: {}};</script>
<script id="flarum-json-payload" type="application/json">{"resources":[],"session":{"userId":0}}</script></body>"""
T = TypeVar("T")
API = "application/vnd.api+json"
MOST = 50


def when(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}+00:00"


def link(kind: str, number: object) -> dict[str, object]:
    return {"data": {"type": kind, "id": str(number)}}


class Flarum:
    """With the extension for tags, as it is installed."""

    def __init__(self, content: Content) -> None:
        self._content = content

    def answer(self, ask: Ask) -> Answer:
        if ask.path == "/api":
            return data({"data": {"type": "forums", "id": "1", "attributes": {"title": "Our forum"}}}, kind=API)
        if ask.path == "/api/tags":
            return data({"data": self._tags()}, kind=API)
        if ask.path == "/api/discussions":
            return self._discussions(ask)
        if ask.path == "/api/posts":
            return self._posts(ask)
        shell = page(SHELL, Set_Cookie="flarum_session=abc; Path=/; HttpOnly; SameSite=Lax", X_CSRF_Token="def")
        return shell if ask.path in ("/", "/tags") else page(SHELL, 404)

    def _tags(self) -> list[dict[str, object]]:
        return [
            {
                "type": "tags", "id": str(one.number + 20),
                "attributes": {
                    "name": one.title, "slug": one.slug, "isChild": bool(one.parent), "isHidden": False,
                    **self._counts(one.number),
                },
                "relationships": {"parent": link("tags", one.parent + 20)} if one.parent else {},
            }
            for one in self._content.boards
        ]  # fmt: skip

    def _counts(self, board: int) -> dict[str, object]:
        topics = [topic for topic in self._content.listed(board) if topic.board == board]
        last = max((topic.last.at for topic in topics), default=None)
        return {"discussionCount": len(topics), "lastPostedAt": None if last is None else when(last)}

    def _discussions(self, ask: Ask) -> Answer:
        wanted = [one.number for one in self._content.boards if one.slug == ask.query.get("filter[tag]")]
        # A discussion of a sub-tag has the tag above too.
        below = [one.number for one in self._content.boards if one.parent in wanted]
        rows = [one for board in (*wanted, *below) for one in self._content.listed(board) if one.board == board]
        rows = rows if "filter[tag]" in ask.query else list(self._content.visible.values())
        rows.sort(key=lambda topic: (not (wanted and topic.is_pinned), -topic.last.at))
        shown, links = self._slice(ask, rows)
        users = {topic.said[0].author for topic in shown}
        return data(
            {"links": links, "data": [self._discussion(one) for one in shown], **self._included(users)}, kind=API
        )

    def _slice(self, ask: Ask, rows: list[T]) -> tuple[list[T], dict[str, str]]:
        limit, offset = min(MOST, ask.number("page[limit]", 20)), ask.number("page[offset]", 0)
        links = {"first": f"{ask.base}{ask.path}?{urlencode(ask.query)}"}
        if offset + limit < len(rows):
            following = {**ask.query, "page[offset]": str(offset + limit)}
            links["next"] = f"{ask.base}{ask.path}?{urlencode(following)}"
        return rows[offset : offset + limit], links

    def _discussion(self, topic: Topic) -> dict[str, object]:
        return {
            "type": "discussions", "id": str(topic.number),
            "attributes": {
                "title": topic.title, "slug": f"{topic.number}-{topic.slug}", "commentCount": len(topic.said),
                "participantCount": 2, "createdAt": when(topic.said[0].at), "lastPostedAt": when(topic.last.at),
                "lastPostNumber": len(topic.said) + 1, "isSticky": topic.is_pinned, "isLocked": topic.is_locked,
            },
            "relationships": {"user": link("users", AUTHORS.index(topic.said[0].author) + 1)},
        }  # fmt: skip

    def _posts(self, ask: Ask) -> Answer:
        topic = self._content.visible.get(ask.number("filter[discussion]", 0))
        if topic is None:
            return data({"links": {}, "data": []}, kind=API)
        limit, offset = min(MOST, ask.number("page[limit]", 20)), ask.number("page[offset]", 0)
        shown = topic.said[offset : offset + limit]
        posts = [self._post(topic, said) for said in shown]
        _, links = self._slice(ask, list(topic.said))
        # Version 1 says no more of it beside posts.
        title = {"title": topic.title, "slug": f"{topic.number}-{topic.slug}"}
        discussion: dict[str, object] = {"type": "discussions", "id": str(topic.number), "attributes": title}
        included = self._included({one.author for one in shown}, discussion)
        return data({"links": links, "data": posts, **included}, kind=API)

    def _included(self, users: set[str], *more: dict[str, object]) -> dict[str, list[dict[str, object]]]:
        named = [
            {
                "type": "users",
                "id": str(AUTHORS.index(one) + 1),
                "attributes": {"username": one, "displayName": "Shown"},
            }
            for one in sorted(users)
        ]
        return {"included": [*named, *more]}

    def _post(self, topic: Topic, said: Said) -> dict[str, object]:
        numbers = {one.number: place for place, one in enumerate(topic.said, 1)}
        html = "".join(f"<p>{escape(line)}</p>\n\n" for line in said.lines)
        if said.quotes:
            there = f"/d/{topic.number}/{numbers[said.quotes]}"
            mention = f'<a href="{there}" class="PostMention" data-id="{said.quotes}">Shown</a>'
            html = f"<blockquote><p>{mention} old words</p></blockquote>\n{html}"
        edited = {"editedAt": when(said.edited_at)} if said.edited_at else {}
        return {
            "type": "posts", "id": str(said.number),
            "attributes": {"number": numbers[said.number], "createdAt": when(said.at), "contentType": "comment",
                           "contentHtml": html, "renderFailed": False, **edited},
            "relationships": {"discussion": link("discussions", topic.number),
                              "user": link("users", AUTHORS.index(said.author) + 1)},
        }  # fmt: skip
