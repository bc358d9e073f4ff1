"""Output formats: the format and the compression of an exported file, by the ending of its name."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from crawl_tasks.errors import ConfigError
from crawl_tasks.store.atomic_file import ByteFile


class FileFormat(StrEnum):
    """The format of the rows."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


class Compression(StrEnum):
    """The compression of the whole file."""

    NONE = ""
    GZIP = ".gz"
    ZSTD = ".zst"


class OutputFormat(NamedTuple):
    """The format and the compression of a file."""

    form: FileFormat = FileFormat.JSONL
    compression: Compression = Compression.NONE

    @property
    def name(self) -> str:
        """Return the ending of a file's name without its first dot, such as csv.gz."""
        return f"{self.form}{self.compression}"

    @property
    def is_text(self) -> bool:
        """Return whether a terminal may show the file."""
        return self.form is not FileFormat.PARQUET and self.compression is Compression.NONE


FORMATS: Final = (
    *(OutputFormat(form, packed) for form in (FileFormat.JSONL, FileFormat.CSV) for packed in Compression),
    OutputFormat(FileFormat.PARQUET),
)
_BY_ENDING: Final = {f".{output.name}": output for output in FORMATS} | {
    "": OutputFormat(),
    **{f".ndjson{packed}": OutputFormat(FileFormat.JSONL, packed) for packed in Compression},
}


def format_of(out: str) -> OutputFormat:
    """Return the format by the ending of a file's name, JSON Lines without one.

    Raises:
        ConfigError: the name has the ending of no format, or the format needs a package that is not installed.
    """
    suffixes = [suffix.lower() for suffix in Path(out).suffixes[-2:]]
    is_packed = len(suffixes) > 1 and suffixes[-1] in set(Compression)
    ending = "".join(suffixes if is_packed else suffixes[-1:])
    chosen = _BY_ENDING.get(ending)
    if chosen is None:
        raise ConfigError(
            f"{out[:200]}: {ending} is no format of an export; name a file .jsonl, .csv or .parquet, "
            "the first two with .gz or .zst behind, or export with --format"
        )
    needs_pyarrow = chosen.form is FileFormat.PARQUET or chosen.compression is Compression.ZSTD
    if needs_pyarrow and find_spec("pyarrow") is None:
        raise ConfigError(f"{out[:200]}: needs pyarrow: pip install 'crawl-tasks[parquet]'")
    return chosen


@contextmanager
def compressed(file: ByteFile, form: OutputFormat) -> Iterator[ByteFile]:
    """Wrap a file as its format needs. The end of the block ends the compressed stream."""
    if form.compression is Compression.GZIP:
        # Without a time, equal rows make equal files.
        with gzip.GzipFile(fileobj=cast("Any", file), mode="wb", compresslevel=6, mtime=0) as packed:
            yield packed
    elif form.is_text:
        yield file
    else:
        sink = _Sink(file)
        try:
            if form.form is FileFormat.PARQUET:
                yield sink
            else:
                # 0.2 s that only an export to Parquet or .zst waits for.
                import pyarrow  # noqa: PLC0415

                with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
                    yield stream
        finally:
            sink.end()


class _Sink:
    """A file for pyarrow, which would close ours, and write a footer when a failed export is collected."""

    closed = False

    def __init__(self, file: ByteFile) -> None:
        self._file: ByteFile | None = file

    def write(self, data: bytes, /) -> int:
        return len(data) if self._file is None else self._file.write(data)

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        pass

    def end(self) -> None:
        """Take nothing from now on."""
        self._file = None
