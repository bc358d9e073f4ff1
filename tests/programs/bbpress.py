"""bbPress 2.6: addresses made of words, a post's date in a row of its own, replies in a tree or page by page."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape
from zoneinfo import ZoneInfo

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Answer, Ask, data, moved, page

ZONE = "Europe/Berlin"
FRAME = """<!DOCTYPE html><html lang="en-US"><head><meta name="generator" content="WordPress 6.1" />
<link rel="https://api.w.org/" href="{base}/wp-json/" /><title>{title} - Our blog</title>
<link rel="stylesheet" href="{base}/wp-content/plugins/bbpress/templates/default/css/bbpress.min.css" /></head>
<body class="bbpress"><h1 class="entry-title">{title}</h1><div class="entry-content"><div id="bbpress-forums"
class="bbpress-wrapper"><div class="bbp-breadcrumb"><p><a href="{base}" class="bbp-breadcrumb-home">Home</a>
<span class="bbp-breadcrumb-current">{title}</span></p></div>{body}</div></div></body></html>"""


def who(name: str) -> str:
    face = f"<span class='bbp-author-avatar'><img class='avatar' src='/face.png' alt='{escape(name)}'></span>"
    return f'<a class="bbp-author-link" href="/forums/users/x/">{face}<span class="bbp-author-name">{escape(name)}</span></a>'


class BbPress:
    """The templates it comes with; `is_tree` shows replies below what they answer, and then on one page."""

    def __init__(self, content: Content, per_list: int = 15, per_page: int = 15, *, is_tree: bool = False) -> None:
        self._content = content
        self._per_list = per_list
        self._per_page = 1000 if is_tree else per_page
        self._is_tree = is_tree
        self._topics = {f"{one.slug}-{one.number}": one for one in content.visible.values()}

    def answer(self, ask: Ask) -> Answer:
        if ask.path == "/wp-json/":
            return data({"name": "Our blog", "timezone_string": ZONE, "gmt_offset": 2})
        if ask.path in ("/", "/forums/"):
            return self._index(ask)
        if ask.query.get("post_type") == "topic":
            topic = self._content.visible.get(ask.number("p", 0))
            return moved(ask.base + self._path(topic)) if topic else page("no such page", 404)
        found = re.fullmatch(r"/forums/(forum|topic)/(?:[^/]+/)*?([^/]+)/(?:page/(\d+)/)?", ask.path)
        if found is None:
            return page("no such page", 404)
        if found[1] == "topic":
            return self._topic(ask, self._topics[found[2]], int(found[3] or 1))
        board = next(one for one in self._content.boards if one.slug == found[2])
        return self._board(ask, board, int(found[3] or 1))

    def _path(self, thing: Topic | Board) -> str:
        if isinstance(thing, Topic):
            return f"/forums/topic/{thing.slug}-{thing.number}/"
        above = f"{self._content.board(thing.parent).slug}/" if thing.parent else ""
        return f"/forums/forum/{above}{thing.slug}/"

    def _page(self, ask: Ask, title: str, body: str) -> Answer:
        return page(FRAME.format(base=ask.base, title=escape(title), body=body))

    def _forum(self, ask: Ask, board: Board) -> str:
        below = "".join(
            f'<li class="bbp-forum"><a class="bbp-forum-link" href="{ask.base}{self._path(one)}">{escape(one.title)} (8, 1,120)</a></li>'
            for one in self._content.boards
            if one.parent == board.number
        )
        return f"""<ul id="bbp-forum-{board.number + 500}" class="loop-item-0 post-4 forum type-forum"><li class="bbp-forum-info">
          <a class="bbp-forum-title" href="{ask.base}{self._path(board)}">{escape(board.title)}</a>
          <ul class="bbp-forums-list">{below}</ul></li></ul>"""

    def _index(self, ask: Ask) -> Answer:
        rows = "".join(self._forum(ask, one) for one in self._content.boards if one.parent is None)
        category = f"""<ul id="bbp-forum-9" class="status-category forum type-forum"><li class="bbp-forum-info">
          <a class="bbp-forum-title" href="{ask.base}/forums/forum/all/">All</a></li></ul>"""
        body = f'<ul class="bbp-forums"><li class="bbp-body">{category}{rows}</li></ul>'
        return self._page(ask, "Forums", body)

    def _pager(self, ask: Ask, path: str, at: int, last: int) -> str:
        further = f'<a class="next page-numbers" href="{ask.base}{path}page/{at + 1}/">&rarr;</a>' if at < last else ""
        return f'<div class="bbp-pagination"><div class="bbp-pagination-links">{further}</div></div>'

    def _board(self, ask: Ask, board: Board, at: int) -> Answer:
        own = [one for one in self._content.listed(board.number) if one.board == board.number and not one.is_pinned]
        shown = own[(at - 1) * self._per_list : at * self._per_list]
        pinned = [one for one in self._content.visible.values() if one.is_pinned] if at == 1 else []
        rows = "".join(self._row(ask, one, is_guest=one.board != board.number) for one in (*pinned, *shown))
        pager = self._pager(ask, self._path(board), at, -(-len(own) // self._per_list))
        body = f'{pager}<ul class="bbp-topics"><li class="bbp-body">{rows}</li></ul>{pager}'
        return self._page(ask, board.title, body)

    def _row(self, ask: Ask, topic: Topic, *, is_guest: bool) -> str:
        link, board = ask.base + self._path(topic), self._content.board(topic.board)
        last = f"{link}#post-{topic.last.number}" if topic.last is not topic.said[0] else link
        home = f'in: <a href="{ask.base}{self._path(board)}">{escape(board.title)}</a>' if is_guest else ""
        css = f"{'super-sticky ' if topic.is_pinned else ''}topic type-topic status-{'closed' if topic.is_locked else 'publish'}"
        return f"""<ul id="bbp-topic-{topic.number}" class="loop-item-0 user-id-4 odd {css}"><li class="bbp-topic-title">
          <a class="bbp-topic-permalink" href="{link}">{escape(topic.title)}</a><p class="bbp-topic-meta">
          <span class="bbp-topic-started-by">Started by: {who(topic.said[0].author)}</span>
          <span class="bbp-topic-started-in">{home}</span></p></li><li class="bbp-topic-voice-count">2</li>
          <li class="bbp-topic-reply-count">{len(topic.said)}</li><li class="bbp-topic-freshness"><a href="{last}">1 day ago</a>
          <span class="bbp-topic-freshness-author">{who(topic.last.author)}</span></li></ul>"""

    def _topic(self, ask: Ask, topic: Topic, at: int) -> Answer:
        shown = topic.said[(at - 1) * self._per_page : at * self._per_page]
        if self._is_tree:
            first = topic.said[0]
            posts = self._post(topic, first) + self._below(topic, {None, first.number})
        else:
            posts = "".join(self._post(topic, said) for said in shown)
        pager = self._pager(ask, self._path(topic), at, -(-len(topic.said) // self._per_page))
        body = f"""{pager}<ul class="forums bbp-replies"><li class="bbp-header"><div class="bbp-reply-author">Author</div>
          <div class="bbp-reply-content">Posts</div></li><li class="bbp-body">{posts}</li></ul>{pager}"""
        return self._page(ask, topic.title, body)

    def _below(self, topic: Topic, answered: set[int | None]) -> str:
        """Show what answers one post, or the topic itself, as a list with a list in each of its entries."""
        replies = [said for said in topic.said[1:] if said.quotes in answered]
        rows = "".join(f"<li>{self._post(topic, one)}{self._below(topic, {one.number})}</li>" for one in replies)
        return f"<ul class='bbp-threaded-replies'>{rows}</ul>" if rows else ""

    def _post(self, topic: Topic, said: Said) -> str:
        is_topic = said is topic.said[0]
        kind, number = ("topic", topic.number) if is_topic else ("reply", said.number)
        there = datetime.fromtimestamp(said.at, UTC).astimezone(ZoneInfo(ZONE))
        log = f"""<ul class="bbp-{kind}-revision-log"><li class="bbp-{kind}-revision-log-item">This {kind} was modified
          2 days, 4 hours ago by {who("dee_42")}. Reason: typo</li></ul>""" if said.edited_at else ""  # fmt: skip
        quote = "<blockquote><p>old words</p></blockquote>" if said.quotes else ""
        lines = "".join(f"<p>{escape(line)}</p>" for line in said.lines)
        return f"""<div id="post-{number}" class="bbp-reply-header"><div class="bbp-meta"><span
          class="bbp-reply-post-date">{there:%B %d, %Y at %I:%M %p}</span><a class="bbp-reply-permalink">#{number}</a></div></div>
          <div class="loop-item-0 user-id-4 post-{number} {kind} type-{kind}"><div class="bbp-reply-author">{who(said.author)}
          </div><div class="bbp-reply-content">{quote}{lines}{log}</div></div>"""
