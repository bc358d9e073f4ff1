"""Step 1, from outside: what a start entry asks for, by its site's addresses."""

from __future__ import annotations

import logging
from collections.abc import Callable

from crawl_tasks.errors import BackendError, ConfigError, FetchError, SiteError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.starts import Claim, Settlement
from crawl_tasks.sites.address import Addresses
from crawl_tasks.sites.published import read_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.start import read_entry, request_of_entry

log = logging.getLogger(__name__)


class Entries:
    """Reads entries by the sites as they are published now; each is looked up once.

    Args:
        key_of: gives the key in which the entries of a site wait.
    """

    def __init__(self, frontier: Frontier, key_of: Callable[[str], str]) -> None:
        self._frontier = frontier
        self._key_of = key_of
        self._sites: dict[str, tuple[Site, Addresses]] = {}

    def judge(self, claim: Claim, scan: str) -> Settlement:
        """Say which request an entry asks for, or why none."""
        try:
            entry = read_entry(claim.entry, claim.site)
            site, addresses = self._open(entry.site)
            request = request_of_entry(entry, site, addresses, scan)
            return Settlement(claim, request, waits_in=self._key_of(request.site))
        except (ConfigError, FetchError) as error:
            return Settlement(claim, None, reason=str(error).replace("\n", " ")[:500])
        except BackendError:
            raise
        except Exception as error:  # the boundary: others' data must not stop the clockwork, nor come back for ever
            log.exception("start entry not read")
            return Settlement(claim, None, reason=f"{type(error).__name__} while it was read")

    def _open(self, name: str) -> tuple[Site, Addresses]:
        known = self._sites.get(name)
        if known is None:
            text = self._frontier.sites.published(name)
            if text is None:
                raise SiteError(f"site {name[:40]!r} is not published")
            site = read_site(text)
            known = self._sites[name] = (site, Addresses(site))
        return known
