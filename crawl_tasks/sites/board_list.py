"""Board lists: boards by the thousand, in a file beside the site file, one a line (CSV, JSON Lines or bare ids).

A list is checked column by column, and travels in the published site as one packed text: a model for each board would
cost every worker seconds and tens of megabytes.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import orjson
from pydantic import ValidationError

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.board import Board, BoardKind
from crawl_tasks.sites.board_pack import Columns, Row, row_of
from crawl_tasks.sites.field_rules import suggest

if TYPE_CHECKING:
    import _csv

MAX_BYTES: Final = 64 * 1024 * 1024
MAX_BOARDS: Final = 300_000
_MOST_MISTAKES = 20
_TEXTS: Final = {"id": (r"[\x00-\x20\x7f]", 200), "parent": (r"[\x00-\x20\x7f]", 200)} | dict.fromkeys(
    ("title", "address"), (r"[\x00-\x1f\x7f]", 300)
)
"""The columns of text: characters that none may have, and the greatest length."""
_NUMBERS: Final = frozenset({"priority", "interval_s", "goal_s"})


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
    boards = reader(text, name)
    if len(boards.ids) > MAX_BOARDS:
        raise boards.complaint(MAX_BOARDS, f"is beyond {MAX_BOARDS} boards; split the forum")
    if not boards.ids:
        raise SiteError(f"{name}: names no board")
    _check(boards)
    return boards


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
    numbered = [(line, text_line) for line, text_line in enumerate(text.splitlines(), 1) if text_line.strip()]
    rows: list[Row] = []
    for line, text_line in numbered:
        try:
            row = orjson.loads(text_line)
        except ValueError as error:
            raise SiteError(f"{name}:{line}: is no JSON: {error}") from None
        row = row if isinstance(row, dict) else {"id": row}
        for key in ("id", "parent"):
            if type(row.get(key)) is int:
                row[key] = str(row[key])
        rows.append(row)
    names = dict.fromkeys(chain(["id"], *rows))
    _check_names(names, name)
    columns: dict[str, list[object]] = {}
    for key in names:
        columns[key] = [row.get(key) for row in rows]
    return BoardList(columns, lambda: [line for line, _ in numbered], name)


def _read_plain(text: str, name: str) -> BoardList:
    numbered = [(line, board_id.strip()) for line, board_id in enumerate(text.splitlines(), 1)]
    numbered = [(line, board_id) for line, board_id in numbered if board_id and not board_id.startswith("#")]
    return BoardList({"id": [board_id for _, board_id in numbered]}, lambda: [line for line, _ in numbered], name)


_READERS: Final = {".csv": _read_csv, ".tsv": _read_csv, ".jsonl": _read_json, ".txt": _read_plain}


def _check_names(names: Iterable[str], where: str) -> None:
    for key in names:
        if key not in Board.model_fields:
            raise SiteError(f"{where}: {key[:40]!r} is no key of a board{suggest(key, Board.model_fields)}")


def _check(boards: BoardList) -> None:
    """Refuse a list with a wrong value. Columns are checked as a whole, and row by row only where one is wrong."""
    if not all(_is_fine(key, values) for key, values in boards.columns.items()) or not _is_complete(boards.columns):
        _complain(boards)
    check_ids(boards.ids, boards)


def check_ids(ids: Iterable[str], boards: BoardList) -> None:
    """Refuse ids that appear twice. `ids` are those of the list, behind those of other boards of the site.

    Raises:
        SiteError: An id appears twice.
    """
    ids = list(ids)
    if len(set(ids)) == len(ids):
        return
    twice = [board_id for board_id, times in Counter(ids).items() if times > 1]
    last = len(boards.ids) - 1 - list(reversed(boards.ids)).index(twice[0])
    raise boards.complaint(last, f"id: {', '.join(twice[:5])} stands twice; ids are unique")


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


def _complain(boards: BoardList) -> None:
    mistakes: list[str] = []
    for place, line in enumerate(boards.lines()):
        try:
            Board.model_validate(row_of(boards.columns, place))
        except ValidationError as error:
            for mistake in error.errors(include_url=False, include_input=False):
                key = "".join(f"{part}: " for part in mistake["loc"])
                mistakes.append(f"{boards.name}:{line}: {key}{mistake['msg'].removeprefix('Value error, ')}")
        if len(mistakes) >= _MOST_MISTAKES:
            break
    raise SiteError("\n".join(mistakes))
