"""Step 5, fetch: where a request may go. Checked on every hop, and the checked address is the one connected to."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple

from crawl_tasks.errors import RefusedAddress, Unreachable
from crawl_tasks.fetch.addresses import is_public
from crawl_tasks.fetch.policy import FetchPolicy
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.proxy import DIRECT, Proxy
from crawl_tasks.urls import DEFAULT_PORTS, host_of, origin_of

_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa", ".onion")
_USUAL_PORTS = frozenset(DEFAULT_PORTS.values())


class Way(NamedTuple):
    """A proxy as it was found. Its addresses are not checked: it is the operator's own, and may be anywhere."""

    proxy: Proxy
    addresses: tuple[str, ...]


class Destination(NamedTuple):
    """A host as it was found: the addresses that were checked, in the order to try them. `host` is without brackets.

    `way` is None where we connect ourselves. There are no addresses where a proxy looks up the name.
    """

    scheme: str
    host: str
    port: int
    addresses: tuple[str, ...]
    way: Way | None = None

    @property
    def proxy(self) -> Proxy | None:
        """The proxy that leads there, if one does."""
        return None if self.way is None else self.way.proxy

    @property
    def targets(self) -> tuple[str, ...]:
        """What a proxy is to connect to, in the order to try them."""
        return self.addresses or (self.host,)


class Customs:
    """Lets through what a site's policy allows. Thread-safe."""

    def __init__(self, resolver: Resolver, proxy: Proxy = DIRECT) -> None:
        """Open.

        Args:
            resolver: finds addresses.
            proxy: of the sites whose policy names none.
        """
        self._resolver = resolver
        self._proxy = proxy

    def check(self, url: str, policy: FetchPolicy, timeout_s: float, *, any_host: bool = False) -> Destination:
        """Find where a normalised address leads, and that all of it may be gone to.

        Args:
            url: normalised.
            policy: of the site it is fetched for.
            timeout_s: how long the resolver may take.
            any_host: allow hosts that are not the site's (robots.txt may redirect to them).

        Raises:
            RefusedAddress: host, port or an address of it is not allowed.
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
        if way is not None and way.proxy.looks_up_names and not _is_literal(host):
            return Destination(scheme, host, port, (), way)
        addresses = self._addresses(host, timeout_s)
        inside = [] if private else [address for address in addresses if not is_public(address)]
        if inside:
            raise RefusedAddress(
                f"{place} leads to {inside[0]}, which is not public; name {place} in `private_hosts` if it is yours"
            )
        return Destination(scheme, host, port, addresses, way)

    def _way(self, proxy: Proxy, timeout_s: float) -> Way | None:
        return Way(proxy, self._addresses(proxy.host, timeout_s)) if proxy.host else None

    def _addresses(self, host: str, timeout_s: float) -> tuple[str, ...]:
        addresses = (host,) if _is_literal(host) else self._resolver.addresses(host, timeout_s)
        if not addresses:
            raise Unreachable(f"the name {host} has no address")
        return addresses


@lru_cache(maxsize=1024)
def _place_of(origin: str) -> tuple[str, str, int, str, str]:
    """Give scheme, host as written, port, both of these as a site file names them, and the host without brackets."""
    scheme, _, rest = origin.partition("://")
    written = host_of(origin)
    port = int(rest[len(written) + 1 :] or DEFAULT_PORTS[scheme])
    return scheme, written, port, f"{written}:{port}", written.strip("[]")


def _check_public(host: str, port: int, named: bool) -> None:
    if port not in _USUAL_PORTS and not named:
        raise RefusedAddress(
            f"port {port} of {host} is not fetched from; write the host as {host}:{port} if it is meant"
        )
    if host.endswith(_LOCAL_ENDINGS) or ("." not in host and ":" not in host):
        raise RefusedAddress(
            f"{host} is a name of a local network; name {host}:{port} in `private_hosts` if it is yours"
        )


@lru_cache(maxsize=1024)
def _is_literal(host: str) -> bool:
    if not (host[-1].isdigit() or ":" in host):
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
