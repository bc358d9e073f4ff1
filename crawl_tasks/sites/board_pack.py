"""Board pack: the boards of lists as columns, and these as one text of the published site.

A model for each board would cost each worker seconds and tens of megabytes.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, cast

import orjson

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.board import Board

MOST_UNPACKED: Final = 256 << 20
"""Bytes of a packed list at most: a file has 64 MB, and JSON doubles that at worst. Anybody may publish a bomb."""

Columns = Mapping[str, Sequence[object]]
Row = dict[str, object]


def joined(many: Sequence[Columns]) -> Columns:
    """Return the columns of several lists, one below the other."""
    whole: dict[str, list[object]] = {name: [] for name in chain.from_iterable(many)}
    for columns in many:
        for name, values in whole.items():
            values += columns.get(name, [None] * len(columns["id"]))
    return whole


def pack(columns: Columns) -> str:
    """Return the columns as one text for the published site."""
    return base64.b64encode(zlib.compress(orjson.dumps(dict(columns)), 1)).decode() if columns else ""


def unpack(text: str) -> dict[str, list[object]]:
    """Return the columns of a packed list, none of an empty text.

    Raises:
        SiteError: The text is damaged.
    """
    if not text:
        return {}
    try:
        unpacker = zlib.decompressobj()
        whole = unpacker.decompress(base64.b64decode(text), MOST_UNPACKED)
        if unpacker.unconsumed_tail or not unpacker.eof:
            raise ValueError(f"it unpacks to more than {MOST_UNPACKED} bytes, or is cut off")
        return cast("dict[str, list[object]]", orjson.loads(whole))
    except (ValueError, zlib.error) as error:
        raise SiteError(f"published site: board_list: {error}; publish the site files again") from None


def size_of(columns: Columns) -> int:
    """Return the number of boards in the columns."""
    return len(columns.get("id", ()))


def boards_of(columns: Columns, places: Iterable[int]) -> Iterator[Board]:
    """Yield the boards in some places of the columns."""
    for place in places:
        yield Board.model_validate(row_of(columns, place))


def own_places(columns: Columns) -> list[int]:
    """Return the places of boards with an address or a kind of their own."""
    own = [columns[name] for name in ("address", "kind") if name in columns]
    return [place for place, values in enumerate(zip(*own, strict=True)) if any(values)]


def row_of(columns: Columns, place: int) -> Row:
    """Return the values of one board, those that it has."""
    return {name: values[place] for name, values in columns.items() if values[place] is not None}
