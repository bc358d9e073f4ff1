"""The cells of a command: with the Redis of the state directory for its own time, where that does not run."""

from __future__ import annotations

import click

from crawl_tasks.frontier.cells import Cells
from crawl_tasks.local.embedded import EmbeddedRedis, is_at_rest
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.operate.connection import REPLY_TIMEOUT_S, connect_cells, is_redis_configured
from crawl_tasks.settings import Settings, load_settings

_OWN_REDIS = "crawl_tasks.own_redis"


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
    cells = connect_cells(settings, reply_s)
    cells.is_at_rest = bool(url)
    return cells
