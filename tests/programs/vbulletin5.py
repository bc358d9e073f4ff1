"""vBulletin 5: addresses made of the titles of all boards above, pages at their end, comments below replies."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Answer, Ask, page

FRAME = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="generator" content="vBulletin 5.7.5">
<title>Our forum</title><base href="{base}/">{links}</head><body class="vb-page view-mode"><div id="outer-wrapper">
<nav id="channel-tabbar"><a href="{base}/forum">Forums</a> <a href="{base}/login">Login or Sign Up</a></nav>
<nav id="breadcrumbs"><ul>{crumbs}</ul></nav><div class="b-module announcement-widget"><h1 class="main-title js-main-title">Announcement</h1></div>
<div class="b-module page-title-widget"><h1 class="main-title js-main-title">{title}</h1></div>{body}
<footer id="footer-copyright">Powered by vBulletin® Version 5.7.5. All times are GMT. This page was generated at 09:00 AM.
</footer></div></body></html>"""


def when(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%m-%d-%Y, %I:%M %p}"


class VBulletin5:
    """The default style."""

    def __init__(self, content: Content, per_list: int = 20, per_page: int = 10) -> None:
        self._content, self._per_list, self._per_page = content, per_list, per_page

    def answer(self, ask: Ask) -> Answer:
        path, at = ask.path.rstrip("/"), 1
        paged = re.fullmatch(r"(.+)/page(\d+)", path)
        if paged:
            path, at = paged[1], int(paged[2])
        thread = re.fullmatch(r"/forum/.+/(\d+)-[^/]*", path)
        board = next((one for one in self._content.boards if path == self._path(one)), None)
        if path in ("", "/forum"):
            return self._index(ask)
        if thread and int(thread[1]) in self._content.visible:
            return self._thread(ask, self._content.visible[int(thread[1])], at)
        return self._board(ask, board, at) if board else page("no", 404)

    def _path(self, board: Board) -> str:
        above = self._path(self._content.board(board.parent)) if board.parent else "/forum"
        return f"{above}/{board.slug}"

    def _page(self, ask: Ask, title: str, body: str, *, links: str = "", crumbs: str = "") -> Answer:
        return page(FRAME.format(base=ask.base, title=escape(title), body=body, links=links, crumbs=crumbs))

    def _index(self, ask: Ask) -> Answer:
        rows = ""
        for board in self._content.boards:
            below = "".join(
                f'<div class="subforum-info"><a class="subforum-title" href="{ask.base}{self._path(one)}">{escape(one.title)}</a>'
                "</div>"
                for one in self._content.boards if one.parent == board.number
            )  # fmt: skip
            if board.parent is None:
                rows += f"""<tr class="forum-item" data-channel-id="{board.number}"><td class="cell-forum"><div class="forum-info">
                  <div class="forum-wrapper"><a class="forum-title" href="{ask.base}{self._path(board)}">{escape(board.title)}</a>
                  </div><div class="subforum-list">{below}</div></div></td><td class="topics-count">12</td></tr>"""
        return self._page(ask, "Forum", f'<table class="forum-list-container"><tbody>{rows}</tbody></table>')

    def _next(self, ask: Ask, path: str, at: int, total: int, size: int) -> tuple[str, str]:
        """Return what the head says of the next page, and the pager."""
        if at * size >= total:
            return "", ""
        address = f"{ask.base}{path}/page{at + 1}"
        button = f'<a class="js-pagenav-button js-pagenav-next-button" rel="next" href="{address}" data-page="{at + 1}">»</a>'
        return f'<link rel="next" href="{address}">', f'<div class="js-pagenav pagenav h-right">{button}</div>'

    def _board(self, ask: Ask, board: Board, at: int) -> Answer:
        listed = self._content.listed(board.number)
        shown = listed[(at - 1) * self._per_list : at * self._per_list]
        links, pager = self._next(ask, self._path(board), at, len(listed), self._per_list)
        rows = "".join(self._row(ask, one, board) for one in shown)
        empty = "" if rows else '<tr><td id="no-topics">There are no topics in this forum</td></tr>'
        return self._page(ask, board.title, f"""{pager}<table class="topic-list-container"><thead><tr class="topic-list-header">
          <th>Topics</th></tr></thead><tbody class="topic-list">{rows}{empty}</tbody></table>{pager}""", links=links)  # fmt: skip

    def _row(self, ask: Ask, topic: Topic, board: Board) -> str:
        first, last = topic.said[0], topic.last
        home = self._path(self._content.board(topic.board))
        prefix = "Redirect:" if topic.board != board.number else "Sticky:" if topic.is_pinned else ""
        return f"""<tr class="topic-item js-topic-item" data-node-id="{topic.number}"><td class="cell-topic js-cell-topic"><div
          class="topic-wrapper"><span class="js-prefix">{prefix}</span><a class="topic-title js-topic-title"
          href="{ask.base}{home}/{topic.number}-{topic.slug}">{escape(topic.title)}</a><div class="topic-info h-clear">Started by
          <a href="{ask.base}/member/1-x" data-vbnamecard="1">{escape(first.author)}</a>, {when(first.at)}</div></div></td>
          <td class="cell-count"><div class="posts-count">{len(topic.said) - 1} responses</div><div class="views-count">1,009
          views</div></td><td class="cell-lastpost"><div class="lastpost-by">by <a href="{ask.base}/member/2-y"
          data-vbnamecard="2">{escape(last.author)}</a> <span class="post-date">{when(last.at)}</span>
          <a href="{ask.base}{home}/{topic.number}-{topic.slug}?p={last.number}#post{last.number}" class="go-to-last-post"
          title="Go to last post"><span class="b-icon"></span></a></div></td></tr>"""

    def _thread(self, ask: Ask, topic: Topic, at: int) -> Answer:
        path = f"{self._path(self._content.board(topic.board))}/{topic.number}-{topic.slug}"
        shown = topic.said[(at - 1) * self._per_page : at * self._per_page]
        if not shown:
            return page("no", 404)
        links, pager = self._next(ask, path, at, len(topic.said), self._per_page)
        posts = "".join(self._post(ask, said, topic) for said in shown)
        crumbs = f'<li><a href="{ask.base}{self._path(self._content.board(topic.board))}">Board</a></li>'
        body = f'{pager}<div class="conversation-content"><ul class="conversation-list list-container">{posts}</ul></div>{pager}'
        return self._page(ask, topic.title, body, links=links, crumbs=crumbs)

    def _post(self, ask: Ask, said: Said, topic: Topic) -> str:
        number = topic.number if said is topic.said[0] else said.number
        edited = f"""<div class="b-post__edit-info">Last edited by <a href="{ask.base}/member/1-x">x</a>; <time
          datetime="{datetime.fromtimestamp(said.edited_at or 0, UTC):%Y-%m-%dT%H:%M:%S}">then</time>.</div>"""
        quote = '<div class="bbcode_container"><div class="bbcode_quote"><div class="message">old</div></div></div>'
        return f"""<li class="b-post js-post js-comment-entry__parent" data-node-id="{number}" itemscope
          itemtype="https://schema.org/Comment"><div class="b-post__grid-container"><div class="b-post__sidebar"><div
          class="b-userinfo" itemprop="author" itemscope><div class="b-userinfo__details"><div class="author"><strong><a
          href="{ask.base}/member/1-x" data-vbnamecard="1"><span itemprop="name">{escape(said.author)}</span></a></strong></div>
          </div></div></div><div class="b-post__body"><div class="b-post__timestamp"><time itemprop="dateCreated"
          datetime="{datetime.fromtimestamp(said.at, UTC):%Y-%m-%dT%H:%M:%S}">{when(said.at)}</time></div><div
          class="b-post__content js-post__content"><div class="js-post__content-text restore h-wordwrap" itemprop="text">
          {quote if said.quotes else ""}{"<br />".join(map(escape, said.lines))}</div>{edited if said.edited_at else ""}
          </div></div></div></li>"""
