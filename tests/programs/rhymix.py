"""Rhymix 2: boards right below the root, threads below them, the list again under each thread, comments by anchors.

Its front page is a page of words beside a menu. A thread opens at the last page of its comments, authors stand in headings
with a link to a menu, and the arrow of a pager leads to the last page.
"""

from __future__ import annotations

import re
from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Answer, Ask, page
from tests.programs.layouts import Layout, Part, Shown, cut, lines, moment
from tests.programs.parts import by_parameter, last

SLUGS = {1: "general", 2: "talk"}
COMMENTS = 15


def _frame(body: str) -> str:
    return f"""<html lang=ko><head><title>동네 게시판</title></head><body class=xe><header><h1><a href="/">동네 게시판</a></h1><nav class=gnb><ul><li><a
      href="/index">Welcome</a></li><li><a href="/general">General Board</a></li><li><a href="/talk">Talk &amp; more</a></li><li><a href="/nobody">Nobody</a></li></ul></nav><div class=account><a
      href="/index.php?act=dispMemberLoginForm">로그인</a> <a href="/index.php?act=dispMemberSignUpForm">회원가입</a></div></header><div
      class=body>{body}</div><footer><a href="/index.php?mid=general&act=dispBoardTagList">태그</a></footer></body></html>"""


WELCOME = _frame("<div class=welcome><h2>Welcome</h2><p>우리 동네 이야기를 나누는 곳입니다.</p></div>")


def _rows(slug: str, part: Part) -> str:
    behind = f"?page={part.number}" * (part.number > 1)
    return "".join(
        f"""<tr><td class=no>{one.number}</td><td class=title><a href="/{slug}/{one.number}{behind}">{escape(one.title)}</a> <a
          href="/{slug}/{one.number}#comment" class=replyNum title=Replies>[{len(one.said) - 1}]</a></td><td class=author><a href="#popup_menu_area"
          class=member_{one.number}>{escape(one.said[0].author)}</a></td><td class=time>{moment(one.said[0].at):%Y.%m.%d}</td><td
          class=readNum>1{one.number}7</td></tr>"""
        for one in part.items
    )


def _list(board: Board, part: Part) -> str:
    return _frame(
        f"""<div class=board_header><h2><a href="/{board.slug}">{escape(board.title)}</a></h2></div>{_table(f"/{board.slug}", board.slug, part)}"""
    )


def _table(here: str, slug: str, part: Part) -> str:
    sorts = "".join(
        f'<th><a href="{here}?sort_index={name}&order_type=desc">{word}</a></th>'
        for name, word in (("regdate", "날짜"), ("readed_count", "조회 수"))
    )
    rows = _rows(slug, part) or "<tr><td colspan=5>등록된 글이 없습니다</td></tr>"
    return f"""<div class=board_list><table class=bd_lst><thead><tr><th>번호</th><th>제목</th><th>글쓴이</th>{sorts}</tr></thead><tbody>{rows}</tbody>
      </table></div><div class=list_footer>{_pager(f"/{slug}", part, "page")}<a class=btn href="/index.php?mid={slug}&act=dispBoardWrite">쓰기</a></div>"""


def _thread(topic: Topic, part: Part, below: Part) -> str:
    first, slug = topic.said[0], SLUGS[topic.board]
    here = f"/{slug}/{topic.number}"
    comments = "".join(
        f"""<li id=comment_{one.number} class=fdb_itm><div class=fbMeta><span class=profile></span><h3 class=author><a href="#popup_menu_area"
          class=member_{one.number}>{escape(one.author)}</a></h3><p class=time>{_time(one)}</p></div><div class="comment_{one.number}_7 rhymix_content xe_content">{lines(one)}</div><div class=fdb_nav><a
          href="/index.php?mid={slug}&act=dispBoardReplyComment&comment_srl={one.number}">댓글</a></div></li>"""
        for one in part.items
    )
    return _frame(
        f"""<div class=board_header><h2><a href="/{slug}">{slug.title()}</a></h2></div><div class=rd><div class=rd_hd><h1 class=np_18px><a
          href="/{slug}/{topic.number}">{escape(topic.title)}</a></h1><div class=top_area><span class=author><a href="#popup_menu_area"
          class=member_{first.number}>{escape(first.author)}</a></span> <span class=date>{_time(first)}</span></div></div><div class=rd_body><article><div
          class="document_{topic.number}_7 rhymix_content xe_content">{lines(first)}</div></article></div><div class=rd_ft><a
          href="/index.php?mid={slug}&act=procDocumentVoteUp&document_srl={topic.number}">추천</a></div></div><div
          class=feedback id=comment><h2>댓글 <em>{len(topic.said) - 1}</em></h2><ul class=fdb_lst_ul>{comments}</ul>{_pager(here, part, "cpage")}</div>
          {_table(here, slug, below)}"""
    )


def _pager(where: str, part: Part, name: str) -> str:
    count = last(part)
    mark = "#comment" * (name == "cpage")
    cells = "".join(
        f"<strong>{at}</strong> " if at == part.number else f'<a href="{where}?{name}={at}{mark}">{at}</a> '
        for at in range(1, count + 1)
    )
    first = f"{where}?{name}=1{mark}" if mark else where
    return f"""<div class=pagination><a href="{first}" class="direction prev">첫 페이지</a> {cells}<a
      href="{where}?{name}={count}{mark}" class="direction next">끝 페이지</a></div>""" * (count > 1)


def _time(one: Said) -> str:
    return f"{moment(one.at):%Y.%m.%d %H:%M}"


class _Forum(Shown):
    def answer(self, ask: Ask) -> Answer:
        """Answer with the last page of comments where none is named."""
        found = re.fullmatch(r"/\w+/(\d+)", ask.path)
        topic = self._content.visible.get(int(found[1])) if found else None
        if topic is None:
            return page(WELCOME) if ask.path in ("/", "/index") else super().answer(ask)
        said = list(topic.said[1:])
        at = ask.number("cpage", -(-len(said) // COMMENTS) or 1)
        below = [one for one in self._content.listed(topic.board) if one.board == topic.board]
        return page(_thread(topic, cut(said, (at - 1) * COMMENTS, COMMENTS), cut(below, 0, self._layout.per_list)))


class _Rhymix(Layout):
    def shown(self, content: Content) -> Shown:
        return _Forum(self, content)


RHYMIX = _Rhymix(
    lambda _: "", _list, lambda *_: "", r"/(?P<board>general|talk|nobody)(?!/)", r"/\w+/(?P<topic>\d+)",
    by_parameter("page"),
)  # fmt: skip
