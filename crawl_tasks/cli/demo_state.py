"""What the demo keeps between runs, and how it begins anew without touching anything that is not its own."""

from __future__ import annotations

import shutil

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.station import is_redis_configured
from crawl_tasks.errors import ConfigError
from crawl_tasks.local.embedded import URL_FILE, end_left_over
from crawl_tasks.local.lock import StateLock
from crawl_tasks.settings import Settings
from crawl_tasks.sites.policy import Interval
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.known import counts
from crawl_tasks.store.upsert import Store

ONE_SCAN = Interval(min_s=3600, start_s=3600, max_s=3600)
"""The demo scans each board once a run; a second look in the middle of it would only blur the count of requests."""


def demo_settings(settings: Settings) -> Settings:
    """Give the demo a state directory, and with it a Redis and a database, of its own, unless others are configured."""
    state_dir = settings.state_dir / "demo"
    changed: dict[str, object] = {"state_dir": state_dir}
    if "database_url" not in settings.model_fields_set:
        changed["database_url"] = f"sqlite:///{state_dir.absolute() / 'crawl.db'}"
    return settings.model_copy(update=changed)


def moved(site: Site, base: str) -> Site:
    """Move the demo's site to where the forum listens, to be scanned once."""
    return site.relocated(base).model_copy(update={"interval": ONE_SCAN})


def start_anew(settings: Settings) -> None:
    """Remove what the last demo left in the state directory.

    Raises:
        ConfigError: a demo or its Redis runs there, or the directory cannot be emptied.
    """
    state_dir = settings.state_dir
    with (
        StateLock(state_dir / "crawl.lock", "a crawl runs here"),
        StateLock(state_dir / "redis.lock", "its Redis runs"),
    ):
        end_left_over(state_dir / URL_FILE)
        for entry in state_dir.iterdir():
            if entry.suffix == ".lock":
                continue
            try:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            except OSError as error:
                raise ConfigError(f"{entry}: cannot be removed: {error.strerror}; remove it by hand") from error


def require_own_backends(configured: Settings, *, fresh: bool) -> None:
    """Refuse a configured Redis that serves other sites, and to begin anew in a configured one that is in use.

    Raises:
        ConfigError: the configured Redis or database is not the demo's to use; nothing was touched.
    """
    if is_redis_configured(configured):
        published = open_frontier(configured).sites.names()
        if set(published) - {"demo"} or (fresh and published):
            raise ConfigError(
                f"CRAWL_REDIS_URL: {configured.redis_url} serves {', '.join(published)} already;"
                " unset it for the demo, or give it an empty database (redis://HOST:PORT/5)"
            )
    if fresh and "database_url" in configured.model_fields_set:
        with Store(configured.database_url) as store:
            if counts(store, "demo"):
                raise ConfigError(
                    f"CRAWL_DATABASE_URL: {configured.database_url} holds a demo already, and --fresh empties only"
                    " the demo's own directory; unset it, or name an empty database"
                )
