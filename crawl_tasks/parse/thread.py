"""Post and comment pages: the post, the comments, and the requests for further comment pages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from crawl_tasks.errors import Gone, ParseError, RefusedAddress
from crawl_tasks.model import Comment, Extra, Items, Parsed, Post, Request, Stage
from crawl_tasks.parse.comment_reader import NORMAL, CommentReader, FirstRecord
from crawl_tasks.parse.context import ParseContext, is_key, tidy, with_blanks
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.full_scan import first_page_read, next_page_read
from crawl_tasks.parse.pager import Pager, Pages
from crawl_tasks.parse.pagination import LEADS_BACK, first_walked, last_mark, named, walked, walked_page
from crawl_tasks.parse.rules.compile import Where, compile_rule, compile_test
from crawl_tasks.parse.rules.table import first_of
from crawl_tasks.sites.crawl_policy import GuardMode
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
        self._fields = {name: one.read for name, one in context.fields(spec.fields, at_page=at_page).items()}
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
        found: tuple[str, ...] = ()
        is_cut, own = False, None
        try:
            if self._inside is not None and self._begins:
                own, comments, found, is_cut = self._inside.read_thread(request, where, document)
            values = self._values(request, where, document, own)
        except ParseError as error:
            raise _gone_to_list(self._context, request, document) or error from None
        elsewhere = _redirected_post(self._context, request, document, values.get("post_id"))
        if elsewhere is not None:
            return elsewhere
        if self._inside is not None and not self._begins:
            comments, found, is_cut = self._inside.read(request, where, document, page=1)
        notes = document.notes + found
        pages = self._pager.read(where, document, 1) if self._pager else None
        pages = self._context.completed(pages, request, document, Stage.COMMENT, 1) if pages else None
        # A full pass reads every comment page, also those before the tail.
        children = self._children(request, document, values, pages, tail=0 if request.reach.whole else tail)
        items = Items(request.site, (), (self._post(request, document, values),), comments)
        if self._is_chain and comments:
            shown = first_walked(comments)
            children = tuple(child._replace(reach=child.reach._replace(shown=shown)) for child in children)
        tail_page = max((child.page for child in children), default=1 if tail else 0)
        parsed = Parsed(
            items, children, tail_page, notes, is_cut=is_cut or (pages is not None and (pages.is_over or pages.is_cut))
        )
        if request.reach.whole:
            return first_page_read(request, parsed, document.page, is_empty=values.get("reply_count") == 0)
        return parsed

    def _values(self, request: Request, where: Where, document: Document, own: FirstRecord | None) -> dict[str, Plain]:
        if self._scope is not None:
            found = self._scope(where, document)
            if found is None:
                raise ParseError(f"{request.site}: post: record found nothing; mend the rule; {request.address}")
            where = found
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
        rank = self._context.rank(request, Stage.COMMENT)
        found = [(page, self._context.address_beside(request, document, Stage.COMMENT, page, pages)) for page in wanted]
        return tuple(
            # A page behind the tail was not there lately, whatever revision the guard knew it with before that.
            Request(request.site, Stage.COMMENT, request.key, address, page, revision, rank, is_again=0 < tail < page)
            for page, address in found
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
    rules = [one for one in body.first_of or (body,) if one.css and not (one.attr or one.map)]
    return tuple(_is_there_without_words(context, one) for one in rules)


def _is_there_without_words(context: ParseContext, rule: Rule) -> Callable[[Where, Document], bool]:
    """Return a test whether the element of a rule without value is there, and empty."""
    is_there = compile_test(Rule(css=rule.css), context.want())
    if rule.regex is None:
        return is_there
    # A regex that no longer fits a text is a rule to mend, and no empty element.
    text = compile_rule(rule.model_copy(update={"regex": None}), context.want(), at_page=True).read
    return lambda where, document: is_there(where, document) and not text(where, document)


class CommentPageReader:
    """Reader of the comment pages of one site."""

    def __init__(self, context: ParseContext, spec: CommentSpec, comments: CommentReader, *, is_chain: bool) -> None:
        self._context = context
        self._comments = comments
        self._pager = Pager(spec, context.want())
        self._may_count_short = self._pager.counts and spec.next is not None
        self._empty = compile_test(spec.empty, context.want()) if spec.empty else None
        self._is_chain = is_chain

    def read(self, request: Request, where: Where, document: Document) -> Parsed:
        """Return one parsed comment page."""
        elsewhere = _redirected_post(self._context, request, document)
        if elsewhere is not None:
            return elsewhere
        shown = self._context.page_shown(request, document)
        comments, notes, is_cut = self._comments.read(request, where, document, page=shown)
        notes += document.notes
        pages = self._pager.read(where, document, shown)
        pages = self._context.completed(pages, request, document, Stage.COMMENT, shown, leads_on=self._is_chain)
        # An empty page and a rule that no longer matches look alike. Only a pager or the `empty` rule tells them apart.
        if not comments and not pages.is_shown and not (self._empty and self._empty(where, document)):
            raise _gone_to_list(self._context, request, document) or ParseError(
                f"{request.site}: comment: no comments, no pager and not marked as empty; mend record, or add an "
                f"`empty` rule; {request.address}"
            )
        children: tuple[Request, ...] = ()
        ids, before = [comment.comment_id for comment in comments], request.reach.shown
        rows = named(ids)
        # The first page shows the post itself above the comments, which its own reader leaves out.
        below = (named(ids[1:]),) if len(ids) > 1 else ()
        back = walked_page(before, rows, *below) if comments or self._is_chain else 0
        # Some forums answer every number beyond the end with the last page, others redirect there.
        if back:
            # Read as comments, the post and all replies would stand on a page that the forum does not have.
            comments = ()
            notes += (f"page {request.page} shows what page {back} showed: {LEADS_BACK}; {document.page.url}",)
        elif comments and rows == last_mark(before):
            notes += (f"page {request.page} shows what page {request.page - 1} shows: the thread ends here",)
        elif shown != request.page:
            notes += (f"asked for page {request.page}, was sent to page {shown}: the thread ends here",)
        elif (
            (self._is_chain and pages.has_next)
            or (request.reach.whole and request.page < request.reach.pages)
            or self._is_counted_short(request, pages)
        ):
            children = self._next(request, document, pages, rows)
        tail = max((child.page for child in children), default=0)
        parsed = Parsed(
            Items(request.site, (), (), comments),
            children,
            tail,
            notes,
            is_cut=is_cut or (self._is_chain and pages.is_cut),
        )
        return next_page_read(request, parsed, document.page) if request.reach.whole else parsed

    def _is_counted_short(self, request: Request, pages: Pages) -> bool:
        """Return whether the last page that was counted names a further one: a count may leave records out."""
        return self._may_count_short and pages.has_next and request.page >= (pages.count or 0)

    def _next(self, request: Request, document: Document, pages: Pages, rows: str) -> tuple[Request, ...]:
        page, reach = request.page + 1, request.reach._replace(shown=walked(request.reach.shown, request.page, rows))
        address = self._context.address_beside(request, document, Stage.COMMENT, page, pages)
        if address is None:
            return ()
        return (request._replace(address=address, page=page, reach=reach),)


def thread_pager(context: ParseContext, spec: PostSpec, comment: CommentSpec | None) -> Pager | None:
    """Return the pager of a post page: its own rules, or those of comment pages if it shows the first of them."""
    if comment is None:
        return None
    if spec.pages or spec.total or spec.next:
        return Pager(spec.model_copy(update={"max_pages": comment.max_pages}), context.want())
    return Pager(comment, context.want()) if comment.first_page == 2 else None


def _redirected_post(context: ParseContext, request: Request, document: Document, shown: Plain = None) -> Parsed | None:
    """Return the follow-up of a page of another post, None for a page of the requested post.

    A link to a reply, or a move, redirects to another post. Nothing of such a page is stored. The other post is
    requested by its own id. So a topic stays one post whatever addresses lead there, and the guard admits the request
    once.

    Args:
        context: the parse context of the site.
        request: the request for the page.
        document: the page.
        shown: the post id on the page, None if the page shows none.
    """
    key = _redirected_key(context, request, document) if shown is None else str(shown)
    if key is None or key == request.key or not is_key(key):
        return None
    note = f"is post {key}, not {request.key}: it is read there"
    address = context.addresses.of(Stage.POST, key)
    if address is None or context.site.guard.post is GuardMode.OFF:
        # Without a guard, two pages that name each other would be fetched for ever.
        return Parsed(Items(request.site), notes=(note,))
    child = Request(request.site, Stage.POST, key, address, 1, request.revision, context.rank(request, Stage.POST))
    return Parsed(Items(request.site), (child,), notes=(note,))


def _gone_to_list(context: ParseContext, request: Request, document: Document) -> Gone | None:
    """Return the error of a page that a redirect led to a list: so some forums answer for a thread that is gone."""
    url = document.page.url
    with suppress(RefusedAddress):
        target = context.addresses.read(url) if url != request.address else None
        if target is not None and target.stage is Stage.LIST:
            return Gone(f"{request.site}: {request.stage}: the forum answers with a list, {url}; {request.address}")
    return None


def _redirected_key(context: ParseContext, request: Request, document: Document) -> str | None:
    """Return the post id in the address that a redirect led to."""
    url = document.page.url
    if url == request.address:
        return None
    try:
        target = context.addresses.read(url)
    except RefusedAddress:
        return None
    if target is None or target.stage is Stage.LIST:
        return None
    return target.key if context.addresses.is_own_key(Stage.POST, target.key) else None
