"""The names that a Python prompt offers beside a fetched page, for finding the rules that read the page."""

from __future__ import annotations

import types
from collections.abc import Callable

from crawl_tasks.errors import ConfigError
from crawl_tasks.fetch.redaction import items_without, redacted
from crawl_tasks.model import Fetched, Request
from crawl_tasks.operate.one_page import by_address, page_row
from crawl_tasks.operate.site_files import checked_sites
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.registry.site_registry import CompiledSite, compile_site
from crawl_tasks.settings import Settings


def known_page(settings: Settings, url: str) -> tuple[CompiledSite | None, Request | None]:
    """Return the site and the request of an address, None where it is no page of a known site."""
    try:
        site, request = by_address(checked_sites(settings, ()), url)
    except ConfigError:
        return None, None
    return compile_site(site, settings.contact), request


def offers(page: Fetched, opened: CompiledSite | None, request: Request | None) -> dict[str, object]:
    """Return the names that the prompt knows."""
    # The import takes 50 ms, and only this command needs it.
    document = Document(page, opened.site.encoding if opened else None)

    def css(selector: str, attr: str | None = None) -> list[str | None]:
        elements = find_all(document.root, selector)
        return [node.attributes.get(attr) if attr else " ".join(node.text().split()) for node in elements]

    def xpath(path: str) -> list[str]:
        value = document.xml.xpath(path)
        matches = value if isinstance(value, list) else [value]
        return [" ".join((match if isinstance(match, str) else _text(match)).split()) for match in matches]

    def read() -> dict[str, object]:
        if opened is None or request is None:
            raise ConfigError(f"{page.url} is no page of a known site; see `identity` in the site file")
        parsed = opened.parser.parse(request, page, 0)
        return page_row(request, redacted(page), parsed._replace(items=items_without(parsed.items, page)[0]))

    made: dict[str, object] = {
        "page": redacted(page),
        "text": document.source,
        "soup": document.soup,
        "site": opened.site if opened else None,
        "request": request,
    }
    functions: tuple[Callable[..., object], ...] = (css, xpath, read)
    made |= {function.__name__: function for function in functions}
    return made | ({"json": document.json} if _is_json(page) else {})


def _is_json(page: Fetched) -> bool:
    return "json" in page.headers.get("content-type", "")


def _text(element: object) -> str:
    text = getattr(element, "text_content", None)
    return str(text()) if isinstance(text, types.MethodType) else str(element)
