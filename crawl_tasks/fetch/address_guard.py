"""The address guard (SSRF guard): which addresses a request may reach, checked on every hop.

A connection goes to a checked address, never to a name that is resolved a second time (DNS rebinding).
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

from crawl_tasks.errors import RefusedAddress, Unreachable
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.proxy import DIRECT, Proxy
from crawl_tasks.urls import DEFAULT_PORTS, host_of, origin_of

# Python's `is_global` alone lets through multicast, NAT64, 6to4 and others that lead, or may be led, to our network.
# IPv6 is checked against the allocated range (an allow list), not against the ranges known to be special.
_V6_ALLOCATED = IPv6Network("2000::/3")
_SPECIAL = (
    IPv6Network("2001::/23"),  # Teredo, ORCHID, benchmarks
    IPv6Network("2002::/16"),  # 6to4 holds an IPv4 address
    IPv6Network("3fff::/20"),  # documentation
    IPv4Network("168.63.129.16/32"),  # Azure's host
    IPv4Network("192.0.0.0/24"),  # protocol assignments, of which Python lets some through
    IPv4Network("192.88.99.0/24"),  # 6to4 relay
)
"""Ranges that are not public, beside those that Python knows of."""


@lru_cache(maxsize=4096)
def is_public(address: str) -> bool:
    """Return whether an address belongs to the public Internet, False for a malformed one."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv6Address) and (ip not in _V6_ALLOCATED or ip.scope_id is not None):
        return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _SPECIAL)


# Names outside the public DNS: RFC 6761 and 6762, ICANN's .internal, RFC 8375 (home.arpa) and RFC 7686 (.onion).
_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa", ".onion")
_USUAL_PORTS = frozenset(DEFAULT_PORTS.values())


class Route(NamedTuple):
    """A proxy and the addresses of its name, unchecked: the operator's own proxy may appear anywhere."""

    proxy: Proxy
    addresses: tuple[str, ...]


class Destination(NamedTuple):
    """A host and its checked addresses, in the order to try them. `host` is without brackets.

    `way` is None for a direct connection. `addresses` is empty where a proxy resolves the name.
    """

    scheme: str
    host: str
    port: int
    addresses: tuple[str, ...]
    way: Route | None = None

    @property
    def proxy(self) -> Proxy | None:
        """The proxy that leads to the host, None for a direct connection."""
        return None if self.way is None else self.way.proxy

    @property
    def targets(self) -> tuple[str, ...]:
        """Names or addresses that a proxy is asked to connect to, in the order to try them."""
        return self.addresses or (self.host,)


class AddressGuard:
    """Lets through the hosts and addresses that a site's policy allows. Thread-safe."""

    def __init__(self, resolver: Resolver, proxy: Proxy = DIRECT) -> None:
        """Make a guard.

        Args:
            resolver: finds addresses.
            proxy: for the sites whose policy names none.
        """
        self._resolver = resolver
        self._proxy = proxy

    def check(self, url: str, policy: FetchPolicy, timeout_s: float, *, any_host: bool = False) -> Destination:
        """Return the destination of a URL after every check of host, port and addresses.

        Args:
            url: normalised.
            policy: of the site.
            timeout_s: limit for the resolver, in seconds.
            any_host: also allow hosts that are not the site's (robots.txt may redirect to them).

        Raises:
            RefusedAddress: the policy allows not this host, this port or one of the addresses.
            Unreachable: the name has no address.
            DeadlineExceeded: the resolver is too slow.
        """
        scheme, written, port, place, host = _place_of(origin_of(url))
        if not any_host and written not in policy.allowed_hosts and place not in policy.allowed_hosts:
            raise RefusedAddress(f"{url[:200]}: {written} is not a host of this site; add it to `hosts` if it is")
        private = place in policy.private_hosts
        if not private:
            _check_public(written, port, place in policy.allowed_hosts)
        way = self._way(policy.proxy or self._proxy, timeout_s)
        # Such a proxy resolves the name in its own network. A literal address is known, and still checked.
        if way is not None and way.proxy.looks_up_names and not is_literal(host):
            return Destination(scheme, host, port, (), way)
        addresses = self._addresses(host, timeout_s)
        # One private address refuses all: a hostile name may have a public address beside a private one.
        inside = [] if private else [address for address in addresses if not is_public(address)]
        if inside:
            raise RefusedAddress(
                f"{place} leads to {inside[0]}, which is not public; name {place} in `private_hosts` if it is yours"
            )
        return Destination(scheme, host, port, addresses, way)

    def _way(self, proxy: Proxy, timeout_s: float) -> Route | None:
        return Route(proxy, self._addresses(proxy.host, timeout_s)) if proxy.host else None

    def _addresses(self, host: str, timeout_s: float) -> tuple[str, ...]:
        addresses = (host,) if is_literal(host) else self._resolver.addresses(host, timeout_s)
        if not addresses:
            raise Unreachable(f"the name {host} has no address")
        return addresses


@lru_cache(maxsize=1024)
def _place_of(origin: str) -> tuple[str, str, int, str, str]:
    """Return scheme, host as written, port, `host:port` as site files write it, and the host without brackets."""
    scheme, _, rest = origin.partition("://")
    written = host_of(origin)
    port = int(rest[len(written) + 1 :] or DEFAULT_PORTS[scheme])
    return scheme, written, port, f"{written}:{port}", written.strip("[]")


def _check_public(host: str, port: int, named: bool) -> None:
    # Links are written by strangers: a post must not make the crawler talk to a mail server or a database.
    if port not in _USUAL_PORTS and not named:
        raise RefusedAddress(
            f"port {port} of {host} is not fetched from; write the host as {host}:{port} if it is meant"
        )
    if is_local_name(host):
        raise RefusedAddress(
            f"{host} is a name of a local network; name {host}:{port} in `private_hosts` if it is yours"
        )


def is_local_name(host: str) -> bool:
    """Return whether a host's name is one of a local network, whoever resolves it."""
    return host.endswith(_LOCAL_ENDINGS) or ("." not in host and ":" not in host)


@lru_cache(maxsize=1024)
def is_literal(host: str) -> bool:
    """Return whether a host is an IP address."""
    if not (host[-1].isdigit() or ":" in host):
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
