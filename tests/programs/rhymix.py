"""Rhymix 2: boards right below the root, threads below them, the list again under each thread, comments by anchors."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.layouts import Layout, Part, lines, moment
from tests.programs.parts import by_parameter

SLUGS = {1: "general", 2: "talk"}


def _frame(body: str) -> str:
    return f"""<html lang=ko><head><title>동네 게시판</title></head><body class=xe><header><h1><a href="/">동네 게시판</a></h1><nav class=gnb><ul><li><a
      href="/general">General</a></li><li><a href="/talk">Talk &amp; more</a></li><li><a href="/nobody">Nobody</a></li></ul></nav><div class=account><a
      href="/index.php?act=dispMemberLoginForm">로그인</a> <a href="/index.php?act=dispMemberSignUpForm">회원가입</a></div></header><div
      class=body>{body}</div><footer><a href="/index.php?mid=general&act=dispBoardTagList">태그</a></footer></body></html>"""


def _front(content: Content) -> str:
    newest = sorted(content.visible.values(), key=lambda one: -one.last.at)[:7]
    rows = "".join(
        f'<li><a href="/{SLUGS[one.board]}/{one.number}">{escape(one.title)}</a> <span class=date>{moment(one.said[0].at):%Y.%m.%d}</span></li>'
        for one in newest
    )
    return _frame(f"<div class=widget><h2>최근 글</h2><ul>{rows}</ul></div>")


def _rows(slug: str, part: Part) -> str:
    return "".join(
        f"""<tr><td class=no>{one.number}</td><td class=title><a href="/{slug}/{one.number}">{escape(one.title)}</a> <a
          href="/{slug}/{one.number}#comment" class=replyNum title=Replies>{len(one.said) - 1}</a></td><td class=author><a href="#popup_menu_area"
          class=member_{one.number}>{escape(one.said[0].author)}</a></td><td class=time>{moment(one.said[0].at):%Y.%m.%d}</td><td
          class=readNum>1{one.number}7</td></tr>"""
        for one in part.items
    )


def _list(board: Board, part: Part) -> str:
    head = "<tr><th>번호</th><th>제목</th><th>글쓴이</th><th>날짜</th><th>조회 수</th></tr>"
    rows = _rows(board.slug, part) or "<tr><td colspan=5>등록된 글이 없습니다</td></tr>"
    return _frame(
        f"""<div class=board_header><h2><a href="/{board.slug}">{escape(board.title)}</a></h2></div><table class=bd_lst>{head}{rows}</table>
          {_pager(f"/{board.slug}", part)}<a class=btn href="/index.php?mid={board.slug}&act=dispBoardWrite">쓰기</a>"""
    )


def _thread(topic: Topic, part: Part) -> str:
    first, slug = topic.said[0], SLUGS[topic.board]
    comments = "".join(
        f"""<li id=comment_{one.number} class=fdb_itm><div class=meta><a href="#popup_menu_area" class=member_{one.number}>{escape(one.author)}</a> <span
          class=date>{_time(one)}</span></div><div class="comment_{one.number}_7 rhymix_content xe_content">{lines(one)}</div><div class=fdb_nav><a
          href="/index.php?mid={slug}&act=dispBoardReplyComment&comment_srl={one.number}">댓글</a></div></li>"""
        for one in part.items
        if one is not first
    )
    return _frame(
        f"""<div class=board_header><h2><a href="/{slug}">{slug.title()}</a></h2></div><div class=rd><div class=rd_hd><h1 class=np_18px><a
          href="/{slug}/{topic.number}">{escape(topic.title)}</a></h1><div class=top_area><span class=author><a href="#popup_menu_area"
          class=member_{first.number}>{escape(first.author)}</a></span> <span class=date>{_time(first)}</span></div></div><div class=rd_body><article><div
          class="document_{topic.number}_7 rhymix_content xe_content">{lines(first)}</div></article></div><div class=rd_ft><a
          href="/index.php?mid={slug}&act=procDocumentVoteUp&document_srl={topic.number}">추천</a></div></div><ul
          class=fdb_lst_ul>{comments}</ul><div class=bd_lst_wrp><a href="/{slug}">목록</a></div>"""
    )


def _pager(where: str, part: Part) -> str:
    count = -(-part.total // part.size)
    cells = "".join(
        f"<strong>{at}</strong> " if at == part.number else f'<a href="{where}?page={at}">{at}</a> '
        for at in range(1, count + 1)
    )
    return (
        f'<div class=pagination><a href="{where}">첫 페이지</a> {cells}<a href="{where}?page={count}">끝 페이지</a></div>'
        if count > 1
        else ""
    )


def _time(one: Said) -> str:
    return f"{moment(one.at):%Y.%m.%d %H:%M}"


RHYMIX = Layout(
    lambda _: "", _list, _thread, r"/(?P<board>general|talk|nobody)(?!/)", r"/\w+/(?P<topic>\d+)", by_parameter("page"),
    per_thread=1000, newest=_front,
)  # fmt: skip
