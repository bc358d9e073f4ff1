"""API replies: rules for comments that scripts fetch from an API, beside lists and threads that are HTML."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace

from crawl_tasks.discovery.json_rules.api_rules import comment_rules, records_of
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.proof.dry_run import DryRun, try_site
from crawl_tasks.discovery.proof.file_score import score_of
from crawl_tasks.discovery.proof.findings import Findings, site_file
from crawl_tasks.model import Stage
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.loader import parse_site

# Keys of `post` that lead to its comments, with the lines below them.
_TO_COMMENTS = re.compile(r"  (?:comments|next|pages):.*\n(?:    .*\n)*", re.MULTILINE)


def comments_by_api(probe: HttpProbe, drawn: Findings, plain: Findings | None) -> Findings | None:
    """Return rules that read comments from the API that drawn threads ask, None if it does not hold what they show.

    Args:
        probe: it has drawn the pages of `drawn`.
        drawn: rules for all pages as a browser shows them.
        plain: rules that read lists and posts without a browser, None where these are drawn too.
    """
    text = site_file(drawn)
    trials = _tried(probe, text, drawn.name)
    shown = [
        (trial, trial.request.key, trial.parsed.items.comments)
        for trial in trials
        if trial.request.stage is Stage.POST and trial.parsed is not None and trial.parsed.items.comments
    ]
    comments = records_of(probe, "post", shown)
    if comments is None:
        return None
    other, headers = probe.plain(draws=plain is None)
    lines = [f"headers: {json.dumps(headers)}"] if headers else []
    lines += [_without_comments((plain or drawn).rules, draws=plain is None), *comment_rules(comments)]
    made = replace(plain or drawn, rules="\n".join(lines))
    if score_of(other, site_file(made))[0] < score_of(probe, text)[0]:
        return None
    counts: Counter[str] = Counter()
    for page in _tried(other, site_file(made), drawn.name):
        if page.request.stage is Stage.COMMENT:
            counts[page.request.key] += len(page.rows)
    both = [(counts[key], len(replies)) for _, key, replies in shown if key in counts]
    return made if both and all(count >= least for count, least in both) else None


def _tried(probe: HttpProbe, text: str, name: str) -> list[DryRun]:
    return list(try_site(probe, compile_site(parse_site(text, name), None)))


def _without_comments(rules: str, *, draws: bool) -> str:
    """Return the rules for lists and posts, which a browser draws or not."""
    lists, _, rest = f"{rules}\n".partition("\npost:\n")
    post = re.split(r"^(?:comment:|#)", rest, maxsplit=1, flags=re.MULTILINE)[0]
    text = f"{lists}\npost:\n{_TO_COMMENTS.sub('', post)}".rstrip("\n")
    return re.sub(r"^(list|post):$", r"\1:\n  render: true", text, flags=re.MULTILINE) if draws else text
