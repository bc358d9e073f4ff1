"""Under the ledger: the client for a Redis URL, also for one that only Sentinels know, and for TLS."""

from __future__ import annotations

from typing import TypedDict, Unpack
from urllib.parse import unquote, urlsplit

import redis
from redis.retry import Retry
from redis.sentinel import Sentinel

SENTINEL = "sentinel://"
SENTINEL_PORT = 26379


class Options(TypedDict, total=False):
    """What a client may be told beside its URL."""

    socket_connect_timeout: float
    socket_timeout: float
    socket_keepalive: bool
    health_check_interval: int
    retry: Retry | None


def open_client(url: str, master: str, **options: Unpack[Options]) -> redis.Redis:
    """Make a client; nothing is sent yet.

    Args:
        url: `redis://`, `rediss://` (with ssl_ca_certs, ssl_certfile, ... as its query), or `sentinel://`, as kombu
            spells it: `sentinel://:PASSWORD@HOST:PORT/NUMBER;sentinel://HOST:PORT`; user and password are the master's.
        master: what Sentinels call the master.
        options: as redis-py has them.

    Raises:
        ValueError: the URL is none.
    """
    if not url.startswith(SENTINEL):
        return redis.Redis.from_url(url, **options)
    parts = [urlsplit(one) for one in url.split(";")]
    # The part behind the path may stand at the first address or at the last.
    number = next((part.path.strip("/") for part in parts if part.path.strip("/")), "0")
    first = parts[0]
    known = [(part.hostname or "", part.port or SENTINEL_PORT) for part in parts]
    # redis-py leaves its Sentinel without types
    sentinel = Sentinel(known, sentinel_kwargs={"socket_connect_timeout": 2, "socket_timeout": 2})  # type: ignore[no-untyped-call]
    client: redis.Redis = sentinel.master_for(  # type: ignore[no-untyped-call]
        master,
        db=int(number),
        username=unquote(first.username) if first.username else None,
        password=unquote(first.password) if first.password else None,
        **options,
    )
    return client
