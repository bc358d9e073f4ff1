"""The limits that a worker and the scripts keep alike."""

from __future__ import annotations

from typing import Final

SHORT_IN_A_ROW: Final = 5
"""Threads of a site that stay short of replies until only a few more are read again: its lists count otherwise."""

SHORT_RARE: Final = 16
"""Of a site whose threads stay short, one thread of so many is read again."""
