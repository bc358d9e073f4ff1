"""List pages: rows into posts known by their metadata, a request for each post, and the next list pages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import repeat

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
    with_blanks,
)
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.lost_records import record_siblings
from crawl_tasks.parse.pager import Pager, Pages
from crawl_tasks.parse.pagination import alive, following, is_pinned, next_pages, oldest_reply, repeated
from crawl_tasks.parse.row_change import RowChangeReader
from crawl_tasks.parse.rules.compile import Where, compile_test
from crawl_tasks.parse.rules.table import Table, TableReader
from crawl_tasks.parse.thread_links import linked_threads
from crawl_tasks.sites.addresses import Target
from crawl_tasks.sites.field_rules import POST_FIELDS, Plain, Rule, extra_fields
from crawl_tasks.sites.stages import ListSpec, Walk
from crawl_tasks.sites.template import Template

_KNOWN = tuple(name for name in POST_FIELDS if name not in ("post_id", "forum_id", "url", "author_id"))
_ROW = ("post_id", "seen_at", "forum_id", "url", *_KNOWN, "revision", "extra", "is_page", "author_id")
"""The fields of a row in the order in which ListReader joins their columns."""
if Post._fields != _ROW:
    raise TypeError(f"the fields of Post are {Post._fields}, but rows have {_ROW}")


class ListReader:
    """Reader of the list pages of one site."""

    def __init__(self, context: ParseContext, spec: ListSpec, record: Rule) -> None:
        self._context = context
        self._spec = spec
        self._extra = extra_fields(spec.fields, POST_FIELDS)
        self._alone = frozenset(self._extra).difference(context.site.post.post_fields)
        self._mains = mains(spec.fields)
        self._required = required(spec.fields)
        self._revisions = RowChangeReader(context, spec)
        columns = context.fields(spec.fields, at_page=False) | self._revisions.columns
        self._table = TableReader(record, columns, nested=False, siblings=spec.siblings)
        self._look_alikes = record_siblings(spec, context)
        self._pager = Pager(spec, context.want())
        self._title = context.field("title", spec.title, at_page=True).read if spec.title else None
        self._guest = compile_test(spec.guest, context.want(), at_page=False) if spec.guest else None
        self._echo = compile_test(spec.echo, context.want(), at_page=False) if spec.echo else None
        self._empty = compile_test(spec.empty, context.want()) if spec.empty else None

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
        revisions, unsigned = self._revisions.read(table, kept)
        board = self._context.board_shown(request, document)
        posts = self._posts(request._replace(key=board), document, table, kept, revisions)
        entered = alive(posts, request.reach)
        children = self._children(request, entered)
        if self._echo is not None:
            children = self._with_echoes(request, document, [table.records[place] for place in kept], posts, children)
        further, more = self._further(request, document, pages, posts)
        is_doubtful = bool(table.notes or document.notes)
        forums = self._forums(request, where, document, board)
        passes = self._passes(request) if request.reach.whole and not (further or is_doubtful) else ()
        if board != request.key:
            notes += (f"board {request.key} leads to board {board}: its threads are that board's",)
        notes += document.notes + table.notes + more + barren(self._mains, table, "list") + unsigned
        notes += _out_of_reach(entered) + self._left_out(where, document, table)
        is_single = request.page == 1 and not further and not request.reach.whole and bool(forums)
        return Parsed(
            Items(request.site, forums, entered, passes=passes),
            _pinned_last(children, posts, further),
            notes=notes,
            is_cut=pages.is_cut or is_doubtful,
            oldest_at=oldest_reply(posts),
            extent="single" if is_single else "",
        )

    def _children(self, request: Request, posts: tuple[Post, ...]) -> list[Request]:
        """Return a request for each post with an address."""
        reach = request.reach._replace(shown="", read_from=0) if request.reach.whole else FULL_REACH
        rank = self._context.rank(request, Stage.POST)
        named = partial(Request, request.site, Stage.POST, page=1, priority=rank, reach=reach, source=request.key)
        return [
            named(post.post_id, post.url, revision=post.revision or "", is_hidden=post.state in UNREADABLE)
            for post in posts
            if post.url is not None
        ]

    def _forums(self, request: Request, where: Where, document: Document, board: str) -> tuple[Forum, ...]:
        """Return the board of the list, none for a list of all boards' news and for another board's list."""
        if request.key in self._context.news or board != request.key:
            return ()
        title = self._title(where, document) if self._title else None
        address = self._context.addresses.of(Stage.LIST, request.key)
        return (Forum(request.key, None if title is None else str(title), address),)

    def _passes(self, request: Request) -> tuple[BoardPass, ...]:
        rank = self._context.rank(request, Stage.POST)
        return (BoardPass(request.key, request.reach.read_from, request.reach.whole, rank),)

    def _left_out(self, where: Where, document: Document, table: Table) -> tuple[str, ...]:
        """Return a note on elements like the rows that the rule leaves out, if any."""
        if self._look_alikes is None or table.notes:
            return ()
        note = self._look_alikes.note(where, document, table.records, table.columns["post_id"])
        return (note,) if note else ()

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
        self, request: Request, document: Document, table: Table, kept: list[int], revisions: list[str]
    ) -> tuple[Post, ...]:
        columns, addresses = table.columns, self._addresses(table, kept)
        nothing: repeat[Plain] = repeat(None)
        board = None if request.key in self._context.news else request.key
        forum_ids: Iterable[Plain] = repeat(board)
        if "forum_id" in columns:
            # A row that names no board belongs to the board of this list.
            forum_ids = (board if row_board is None else row_board for row_board in picked(columns["forum_id"], kept))
        if self._guest is not None:
            # Naming this board would take the post away from its own board.
            guests = [self._guest(table.records[place], document) for place in kept]
            pairs = zip(forum_ids, guests, strict=False)
            forum_ids = (None if is_guest else forum_id for forum_id, is_guest in pairs)
        known = [picked(columns[name], kept) if name in columns else nothing for name in _KNOWN]
        mappings = extras(self._extra, columns, kept) if self._extra else None
        extra = nothing if mappings is None else [with_blanks(fields, self._alone) for fields in mappings]
        ids = map(str, picked(columns["post_id"], kept))
        seen_at = repeat(document.page.seen_at)
        authors = picked(columns["author_id"], kept) if "author_id" in columns else nothing
        rows = zip(ids, seen_at, forum_ids, addresses, *known, revisions, extra, repeat(False), authors, strict=False)
        return tuple(map(Post._make, rows))

    def _addresses(self, table: Table, kept: list[int]) -> list[str | None]:
        template = self._context.addresses.template(Stage.POST, 1)
        links = picked(table.columns["url"], kept) if "url" in table.columns else [None] * len(kept)
        if template is None:
            return [None if link is None else str(link) for link in links]
        ids = map(str, picked(table.columns["post_id"], kept))
        return [self._address(template, key, link) for key, link in zip(ids, links, strict=True)]

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

    def _further(
        self, request: Request, document: Document, pages: Pages, posts: tuple[Post, ...]
    ) -> tuple[list[Request], tuple[str, ...]]:
        real_page = self._context.page_shown(request, document)
        # A forum that answers numbers beyond the end with the last page would be walked for ever.
        if real_page != request.page:
            return [], (f"asked for page {request.page}, was sent to page {real_page}: the list ends here",)
        # A page of all news is read as far as it has news, and its link leads to one page.
        is_fan = self._spec.walk is Walk.FAN and request.key not in self._context.news
        wanted = next_pages(request, pages, posts, is_fan=is_fan)
        pattern = following(request, posts, is_fan=is_fan)
        if pattern is None:
            return [], (repeated(request, posts, document.page.url),)
        addresses = [
            (page, self._context.address_beside(request, document, Stage.LIST, page, pages)) for page in wanted
        ]
        notes = (
            ("the link to the next page leads elsewhere: the list ends here",)
            if (wanted and None in dict(addresses).values())
            else ()
        )
        pattern = pattern._replace(priority=self._context.rank(request, Stage.LIST))
        return [
            pattern._replace(address=address, page=page) for page, address in addresses if address is not None
        ], notes

    def _fail(self, request: Request, what: str) -> ParseError:
        return ParseError(f"{request.site}: list: {what}; {request.address}")


def _pinned_last(children: list[Request], posts: tuple[Post, ...], further: list[Request]) -> tuple[Request, ...]:
    """Return the requests with pinned rows behind the next page: known ones say nothing about it."""
    pinned = {post.post_id for post in posts if is_pinned(post)}
    first = (child for child in children if child.key not in pinned)
    return (*first, *further, *(child for child in children if child.key in pinned))


def _is_notice(table: Table) -> bool:
    """Return whether the only record has neither id nor link: the row that says that there are no threads."""
    nodes = [record for record in table.records if isinstance(record, LexborNode)]
    return len(nodes) == 1 and table.columns["post_id"][0] in (None, "") and nodes[0].css_first("a[href]") is None


def _out_of_reach(posts: tuple[Post, ...]) -> tuple[str, ...]:
    """Return a note on posts without link or template address. They are stored as the list shows them."""
    lost = [post.post_id for post in posts if post.url is None]
    return (f"{len(lost)} of {len(posts)} posts have no address (the first: {lost[0][:40]!r})",) if lost else ()
