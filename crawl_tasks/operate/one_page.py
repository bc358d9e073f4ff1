"""A single page by address: the site, the fetcher, and the items as JSON values."""

from __future__ import annotations

from urllib.parse import urlsplit

from crawl_tasks.discovery import PUBLIC_PACE_S, HttpProbe
from crawl_tasks.errors import ConfigError
from crawl_tasks.fetch.fetcher import Fetcher, build_fetcher
from crawl_tasks.model import Fetched, Items, Parsed, Request
from crawl_tasks.registry.site_publisher import is_public
from crawl_tasks.registry.site_registry import CompiledSite
from crawl_tasks.settings import Settings
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.schema import Site
from crawl_tasks.urls import normalize


def by_address(sites: list[Site], address: str) -> tuple[Site, Request]:
    """Return the site of an address, and the request for the page.

    Raises:
        ConfigError: the address belongs to no site.
        RefusedAddress: the text is no address.
    """
    url = normalize(address)
    # Sites of this host come first, since the address patterns of another site may match too. With the port, because
    # test forums on one machine share a host, and each has a port of its own.
    place = urlsplit(url).netloc
    for site in sorted(sites, key=lambda site: urlsplit(site.base).netloc != place):
        target = Addresses(site).read(url)
        if target is not None:
            return site, Request(site.name, target.stage, target.key, url, page=target.page)
    known = ", ".join(f"{site.name} ({site.base})" for site in sites)
    raise ConfigError(f"{url} is no page of a known site; known are {known}; see `identity` in the site file")


def one_fetcher(settings: Settings) -> Fetcher:
    """Return a fetcher for one page at a time, which uses neither ledger nor database."""
    proxy = settings.proxy.get_secret_value()
    return build_fetcher(
        settings.http_client, threads=1, ca_file=settings.ca_file, proxy=proxy, is_sandboxed=settings.render_sandbox
    )


def site_probe(opened: CompiledSite, settings: Settings) -> HttpProbe:
    """Return an HTTP probe with the pace of the site file, at least a second between requests to public hosts."""
    pace_s = max(opened.site.gate.delay_s, PUBLIC_PACE_S) if is_public(opened.site) else 0.0
    return HttpProbe(one_fetcher(settings), opened.policy, pace_s=pace_s)


def page_row(request: Request, fetched: Fetched, parsed: Parsed) -> dict[str, object]:
    """Return a page with items as JSON values."""
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
    """Return the items as JSON values, without the fields that the page does not show."""
    return {
        kind: [{name: value for name, value in item._asdict().items() if value is not None} for item in rows]
        for kind, rows in (("forums", items.forums), ("posts", items.posts), ("comments", items.comments))
    }
