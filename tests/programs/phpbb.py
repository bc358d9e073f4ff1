"""phpBB 3.3 with prosilver: every link has a session id, and pages follow by offset."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.layouts import Layout, Part, lines, moment
from tests.programs.parts import below, by_offset, last, top


def _iso(at: int) -> str:
    return f'<time datetime="{moment(at):%Y-%m-%dT%H:%M:%S+00:00}">{moment(at):%a %b %d, %Y}</time>'


def _frame(body: str) -> str:
    return f"""<html><head><title>Our forum</title><link href="./styles/prosilver/theme/stylesheet.css" rel="stylesheet"></head>
      <body id="phpbb">{body}<ul id="nav-footer"><li class="rightside">All times are <span title="UTC">UTC</span></li></ul>
      <div class="copyright">Powered by <a href="https://www.phpbb.com/">phpBB</a></div></body></html>"""


def _front(boards: tuple[Board, ...]) -> str:
    def row(one: Board) -> str:
        subs = "".join(
            f'<a href="./viewforum.php?f={sub.number}&amp;sid=ab" class="subforum read"><i></i>{escape(sub.title)}</a>'
            for sub in below(one, boards)
        )
        return f"""<li class="row"><dl class="row-item forum_read"><dt><a href="./viewforum.php?f={one.number}&amp;sid=ab"
          class="forumtitle">{escape(one.title)}</a><br>{subs}</dt><dd class="topics">3 <dfn>Topics</dfn></dd>
          <dd class="posts">9 <dfn>Posts</dfn></dd><dd class="lastpost"></dd></dl></li>"""

    return _frame(f'<ul class="topiclist forums">{"".join(map(row, top(boards)))}</ul>')


def _pager(address: str, part: Part) -> str:
    links = "".join(
        f'<li><a class="button" href="{address}&amp;start={at * part.size}">{at + 1}</a></li>'
        for at in range(last(part)) if at + 1 != part.number
    )  # fmt: skip
    arrow = (
        f'<li class="arrow next"><a class="button" rel="next" href="{address}&amp;start={part.start + part.size}">Next</a></li>'
        if part.has_more
        else ""
    )
    return f"""<div class="action-bar"><div class="pagination"><input data-per-page="{part.size}"><ul>{links}<li class="active">
      <span>{part.number}</span></li>{arrow}</ul></div></div>"""


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<li class="row{" sticky" * one.is_pinned}"><dl class="row-item topic_read{"_locked" * one.is_locked}"><dt>
          <a href="./viewtopic.php?t={one.number}&amp;sid=ab" class="topictitle">{escape(one.title)}</a><div class="topic-poster">by
          <a href="./memberlist.php?u=2" class="username">{escape(one.said[0].author)}</a> » {_iso(one.said[0].at)}</div></dt>
          <dd class="posts">{len(one.said) - 1} <dfn>Replies</dfn></dd><dd class="views">1{one.number}7 <dfn>Views</dfn></dd>
          <dd class="lastpost">by <a class="username">{escape(one.last.author)}</a> {_iso(one.last.at)}</dd></dl></li>"""
        for one in part.items
    )
    none = '<div class="panel"><div class="inner"><strong>There are no topics in this forum.</strong></div></div>'
    shown = f'<ul class="topiclist topics">{rows}</ul>' if rows else none
    return _frame(
        f'<h2 class="forum-title">{escape(board.title)}</h2>{_pager(f"./viewforum.php?f={board.number}", part)}{shown}'
    )


def _thread(topic: Topic, part: Part) -> str:
    def post(one: Said) -> str:
        quote = f'<blockquote><cite><a href="./viewtopic.php?p={one.quotes}#p{one.quotes}">x</a> wrote:</cite>old</blockquote>'
        edited = f'<div class="notice">Last edited by x on {moment(one.edited_at or 0):%a %b %d, %Y %I:%M %p}.</div>'
        return f"""<div id="p{one.number}" class="post has-profile"><dl class="postprofile"><dt><a class="username"
          href="./memberlist.php?u=2">{escape(one.author)}</a></dt><dd>Posts: 7</dd></dl><div class="postbody"><h3>Re: {escape(topic.title)}</h3>
          <p class="author">by <a class="username">x</a> » {_iso(one.at)}</p><div class="content">{quote if one.quotes else ""}{lines(one)}</div>
          {edited if one.edited_at else ""}</div></div>"""

    return _frame(
        f"""<div id="nav-breadcrumbs"><span class="crumb" data-forum-id="{topic.board}"></span></div>
          <h2 class="topic-title">{escape(topic.title)}</h2>{_pager(f"./viewtopic.php?t={topic.number}", part)}
          {"".join(map(post, part.items))}"""
    )


PHPBB = Layout(
    _front, _list, _thread, r"/viewforum\.php\?f=(?P<board>\d+)", r"/viewtopic\.php\?t=(?P<topic>\d+)", by_offset("start"), per_list=20
)  # fmt: skip
