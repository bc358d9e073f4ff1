"""IP ranges: which addresses belong to the public Internet. Pure.

Python's `is_global` alone lets through multicast, NAT64, 6to4 and others that lead, or may be led, to our own network.
So IPv6 is checked against the allocated range (an allow list), not against the ranges known to be special.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_V6_ALLOCATED = IPv6Network("2000::/3")
_V6_SPECIAL = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # Teredo, ORCHID, benchmarks
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4 holds an IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)
_V4_SPECIAL = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # carrier NAT, with a cloud's metadata at 100.100.100.200
            "127.0.0.0/8",
            "168.63.129.16/32",  # Azure's host
            "169.254.0.0/16",  # link local, with metadata at 169.254.169.254
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",  # 6to4 relay
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)


@lru_cache(maxsize=4096)
def is_public(address: str) -> bool:
    """Return whether an address belongs to the public Internet, False for a malformed one."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv4Address):
        return ip.is_global and not any(ip in network for network in _V4_SPECIAL)
    return _is_public_v6(ip)


def _is_public_v6(ip: IPv6Address) -> bool:
    is_allocated = ip in _V6_ALLOCATED and ip.scope_id is None
    return is_allocated and ip.is_global and not any(ip in network for network in _V6_SPECIAL)
