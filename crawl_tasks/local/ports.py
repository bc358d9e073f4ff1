"""Loopback ports: the usual one when nobody has it, else any free one."""

from __future__ import annotations

import socket

from crawl_tasks.local.redis_server import free_port


def port_near(wanted: int) -> int:
    """Give the port that is wanted when it is free, else another that is."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was left a moment ago will do
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return free_port()
    return wanted
