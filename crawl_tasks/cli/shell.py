"""`crawl-tasks shell`: a Python prompt with a fetched page, for finding the rules that read the page."""

from __future__ import annotations

import code
import importlib.util
import types
from collections.abc import Callable

import click

from crawl_tasks.cli.new import find_address, open_probe
from crawl_tasks.cli.terminal import examples
from crawl_tasks.cli.try_ import open_probe as open_site_probe
from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.fetch.redaction import items_without, redacted
from crawl_tasks.model import Fetched, Request
from crawl_tasks.operate.one_page import by_address, page_row
from crawl_tasks.operate.site_files import checked_sites
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.registry.site_registry import CompiledSite, compile_site
from crawl_tasks.settings import Settings, load_settings

HELP = """\
page       the response: page.url, page.status, page.headers, page.body
text       its text; soup: as BeautifulSoup has it; json: as JSON
css(s)     the texts of all matches; css(s, 'href') their attributes
xpath(s)   the same for XPath
read()     what the site file reads from it
site       the site file, None where the address is no page of a known site
"""


@click.command(
    epilog=examples(
        "crawl-tasks shell http://127.0.0.1:8765/list/1/1",
        "crawl-tasks shell http://127.0.0.1:8765/list/1/1 -c \"css('a.title')[:3]\"",
        "crawl-tasks shell http://127.0.0.1:8765/list/1/1 -c \"read()['posts'][0]\"",
    )
)
@click.argument("url")
@click.option("-c", "--code", "source", metavar="CODE", help="Run CODE in place of a prompt and print its value.")
def command(url: str, source: str | None) -> None:
    """Fetch a page and open a Python prompt with it, IPython where that is installed."""
    settings = load_settings()
    opened, request = _known(settings, url)
    if opened is not None and request is not None:
        page = open_site_probe(opened, settings).page(request.address)
    else:
        place = find_address(url, settings)
        page = open_probe(place, settings).page(place.url)
    names = offers(page, opened, request)
    if source is not None:
        run_line(source, names)
    elif importlib.util.find_spec("IPython") is not None:
        importlib.import_module("IPython").embed(header=HELP, user_ns=names)
    else:
        code.interact(banner=HELP, local=names, exitmsg="")


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


def run_line(source: str, names: dict[str, object]) -> None:
    """Run code like a prompt, which prints the value of an expression.

    Raises:
        CrawlError: the code fails.
    """
    try:
        value = _value_of(source, names)
    except CrawlError:
        raise
    except Exception as error:
        # The code of a person may raise anything. One line tells more than a traceback through this program.
        raise CrawlError(f"-c {source!r}: {type(error).__name__}: {error}") from error
    if value is not None:
        click.echo(value if isinstance(value, str) else repr(value))


def _value_of(source: str, names: dict[str, object]) -> object:
    # An expression has a value to print and a statement has none. Only the compiler can tell them apart.
    try:
        compiled = compile(source, "<-c>", "eval")
    except SyntaxError:
        exec(compile(source, "<-c>", "exec"), names)  # noqa: S102  # the person at the prompt wrote it
        return None
    value: object = eval(compiled, names)  # noqa: S307  # the same
    return value


def _known(settings: Settings, url: str) -> tuple[CompiledSite | None, Request | None]:
    try:
        site, request = by_address(checked_sites(settings, ()), url)
    except ConfigError:
        return None, None
    return compile_site(site, settings.contact), request


def _is_json(page: Fetched) -> bool:
    return "json" in page.headers.get("content-type", "")


def _text(element: object) -> str:
    text = getattr(element, "text_content", None)
    return str(text()) if isinstance(text, types.MethodType) else str(element)
