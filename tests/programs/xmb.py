"""A forum as XMB: tables in tables without classes of their own, posts over three rows, notes of edits as text."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.layouts import Layout, Part, by_page, lines, moment


def _frame(body: str) -> str:
    return f"""<html><head><title>Our forum</title></head><body><table width="97%"><tr><td><table width="100%"><tr><td align=right><font
      class=smalltxt>Not logged in [<a href="/misc.php?action=login">Login</a> - <a href="/member.php?action=reg">Register</a>]</font>
      </td></tr><tr><td class=navtd><a href="/search.php">Search</a> <a href="/faq.php">FAQ</a> <a href="/today.php">Today's Posts</a>
      </td></tr></table></td></tr></table>{body}<table><tr><td class=smalltxt>Powered by nobody [Queries: 7]</td></tr></table></body></html>"""


def _framed(rows: str) -> str:
    return f'<table width="97%"><tr><td><table width="100%" class=tablelinks>{rows}</table></td></tr></table>'


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f"""<tr><td class=ctrtablerow><img src=folder.gif></td><td class=tablerow><a href="/forumdisplay.php?fid={one.number}"><font
          class=mediumtxt><strong>{escape(one.title)}</strong></font><br><font class=smalltxt>All about it</font></a></td><td class=ctrtablerow><font class=mediumtxt>12</font></td></tr>"""
        for one in boards
    )
    return _frame(_framed(f"<tr class=header><td>&nbsp;</td><td>Forum:</td><td>Topics:</td></tr>{rows}"))


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tr><td class=ctrtablerow><img src=folder.gif></td><td class=tablerow><font class=mediumtxt><a
          href="/viewthread.php?tid={one.number}">{escape(one.title)}</a></font></td><td class=ctrtablerow><a
          href="/member.php?action=viewpro&amp;member=x">{escape(one.said[0].author)}</a></td><td class=ctrtablerow><font
          class=mediumtxt>{len(one.said) - 1}</font></td><td class=ctrtablerow><font class=mediumtxt>1{one.number}7</font></td>
          <td class=lastpostcell><table width="100%"><tr align=right><td class=rghttablerow><a class=smalltxt
          href="/viewthread.php?goto=lastpost&amp;tid={one.number}">{_time(one.last.at)}<br>by {escape(one.last.author)}</a></td></tr></table>
          </td></tr>"""
        for one in part.items
    )
    head = "<td>&nbsp;</td><td>Subject:</td><td>Author:</td><td>Replies:</td><td>Views:</td><td>Last Post:</td>"
    none = "<tr><td class=tablerow colspan=6><font class=mediumtxt>There are no posts in this forum.</font></td></tr>"
    trail = f'<table><tr><td class=nav><a href="/">Our forum</a> &raquo; {escape(board.title)}</td></tr></table>'
    pager = _pager(f"/forumdisplay.php?fid={board.number}", part)
    return _frame(f"{trail}{pager}{_framed(f'<tr class=header>{head}</tr>{rows or none}')}")


def _thread(topic: Topic, part: Part) -> str:
    posts = "".join(_post(topic, one) for one in part.items)
    trail = f'<a href="/">Our forum</a> &raquo; <a href="/forumdisplay.php?fid={topic.board}">Board</a> &raquo; {escape(topic.title)}'
    head = f"<tr class=header><td>Author:</td><td>Subject: {escape(topic.title)}</td></tr>"
    pager = _pager(f"/viewthread.php?tid={topic.number}", part)
    return _frame(f"<table><tr><td class=nav>{trail}</td></tr></table>{pager}{_framed(head + posts)}")


def _post(topic: Topic, one: Said) -> str:
    subject = f"<font class=subject><strong>{escape(topic.title)}<br></strong></font>" if one is topic.said[0] else ""
    note = f"<br><br>[Edited on {_day(one.edited_at, '-')} by {escape(one.author)}]" if one.edited_at else ""
    quote = "<div class=quotehead>Quote:</div><blockquote>old</blockquote>" if one.quotes else ""
    sign = "<div class=sig>____<br>My own words</div>" if one.number % 2 else ""
    return f"""<tr><td rowspan=3 class=tablerow><font class=mediumtxt><strong><a href='/member.php?action=viewpro&amp;member=x'>{escape(one.author)}</a>
      </strong></font><br><div class=smalltxt><a name="pid{one.number}"></a>Junior Member<br>Posts: 5<br>Registered: 13-9-2020</div></td>
      <td class=tablerow><table width="100%"><tr><td class=smalltxt><a href="/viewthread.php?tid={topic.number}&amp;goto=search&amp;pid={one.number}">
      posted on {_time(one.at)}</a></td></tr></table></td></tr><tr><td class=tablerow>{subject}<br><div class=mediumtxt>{quote}{lines(one)}{note}{sign}
      </div></td></tr><tr><td class=tablerow><table><tr><td class=smalltxt><a href="/member.php?action=viewpro&amp;member=x"><img alt=profile></a>
      </td></tr></table></td></tr>"""


def _pager(where: str, part: Part) -> str:
    following = f'<a href="{where}&amp;page={part.number + 1}" rel=next>{part.number + 1}</a>' if part.has_more else ""
    return f"<table><tr><td class=multi>Pages: <strong>{part.number}</strong> {following}</td></tr></table>"


def _day(at: int, mark: str) -> str:
    there = moment(at)
    return f"{there.month}{mark}{there.day}{mark}{there.year}"


def _time(at: int) -> str:
    there = moment(at)
    return f"{there.day}-{there.month}-{there.year} at {there:%I:%M %p}"


XMB = Layout(
    _front, _list, _thread, r"/forumdisplay\.php\?fid=(?P<board>\d+)", r"/viewthread\.php\?tid=(?P<topic>\d+)(?!&goto)", by_page
)  # fmt: skip
