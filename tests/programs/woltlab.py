"""WoltLab Suite: words and ids in addresses, a login form in each page, and the first post among the posts of page 1."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.layouts import Layout, Part, lines, moment
from tests.programs.parts import below, by_parameter, top


def _frame(body: str) -> str:
    return f"""<html lang=de dir=ltr><head><title>Unser Forum</title></head><body><header id=pageHeader><a href="/">Unser Forum</a><ol
      class=boxMenu><li><a href="/">Forum</a></li><li><a href="/unread-thread-list/">Ungelesene Themen</a></li><li><a
      href="/members-list/">Mitglieder</a></li></ol><form method=post action="/login/"><input name=username><input type=password
      name=password></form></header><section id=main><div id=content>{body}</div></section><footer><a href="/datenschutz/">Datenschutz</a>
      <span class=datetime>Zeitzone: UTC</span></footer></body></html>"""


def _board_url(board: Board) -> str:
    return f"/board/{board.number}-{board.slug}/"


def _topic_url(topic: Topic) -> str:
    return f"/thread/{topic.number}-{topic.slug or 'thema'}/"


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f"""<li class=wbbBoardContainer><div class="wbbBoard box32"><span class=icon></span><div><h3><a href="{
            _board_url(one)
        }"
          class=wbbBoardLink>{
            escape(one.title)
        }</a></h3><small class=wbbBoardDescription>Alles dazu</small><ul class=wbbSubBoards>{
            "".join(f'<li><a href="{_board_url(sub)}">{escape(sub.title)}</a></li>' for sub in below(one, boards))
        }</ul></div><dl
          class=wbbStats><dt>Themen</dt><dd>7</dd><dt>Beiträge</dt><dd>42</dd></dl></div></li>"""
        for one in top(boards)
    )
    return _frame(f"<h1 class=contentTitle>Forum</h1><ul class=wbbBoardList>{rows}</ul>")


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<ol class=tabularListColumns data-thread-id={one.number}><li class=columnIcon><img alt=""></li><li class=columnSubject><h3><a
          href="{_topic_url(one)}" class="messageGroupLink wbbTopicLink" data-object-id={one.number}>{escape(one.title)}</a><span
          class="badge messageGroupCounterMobile">{len(one.said) - 1}</span></h3><ul class=inlineList><li class=messageGroupAuthor><a
          href="/user/{one.number}-x/" class="userLink username">{escape(one.said[0].author)}</a></li><li
          class=messageGroupTime>{_time(one.said[0].at)}</li></ul></li><li class=columnStats><dl><dt>Antworten</dt><dd>{len(one.said) - 1}</dd></dl><dl
          ><dt>Zugriffe</dt><dd>1{one.number}7</dd></dl></li><li class=columnLastPost><a href="{_topic_url(one)}?action=lastPost"><img alt=""></a><div
          ><a href="/user/{one.last.number}-x/" class=userLink>{escape(one.last.author)}</a> <small>{_time(one.last.at)}</small></div></li></ol>"""
        for one in part.items
    )
    listed = (
        f"<div class=tabularList>{rows}</div>"
        if rows
        else "<p class=info>In diesem Forum gibt es noch keine Themen.</p>"
    )
    return _frame(f"<h1 class=contentTitle>{escape(board.title)}</h1>{listed}{_pager(_board_url(board), part)}")


def _thread(topic: Topic, part: Part) -> str:
    board = {1: ("general", "General"), 2: ("talk", "Talk &amp; more")}[topic.board]
    posts = "".join(_post(topic, one, part.start + at) for at, one in enumerate(part.items, 1))
    return _frame(
        f"""<nav class=breadcrumbs><ol><li><a href="/">Forum</a></li><li><a href="/board/{topic.board}-{board[0]}/">{board[1]}</a></li></ol></nav>
          <h1 class=contentTitle>{escape(topic.title)}</h1><ul class=inlineList><li><a href="/user/{topic.said[0].number}-x/">{escape(topic.said[0].author)}</a>
          </li><li>{_time(topic.said[0].at)}</li></ul>{_pager(_topic_url(topic), part)}<ul class=wbbThreadPostList>{posts}</ul>"""
    )


def _post(topic: Topic, one: Said, at: int) -> str:
    own = f"{_topic_url(topic)}?postID={one.number}#post{one.number}"
    edited = (
        f'<p class=messageFooterNote>Einmal editiert, zuletzt von <a href="/user/3-x/">x</a> ({_time(one.edited_at)})</p>'
        if one.edited_at
        else ""
    )
    quote = (
        '<blockquote class="quoteBox collapsibleBbcode"><div class=quoteBoxTitle>Zitat von x</div><div>old</div></blockquote>'
        if one.quotes
        else ""
    )
    return f"""<li id=post{one.number} class=anchorFixedHeader><article class="wbbPost message" data-post-id={one.number}><aside class=messageSidebar><div
      class=username><a href="/user/{one.number}-x/"><span>{escape(one.author)}</span></a></div><div class=userTitle><span>Mitglied</span></div><dl><dt
      >Beiträge</dt><dd>77</dd></dl></aside><div class=messageContent><header class=messageHeader><ul><li><a href="{own}" class=permalink>{_time(one.at)}</a>
      </li></ul><ul class=messageQuickOptions><li><a href="{own}" class=messagePermalink>#{at}</a></li></ul></header><div class=messageBody><div
      class=messageText>{quote}<p>{lines(one)}</p></div></div><footer class=messageFooter>{edited}<div class=messageSignature><div>Unter allem, was
      ich schreibe</div></div><ul class=messageFooterButtons><li><a href="/report/?objectID={one.number}">Melden</a></li></ul></footer></div></article></li>"""


def _pager(where: str, part: Part) -> str:
    count = -(-part.total // part.size)
    cells = "".join(
        f"<li class=active><span>{at}</span></li>"
        if at == part.number
        else f'<li><a href="{where}?pageNo={at}">{at}</a></li>'
        for at in range(1, count + 1)
    )
    after = (
        f'<li class=skip><a href="{where}?pageNo={part.number + 1}" title="Nächste Seite" rel=next>›</a></li>'
        if part.has_more
        else ""
    )
    return f"<nav class=pagination><ul>{cells}{after}</ul></nav>" if count > 1 else ""


def _time(at: int) -> str:
    there = moment(at)
    return f'<time datetime="{there.isoformat()}" class=datetime>{there.day}. Juni {there.year}</time>'


WOLTLAB = Layout(_front, _list, _thread, r"/board/(?P<board>\d+)-", r"/thread/(?P<topic>\d+)-", by_parameter("pageNo"))
