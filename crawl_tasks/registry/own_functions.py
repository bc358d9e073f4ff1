"""The look at all functions that a site file names, before it is published: a typo in one would park its pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from crawl_tasks.errors import SiteError
from crawl_tasks.items.pipeline import ItemPipeline
from crawl_tasks.parse.site_parser import compile_parser
from crawl_tasks.registry.login_steps import login_policy
from crawl_tasks.registry.site_registry import priority_function
from crawl_tasks.registry.site_requests import prepare_function, reader_of, response_function
from crawl_tasks.sites.event_hooks import OFFERED
from crawl_tasks.sites.functions import find_function
from crawl_tasks.sites.schema import Site


def check_functions(site: Site, path: Path) -> None:
    """Import each function that a site file names.

    Raises:
        SiteError: functions are not there or ask for what is not on offer, all of them told.
    """
    hooks = site.hooks.model_dump(exclude_none=True).items()
    looks: list[Callable[[], object]] = [
        *(partial(find_function, name, f"{site.name}: hooks.{event}", OFFERED[event]) for event, name in hooks),
        partial(ItemPipeline, site.items, site),
        partial(login_policy, site, {}),
        *(partial(look, site) for look in (prepare_function, response_function, priority_function)),
    ]
    if site.start_request is not None:
        looks.append(partial(find_function, site.start_request, f"{site.name}: start_request", ("entry", "site")))
    if any(stage.parser for stage in site.stages.values()):
        looks.append(partial(compile_parser, site))
    # A directory of dumps may be only on the workers' machine.
    if site.read_from is not None and "://" not in site.read_from:
        looks.append(partial(reader_of, site))
    mistakes = [mistake for look in looks if (mistake := _mistake_of(look))]
    if mistakes:
        raise SiteError("\n".join(f"{path}: {mistake}" for mistake in mistakes))


def _mistake_of(look: Callable[[], object]) -> str:
    try:
        look()
    except SiteError as error:
        return str(error)
    return ""
