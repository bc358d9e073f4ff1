"""vBulletin 4: plain addresses by id, pages by number, and errors told on pages with status 200."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape

from tests.programs.content import Content, Said, Topic
from tests.programs.host import Answer, Ask, page

FRAME = """<!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml" dir="ltr" lang="en" id="vbulletin_html"><head>
<meta charset="UTF-8"><meta name="generator" content="vBulletin 4.2.5"><title>Our forum</title></head><body>
<div class="above_body"><div id="header"><a href="forum.php?s=0123456789abcdef0123456789abcdef">Our forum</a></div></div>
<div class="body_wrapper"><div id="breadcrumb" class="breadcrumb"><ul class="floatcontainer">
<li class="navbithome"><a href="forum.php">Home</a></li>{crumbs}</ul></div>{body}</div>
<div id="footer"><div id="footer_time" class="footer_time">All times are GMT. The time now is <span class="time">09:00
AM</span>.</div><div id="footer_copyright">Powered by vBulletin® Version 4.2.5</div></div></body></html>"""


def time_of(at: int) -> str:
    there = datetime.fromtimestamp(at, UTC)
    return f'{there:%m-%d-%Y},&nbsp;<span class="time">{there:%I:%M %p}</span>'


class VBulletin4:
    """The default style."""

    def __init__(self, content: Content, per_list: int = 20, per_page: int = 10) -> None:
        self._content = content
        self._per_list = per_list
        self._per_page = per_page

    def answer(self, ask: Ask) -> Answer:
        at = ask.number("page", 1)
        named = next((int(found[1]) for found in (re.match(r"(\d+)-", name) for name in ask.query) if found), 0)
        if ask.path == "/forumdisplay.php":
            return self._board(ask.number("f", named), at)
        if ask.path == "/showthread.php":
            return self._thread(ask.number("t", named), at)
        return self._index() if ask.path in ("/", "/forum.php", "/index.php") else page("no", 404)

    def _page(self, body: str, crumbs: str = "") -> Answer:
        return page(FRAME.format(body=body, crumbs=crumbs), Set_Cookie="bb_lastvisit=1; path=/")

    def _error(self) -> Answer:
        return self._page(
            '<div class="standard_error"><h2>vBulletin Message</h2><div>Invalid Thread specified.</div></div>'
        )

    def _index(self) -> Answer:
        rows = ""
        for board in self._content.boards:
            below = "".join(
                f'<li class="subforum"><img src="x.png"><a href="forumdisplay.php?{one.number}-{one.slug}&amp;s=0123">'
                f"{escape(one.title)}</a></li>"
                for one in self._content.boards if one.parent == board.number
            )  # fmt: skip
            subs = (
                f'<div class="subforums"><h4>Sub-Forums:</h4><ol class="subforumlist">{below}</ol></div>'
                if below
                else ""
            )
            if board.parent is None:
                rows += f"""<li id="forum{board.number}" class="forumbit_post new L2"><div class="forumrow table">
                  <div class="foruminfo td"><div class="forumdata"><div class="datacontainer"><div class="titleline">
                  <h2 class="forumtitle"><a href="forumdisplay.php?{board.number}-{board.slug}&amp;s=0123">{escape(board.title)}</a>
                  </h2></div>{subs}</div></div></div><div class="forumlastpost td"><a
                  href="showthread.php?3-x&amp;p=130#post130">A topic</a></div></div></li>"""
        return self._page(f"""<ol id="forums" class="floatcontainer"><li class="forumbit_nopost L1" id="cat9"><div
          class="forumhead"><h2><span class="forumtitle"><a href="forumdisplay.php?9-Main">Main</a></span></h2></div>
          <ol class="childforum">{rows}</ol></li></ol>""")

    def _pager(self, address: str, at: int, count: int, size: int) -> str:
        last = -(-max(1, count) // size)
        if last < 2:
            return ""
        following = (
            f'<span class="prev_next"><a rel="next" href="{address}&amp;page={at + 1}"><img src="n.png"></a></span>'
        )
        return f"""<form action="{address}" class="pagination popupmenu nohovermenu"><span><a href="javascript://"
          class="popupctrl">Page {at} of {last}</a></span>{following if at < last else ""}</form>"""

    def _board(self, number: int, at: int) -> Answer:
        if number not in {one.number for one in self._content.boards}:
            return self._error()
        listed = self._content.listed(number)
        shown = listed[(at - 1) * self._per_list : at * self._per_list]
        pager = self._pager(f"forumdisplay.php?{number}-x&amp;s=0123", at, len(listed), self._per_list)
        pinned = "".join(self._row(one, number) for one in shown if one.is_pinned)
        rows = "".join(self._row(one, number) for one in shown if not one.is_pinned)
        title = escape(self._content.board(number).title)
        return self._page(f"""<div id="pagetitle"><h1>Forum: <span class="forumtitle">{title}</span></h1></div>{pager}
          <div id="threadlist" class="threadlist"><form id="thread_inlinemod_form"><div><ol id="stickies"
          class="stickies">{pinned}</ol><ol id="threads" class="threads">{rows}</ol></div></form></div>{pager}""")

    def _row(self, topic: Topic, board: int) -> str:
        first, last, number = topic.said[0], topic.last, topic.number
        is_notice = topic.board != board
        css = "moved" if is_notice else "lock" if topic.is_locked else "hot"
        prefix = "Moved:" if is_notice else "Sticky:" if topic.is_pinned else ""
        return f"""<li class="threadbit {css}" id="thread_{number}"><div class="rating0 nonsticky"><div class="threadinfo">
          <div class="inner"><h3 class="threadtitle"><span id="thread_prefix_{number}" class="prefix">{prefix}</span>
          <a class="title" href="showthread.php?{number}-x&amp;s=0123" id="thread_title_{number}">{escape(topic.title)}</a></h3>
          <div class="threadmeta"><div class="author"><span class="label">Started by&nbsp;<a href="member.php?1" class="username
          understate">{escape(first.author)}</a>, {time_of(first.at)}</span></div></div></div></div>
          <ul class="threadstats td alt"><li>Replies: <a href="misc.php?t={number}" class="understate">{len(topic.said) - 1}</a>
          </li><li>Views: 1,009</li></ul><dl class="threadlastpost td"><dt class="lastpostby hidden">Last Post By</dt>
          <dd><div class="popupmenu memberaction"><a class="username">{escape(last.author)}</a></div></dd>
          <dd>{time_of(last.at)} <a href="showthread.php?{number}-x&amp;p={last.number}#post{last.number}">»</a></dd></dl>
          </div></li>"""

    def _thread(self, number: int, at: int) -> Answer:
        topic = self._content.visible.get(number)
        if topic is None:
            return self._error()
        shown = topic.said[(at - 1) * self._per_page : at * self._per_page]
        pager = self._pager(f"showthread.php?{number}-x&amp;s=0123", at, len(topic.said), self._per_page)
        posts = "".join(self._post(number, said) for said in shown)
        crumbs = f'<li class="navbit"><a href="forumdisplay.php?{topic.board}-x&amp;s=0123">Board</a></li>'
        return self._page(
            f"""<div id="pagination_top" class="pagination_top">{pager}</div><div id="pagetitle"
          class="pagetitle"><h1>Thread: <span class="threadtitle"><a href="showthread.php?{number}-x">{escape(topic.title)}</a>
          </span></h1></div><div id="postlist" class="postlist"><ol id="posts" class="posts" start="1">{posts}</ol></div>
          <div id="pagination_bottom">{pager}</div>""",
            crumbs,
        )

    def _post(self, number: int, said: Said) -> str:
        quote = ""
        if said.quotes:
            quote = f"""<div class="bbcode_container"><div class="bbcode_quote"><div class="quote_container"><div
              class="bbcode_postedby">Originally Posted by <strong>x</strong> <a
              href="showthread.php?s=0123&amp;p={said.quotes}#post{said.quotes}" rel="nofollow"><img src="v.png"></a></div>
              <div class="message">old</div></div></div></div>"""
        edited = f'<div class="postfoot"><span class="lastedited">Last edited by x; {time_of(said.edited_at or 0)}.</span></div>'
        return f"""<li class="postbitlegacy postbitim postcontainer old" id="post_{said.number}"><div class="posthead">
          <span class="postdate old"><span class="date">{time_of(said.at)}</span></span><span class="nodecontrols"><a
          name="post{said.number}" href="showthread.php?{number}-x&amp;p={said.number}#post{said.number}">#1</a></span></div>
          <div class="postdetails"><div class="userinfo"><div class="username_container"><div class="popupmenu"><a
          class="username offline popupctrl" href="member.php?1"><strong>{escape(said.author)}</strong></a></div></div></div>
          <div class="postbody"><div class="postrow"><div class="content"><div id="post_message_{said.number}"><blockquote
          class="postcontent restore ">{quote}{"<br />".join(map(escape, said.lines))}</blockquote></div></div></div>
          {edited if said.edited_at else ""}</div></div></li>"""
