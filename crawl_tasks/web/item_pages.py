"""The pages of stored items: the newest posts, a thread, an author's posts, and the search.

All texts are those of strangers. They are shown as text, each isolated in its own direction, and their bidirectional
controls are replaced: an isolate that nobody closes would turn the line around it in spite of <bdi>.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final
from urllib.parse import urlencode

from crawl_tasks.errors import ConfigError
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.store.item_reader import (
    PAGE_ROWS,
    THREAD_ROWS,
    ItemReader,
    ItemVersion,
    SearchResult,
    StoredItem,
    StoredThread,
)
from crawl_tasks.store.selection import RowSelection
from crawl_tasks.web.layout import WebUser, frame

_EXCERPT: Final = 300
_LONGEST_NAME: Final = 60
_LONGEST_TITLE: Final = 200
_DEEPEST: Final = 6
"""The deepest indentation: what answers below is at the same place."""

# A forum's clock may be ahead, but not by days.
_TOLERANCE_S: Final = 86_400
_SPANS: Final = {"": "at any time", "1": "in a day", "7": "in 7 days", "30": "in 30 days", "365": "in a year"}
_LATEST_S: Final = 253_402_300_799


class ItemPages:
    """The pages of one database."""

    def __init__(self, reader: ItemReader) -> None:
        self._reader = reader

    def page(self, path: Sequence[str], query: Mapping[str, str], user: WebUser) -> str | None:
        """Return a page by the parts of its path, None where there is no such page.

        Raises:
            ConfigError: nothing of that is stored, or the search has no word.
            StoreError: the database cannot be read.
        """
        makers = {(): self._newest, ("thread",): self._thread, ("author",): self._author, ("search",): self._search}
        make = makers.get(tuple(path))
        if make is None:
            return None
        title, body = make(query)
        return frame(f"{title} · crawl_tasks", body, user)

    def _newest(self, query: Mapping[str, str]) -> tuple[str, str]:
        site = query.get("site", "")
        before = None
        if "id" in query:
            before = (number_in(query, "at", 0), query.get("of", ""), query["id"])
        items = self._reader.newest(site, time.time() + _TOLERANCE_S, before)
        older = ""
        if len(items) == PAGE_ROWS:
            last = items[-1]
            older = _link("", gettext("older posts"), site=site, at=str(last.created_at), of=last.site, id=last.post_id)
        newest = "The newest posts of {site}" if site else "The newest posts"
        heading = gettext(newest, site=escape(site))
        return gettext("posts"), f"{self._form({'site': site})}<h2>{heading}</h2>{_list(items)}{_pages(older)}"

    def _search(self, query: Mapping[str, str]) -> tuple[str, str]:
        words, site, author, days = (query.get(name, "").strip() for name in ("q", "site", "author", "days"))
        form = self._form({"q": words, "site": site, "author": author, "days": days})
        title = gettext("search")
        if not words:
            return title, f"{form}<p>{gettext('Words, “whole phrases”, beginn* and -without.')}</p>"
        until = number_in(query, "until", 0)
        selection = RowSelection(
            sites=[site] if site else [],
            authors=[author] if author else [],
            since=time.time() - 86_400 * int(days) if days in _SPANS and days else None,
            until=until or None,
        )
        try:
            result = self._reader.search(words, selection)
        except ConfigError as error:
            return title, f'{form}<p class="said note">{escape(str(error))}</p>'
        older = _older(result.items, "search", {"q": words, "site": site, "author": author, "days": days})
        return title, f"{form}{_partial(result)}<h2>{gettext('Found')}</h2>{_list(result.items)}{_pages(older)}"

    def _author(self, query: Mapping[str, str]) -> tuple[str, str]:
        site, key = query.get("site", ""), query.get("key", "")
        name = self._reader.author_name(site, key) or key.removeprefix("@")
        result = self._reader.by_author(site, key, number_in(query, "until", 0) or None)
        older = _older(result.items, "author", {"site": site, "key": key})
        heading = f"<h2>{_name(name)} <span class=quiet>{gettext('on {site}', site=escape(site))}</span></h2>"
        return name, f"{self._form({'site': site})}{_partial(result)}{heading}{_list(result.items)}{_pages(older)}"

    def _thread(self, query: Mapping[str, str]) -> tuple[str, str]:
        site, post_id, page = query.get("site", ""), query.get("id", ""), max(1, number_in(query, "page", 1))
        thread = self._reader.thread(site, post_id, page)
        if thread is None:
            raise ConfigError(f"no post {post_id[:40]!r} of {site[:40]!r} is stored")
        former = defaultdict[str, list[ItemVersion]](list)
        for version in thread.former:
            former[version.comment_id].append(version)
        places = {
            comment.comment_id: (f"c{place}", comment.author) for place, (_, comment) in enumerate(thread.comments)
        }
        comments = "".join(
            _comment(depth, comment, former[comment.comment_id or ""], places) for depth, comment in thread.comments
        )
        title = thread.post.title or post_id
        source = thread.post.url or ""
        link = (
            f' · <a rel="noopener noreferrer nofollow" href="{escape(source)}">{gettext("at the forum")}</a>'
            if source.startswith(("http://", "https://"))
            else ""
        )
        body = (
            f'<article class="item"><h2 dir="auto">{escape(title)}</h2><p class="quiet">{escape(site)} · '
            f"{_by(thread.post)}{link}</p>{_text(thread.post.body)}{_former(former[''])}</article>"
            f"<h2>{counted(thread.all_comments, 'comment')}</h2>"
            f'<ol class="tree">{comments}</ol>{_pages(*_thread_pages(thread, page))}'
        )
        return title, body

    def _form(self, given: Mapping[str, str]) -> str:
        sites = {"": gettext("all sites")} | {name: name for name in self._reader.sites()}
        spans = {days: gettext(text) for days, text in _SPANS.items()}
        return (
            '<form class="actions" role="search" action="/posts/search">'
            f'<label>{gettext("Words")} <input type="search" name="q" value="{escape(given.get("q", ""))}"></label>'
            f"<label>{gettext('Site')} {_select('site', sites, given)}</label>"
            f'<label>{gettext("Author")} <input name="author" value="{escape(given.get("author", ""))}"></label>'
            f"<label>{gettext('Written')} {_select('days', spans, given)}</label>"
            f"<button>{gettext('Search')}</button></form>"
        )


def _select(name: str, options: Mapping[str, str], given: Mapping[str, str]) -> str:
    chosen = given.get(name, "")
    choices = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(text)}</option>'
        for value, text in options.items()
    )
    return f'<select name="{name}">{choices}</select>'


def _list(items: Sequence[StoredItem]) -> str:
    if not items:
        return f'<p class="quiet">{gettext("nothing")}</p>'
    rows = "".join(
        f'<li class="item"><h3 dir="auto">{_to_thread(item)}</h3><p class="quiet">{escape(item.site)} · '
        f"{gettext('answer by ') if item.comment_id else ''}{_by(item)}</p>{_text(_excerpt(item.body or ''))}</li>"
        for item in items
    )
    return f'<ol class="items brief">{rows}</ol>'


def _to_thread(item: StoredItem) -> str:
    title = item.title or gettext("post {id}", id=item.post_id)
    return _link("thread", _excerpt(title, _LONGEST_TITLE), site=item.site, id=item.post_id)


def _comment(
    depth: int, item: StoredItem, former: Sequence[ItemVersion], places: Mapping[str | None, tuple[str, str | None]]
) -> str:
    place, _ = places[item.comment_id]
    answers = ""
    if item.parent_id in places:
        above, author = places[item.parent_id]
        answers = f' · {gettext("answers")} <a href="#{above}">{_name(author)}</a>'
    return (
        f'<li id="{place}" class="item d{min(depth, _DEEPEST)}"><p class="quiet">{_by(item)}{answers}</p>'
        f"{_text(item.body)}{_former(former)}</li>"
    )


def _by(item: StoredItem) -> str:
    """Return author, time and state of an item."""
    name = _name(item.author)
    if item.author_key:
        name = f'<a href="{_address("author", site=item.site, key=item.author_key)}">{name}</a>'
    seen = "" if item.created_at is not None else gettext("first seen ")
    state = f' · <span class="note">{escape(gettext(item.state))}</span>' if item.state not in (None, "normal") else ""
    edited = f" · {gettext('edited')} {_moment(item.edited_at)}" if item.edited_at is not None else ""
    return f"{name} · {seen}{_moment(_time_of(item))}{edited}{state}"


def _former(values: Sequence[ItemVersion]) -> str:
    if not values:
        return ""
    entries = "".join(
        f'<li><p class="quiet">{escape(version.field)}, {gettext("last seen")} {_moment(version.seen_at)}</p>'
        f"{_text(version.value)}</li>"
        for version in values
    )
    return (
        f"<details><summary>{counted(len(values), 'former version')}</summary><ol class=items>{entries}</ol></details>"
    )


def _text(text: str | None) -> str:
    return f'<div class="text">{escape(text)}</div>' if text else f'<p class="quiet">{gettext("no text")}</p>'


def _name(author: str | None) -> str:
    return f"<bdi>{escape(_excerpt(author or '?', _LONGEST_NAME))}</bdi>"


def _excerpt(text: str, most: int = _EXCERPT) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: 4 * most].split())
    return f"{line[:most]}…" if len(line) > most else line


def _time_of(item: StoredItem) -> float:
    """Return when an item was written, and where the forum shows no time, when it was first seen."""
    return item.first_seen_at if item.created_at is None else item.created_at


def _moment(seconds: float) -> str:
    if not 0 <= seconds <= _LATEST_S:
        return gettext("at an odd time")
    at = datetime.fromtimestamp(seconds, UTC)
    return f'<time datetime="{at:%Y-%m-%dT%H:%M:%SZ}">{at:%Y-%m-%d %H:%M}</time>'


def _older(items: Sequence[StoredItem], path: str, query: Mapping[str, str]) -> str:
    """Return the link to the items that are older than a full page."""
    if len(items) < PAGE_ROWS:
        return ""
    last = int(_time_of(items[-1]))
    # Others of the same second may follow: they are shown twice rather than left out.
    until = last if last == int(_time_of(items[0])) else last + 1
    return _link(path, gettext("older"), **query, until=str(until))


def _thread_pages(thread: StoredThread, page: int) -> list[str]:
    last = max(1, -(-thread.all_comments // THREAD_ROWS))
    to = {"site": thread.post.site, "id": thread.post.post_id}
    return [
        _link("thread", gettext("earlier comments"), **to, page=str(min(page, last + 1) - 1)) if page > 1 else "",
        gettext("page {count} of {total}", count=page, total=last) if last > 1 else "",
        _link("thread", gettext("more comments"), **to, page=str(page + 1)) if page < last else "",
    ]


def _pages(*links: str) -> str:
    text = " · ".join(filter(None, links))
    return f'<nav class="pages" aria-label="{gettext("pages")}">{text}</nav>' if text else ""


def _partial(result: SearchResult) -> str:
    text = gettext("The search index is taking in rows: what is missing here comes within minutes.")
    return f'<p class="said note">{text}</p>' if result.is_partial else ""


def _link(path: str, text: str, **query: str) -> str:
    return f'<a href="{_address(path, **query)}">{escape(text)}</a>'


def _address(path: str, **query: str) -> str:
    return escape(
        f"/posts{f'/{path}' if path else ''}?{urlencode({name: value for name, value in query.items() if value})}"
    )


def number_in(query: Mapping[str, str], name: str, default: int) -> int:
    """Return a number of a query, or the default."""
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else default
