"""Between fetch and commit: one fetched page into items and further requests, by the rules of its site."""

from __future__ import annotations

from collections.abc import Callable

from crawl_tasks.errors import AccessDenied, Gone, ParseError
from crawl_tasks.model import Fetched, Parsed, Request, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.hooks import load_hook
from crawl_tasks.parse.hub import HubReader
from crawl_tasks.parse.kit import Kit
from crawl_tasks.parse.listing import ListReader
from crawl_tasks.parse.reading import Where, compile_test
from crawl_tasks.parse.thread import CommentPageReader, CommentReader, PostReader, thread_pager
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import CommentSpec, Format, StageSpec

Read = Callable[[Request, Document, int], Parsed]
Test = Callable[[Where, Document], bool]


class SiteParser:
    """Reads the pages of one version of one site. Immutable: all threads may use one at once."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._kit = Kit(site)
        self._walls = {stage: self._walls_of(spec) for stage, spec in site.stages.items()}
        self._hubs = HubReader(self._kit)
        self._readers: dict[Stage, Read] = {stage: self._reader(stage, spec) for stage, spec in site.stages.items()}

    def parse(self, request: Request, page: Fetched, tail: int) -> Parsed:
        """Read one page.

        Args:
            request: what was asked for.
            page: what came.
            tail: the highest comment page of the thread ever admitted, 0 if none was.

        Raises:
            ParseError: The page is not what the site file says.
            Gone: It says that there is no such post.
            AccessDenied: It asks for a login.
        """
        read = self._readers.get(request.stage)
        if read is None:
            raise ParseError(
                f"{request.site}: {request.stage}: the site file does not say how to read {request.address}"
            )
        document = Document(page, self.site.encoding, self.site.drop_params)
        if request.stage is Stage.LIST and request.key in self._hubs.kinds:
            return self._hubs.read(request, document)
        gone, login = self._walls[request.stage]
        if gone is not None and gone(_top(document, self.site.stages[request.stage]), document):
            raise Gone(f"{request.site}: {request.stage}: gone_when was found; {request.address}")
        if login is not None and login(_top(document, self.site.stages[request.stage]), document):
            raise AccessDenied(f"{request.site}: {request.stage}: login_when was found; {request.address}")
        return read(request, document, tail)

    def _walls_of(self, spec: StageSpec) -> tuple[Test | None, Test | None]:
        want = self._kit.want()
        return (
            compile_test(spec.gone_when, want) if spec.gone_when else None,
            compile_test(spec.login_when, want) if spec.login_when else None,
        )

    def _reader(self, stage: Stage, spec: StageSpec) -> Read:
        if spec.parser is not None:
            return load_hook(spec.parser, self.site)
        site, kit = self.site, self._kit
        if stage is Stage.LIST and site.list.record is not None:
            rows = ListReader(kit, site.list, site.list.record)
            return lambda request, document, tail: rows.read(request, _top(document, spec), document)
        if stage is Stage.COMMENT and site.comment is not None:
            comments = CommentPageReader(kit, site.comment, self._comments(site.comment), is_chain=self._is_chain())
            return lambda request, document, tail: comments.read(request, _top(document, spec), document)
        post = PostReader(kit, site.post, site.comment, self._inside())
        return lambda request, document, tail: post.read(request, _top(document, spec), document, tail)

    def _comments(self, spec: CommentSpec) -> CommentReader:
        if spec.record is None:
            raise ParseError(f"{self.site.name}: comment.record is missing; add it")
        return CommentReader(self._kit, spec, spec.record)

    def _inside(self) -> CommentReader | None:
        """Return the reader of comments that stand on the post page, None where they do not."""
        own, spec = self.site.post.comments, self.site.comment
        if own is not None:
            return CommentReader(self._kit, own, own.record)
        return self._comments(spec) if spec is not None and spec.first_page == 2 and spec.parser is None else None

    def _is_chain(self) -> bool:
        """Say whether comment pages are found one from the other, not all from the post page."""
        pager = thread_pager(self._kit, self.site.post, self.site.comment)
        return pager is None or not pager.counts or not self._kit.has_pages(Stage.COMMENT)


def compile_parser(site: Site) -> SiteParser:
    """Return a parser for this version of a site; costs milliseconds, so keep it.

    Raises:
        SiteError: A Python function it names cannot be used.
    """
    return SiteParser(site)


def _top(document: Document, spec: StageSpec) -> Where:
    if spec.format is Format.HTML:
        return document.root
    return document.json if spec.format is Format.JSON else document.linked
