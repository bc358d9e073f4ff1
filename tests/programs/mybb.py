"""MyBB 1.8 with its default theme: dates month first."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.layouts import Layout, Part, by_page, lines, moment
from tests.programs.parts import below, last, top


def _american(at: int) -> str:
    return f"{moment(at):%m-%d-%Y, %I:%M %p}"


def _frame(body: str) -> str:
    return f"""<html><head><title>Our forum</title><script src="/jscripts/general.js?ver=1827"></script></head><body><div id="content">
      {body}</div><div id="footer">Powered By <a href="https://mybb.com">MyBB</a></div></body></html>"""


def _front(boards: tuple[Board, ...]) -> str:
    def row(one: Board) -> str:
        subs = "".join(
            f'<div class="subforumicon"></div><a href="forumdisplay.php?fid={sub.number}">{escape(sub.title)}</a>'
            for sub in below(one, boards)
        )
        return f"""<tr><td class="trow1"><span class="forum_status forum_off"></span></td><td class="trow1"><strong><a
          href="forumdisplay.php?fid={one.number}">{escape(one.title)}</a></strong><div class="smalltext">{subs}</div></td>
          <td class="trow1">3</td><td class="trow1">9</td><td class="trow1">Never</td></tr>"""

    return _frame(
        f'<table class="tborder"><tr><td class="thead">Main</td></tr>{"".join(map(row, top(boards)))}</table>'
    )


def _pager(address: str, part: Part) -> str:
    links = "".join(
        f'<a href="{address}&amp;page={at}" class="pagination_page">{at}</a>'
        if at != part.number
        else f'<span class="pagination_current">{at}</span>'
        for at in range(1, last(part) + 1)
    )
    following = (
        f'<a href="{address}&amp;page={part.number + 1}" class="pagination_next">Next »</a>' if part.has_more else ""
    )
    return f'<div class="float_left"><div class="pagination">{links}{following}</div></div>' if last(part) > 1 else ""


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tr class="inline_row"><td class="trow1{" forumdisplay_sticky" * one.is_pinned}"><span class="thread_status
          {"closefolder" if one.is_locked else "folder"}"></span></td><td class="trow1"><div><span class="subject_old"
          id="tid_{one.number}"><a href="showthread.php?tid={one.number}">{escape(one.title)}</a></span><div class="author smalltext"><a
          href="member.php?uid=2"><span class="author">{escape(one.said[0].author)}</span></a> <span class="thread_start_datetime
          smalltext">{_american(one.said[0].at)}</span></div></div></td><td class="trow1">-</td><td class="trow1"><a
          href="misc.php?action=whoposted&amp;tid={one.number}">{len(one.said) - 1}</a></td><td class="trow1">1{one.number}7</td><td
          class="trow1"><span class="lastpost smalltext">{_american(one.last.at)}<br><a
          href="showthread.php?tid={one.number}&amp;action=lastpost">Last Post</a>: <a>{escape(one.last.author)}</a></span></td></tr>"""
        for one in part.items
    )
    none = '<tr><td class="trow1" colspan="7">Sorry, but there are currently no threads in this forum.</td></tr>'
    return _frame(
        f"""{_pager(f"forumdisplay.php?fid={board.number}", part)}<table class="tborder clear"><tr><td class="thead" colspan="7">
          <div><strong>{escape(board.title)}</strong></div></td></tr>{rows or none}</table>"""
    )


def _thread(topic: Topic, part: Part) -> str:
    def post(one: Said) -> str:
        quote = f"""<blockquote class="mycode_quote"><cite>x Wrote: <a href="showthread.php?pid={one.quotes}#pid{one.quotes}"></a></cite>old
          </blockquote>"""
        edited = f'<span class="post_edit"><span class="edited_post">(This post was last modified: {_american(one.edited_at or 0)} by <a>x</a>.)</span></span>'
        return f"""<div class="post" id="post_{one.number}"><div class="post_author"><div class="author_information"><strong><span
          class="largetext"><a href="member.php?action=profile&amp;uid=2">{escape(one.author)}</a></span></strong></div></div><div
          class="post_content"><div class="post_head"><span class="post_date">{_american(one.at)} {edited if one.edited_at else ""}</span>
          </div><div class="post_body scaleimages" id="pid_{one.number}">{quote if one.quotes else ""}{lines(one)}</div></div></div>"""

    return _frame(
        f"""<div class="navigation"><a href="forumdisplay.php?fid={topic.board}">Board</a></div>
          {_pager(f"showthread.php?tid={topic.number}", part)}<table class="tborder"><tr><td class="thead"><div><strong>
          {escape(topic.title)}</strong></div></td></tr></table><div id="posts">{"".join(map(post, part.items))}</div>
          <a href="printthread.php?tid={topic.number}">Print</a>"""
    )


MYBB = Layout(
    _front, _list, _thread, r"/forumdisplay\.php\?fid=(?P<board>\d+)", r"/showthread\.php\?tid=(?P<topic>\d+)", by_page, per_list=20
)  # fmt: skip
