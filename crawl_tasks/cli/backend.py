"""The connections of the command line to Redis: one try each, no waiting."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

import click
import redis

from crawl_tasks.errors import BackendError, ConfigError, RedisUnreachable, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.cells import Cells, home_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import Options, open_client
from crawl_tasks.local.embedded import EmbeddedRedis, is_at_rest
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.monitor.problems.installation_kinds import HALTED, NO_SITE
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.settings import Cell, Settings, load_settings

CONNECT_TIMEOUT_S = 3.0
REPLY_TIMEOUT_S = 10.0
_OWN_REDIS = "crawl_tasks.own_redis"
NAMED = 10
"""Sites that a message names at most. There may be a thousand."""


def _connect(settings: Settings, cell: Cell, reply_s: float) -> Frontier:
    """Return the frontier of a cell, not yet connected."""
    # Without retries, unlike a worker's client: a person at a terminal would rather know than wait.
    timeouts = Options(socket_connect_timeout=CONNECT_TIMEOUT_S, socket_timeout=reply_s, retry=None)
    client = open_client(cell.url, settings.redis_master, **timeouts)
    return Frontier(client, settings.redis_prefix, settings.store_at, settings.outbox_max, cell.name)


def is_redis_configured(settings: Settings) -> bool:
    """Return whether a Redis is configured."""
    return "redis_url" in settings.model_fields_set


def _own_redis(settings: Settings) -> str:
    """Start the Redis of the state directory for this command, and return its address; nothing where it runs."""
    context = click.get_current_context(silent=True)
    if context is None or not is_at_rest(settings.state_dir):
        return ""
    if _OWN_REDIS not in context.meta:
        root = context.find_root()
        interrupts = root.with_resource(Interrupts())
        context.meta[_OWN_REDIS] = root.with_resource(
            EmbeddedRedis(settings.state_dir, interrupts, is_private=True)
        ).url
    return str(context.meta[_OWN_REDIS])


def open_cells(settings: Settings | None = None, *, stays: bool = False, reply_s: float = REPLY_TIMEOUT_S) -> Cells:
    """Return the cells of the installation, with those that do not answer noted.

    Where the Redis of the state directory does not run, the command has it for its own time, but for one that `stays`.

    Raises:
        SettingsError: a setting is wrong.
        RedisUnreachable: no Redis answers.
    """
    settings = settings or load_settings()
    url = "" if stays or is_redis_configured(settings) else _own_redis(settings)
    if url:
        settings = settings.model_copy(update={"redis_url": url})
    urls = {cell.name: cell.url for cell in settings.cells}
    cells = Cells(_connect(settings, cell, reply_s) for cell in settings.cells)

    def ping(frontier: Frontier) -> None:
        try:
            frontier.client.ping()
        except (redis.RedisError, OSError) as error:
            raise RedisUnreachable(f"Redis at {urls[frontier.cell]} {_reason_of(error)}") from error

    cells.ask_each(ping)
    cells.is_at_rest = bool(url)
    return cells


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


def require_ledger_here(cells: Cells) -> None:
    """Check that no cell stands still for a lost ledger, which has nothing to show.

    Raises:
        BackendError: Redis was emptied.
    """
    for frontier in cells:
        if why := Admin(frontier).restore.halted():
            raise BackendError(HALTED.problem(reason=why).advice())


def chosen_sites(cells: Cells, names: tuple[str, ...]) -> dict[str, Frontier]:
    """Return the published sites that were named, or all when none was, each with the frontier of its cell.

    Raises:
        ConfigError: a named site is not published, or no site is.
        BackendError: Redis was emptied, or the cell of a site does not answer.
    """
    published = cells.sites()
    # An emptied Redis has no sites either, and "no site is published" would send the operator the wrong way.
    if not published:
        require_ledger_here(cells)
    for name in names:
        if name not in published:
            # For its error: a cell that does not answer may hold the site, or the site is moving.
            cells.of(name)
            raise ConfigError(f"site {name!r} is not published; {_remedy(name, list(published))}")
    if not published:
        raise ConfigError(NO_SITE.problem().advice())
    return {name: published[name] for name in names or published}


def _remedy(name: str, published: Sequence[str]) -> str:
    more = f" and {len(published) - NAMED} more" if len(published) > NAMED else ""
    there = f"published are: {', '.join(published[:NAMED]) or 'none'}{more}"
    if alike := difflib.get_close_matches(name, published, n=1):
        there = f"did you mean {alike[0]}?"
    return f"{there}; crawl-tasks sites check publishes what is in the sites directory"
