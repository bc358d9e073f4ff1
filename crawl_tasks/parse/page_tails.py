"""Page tails: the line with which the last text of a page ends, where a footer may have become a part of it.

Old templates leave tables open, so that parsers put the footer of the page into the last post. Pure.
"""

from __future__ import annotations

import re
from typing import Final

from crawl_tasks.model import Parsed

_LEAST: Final = 6
"""Letters of the shortest line of a footer."""


def tail_of(parsed: Parsed) -> str:
    """Return the last line of a thread page's last text, without figures: footers count seconds and visitors.

    It is empty for a text of one line, and for a line with which another text of the page ends too.
    """
    texts = [post.body for post in parsed.items.posts] + [comment.body for comment in parsed.items.comments]
    tails = [_last_line(text) for text in texts]
    return tails[-1] if tails and tails[-1] not in tails[:-1] else ""


def _last_line(text: str | None) -> str:
    _, _, line = (text or "").rstrip().rpartition("\n")
    letters = re.sub(r"[\W\d_]+", "", line).lower() if "\n" in (text or "").strip() else ""
    return letters if len(letters) >= _LEAST else ""
