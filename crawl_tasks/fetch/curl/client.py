"""The HTTP client on libcurl: a tenth of the CPU time of the other, and libcurl's own deadline.

A handle has connections of its own and serves one thread at a time. A request takes an idle handle that has a
connection to its origin; else each of many polite sites would be connected to anew for nearly every page.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

import certifi

from crawl_tasks.fetch.curl.handle import CONNECTIONS
from crawl_tasks.fetch.curl.transfer import Transfer
from crawl_tasks.fetch.http_client import MOST_ORIGINS, ClientRequest, RawResponse
from crawl_tasks.proxy import Proxy

_MOST_PROXIES = 64
# Up to so many handles are made before their connections are closed for others. One takes 1.1 MB for its certificates.
_SPREAD = 64

Origin = tuple[str, str, int]
"""Scheme, host and port."""


class CurlClient:
    """Sends requests by libcurl, with one handle for each thread that is fetching."""

    def __init__(self, *, ca_file: str | None = None) -> None:
        """Make the client.

        Args:
            ca_file: certificates to trust in place of certifi's.
        """
        self._ca_file = ca_file or certifi.where()
        self._lock = threading.Lock()
        self._direct = _HandlePool()
        # By proxy: before 8.19 libcurl lends one user's tunnel to another (CVE-2026-3784).
        self._by_proxy: OrderedDict[Proxy, _HandlePool] = OrderedDict()

    def send(self, sent: ClientRequest) -> RawResponse:
        """Send a request. See `Client.send`."""
        destination = sent.destination
        pool = self._direct if destination.way is None else self._pool_of(destination.way.proxy)
        origin = destination.scheme, destination.host, destination.port
        transfer = pool.take(origin, self._ca_file)
        try:
            return transfer.send(sent)
        finally:
            pool.give_back(transfer, origin)

    def close(self) -> None:
        """Close every idle handle with its connections."""
        with self._lock:
            for pool in (self._direct, *self._by_proxy.values()):
                pool.close()

    def _pool_of(self, proxy: Proxy) -> _HandlePool:
        """Return the handles of a proxy. Over 64 proxies, the handles of the least recently used one go."""
        with self._lock:
            pool = self._by_proxy.get(proxy)
            if pool is None:
                pool = self._by_proxy[proxy] = _HandlePool()
                if len(self._by_proxy) > _MOST_PROXIES:
                    self._by_proxy.popitem(last=False)
            else:
                self._by_proxy.move_to_end(proxy)
        return pool


class _HandlePool:
    """Idle handles, and by origin those that were connected to it. Thread-safe."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        # The longest idle one first: a new origin goes to it, and so the origins spread over the handles.
        self._idle: dict[Transfer, None] = {}
        self._origins: dict[Transfer, int] = {}
        self._connected: OrderedDict[Origin, list[Transfer]] = OrderedDict()

    def take(self, origin: Origin, ca_file: str) -> Transfer:
        """Take an idle handle that is connected to the origin, else another one with room, else a new one.

        Where the connected handles are busy with other origins, a new one is better than another idle one: of few
        handles each would soon know each origin, and libcurl would close one connection for the next.
        """
        with self._lock:
            connected = self._connected.get(origin, ())
            chosen = next((handle for handle in connected if handle in self._idle), None)
            if chosen is None:
                chosen = next(iter(self._idle), None)
                is_spread = len(self._origins) >= _SPREAD
                if chosen is None or not (is_spread or (not connected and self._origins[chosen] < CONNECTIONS)):
                    chosen = Transfer(ca_file)
                    self._origins[chosen] = 0
                    return chosen
            del self._idle[chosen]
            return chosen

    def give_back(self, transfer: Transfer, origin: Origin) -> None:
        """Put a handle back that was used for an origin."""
        with self._lock:
            self._idle[transfer] = None
            connected = self._connected.setdefault(origin, [])
            if transfer not in connected:
                connected.append(transfer)
                self._origins[transfer] += 1
            self._connected.move_to_end(origin)
            if len(self._connected) > MOST_ORIGINS:
                for handle in self._connected.popitem(last=False)[1]:
                    self._origins[handle] -= 1

    def close(self) -> None:
        """Close the idle handles."""
        with self._lock:
            for transfer in self._idle:
                transfer.close()
            self._idle.clear()
