"""Post pages: the post, its comments on the same page, and the requests for further comment pages."""

from __future__ import annotations

from collections.abc import Callable

from crawl_tasks.errors import ParseError
from crawl_tasks.model import Comment, Extra, Items, Parsed, Post, Request, Stage
from crawl_tasks.parse.comment_reader import NORMAL, CommentReader, FirstRecord
from crawl_tasks.parse.context import ParseContext, tidy, with_blanks
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.full_scan import first_page_read
from crawl_tasks.parse.pager import Pager, Pages
from crawl_tasks.parse.pagination import first_walked
from crawl_tasks.parse.redirect import gone_to_list, redirected_post
from crawl_tasks.parse.rules.compile import Where, compile_rule, compile_test
from crawl_tasks.parse.rules.table import first_of
from crawl_tasks.sites.field_rules import POST_FIELDS, Plain, Rule, extra_fields
from crawl_tasks.sites.stages import CommentSpec, PostSpec

_REQUIRED = ("title", "body")
_BESIDE = ("author", "created_at", "images", "attachments")


class PostReader:
    """Reader of the post pages of one site."""

    def __init__(
        self, context: ParseContext, spec: PostSpec, comment: CommentSpec | None, inside: CommentReader | None
    ) -> None:
        self._context = context
        at_page = spec.record is None
        self._scope = None if spec.record is None else first_of(spec.record)
        self._fields = {name: compiled.read for name, compiled in context.fields(spec.fields, at_page=at_page).items()}
        rules = spec.post_fields
        self._extra = extra_fields(rules, POST_FIELDS)
        self._alone = frozenset(self._extra).difference(context.site.list.fields)
        self._needed = tuple(name for name, rule in rules.items() if _is_needed(name, rule))
        self._has_body = _tests_of_body(context, rules.get("body"))
        self._first = comment.first_page if comment else 0
        self._begins = spec.begins is not None
        self._inside = inside
        self._pager = thread_pager(context, spec, comment)
        self._by_link = not context.has_pages(Stage.COMMENT)
        self._is_chain = self._by_link or self._pager is None or not self._pager.counts

    def read(self, request: Request, where: Where, document: Document, tail: int) -> Parsed:
        """Return one parsed post page. `tail` is the highest comment page of this thread ever admitted."""
        comments: tuple[Comment, ...] = ()
        notes: tuple[str, ...] = ()
        is_cut, own = False, None
        try:
            if self._inside is not None and self._begins:
                own, comments, notes, is_cut = self._inside.read_thread(request, where, document)
            values = self._values(request, where, document, own)
        except ParseError as error:
            raise gone_to_list(self._context, request, document) or error from None
        elsewhere = redirected_post(self._context, request, document, values.get("post_id"))
        if elsewhere is not None:
            return elsewhere
        if self._inside is not None and not self._begins:
            comments, notes, is_cut = self._inside.read(request, where, document, page=1)
        pages = self._pages(request, where, document)
        # A full pass reads every comment page, also those before the tail.
        children = self._children(request, document, values, pages, tail=0 if request.reach.whole else tail)
        items = Items(request.site, (), (self._post(request, document, values),), comments)
        if self._is_chain and comments:
            mark = first_walked(comments)
            children = tuple(child._replace(reach=child.reach._replace(shown=mark)) for child in children)
        tail_page = max((child.page for child in children), default=1 if tail else 0)
        is_cut = is_cut or (pages is not None and (pages.is_over or pages.is_cut))
        parsed = Parsed(items, children, tail_page, document.notes + notes, is_cut=is_cut)
        if request.reach.whole:
            return first_page_read(request, parsed, document.page, is_empty=values.get("reply_count") == 0)
        return parsed

    def _pages(self, request: Request, where: Where, document: Document) -> Pages | None:
        if self._pager is None:
            return None
        pages = self._pager.read(where, document, 1)
        return self._context.completed(pages, request, document, Stage.COMMENT, 1)

    def _values(self, request: Request, where: Where, document: Document, own: FirstRecord | None) -> dict[str, Plain]:
        if self._scope is not None:
            record = self._scope(where, document)
            if record is None:
                raise ParseError(f"{request.site}: post: record found nothing; mend the rule; {request.address}")
            where = record
        values = {name: read(where, document) for name, read in self._fields.items()}
        if self._begins and own is None:
            raise ParseError(f"{request.site}: post: comments.record found nothing; mend the rule; {request.address}")
        if own is not None:
            values, where = own.values | values, own.where
        for name in self._needed:
            if values.get(name) is None and not (name == "body" and self._is_wordless(values, where, document)):
                raise ParseError(
                    f"{request.site}: post: {name} found nothing; mend the rule, or say required: false; "
                    f"{request.address}"
                )
        return values

    def _is_wordless(self, values: dict[str, Plain], where: Where, document: Document) -> bool:
        """Return whether a post is a file or a poll: its text is empty, and the page shows files, author or moment."""
        # An element that a script has yet to fill stands alone.
        is_shown = any(values.get(name) is not None for name in _BESIDE)
        return is_shown and any(is_there(where, document) for is_there in self._has_body)

    def _post(self, request: Request, document: Document, values: dict[str, Plain]) -> Post:
        extra: Extra = {name: str(values[name]) for name in self._extra if values[name] is not None}
        row: dict[str, object] = {
            **values, "post_id": request.key, "seen_at": document.page.seen_at, "url": request.address,
            "revision": request.revision or None, "extra": with_blanks(extra, self._alone),
            "state": values.get("state") or NORMAL, "is_page": True,
        }  # fmt: skip
        return Post._make(map(row.get, Post._fields))

    def _children(
        self, request: Request, document: Document, values: dict[str, Plain], pages: Pages | None, *, tail: int
    ) -> tuple[Request, ...]:
        wanted = self._wanted(values, pages, tail)
        if not wanted:
            return ()
        count = values.get("reply_count")
        if count is None and pages is not None:
            count = pages.count
        revision = request.revision or tidy("" if count is None else str(count))
        rank = self._context.rank(request, Stage.COMMENT)
        addressed = [
            (page, self._context.address_beside(request, document, Stage.COMMENT, page, pages)) for page in wanted
        ]
        return tuple(
            # A page behind the tail was not there lately, whatever revision the guard knew it with before that.
            Request(request.site, Stage.COMMENT, request.key, address, page, revision, rank, is_again=0 < tail < page)
            for page, address in addressed
            if address is not None
        )

    def _wanted(self, values: dict[str, Plain], pages: Pages | None, tail: int) -> range | tuple[int, ...]:
        """Return the comment pages to fetch, from the last known one on, because earlier pages do not grow."""
        first = self._first
        if not first or values.get("reply_count") == 0:
            return ()
        if self._by_link:
            # A link leads to the second page only, so such a thread is walked from there every time, or from the first
            # page where that is no part of the post page.
            return (first,) if first == 1 or (pages is not None and pages.link) else ()
        if self._pager is None or pages is None:
            return (max(first, tail),)
        if self._pager.counts and pages.count is not None:
            # A thread that has shrunk below the tail is read from the last page it still has.
            return range(max(first, min(tail, pages.count)), pages.count + 1)
        return (max(first, tail),) if pages.has_next or first == 1 else ()


def _is_needed(name: str, rule: Rule) -> bool:
    return name in _REQUIRED if rule.required is None else rule.required


def _tests_of_body(context: ParseContext, body: Rule | None) -> tuple[Callable[[Where, Document], bool], ...]:
    """Return tests for the elements of a post's text, none where the site file requires a text."""
    if body is None or body.required:
        return ()
    rules = [rule for rule in body.first_of or (body,) if rule.css and not (rule.attr or rule.map)]
    return tuple(_is_there_without_words(context, rule) for rule in rules)


def _is_there_without_words(context: ParseContext, rule: Rule) -> Callable[[Where, Document], bool]:
    """Return a test whether the element of a rule without value is there, and empty."""
    is_there = compile_test(Rule(css=rule.css), context.want())
    if rule.regex is None:
        return is_there
    # A regex that no longer fits a text is a rule to mend, and no empty element.
    text = compile_rule(rule.model_copy(update={"regex": None}), context.want(), at_page=True).read
    return lambda where, document: is_there(where, document) and not text(where, document)


def thread_pager(context: ParseContext, spec: PostSpec, comment: CommentSpec | None) -> Pager | None:
    """Return the pager of a post page: its own rules, or those of comment pages if it shows the first of them."""
    if comment is None:
        return None
    if spec.pages or spec.total or spec.next:
        return Pager(spec.model_copy(update={"max_pages": comment.max_pages}), context.want())
    return Pager(comment, context.want()) if comment.first_page == 2 else None
