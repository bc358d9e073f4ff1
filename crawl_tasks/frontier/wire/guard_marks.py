"""The parts of the guard's word for a request: an address and a rest of its page's hash, and a mark, see guard.lua."""

from __future__ import annotations

from typing import Final

ADDRESS_BITS: Final = 40
"""Bits of a page's hash by which the guard finds it."""

REST_BITS: Final = 16
"""Further bits, which tell pages of one address apart where no revision does."""

SOURCES: Final = 16
"""A mark is revision * SOURCES + source. Source 0 means none."""

HITS: Final = SOURCES
"""In the place of a source: the entry beside a page's that counts how often it was listed unchanged."""

WHEN_GONE: Final = SOURCES + 1
"""The same for the mark that a page was listed with when it was found gone, or in part. The last such entry."""

NONE: Final = 1 << 19
"""Above all revisions: in the place of one stands NONE + rest where there is none."""

GONE: Final = NONE - 1024
"""In the place of a revision: GONE + 128 * n + k waits for k more listings of a page that is gone."""

ASKED: Final = GONE - 8
"""In the place of a revision: ASKED + n was requested after it had been gone."""

REVISIONS: Final = ASKED - 1
"""The highest revision. Revision 0 means none."""

PARTS: Final = 256
SOURCE_STEP: Final = 2_654_435_761 * PARTS
"""The mark of a source lies at address + source * SOURCE_STEP: its number modulo PARTS is that of the page."""
