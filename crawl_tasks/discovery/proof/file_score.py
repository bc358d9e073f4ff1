"""The score of a site file: what its own pages say for and against it."""

from __future__ import annotations

from collections.abc import Collection

from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.proof.checks import check_trials
from crawl_tasks.discovery.proof.dry_run import MOST_THREADS, missing_in, try_site
from crawl_tasks.errors import SiteError
from crawl_tasks.model import Stage
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.loader import parse_site

INVALID = -100
"""The first score of a file that cannot be loaded."""


def score_of(probe: HttpProbe, text: str, pages: Collection[str] = ()) -> tuple[int, int, int]:
    """Return the number of checks that refute a file (negative), of records read, and of checks that hold.

    Of records only those count that are on pages which are tried with any rules: `pages`, where the rules to be
    compared lead to different threads.
    """
    try:
        site = parse_site(text, "proposal")
        opened = compile_site(site, None)
    except SiteError:
        return INVALID, 0, 0
    trials = list(try_site(probe, opened))
    checks = check_trials(site, trials)
    refuted = len(missing_in(trials)) + sum(not check.holds for check in checks)
    posts = [trial for trial in trials if trial.request.stage is Stage.POST]
    tried = [post for post in posts if post.page and post.page.url in pages] if pages else posts[: 3 * MOST_THREADS]
    keys = {trial.request.key for trial in tried}
    first = [
        trial.parsed.items for trial in trials if trial.parsed and trial.request.page == 1 and trial.request.key in keys
    ]
    read = sum(len(items.comments) + len(items.posts) for items in first)
    return -refuted, read, sum(check.holds for check in checks)
