"""HTML rendering: the one place that knows the markup which the package's docstring promises."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from html import escape

from crawl_tasks.demo.content import Board, ForumContent, Reply, Style, Thread
from crawl_tasks.demo.page_chrome import PageChrome
from crawl_tasks.demo.texts import Language, user_id

# China has had no summer time since 1991, so a fixed offset will do.
SHANGHAI = timezone(timedelta(hours=8))
_DAYS = {
    Language.CHINESE: ("今天 ", "昨天 ", "前天 "),
    Language.ENGLISH: ("today at ", "yesterday at "),
}


def moment(board: Board, when: int, now: int) -> str:
    """Return the `time` element for a moment `when` before `now`."""
    local = datetime.fromtimestamp(when, SHANGHAI)
    if board.style is Style.ATTRIBUTE:
        label = f"{local.month}月{local.day}日" if board.language is Language.CHINESE else f"{local:%m/%d}"
        return f'<time datetime="{_iso(when)}">{label}</time>'
    if board.style is Style.HAN:
        return f"<time>{local.year}年{local.month}月{local.day}日 {local:%H:%M}</time>"
    relative = _relative(board.language, when, now) if board.style is Style.RELATIVE else None
    return f"<time>{relative or f'{local:%Y-%m-%d %H:%M}'}</time>"


def views(language: Language, number: int) -> str:
    """Return a number of views, shortened if the short form loses nothing."""
    if number < 1000:
        return str(number)
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 10_000:g}万" if language is Language.CHINESE else f"{number / 1000:.1f}k"


def _iso(when: int) -> str:
    """Return half of the moments in UTC and half in the forum's zone."""
    if when // 60 % 2:
        return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{datetime.fromtimestamp(when, SHANGHAI):%Y-%m-%dT%H:%M:%S}+08:00"


def _relative(language: Language, when: int, now: int) -> str | None:
    """Return a relative text if a reader can get the exact minute back."""
    ago = now - when
    if 60 <= ago < 3600 and ago % 60 == 0:
        return _ago(language, ago // 60, "分钟", "minute")
    if 3600 <= ago < 86_400 and ago % 3600 == 0:
        return _ago(language, ago // 3600, "小时", "hour")
    local, today = datetime.fromtimestamp(when, SHANGHAI), datetime.fromtimestamp(now, SHANGHAI)
    days = (today.date() - local.date()).days
    names = _DAYS[language]
    return f"{names[days]}{local:%H:%M}" if 0 <= days < len(names) else None


def _ago(language: Language, count: int, chinese: str, english: str) -> str:
    if language is Language.CHINESE:
        return f"{count} {chinese}前"
    return f"{count} {english}{'s' if count > 1 else ''} ago"


_POSTED = {Language.CHINESE: "发表于", Language.ENGLISH: "posted"}
_EDITED = {Language.CHINESE: "编辑 {} 次，最后", Language.ENGLISH: "edited {} times, last"}
_PAGES = {Language.CHINESE: "共 {} 页", Language.ENGLISH: "{} pages"}
_NEXT = {Language.CHINESE: "下一页", Language.ENGLISH: "Next"}


def index_page(world: ForumContent, chrome: PageChrome) -> str:
    """Return the page with all boards."""
    items = "".join(
        f'<li class="board" data-board="{board.board_id}">'
        f'<a class="name" href="/list/{board.board_id}/1">{escape(board.title)}</a></li>\n'
        for board in world.boards.values()
    )
    return _page(chrome, Language.ENGLISH, "Demo forum", f"<ul>\n{items}</ul>\n")


def list_page(
    world: ForumContent, chrome: PageChrome, board: Board, rows: Sequence[Thread], *, page: int, pages: int
) -> str:
    """Return a list page with these rows."""
    content = (
        f'<h1 class="board-title">{escape(board.title)}</h1>\n'
        f'<nav class="crumbs"><a href="/">Demo forum</a></nav>\n<table class="threads">\n'
        # Rules must tell this row from threads.
        '<tr class="promo"><td colspan="6"><a href="https://example.org/">advertisement</a></td></tr>\n'
        + "".join([_row(board, thread, world.now, chrome) for thread in rows])
        + f"</table>\n{_pager(board.language, f'/list/{board.board_id}/{{}}', page, pages)}"
    )
    return _page(chrome, board.language, f"{board.title} - {page}", content)


def post_page(world: ForumContent, chrome: PageChrome, thread: Thread) -> str:
    """Return the page of a post with the first page of its comments."""
    board = world.home(thread)
    author = "" if thread.author is None else _user(thread.author, "author") + " "
    content = (
        f'<article class="post" data-post="{thread.post_id}" data-board="{board.board_id}">\n'
        f'<h1 class="title">{escape(thread.title)}</h1>\n'
        f'<p>{author}<span class="created">{_POSTED[board.language]} {moment(board, thread.created_at, world.now)}'
        f'</span> {_edited(board, thread, world.now)}<span class="views">{views(board.language, thread.views)}</span> '
        f'<span class="replies">{len(thread.replies)}</span></p>\n'
        f'<div class="body">\n{thread.body.html}\n</div>\n{chrome.member(int(thread.post_id))}</article>\n'
        + _comments(world, chrome, thread, 1)
    )
    return _page(chrome, board.language, thread.title, content)


def comment_page(world: ForumContent, chrome: PageChrome, thread: Thread, page: int) -> str:
    """Return a comment page, from 2."""
    language = world.home(thread).language
    heading = f'<h1 class="f-thread"><a href="/post/{thread.post_id}">{escape(thread.title)}</a></h1>\n'
    return _page(chrome, language, f"{thread.title} - {page}", heading + _comments(world, chrome, thread, page))


def _page(chrome: PageChrome, language: Language, title: str, content: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f"{chrome.top(language)}{content}{chrome.bottom(language)}"
    )


def _pager(language: Language, address: str, page: int, pages: int) -> str:
    """Return the pager. `address` has a placeholder for the page's number."""
    near = range(max(1, page - 2), min(pages, page + 2) + 1)
    links = "".join(f'<a class="page" href="{address.format(n)}">{n}</a> ' for n in near if n != page)
    following = f'<a rel="next" class="next" href="{address.format(page + 1)}">{_NEXT[language]}</a>'
    return (
        f'<nav class="pager" data-pages="{pages}"><span class="pages">{_PAGES[language].format(pages)}</span> '
        f"{links}{following if page < pages else ''}</nav>\n"
    )


def _row(board: Board, thread: Thread, now: int, chrome: PageChrome) -> str:
    author = "-" if thread.author is None else _user(thread.author)
    last = "-" if thread.last_reply_at is None else moment(board, thread.last_reply_at, now)
    tools = chrome.row(int(thread.post_id))
    return (
        f'<tr class="thread" data-post="{thread.post_id}">\n<td class="subject">{tools}'
        f'<a class="title" href="/post/{thread.post_id}">{escape(thread.title)}</a> {_edited(board, thread, now)}</td>'
        f'\n<td class="author">{author}</td>\n<td class="created">{moment(board, thread.created_at, now)}</td>\n'
        f'<td class="replies">{len(thread.replies)}</td><td class="views">{views(board.language, thread.views)}</td>'
        f'\n<td class="last">{last}</td>\n</tr>\n'
    )


def _user(name: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<a{named} href="/user/{user_id(name)}">{escape(name)}</a>'


def _edited(board: Board, thread: Thread, now: int) -> str:
    if thread.edited_at is None:
        return ""
    words = _EDITED[board.language].format(thread.edits)
    return f'<span class="edited" data-edits="{thread.edits}">{words} {moment(board, thread.edited_at, now)}</span> '


def _comments(world: ForumContent, chrome: PageChrome, thread: Thread, page: int) -> str:
    board = world.home(thread)
    replies = thread.page(page)
    if board.nests:
        content = _nested(board, replies, world.now, chrome)
    else:
        content = "".join([_comment(board, reply, world.now, chrome, "") for reply in replies])
    address = f"/comment/{thread.post_id}/{{}}"
    pager = "" if thread.pages == 1 else _pager(board.language, address, page, thread.pages)
    return f'<section class="comments">\n{content}</section>\n{pager}'


def _nested(board: Board, replies: Sequence[Reply], now: int, chrome: PageChrome) -> str:
    """Return comments inside those that they answer. Children come later than parents, so the last are built first."""
    here = {reply.comment_id for reply in replies}
    answers: dict[str | None, list[str]] = {}
    for reply in reversed(replies):
        inner = "".join(reversed(answers.pop(reply.comment_id, [])))
        children = f'<div class="children">\n{inner}</div>\n' if inner else ""
        parent = reply.parent_id if reply.parent_id in here else None
        answers.setdefault(parent, []).append(_comment(board, reply, now, chrome, children))
    return "".join(reversed(answers.get(None, [])))


def _comment(board: Board, reply: Reply, now: int, chrome: PageChrome, children: str) -> str:
    parent = "" if reply.parent_id is None else f' data-parent="{reply.parent_id}"'
    user, author = ("", "") if reply.author is None else (f' data-user="{user_id(reply.author)}"', _user(reply.author))
    return (
        f'<div class="comment" id="c{reply.comment_id}" data-comment="{reply.comment_id}"{parent} '
        f'data-depth="{reply.depth}" data-state="{reply.state}">\n'
        f'<span class="author"{user}>{author}</span> <span class="created">{_POSTED[board.language]} '
        f"{moment(board, reply.created_at, now)}</span>\n"
        f'<div class="body">\n{reply.body.html}\n</div>\n{chrome.member(int(reply.comment_id))}{children}</div>\n'
    )
