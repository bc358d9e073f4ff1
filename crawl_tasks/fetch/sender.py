"""The sender: the hops of one attempt, each under the address guard, robots.txt and the throttle."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from crawl_tasks.errors import BadRedirect, FetchError, RedirectRefused, RobotsRefused
from crawl_tasks.fetch.address_guard import AddressGuard, Destination
from crawl_tasks.fetch.body import ACCEPTED, decode
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.http_client import Client, ClientRequest, Limits, RawResponse, left
from crawl_tasks.fetch.http_status import next_hop, redirected
from crawl_tasks.fetch.login_sessions import Session
from crawl_tasks.fetch.robots import PARSED_BYTES, Robots, RobotsStore
from crawl_tasks.fetch.throttle import Clock
from crawl_tasks.model import HttpRequest, Request
from crawl_tasks.urls import normalize, origin_of

_PAGES = "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.5"
_ROBOTS_LIMITS = Limits(wire_bytes=PARSED_BYTES, body_bytes=PARSED_BYTES, cut=True)
# RFC 9309, 2.3.1.2: at least five redirects of a robots.txt are followed.
_ROBOTS_HOPS = 5


class Terms(NamedTuple):
    """The terms of an attempt at a page. A `session` has cookies, and perhaps a member's headers."""

    page: Request
    policy: FetchPolicy
    clock: Clock
    limits: Limits
    session: Session | None


class Sender:
    """Sends the requests of attempts. Thread-safe."""

    def __init__(self, client: Client, guard: AddressGuard, robots_store: RobotsStore | None) -> None:
        self._client = client
        self._guard = guard
        self.robots = Robots(self._ask_robots, robots_store=robots_store)

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    def follow(
        self, terms: Terms, url: str, http: HttpRequest, asked: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[str, RawResponse]:
        """Send, and follow redirects. Every hop is checked, and only the first has the headers of `asked`.

        Args:
            terms: of the attempt.
            url: the address as the crawl knows it, of which a POST may leave out parameters.
            http: the request.
            asked: headers of a conditional GET.

        Returns:
            The final address and the answer.
        """
        seen, policy = [url], terms.policy
        first = origin_of(url)
        while True:
            headers = policy.headers_for(origin_of(http.url), first, http.headers)
            if len(seen) == 1 and http.body is None:
                headers |= asked
            raw = self._hop(terms, http._replace(headers=headers), seen)
            target = next_hop(url, raw.status, raw.headers)
            if target is None:
                return url, raw
            # With cookies the same address may answer otherwise, and after a POST a GET does.
            may_repeat = terms.session is not None or http.body is not None
            http = redirected(http, raw.status, target)
            url = _within(seen, target, policy.max_redirects, may_repeat=may_repeat)

    def _hop(self, terms: Terms, http: HttpRequest, seen: list[str]) -> RawResponse:
        """Send one request, as the site's function changes it, before all checks.

        Errors show the address as it was before: the function may put a secret there.
        """
        policy, clock, named_url = terms.policy, terms.clock, http.url
        if policy.prepare is not None:
            http = policy.prepare(terms.page, http)
            http = http._replace(url=normalize(http.url))
        try:
            destination = self._guard.check(http.url, policy, left(clock.deadline, "looking its host up"))
            self._check_robots(seen, http.url, terms)
            if terms.session is not None:
                http = http._replace(headers=terms.session.headers_with(http))
            raw = self._send(http, policy, clock, terms.limits, destination)
        except FetchError as error:
            if http.url != named_url:
                error.args = (str(error).replace(http.url, named_url),)
            raise
        if terms.session is not None:
            terms.session.cookies.learn(http.url, raw.headers, time.time())
        return raw

    def _check_robots(self, seen: list[str], url: str, terms: Terms) -> None:
        try:
            was_fetched = self.robots.check(url, terms.policy, terms.clock)
        except RobotsRefused as error:
            if len(seen) == 1:
                raise
            raise RedirectRefused(f"{seen[0]} redirects to {seen[-1]}: {error}") from error
        # A later hop, or a request of a drawn page to another host, would ask for the earlier ones again.
        if was_fetched and len(seen) == 1 and origin_of(url) == origin_of(terms.page.address):
            terms.clock.turn.step_back()

    def _ask_robots(self, url: str, policy: FetchPolicy, clock: Clock) -> tuple[int, bytes]:
        """Fetch a robots.txt, whose redirects may lead to any public host (RFC 9309, 2.3.1.2)."""
        seen = [url]
        while True:
            seconds = left(clock.deadline, "looking its host up")
            destination = self._guard.check(url, policy, seconds, any_host=len(seen) > 1)
            # No first origin: a robots.txt needs no login, so secrets go along only where `policy.origin` says so.
            http = HttpRequest(url, policy.headers_for(origin_of(url), ""))
            raw = self._send(http, policy, clock, _ROBOTS_LIMITS, destination)
            target = next_hop(url, raw.status, raw.headers, downgrade=True)
            if target is None:
                # The body of an error is not read: no wrong encoding there may make the file count as unreachable.
                encoding = raw.headers.get("content-encoding", "") if 200 <= raw.status < 300 else ""
                return raw.status, decode(raw.wire, encoding, _ROBOTS_LIMITS)
            url = _within(seen, target, _ROBOTS_HOPS)

    def _send(
        self, http: HttpRequest, policy: FetchPolicy, clock: Clock, limits: Limits, destination: Destination
    ) -> RawResponse:
        clock.turn.begin()
        # A site file may spell the name in any case: two Accept headers would contradict each other.
        accept = {} if "accept" in map(str.lower, http.headers) else {"Accept": _PAGES}
        headers = {"User-Agent": policy.user_agent, **accept, "Accept-Encoding": ACCEPTED, **http.headers}
        return self._client.send(
            ClientRequest(http.url, headers, clock.deadline, limits, destination, clock.turn, http.body)
        )


def _within(seen: list[str], target: str, hops: int, *, may_repeat: bool = False) -> str:
    """Note a hop. A repeated address is a loop, unless a cookie or another method may change the answer.

    One redirect of a page to itself is followed: Discuz! repairs a thread that lost posts, and sends its first visitor
    to the same address.
    """
    is_sent_back = target == seen[-1] and seen.count(target) == 1
    if target in seen and not is_sent_back and not may_repeat:
        raise BadRedirect(f"{seen[-1]} redirects to {target}, where this attempt has been: a loop")
    if len(seen) > hops:
        raise BadRedirect(f"{seen[0]} redirects more than {hops} times, at last to {target}")
    seen.append(target)
    return target
