"""Forums of programs that do not exist: each shows the same content in another markup, language and address."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Answer, Ask, moved, page

PER_LIST, PER_THREAD = 10, 8
ELSEWHERE = "9"
"""A board that is a link to another host."""
GERMAN_MONTHS = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
]


@dataclass(frozen=True)
class Part:
    """A page's worth: `items` of `total`, from the one at `start`."""

    items: list[Topic] | list[Said]
    start: int
    total: int
    size: int

    @property
    def number(self) -> int:
        return self.start // self.size + 1

    @property
    def has_more(self) -> bool:
        return self.start + self.size < self.total


@dataclass(frozen=True)
class Layout:
    """How one program shows a forum; the addresses are regexes with the groups `board`, `topic`.

    `newest` takes the place of `front` where the front page shows threads too. With `has_notices` the board that a
    topic was moved from shows it too.
    """

    front: Callable[[tuple[Board, ...]], str]
    listing: Callable[[Board, Part], str]
    thread: Callable[[Topic, Part], str]
    board_path: str
    topic_path: str
    start_of: Callable[[Ask, int], int]
    per_list: int = PER_LIST
    per_thread: int = PER_THREAD
    newest: Callable[[Content], str] | None = None
    has_notices: bool = False
    gone: str = ""
    """The page of a thread that does not exist, with status 200; without one the answer is 404."""

    def shown(self, content: Content) -> Shown:
        return Shown(self, content)


def restyled(layout: Layout, **names: str) -> Layout:
    """Return a layout with other words in its pages: those that name its program, by what takes their place."""

    def changed(page: str) -> str:
        for old, new in names.items():
            page = page.replace(old, new)
        return page

    newest = layout.newest
    return replace(
        layout,
        front=lambda boards: changed(layout.front(boards)),
        listing=lambda board, part: changed(layout.listing(board, part)),
        thread=lambda topic, part: changed(layout.thread(topic, part)),
        newest=None if newest is None else (lambda content: changed(newest(content))),
        gone=changed(layout.gone),
    )


class Shown:
    """A forum in a layout."""

    def __init__(self, layout: Layout, content: Content) -> None:
        self._layout, self._content = layout, content

    def answer(self, ask: Ask) -> Answer:
        layout, boards = self._layout, {board.number: board for board in self._content.boards}
        address = ask.path + "?" * bool(ask.query) + "&".join(f"{name}={value}" for name, value in ask.query.items())
        board, topic = re.match(layout.board_path, address), re.match(layout.topic_path, address)
        if board is not None and board["board"] == ELSEWHERE:
            return moved("http://127.0.0.1:1/", 302)
        if ask.path == "/" and not (board or topic):
            return page(layout.newest(self._content) if layout.newest else layout.front(self._content.boards))
        if board is not None and (found := self._board(board["board"], boards)) is not None:
            there = [
                one for one in self._content.listed(found.number) if layout.has_notices or one.board == found.number
            ]
            part = cut(there, layout.start_of(ask, layout.per_list), layout.per_list)
            return page(layout.listing(found, part)) if part.items or not part.start else page("none", 404)
        if topic is not None and int(topic["topic"]) in self._content.visible:
            whole = self._content.visible[int(topic["topic"])]
            part = cut(list(whole.said), layout.start_of(ask, layout.per_thread), layout.per_thread)
            return page(layout.thread(whole, part)) if part.items else page("none", 404)
        return page(layout.gone) if topic is not None and layout.gone else page("not here", 404)

    def _board(self, key: str, boards: dict[int, Board]) -> Board | None:
        return next((one for one in boards.values() if key in (str(one.number), one.slug)), None)


def cut(items: list[Topic] | list[Said], start: int, size: int) -> Part:
    return Part(items[start : start + size], start, len(items), size)


def by_page(ask: Ask, size: int) -> int:
    """Read `?page=2`, or `/p2` at the end of the path."""
    found = re.search(r"/p(\d+)$", ask.path)
    return (int(found[1]) - 1 if found else ask.number("page", 1) - 1) * size


def by_offset(ask: Ask, size: int) -> int:
    return ask.number("from", 0)


def moment(at: int, zone: timezone = UTC) -> datetime:
    return datetime.fromtimestamp(at, zone)


def lines(said: Said) -> str:
    return "<br>".join(map(escape, said.lines))


def numbers(address: str, part: Part, mark: str = "page") -> str:
    """Write `1 2 3` without a word for the next page."""
    count = -(-part.total // part.size)
    if count < 2:
        return ""
    cells = (
        f"<b>{at}</b>" if at == part.number
        else f'<a href="{address}{(at - 1) * part.size if mark == "from" else at}">{at}</a>'
        for at in range(1, count + 1)
    )  # fmt: skip
    return f"<p>Pages: {' '.join(cells)}</p>"


# A table in a table, as in 1999: no class anywhere, replies are told apart by an anchor's name.


def _table_front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f'<tr><td><font size=2><a href="board.cgi?id={one.number}">{escape(one.title)}</a></font></td><td>12</td></tr>'
        for one in boards
    )
    shop = f'<tr><td><font size=2><a href="board.cgi?id={ELSEWHERE}">Our shop</a></font></td><td>0</td></tr>'
    return f"<title>Old club</title><table border=1><tr><th>Board</th><th>Threads</th></tr>{rows}{shop}</table>"


def _table_list(board: Board, part: Part) -> str:
    rows = "".join(
        f'<tr bgcolor="#eeeeee"><td><a href="show.cgi?thread={one.number}">{escape(one.title)}</a></td>'
        f"<td>{escape(one.said[0].author)}</td><td>{len(one.said) - 1}</td>"
        f"<td>{moment(one.last.at):%Y-%m-%d %H:%M}</td></tr>"
        for one in part.items
    )
    following = f'<a href="board.cgi?id={board.number}&page={part.number + 1}">Next page</a>' if part.has_more else ""
    head = "<tr><th>Thread</th><th>Started by</th><th>Replies</th><th>Last post</th></tr>"
    empty = "" if part.items else "<p>No threads yet.</p>"
    return f"<title>{escape(board.title)}</title><h2>{escape(board.title)}</h2><table border=1>{head}{rows}</table>{empty}{following}"


def _table_thread(topic: Topic, part: Part) -> str:
    rows = "".join(
        f'<tr><td width=150 valign=top><a name="{one.number}"></a><b>{escape(one.author)}</b><br>'
        f"<small>{moment(one.at):%Y-%m-%d %H:%M}</small></td><td>{lines(one)}</td></tr>"
        for one in part.items
    )
    following = (
        f'<a href="show.cgi?thread={topic.number}&page={part.number + 1}">Next page</a>' if part.has_more else ""
    )
    return (
        f"<title>{escape(topic.title)}</title><a href=/>Index</a><h2>{escape(topic.title)}</h2>"
        f"<table border=1>{rows}</table>{following}"
    )


# Cards with names that a bundler made; German, with German months, an hour or two before UTC.
BERLIN = timezone(timedelta(hours=2))


def _german(at: int) -> str:
    there = moment(at, BERLIN)
    return f"{there.day}. {GERMAN_MONTHS[there.month - 1]} {there.year}, {there:%H:%M} Uhr"


def _cards_front(boards: tuple[Board, ...]) -> str:
    cards = "".join(
        f'<section class="css-1k2j"><h3><a href="/bereich/{one.slug}">{escape(one.title)}</a></h3><p>Alles dazu</p></section>'
        for one in boards
    )
    return _cards_frame(f"<div class=css-9a>{cards}</div>")


def _cards_frame(body: str) -> str:
    return (
        '<html lang=de><head><title>Verein</title></head><body><header><a href="/">Verein</a> <a href="/anmelden">Anmelden'
        f"</a></header><main>{body}</main><footer>Alle Zeiten sind UTC+2</footer></body></html>"
    )


def _cards_list(board: Board, part: Part) -> str:
    cards = "".join(
        f'<article class="css-77"><a class="css-t1" href="/thema/{one.number}-{one.slug}">{escape(one.title)}</a>'
        f'<div class="css-m"><span class="css-w">von <a href="/nutzer/7">'
        f"{escape(one.said[0].author)}</a></span><span class=css-d>{_german(one.said[0].at)}</span></div>"
        f'<div class="css-c">{len(one.said) - 1} Antworten</div></article>'
        for one in part.items
    )
    more = f'<a class="css-b" href="/bereich/{board.slug}?page={part.number + 1}">Weiter</a>' if part.has_more else ""
    return _cards_frame(f"<h1>{escape(board.title)}</h1>{cards or '<p>Noch keine Themen</p>'}<nav>{more}</nav>")


def _cards_thread(topic: Topic, part: Part) -> str:
    cards = "".join(
        f'<article class="css-p0" id="beitrag-{one.number}"><div class="css-a"><a href="/nutzer/7">{escape(one.author)}</a>'
        f'<span class=css-d>{_german(one.at)}</span></div><div class="css-x">'
        f"{''.join(f'<p>{escape(line)}</p>' for line in one.lines)}</div></article>"
        for one in part.items
    )
    address = f"/thema/{topic.number}-{topic.slug}?page="
    more = f'<a class="css-b" href="{address}{part.number + 1}">Weiter</a>' if part.has_more else ""
    return _cards_frame(f"<h1>{escape(topic.title)}</h1>{cards}<nav>{more}</nav>")


# Definition lists in Japanese: a term is who and when, its definition what was said; a board stands on another only.
# The way back from a board names a category, whose address is as a board's and which has no page.
TOKYO = timezone(timedelta(hours=9))


def _japanese(at: int) -> str:
    there = moment(at, TOKYO)
    return f"{there.year}年{there.month}月{there.day}日 {there:%H:%M}"


def _terms_front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f'<dt><a href="/ita/{one.number}/">{escape(one.title)}</a></dt><dd>の板</dd>'
        for one in boards
        if not one.parent
    )
    return f"<html lang=ja><title>掲示板</title><h1>掲示板</h1><dl>{rows}</dl><address>時刻は日本時間 (GMT+9)</address>"


def _terms_list(board: Board, part: Part) -> str:
    rows = "".join(
        f'<dt class=sure><a href="/sure/{one.number}/">{escape(one.title)}</a></dt><dd class=info>'
        f"<span class=who>{escape(one.said[0].author)}</span> <span class=hi>{_japanese(one.said[0].at)}</span> "
        f"<span class=kazu>返信 {len(one.said) - 1}</span></dd>"
        for one in part.items
    )
    more = f'<a href="/ita/{board.number}/p{part.number + 1}">次へ</a>' if part.has_more else ""
    none = "" if part.items else "<p>スレッドはありません</p>"
    below = '<p>子板: <a href="/ita/2/">Talk &amp; more</a></p>' if board.number == 1 else ""
    back = f'<p><a href="/">掲示板</a> » <a href="/ita/80/">趣味</a> » {escape(board.title)}</p>'
    head = f"<html lang=ja><title>{escape(board.title)}</title>{back}<h1>{escape(board.title)}</h1>"
    return f"{head}{below}<dl>{rows}</dl>{none}{more}"


def _terms_thread(topic: Topic, part: Part) -> str:
    rows = "".join(
        f'<dt id="r{one.number}"><span class=who>{escape(one.author)}</span> <span class=hi>{_japanese(one.at)}</span></dt>'
        f"<dd class=honbun>{lines(one)}</dd>"
        for one in part.items
    )
    more = f'<a href="/sure/{topic.number}/p{part.number + 1}">次へ</a>' if part.has_more else ""
    return f"<html lang=ja><title>{escape(topic.title)}</title><h1>{escape(topic.title)}</h1><dl>{rows}</dl>{more}"


# Times only as titles of what says "3 days ago", older threads behind a link that names a moment.


def _ago(at: int) -> str:
    return f'<abbr title="{moment(at):%Y-%m-%dT%H:%M:%S+00:00}">a while ago</abbr>'


def _older_front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f'<li><a href="/c/{one.slug}">{escape(one.title)}</a> <small>3 members</small></li>' for one in boards
    )
    return f"<title>Talk</title><nav><a href=/login>Log in</a></nav><ul>{rows}</ul>"


def _older_list(board: Board, part: Part) -> str:
    rows = "".join(
        f'<li class="item"><h4><a href="/d/{one.number}">{escape(one.title)}</a></h4><p>{escape(one.said[0].author)} · '
        f"{_ago(one.said[0].at)} · <span>{len(one.said) - 1} comments</span></p></li>"
        for one in part.items
    )
    more = f'<a href="/c/{board.slug}?from={part.start + part.size}">Older posts</a>' if part.has_more else ""
    return f"<title>{escape(board.title)}</title><h1>{escape(board.title)}</h1><ul>{rows}</ul>{more}"


def _older_thread(topic: Topic, part: Part) -> str:
    rows = "".join(
        f'<li class="reply" data-id="{one.number}"><p class="by"><b class="nick">{escape(one.author)}</b> {_ago(one.at)}</p>'
        f'<div class="md">{lines(one)}</div></li>'
        for one in part.items
    )
    more = f'<a href="/d/{topic.number}?from={part.start + part.size}">Show more</a>' if part.has_more else ""
    return f"<title>{escape(topic.title)}</title><h1>{escape(topic.title)}</h1><ol>{rows}</ol>{more}"


# Chinese, pages by offset and by numbers alone.
SHANGHAI = timezone(timedelta(hours=8))


def _numbered_front(boards: tuple[Board, ...]) -> str:
    rows = "".join(f'<div class=bk><a href="/bk?id={one.number}">{escape(one.title)}</a></div>' for one in boards)
    return f"<title>论坛</title>{rows}<div class=foot>现在时间: {moment(1, SHANGHAI):%Y-%m-%d} GMT+8</div>"


def _numbered_list(board: Board, part: Part) -> str:
    rows = "".join(
        f'<div class=tz><a class=bt href="/tz?id={one.number}">{escape(one.title)}</a><span class=zz>{escape(one.said[0].author)}'
        f"</span><span class=hf>回复 {len(one.said) - 1}</span><span class=sj>{moment(one.last.at, SHANGHAI):%Y-%m-%d %H:%M}</span></div>"
        for one in part.items
    )
    pager = numbers(f"/bk?id={board.number}&from=", part, "from")
    return f"<title>{escape(board.title)}</title><h1>{escape(board.title)}</h1>{rows or '<p>暂无主题</p>'}{pager}"


def _numbered_thread(topic: Topic, part: Part) -> str:
    rows = "".join(
        f'<div class=lc><a href="/tz?id={topic.number}#{one.number}">#{place}</a><div class=zz>{escape(one.author)}</div>'
        f"<div class=sj>发表于 {moment(one.at, SHANGHAI):%Y-%m-%d %H:%M}</div><div class=nr>{lines(one)}</div></div>"
        for place, one in enumerate(part.items, part.start + 1)
    )
    pager = numbers(f"/tz?id={topic.number}&from=", part, "from")
    return f"<title>{escape(topic.title)}</title><h1>{escape(topic.title)}</h1>{rows}{pager}"


# Nothing in the markup says who or when: all is in a block of JSON-LD, and scripts would show it.


def _linked_front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f'<div class="x{one.number}"><a href="/room/{one.slug}">{escape(one.title)}</a></div>' for one in boards
    )
    return f"<title>Rooms</title>{rows}"


def _linked_list(board: Board, part: Part) -> str:
    rows = "".join(f'<div><a href="/talk/{one.number}">{escape(one.title)}</a></div>' for one in part.items)
    more = f'<a rel=next href="/room/{board.slug}?page={part.number + 1}">More</a>' if part.has_more else ""
    none = "" if part.items else "<p>No discussions here.</p>"
    return f"<title>{escape(board.title)}</title><h1>{escape(board.title)}</h1>{rows}{none}{more}"


def _linked_thread(topic: Topic, part: Part) -> str:
    said = [_linked(one, "Comment", topic) for one in part.items if one is not topic.said[0]]
    told = {
        "@context": "https://schema.org",
        **_linked(topic.said[0], "DiscussionForumPosting", topic),
        "headline": topic.title,
        "comment": said,
    }
    crumbs = {"@context": "https://schema.org", "@type": "BreadcrumbList", "itemListElement": []}
    blocks = "".join(f'<script type="application/ld+json">{json.dumps(one)}</script>' for one in (crumbs, told))
    words = "".join(f"<div><div>{lines(one)}</div></div>" for one in part.items)
    more = f'<a rel=next href="/talk/{topic.number}?page={part.number + 1}">More</a>' if part.has_more else ""
    return f"<title>{escape(topic.title)}</title>{blocks}<h1>{escape(topic.title)}</h1>{words}{more}"


def _linked(said: Said, kind: str, topic: Topic) -> dict[str, object]:
    return {
        "@type": kind,
        "url": f"https://talk.example/talk/{topic.number}#c{said.number}",
        "author": {"@type": "Person", "name": said.author},
        "datePublished": f"{moment(said.at):%Y-%m-%dT%H:%M:%SZ}",
        "text": said.text,
    }


LAYOUTS = {
    "a table without classes": Layout(
        _table_front, _table_list, _table_thread, r"/board\.cgi\?id=(?P<board>\d+)", r"/show\.cgi\?thread=(?P<topic>\d+)",
        by_page,
    ),
    "German cards": Layout(
        _cards_front, _cards_list, _cards_thread, r"/bereich/(?P<board>[\w-]+)", r"/thema/(?P<topic>\d+)-.*", by_page
    ),
    "Japanese definition lists": Layout(
        _terms_front, _terms_list, _terms_thread, r"/ita/(?P<board>\d+)/", r"/sure/(?P<topic>\d+)/", by_page
    ),
    "times in titles, older posts": Layout(
        _older_front, _older_list, _older_thread, r"/c/(?P<board>\w+)", r"/d/(?P<topic>\d+)", by_offset
    ),
    "Chinese, pages by offset": Layout(
        _numbered_front, _numbered_list, _numbered_thread, r"/bk\?id=(?P<board>\d+)", r"/tz\?id=(?P<topic>\d+)", by_offset
    ),
    "JSON-LD alone": Layout(
        _linked_front, _linked_list, _linked_thread, r"/room/(?P<board>\w+)", r"/talk/(?P<topic>\d+)", by_page
    ),
}  # fmt: skip
