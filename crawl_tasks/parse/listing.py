"""List pages: rows into posts known by their metadata, a request for each post, and the next list pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Literal, NamedTuple

from selectolax.lexbor import LexborNode

from crawl_tasks.errors import ParseError, RefusedAddress
from crawl_tasks.model import FULL_REACH, UNREADABLE, BoardPass, Forum, Items, Parsed, Post, Request, Stage
from crawl_tasks.parse.context import (
    ParseContext,
    barren,
    check_required,
    extras,
    mains,
    picked,
    places,
    required,
    tidy,
    with_blanks,
)
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.lost_records import record_siblings
from crawl_tasks.parse.pager import Pager, Pages
from crawl_tasks.parse.pagination import alive, following, is_pinned, next_pages, oldest_reply, repeated
from crawl_tasks.parse.rules.compile import CompiledRule, Where, compile_rule, compile_test
from crawl_tasks.parse.rules.table import Table, TableReader
from crawl_tasks.parse.thread_links import linked_threads
from crawl_tasks.parse.values.dates import is_stable
from crawl_tasks.sites.addresses import Target
from crawl_tasks.sites.field_rules import POST_FIELDS, As, NamedRule, Plain, Rule, extra_fields, kind_of
from crawl_tasks.sites.stages import ListSpec, Walk
from crawl_tasks.sites.template import Template

_KNOWN = tuple(name for name in POST_FIELDS if name not in ("post_id", "forum_id", "url", "author_id"))
_ROW = ("post_id", "seen_at", "forum_id", "url", *_KNOWN, "revision", "extra", "is_page", "author_id")
"""The fields of a row in the order in which ListReader joins their columns."""
if Post._fields != _ROW:
    raise TypeError(f"the fields of Post are {Post._fields}, but rows have {_ROW}")

# Fewer rows may lack a part of the revision by chance.
_ENOUGH_ROWS = 3


class _Sign(NamedTuple):
    """A part of the revision: a name for messages, and columns. The first column with a stable text is the part."""

    called: str
    columns: tuple[str, ...]
    holds_dates: bool = False


class ListReader:
    """Reader of the list pages of one site."""

    def __init__(self, context: ParseContext, spec: ListSpec, record: Rule) -> None:
        self._context = context
        self._spec = spec
        self._extra = extra_fields(spec.fields, POST_FIELDS)
        self._alone = frozenset(self._extra).difference(context.site.post.post_fields)
        self._mains = mains(spec.fields)
        self._required = required(spec.fields)
        columns = context.fields(spec.fields, at_page=False)
        self._signs = tuple(self._sign(sign, f"#{place}", columns) for place, sign in enumerate(spec.revision))
        self._table = TableReader(record, columns, nested=False, siblings=spec.siblings)
        self._look_alikes = record_siblings(spec, context)
        self._pager = Pager(spec, context.want())
        self._title = context.field("title", spec.title, at_page=True).read if spec.title else None
        self._guest = compile_test(spec.guest, context.want(), at_page=False) if spec.guest else None
        self._echo = compile_test(spec.echo, context.want(), at_page=False) if spec.echo else None
        self._empty = compile_test(spec.empty, context.want()) if spec.empty else None

    def _sign(self, sign: NamedRule, name: str, columns: dict[str, CompiledRule]) -> _Sign:
        """Compile a part of the revision into columns of that name."""
        rule = sign if sign.field is None else self._spec.fields[sign.field]
        kind = (sign.as_ or As.TEXT) if sign.field is None else kind_of(sign.field, rule)
        called = sign.field or _selector_of(sign) or "a rule"
        if kind is not As.DATE:
            if sign.field is not None:
                return _Sign(called, (sign.field,))
            columns[name] = compile_rule(sign, self._context.want(kind), at_page=False)
            return _Sign(called, (name,))
        # "3 hours ago" is another text at every scan, and its moment another second. Only a stable text counts: the
        # attribute that the date is read from, or else the element's own words.
        written = replace(self._context.want(kind), as_written=True)
        columns[name] = compile_rule(rule, written, at_page=False)
        columns[f"{name} text"] = compile_rule(_as_text(rule), self._context.want(), at_page=False)
        return _Sign(called, (name, f"{name} text"), holds_dates=True)

    def read(self, request: Request, where: Where, document: Document) -> Parsed:
        """Return the posts, the requests and the next pages of one list page."""
        # A full pass judges by the moment of its first page: a post seen since then was seen by this pass.
        if request.reach.whole and request.page == 1:
            request = request._replace(reach=request.reach._replace(read_from=document.page.seen_at))
        pages = self._pager.read(where, document, request.page)
        pages = self._context.completed(pages, request, document, Stage.LIST, request.page)
        table = self._rows(request, where, document, has_pager=pages.is_shown)
        kept, notes = places(table, "post_id", lambda what: self._fail(request, what))
        check_required(self._required, table, kept, lambda what: self._fail(request, what))
        revisions, unsigned = self._revisions(table, kept)
        addresses = self._addresses(table, kept)
        board = self._context.board_shown(request, document)
        posts = self._posts(
            request._replace(key=board), document, table, kept, addresses=addresses, revisions=revisions
        )
        entered = alive(posts, request.reach)
        reach = request.reach._replace(shown="", read_from=0) if request.reach.whole else FULL_REACH
        rank = self._context.rank(request, Stage.POST)
        named = partial(Request, request.site, Stage.POST, page=1, priority=rank, reach=reach, source=request.key)
        children = [
            named(post.post_id, post.url, revision=post.revision or "", is_hidden=post.state in UNREADABLE)
            for post in entered
            if post.url is not None
        ]
        if self._echo is not None:
            children = self._with_echoes(request, document, [table.records[place] for place in kept], posts, children)
        further, more = self._further(request, document, pages, posts)
        title = self._title(where, document) if self._title else None
        forum = Forum(
            request.key, None if title is None else str(title), self._context.addresses.of(Stage.LIST, request.key)
        )
        forums = () if request.key in self._context.news or board != request.key else (forum,)
        passes: tuple[BoardPass, ...] = ()
        if request.reach.whole and not further and not (table.notes or document.notes):
            passes = (BoardPass(request.key, request.reach.read_from, request.reach.whole, rank),)
        items = Items(request.site, forums, entered, passes=passes)
        if board != request.key:
            notes += (f"board {request.key} leads to board {board}: its threads are that board's",)
        notes += (
            document.notes + table.notes + more + barren(self._mains, table, "list") + unsigned + _out_of_reach(entered)
        )
        if self._look_alikes is not None and not table.notes:
            left_out = self._look_alikes.note(where, document, table.records, table.columns["post_id"])
            notes += (left_out,) if left_out else ()
        # Pinned rows stand behind the next page: known ones say nothing about it.
        last = {post.post_id for post in posts if is_pinned(post)}
        ordered = (*(one for one in children if one.key not in last), *further)
        ordered += tuple(one for one in children if one.key in last)
        is_cut = pages.is_cut or bool(table.notes or document.notes)
        is_single = request.page == 1 and not further and not request.reach.whole and bool(forums)
        extent: Literal["", "single"] = "single" if is_single else ""
        return Parsed(items, ordered, 0, notes, is_cut=is_cut, oldest_at=oldest_reply(posts), extent=extent)

    def _rows(self, request: Request, where: Where, document: Document, *, has_pager: bool) -> Table:
        """Return the rows of a page, none where the page says that it is empty.

        Raises:
            ParseError: a page without rows does not say so, or links threads.
        """
        table = self._table.read(where, document)
        # An empty board and a rule that no longer matches look alike. Only a pager or the `empty` rule tells them
        # apart.
        is_empty = self._empty is not None and len(table.records) < 2 and self._empty(where, document)
        if not table.records and not has_pager and not is_empty:
            raise self._fail(request, "no rows, no pager and not marked as empty; mend record, or add an `empty` rule")
        if is_empty and _is_notice(table):
            table = Table([], [], {name: [] for name in table.columns})
        if is_empty and not table.records and self._spec.empty is not None:
            linked = linked_threads(self._spec.empty, self._context.addresses, document)
            if linked > 1:
                # One may be the notice that it was moved.
                raise self._fail(request, f"no rows, and {linked} threads are linked where `empty` is; mend record")
        return table

    def _with_echoes(
        self, request: Request, document: Document, rows: list[Where], posts: tuple[Post, ...], children: list[Request]
    ) -> list[Request]:
        """Return the requests with those marked whose rows only tell of news. A full pass leaves these out."""
        echo = self._echo or (lambda *_: False)
        echoed = {post.post_id for row, post in zip(rows, posts, strict=True) if echo(row, document)}
        if request.reach.whole:
            return [child for child in children if child.key not in echoed]
        return [child._replace(only_if_named=child.key in echoed and bool(child.revision)) for child in children]

    def _posts(
        self, request: Request, document: Document, table: Table, kept: list[int], *, addresses: list[str | None],
        revisions: list[str],
    ) -> tuple[Post, ...]:  # fmt: skip
        columns = table.columns
        nothing: repeat[Plain] = repeat(None)
        board = None if request.key in self._context.news else request.key
        forum_ids: Iterable[Plain] = repeat(board)
        if "forum_id" in columns:
            # A row that names no board belongs to the board of this list.
            forum_ids = (board if one is None else one for one in picked(columns["forum_id"], kept))
        if self._guest is not None:
            # Naming this board would take the post away from its own board.
            guests = [self._guest(table.records[place], document) for place in kept]
            forum_ids = (None if is_guest else one for one, is_guest in zip(forum_ids, guests, strict=False))
        known = [picked(columns[name], kept) if name in columns else nothing for name in _KNOWN]
        extra = (
            [with_blanks(one, self._alone) for one in extras(self._extra, columns, kept)] if self._extra else nothing
        )
        ids = map(str, picked(columns["post_id"], kept))
        seen_at = repeat(document.page.seen_at)
        authors = picked(columns["author_id"], kept) if "author_id" in columns else nothing
        rows = zip(ids, seen_at, forum_ids, addresses, *known, revisions, extra, repeat(False), authors, strict=False)
        return tuple(map(Post._make, rows))

    def _addresses(self, table: Table, kept: list[int]) -> list[str | None]:
        template = self._context.addresses.template(Stage.POST, 1)
        if template is None:
            found = picked(table.columns["url"], kept) if "url" in table.columns else [None] * len(kept)
            return [None if one is None else str(one) for one in found]
        ids = map(str, picked(table.columns["post_id"], kept))
        links = picked(table.columns["url"], kept) if "url" in table.columns else repeat(None)
        return [self._address(template, key, link) for key, link in zip(ids, links, strict=False)]

    def _address(self, template: Template, key: str, link: Plain) -> str | None:
        """Return the row's own link, or the template's address where the link names something else."""
        try:
            if link is not None and self._context.addresses.is_ours(str(link)):
                target = self._context.addresses.read(str(link))
                # The forum's own spelling of the address saves a redirect.
                if target is None or target == Target(Stage.POST, key, 1):
                    return str(link)
            return template.address(key, 1)
        except RefusedAddress:
            return None

    def _revisions(self, table: Table, kept: list[int]) -> tuple[list[str], tuple[str, ...]]:
        """Return the revision of each row, and a note on each part that is empty in all rows."""
        if not self._signs:
            return [""] * len(kept), ()
        parts, notes = [], []
        for sign in self._signs:
            columns = [picked(table.columns[name], kept) for name in sign.columns]
            if sign.holds_dates:
                part = [_standing(written, self._context.site.languages) for written in zip(*columns, strict=True)]
            else:
                part = ["" if one is None else str(one) for one in columns[0]]
            parts.append(part)
            if len(part) >= _ENOUGH_ROWS and not any(part):
                notes.append(_nothing_in(sign, columns))
        return [tidy("|".join(row)) for row in zip(*parts, strict=True)], tuple(notes)

    def _further(
        self, request: Request, document: Document, pages: Pages, posts: tuple[Post, ...]
    ) -> tuple[list[Request], tuple[str, ...]]:
        shown = self._context.page_shown(request, document)
        # A forum that answers numbers beyond the end with the last page would be walked for ever.
        if shown != request.page:
            return [], (f"asked for page {request.page}, was sent to page {shown}: the list ends here",)
        # A page of all news is read as far as it has news, and its link leads to one page.
        is_fan = self._spec.walk is Walk.FAN and request.key not in self._context.news
        wanted = next_pages(request, pages, posts, is_fan=is_fan)
        pattern = following(request, posts, is_fan=is_fan)
        if pattern is None:
            return [], (repeated(request, posts, document.page.url),)
        found = [(page, self._context.address_beside(request, document, Stage.LIST, page, pages)) for page in wanted]
        notes = (
            ("the link to the next page leads elsewhere: the list ends here",)
            if (wanted and None in dict(found).values())
            else ()
        )
        pattern = pattern._replace(priority=self._context.rank(request, Stage.LIST))
        return [pattern._replace(address=address, page=page) for page, address in found if address is not None], notes

    def _fail(self, request: Request, what: str) -> ParseError:
        return ParseError(f"{request.site}: list: {what}; {request.address}")


def _is_notice(table: Table) -> bool:
    """Return whether the only record has neither id nor link: the row that says that there are no threads."""
    nodes = [one for one in table.records if isinstance(one, LexborNode)]
    return len(nodes) == 1 and table.columns["post_id"][0] in (None, "") and nodes[0].css_first("a[href]") is None


def _out_of_reach(posts: tuple[Post, ...]) -> tuple[str, ...]:
    """Return a note on posts without link or template address. They are stored as the list shows them."""
    lost = [post.post_id for post in posts if post.url is None]
    return (f"{len(lost)} of {len(posts)} posts have no address (the first: {lost[0][:40]!r})",) if lost else ()


def _standing(written: tuple[Plain, ...], languages: tuple[str, ...]) -> str:
    """Return the first text of a date that names the same moment tomorrow, empty if none does."""
    return next((str(one) for one in written if one is not None and is_stable(str(one), languages)), "")


def _nothing_in(sign: _Sign, columns: list[list[Plain]]) -> str:
    shown = next((one for column in columns for one in column if one not in (None, "")), None)
    why = "nothing was found" if shown is None else f"its text counts from now (the first: {str(shown)[:40]!r})"
    return f"list.revision: {sign.called} is empty in all of {len(columns[0])} records: {why}"


def _selector_of(rule: Rule) -> str:
    """Return the selector of a revision part that has no field name, for messages."""
    return rule.css or rule.attr or rule.json_path or rule.xpath or next(map(_selector_of, rule.first_of), "")


def _as_text(rule: Rule) -> Rule:
    alternatives = tuple(_as_text(one) for one in rule.first_of)
    return rule.model_copy(update={"as_": As.TEXT, "first_of": alternatives})
