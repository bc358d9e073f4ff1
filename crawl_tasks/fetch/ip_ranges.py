"""IP ranges: which addresses belong to the public Internet. Pure.

Python's `is_global` alone lets through multicast, NAT64, 6to4 and others that lead, or may be led, to our own network.
IPv6 is checked against the allocated range (an allow list), not against the ranges known to be special.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

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
