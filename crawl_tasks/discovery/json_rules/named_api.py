"""The named API: rules for JSON that is in pages, or that their scripts name an address of, without a browser.

The meaning of a value is told by the name of only its key, so that the checks of the finished file decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from crawl_tasks.discovery.json_rules.json_fields import moment_in, names_of, rules_of
from crawl_tasks.discovery.json_rules.json_pagination import Pagination, paging_of, whole_list
from crawl_tasks.discovery.json_rules.json_reader import JsonReader, JsonRecords, filled
from crawl_tasks.discovery.json_rules.json_rules import FoundRecords, list_lines, thread_lines
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.json_document import objects, scalars
from crawl_tasks.discovery.proof.findings import Findings
from crawl_tasks.errors import ParseError
from crawl_tasks.model import Comment, Post
from crawl_tasks.parse.board_index import FoundBoard
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.json_ld import Json

_MOST_BOARDS: Final = 4
_MOST_LISTS: Final = 3
"""Further list pages that are asked for in search of long threads."""
_MOST_THREADS: Final = 3
_BOARD_WORDS = re.compile(r"board|forum|categor|node|section|channel|room|group|/[bcf]/", re.IGNORECASE)
_THREAD_WORDS = re.compile(r"thread|topic|discussion|question|post|item|/[tdp]/", re.IGNORECASE)
_COMMENT_WORDS = re.compile(r"comment|repl|post|message|answer", re.IGNORECASE)
_BELOW = re.compile(r"child|sub|below|board|forum|categor", re.IGNORECASE)
_OF_THREADS = {"author", "body", "reply_count"}
"""Fields that threads have, and boards have not."""

_OF_LIST = ("title", "author", "created_at", "reply_count", "last_reply_at")
_OF_POST = ("title", "author", "created_at", "body")


def by_names(probe: HttpProbe, front: Document, known: Findings) -> Findings:
    """Return proposed rules for the JSON of a forum's pages or of its API.

    Raises:
        ParseError: no boards or no threads were found, or nothing shows how their pages follow.
    """
    reader = JsonReader(probe, front)
    boards = _boards(reader)
    listing, key = _listing(reader, boards)
    paging = _paging(reader, listing)
    entries, is_whole = whole_list(reader.value, listing.address, listing.path, paging, _MOST_LISTS)
    if not paging.second and boards is not None and len(boards.entries) > _MOST_BOARDS:
        raise reader.refused(listing.address, "shows no second page of threads, nor does another board that was tried")
    listed = [FoundBoard("front")]
    if boards is not None and "*" in listing.template:
        listed = [
            FoundBoard(board, title) for board, title in zip(boards.values(key), boards.values("title"), strict=True)
        ]
    else:
        # The only list is a board of its own: the last part of its path.
        place, mark, query = listing.template.partition("?")
        above, _, last = place.rpartition("/")
        if not last:
            raise reader.refused(listing.address, "lists all threads; give `list.address` and `boards` by hand")
        listed, listing = [FoundBoard(last)], listing._replace(template=f"{above}/*{mark}{query}")
    rows = _with_pages(reader, listing, paging, "board")
    rules = list_lines(rows, listing.names["id"], {})
    rules += _Threads(reader, listing._replace(entries=entries), is_whole=is_whole).lines()
    return replace(known, boards=tuple(listed), has_board_addresses=False, rules="\n".join(rules))


def _boards(reader: JsonReader) -> JsonRecords | None:
    """Return the list of boards with those below them, None where all threads are in one list."""
    lists = [record for address in reader.plain(_BOARD_WORDS) for record in reader.records(address, address)
             if {"id", "title"} <= record.names.keys() and not _OF_THREADS & record.names.keys()]  # fmt: skip
    named = [records for records in lists if _BOARD_WORDS.search(records.address + records.path)] or lists
    best = max(named, key=lambda records: len(records.entries), default=None)
    return best._replace(entries=_with_below(best.entries)) if best is not None else None


def _with_below(entries: Sequence[Json]) -> list[Json]:
    """Return boards, each before those that are inside it."""
    whole: list[Json] = []
    for entry in entries:
        whole.append(entry)
        for name, value in entry.items() if isinstance(entry, dict) else ():
            if _BELOW.search(name) and isinstance(value, list):
                whole += _with_below([below for below in value if isinstance(below, dict)])
    return whole


def _listing(reader: JsonReader, boards: JsonRecords | None) -> tuple[JsonRecords, str]:
    """Return the longest list of threads of a few boards, and the name of the boards' key in its address.

    Raises:
        ParseError: there is no list of threads.
    """
    for key in ("id", "slug") if boards is not None else ():
        keys = boards.values(key)[:_MOST_BOARDS] if boards and key in boards.names else []
        for template in reader.templates(_BOARD_WORDS):
            lists = [records for board in keys for records in _rows(reader, template, filled(template, board))]
            if lists:
                return max(lists, key=lambda records: len(records.entries)), key
    lists = [records for address in reader.plain(_THREAD_WORDS) for records in _rows(reader, address, address)]
    if not lists:
        raise reader.failure("no list of threads")
    return max(lists, key=lambda records: len(records.entries)), ""


def _rows(reader: JsonReader, template: str, address: str) -> list[JsonRecords]:
    lists = (record for record in reader.records(template, address) if {"id", "title"} <= record.names.keys())
    return [records for records in lists if {"author", "reply_count", "posts"} & records.names.keys()]


def _paging(reader: JsonReader, records: JsonRecords) -> Pagination:
    return paging_of(
        reader.value, records.address, records.path.removesuffix("[1:]"), reader.pagers.get(records.template, "")
    )


def _with_pages(reader: JsonReader, records: JsonRecords, paging: Pagination, name: str) -> FoundRecords:
    """Return records with the way to their further pages."""
    template = records.template.replace("*", f"{{{name}}}")
    is_made = paging.second and not paging.following
    second = [paging.second.replace(records.address, template, 1)] if is_made else []
    is_list = name == "board"
    rows = [Post(key) if is_list else Comment("", key) for key in records.values("id")]
    fields = rules_of(records.names, records.entries, _OF_LIST if is_list else _OF_POST[1:])
    if fields is None:
        raise _unclear(reader, records.address, records.names["body"])
    return FoundRecords(
        template, records.path, [reader.value(records.address)], list(zip(rows, records.entries, strict=True)), fields,
        second, paging.following, reader.place(records.address),
    )  # fmt: skip


class _Threads:
    """A search for the texts of the threads of a list, with the longest ones first."""

    def __init__(self, reader: JsonReader, listing: JsonRecords, *, is_whole: bool) -> None:
        self._reader = reader
        self._listing = listing
        self._is_whole = is_whole
        name = "reply_count" if "reply_count" in listing.names else "posts"
        self._counts = [int(text or 0) for text in listing.values(name)]
        # Without counts, threads that went on for longest.
        known = self._counts if any(self._counts) else self._spans()
        self._order = sorted(range(len(listing.entries)), key=lambda at: -known[at])[:_MOST_THREADS]

    def _spans(self) -> list[int]:
        """Return the seconds between the first and the last post of each thread."""
        times = zip(
            *(map(moment_in, self._listing.values(name)) for name in ("created_at", "last_reply_at")), strict=True
        )
        return [(last or 0) - (first or 0) for first, last in times]

    def lines(self) -> list[str]:
        """Return the lines of the post and the comment stage.

        Raises:
            ParseError: there is no text of a thread, or nothing shows how its pages follow.
        """
        titles = self._listing.values("title")
        for key in ("id", "slug"):
            keys = self._listing.values(key) if key in self._listing.names else []
            for template in self._reader.templates(_THREAD_WORDS, _COMMENT_WORDS) if keys else ():
                if filled(template, keys[0]) == self._listing.address:
                    continue
                at = self._order[0]
                if self._post(template, filled(template, keys[at]), titles[at]) is not None:
                    return self._thread_lines(template, [(keys[at], titles[at]) for at in self._order])
        raise self._reader.failure("no text of a thread")

    def _thread_lines(self, template: str, threads: Sequence[tuple[str, str]]) -> list[str]:
        """Return the lines by the first thread that has a further page, else by the one with most comments."""
        best: tuple[tuple[bool, int], FoundRecords, JsonRecords, Pagination] | None = None
        for key, title in threads:
            post, comments = self._post(template, filled(template, key), title), self._all_comments(template, key)
            if post is None or comments is None:
                continue
            paging = _paging(self._reader, comments)
            score = (bool(paging.second), len(comments.entries))
            if best is None or score > best[0]:
                best = (score, post, comments, paging)
            if paging.second:
                break
        if best is None:
            raise self._reader.failure("no reply")
        (_, read), post, comments, paging = best
        # One answer holds the longest thread of a board that was seen to its end.
        is_proven = self._is_whole and any(self._counts) and read >= max(self._counts)
        if not paging.second and not is_proven:
            reason = "shows no second page, nor does another thread that was tried: `comment` is to be written by hand"
            raise self._reader.refused(comments.address, reason)
        if comments.template == template and f"{comments.path}[0]." in f"{post.fields.get('body')}":
            comments = comments._replace(path=f"{comments.path}[1:]", entries=comments.entries[1:])
        return thread_lines(post, _with_pages(self._reader, comments, paging, "post"), comments.names["id"])

    def _all_comments(self, template: str, key: str) -> JsonRecords | None:
        """Return the comments of a thread, on the page of its text or apart.

        Raises:
            ParseError: comments are inside comments.
        """
        answers = self._comments(template, filled(template, key))
        for other in (
            candidate for candidate in self._reader.templates(_COMMENT_WORDS) if candidate != template and not answers
        ):
            answers = self._comments(other, filled(other, key))
        comments = next(iter(answers), None)
        entries = [entry for entry in (comments.entries if comments else ()) if isinstance(entry, dict)]
        fields = [field for entry in entries for field in entry.items()]
        inner = [name for name, value in fields if isinstance(value, list) and _COMMENT_WORDS.search(name)]
        if comments is not None and inner:
            reason = (
                f"has replies inside replies, in `{inner[0]}`, which no `json` rule reads: a `parser` function does"
            )
            raise self._reader.refused(comments.address, reason)
        return comments

    def _post(self, template: str, address: str, title: str) -> FoundRecords | None:
        """Return the record of a thread's own post, which may be the first of its comments."""
        answer, names = self._reader.value(address), dict[str, str]()
        for path, entry in objects(answer):
            own = names_of([entry])
            if dict(scalars(entry)).get(own.get("title", "")) == title:
                # The innermost object is the thread's own.
                names = {name: f"{path}.{item}" if path else item for name, item in own.items()}
        if "body" not in names:
            for records in self._comments(template, address)[:1]:
                names |= {name: f"{records.path}[0].{path}" for name, path in records.names.items() if name != "title"}
        if "body" not in names:
            return None
        fields = rules_of(names, [answer], _OF_POST)
        if fields is None:
            raise _unclear(self._reader, address, names["body"])
        own_address = template.replace("*", "{post}")
        return FoundRecords(own_address, "", [answer], [], fields, embedded=self._reader.place(address))

    def _comments(self, template: str, address: str) -> list[JsonRecords]:
        lists = [
            record
            for record in self._reader.records(template, address)
            if {"id", "author", "body"} <= record.names.keys()
        ]
        return sorted(lists, key=lambda records: -len(records.entries))


def _unclear(reader: JsonReader, address: str, path: str) -> ParseError:
    reason = f"has tags in some texts of `{path}` only, so that nothing tells whether they are HTML"
    return reader.refused(address, f"{reason}; `text: lines` reads HTML, a rule without it plain text")
