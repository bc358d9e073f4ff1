"""`crawl-tasks shell`: a Python prompt with a fetched page, for finding the rules that read the page."""

from __future__ import annotations

import code
import importlib.util

import click

from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import CrawlError
from crawl_tasks.operate.new_site import find_address, open_probe
from crawl_tasks.operate.one_page import site_probe
from crawl_tasks.operate.shell import known_page, offers
from crawl_tasks.settings import load_settings

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
    opened, request = known_page(settings, url)
    if opened is not None and request is not None:
        page = site_probe(opened, settings).page(request.address)
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
