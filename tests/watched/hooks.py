"""A hook that fails."""

from __future__ import annotations


def raises(site: str, item: object) -> None:
    """Fail at each event.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(f"{site}: no")
