"""Preset fit: whether the rules of a preset read the lists and threads of a forum whose signs name it."""

from __future__ import annotations

from typing import Final

from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.errors import Gone, PageError, ParseError
from crawl_tasks.model import Fetched, Post, Request, Stage
from crawl_tasks.registry.site_registry import CompiledSite

_THREADS: Final = 2
"""Threads that are tried: one may be of a kind that a preset does not know."""


def misfit(probe: HttpProbe, opened: CompiledSite, trial: DryRun) -> str:
    """Return why a preset's rules fit no page of a forum, empty where they fit one or the pages cannot be had.

    `trial` is the dry run of a board's page. A fork or another version of a program has the signs of the program, and
    other markup.
    """
    if trial.page is None or trial.parsed is None or not trial.rows:
        return "" if trial.page is None else _complaint(opened, trial.request, trial.page)
    replies = {row.post_id: row.reply_count or 0 for row in trial.rows if isinstance(row, Post)}
    posts = [child for child in trial.parsed.children if child.stage is Stage.POST]
    reasons = []
    for post in sorted(posts, key=lambda child: -replies.get(child.key, 0))[:_THREADS]:
        try:
            page = probe.page(post.address, post)
        except PageError:
            continue
        reason = _complaint(opened, post, page)
        if not reason:
            return ""
        reasons.append(reason)
    return next(iter(reasons), "")


def _complaint(opened: CompiledSite, request: Request, page: Fetched) -> str:
    """Return what a rule does not find on a page, or takes for gone, empty for a page that can be read."""
    try:
        opened.parser.parse(request, page, 0)
    except (ParseError, Gone) as error:
        return str(error)
    except PageError:
        pass
    return ""
