"""Page tails: the line with which the last text of a page ends, where a footer may have become a part of it.

Old templates leave tables open, so that parsers put the footer of the page into the last post. Pure.
"""

from __future__ import annotations

import re
from typing import Final

from crawl_tasks.model import Parsed

_LEAST: Final = 6
"""Letters of the shortest line of a footer."""


def tail_of(parsed: Parsed) -> tuple[str, frozenset[str]]:
    """Return the last line of a thread page's last text, and all other lines of its texts, without figures.

    Footers count seconds and visitors. The line is empty for a text of one line, and where another line is the same.
    """
    texts = [post.body for post in parsed.items.posts] + [comment.body for comment in parsed.items.comments]
    lines = [_lines_of(text or "") for text in texts]
    last = lines[-1].pop() if lines and len(lines[-1]) > 1 else ""
    other_lines = frozenset(line for text in lines for line in text)
    return (last if len(last) >= _LEAST and last not in other_lines else ""), other_lines


def _lines_of(text: str) -> list[str]:
    return [_letters(line) for line in text.strip().split("\n")]


def _letters(line: str) -> str:
    return re.sub(r"[\W\d_]+", "", line).lower()
