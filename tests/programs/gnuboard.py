"""Gnuboard 5: links that act (a vote, a memo, a deletion) stand among those to threads, at addresses alike.

Its pages have words for screen readers beside numbers and times, and a pager shows a few numbers and an arrow behind.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta, timezone
from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Answer, Ask
from tests.programs.layouts import Layout, Part, lines, moment
from tests.programs.parts import by_parameter, last

NEWEST = 4
WINDOW = 2
SEOUL = timezone(timedelta(hours=9))
ACTS = r"/bbs/(?!board\.php|new\.php$|faq)|[?&]w="
"""Addresses of this program that change something, or ask a guest for a login."""


def _frame(body: str, title: str = "우리 모임") -> str:
    return f"""<html lang=ko><head><title>{escape(title)} | 우리 모임</title></head><body><div id=hd><h1 id=hd_h1>{escape(title)}</h1><header><a href="/">우리 모임</a>
      <ul><li><a href="/bbs/faq.php">FAQ</a></li><li><a href="/bbs/new.php">새글</a></li></ul></header></div>
      <aside><form action="/bbs/login_check.php" method=post><input name=mb_id><input type=password name=mb_password>
      <button>로그인</button></form><a href="/bbs/register.php">회원가입</a></aside><main>{body}</main><div id=ft><div class=ft_cnt><p
      class=ft_info>회사명 : 우리 모임 / 대표 : 김철수<br>주소 : 서울시 강남구 역삼동 123-45<br>사업자 등록번호 : 123-45-67890<br>
      전화 : 02-123-4567 팩스 : 02-123-4568<br>통신판매업신고번호 : 제 강남구 - 123호<br>개인정보관리책임자 : 이영희<br></p></div></div>
      </body></html>"""


def _front(content: Content) -> str:
    return _frame("".join(_newest(one, content.listed(one.number)[:NEWEST]) for one in content.boards))


def _newest(board: Board, topics: list[Topic]) -> str:
    where = f"/bbs/board.php?bo_table={board.slug}"
    rows = "".join(f'<li><a href="{where}&wr_id={one.number}">{escape(one.title)}</a></li>' for one in topics)
    return f'<div class=lat><h2 class=lat_title><a href="{where}">{escape(board.title)}</a></h2><ul>{rows}</ul></div>'


def _member(said: Said) -> str:
    return f"""<span class=sv_wrap><a class=sv_member href="/bbs/profile.php?mb_id=m{said.number}">{escape(said.author)}</a><span
      class=sv><a href="/bbs/memo_form.php?me_recv_mb_id=m{said.number}">쪽지보내기</a> <a
      href="/bbs/new.php?mb_id=m{said.number}">전체게시물</a></span></span>"""


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tr><td class=td_num2>{one.number}</td><td class=td_subject><div class=bo_tit><a
          href="/bbs/board.php?bo_table={board.slug}&wr_id={one.number}{f"&page={part.number}" if part.start else ""}">{escape(one.title)}</a>{_count(one)}</div></td><td class=td_name>{_member(one.said[0])}</td><td
          class=td_num>1{one.number}</td><td class=td_datetime>{moment(one.said[0].at, SEOUL):%Y-%m-%d}</td></tr>"""
        for one in part.items
    )
    where = f"/bbs/board.php?bo_table={board.slug}"
    sorts = "".join(
        f'<th><a href="{where}&sop=and&sst={name}&sod=desc&page={part.number}">{word}</a></th>'
        for name, word in (("wr_hit", "조회"), ("wr_datetime", "날짜"))
    )
    head = f"<thead><tr><th>번호</th><th>제목</th><th>글쓴이</th>{sorts}</tr></thead>"
    none = "<tr><td colspan=5 class=empty_table>게시물이 없습니다.</td></tr>"
    return _frame(
        f"""<h2 id=container_title>{escape(board.title)}</h2><table>{head}<tbody>{rows or none}</tbody></table>
          <a class=btn_b01 href="/bbs/write.php?bo_table={board.slug}">글쓰기</a>{_pager(f"{where}&page=", part)}""",
        board.title,
    )


def _count(topic: Topic) -> str:
    count = len(topic.said) - 1
    return f"<span class=sound_only>댓글</span><span class=cnt_cmt>{count}</span><span class=sound_only>개</span>" * (
        count > 0
    )


def _pager(address: str, part: Part) -> str:
    """Write the numbers of a few pages, and arrows to the next few and to the last page."""
    begin, end = part.number - (part.number - 1) % WINDOW, last(part)
    cells = "".join(
        f"<span class=sound_only>열린</span><strong class=pg_current>{at}</strong><span class=sound_only>페이지</span>"
        if at == part.number else f'<a href="{address}{at}" class=pg_page>{at}<span class=sound_only>페이지</span></a>'
        for at in range(begin, min(begin + WINDOW, end + 1))
    )  # fmt: skip
    if begin + WINDOW <= end:
        cells += f'<a href="{address}{begin + WINDOW}" class="pg_page pg_next">다음</a>'
        cells += f'<a href="{address}{end}" class="pg_page pg_end">맨끝</a>'
    return f"<nav class=pg_wrap><span class=pg>{cells}</span></nav>" * (end > 1)


def _thread(topic: Topic, part: Part) -> str:
    first, board = topic.said[0], {1: "general", 2: "talk"}[topic.board]
    own = f"bo_table={board}&wr_id={topic.number}"
    edits = "".join(
        f'<a href="/bbs/{page}&{own}">{name}</a> '
        for page, name in (
            ("write.php?w=u", "수정"), ("delete.php?token=", "삭제"), ("write.php?w=r", "답변"), ("scrap_popin.php?", "스크랩")
        )
    )  # fmt: skip
    votes = "".join(
        f'<a href="/bbs/good.php?{own}&good={name}">{word} <strong>{topic.number}</strong></a>'
        for name, word in (("good", "추천"), ("nogood", "비추천"))
    )
    comments = "".join(
        f"""<article id=c_{one.number}><header>{_member(one)} <time datetime="{moment(one.at, SEOUL).isoformat()}">{_time(one)}</time>
          </header><div class=cmt_contents><p>{lines(one)}</p></div><ul class=bo_vc_act><li><a
          href="/bbs/board.php?{own}&c_id={one.number}&w=c">답변</a></li><li><a
          href="/bbs/good.php?{own}&c_id={one.number}&good=good">추천 <b>{one.number}</b></a></li></ul></article>"""
        for one in part.items
        if one is not first
    )
    return _frame(
        f"""<article id=bo_v><h2 id=bo_v_title><span class=bo_v_tit>{escape(topic.title)}</span></h2><section id=bo_v_info>
          {_member(first)} <span class=sound_only>댓글</span><strong><a href="#bo_vc">{len(topic.said) - 1}건</a></strong> <strong
          class=if_date><span class=sound_only>작성일</span> {_time(first)}</strong></section><div id=bo_v_con>{lines(first)}</div><div
          id=bo_v_act>{votes}</div><div id=bo_v_bot>{edits}<a href="/bbs/board.php?bo_table={board}">목록</a></div>
          <section id=bo_vc>{comments}</section></article>""",
        f"{topic.title} > 우리 모임",
    )


def _time(said: Said) -> str:
    return f"{moment(said.at, SEOUL):%y-%m-%d %H:%M}"


GNUBOARD = Layout(
    lambda _: "", _list, _thread, r"/bbs/board\.php\?bo_table=(?P<board>\w+)(?!.*wr_id)",
    r"/bbs/board\.php\?bo_table=\w+&wr_id=(?P<topic>\d+)", by_parameter("page"), per_list=5, per_thread=1000, newest=_front,
)  # fmt: skip


class NumberedByBoard:
    """The forum with numbers that each board gives anew, as the program does: two boards have a thread 3."""

    def __init__(self, content: Content) -> None:
        self._shown = GNUBOARD.shown(content)
        boards = {one.slug: [topic for topic in content.topics if topic.board == one.number] for one in content.boards}
        self._numbers = {str(one.number): str(at) for topics in boards.values() for at, one in enumerate(topics, 1)}
        self._whole = {
            (slug, str(at)): str(one.number) for slug, topics in boards.items() for at, one in enumerate(topics, 1)
        }

    def answer(self, ask: Ask) -> Answer:
        """Answer with the boards' own numbers in place of the content's."""
        known = dict(ask.query)
        if "wr_id" in known:
            known["wr_id"] = self._whole.get((known["bo_table"], known["wr_id"]), "0")
        said = self._shown.answer(replace(ask, query=known))
        return replace(said, body=re.sub(r"(?<=wr_id=)\d+", lambda found: self._numbers[found[0]], said.body))
