"""The end of a page: pages that broke off with status 200, as by an error of the forum's program.

Such a page looks whole to every rule. But comments are missing behind the break, a list has lost its link to the next
page, and the last text is cut.
"""

from __future__ import annotations

import re

_END = b"</html"
_END_WITHIN = 2000  # bytes: the whole page is searched only where the end is not there, as statistics may be behind
_BEGIN = re.compile(rb"<(?:!doctype\s+html|html[\s>])", re.IGNORECASE)
_BEGIN_WITHIN = 2000
_CONTAINER = re.compile(rb"<(/?)(?:div|table|ul|ol|dl|section|article|main)[\s>]", re.IGNORECASE)
_NO_END = "the page ends before </html>{}: rows or comments may be missing"


class PageEnd:
    """The memory of a stage: whether its pages have an end. Some forums never write one."""

    def __init__(self) -> None:
        self._has_end = False

    def learn(self) -> None:
        """Remember that a page which could be read has an end."""
        self._has_end = True

    def note(self, body: bytes) -> tuple[str, bool]:
        """Return a note on a page that broke off, else an empty text, and whether other pages of the stage had an end.

        Where none was learned so far, elements that are open at the end of the page are worth a note: the forum may
        always write its pages so.
        """
        if _END in body[-_END_WITHIN:].lower() or _END in body.lower():
            return "", True
        if self._has_end:
            return _NO_END.format(", which others of this site have"), True
        return _NO_END.format("") if _is_open(body) else "", False


def _is_open(body: bytes) -> bool:
    """Return whether a page, which a part of a page is not, opens more containers than it closes."""
    if not _BEGIN.search(body[:_BEGIN_WITHIN]):
        return False
    closing = _CONTAINER.findall(body)
    return 2 * sum(map(bool, closing)) < len(closing)
