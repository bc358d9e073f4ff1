"""Post and comment pages: a post, its comments, and the comment pages still to fetch."""

from __future__ import annotations

from itertools import repeat

from crawl_tasks.errors import ParseError
from crawl_tasks.model import Comment, Extra, Items, Parsed, Post, Request, Stage
from crawl_tasks.parse.alias import told_elsewhere
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.kit import (
    Kit,
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
from crawl_tasks.parse.made_ids import with_made_ids
from crawl_tasks.parse.nesting import nested_by
from crawl_tasks.parse.pager import Pager, Pages
from crawl_tasks.parse.reading import Where, compile_test
from crawl_tasks.parse.table import Column, Table, TableReader, first_of
from crawl_tasks.parse.walk import named
from crawl_tasks.parse.whole import first_page_read, next_page_read
from crawl_tasks.sites.fields import COMMENT_FIELDS, POST_FIELDS, extra_fields
from crawl_tasks.sites.rules import Plain, Rule
from crawl_tasks.sites.stages import CommentSpec, Nesting, PostSpec, Records

_REQUIRED = ("title", "body")
NORMAL = "normal"
"""State of what was read and says no other, so that a post that came back is deleted no more."""


class CommentReader:
    """Reads the comments of a page, whichever kind of page it is."""

    def __init__(self, kit: Kit, spec: Records | CommentSpec, record: Rule) -> None:
        self._mains = mains(spec.fields)
        self._required = required(spec.fields)
        self._id_of = spec.id_of
        self._nesting = spec.nesting
        columns = kit.fields(spec.fields, at_page=False)
        self._table = TableReader(record, columns, nested=spec.nesting is Nesting.NESTED, siblings=spec.siblings)
        self._extra = extra_fields(spec.fields, COMMENT_FIELDS)

    def read(
        self, request: Request, where: Where, document: Document, *, page: int
    ) -> tuple[tuple[Comment, ...], tuple[str, ...]]:
        """Return the comments and notes."""
        table = self._table.read(where, document)
        if self._id_of:
            table = with_made_ids(table, request.key, self._id_of)

        def fail(what: str) -> ParseError:
            return ParseError(f"{request.site}: {request.stage}: comments: {what}; {request.address}")

        kept, notes = places(table, "comment_id", fail)
        check_required(self._required, table, kept, fail)
        return self._comments(request, document, table, kept, page=page), notes + barren(self._mains, table, "comment")

    def _comments(
        self, request: Request, document: Document, table: Table, kept: list[int], *, page: int
    ) -> tuple[Comment, ...]:
        parents, depths = nested_by(table, self._nesting)
        columns = {**table.columns, "parent_id": parents, "depth": depths}
        if len(kept) < len(parents):
            columns = {name: picked(column, kept) for name, column in columns.items()}
        nothing: Column = [None] * len(kept)
        shown = columns.get
        rows = zip(
            repeat(request.key), [f"{one}" for one in columns["comment_id"]], repeat(document.page.seen_at),
            columns["parent_id"], shown("author", nothing), shown("created_at", nothing), shown("body", nothing),
            shown("body_html", nothing), columns["depth"], repeat(page), shown("position") or kept,
            shown("edited_at", nothing), [state or NORMAL for state in shown("state", nothing)],
            extras(self._extra, table.columns, kept) if self._extra else nothing, strict=False,
        )  # fmt: skip
        # As Comment._make does, without a call for each.
        return tuple(map(tuple.__new__, repeat(Comment), rows))


class PostReader:
    """Reads the post pages of one site."""

    def __init__(self, kit: Kit, spec: PostSpec, comment: CommentSpec | None, inside: CommentReader | None) -> None:
        self._kit = kit
        at_page = spec.record is None
        self._scope = None if spec.record is None else first_of(spec.record)
        self._fields = {name: one.read for name, one in kit.fields(spec.fields, at_page=at_page).items()}
        self._extra = extra_fields(spec.fields, POST_FIELDS)
        self._alone = frozenset(self._extra).difference(kit.site.list.fields)
        self._needed = tuple(name for name, rule in spec.fields.items() if _is_needed(name, rule))
        self._first = comment.first_page if comment else 0
        self._inside = inside
        self._pager = thread_pager(kit, spec, comment)
        self._by_link = not kit.has_pages(Stage.COMMENT)

    def read(self, request: Request, where: Where, document: Document, tail: int) -> Parsed:
        """Read one page; `tail` is the highest comment page of this thread ever admitted."""
        values = self._values(request, where, document)
        elsewhere = told_elsewhere(self._kit, request, document, values.get("post_id"))
        if elsewhere is not None:
            return elsewhere
        comments: tuple[Comment, ...] = ()
        notes: tuple[str, ...] = ()
        if self._inside is not None:
            comments, notes = self._inside.read(request, where, document, page=1)
        pages = self._kit.sized(self._pager.read(where, document, 1), Stage.COMMENT, 1) if self._pager else None
        children = self._children(request, document, values, pages, tail=0 if request.reach.whole else tail)
        items = Items(request.site, (), (self._post(request, document, values),), comments)
        tail_page = max((child.page for child in children), default=1 if tail else 0)
        parsed = Parsed(items, children, tail_page, notes, is_cut=pages is not None and pages.is_over)
        if request.reach.whole:
            return first_page_read(request, parsed, document.page, is_empty=values.get("reply_count") == 0)
        return parsed

    def _values(self, request: Request, where: Where, document: Document) -> dict[str, Plain]:
        if self._scope is not None:
            found = self._scope(where, document)
            if found is None:
                raise ParseError(f"{request.site}: post: record found nothing; mend the rule; {request.address}")
            where = found
        values = {name: read(where, document) for name, read in self._fields.items()}
        for name in self._needed:
            if values[name] is None:
                raise ParseError(
                    f"{request.site}: post: {name} found nothing; mend the rule, or say required: false; "
                    f"{request.address}"
                )
        return values

    def _post(self, request: Request, document: Document, values: dict[str, Plain]) -> Post:
        found: Extra = {name: str(values[name]) for name in self._extra if values[name] is not None}
        row: dict[str, object] = {
            **values, "post_id": request.key, "seen_at": document.page.seen_at, "url": request.address,
            "revision": request.revision or None, "extra": with_blanks(found, self._alone),
            "state": values.get("state") or NORMAL, "is_page": True,
        }  # fmt: skip
        return Post._make(map(row.get, Post._fields))

    def _children(
        self, request: Request, document: Document, values: dict[str, Plain], pages: Pages | None, *, tail: int
    ) -> tuple[Request, ...]:
        wanted = self._wanted(values, pages, tail)
        if not wanted:
            return ()
        shown = values.get("reply_count")
        if shown is None and pages is not None:
            shown = pages.count
        revision = request.revision or tidy("" if shown is None else str(shown))
        rank = self._kit.rank(request, Stage.COMMENT)
        found = [(page, self._kit.address_beside(request, document, Stage.COMMENT, page, pages)) for page in wanted]
        return tuple(
            # A page behind the tail was not there lately, whatever revision the guard knew it with before that.
            Request(request.site, Stage.COMMENT, request.key, address, page, revision, rank, is_again=0 < tail < page)
            for page, address in found
            if address is not None
        )

    def _wanted(self, values: dict[str, Plain], pages: Pages | None, tail: int) -> range | tuple[int, ...]:
        """Return the comment pages to fetch: from the last one known, because earlier ones do not grow."""
        first = self._first
        if not first or values.get("reply_count") == 0:
            return ()
        if self._by_link:
            # A link leads to the second page only, so such a thread is walked from there every time.
            return (2,) if pages is not None and pages.link else ()
        if self._pager is None or pages is None:
            return (max(first, tail),)
        if self._pager.counts and pages.count is not None:
            # A thread that has shrunk below the tail is read from the last page it still has.
            return range(max(first, min(tail, pages.count)), pages.count + 1)
        return (max(first, tail),) if pages.has_next or first == 1 else ()


def _is_needed(name: str, rule: Rule) -> bool:
    return rule.required or (name in _REQUIRED and "required" not in rule.model_fields_set)


class CommentPageReader:
    """Reads the comment pages of one site."""

    def __init__(self, kit: Kit, spec: CommentSpec, comments: CommentReader, *, is_chain: bool) -> None:
        self._kit = kit
        self._comments = comments
        self._pager = Pager(spec, kit.want())
        self._empty = compile_test(spec.empty, kit.want()) if spec.empty else None
        self._is_chain = is_chain

    def read(self, request: Request, where: Where, document: Document) -> Parsed:
        """Read one page."""
        elsewhere = told_elsewhere(self._kit, request, document)
        if elsewhere is not None:
            return elsewhere
        shown = self._kit.page_shown(request, document)
        comments, notes = self._comments.read(request, where, document, page=shown)
        pages = self._kit.sized(self._pager.read(where, document, shown), Stage.COMMENT, shown)
        if not comments and not pages.is_shown and not (self._empty and self._empty(where, document)):
            raise ParseError(
                f"{request.site}: comment: no comments, no pager and not marked as empty; mend record, or add an "
                f"`empty` rule; {request.address}"
            )
        children: tuple[Request, ...] = ()
        rows = named(comment.comment_id for comment in comments)
        if comments and rows == request.reach.shown:
            notes += (f"page {request.page} shows what page {request.page - 1} shows: the thread ends here",)
        elif shown != request.page:
            notes += (f"asked for page {request.page}, was sent to page {shown}: the thread ends here",)
        elif (self._is_chain and pages.has_next) or (request.reach.whole and request.page < request.reach.pages):
            children = self._next(request, document, pages, rows)
        tail = max((child.page for child in children), default=0)
        parsed = Parsed(
            Items(request.site, (), (), comments), children, tail, notes, is_cut=self._is_chain and pages.is_cut
        )
        return next_page_read(request, parsed, document.page) if request.reach.whole else parsed

    def _next(self, request: Request, document: Document, pages: Pages, rows: str) -> tuple[Request, ...]:
        page, reach = request.page + 1, request.reach._replace(shown=rows)
        address = self._kit.address_beside(request, document, Stage.COMMENT, page, pages)
        if address is None:
            return ()
        return (request._replace(address=address, page=page, reach=reach),)


def thread_pager(kit: Kit, spec: PostSpec, comment: CommentSpec | None) -> Pager | None:
    """Return how a post page tells of comment pages: by its own rules, or the comments' where it shows their first."""
    if comment is None:
        return None
    if spec.pages or spec.total or spec.next:
        return Pager(spec.model_copy(update={"max_pages": comment.max_pages}), kit.want())
    return Pager(comment, kit.want()) if comment.first_page == 2 else None
