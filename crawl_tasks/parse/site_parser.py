"""The parser of one site: from a fetched page to items and further requests, by the rules of the site file."""

from __future__ import annotations

from collections.abc import Callable

from crawl_tasks.errors import AccessDenied, Gone, ParseError
from crawl_tasks.model import Fetched, Parsed, Request, Stage
from crawl_tasks.parse.comment_pages import CommentPageReader
from crawl_tasks.parse.comment_reader import CommentReader
from crawl_tasks.parse.context import ParseContext
from crawl_tasks.parse.date_checks import unread_dates
from crawl_tasks.parse.date_order import DateOrders
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.hooks import load_hook
from crawl_tasks.parse.hub import HubReader
from crawl_tasks.parse.listing import ListReader
from crawl_tasks.parse.open_markup import hidden_records
from crawl_tasks.parse.page_end import PageEnd
from crawl_tasks.parse.rules.compile import Where, compile_embedded, compile_test
from crawl_tasks.parse.thread import PostReader, thread_pager
from crawl_tasks.parse.values.charset import lost_texts
from crawl_tasks.parse.values.charset_detector import CharsetDetector
from crawl_tasks.parse.values.text import LONGEST
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import CommentSpec, Format, StageSpec

Read = Callable[[Request, Document, int], Parsed]
Test = Callable[[Where, Document], bool]


class SiteParser:
    """The parser of one version of a site, which all threads may share."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._context = ParseContext(site)
        self._walls = {stage: self._walls_of(spec) for stage, spec in site.stages.items()}
        want = self._context.want()
        self._embedded = {
            stage: compile_embedded(spec.embedded, want) for stage, spec in site.stages.items() if spec.embedded
        }
        # JSON that breaks off is no JSON, and HTML within it has no end.
        self._ends = {
            stage: PageEnd() for stage, spec in site.stages.items() if spec.format is Format.HTML and not spec.embedded
        }
        self._detector = CharsetDetector()
        comments = site.post.comments or site.comment
        rules = {Stage.LIST: site.list.record, Stage.POST: comments and comments.record}
        rules[Stage.COMMENT] = site.comment and site.comment.record
        self._records = {stage: rule.css for stage, rule in rules.items() if stage in self._ends and rule and rule.css}
        self.date_orders = DateOrders(site.date_order)
        self._times = {stage: self._times_of(stage) for stage in site.stages}
        self._hubs = HubReader(self._context)
        self._readers: dict[Stage, Read] = {stage: self._reader(stage, spec) for stage, spec in site.stages.items()}

    def parse(self, request: Request, page: Fetched, tail: int) -> Parsed:
        """Return the items and further requests of one page.

        Args:
            request: the request for the page.
            page: the response.
            tail: the highest comment page of the thread ever admitted, 0 if none was.

        Raises:
            ParseError: The page does not match the site file.
            Gone: The page says that the post does not exist.
            AccessDenied: The page asks for a login.
        """
        parsed = self._parse(request, page, tail)
        # Not a remark of the reading: each page has it, and would prove no comment deleted.
        return parsed._replace(notes=(*parsed.notes, *page.refused)) if page.refused else parsed

    def _parse(self, request: Request, page: Fetched, tail: int) -> Parsed:
        read = self._readers.get(request.stage)
        if read is None:
            raise ParseError(
                f"{request.site}: {request.stage}: the site file does not say how to read {request.address}"
            )
        document = Document(page, self.site.encoding, self.site.drop_params, self._detector)
        self.date_orders.begin(document)
        if request.stage is Stage.LIST and request.key in self._hubs.kinds:
            return self._hubs.read(request, document)
        if request.stage in self._embedded:
            self._embedded[request.stage](document)
        self._check_walls(request, document)
        # A browser ends what it drew: drawn pages are no example for documents that are read as they come.
        ends = None if page.is_rendered else self._ends.get(request.stage)
        note, is_sure = ends.note(document.markup_bytes) if ends is not None else ("", False)
        if record := self._records.get(request.stage):
            document.notes = tuple(filter(None, (hidden_records(document, record),)))
        if page.gaps:
            note, is_sure = f"the page may be a part: {'; '.join(page.gaps)}", True
        if not note:
            parsed = _with_losses(self._read(read, request, document, tail), document)
            # The frame that scripts have yet to fill cannot be read, and is no example either.
            if ends is not None and is_sure:
                ends.learn()
            return parsed
        # For the readers too: a page with a note proves no comment deleted.
        document.notes = (*document.notes, note)
        parsed = _with_losses(self._read(read, request, document, tail), document)
        notes = parsed.notes if note in parsed.notes else (*parsed.notes, note)
        return parsed._replace(notes=notes, broke_off=note if is_sure else "")

    def _check_walls(self, request: Request, document: Document) -> None:
        """Raise the error of a page that says that the post is gone, or that asks for a login."""
        (gone, login), spec = self._walls[request.stage], self.site.stages[request.stage]
        if gone is not None and gone(_top(document, spec), document):
            raise Gone(f"{request.site}: {request.stage}: gone_when was found; {request.address}")
        if login is not None and login(_top(document, spec), document):
            raise AccessDenied(f"{request.site}: {request.stage}: login_when was found; {request.address}")

    def _read(self, read: Read, request: Request, document: Document, tail: int) -> Parsed:
        """Read a page, and again where an integer of its JSON has more digits than the quick reader keeps."""
        try:
            parsed = self._dated(read, request, document, tail)
        except ParseError:
            # Ids that were rounded alike, perhaps.
            if not document.is_rounded:
                raise
        else:
            if not document.is_rounded:
                return parsed
        document.read_exactly()
        return self._dated(read, request, document, tail)

    def _dated(self, read: Read, request: Request, document: Document, tail: int) -> Parsed:
        """Read a page, and again where only all its dates together tell the order of day and month."""
        try:
            parsed = read(request, document, tail)
        except ParseError:
            # A required date may be one that is open.
            is_again, notes = self.date_orders.settle(document)
            if not is_again and self._is_gone_thread(request, document):
                raise Gone(f"{request.site}: {request.stage}: gone_when was found; {request.address}") from None
            if not is_again:
                raise
        else:
            is_again, notes = self.date_orders.settle(document)
        if is_again:
            document.days.clear()
            document.years.clear()
            document.unread.clear()
            document.cut = 0
            parsed = read(request, document, tail)
        if document.unread:
            notes += unread_dates(parsed.items, document.unread, self._times[request.stage])
        return parsed._replace(notes=(*parsed.notes, *notes)) if notes else parsed

    def _times_of(self, stage: Stage) -> list[str]:
        """Return the fields for times that the records of a stage have rules for. Most records show no edit."""
        site = self.site
        if stage is Stage.LIST:
            return [name for name in ("created_at", "last_reply_at") if name in site.list.fields]
        inside = site.post.comments or site.comment
        fields = [*site.post.post_fields, *(inside.fields if inside is not None else ())]
        return ["created_at"] if "created_at" in fields else []

    def _walls_of(self, spec: StageSpec) -> tuple[Test | None, Test | None]:
        want = self._context.want()
        return (
            compile_test(spec.gone_when, want) if spec.gone_when else None,
            compile_test(spec.login_when, want) if spec.login_when else None,
        )

    def _is_gone_thread(self, request: Request, document: Document) -> bool:
        """Return whether a further page that cannot be read is the notice that the first page of a gone thread is."""
        own, notice = (self._walls.get(stage, (None, None))[0] for stage in (Stage.COMMENT, Stage.POST))
        if request.stage is not Stage.COMMENT or own is not None or notice is None:
            return False
        spec, post = self.site.stages[Stage.COMMENT], self.site.stages[Stage.POST]
        return spec.format is post.format and notice(_top(document, spec), document)

    def _reader(self, stage: Stage, spec: StageSpec) -> Read:
        if spec.parser is not None:
            return load_hook(spec.parser, self.site)
        site, context = self.site, self._context
        if stage is Stage.LIST and site.list.record is not None:
            rows = ListReader(context, site.list, site.list.record)
            return lambda request, document, tail: rows.read(request, _top(document, spec), document)
        if stage is Stage.COMMENT and site.comment is not None:
            comments = CommentPageReader(context, site.comment, self._comments(site.comment), is_chain=self._is_chain())
            return lambda request, document, tail: comments.read(request, _top(document, spec), document)
        post = PostReader(context, site.post, site.comment, self._inside())
        return lambda request, document, tail: post.read(request, _top(document, spec), document, tail)

    def _comments(self, spec: CommentSpec) -> CommentReader:
        if spec.record is None:
            raise ParseError(f"{self.site.name}: comment.record is missing; add it")
        return CommentReader(self._context, spec, spec.record)

    def _inside(self) -> CommentReader | None:
        """Return the reader of the comments on a post page, None where post pages show none."""
        own, spec = self.site.post.comments, self.site.comment
        if own is not None:
            return CommentReader(self._context, own, own.record)
        return self._comments(spec) if spec is not None and spec.first_page == 2 and spec.parser is None else None

    def _is_chain(self) -> bool:
        """Return whether comment pages lead from one to the next, in place of the post page to all of them."""
        pager = thread_pager(self._context, self.site.post, self.site.comment)
        return pager is None or not pager.counts or not self._context.has_pages(Stage.COMMENT)


def compile_parser(site: Site) -> SiteParser:
    """Return a parser for this version of a site. Compiling takes milliseconds, so callers keep the parser.

    Raises:
        SiteError: A Python function that the site file names cannot be used.
    """
    return SiteParser(site)


def _with_losses(parsed: Parsed, document: Document) -> Parsed:
    """Return the page with notes on a guessed charset, on characters that could not be read and on cut texts.

    They come last: a note before the reading would say that comments may be missing.
    """
    read = document.decoded
    if document.cut:
        note = f"{document.cut} texts are cut behind {LONGEST:,} characters of markup"
        parsed = parsed._replace(notes=(*parsed.notes, note))
    if not read.note and not read.lost:
        return parsed
    return parsed._replace(notes=(*parsed.notes, *filter(None, (read.note, lost_texts(parsed.items, read)))))


def _top(document: Document, spec: StageSpec) -> Where:
    if spec.format is Format.HTML:
        return document.root
    return document.json if spec.format is Format.JSON else document.linked
