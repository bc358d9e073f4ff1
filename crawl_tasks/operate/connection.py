"""The connections to the Redis of each cell: one try each, no waiting."""

from __future__ import annotations

from dataclasses import replace

import redis

from crawl_tasks.errors import RedisUnreachable, StoreError
from crawl_tasks.frontier.cells import Cells, home_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import Options, open_client
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.settings import Cell, Settings

CONNECT_TIMEOUT_S = 3.0
REPLY_TIMEOUT_S = 10.0


def connect_cells(settings: Settings, reply_s: float = REPLY_TIMEOUT_S) -> Cells:
    """Return the cells of the installation, with those that do not answer noted.

    Raises:
        SettingsError: a setting is wrong.
        RedisUnreachable: no Redis answers.
        ConfigError: a Redis holds a crawl of another format.
    """
    urls = {cell.name: cell.url for cell in settings.cells}
    cells = Cells(_connect(settings, cell, reply_s) for cell in settings.cells)

    def ping(frontier: Frontier) -> None:
        try:
            frontier.client.ping()
            frontier.check_format()
        except (redis.RedisError, OSError) as error:
            raise RedisUnreachable(f"Redis at {urls[frontier.cell]} {_reason_of(error)}") from error

    cells.ask_each(ping)
    return cells


def _connect(settings: Settings, cell: Cell, reply_s: float) -> Frontier:
    """Return the frontier of a cell, not yet connected."""
    # Without retries, unlike a worker's client: a person at a terminal would rather know than wait.
    timeouts = Options(socket_connect_timeout=CONNECT_TIMEOUT_S, socket_timeout=reply_s, retry=None)
    client = open_client(cell.url, settings.redis_master, **timeouts)
    return Frontier(client, settings.redis_prefix, settings.store_at, settings.outbox_max, cell.name)


def _reason_of(error: redis.RedisError | OSError) -> str:
    """Return what Redis does in place of an answer, and the remedy."""
    # Sentinels' errors go on with the attributes of each client.
    text = str(error).partition(" : <")[0].rstrip(".")
    if isinstance(error, redis.AuthenticationError):
        return "wants another user or password; put USER:PASSWORD@ before the host in CRAWL_REDIS_URL"
    if isinstance(error, redis.ResponseError):
        return f"refuses: {text}; set CRAWL_REDIS_URL"
    if "certificate verify failed" in text:
        return f"has a certificate that ssl_ca_certs of CRAWL_REDIS_URL does not vouch for: {text}"
    if "WRONG_VERSION_NUMBER" in text:
        return "speaks no TLS at this port; write redis:// in CRAWL_REDIS_URL, or the port that does"
    return f"does not answer: {text}; start one (crawl-tasks run or redis does) or set CRAWL_REDIS_URL"


def is_redis_configured(settings: Settings) -> bool:
    """Return whether a Redis is configured."""
    return "redis_url" in settings.model_fields_set


def name_standing(settings: Settings, snapshot: Snapshot) -> Snapshot:
    """Return a snapshot in which cells that do not answer have the names of their sites, as the database knows them."""
    if not snapshot.down:
        return snapshot
    # SQLAlchemy costs 0.25 s, which a look at a whole installation does without.
    from crawl_tasks.store.upsert import Store  # noqa: PLC0415

    try:
        with Store(settings.database_url).open(create=False) as store:
            kept = store.kept_sites(settings.redis_prefix)
            missing = kept.keys() - {site.name for part in snapshot.parts for site in part.sites}
    except StoreError:
        return snapshot
    names = [cell.name for cell in snapshot.down]
    # Of several such cells, the hash says which of them has a site.
    homes = {name: home_of(name, names) for name in sorted(missing)}
    down = (replace(cell, sites=tuple(name for name in homes if homes[name] == cell.name)) for cell in snapshot.down)
    return replace(snapshot, down=tuple(down))
