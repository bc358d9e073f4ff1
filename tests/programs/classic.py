"""A forum as programs of 2005 show it: what a reader skips (page counts, titles again, signatures) stands among it all."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.layouts import Layout, Part, by_page, lines, moment

GUEST = "dee_42"
"""Who has no profile: the name stands without a link."""


def _frame(body: str) -> str:
    return (
        '<title>Our club</title><div class="gen-content">Our club, where you may ask anything. <a href="/">Index</a>'
        f' <a href="/login.php">Log in</a></div><div id=main>{body}</div><div id=about>Powered by nobody</div>'
    )


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f'<div class="main-item"><h3><a href="/forum.php?id={one.number}">{escape(one.title)}</a></h3>'
        "<p>About it</p><p>Topics: 3<br>Posts: 10</p></div>"
        for one in boards
    )
    return _frame(rows)


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f'<div class="main-item"><h3><span>{at}</span> <a href="/topic.php?id={one.number}">{escape(one.title)}</a></h3>'
        f"<p class=starter>by <cite>{escape(one.said[0].author)}</cite></p>"
        f'<p class="stats">Replies: {len(one.said) - 1}<br>Views: 1{at}</p>'
        f'<p class=last>Last post <a href="/topic.php?pid={one.last.number}#p{one.last.number}">{_time(one.last.at)}</a></p>'
        "</div>"
        for at, one in enumerate(part.items, 1)
    )
    none = '<div class="main-item"><h3>No topics have been posted</h3></div>'
    return _frame(f"<h1>{escape(board.title)}</h1>{_pager(f'/forum.php?id={board.number}', part)}{rows or none}")


def _thread(topic: Topic, part: Part) -> str:
    posts = "".join(_post(topic, one) for one in part.items)
    where = f"/topic.php?id={topic.number}"
    return _frame(
        f'<h1>[ Open ] <a class=permalink href="{where}">{escape(topic.title)}</a> <small>(Page {part.number})</small></h1>'
        f'<p class=posting>You must <a href="/login.php">log in</a> or register before you post a reply</p>'
        f'<p><a href="{where}&go=next">Next topic</a></p>{_pager(where, part)}{posts}'
    )


def _post(topic: Topic, one: Said) -> str:
    name = escape(one.author)
    who = f"<strong>{name}</strong>" if one.author == GUEST else f'<a href="/profile.php?id=3">{name}</a>'
    edited = f"<em class=post-edit>(edited by x {_time(one.edited_at)})</em>" if one.edited_at else ""
    quote = "<div class=quotebox><cite>x wrote:</cite><blockquote>old</blockquote></div>" if one.quotes else ""
    return f"""<div class=post><div id=p{one.number} class=posthead><span>by {who}</span>
      <a class=permalink href="/topic.php?pid={one.number}#p{one.number}">{_time(one.at)}</a> {edited}</div>
      <ul><li class=username>{who}</li><li class=usertitle>Member</li><li>Posts: 77</li></ul>
      <div class=post-entry><h4 class=entry-title>Re: {escape(topic.title)}</h4>
      <div class=entry-content>{quote}<p>{lines(one)}</p><div class=sig-content>My own words, below all I write</div></div>
      </div></div>"""


def _pager(where: str, part: Part) -> str:
    following = f' <a href="{where}&page={part.number + 1}">Next</a>' if part.has_more else ""
    return f"<p class=paging>Pages: <strong>{part.number}</strong>{following}</p>"


def _time(at: int) -> str:
    return f"{moment(at):%Y-%m-%d %H:%M:%S}"


CLASSIC = Layout(
    _front, _list, _thread, r"/forum\.php\?id=(?P<board>\d+)", r"/topic\.php\?id=(?P<topic>\d+)(?!.*&go)", by_page
)
