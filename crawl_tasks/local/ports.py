"""Loopback ports: the usual port if free, else any free one."""

from __future__ import annotations

import socket

from crawl_tasks.local.redis_server import free_port


def port_near(wanted: int) -> int:
    """Return the wanted port if free, else another free one."""
    with socket.socket() as probe:
        # A port in TIME_WAIT, left a moment ago, is good enough.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return free_port()
    return wanted
