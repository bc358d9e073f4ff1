"""Member signs: what a page says of who asked for it, a member or a guest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from crawl_tasks.errors import PageError, ParseError
from crawl_tasks.fetch.login_sessions import Sign
from crawl_tasks.model import Fetched, Stage
from crawl_tasks.parse.context import ParseContext
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.pagination_links import is_in
from crawl_tasks.parse.rules.compile import Where, compile_test
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_login import SiteLogin
from crawl_tasks.sites.stages import Format

_DENIALS = (400, 401, 403, 404, 410)
"""The answers by which forums and APIs hide from guests what members see.

Django answers 400 where a session ends within a request.
"""

Test = Callable[[Where, Document], bool]


def member_test(site: Site, spec: SiteLogin) -> Callable[[Fetched], bool]:
    """Return the test whether a page, as that of `check`, has the sign of `success`."""
    has_sign, addresses = compile_test(spec.success, ParseContext(site).want()), Addresses(site)
    is_json = spec.success.json_path is not None

    def is_member(page: Fetched) -> bool:
        document = Document(page, site.encoding)
        if not _can_hold(spec.success, page) or not _finds(has_sign, document, is_json=is_json):
            return False
        if is_json or not _is_html(page):
            return True
        # A front page lists the last threads, and the address of one has the words of its title.
        _cut_threads(document, addresses, is_by_tree=spec.success.css is not None)
        return has_sign(document.root, document)

    return is_member


def member_signs(site: Site, spec: SiteLogin) -> Callable[[Fetched, Stage], Sign]:
    """Return what a page says of who asked for it, by its status, `success`, and the stage's `login_when`.

    A sign that only the records of a page hold says nothing: who writes a post could put it there. An API's answers
    need not have the sign of its check page. Where one of a stage had it once, all of them have it.
    """
    return _SignReader(site, spec).read


class _SignReader:
    """Reader of the signs on pages of one site."""

    def __init__(self, site: Site, spec: SiteLogin) -> None:
        want = ParseContext(site).want()
        self._site = site
        self._success = spec.success
        self._has_sign = compile_test(spec.success, want)
        self._is_json = spec.success.json_path is not None
        self._walls = {
            stage: compile_test(terms.login_when, want) for stage, terms in site.stages.items() if terms.login_when
        }
        self._written = {stage: tuple(_written_by_people(site, stage)) for stage in Stage}
        self._signed: set[Stage] = set()

    def read(self, page: Fetched, stage: Stage) -> Sign:
        """Return the sign of a page."""
        if page.status in (401, 403) or page.was_denied:
            return Sign.GUEST
        if page.is_unchanged:
            # A guest's page would be another one than that whose validator we sent.
            return Sign.MEMBER
        is_denied = page.status in _DENIALS
        if not is_denied and not 200 <= page.status < 300:
            return Sign.NONE
        # The only tree of the page, which is parsed where a test asks for it.
        document = Document(page, self._site.encoding)
        if not is_denied and self._has_wall(document, stage):
            return Sign.GUEST
        has_sign = _can_hold(self._success, page) and _finds(self._has_sign, document, is_json=self._is_json)
        if _is_html(page) and not self._is_json:
            return self._on_html(page, document, stage, has_sign=has_sign)
        if not has_sign:
            return Sign.GUEST if is_denied or stage in self._signed else Sign.NONE
        self._signed.add(stage)
        return Sign.GUEST if is_denied else Sign.MEMBER

    def _has_wall(self, document: Document, stage: Stage) -> bool:
        wall = self._walls.get(stage)
        return wall is not None and _finds(wall, document, is_json=self._site.stages[stage].format is Format.JSON)

    def _on_html(self, page: Fetched, document: Document, stage: Stage, *, has_sign: bool) -> Sign:
        if not has_sign:
            return Sign.GUEST
        _cut(document, self._written[stage], is_by_tree=self._success.css is not None)
        if self._has_sign(document.root, document):
            # The session of a drawn page may have ended between its frame and what its scripts asked for.
            return Sign.NONE if page.is_rendered else Sign.MEMBER
        return Sign.GUEST if page.status in _DENIALS else Sign.NONE


def _can_hold(success: Rule, page: Fetched) -> bool:
    """Return whether `success` is looked for in an answer: an element only in HTML.

    The text of a post in JSON may hold any element, which is none of the page.
    """
    return success.json_path is not None or success.header is not None or _is_html(page)


def _is_html(page: Fetched) -> bool:
    return "html" in page.headers.get("content-type", "html")


def _finds(test: Test, document: Document, *, is_json: bool) -> bool:
    try:
        return test(document.json if is_json else document.root, document)
    except ParseError:
        return False


def _written_by_people(site: Site, stage: Stage) -> Iterator[str]:
    """Yield the selectors of what people write on pages of a stage: rows, posts and comments."""
    for rule in _rules_of_people(site, stage):
        for variant in rule.walk() if rule is not None else ():
            if variant.css is not None and variant.json_path is None:
                yield variant.css


def _rules_of_people(site: Site, stage: Stage) -> list[Rule | None]:
    if stage is Stage.LIST:
        return [site.list.record]
    if stage is Stage.COMMENT:
        return [site.comment.record if site.comment is not None else None]
    inside = site.post.comments or site.comment
    comments = inside.record if inside is not None else None
    return [site.post.record, comments, site.post.fields.get("body"), site.post.fields.get("body_html")]


def _cut_threads(document: Document, addresses: Addresses, *, is_by_tree: bool) -> None:
    """Cut the links to threads out of a page."""
    for node in find_all(document.root, "a[href]"):
        try:
            url = document.absolute(node.attributes.get("href") or "")
            target = addresses.read(url) if url is not None and addresses.is_ours(url) else None
        except PageError:
            continue
        if target is not None and target.stage is not Stage.LIST:
            node.decompose()
    if not is_by_tree:
        document.embed_html(document.root.html or "")


def _cut(document: Document, selectors: tuple[str, ...], *, is_by_tree: bool) -> None:
    """Cut elements out of a page's tree, and without `is_by_tree` out of its other forms too."""
    for css in selectors:
        nodes = find_all(document.root, css)
        known = {node.mem_id for node in nodes}
        # An element is freed with all within it.
        for node in [node for node in nodes if not is_in(node.parent, known)]:
            if node.mem_id != document.root.mem_id:
                node.decompose()
    if not is_by_tree:
        document.embed_html(document.root.html or "")
