"""The language that a page says it is in. Pure."""

from __future__ import annotations

import re
from typing import Final

_LANGUAGE: Final = re.compile(
    r"<html\b[^<>]*?\s(?:xml:)?lang\s*=\s*[\"']?\s*([a-z]{2,3}(?:[-_][a-z\d]{2,8})*)(?![a-z\d])", re.IGNORECASE
)
_HEAD: Final = 5_000


def stated_language(source: str) -> str:
    """Return the language of a page's root element, as `fr` or `en-GB`, empty without one."""
    match = _LANGUAGE.search(source[:_HEAD])
    return match[1].replace("_", "-") if match else ""
