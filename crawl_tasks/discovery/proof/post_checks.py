"""Post checks: posts whose texts are alike, and posts that are repeated as the first of their replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, time
from typing import Final
from zoneinfo import ZoneInfo

from crawl_tasks.discovery.proof.read_pages import ReadPages
from crawl_tasks.discovery.proof.site_check import FEW, SiteCheck

_LONG: Final = 40
"""Letters from which on two equal texts are no chance."""


def posts_have_own_texts(pages: ReadPages) -> SiteCheck | None:
    """Return whether the texts of posts differ: a notice or a menu of every page is no post."""
    texts = [thread.post.body for thread in pages.threads if thread.post.body]
    if len(texts) < 2 or (len(texts) < FEW and len(min(texts, key=len)) < _LONG):
        return None
    text, often = Counter(texts).most_common(1)[0]
    evidence = f"{often} are {text[:60]!r}" if often > 1 and 2 * often >= len(texts) else ""
    if not evidence and (line := next(_shared_lines(texts), "")):
        evidence = f"lines of one are those of others, as {line[:60]!r}"
    return SiteCheck("posts have texts of their own", not evidence, evidence)


def _shared_lines(texts: Sequence[str]) -> Iterator[str]:
    """Yield a line of each text of which most lines are in most of the texts."""
    # As dictionaries, which keep the order: the same line is named each time.
    lines_by_text: list[dict[str, None]] = []
    times = Counter[str]()
    for text in texts:
        lines_by_text.append(dict.fromkeys(line for line in text.split("\n") if len(line) > 1))
        times.update(lines_by_text[-1].keys())
    for lines in lines_by_text:
        shared = [line for line in lines if times[line] > 1 and 2 * times[line] > len(texts)]
        if len(shared) >= FEW and 2 * len(shared) >= len(lines):
            yield max(shared, key=len)


def posts_are_no_replies(pages: ReadPages) -> SiteCheck | None:
    """Return whether threads do not begin their replies with their post.

    Author and moment tell, since a wrong rule may read another text. A day without its hour is no moment.
    """
    zone = ZoneInfo(pages.site.timezone)
    pairs = [(thread.post, thread.comments[0]) for thread in pages.threads if thread.comments]
    timed = [(post, first) for post, first in pairs if post.author and _is_exact(post.created_at, zone)]
    if not timed:
        return None
    again = [post for post, first in timed if (post.author, post.created_at) == (first.author, first.created_at)]
    evidence = f"{len(again)} of {len(timed)} begin with its author and moment, as {again[0].url}" if again else ""
    return SiteCheck("a post is none of its replies", 2 * len(again) < len(timed), evidence)


def _is_exact(at: int | None, zone: ZoneInfo) -> bool:
    return at is not None and datetime.fromtimestamp(at, zone).time() != time.min
