"""Functions of a site that fail."""

from __future__ import annotations


def raises(site: str, item: object) -> None:
    """Fail at each event.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(f"{site}: no")


def raises_at(request: object, parent: object) -> int:
    """Fail at each priority that is asked for.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(f"{request} on {parent}: no")
