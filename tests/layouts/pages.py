"""The pages of a made-up forum: its content in the markup that its layout says."""

from __future__ import annotations

import base64
import re
import time
from datetime import UTC, datetime, timedelta, timezone
from hashlib import blake2b
from html import escape
from random import Random

from tests.layouts.clutter import REMOVED, Clutter, is_removed
from tests.layouts.drawing import DELETED, Content, Drawn, Reply, Section, Thread
from tests.programs.host import Answer, Ask, page

# Names that real forums use, by part of the page; a layout takes one of each.
_NAMES = {
    "row": ("topic-row", "discussion-item", "thread-line", "listitem", "zeile", "subject-row"),
    "title": ("topic-title", "subject", "headline", "thread-name", "betreff", "caption"),
    "author": ("username", "nick", "poster-name", "avtor", "byline-user", "member-name"),
    "date": ("timestamp", "when", "posted-on", "date", "zeit", "data"),
    "count": ("replies", "num", "answers", "stat-replies", "reply-total", "zahl"),
    "views": ("views", "hits", "seen", "stat-views", "reads", "blick"),
    "last": ("lastpost", "latest", "last-activity", "recent", "freshness", "letzter"),
    "post": ("post", "message", "reply-item", "comment", "beitrag", "entry"),
    "body": ("post-content", "message-text", "prose", "markdown", "inhalt", "entry-body"),
    "panel": ("author-info", "userpanel", "poster", "profile-box", "sidebar-user", "nutzer"),
    "signature": ("signature", "sig", "post-signature", "user-sig", "signature", "sig-line"),
    "edited": ("edited", "edit-note", "last-edit", "changed", "post-edited", "modified"),
    "buttons": ("actions", "tools", "post-buttons", "controls", "links", "toolbar"),
    "pager": ("pagination", "pages", "pager", "page-nav", "seiten", "paginator"),
    "board": ("board", "forum-row", "node-item", "category-row", "bereich", "subforum"),
    "badge": ("badge", "role", "rank", "flair", "rang", "usertitle"),
    "quote": ("quote", "quotation", "quoted", "bbquote", "zitat", "reply-quote"),
}
_UTILITY = ("flex gap-2", "p-4 rounded border", "text-sm muted", "grid", "mt-2 flex", "font-bold", "block w-full")


class Pages:
    """A forum that is being shown."""

    def __init__(self, layout: Drawn, content: Content) -> None:
        self.layout, self._content = layout, content
        self._random = Random(f"names {layout.seed}")
        self._names = {role: self._random.choice(names) for role, names in _NAMES.items()}
        self._zone = timezone(timedelta(hours=layout.zone_hours))
        self._words = layout.language
        self._clutter = Clutter(layout, content, self.topic_url, self._date, self._person, self._class)

    def answer(self, ask: Ask) -> Answer:
        address = ask.path + "?" * bool(ask.query) + "&".join(f"{name}={value}" for name, value in ask.query.items())
        if address == "/":
            return page(self.front())
        if address == "/sitemap.xml":
            listed = "".join(f"<url><loc>{ask.base}{self.topic_url(one)}</loc></url>" for one in self._content.threads)
            return page(f"<?xml version='1.0'?><urlset>{listed}</urlset>")
        if address == "/welcome":
            return page('<title>Club</title><h1>Welcome</h1><a href="/about">About us</a> <a href="/">Forum</a>')
        for board in self._content.boards:
            start = self._start(self.board_url(board), address, self.layout.per_list)
            if start is not None:
                there = self._content.listed(board.key) + self._moved(board)
                if self.layout.has("announcement") and (first := self._content.threads[0]) not in there:
                    there.insert(0, first)
                # `/forums/old-lamps/4505/` is a thread there, and `/forums/old-lamps/2/` a page.
                if start == 0 or start < len(there):
                    return page(self.listing(board, there, start))
        for thread in self._content.threads:
            start = self._start(self.topic_url(thread), address, self.layout.per_thread)
            if start is not None:
                return page(self.thread(thread, start)) if start < len(thread.said) else page("", 404)
        return page(f"<title>?</title><p>{escape(ask.path)}</p>", 200 if "login" in address else 404)

    def _moved(self, board: Section) -> list[Thread]:
        """Return threads that were moved away, and that the board still lists."""
        at = self._content.boards.index(board)
        away = [one for one in self._content.threads if one.board != board and len(one.title) % 9 == at]
        return away[:1] if self.layout.has("moved") else []

    def board_url(self, board: Section) -> str:
        return self.layout.board_address.format(board=board.key)

    def topic_url(self, thread: Thread) -> str:
        return self.layout.topic_address.format(board=thread.board.key, topic=thread.key)

    # Addresses of further pages

    def _start(self, first: str, address: str, size: int) -> int | None:
        if address == first:
            return 0
        if self._has_path_pager(first) and (number := re.fullmatch(self._paged(first, r"(\d+)"), address)):
            return (int(number[1]) - 1) * size
        if not address.startswith(first + ("&" if "?" in first else "?")):
            return None
        found = re.fullmatch(r"(page|start|after|skip)=([\w=-]+)", address[len(first) + 1 :])
        if found is None:
            return None
        if found[1] == "after":
            return next((at for at in range(0, 1000, size) if found[2] == _cursor(at)), None)
        return (int(found[2]) - 1) * size if found[1] == "page" else int(found[2])

    def _has_path_pager(self, first: str) -> bool:
        return self.layout.has("path pager") and self.layout.pager in ("page", "words") and "?" not in first

    def _paged(self, first: str, number: str) -> str:
        """Return the address of a page whose number stands in the path."""
        stem, html = (first.removesuffix(".html"), ".html") if first.endswith(".html") else (first.rstrip("/"), "")
        is_below = (
            "/{" in self.layout.board_address + self.layout.topic_address and self.layout.board_address == "/{board}/"
        )
        way = self.layout.seed % 3
        joint = "-page-" if html else ("/page/", "/page-", "/page/" if is_below else "/")[way]
        return f"{stem}{'-' if html and way == 2 else joint}{number}{html}" + "/" * (not html and first.endswith("/"))

    def further(self, first: str, start: int) -> str:
        """Return the address of a later page."""
        return self._further(first, start, start)

    def _further(self, first: str, start: int, size: int) -> str:
        joint = "&" if "?" in first else "?"
        if self._has_path_pager(first):
            return self._paged(first, str(start // size + 1))
        if self.layout.pager in ("offset", "more"):
            return f"{first}{joint}{'start' if self.layout.pager == 'offset' else 'skip'}={start}"
        if self.layout.pager == "cursor":
            return f"{first}{joint}after={_cursor(start)}"
        return f"{first}{joint}page={start // size + 1}"

    def _pager(self, first: str, start: int, size: int, total: int) -> str:
        if total <= size:
            return ""
        layout, words, more = self.layout, self._words, start + size < total
        url = self._further(first, start + size, size)
        at = layout.seed // 7
        if layout.has("last page") and layout.pager == "offset" and not layout.has("numbers"):
            end = self._further(first, (total - 1) // size * size, size)
            last = f'<a href="{escape(end)}">{(total - 1) // size + 1}</a>' * more
            return f'<nav{self._class("pager")}>{last} <a href="{escape(url)}">→</a></nav>' if more else ""
        if layout.pager in ("more", "cursor"):
            text = words.more[at % 3] if layout.pager == "more" else words.following[at % 3]
            if not layout.has("ends"):
                return f'<div{self._class("pager")}><a href="{escape(url)}">{text}</a></div>' if more else ""
            ends = f'<a href="{escape(first)}">«</a> ' if start else ""
            ends += f'<a href="{escape(url)}">{text}</a>' if more else ""
            return f"<div{self._class('pager')}>{ends}</div>"
        if layout.pager == "words" or not layout.has("numbers"):
            last = f'<a href="{escape(url)}">{words.following[at % 3]}</a>' if more else ""
            if layout.pager == "words":
                return f"<nav{self._class('pager')}>{last}</nav>"
        else:
            last = ""
        cells = [
            f"<b>{number + 1}</b>" if number * size == start else
            f'<a href="{escape(self._further(first, number * size, size) if number else first)}">{number + 1}</a>'
            for number in range(-(-total // size))
        ]  # fmt: skip
        if layout.has("ends"):
            end = self._further(first, (total - 1) // size * size, size)
            before = self._further(first, start - size, size) if start > size else first
            cells = [f'<a href="{escape(before)}">‹</a>'] * bool(start) + cells
            cells = [f'<a href="{escape(first)}">«</a>', *cells]
            last += f' <a href="{escape(url)}">›</a>' * (more and not last) + f' <a href="{escape(end)}">»</a>'
        return f"<nav{self._class('pager')}>{' '.join(cells)} {last}</nav>"

    # Parts

    def _class(self, role: str) -> str:
        kind = self.layout.classes
        if kind == "none":
            return ""
        digest = blake2b(f"{self.layout.seed} {role}".encode(), digest_size=3).hexdigest()
        if kind == "hashed":
            return f' class="css-{digest}"'
        if kind == "utility":
            return f' class="{_UTILITY[int(digest, 16) % len(_UTILITY)]}"'
        return f' class="{self._names[role]}"'

    def _date(self, at: int, role: str = "date") -> str:
        layout, moment = self.layout, datetime.fromtimestamp(at, self._zone)
        shown = self._words.date(moment, layout.form)
        if ":" not in layout.form and "h%M" not in layout.form:
            shown += f" {moment:%H:%M}"
        shown = self._clutter.weekday(moment) + shown
        if layout.has("fresh") and layout.dates == "text":
            shown = self._clutter.near(moment, datetime.now(self._zone)) or shown
        if layout.dates == "datetime" and layout.has("offset dates"):
            return f'<time datetime="{moment:%Y-%m-%dT%H:%M:%S%z}">{escape(shown)}</time>'
        if layout.dates == "datetime" and layout.has("epochs"):
            ago = escape(self._words.relative(int(time.time()) - at))
            return f'<span{self._class(role)} data-timestamp="{at}">{ago}</span>'
        if layout.dates == "datetime":
            return f'<time datetime="{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}">{escape(shown)}</time>'
        ago = self._words.relative(int(time.time()) - at)
        if layout.dates == "title":
            return f'<span{self._class(role)} title="{escape(shown)}">{ago}</span>'
        return f"<span{self._class(role)}>{ago if layout.dates == 'relative' else escape(shown)}</span>"

    def _person(self, name: str, role: str = "author") -> str:
        is_guest = name == DELETED or (self.layout.has("guests") and len(name) % 3 == 0)
        if self.layout.has("profile links") and not is_guest:
            number = int(blake2b(name.encode(), digest_size=2).hexdigest(), 16)
            return f'<a{self._class(role)} href="/user/{number}">{escape(name)}</a>'
        return f"<span{self._class(role)}>{escape(name)}</span>"

    def _frame(self, title: str, body: str) -> str:
        layout, words = self.layout, self._words
        search = '<form action="/search"><input name=q></form>' if layout.has("search") else ""
        latest = sorted(self._content.threads, key=lambda one: -one.said[-1].at)[:5]
        side = "".join(f'<li><a href="{escape(self.topic_url(one))}">{escape(one.title)}</a></li>' for one in latest)
        aside = f"<aside><h4>{words.last}</h4><ul>{side}</ul></aside>" if layout.has("sidebar") else ""
        zone = f"UTC{layout.zone_hours:+d}" if layout.zone_hours else "UTC"
        return (
            f'<!doctype html><html lang="{words.code}"><head><meta charset=utf-8><title>{escape(title)} - Club</title>'
            f'</head><body><header><a href="/">Club</a> <a href="/login">{words.login}</a> <a href="/members">*</a>'
            f"{search}</header>"
            f"<main>{body}</main>{self._clutter.beside()}{aside}<footer>{zone}</footer></body></html>"
        )

    def _trail(self, board: Section, *, with_board: bool) -> str:
        if not self.layout.has("trail"):
            return ""
        own = f' » <a href="{escape(self.board_url(board))}">{escape(board.title)}</a>' if with_board else ""
        return f'<div><a href="/">Club</a>{own}</div>'

    # Pages

    def front(self) -> str:
        shown = [board for board in self._content.boards if not board.parent]
        layout, cells = self.layout, []
        for board in shown:
            cells.append(self._board(board))
        kind = layout.front
        if kind == "table":
            head = f"<tr><th>{self._words.topic}</th><th></th></tr>" if layout.has("headings") else ""
            return self._frame("Club", f"<h1>Club</h1><table>{head}{''.join(cells)}</table>")
        around = {"cards": "div", "list": "ul", "terms": "dl"}[kind]
        return self._frame("Club", f"<h1>Club</h1><{around}>{''.join(cells)}</{around}>")

    def _board(self, board: Section) -> str:
        layout, threads = self.layout, self._content.listed(board.key)
        link = f'<a href="{escape(self.board_url(board))}">{escape(board.title)}</a>'
        about = f"<p>{escape(self._words.lines[0])}</p>" if layout.has("description") else ""
        posts = sum(len(one.said) for one in threads)
        count = f"<span>{len(threads)}</span> / <span>{posts}</span>" if layout.has("front counts") else ""
        last = ""
        if layout.has("front last") and threads:
            newest = max(threads, key=lambda one: one.said[-1].at)
            last = (
                f'<div{self._class("last")}><a href="{escape(self.topic_url(newest))}">{escape(newest.title)}</a> '
                f"{self._person(newest.said[-1].author)} {self._date(newest.said[-1].at)}</div>"
            )
        if layout.front == "table":
            return f"<tr{self._class('board')}><td>{link}{about}</td><td>{count}</td><td>{last}</td></tr>"
        if layout.front == "terms":
            return f"<dt{self._class('board')}>{link}</dt><dd>{about}{count}{last}</dd>"
        tag = "li" if layout.front == "list" else "section"
        return f"<{tag}{self._class('board')}><h3>{link}</h3>{about}{count}{last}</{tag}>"

    def listing(self, board: Section, threads: list[Thread], start: int) -> str:
        layout, words = self.layout, self._words
        tag = {"table": "tr", "cards": "article", "list": "li", "blocks": "div", "terms": "dl"}[layout.rows]
        shown = threads[start : start + layout.per_list]
        rows = "".join(
            self._day_of(shown, place, tag)
            + self._clutter.separator(shown, place, tag)
            + self._clutter.striped(self._row(one), place)
            + self._clutter.row_ad(place, tag, 6)
            for place, one in enumerate(shown)
        )
        elsewhere = next((one for one in self._content.threads if one.board != board), None)
        rows += self._clutter.moved_stub(elsewhere, tag, len(threads)) if rows and elsewhere and start == 0 else ""
        subs = [one for one in self._content.boards if one.parent == board.key and start == 0]
        below = "".join(f'<a href="{escape(self.board_url(one))}">{escape(one.title)}</a>' for one in subs)
        pager = self._pager(self.board_url(board), start, layout.per_list, len(threads))
        above = pager if layout.has("two pagers") else ""
        if not rows:
            shown = f"<p>{words.empty}</p>"
        elif layout.rows == "table":
            shown = f"<table>{self._heads()}{rows}</table>"
        else:
            around = {"cards": "div", "list": "ul", "blocks": "section", "terms": "dl"}[layout.rows]
            shown = f"<{around}>{rows}</{around}>"
        sub = f"<div>{below}</div>" if below else ""
        trail = self._trail(board, with_board=False)
        return self._frame(board.title, f"{trail}<h1>{escape(board.title)}</h1>{sub}{above}{shown}{pager}")

    def _day_of(self, shown: list[Thread], place: int, tag: str) -> str:
        """Return the day of a row's last post as a heading, where it is another one than that of the row above."""
        layout = self.layout
        if not layout.has("days") or not layout.has("last") or tag in ("dl", "tr"):
            return ""
        days = [datetime.fromtimestamp(one.said[-1].at, self._zone).date() for one in shown[: place + 1]]
        moment = datetime.fromtimestamp(shown[place].said[-1].at, self._zone)
        text = self._words.date(moment, layout.form.partition("%H")[0].rstrip(" ,à"))
        is_new = place == 0 or days[-1] != days[-2]
        return f"<{'li' if tag == 'li' else 'h4'}>{escape(text)}</{'li' if tag == 'li' else 'h4'}>" if is_new else ""

    def _heads(self) -> str:
        layout, words = self.layout, self._words
        if not (layout.has("headings") or layout.counts in ("column", "posts")):
            return ""
        cells = [words.topic]
        cells += [words.author] if layout.has("row author") and not layout.has("title apart") else []
        cells += [] if layout.counts == "none" else [words.posts if layout.counts == "posts" else words.replies[1]]
        cells += [words.views] if layout.has("views") else []
        cells += [words.last] if layout.has("last") else []
        return f"<tr>{''.join(f'<th>{one}</th>' for one in cells)}</tr>"

    def _count(self, thread: Thread) -> str:
        layout, words, count = self.layout, self._words, len(thread.said) - 1
        if layout.counts == "none":
            return ""
        if layout.counts == "posts" and layout.rows == "table":
            text = str(count + 1)
        elif layout.counts == "words":
            text = f"{count} {words.replies[count != 1]}"
        else:
            text = str(count)
        return f"<span{self._class('count')}>{text}</span>"

    def _row(self, thread: Thread) -> str:
        layout, words, first, last = self.layout, self._words, thread.said[0], thread.said[-1]
        url = escape(self.topic_url(thread))
        pinned = f"<b>{words.pinned}</b> " if thread.is_pinned else ""
        title = f'<a{self._class("title")} href="{url}">{self._clutter.cut(thread.title)}</a>'
        title = self._clutter.before_title(thread) + title + self._clutter.unread_mark(thread)
        if layout.has("mini pager") and len(thread.said) > layout.per_thread and layout.pager in ("page", "offset"):
            size = layout.per_thread
            title += f' <small><a href="{escape(self._further(self.topic_url(thread), size, size))}">2</a></small>'
        who = self._person(first.author) if layout.has("row author") else ""
        when = self._date(first.at) if layout.has("row date") and who else ""
        by = f"<div>{words.by} {who} {when}</div>" if who else ""
        by += self._clutter.excerpt(thread)
        views = ""
        if layout.has("views"):
            named = layout.rows != "table" or not self._heads()
            views = self._clutter.short(thread.views)
            views = f"<span{self._class('views')}>{views}{f' {words.views}' if named else ''}</span>"
        newest = ""
        if layout.has("last"):
            name = f"{words.by} {self._person(last.author)}" if layout.has("last author") else ""
            jump = f'<a href="{url}#last">{"Re: " + escape(thread.title) if layout.has("re") else "»"}</a>'
            label = "" if layout.rows == "table" and self._heads() else f"{words.last}: "
            newest = f"<span{self._class('last')}>{label}{self._date(last.at)} {name} {jump}</span>"
        count, start = self._count(thread), self._class("row")
        if thread.is_pinned and layout.has("sticky class"):
            start = start.removesuffix('"') + ' sticky"' if start else ""
        if layout.has("date first") and when and layout.rows != "table":
            title, by = f"{when} {title}", by.replace(when, "", 1)
        if layout.rows == "table":
            cells = [f"{pinned}{title}{by if layout.has('title apart') else ''}"]
            cells += [f"{who} {when}"] if who and not layout.has("title apart") else []
            cells += [count] if count else []
            cells += [views] if views else []
            cells += [newest] if newest else []
            return f"<tr{start}>{''.join(f'<td>{one}</td>' for one in cells)}</tr>"
        if layout.has("one line") and layout.counts == "words" and count and views:
            count, views = re.sub(r"</?span[^>]*>", "", f"<p>{count} · {views}</p>"), ""
        rest = f"{by}<div>{count} {views}</div>{newest}"
        if layout.has("last first"):
            rest = f"{newest}{by}<div>{count} {views}</div>"
        if layout.rows == "terms":
            return f"<dt{start}>{pinned}{title}</dt><dd>{rest}</dd>"
        if layout.has("whole card") and not layout.has("profile links") and not layout.has("last"):
            head = f"<h3{self._class('title')}>{escape(thread.title)}</h3>"
            return f'<a{start} href="{url}">{pinned}{head}{rest}</a>'
        tag = {"cards": "article", "list": "li", "blocks": "div"}[layout.rows]
        row = f"{pinned}<h3>{title}</h3>{rest}"
        return f"<{tag}{start}>{f'<div><div>{row}</div></div>' if layout.has('wrapped') else row}</{tag}>"

    def thread(self, thread: Thread, start: int) -> str:
        layout = self.layout
        url, said = self.topic_url(thread), thread.said
        if layout.posts == "tree":
            top = self._post(thread, said[0], 0)
            shown = f"{top}<ul>{self._branch(thread, said[0])}</ul>"
            pager = ""
        else:
            if layout.has("newest first") and layout.has("first apart"):
                said = (said[0], *reversed(said[1:]))
            part = said[start : start + layout.per_thread]
            if layout.has("first again") and start and not layout.has("first apart"):
                part = (said[0], *part)
            before, pager = "", self._pager(url, start, layout.per_thread, len(said))
            if layout.has("first repeated") and start and layout.has("first apart"):
                before = self._post(thread, said[0], 0)
            elif layout.has("first apart") and not start:
                before, part = self._post(thread, said[0], 0), part[1:]
            around = {
                "table": "table",
                "rows": "table",
                "cards": "div",
                "list": "ol",
                "blocks": "section",
                "terms": "dl",
            }
            tag = around[layout.posts]
            kind = {"table": "tr", "rows": "tr", "cards": "article", "list": "li", "blocks": "div", "terms": "dl"}
            records = "".join(
                self._post(thread, one, thread.said.index(one)) + self._clutter.post_ad(place, kind[layout.posts])
                for place, one in enumerate(part)
            )
            shown = f"{before}<{tag}>{records}</{tag}>" if records else before
            shown = pager + shown if layout.has("two pagers") else shown
        form = f"<form><textarea></textarea><button>{self._words.reply}</button></form>" if layout.has("form") else ""
        trail = self._trail(thread.board, with_board=True)
        back = f'<p><a href="{escape(self.board_url(thread.board))}">«</a></p>' if layout.has("back link") else ""
        head = f"<h1>{self._clutter.prefix_link(thread)}{escape(thread.title)}{self._clutter.heading_button()}</h1>"
        head += self._clutter.best_answer(thread, start)
        below = self._clutter.below(thread)
        head = self._clutter.paged_title(head, start, layout.per_thread)
        return self._frame(thread.title, f"{trail}{head}{shown}{pager}{form}{below}{back}")

    def _branch(self, thread: Thread, parent: Reply, depth: int = 1) -> str:
        first, parts = thread.said[0], []
        if depth == 3 and self.layout.has("collapsed"):
            below = sum(one.parent is parent for one in thread.said)
            return f'<li><a href="/more/{parent.key}">{below} {self._words.replies[1]}</a></li>' if below else ""
        for one in thread.said[1:]:
            if (one.parent or first) is parent:
                inner = self._branch(thread, one, depth + 1)
                parts.append(self._post(thread, one, thread.said.index(one), f"<ul>{inner}</ul>" if inner else ""))
        return "".join(parts)

    def _post(self, thread: Thread, one: Reply, place: int, inner: str = "") -> str:
        layout, words, is_first = self.layout, self._words, place == 0
        attrs, anchor = "", ""
        permalink = f"#{place + 1}"
        if layout.reply_ids in ("id", "uuid"):
            attrs = f' id="{"topic" if is_first and layout.has("other first id") else "p"}-{one.key}"'
        elif layout.reply_ids == "data":
            attrs = f' data-{("post-id", "id", "mid")[layout.seed % 3]}="{one.key}"'
        elif layout.reply_ids == "name":
            anchor = f'<a name="{one.key}"></a>'
        elif layout.reply_ids == "link":
            anchor = f'<a href="{escape(self.topic_url(thread))}#{one.key}">{permalink}</a>'
        elif layout.reply_ids == "place":
            anchor = f"<span>{permalink}</span>"
        anchor += self._clutter.number_link(thread, place) + self._permalink(thread, one, place)
        anchor += f"<span>{place + 1} / {len(thread.said)}</span> " * layout.has("positions")
        picture = self._clutter.picture(one) or '<img src="/a.png" alt="">' * layout.has("avatars")
        panel = ""
        if layout.has("panel"):
            day = self._words.date(
                datetime.fromtimestamp(1_500_000_000, UTC), layout.form.partition("%H")[0].rstrip(" ,à")
            )
            panel = f"<div>{words.joined}: {escape(day)}</div><div>{words.posts}: {len(one.author) * 37}</div>"
        badge = f"<em{self._class('badge')}>Admin</em>" if layout.has("badge") and one.author.endswith("k") else ""
        badge += self._clutter.badges(thread, one, place)
        person, date = self._clutter.initial(one) + self._person(one.author), self._clutter.doubled(one.at)
        if layout.has("posted by"):
            person, date = "", f"{words.by} {person} · {date}"
        who = f"<div{self._class('panel')}>{picture}{person}{badge}{panel}</div>"
        when = f"<div>{anchor}{date}</div>{self._clutter.subject(thread, place)}"
        when += self._clutter.poll(thread, place) + self._clutter.vote_table(thread, place)
        text = self._body(one)
        note = ""
        if layout.has("edits") and one.edited_at:
            said = f"{words.edited} {self._date(one.edited_at)}{self._clutter.edited_by(one)}"
            note = f"<div{self._class('edited')}>{said}</div>"
        sign = (
            f"<div{self._class('signature')}>-- <br>{escape(one.author)} + 73{self._clutter.since(one)}</div>"
            if layout.has("signature")
            else ""
        )
        tools = self._clutter.attachments(one) + "<hr>" * layout.has("ruled posts") + self._clutter.reactions(one)
        tools += self._clutter.ratings(one) + self._clutter.likes(one)
        if layout.has("buttons"):
            links = (("reply", words.reply), ("report", words.report))
            buttons = " ".join(f'<a href="/{path}/{one.key}">{text}</a>' for path, text in links)
            tools += f"<div{self._class('buttons')}>{buttons}</div>"
        body = f"<div{self._class('body')}>{text}</div>"
        post = self._class("post")
        if one.is_removed:
            who = when = note = sign = tools = ""
            body = f"<p>{REMOVED}</p>"
        if is_first and layout.has("first apart"):
            return f"<article{attrs}>{who}{when}{body}{note}{sign}{tools}</article>"
        if layout.posts == "table":
            return f"<tr{post}{attrs}><td>{who}</td><td>{when}{body}{note}{sign}{tools}</td></tr>"
        if layout.posts == "rows":
            rest = f"<tr><td colspan=2>{body}{note}{sign}{tools}</td></tr>"
            return f"<tr{post}{attrs}><td>{who}</td><td>{when}</td></tr>{rest}"
        if layout.posts == "terms":
            return f"<dt{post}{attrs}>{who}{when}</dt><dd>{body}{note}{sign}{tools}</dd>"
        if layout.posts == "tree" and layout.has("children beside") and not is_first:
            return f"<li><div{post}{attrs}>{who}{when}{body}{note}{sign}{tools}</div>{inner}</li>"
        tag = {"cards": "article", "list": "li", "blocks": "div", "tree": "div" if is_first else "li"}[layout.posts]
        return f"<{tag}{post}{attrs}>{who}{when}{body}{note}{sign}{tools}{inner}</{tag}>"

    def _permalink(self, thread: Thread, one: Reply, place: int) -> str:
        """Return the link to a post on its page, as search results have it."""
        layout, url = self.layout, self.topic_url(thread)
        if not layout.has("permalinks") or layout.pager not in ("page", "words") or layout.posts == "tree":
            return ""
        page_of = self._further(url, place // layout.per_thread * layout.per_thread, layout.per_thread)
        page_of = url if place < layout.per_thread and layout.seed % 2 else page_of
        return f'<a href="{escape(page_of)}#post{one.key[:8]}">¶</a> '

    def _body(self, one: Reply) -> str:
        quote = ""
        if self.layout.has("quotes") and one.is_quoting and one.parent is not None:
            said = f"<cite>{escape(one.parent.author)} {self._words.wrote}</cite> {escape(one.parent.lines[0])}"
            if self.layout.has("dated quotes"):
                head = f"<div>{self._person(one.parent.author)} {self._date(one.parent.at)}</div>"
                said = f"{head}<div>{escape(one.parent.lines[0])}</div>"
            above = one.parent.parent
            if self.layout.has("deep quotes") and above is not None:
                said = f"<blockquote><cite>{escape(above.author)}</cite> {escape(above.lines[0])}</blockquote>{said}"
            quote = f"<blockquote>{said}</blockquote>"
            if self.layout.has("quote tables") and self.layout.classes == "telling":
                quote = f"<table{self._class('quote')}><tr><td>{said}</td></tr></table>"
        lines = [escape(one.lines[0]), *(self._clutter.spoiler(escape(line)) for line in one.lines[1:])]
        if is_removed(one, self.layout):
            return REMOVED
        if self.layout.has("rich texts"):
            return quote + _rich(lines)
        return quote + (
            "<br>".join(lines) if self.layout.has("breaks") else "".join(f"<p>{line}</p>" for line in lines)
        )


def _cursor(start: int) -> str:
    return base64.urlsafe_b64encode(f"row:{start}".encode()).decode()


def _rich(lines: list[str]) -> str:
    """Return lines as people write them: a list, code, a link, emphasis."""
    first, *rest = lines
    shapes = (
        "<ul><li>{}</li></ul>", "<pre><code>{}</code></pre>", '<p><a href="https://example.org/">{}</a></p>',
        "<p><b>{}</b></p>", "<table><tr><td>{}</td></tr></table>", "<h3>{}</h3>",
    )  # fmt: skip
    return f"<p>{first}</p>" + "".join(
        shapes[(len(first) + at) % len(shapes)].format(line) for at, line in enumerate(rest)
    )
