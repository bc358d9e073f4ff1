"""Step 5, fetch: the story of one attempt, redirects and robots.txt included, under one deadline."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

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
from crawl_tasks.fetch.body import ACCEPTED, decode
from crawl_tasks.fetch.challenge import challenge_in
from crawl_tasks.fetch.client import Client, Limits, RawResponse, left
from crawl_tasks.fetch.destination import Customs, Destination
from crawl_tasks.fetch.outcome import age_s, failure, moment, next_hop
from crawl_tasks.fetch.policy import FetchPolicy
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.fetch.robots import PARSED_BYTES, Robots, Shelf
from crawl_tasks.fetch.turn import AT_ONCE, Clock, Turn
from crawl_tasks.fetch.validator import NOT_MODIFIED, conditions
from crawl_tasks.model import Fetched, Request
from crawl_tasks.proxy import DIRECT, Proxy, read_proxy
from crawl_tasks.urls import origin_of

_PAGES = "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.5"
_ROBOTS_LIMITS = Limits(wire_bytes=PARSED_BYTES, body_bytes=PARSED_BYTES, cut=True)
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
        from crawl_tasks.fetch.requests_client import RequestsClient  # noqa: PLC0415  # see above

        return RequestsClient(threads=threads, ca_file=ca_file or None)
    if name == "curl":
        from crawl_tasks.fetch.curl_client import CurlClient  # noqa: PLC0415  # see above

        return CurlClient(ca_file=ca_file or None)
    raise SettingsError(f"there is no HTTP client {name!r}; set `requests` or `curl`")


def build_fetcher(
    name: str, *, threads: int = 32, ca_file: str = "", proxy: str = "", shelf: Shelf | None = None
) -> Fetcher:
    """Make a fetcher with the client of that name.

    Args:
        name: of the client.
        threads: how many use it.
        ca_file: certificates to trust in place of certifi's.
        proxy: of the sites that name none.
        shelf: where robots.txt files are shared.

    Raises:
        SettingsError: there is no such client or file, or the proxy is none.
    """
    through = read_proxy(proxy, "CRAWL_PROXY")
    return Fetcher(build_client(name, threads=threads, ca_file=ca_file), proxy=through, shelf=shelf)


class Fetcher:
    """Fetches pages. Thread-safe; one per process, made after any fork."""

    def __init__(
        self,
        client: Client,
        resolver: Resolver | None = None,
        clock: Callable[[], float] = time.time,
        proxy: Proxy = DIRECT,
        shelf: Shelf | None = None,
    ) -> None:
        """Make a fetcher.

        Args:
            client: sends the requests.
            resolver: finds addresses; the system's if left out.
            clock: gives the time of day, in seconds since the epoch.
            proxy: of the sites that name none.
            shelf: where robots.txt files are shared; each process has its own if left out.
        """
        self._client = client
        self._customs = Customs(resolver or Resolver(), proxy)
        self._robots = Robots(self._ask_robots, shelf=shelf)
        self._clock = clock

    def fetch(self, request: Request, policy: FetchPolicy, validator: str = "", turn: Turn = AT_ONCE) -> Fetched:
        """Fetch one page: destination, robots, send; again for every redirect; then status and body.

        Args:
            request: the page.
            policy: of its site.
            validator: what the page was known by; it comes unchanged, without a body, where it still is.
            turn: says when each request may go; the time it takes is not the attempt's.

        Raises:
            FetchError: of the kind that fits; its `fate` says what is to become of the request.
        """
        began = time.monotonic()
        limits = Limits(policy.max_wire_bytes, policy.max_body_bytes)
        clock = Clock(began + policy.deadline_s, turn)
        url, raw = self._follow(request.address, policy, clock, limits, conditions(validator))
        now = self._clock()
        # Behind a redirect nobody was asked so, and a 304 is no answer.
        is_unchanged = raw.status == NOT_MODIFIED and validator != "" and url == request.address
        error = None if is_unchanged else failure(url, raw.status, raw.headers, now)
        if error is not None:
            met = _wall_of(error, url, raw, limits)
            met.status = raw.status
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
        """Give the Crawl-delay of the address's robots.txt as far as this process has read it."""
        return self._robots.crawl_delay_s(url, policy)

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    def _follow(
        self, url: str, policy: FetchPolicy, clock: Clock, limits: Limits, asked: dict[str, str]
    ) -> tuple[str, RawResponse]:
        """Send, and follow redirects; every hop is checked like the first, which alone has the headers of `asked`."""
        seen = [url]
        first = origin = origin_of(url)
        while True:
            there = self._customs.check(url, policy, left(clock.deadline, "looking its host up"))
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
        """Fetch a robots.txt; its redirects may lead to any public host (RFC 9309, 2.3.1.2)."""
        seen = [url]
        while True:
            seconds = left(clock.deadline, "looking its host up")
            there = self._customs.check(url, policy, seconds, any_host=len(seen) > 1)
            headers = policy.headers_for(origin_of(url), "")
            raw = self._send(url, policy, headers, clock, _ROBOTS_LIMITS, there)
            target = next_hop(url, raw.status, raw.headers, downgrade=True)
            if target is None:
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
        accept = {} if "accept" in map(str.lower, headers) else {"Accept": _PAGES}  # a site's own may be in any case
        sent = {"User-Agent": policy.user_agent, **accept, "Accept-Encoding": ACCEPTED, **headers}
        return self._client.send(
            url, headers=sent, deadline=clock.deadline, limits=limits, destination=there, turn=clock.turn
        )


def _wall_of(error: PageError, url: str, raw: RawResponse, limits: Limits) -> PageError:
    """Give the wall against robots that a refusal is in truth: waiting or a login would not help there."""
    if not isinstance(error, (AccessDenied, ServerError, SlowDown)):
        return error
    try:
        body = decode(raw.wire, raw.headers.get("content-encoding", ""), limits)
    except FetchError:
        body = b""
    wall = challenge_in(raw.headers, body)
    return error if wall is None else Challenged(f"{url} answered {raw.status} with a challenge ({wall})")


def _within(seen: list[str], target: str, hops: int) -> str:
    """Note a hop, unless it is one too many or was made before (we carry no cookie that could change the answer)."""
    if target in seen:
        raise BadRedirect(f"{seen[-1]} redirects to {target}, where this attempt has been: a loop")
    if len(seen) > hops:
        raise BadRedirect(f"{seen[0]} redirects more than {hops} times, at last to {target}")
    seen.append(target)
    return target


__all__ = ["FetchPolicy", "Fetcher", "build_client", "build_fetcher"]
