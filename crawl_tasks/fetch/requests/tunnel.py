"""The proxy tunnel (HTTP CONNECT, SOCKS5): the handshake after which a connection leads to the forum.

The watchdog ends the connection when the attempt's time is over, so no read here needs a deadline of its own.
"""

from __future__ import annotations

import base64
import socket
import struct
from ipaddress import ip_address

from crawl_tasks.proxy import Proxy, ProxyKind

_MOST_HEAD = 16 << 10
_SOCKS, _CONNECT, _NO_AUTH, _PASSWORD = 5, 1, 0, 2
_V4, _NAME, _V6 = 1, 3, 4
_REFUSALS = {
    1: "failed", 2: "does not allow it", 3: "cannot reach that network", 4: "cannot reach that host",
    5: "was refused a connection there", 6: "took too long", 7: "knows no such command", 8: "knows no such address",
}  # fmt: skip


class ProxyRefusedError(OSError):
    """The proxy refuses the connection to the target."""


def open_tunnel(sock: socket.socket, proxy: Proxy, target: str, port: int) -> None:
    """Have the proxy connect a socket to a target, a name or an address without brackets.

    Raises:
        OSError: the proxy refuses, or the connection broke. No message of ours names a secret.
    """
    if proxy.kind is ProxyKind.HTTP:
        _ask_http(sock, proxy, f"[{target}]:{port}" if ":" in target else f"{target}:{port}")
    else:
        _ask_socks(sock, proxy, target, port)


def _ask_http(sock: socket.socket, proxy: Proxy, place: str) -> None:
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if proxy.user or proxy.password:
        secret = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {secret}")
    sock.sendall("\r\n".join([*lines, "", ""]).encode())
    head = b""
    while b"\r\n\r\n" not in head:
        piece = sock.recv(4096)
        head += piece
        if not piece or len(head) > _MOST_HEAD:
            raise ProxyRefusedError(f"the proxy {proxy} did not answer in full")
    answer, _, early = head.partition(b"\r\n\r\n")
    line = answer.partition(b"\r\n")[0]
    words = line.split(None, 2)
    status = words[1].decode("latin-1") if len(words) > 1 else ""
    if not line.startswith(b"HTTP/1.") or len(status) != 3 or not status.startswith("2"):
        raise ProxyRefusedError(f"the proxy {proxy} answered {status[:20]!r} when asked for {place}")
    # Before our request nothing can come from the forum: the proxy would be the author of the next answer.
    if early:
        raise ProxyRefusedError(f"the proxy {proxy} sent more than it was asked for")


def _ask_socks(sock: socket.socket, proxy: Proxy, target: str, port: int) -> None:
    """Perform the SOCKS5 handshake (RFC 1928), with a password (RFC 1929) if there is one."""
    offered = bytes([_PASSWORD]) if proxy.user else bytes([_NO_AUTH])
    sock.sendall(bytes([_SOCKS, len(offered)]) + offered)
    version, chosen = _take(sock, 2, proxy)
    if version != _SOCKS or chosen != offered[0]:
        raise ProxyRefusedError(f"the proxy {proxy} speaks no SOCKS5, or wants another way to log in")
    if chosen == _PASSWORD:
        user, password = proxy.user.encode(), proxy.password.encode()
        sock.sendall(bytes([1, len(user)]) + user + bytes([len(password)]) + password)
        if _take(sock, 2, proxy)[1] != 0:
            raise ProxyRefusedError(f"the proxy {proxy} refused user or password")
    sock.sendall(bytes([_SOCKS, _CONNECT, 0]) + _place(target) + struct.pack("!H", port))
    _, reply, _, kind = _take(sock, 4, proxy)
    if reply != 0:
        raise ProxyRefusedError(f"the proxy {proxy} {_REFUSALS.get(reply, 'refused')}: {target}:{port}")
    size = {_V4: 4, _V6: 16}.get(kind)
    _take(sock, (_take(sock, 1, proxy)[0] if size is None else size) + 2, proxy)


def _place(target: str) -> bytes:
    try:
        ip = ip_address(target)
    except ValueError:
        name = target.encode("ascii")
        return bytes([_NAME, len(name)]) + name
    return bytes([_V4 if ip.version == 4 else _V6]) + ip.packed


def _take(sock: socket.socket, size: int, proxy: Proxy) -> bytes:
    """Read exactly so many bytes: the bytes behind them are the forum's."""
    taken = b""
    while len(taken) < size:
        piece = sock.recv(size - len(taken))
        if not piece:
            raise ProxyRefusedError(f"the proxy {proxy} did not answer in full")
        taken += piece
    return taken
