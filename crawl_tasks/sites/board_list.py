"""Board lists: boards by the thousand, in a file beside the site file, one a line (CSV, JSON Lines or bare ids).

A list is checked column by column, and travels in the published site as one packed text: a model for each board would
cost every worker seconds and tens of megabytes.
"""

from __future__ import annotations

import base64
import csv
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import orjson
from pydantic import ValidationError

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.board import Board, BoardKind
from crawl_tasks.sites.stages import suggest

if TYPE_CHECKING:
    import _csv

MAX_BYTES: Final = 64 * 1024 * 1024
MAX_BOARDS: Final = 300_000
MOST_UNPACKED: Final = 256 << 20
"""Bytes of a packed list at most: a file has 64 MB, and JSON doubles that at worst. Anybody may publish a bomb."""
_MOST_MISTAKES = 20
_TEXTS: Final = {"id": (r"[\x00-\x20\x7f]", 200), "parent": (r"[\x00-\x20\x7f]", 200)} | dict.fromkeys(
    ("title", "address"), (r"[\x00-\x1f\x7f]", 300)
)
"""The columns of text: characters that none may have, and the greatest length."""
_NUMBERS: Final = frozenset({"priority", "interval_s", "goal_s"})

Columns = Mapping[str, Sequence[object]]
Row = dict[str, object]


class BoardList(NamedTuple):
    """The columns of a board list. None stands for no value. `lines` gives the line of each board, for complaints."""

    columns: Columns
    lines: Callable[[], Sequence[int]]
    name: str

    @property
    def ids(self) -> Sequence[str]:
        """Return the ids of the boards."""
        return cast("Sequence[str]", self.columns["id"])

    def complaint(self, place: int, what: str) -> SiteError:
        """Return the error for one board."""
        return SiteError(f"{self.name}:{self.lines()[place]}: {what}")


def load_board_list(path: Path, name: str) -> BoardList:
    """Return a board list, which `name` names in errors.

    Raises:
        SiteError: The file cannot be read, or is wrong. The message lists mistakes, one per line.
    """
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise SiteError(f"{name}: is no {', '.join(_READERS)}; a list of boards is one of these")
    text = text_of(path, name, MAX_BYTES, f"{MAX_BYTES >> 20} MB", "it must lie beside the site file")
    found = reader(text, name)
    if len(found.ids) > MAX_BOARDS:
        raise found.complaint(MAX_BOARDS, f"is beyond {MAX_BOARDS} boards; split the forum")
    if not found.ids:
        raise SiteError(f"{name}: names no board")
    _check(found)
    return found


def joined(many: Sequence[Columns]) -> Columns:
    """Return the columns of several lists, one below the other."""
    names = dict.fromkeys(chain.from_iterable(many))
    return {name: [value for one in many for value in one.get(name, [None] * len(one["id"]))] for name in names}


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
        yield Board.model_validate(_row(columns, place))


def own_places(columns: Columns) -> list[int]:
    """Return the places of boards with an address or a kind of their own."""
    own = [columns[name] for name in ("address", "kind") if name in columns]
    return [place for place, values in enumerate(zip(*own, strict=True)) if any(values)]


def _row(columns: Columns, place: int) -> Row:
    return {name: values[place] for name, values in columns.items() if values[place] is not None}


def text_of(path: Path, name: str, most_bytes: int, too_large: str, remedy: str) -> str:
    """Return the text of a file of limited size.

    Raises:
        SiteError: the file cannot be read, is too large or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            # One byte beyond the limit shows that a file is too large, without reading all of it.
            raw = file.read(most_bytes + 1)
        if len(raw) > most_bytes:
            raise SiteError(f"{name}: is larger than {too_large}")
        # Some editors begin UTF-8 files with a BOM.
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise SiteError(f"{name}: cannot be read: {error.strerror}; {remedy}") from None
    except UnicodeDecodeError as error:
        raise SiteError(f"{name}: is not UTF-8 at byte {error.start}; save it as UTF-8") from None


def _read_csv(text: str, name: str) -> BoardList:
    """Read a CSV file. A spreadsheet of some countries writes semicolons in place of commas."""
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)

    def reader() -> _csv.Reader:
        return csv.reader(StringIO(text, newline=""), delimiter=delimiter)

    def lines() -> list[int]:
        again = reader()
        return [again.line_num for row in again if row]

    try:
        rows = [row for row in reader() if row]
    except csv.Error as error:
        raise SiteError(f"{name}: is no CSV: {error}") from None
    names = [column.strip() for column in rows[0]] if rows else []
    _check_names(names, f"{name}:1")
    if "id" not in names or len(set(names)) < len(names):
        raise SiteError(f"{name}:1: must name the columns, each once, and `id` among them, as id,title,priority")
    width = len(names)
    if set(map(len, rows)) != {width}:
        place = next(place for place, row in enumerate(rows) if len(row) != width)
        where = f"{name}:{lines()[place]}"
        raise SiteError(
            f"{where}: has {len(rows[place])} values for {width} columns; quote a value that holds {delimiter!r}"
        )
    values = zip(*rows[1:], strict=True) if len(rows) > 1 else [()] * width
    columns = {column: _typed(column, texts) for column, texts in zip(names, values, strict=True)}
    return BoardList(columns, lambda: lines()[1:], name)


def _typed(column: str, texts: Sequence[str]) -> list[object]:
    if column not in _NUMBERS:
        return [text.strip() or None for text in texts]
    read = {text: _value_of(text.strip()) for text in set(texts)}
    return [read[text] for text in texts]


def _value_of(text: str) -> object:
    with suppress(ValueError):  # Board says what is wrong with it
        return float(text) if "." in text else int(text)
    return text or None


def _read_json(text: str, name: str) -> BoardList:
    numbered = [(line, one) for line, one in enumerate(text.splitlines(), 1) if one.strip()]
    rows: list[Row] = []
    for line, one in numbered:
        try:
            row = orjson.loads(one)
        except ValueError as error:
            raise SiteError(f"{name}:{line}: is no JSON: {error}") from None
        row = row if isinstance(row, dict) else {"id": row}
        for key in ("id", "parent"):
            if type(row.get(key)) is int:
                row[key] = str(row[key])
        rows.append(row)
    names = dict.fromkeys(chain(["id"], *rows))
    _check_names(names, name)
    return BoardList({key: [row.get(key) for row in rows] for key in names}, lambda: [at for at, _ in numbered], name)


def _read_plain(text: str, name: str) -> BoardList:
    numbered = [(line, one.strip()) for line, one in enumerate(text.splitlines(), 1)]
    numbered = [(line, one) for line, one in numbered if one and not one.startswith("#")]
    return BoardList({"id": [one for _, one in numbered]}, lambda: [line for line, _ in numbered], name)


_READERS: Final = {".csv": _read_csv, ".tsv": _read_csv, ".jsonl": _read_json, ".txt": _read_plain}


def _check_names(names: Iterable[str], where: str) -> None:
    for key in names:
        if key not in Board.model_fields:
            raise SiteError(f"{where}: {key[:40]!r} is no key of a board{suggest(key, Board.model_fields)}")


def _check(found: BoardList) -> None:
    """Refuse a list with a wrong value. Columns are checked as a whole, and row by row only where one is wrong."""
    if not all(_is_fine(key, values) for key, values in found.columns.items()) or not _is_complete(found.columns):
        _complain(found)
    check_ids(found.ids, found)


def check_ids(ids: Iterable[str], found: BoardList) -> None:
    """Refuse ids that stand twice. `ids` are those of the list, behind those of other boards of the site.

    Raises:
        SiteError: An id stands twice.
    """
    ids = list(ids)
    if len(set(ids)) == len(ids):
        return
    twice = [one for one, times in Counter(ids).items() if times > 1]
    last = len(found.ids) - 1 - list(reversed(found.ids)).index(twice[0])
    raise found.complaint(last, f"id: {', '.join(twice[:5])} stands twice; ids are unique")


def _is_fine(key: str, values: Sequence[object]) -> bool:
    if key not in _TEXTS:
        return all(_is_value(key, value) for value in _distinct(values))
    forbidden, longest = _TEXTS[key]
    texts = cast("list[str]", [text for text in values if text is not None])
    return (
        set(map(type, texts)) <= {str}
        and all(0 < size <= longest for size in set(map(len, texts)))
        and not re.search(forbidden, "".join(texts))
    )


def _distinct(values: Sequence[object]) -> Iterable[object]:
    try:
        return set(values) - {None}
    except TypeError:
        return values  # JSON has values that no set holds, none of them right here


def _is_value(key: str, value: object) -> bool:
    try:
        Board.model_validate({"id": "x", "address": "/x", key: value})
    except ValidationError:
        return False
    return True


def _is_complete(columns: Columns) -> bool:
    """Return whether each board has an id, and an address where its kind needs one."""
    nothing = [None] * len(columns["id"])
    needs = zip(columns.get("kind", ()), columns.get("address", nothing), strict=False)
    return None not in columns["id"] and all(kind in (None, BoardKind.LIST) or address for kind, address in needs)


def _complain(found: BoardList) -> None:
    mistakes: list[str] = []
    for place, line in enumerate(found.lines()):
        try:
            Board.model_validate(_row(found.columns, place))
        except ValidationError as error:
            for one in error.errors(include_url=False, include_input=False):
                key = "".join(f"{part}: " for part in one["loc"])
                mistakes.append(f"{found.name}:{line}: {key}{one['msg'].removeprefix('Value error, ')}")
        if len(mistakes) >= _MOST_MISTAKES:
            break
    raise SiteError("\n".join(mistakes))
