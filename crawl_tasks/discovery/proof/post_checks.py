"""Post checks: posts whose texts are alike, and posts that stand a second time among their replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, time
from typing import Final
from zoneinfo import ZoneInfo

from crawl_tasks.discovery.proof.site_check import FEW, SiteCheck
from crawl_tasks.model import Comment, Post

_LONG: Final = 40
"""Letters from which on two equal texts are no chance."""


def own_texts_check(texts: Sequence[str]) -> SiteCheck | None:
    """Return a check that the texts of posts differ: a notice or a menu of every page is no post."""
    if len(texts) < 2 or (len(texts) < FEW and len(min(texts, key=len)) < _LONG):
        return None
    text, often = Counter(texts).most_common(1)[0]
    evidence = f"{often} are {text[:60]!r}" if often > 1 and 2 * often >= len(texts) else ""
    if not evidence and (line := next(_shared_lines(texts), "")):
        evidence = f"lines of one are those of others, as {line[:60]!r}"
    return SiteCheck("posts have texts of their own", not evidence, evidence)


def _shared_lines(texts: Sequence[str]) -> Iterator[str]:
    """Yield a line of each text of which most lines stand in most of the texts."""
    pages = [{line for line in text.split("\n") if len(line) > 1} for text in texts]
    times = Counter(line for lines in pages for line in lines)
    for lines in pages:
        shared = [line for line in lines if times[line] > 1 and 2 * times[line] > len(texts)]
        if len(shared) >= FEW and 2 * len(shared) >= len(lines):
            yield max(shared, key=len)


def post_again_check(pairs: Sequence[tuple[Post, Comment]], zone: ZoneInfo) -> SiteCheck | None:
    """Return a check that no thread begins its replies with its post, by pairs of a post and its first reply.

    Author and moment tell, since a wrong rule may read another text. A day without its hour is no moment.
    """
    told = [(post, first) for post, first in pairs if post.author and _is_exact(post.created_at, zone)]
    if not told:
        return None
    again = [post for post, first in told if (post.author, post.created_at) == (first.author, first.created_at)]
    text = f"{len(again)} of {len(told)} begin with its author and moment, as {again[0].url}" if again else ""
    return SiteCheck("a post is none of its replies", 2 * len(again) < len(told), text)


def _is_exact(at: int | None, zone: ZoneInfo) -> bool:
    return at is not None and datetime.fromtimestamp(at, zone).time() != time.min
