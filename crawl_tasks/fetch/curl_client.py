"""Step 5, fetch: the client on libcurl: about a tenth of the processor time, and a deadline that is libcurl's own.

A handle carries its own connections and is used by one thread at a time; the one used last is taken first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Mapping

import certifi

from crawl_tasks.fetch.client import Limits, RawResponse
from crawl_tasks.fetch.curl_transfer import Transfer
from crawl_tasks.fetch.destination import Destination
from crawl_tasks.fetch.turn import AT_ONCE, Turn
from crawl_tasks.proxy import Proxy

_MOST_PROXIES = 64


class CurlClient:
    """Fetches with libcurl, one handle per thread that is fetching."""

    def __init__(self, *, ca_file: str | None = None) -> None:
        """Make the client.

        Args:
            ca_file: certificates to trust in place of certifi's.
        """
        self._ca_file = ca_file or certifi.where()
        self._lock = threading.Lock()
        self._direct: deque[Transfer] = deque()
        # By proxy: before 8.19 libcurl lends one user's tunnel to another (CVE-2026-3784).
        self._idle: OrderedDict[Proxy, deque[Transfer]] = OrderedDict()

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        deadline: float,
        limits: Limits,
        destination: Destination,
        turn: Turn = AT_ONCE,
    ) -> RawResponse:
        """Send a GET; see `Client.send`."""
        idle = self._direct if destination.way is None else self._idle_for(destination.way.proxy)
        try:
            transfer = idle.pop()
        except IndexError:
            transfer = Transfer(self._ca_file)
        try:
            return transfer.send(url, headers, deadline, limits, destination, turn)
        finally:
            idle.append(transfer)

    def close(self) -> None:
        """Close every idle handle with its connections."""
        with self._lock:
            for idle in (self._direct, *self._idle.values()):
                while idle:
                    idle.pop().close()

    def _idle_for(self, proxy: Proxy) -> deque[Transfer]:
        """Give the idle handles of a proxy; those of the proxy used longest ago are let go."""
        with self._lock:
            idle = self._idle.get(proxy)
            if idle is None:
                idle = self._idle[proxy] = deque()
                if len(self._idle) > _MOST_PROXIES:
                    self._idle.popitem(last=False)
            else:
                self._idle.move_to_end(proxy)
        return idle
