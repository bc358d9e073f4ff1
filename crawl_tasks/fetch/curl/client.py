"""The HTTP client on libcurl: a tenth of the CPU time of the other, and libcurl's own deadline.

A handle has connections of its own and serves one thread at a time. The last used is the first taken again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque

import certifi

from crawl_tasks.fetch.curl.transfer import Transfer
from crawl_tasks.fetch.http_client import ClientRequest, RawResponse
from crawl_tasks.proxy import Proxy

_MOST_PROXIES = 64


class CurlClient:
    """Sends requests by libcurl, with one handle for each thread that is fetching."""

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

    def send(self, sent: ClientRequest) -> RawResponse:
        """Send a request. See `Client.send`."""
        way = sent.destination.way
        idle = self._direct if way is None else self._idle_for(way.proxy)
        try:
            # pop() and append() of a deque are atomic: a request takes no lock for them.
            transfer = idle.pop()
        except IndexError:
            transfer = Transfer(self._ca_file)
        try:
            return transfer.send(sent)
        finally:
            idle.append(transfer)

    def close(self) -> None:
        """Close every idle handle with its connections."""
        with self._lock:
            for idle in (self._direct, *self._idle.values()):
                while idle:
                    idle.pop().close()

    def _idle_for(self, proxy: Proxy) -> deque[Transfer]:
        """Return the idle handles of a proxy. Over 64 proxies, the handles of the least recently used one go."""
        with self._lock:
            idle = self._idle.get(proxy)
            if idle is None:
                idle = self._idle[proxy] = deque()
                if len(self._idle) > _MOST_PROXIES:
                    self._idle.popitem(last=False)
            else:
                self._idle.move_to_end(proxy)
        return idle
