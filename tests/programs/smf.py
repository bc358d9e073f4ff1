"""SMF 2.1 and 2.0: boards and topics are addressed by an offset behind a dot, moved topics leave a notice."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape

from tests.programs.content import AUTHORS, Content, Said, Topic
from tests.programs.host import Answer, Ask, moved, page

NOTICE = 1000
"""A notice of a moved topic is a topic of its own; its number is that of what was moved and so much more."""
FRAME = """<!DOCTYPE html><html lang="en-US"><head><meta charset="UTF-8"><title>Our forum - Index</title>
<script>var smf_theme_url = "{base}/Themes/default"; var smf_scripturl = "{base}/index.php";</script></head>
<body id="chrome" class="action_home"><div id="footerfix"><div id="top_section"><ul><li>
<a href="{base}/index.php?action=login">Log in</a></li></ul><time datetime="2026-01-01T00:00:00Z">Today</time></div>
<div id="header"><h1 class="forumtitle"><a href="{base}/index.php">Our forum</a></h1></div>
<div class="navigate_section"><ul><li><a href="{base}/index.php"><span>Our forum</span></a></li>{crumbs}</ul></div>
<div id="content_section"><div id="main_content_section">{body}</div></div></div>
<div id="footer"><ul><li class="copyright"><a href="{base}/index.php?action=credits">SMF {version}</a></li></ul></div>"""


def time_of(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%B %d, %Y, %I:%M %p}"


class Smf:
    """The default theme of 2.1."""

    version = "2.1.4 © 2023, Simple Machines"
    current = '<span class="current_page">{}</span> '
    other = '<a class="nav_page" href="{}">{}</a> '

    def __init__(self, content: Content, per_list: int = 20, per_page: int = 15) -> None:
        self._content = content
        self._per_list = per_list
        self._per_page = per_page

    def answer(self, ask: Ask) -> Answer:
        if ask.path not in ("/", "/index.php"):
            return page("no such file", 404)
        board = re.fullmatch(r"(\d+)\.(\d+)", ask.query.get("board", ""))
        topic = re.fullmatch(r"(\d+)\.(?:(\d+)|msg(\d+)|new)", ask.query.get("topic", ""))
        if board is not None:
            return self._board(ask, int(board[1]), int(board[2]))
        if topic is not None:
            return self._topic(ask, int(topic[1]), int(topic[2] or 0))
        return self._page(ask, self.index(ask)) if not ask.query else self._error(ask, 403)

    def _page(self, ask: Ask, body: str, crumbs: str = "", status: int = 200) -> Answer:
        whole = FRAME.format(base=ask.base, body=body, crumbs=crumbs, version=self.version)
        return page(whole, status, Set_Cookie="PHPSESSID=0123456789abcdef0123456789; path=/")

    def _error(self, ask: Ask, status: int) -> Answer:
        text = "The topic or board you are looking for appears to be either missing or off limits to you."
        box = f'<div id="fatal_error"><div class="cat_bar"><h3 class="catbg">An Error Has Occurred!</h3></div>{text}</div>'
        return self._page(ask, box, status=status)

    def index(self, ask: Ask) -> str:
        rows = "".join(self.board_row(ask, one.number, one.title) for one in self._content.boards if one.parent is None)
        return f"""<div id="boardindex_table" class="boardindex_table"><div class="main_container">
          <div class="cat_bar" id="category_1"><h3 class="catbg"><a id="c1"></a>Category</h3></div>
          <div id="category_1_boards">{rows}
          <div id="board_9" class="up_contain"><div class="board_icon"><a href="{ask.base}/index.php?board=9.0"
          class="board_redirect"></a></div><div class="info"><a class="subject mobile_subject"
          href="{ask.base}/index.php?board=9.0" id="b9">Elsewhere</a></div></div></div></div></div>"""

    def board_row(self, ask: Ask, number: int, title: str) -> str:
        below = [one for one in self._content.boards if one.parent == number]
        links = " ".join(f'<span><a href="{ask.base}/index.php?board={one.number}.0" title="No New Posts (Topics: 8)">'
                         f"{escape(one.title)}</a></span>" for one in below)  # fmt: skip
        children = f'<div class="children"><p><strong>Child Boards</strong>{links}</p></div>' if below else ""
        return f"""<div id="board_{number}" class="up_contain "><div class="board_icon">
          <a href="{ask.base}/index.php?board={number}.0" class="board_on"></a></div><div class="info">
          <a class="subject mobile_subject" href="{ask.base}/index.php?board={number}.0" id="b{number}">
          {escape(title)}</a><div class="board_description">Words</div></div>
          <div class="board_stats"><p>Posts: 1<br>Topics: 1</p></div><div class="lastpost"><p><strong>Last post: </strong>
          <a href="{ask.base}/index.php?topic=3.msg130#new">A topic</a></p></div>{children}</div>"""

    def pager(self, ask: Ask, what: str, start: int, size: int, count: int) -> str:
        """Write the links of a pager; arrows stand at both ends, and of many pages the middle ones are left out."""
        last = max(0, (count - 1) // size) * size
        near = [one for one in range(0, last + 1, size) if abs(one - start) <= 2 * size or one in (0, last)]
        parts = [self.other.format(f"{ask.base}/index.php?{what}.{start - size}", "<span></span>")] if start else []
        for one in near:
            there = f"{ask.base}/index.php?{what}.{one}"
            number = one // size + 1
            parts.append(self.current.format(number) if one == start else self.other.format(there, number))
        if start < last:
            parts.append(self.other.format(f"{ask.base}/index.php?{what}.{start + size}", "<span></span>"))
        return self.pages("".join(parts))

    def pages(self, links: str) -> str:
        return f"""<div class="pagesection"><div class="pagelinks floatleft"><a href="#bot" class="button">Go Down</a>
          <span class="pages">Pages</span>{links}</div></div>"""

    def _board(self, ask: Ask, number: int, start: int) -> Answer:
        if number not in {one.number for one in self._content.boards}:
            return self._error(ask, 403)
        listed = self._content.listed(number)
        start -= start % self._per_list
        shown = listed[start : start + self._per_list]
        rows = "".join(self.row(ask, topic, is_notice=topic.board != number) for topic in shown)
        pager = self.pager(ask, f"board={number}", start, self._per_list, len(listed))
        body = "".join(
            self.board_row(ask, one.number, one.title) for one in self._content.boards if one.parent == number
        )
        return self._page(ask, body + pager + self.table(rows) + pager)

    def table(self, rows: str) -> str:
        none = "" if rows else '<h3 class="titlebg">There are no topics in this board yet.</h3>'
        return f"""<div id="messageindex"><div class="title_bar" id="topic_header">{none}</div>
          <div id="topic_container">{rows}</div></div>"""

    def row(self, ask: Ask, topic: Topic, *, is_notice: bool) -> str:
        first, last, number = topic.said[0], topic.last, topic.number + (NOTICE if is_notice else 0)
        title = f"MOVED: {topic.title}" if is_notice else topic.title
        icons = "".join(f'<span class="main_icons {name}"></span>' for name, there in (
            ("lock", topic.is_locked or is_notice), ("sticky", topic.is_pinned), ("move", is_notice)) if there)  # fmt: skip
        pages = (
            f'<span class="topic_pages"><a class="nav_page" href="{ask.base}/index.php?topic={number}.15">2</a></span>'
        )
        return f"""<div class="windowbg{" sticky" if topic.is_pinned else ""}"><div class="board_icon"><img src="/x.png"></div>
          <div class="info info_block"><div ><div class="icons floatright">{icons}</div>
          <div class="message_index_title"><span class="preview" title="words"><span id="msg_{first.number}">
          <a href="{ask.base}/index.php?topic={number}.0">{escape(title)}</a></span></span></div>
          <p class="floatleft">Started by <a href="{ask.base}/index.php?action=profile;u=1" class="preview">
          {escape(first.author)}</a></p>{pages if len(topic.said) > self._per_page else ""}</div></div>
          <div class="board_stats centertext"><p>Replies: {0 if is_notice else len(topic.said) - 1}<br>Views: 1,009</p></div>
          <div class="lastpost"><p><a href="{ask.base}/index.php?topic={number}.0#msg{last.number}">{time_of(last.at)}</a>
          by <a href="{ask.base}/index.php?action=profile;u=2">{escape(last.author)}</a></p></div></div>"""

    def _topic(self, ask: Ask, number: int, start: int) -> Answer:
        if number > NOTICE:
            return moved(f"{ask.base}/index.php?topic={number - NOTICE}.0")
        topic = self._content.visible.get(number)
        if topic is None:
            text = "The topic or board you are looking for appears to be either missing or off limits to you."
            return self._page(ask, f'<form id="frmLogin"><p class="information centertext">{text}</p></form>')
        start = min(start, len(topic.said) - 1)
        start -= start % self._per_page
        shown = topic.said[start : start + self._per_page]
        pager = self.pager(ask, f"topic={number}", start, self._per_page, len(topic.said))
        posts = "".join(self.post(ask, topic, said, start + place) for place, said in enumerate(shown))
        crumbs = f'<li><a href="{ask.base}/index.php?board={topic.board}.0"><span>Board</span></a></li>'
        return self._page(ask, self.thread(topic, pager, posts), crumbs)

    def thread(self, topic: Topic, pager: str, posts: str) -> str:
        return f"""<div id="display_head" class="information"><h2 class="display_title">
          <span id="top_subject">{escape(topic.title)}</span></h2><p>Started by ann, {time_of(topic.said[0].at)}</p>
          <span class="nextlinks floatright"><a href="?topic=1.0;prev_next=prev#new">previous topic</a></span></div>
          {pager}<div id="forumposts"><form action="?action=quickmod2" id="quickModForm">{posts}</form></div>{pager}"""

    def quote(self, ask: Ask, topic: Topic, number: int | None) -> str:
        if number is None:
            return ""
        link = f"{ask.base}/index.php?topic={topic.number}.msg{number}#msg{number}"
        return f'<blockquote class="bbc_standard_quote"><cite><a href="{link}">Quote from: x on Today</a></cite>old</blockquote>'

    def post(self, ask: Ask, topic: Topic, said: Said, place: int) -> str:
        text = "<br>".join(map(escape, said.lines))
        edited = f'<span class="lastedit">Last Edit</span>: {time_of(said.edited_at)} by x' if said.edited_at else ""
        link = f"{ask.base}/index.php?topic={topic.number}.msg{said.number}#msg{said.number}"
        user = AUTHORS.index(said.author)
        return f"""<div class="windowbg" id="msg{said.number}"> <div class="post_wrapper"><div class="poster"><h4>
          <span class="off" title="Offline"></span><a href="{ask.base}/index.php?action=profile;u={user}">{escape(said.author)}
          </a></h4><ul class="user_info"><li class="postcount">Posts: 7</li></ul></div><div class="postarea">
          <div class="keyinfo"><div id="subject_{said.number}" class="subject_title subject_hidden"><a href="{link}">Re</a></div>
          <span class="page_number floatright">#{place}</span><div class="postinfo"><span class="messageicon"></span>
          <a href="{link}" rel="nofollow" title="Reply" class="smalltext">{time_of(said.at)}</a><span class="spacer"></span>
          <span class="smalltext modified floatright mvisible" id="modified_{said.number}">{edited}</span></div>
          <div id="msg_{said.number}_quick_mod"></div></div><div class="post"><div class="inner" data-msgid="{said.number}"
          id="msg_{said.number}">{self.quote(ask, topic, said.quotes)}{text}</div></div><div class="under_message"></div>
          </div></div></div><hr class="post_separator">"""


class OldSmf(Smf):
    """The default theme of 2.0."""

    version = "2.0.19 | SMF © 2021, Simple Machines"
    current = "[<strong>{}</strong>] "
    other = '<a class="navPages" href="{}">{}</a> '

    def board_row(self, ask: Ask, number: int, title: str) -> str:
        below = [one for one in self._content.boards if one.parent == number]
        links = ", ".join(
            f'<a href="{ask.base}/index.php?board={one.number}.0">{escape(one.title)}</a>' for one in below
        )
        children = (
            f'<tr class="children"><td colspan="3"><strong>Child Boards</strong>: {links}</td></tr>' if below else ""
        )
        return f"""<tr id="board_{number}" class="windowbg2"><td class="icon windowbg"><a href="#"></a></td>
          <td class="info"><a class="subject" href="{ask.base}/index.php?board={number}.0" name="b{number}">{escape(title)}</a>
          <p>Words</p></td><td class="stats windowbg"><p>1 Posts<br>1 Topics</p></td><td class="lastpost"><p>Last post</p></td>
          </tr>{children}"""

    def index(self, ask: Ask) -> str:
        rows = "".join(self.board_row(ask, one.number, one.title) for one in self._content.boards if one.parent is None)
        return f"""<div id="boardindex_table"><table class="table_list"><tbody class="header" id="category_1"><tr><td>
          <div class="cat_bar"><h3 class="catbg"><a id="c1"></a>Category</h3></div></td></tr></tbody>
          <tbody class="content" id="category_1_boards">{rows}</tbody></table></div>"""

    def pages(self, links: str) -> str:
        return f"""<div class="pagesection"><div class="pagelinks floatleft">Pages: {links}&nbsp;&nbsp;
          <a href="#bot"><strong>Go Down</strong></a></div></div>"""

    def table(self, rows: str) -> str:
        none = '<tr class="catbg"><th scope="col">There are no messages in this board.</th></tr>'
        return f"""<div class="tborder topic_table" id="messageindex"><table class="table_grid"><thead>
          <tr class="catbg"><th class="first_th" colspan="2"><a>Subject</a></th></tr></thead><tbody>{rows or none}</tbody>
          </table></div>"""

    def row(self, ask: Ask, topic: Topic, *, is_notice: bool) -> str:
        first, last, number = topic.said[0], topic.last, topic.number + (NOTICE if is_notice else 0)
        title = f"MOVED: {topic.title}" if is_notice else topic.title
        icon = "moved" if is_notice else "xx"
        pages = (
            f'<small id="pages{first.number}">&#171; <a class="navPages" href="?topic={number}.15">2</a> &#187;</small>'
        )
        return f"""<tr><td class="icon1 windowbg"><img src="/i.gif"></td><td class="icon2 windowbg">
          <img src="{ask.base}/Themes/default/images/post/{icon}.gif" alt=""></td><td class="subject windowbg2"><div >
          <span id="msg_{first.number}"><a href="{ask.base}/index.php?topic={number}.0">{escape(title)}</a></span>
          <p>Started by <a href="?action=profile;u=1">{escape(first.author)}</a>
          {pages if len(topic.said) > self._per_page else ""}</p></div></td>
          <td class="stats windowbg">{0 if is_notice else len(topic.said) - 1} Replies<br>1,009 Views</td>
          <td class="lastpost windowbg2"><a href="?topic={number}.msg{last.number}#msg{last.number}"><img src="/l.gif"></a>
          {time_of(last.at)}<br>by <a href="?action=profile;u=2">{escape(last.author)}</a></td></tr>"""

    def thread(self, topic: Topic, pager: str, posts: str) -> str:
        return f"""{pager}<div id="forumposts"><div class="cat_bar"><h3 class="catbg"><img src="/i.gif" alt="">
          <span id="author">Author</span> Topic: {escape(topic.title)} &nbsp;(Read 1009 times)</h3></div>
          <form action="?action=quickmod2" id="quickModForm">{posts}</form></div>{pager}"""

    def quote(self, ask: Ask, topic: Topic, number: int | None) -> str:
        if number is None:
            return ""
        link = f"{ask.base}/index.php?topic={topic.number}.msg{number}#msg{number}"
        return f"""<div class="quoteheader"><div class="topslice_quote"><a href="{link}">Quote from: x on Today</a></div></div>
          <blockquote class="bbc_standard_quote">old</blockquote><div class="quotefooter"></div>"""

    def post(self, ask: Ask, topic: Topic, said: Said, place: int) -> str:
        text = "<br />".join(map(escape, said.lines))
        edited = f"&#171; <em>Last Edit: {time_of(said.edited_at)} by x</em> &#187;" if said.edited_at else ""
        word = f"Reply #{place} on:" if place else " on:"
        return f"""<div class="windowbg"><span class="topslice"><span></span></span><div class="post_wrapper">
          <div class="poster"><h4><img src="/off.gif" alt="Offline"><a href="?action=profile;u=1">{escape(said.author)}</a></h4>
          <ul class="reset smalltext"><li class="postcount">Posts: 7</li></ul></div><div class="postarea"><div class="flow_hidden">
          <div class="keyinfo"><div class="messageicon"><img src="/xx.gif"></div><h5 id="subject_{said.number}"><a>Re</a></h5>
          <div class="smalltext">&#171; <strong>{word}</strong> {time_of(said.at)} &#187;</div>
          <div id="msg_{said.number}_quick_mod"></div></div></div><div class="post"><div class="inner" id="msg_{said.number}">
          {self.quote(ask, topic, said.quotes)}{text}</div></div></div><div class="moderatorbar">
          <div class="smalltext modified" id="modified_{said.number}">{edited}</div></div></div></div>"""
