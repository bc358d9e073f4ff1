"""Start entries: the request that an entry of another program means, by the addresses of its site."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import cast

from crawl_tasks.errors import BackendError, ConfigError, FetchError, SiteError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.start_queue import Claim, StartResult
from crawl_tasks.model import Request
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.functions import failure_text, find_function
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import read_site
from crawl_tasks.sites.start_entry import StartEntry, entry_of, read_entry, request_of_entry

log = logging.getLogger(__name__)

DEADLINE_S = 2.0
"""Time for a site's own function to read one entry, in seconds."""
MOST_REQUESTS = 100
MOST_HUNG = 3
"""Calls of a function that may hang in this process. The ticker waits for each, and calls it no more after so many."""


def read_with(function: str, claim: Claim) -> list[StartEntry]:
    """Return the entries that a site's own function makes of a payload, at least one.

    Raises:
        ConfigError: the function fails or hangs, or makes no entry.
    """
    where = f"start_request {function}"
    call, wanted = find_function(function, where, ("entry", "site"))
    offers = {"entry": claim.entry.decode(errors="replace"), "site": claim.site}
    results: list[object] = []

    def run() -> None:
        try:
            made = call(**{name: offers[name] for name in wanted})
            many = [made] if isinstance(made, Mapping) else cast("Iterable[object]", made)
            results.extend(islice(many, MOST_REQUESTS + 1))
            results.append(None)
        except Exception as error:  # noqa: BLE001 (told below, as the reason of the refusal)
            # Foreign code may raise anything. The entry is refused with the error, the ticker goes on.
            results[:] = [error]

    # In a thread, because nothing ends a function that hangs.
    thread = threading.Thread(target=run, name=where, daemon=True)
    if sum(running.name == thread.name for running in threading.enumerate()) >= MOST_HUNG:
        raise ConfigError(f"{where} hangs in {MOST_HUNG} calls here; mend it, restart this worker, then retry")
    thread.start()
    thread.join(DEADLINE_S)
    if thread.is_alive():
        raise ConfigError(f"{where} did not end within {DEADLINE_S:g} s")
    if isinstance(results[-1], Exception):
        raise ConfigError(f"{where}: {failure_text(results[-1], call)}")
    entries = [entry for entry in results[:-1] if isinstance(entry, Mapping)]
    if not entries or len(entries) < len(results) - 1 or len(entries) > MOST_REQUESTS:
        raise ConfigError(f"{where} must return one entry or 1 to {MOST_REQUESTS} of them, each a dict")
    return [entry_of(entry, claim.site) for entry in entries]


class StartEntries:
    """The reader of start entries. Each site is read once, as published at that time.

    Args:
        key_of: returns the key in which the entries of a site wait.
        read: returns the site of a published text, or refuses it, as `Grants.read` does.
    """

    def __init__(
        self, frontier: Frontier, key_of: Callable[[str], str], read: Callable[[str], Site] = read_site
    ) -> None:
        self._frontier = frontier
        self._read = read
        self._key_of = key_of
        self._sites: dict[str, tuple[Site, Addresses]] = {}

    def judge(self, claim: Claim, scan: str) -> StartResult:
        """Return the request that an entry asks for, or the reason for its refusal."""
        try:
            requests = self._requests_of(claim, scan)
            return StartResult(claim, requests, waits_in=self._key_of(requests[0].site))
        except (ConfigError, FetchError) as error:
            return StartResult(claim, (), reason=str(error).replace("\n", " ")[:500])
        except BackendError:
            raise
        except Exception as error:
            # The boundary for foreign data: an entry that crashes its reader must not stop the ticker. Unsettled, the
            # entry would come back for ever.
            log.exception("start entry not read")
            return StartResult(claim, (), reason=f"{type(error).__name__} while it was read")

    def _requests_of(self, claim: Claim, scan: str) -> list[Request]:
        """Return the requests of an entry, at least one, by our words or by the site's own function.

        Raises:
            ConfigError: the entry means no request.
            FetchError: the crawler does not go to an address.
        """
        function = self._open(claim.site)[0].start_request if claim.site else None
        entries = [read_entry(claim.entry, claim.site)] if function is None else read_with(function, claim)
        return [request_of_entry(entry, *self._open(entry.site), scan) for entry in entries]

    def _open(self, name: str) -> tuple[Site, Addresses]:
        known = self._sites.get(name)
        if known is None:
            text = self._frontier.sites.published(name)
            if text is None:
                self._frontier.sites.require_no_move(name)
                raise SiteError(f"site {name[:40]!r} is not published")
            site = self._read(text)
            known = self._sites[name] = (site, Addresses(site))
        return known
