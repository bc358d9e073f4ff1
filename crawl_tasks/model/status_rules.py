"""The status rules: for each HTTP status the error that it means. The fate of the request follows from the error.

A status stands here and nowhere else. The fetcher reads these rules, the scripts in Redis get them from frontier/wire,
and docs/wire.md is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from crawl_tasks.errors import AccessDenied, BadStatus, FetchError, Gone, ServerError, SlowDown

# RFC 6585 and RFC 9110, and the codes that some servers use in their place: 420 and 529 of APIs, 509 of shared hosts.
_REFUSED: Final = frozenset({420, 429, 503, 509, 529})

STATUS_RULES: Final[Mapping[type[FetchError], frozenset[int]]] = MappingProxyType(
    {
        Gone: frozenset({404, 410}),
        AccessDenied: frozenset({401, 403, 407, 451}),
        SlowDown: _REFUSED,
        ServerError: frozenset({408, 425, *range(500, 600)}) - _REFUSED,
    }
)
"""The statuses that mean an error. Any other status is a page, or BadStatus."""

# 206 is a part of a page, and no request of ours asks for a part.
PAGE_STATUSES: Final = frozenset(range(200, 300)) - {206}

_MEANINGS: Final = {status: kind for kind, statuses in STATUS_RULES.items() for status in statuses}
if len(_MEANINGS) != sum(map(len, STATUS_RULES.values())) or PAGE_STATUSES.intersection(_MEANINGS):
    raise TypeError("a status of model/status_rules.py means two things")


def meaning_of(status: int) -> type[FetchError] | None:
    """Return the error that a status means, or None for a page."""
    return None if status in PAGE_STATUSES else _MEANINGS.get(status, BadStatus)


def statuses_of(kind: type[FetchError]) -> frozenset[int]:
    """Return the statuses that mean an error of a class, or of one below it."""
    return frozenset(status for status, meaning in _MEANINGS.items() if issubclass(meaning, kind))
