"""Host names of the exporter: those that nobody else can own, and those of only this machine."""

from __future__ import annotations

from ipaddress import ip_address


def is_local_name(name: str) -> bool:
    """Return whether a name is nobody's domain: an address, or a name without a dot."""
    return "." not in name or name.endswith(".localhost") or _is_address(name)


def is_loopback(host: str) -> bool:
    """Return whether a host is only this machine."""
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _is_address(host: str) -> bool:
    """Return whether a host is a literal address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
