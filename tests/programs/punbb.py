"""PunBB 1.4 with Oxygen."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.layouts import Layout, Part, lines
from tests.programs.parts import by_parameter, page_links, plain


def _frame(body: str) -> str:
    return f"""<html><head><title>Our forum</title></head><body><div id="brd-wrap" class="brd"><div id="brd-main">{body}</div>
      <div id="brd-about">Powered by <a href="http://punbb.informer.com/">PunBB</a></div></div></body></html>"""


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f"""<div class="main-item"><h3><a href="viewforum.php?id={one.number}">{escape(one.title)}</a></h3><ul><li class="info-topics"><strong>3
          </strong></li><li class="info-posts"><strong>9</strong></li><li class="info-lastpost">Never</li></ul></div>"""
        for one in boards
    )
    return _frame(f'<div class="main-content main-category">{rows}</div>')


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<div id="topic{one.number}" class="main-item{" sticky" * one.is_pinned}{" closed" * one.is_locked}"><h3><a
          href="viewtopic.php?id={one.number}">{escape(one.title)}</a></h3><p><span class="item-starter">by <cite>{escape(one.said[0].author)}</cite>
          </span></p><ul><li class="info-replies"><strong>{len(one.said) - 1}</strong></li><li class="info-views"><strong>1{one.number}7</strong></li>
          <li class="info-lastpost"><a href="viewtopic.php?pid={one.last.number}#p{one.last.number}">{plain(one.last.at)}</a></li></ul></div>"""
        for one in part.items
    )
    return _frame(
        f"""<h1 class="main-title"><a href="viewforum.php?id={board.number}">{escape(board.title)}</a></h1><p class="paging">
          {page_links(f"viewforum.php?id={board.number}&amp;p=", part)}</p><div class="main-content main-forum">{rows or '<div class="main-item empty"></div>'}
          </div>"""
    )


def _thread(topic: Topic, part: Part) -> str:
    def post(one: Said) -> str:
        first = "topicpost" if one is topic.said[0] else "replypost"
        edited = f'<p class="post-edit"><em>(edited by x {plain(one.edited_at or 0)})</em></p>'
        quote = '<div class="quotebox"><cite>x wrote:</cite><blockquote><p>old</p></blockquote></div>'
        return f"""<div class="post {first}"><div id="p{one.number}" class="posthead"><h3><span class="post-link"><a
          href="viewtopic.php?pid={one.number}#p{one.number}">{plain(one.at)}</a></span></h3>{edited if one.edited_at else ""}</div><div
          class="postbody"><ul class="author-ident"><li class="username"><a href="profile.php?id=2">{escape(one.author)}</a></li></ul><div
          class="entry-content">{quote if one.quotes else ""}<p>{lines(one)}</p><div class="sig-content">below all I write</div></div></div></div>"""

    return _frame(
        f"""<p class="crumbs"><a href="viewforum.php?id={topic.board}">Board</a></p><h1 class="main-title"><a
          href="viewtopic.php?id={topic.number}">{escape(topic.title)}</a></h1><p class="paging">
          {page_links(f"viewtopic.php?id={topic.number}&amp;p=", part)}</p><div class="main-content main-topic">{"".join(map(post, part.items))}</div>"""
    )


PUNBB = Layout(
    _front,
    _list,
    _thread,
    r"/viewforum\.php\?id=(?P<board>\d+)",
    r"/viewtopic\.php\?id=(?P<topic>\d+)",
    by_parameter("p"), per_list=20
)  # fmt: skip
