"""The reader of the web archive: the pages of a site as they came, for a reread. Files in writing are read too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.fetch.body import decode
from crawl_tasks.fetch.http_client import Limits
from crawl_tasks.fetch.revalidation import NOT_MODIFIED
from crawl_tasks.fetch.web_archive import OPEN, whole_size
from crawl_tasks.model import Fetched, Lease, Reach, Request, Stage


class ArchivePage(NamedTuple):
    """A page of the archive: the lease under which it was fetched, and the response with its body as it came."""

    lease: Lease
    page: Fetched

    def decoded(self, limits: Limits) -> Fetched:
        """Return the response with its content encoding undone.

        Raises:
            FetchError: the body is none that the crawler reads.
        """
        body = decode(self.page.body, self.page.headers.get("content-encoding", ""), limits)
        return self.page._replace(body=body)


class _Response(NamedTuple):
    """A response, or the revisit of one without a body."""

    status: int
    headers: dict[str, str]
    wire: bytes
    is_revisit: bool

    @property
    def is_unchanged(self) -> bool:
        """Return whether the server confirmed the validator that was sent."""
        return self.is_revisit and self.status == NOT_MODIFIED


def archive_files(directory: Path, site: str) -> list[Path]:
    """Return the files of a site in the order in which they were begun.

    Raises:
        ConfigError: there is none.
    """
    files = sorted(path for ending in ("", OPEN) for path in (directory / site).glob(f"*.warc.gz{ending}"))
    if not files:
        raise ConfigError(
            f"{site} has no archive in {directory}; see `archive` in its site file, and CRAWL_ARCHIVE_DIR"
        )
    return files


def read_archive(path: Path, since: float = 0.0) -> Iterator[ArchivePage]:
    """Return the pages of a file, those only that were requested since a time of Redis' clock, in seconds.

    Raises:
        BackendError: the file is damaged.
    """
    try:
        from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415 (an extra)
        from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415 (an extra)
        from warcio.limitreader import LimitReader  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        raise ConfigError("the archive needs warcio: pip install 'crawl-tasks[archive]'") from error

    if not path.exists():
        # Completed since it was listed.
        path = path.with_suffix("")
    try:
        with path.open("rb") as file:
            # The last record of a file in writing may be there in part.
            whole = whole_size(path) if path.suffix == OPEN else path.stat().st_size
            for response, facts in _described(ArchiveIterator(LimitReader(file, whole), no_record_parse=True)):
                if facts["token"] < since * 1000:
                    continue
                wire = response.wire
                if response.is_revisit and not response.is_unchanged:
                    wire = _wire_at(path, facts["payload_at"])
                yield _page(response, wire, facts)
    except (ArchiveLoadFailed, LookupError, OSError, StopIteration, TypeError, ValueError) as error:
        raise BackendError(f"{path} cannot be read to its end: {error}") from error


def _described(records: Iterable[Any]) -> Iterator[tuple[_Response, dict[str, Any]]]:
    """Yield the responses that have a description, each with its own."""
    last: _Response | None = None
    for record in records:
        if record.rec_type in ("response", "revisit"):
            last = _response(record)
        elif record.rec_type == "metadata" and last is not None:
            yield last, json.loads(record.raw_stream.read())


def _wire_at(path: Path, place: int) -> bytes:
    """Return the body of the response at a place of a file."""
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415 (an extra)

    with path.open("rb") as file:
        file.seek(place)
        return _response(next(ArchiveIterator(file, no_record_parse=True))).wire


def _response(record: Any) -> _Response:  # noqa: ANN401 (warcio has no types)
    """Return a record with its header in latin-1, as the client reads one. warcio would take some values for UTF-8."""
    head, _, wire = record.raw_stream.read().partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name: value for name, _, value in (line.partition(": ") for line in lines)}
    status = first.split(" ")[1]
    is_revisit = record.rec_type == "revisit"
    return _Response(int(status or 0), headers, b"" if is_revisit else wire, is_revisit)


def _page(response: _Response, wire: bytes, facts: Mapping[str, Any]) -> ArchivePage:
    """Return a page by its description. Values that a later version wrote are left out."""
    request = _known(facts["request"], Request._fields)
    request |= {"stage": Stage(request["stage"]), "reach": Reach(**_known(request["reach"], Reach._fields))}
    lease = Lease(0, facts["token"], 1, Request(**request), facts["site_version"], facts["tail"], deadline_ms=0)
    page = Fetched(
        facts["url"], response.status, response.headers, wire, facts["at_s"], wire_bytes=len(wire),
        is_unchanged=response.is_unchanged, age_s=facts["age_s"], seen_at=facts["seen_at"],
    )  # fmt: skip
    return ArchivePage(lease, page)


def _known(facts: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: facts[name] for name in names if name in facts}
