"""Comment pages: the comments of a further page of a thread, and the request for the page after it."""

from __future__ import annotations

from crawl_tasks.errors import ParseError
from crawl_tasks.model import Comment, Items, Parsed, Request, Stage
from crawl_tasks.parse.comment_reader import CommentReader
from crawl_tasks.parse.context import ParseContext
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.full_scan import next_page_read
from crawl_tasks.parse.pager import Pager, Pages
from crawl_tasks.parse.pagination import LEADS_BACK, last_mark, named, walked, walked_page
from crawl_tasks.parse.redirect import gone_to_list, redirected_post
from crawl_tasks.parse.rules.compile import Where, compile_test
from crawl_tasks.sites.stages import CommentSpec


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
        elsewhere = redirected_post(self._context, request, document)
        if elsewhere is not None:
            return elsewhere
        page = self._context.page_shown(request, document)
        comments, notes, is_cut = self._comments.read(request, where, document, page=page)
        pages = self._pager.read(where, document, page)
        pages = self._context.completed(pages, request, document, Stage.COMMENT, page, leads_on=self._is_chain)
        # An empty page and a rule that no longer matches look alike. Only a pager or the `empty` rule tells them apart.
        if not comments and not pages.is_shown and not (self._empty and self._empty(where, document)):
            raise gone_to_list(self._context, request, document) or ParseError(
                f"{request.site}: comment: no comments, no pager and not marked as empty; mend record, or add an "
                f"`empty` rule; {request.address}"
            )
        back, end = self._end(request, document, comments, page)
        rows = named(comment.comment_id for comment in comments)
        children = () if end or not self._leads_on(request, pages) else self._next(request, document, pages, rows)
        parsed = Parsed(
            # Read as comments, the post and all replies would be on a page that the forum does not have.
            Items(request.site, comments=() if back else comments),
            children,
            max((child.page for child in children), default=0),
            notes + document.notes + end,
            is_cut=is_cut or (self._is_chain and pages.is_cut),
        )
        return next_page_read(request, parsed, document.page) if request.reach.whole else parsed

    def _end(
        self, request: Request, document: Document, comments: tuple[Comment, ...], page: int
    ) -> tuple[int, tuple[str, ...]]:
        """Return the earlier page that showed the same comments, else 0, and a note where the thread ends.

        Some forums answer every number beyond the end with the last page, others redirect there.
        """
        ids, before = [comment.comment_id for comment in comments], request.reach.shown
        rows = named(ids)
        # The first page shows the post itself above the comments, which its own reader leaves out.
        below = (named(ids[1:]),) if len(ids) > 1 else ()
        back = walked_page(before, rows, *below) if comments or self._is_chain else 0
        if back:
            return back, (f"page {request.page} shows what page {back} showed: {LEADS_BACK}; {document.page.url}",)
        if comments and rows == last_mark(before):
            return 0, (f"page {request.page} shows what page {request.page - 1} shows: the thread ends here",)
        if page != request.page:
            return 0, (f"asked for page {request.page}, was sent to page {page}: the thread ends here",)
        return 0, ()

    def _leads_on(self, request: Request, pages: Pages) -> bool:
        if self._is_chain and pages.has_next:
            return True
        is_before_end = bool(request.reach.whole) and request.page < request.reach.pages
        return is_before_end or self._is_counted_short(request, pages)

    def _is_counted_short(self, request: Request, pages: Pages) -> bool:
        """Return whether the last page that was counted names a further one: a count may leave records out."""
        return self._may_count_short and pages.has_next and request.page >= (pages.count or 0)

    def _next(self, request: Request, document: Document, pages: Pages, rows: str) -> tuple[Request, ...]:
        page, reach = request.page + 1, request.reach._replace(shown=walked(request.reach.shown, request.page, rows))
        address = self._context.address_beside(request, document, Stage.COMMENT, page, pages)
        if address is None:
            return ()
        return (request._replace(address=address, page=page, reach=reach),)
