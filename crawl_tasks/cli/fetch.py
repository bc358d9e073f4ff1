"""`crawl-tasks fetch`: one page, here and now, past the ledger: to try the rules of a site file."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import click

from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.sites import checked_sites
from crawl_tasks.errors import ConfigError
from crawl_tasks.fetch.download import build_fetcher
from crawl_tasks.model import Fetched, Items, Parsed, Request, Stage
from crawl_tasks.settings import load_settings
from crawl_tasks.sitebook import open_site
from crawl_tasks.sites.address import Addresses
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.steps import read_steps
from crawl_tasks.urls import normalize


@click.command(
    epilog=examples(
        "crawl-tasks fetch http://127.0.0.1:8765/post/100001",
        "crawl-tasks fetch demo list 3 --page 2",
        "crawl-tasks fetch demo comment 100001 --page 2 | jq '.comments[].author'",
    )
)
@click.argument("what", nargs=-1, required=True, metavar="URL | SITE STAGE ID")
@click.option("--page", metavar="N", type=click.IntRange(1, 100_000), default=1, show_default=True)
@click.option("--body", is_flag=True, help="Print the page itself, and nothing that was read from it.")
def command(what: tuple[str, ...], page: int, body: bool) -> None:
    """Fetch one page by the site's own rules and print what is read from it as JSON.

    Nothing is written: neither the ledger nor the database hears of it, and the site's pace is not kept. The page's
    address, robots.txt and limits are checked as in a crawl.
    """
    settings = load_settings()
    sites = checked_sites(settings, ())
    site, request = by_address(sites, what[0]) if len(what) == 1 else by_name(sites, what, page)
    opened = open_site(site, settings.contact, read_steps(settings.items))
    fetched = build_fetcher(
        settings.http_client, threads=1, ca_file=settings.ca_file, proxy=settings.proxy.get_secret_value()
    ).fetch(request, opened.policy)
    if body:
        click.echo(fetched.body, nl=False)
        return
    parsed = opened.parser.parse(request, fetched, 0)
    if opened.sieve is not None:
        parsed = opened.sieve.sift(request, parsed)
    click.echo("past the ledger: nothing is stored, no page is marked as seen", err=True)
    click.echo(json.dumps(page_row(request, fetched, parsed), ensure_ascii=False, indent=2))


def by_address(sites: list[Site], address: str) -> tuple[Site, Request]:
    """Find the site and the stage of an address.

    Raises:
        ConfigError: it belongs to no site.
        RefusedAddress: it is no address.
    """
    url = normalize(address)
    place = urlsplit(url).netloc  # forums on one machine have one host, and each a port
    for site in sorted(sites, key=lambda site: urlsplit(site.base).netloc != place):
        target = Addresses(site).read(url)
        if target is not None:
            return site, Request(site.name, target.stage, target.key, url, page=target.page)
    known = ", ".join(f"{site.name} ({site.base})" for site in sites)
    raise ConfigError(f"{url} is no page of a known site; known are {known}; see `identity` in the site file")


def by_name(sites: list[Site], what: tuple[str, ...], page: int) -> tuple[Site, Request]:
    """Find a page by site, stage and id.

    Raises:
        ConfigError: there is no such site, or it gives such pages no address.
    """
    if len(what) != 3 or what[1] not in [stage.value for stage in Stage]:
        raise click.UsageError("name a URL, or a site, one of list, post, comment, and an id")
    name, stage, key = what[0], Stage(what[1]), what[2]
    site = next((site for site in sites if site.name == name), None)
    if site is None:
        raise ConfigError(f"there is no site {name!r}; there are: {', '.join(site.name for site in sites)}")
    address = Addresses(site).of(stage, key, page)
    if address is None:
        raise ConfigError(f"site {name} gives no address for {stage.value} pages; name a URL")
    return site, Request(name, stage, key, address, page=page)


def page_row(request: Request, fetched: Fetched, parsed: Parsed) -> dict[str, object]:
    """Give what a page was and what was read from it as JSON values."""
    return {
        "site": request.site,
        "stage": request.stage.value,
        "url": fetched.url,
        "status": fetched.status,
        "elapsed_ms": fetched.elapsed_ms,
        "bytes": fetched.wire_bytes,
        **_item_rows(parsed.items),
        "children": [child._asdict() for child in parsed.children],
        "notes": list(parsed.notes),
    }


def _item_rows(items: Items) -> dict[str, object]:
    """Leave out what the page did not show."""
    return {
        kind: [{name: value for name, value in item._asdict().items() if value is not None} for item in rows]
        for kind, rows in (("forums", items.forums), ("posts", items.posts), ("comments", items.comments))
    }
