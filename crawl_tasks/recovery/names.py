"""Beside the flow: threads that only lists named become known by name, when a site gets its first hub."""

from __future__ import annotations

from itertools import islice

from crawl_tasks.errors import SiteError, StoreError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Stage
from crawl_tasks.publishing import names_threads, publish_site
from crawl_tasks.sites.published import read_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.known import remembered
from crawl_tasks.store.upsert import Store

CHUNK = 500


def publish_remembering(frontier: Frontier, site: Site, contact: str | None, database_url: str) -> int:
    """Publish a site; where hubs name its threads from now on, tell the guard those that the database knows.

    A guard without hubs knows a thread by its revision only, in half the memory, and to a hub all threads would be new.
    Gives how many requests of threads were told.

    Raises:
        ConfigError: the site cannot be published.
    """
    before = frontier.sites.published(site.name)
    publish_site(frontier, site, contact)
    if before is None or not names_threads(site) or _named_before(before):
        return 0
    try:
        store = Store(database_url).open(create=False)
    except StoreError:  # nothing was stored yet
        return 0
    told = 0
    with store:
        posts = (page.request for page in remembered(store, site.name) if page.request.stage is Stage.POST)
        while chunk := list(islice(posts, CHUNK)):
            told += frontier.memory.recall(site.name, ((request, False) for request in chunk))[1]
    return told


def _named_before(published: str) -> bool:
    try:
        return names_threads(read_site(published))
    except SiteError:  # another version wrote it
        return True
