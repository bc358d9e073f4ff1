"""What pause, resume, drain and stop share: one site or all, and waiting until they are quiet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import click

from crawl_tasks.cli.backend import chosen_sites
from crawl_tasks.errors import CrawlError
from crawl_tasks.frontier.census import Census
from crawl_tasks.frontier.frontier import Frontier

LOOK_EVERY_S = 0.2


def site_or_all(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument SITE and the option --all to a command."""
    with_all = click.option("--all", "everything", is_flag=True, help="All published sites.")(command)
    return click.argument("site", required=False)(with_all)


def meant(frontier: Frontier, site: str | None, *, everything: bool) -> list[str]:
    """Name the sites that are meant.

    Raises:
        UsageError: neither a site nor --all was given, or both.
        ConfigError: the site is not published, or none is.
    """
    if everything == (site is not None):
        raise click.UsageError("name a SITE, or all with --all")
    return chosen_sites(frontier, (site,) if site is not None else ())


def wait_until(frontier: Frontier, sites: Sequence[str], is_quiet: Callable[[Census], bool], within_s: float) -> None:
    """Return when every site is quiet.

    Raises:
        CrawlError: they were not in time.
    """
    deadline = time.monotonic() + within_s
    while loud := [census.site for census in frontier.censuses(sites) if not is_quiet(census)]:
        if time.monotonic() > deadline:
            raise CrawlError(f"not quiet after {within_s:g} s: {', '.join(loud)}; see: crawl-tasks status {loud[0]}")
        time.sleep(LOOK_EVERY_S)
