"""The fetcher: one attempt from request to page, redirects and robots.txt included, under one deadline."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager

from crawl_tasks.errors import (
    AccessDenied,
    BadRedirect,
    Challenged,
    FetchError,
    PageError,
    RedirectRefused,
    RobotsRefused,
    ServerError,
    SettingsError,
    SlowDown,
)
from crawl_tasks.fetch.address_guard import AddressGuard, Destination
from crawl_tasks.fetch.body import ACCEPTED, decode
from crawl_tasks.fetch.bot_walls import bot_wall_in
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.http_client import Client, Limits, RawResponse, left
from crawl_tasks.fetch.http_status import age_s, failure, moment, next_hop
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.fetch.revalidation import NOT_MODIFIED, conditions
from crawl_tasks.fetch.robots import PARSED_BYTES, Robots, RobotsStore
from crawl_tasks.fetch.throttle import NO_THROTTLE, Clock, Throttle
from crawl_tasks.fetch.warc_records import RequestResponse
from crawl_tasks.fetch.web_archive import ClientRecords
from crawl_tasks.model import Fetched, Request
from crawl_tasks.proxy import DIRECT, Proxy, read_proxy
from crawl_tasks.urls import origin_of

_PAGES = "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.5"
_ROBOTS_LIMITS = Limits(wire_bytes=PARSED_BYTES, body_bytes=PARSED_BYTES, cut=True)
# RFC 9309, 2.3.1.2: at least five redirects of a robots.txt are followed.
_ROBOTS_HOPS = 5


def build_client(name: str, *, threads: int = 32, ca_file: str = "") -> Client:
    """Make the HTTP client of that name, `requests` or `curl`, for a process with so many fetching threads.

    Raises:
        SettingsError: there is no such client, or no such file of certificates to trust.
    """
    if ca_file and not os.path.isfile(ca_file):
        raise SettingsError(f"CRAWL_CA_FILE: there is no file {ca_file}; name a PEM file, or leave it out")
    # A process uses one of the two, and each costs its start 15 to 45 ms.
    if name == "requests":
        from crawl_tasks.fetch.requests.client import RequestsClient  # noqa: PLC0415  # see above

        return RequestsClient(threads=threads, ca_file=ca_file or None)
    if name == "curl":
        from crawl_tasks.fetch.curl.client import CurlClient  # noqa: PLC0415  # see above

        return CurlClient(ca_file=ca_file or None)
    raise SettingsError(f"there is no HTTP client {name!r}; set `requests` or `curl`")


def build_fetcher(
    name: str, *, threads: int = 32, ca_file: str = "", proxy: str = "", shelf: RobotsStore | None = None
) -> Fetcher:
    """Make a fetcher with the client of that name.

    Args:
        name: of the client.
        threads: number of threads that use the client.
        ca_file: certificates to trust in place of certifi's.
        proxy: for the sites that name none.
        shelf: robots.txt files shared by all processes.

    Raises:
        SettingsError: there is no such client or file, or the proxy is none.
    """
    through = read_proxy(proxy, "CRAWL_PROXY")
    return Fetcher(build_client(name, threads=threads, ca_file=ca_file), proxy=through, shelf=shelf)


class Fetcher:
    """Fetches pages. Thread-safe. One per process, made after any fork."""

    def __init__(
        self,
        client: Client,
        resolver: Resolver | None = None,
        proxy: Proxy = DIRECT,
        shelf: RobotsStore | None = None,
    ) -> None:
        """Make a fetcher.

        Args:
            client: sends the requests.
            resolver: finds addresses (the system's if left out).
            proxy: for the sites that name none.
            shelf: robots.txt files shared by all processes (each process has its own if left out).
        """
        self._client = ClientRecords(client)
        self._guard = AddressGuard(resolver or Resolver(), proxy)
        self._robots = Robots(self._ask_robots, shelf=shelf)

    def fetch(
        self, request: Request, policy: FetchPolicy, validator: str = "", turn: Throttle = NO_THROTTLE
    ) -> Fetched:
        """Fetch one page: destination, robots.txt and send for every hop, then status and body.

        Args:
            request: the page.
            policy: of the site.
            validator: HTTP validator of the known page. A page that still has this validator comes unchanged, without a
                body.
            turn: throttle of the requests. Time spent there is not counted as the attempt's.

        Raises:
            FetchError: a subclass for each kind of failure, whose `fate` decides about the request.
        """
        began = time.monotonic()
        limits = Limits(policy.max_wire_bytes, policy.max_body_bytes)
        clock = Clock(began + policy.deadline_s, turn)
        url, raw = self._follow(request.address, policy, clock, limits, conditions(validator))
        now = time.time()
        # The validator went to the first address only: behind a redirect a 304 answers a question that nobody asked.
        is_unchanged = raw.status == NOT_MODIFIED and validator != "" and url == request.address
        error = None if is_unchanged else failure(url, raw.status, raw.headers, now)
        if error is not None:
            met = _wall_of(error, url, raw, limits)
            met.status, met.headers = raw.status, raw.headers
            raise met
        return Fetched(
            url=url,
            status=raw.status,
            headers=raw.headers,
            body=b"" if is_unchanged else decode(raw.wire, raw.headers.get("content-encoding", ""), limits),
            at_s=moment(raw.headers, now),
            elapsed_ms=int((time.monotonic() - began - turn.waited_s) * 1000),
            wire_bytes=len(raw.wire),
            is_unchanged=is_unchanged,
            age_s=age_s(raw.headers, now),
        )

    def crawl_delay_s(self, url: str, policy: FetchPolicy) -> float | None:
        """Return the Crawl-delay of the address's robots.txt in seconds, as far as this process has read the file."""
        return self._robots.crawl_delay_s(url, policy)

    def recording(self) -> AbstractContextManager[list[RequestResponse]]:
        """Record what this thread sends and receives, redirects and robots.txt files too."""
        return self._client.recording()

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    def _follow(
        self, url: str, policy: FetchPolicy, clock: Clock, limits: Limits, asked: dict[str, str]
    ) -> tuple[str, RawResponse]:
        """Send, and follow redirects. Every hop is checked, and only the first has the headers of `asked`."""
        seen = [url]
        first = origin = origin_of(url)
        while True:
            there = self._guard.check(url, policy, left(clock.deadline, "looking its host up"))
            self._check_robots(seen, policy, clock)
            headers = policy.headers_for(origin, first)
            if len(seen) == 1:
                headers |= asked
            raw = self._send(url, policy, headers, clock, limits, there)
            target = next_hop(url, raw.status, raw.headers)
            if target is None:
                return url, raw
            url = _within(seen, target, policy.max_redirects)
            origin = origin_of(url)

    def _check_robots(self, seen: list[str], policy: FetchPolicy, clock: Clock) -> None:
        try:
            self._robots.check(seen[-1], policy, clock)
        except RobotsRefused as error:
            if len(seen) == 1:
                raise
            raise RedirectRefused(f"{seen[0]} redirects to {seen[-1]}: {error}") from error

    def _ask_robots(self, url: str, policy: FetchPolicy, clock: Clock) -> tuple[int, bytes]:
        """Fetch a robots.txt, whose redirects may lead to any public host (RFC 9309, 2.3.1.2)."""
        seen = [url]
        while True:
            seconds = left(clock.deadline, "looking its host up")
            there = self._guard.check(url, policy, seconds, any_host=len(seen) > 1)
            # No first origin: a robots.txt needs no login, so secrets go along only where `policy.origin` says so.
            headers = policy.headers_for(origin_of(url), "")
            raw = self._send(url, policy, headers, clock, _ROBOTS_LIMITS, there)
            target = next_hop(url, raw.status, raw.headers, downgrade=True)
            if target is None:
                # The body of an error is not read: no wrong encoding there may make the file count as unreachable.
                encoding = raw.headers.get("content-encoding", "") if 200 <= raw.status < 300 else ""
                return raw.status, decode(raw.wire, encoding, _ROBOTS_LIMITS)
            url = _within(seen, target, _ROBOTS_HOPS)

    def _send(
        self,
        url: str,
        policy: FetchPolicy,
        headers: Mapping[str, str],
        clock: Clock,
        limits: Limits,
        there: Destination,
    ) -> RawResponse:
        clock.turn.begin()
        # A site file may spell the name in any case: two Accept headers would contradict each other.
        accept = {} if "accept" in map(str.lower, headers) else {"Accept": _PAGES}
        sent = {"User-Agent": policy.user_agent, **accept, "Accept-Encoding": ACCEPTED, **headers}
        return self._client.send(
            url, headers=sent, deadline=clock.deadline, limits=limits, destination=there, turn=clock.turn
        )


def _wall_of(error: PageError, url: str, raw: RawResponse, limits: Limits) -> PageError:
    """Return the bot wall that a refusal really is: neither waiting nor a login would help there."""
    if not isinstance(error, (AccessDenied, ServerError, SlowDown)):
        return error
    try:
        body = decode(raw.wire, raw.headers.get("content-encoding", ""), limits)
    except FetchError:
        body = b""
    wall = bot_wall_in(raw.headers, body)
    return error if wall is None else Challenged(f"{url} answered {raw.status} with a challenge ({wall})")


def _within(seen: list[str], target: str, hops: int) -> str:
    """Note a hop. A repeated address is a loop, because no cookie could change the answer."""
    if target in seen:
        raise BadRedirect(f"{seen[-1]} redirects to {target}, where this attempt has been: a loop")
    if len(seen) > hops:
        raise BadRedirect(f"{seen[0]} redirects more than {hops} times, at last to {target}")
    seen.append(target)
    return target


__all__ = ["FetchPolicy", "Fetcher", "build_client", "build_fetcher"]
