"""The web archive: requests and responses of sites with `archive: true`, as WARC 1.1 files (ISO 28500).

A process appends to files of its own, one for each site, `DIRECTORY/SITE/NAME.warc.gz.open`, renamed when complete. A
page's records are on disk (fsync) before the page's result counts. One fsync serves all threads that wait for one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import socket
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from crawl_tasks.errors import ArchiveFailed
from crawl_tasks.fetch.http_client import Client, ClientRequest, RawResponse
from crawl_tasks.fetch.warc_records import GZIP, KnownBody, RequestResponse, WarcRecords

OPEN: Final = ".open"  # behind `.warc.gz` of a file that is not complete
_PIECE: Final = 1 << 20
_MOST_OPEN: Final = 64  # of one process; a site beyond these gets another file when its next page comes
_MOST_KNOWN: Final = 20_000  # payloads of one file that revisit records may name


class ClientRecords:
    """An HTTP client that records the exchanges of threads within `recording`: pages, redirects, robots.txt files."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._recorded = ContextVar[list[RequestResponse] | None]("recorded", default=None)

    @contextmanager
    def recording(self) -> Iterator[list[RequestResponse]]:
        """Record the exchanges of this thread, and of threads that begin with its context, in order."""
        exchanges: list[RequestResponse] = []
        token = self._recorded.set(exchanges)
        try:
            yield exchanges
        finally:
            self._recorded.reset(token)

    def send(self, sent: ClientRequest) -> RawResponse:
        """Send a request. See `Client.send`."""
        raw = self._client.send(sent)
        exchanges = self._recorded.get()
        if exchanges is not None:
            is_cut = len(raw.wire) == sent.limits.wire_limit(raw.status)
            exchanges.append(RequestResponse(sent.url, sent.headers, raw, time.monotonic(), is_cut))
        return raw

    def close(self) -> None:
        """Close every connection."""
        self._client.close()


class _WarcFile:
    """A file in writing. Appended by one thread at a time, made durable by any."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.opened_at = time.monotonic()
        self.known: OrderedDict[tuple[str, str], KnownBody] = OrderedDict()
        self.is_broken = False
        self._durable = 0
        self._syncing = threading.Lock()
        with _locked(path.parent):
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            # Held as long as the process lives: nobody takes the file for that of a dead one.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _sync_directory(path.parent)

    def append(self, data: bytes) -> int:
        """Write whole records, or nothing. Return the position behind."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            # Part of a record would make all that follow unreadable.
            self.is_broken = True
            os.ftruncate(self._file, self.size)
            self.is_broken = False
            raise
        self.size += len(data)
        return self.size

    def sync(self, until: int) -> None:
        """Return when all before a position is on disk."""
        # Who waited here is mostly served by the one before: group commit.
        with self._syncing:
            if self._durable >= until:
                return
            if self.is_broken:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            end = self.size
            try:
                os.fdatasync(self._file)
            except OSError:
                # The kernel may have dropped the data, and a second call would not fail again.
                self.is_broken = True
                raise
            self._durable = end

    def close(self) -> None:
        """Complete the file, but leave a broken one to the next start."""
        try:
            if not self.is_broken:
                self.sync(self.size)
                with _locked(self.path.parent):
                    _complete(self.path, self.size)
        finally:
            with self._syncing:
                os.close(self._file)


class Archive:
    """The archive of one process, made after any fork. Thread-safe."""

    def __init__(self, directory: Path, *, file_bytes: int, file_s: float, free_bytes: int) -> None:
        """Open the archive, and complete the files that dead processes left.

        Args:
            directory: of all sites, shared by processes.
            file_bytes: size from which a site goes on in a new file.
            file_s: age from which it does, in seconds.
            free_bytes: room on the disk below which nothing is fetched.
        """
        self._directory = directory
        self._file_bytes, self._file_s, self._free_bytes = file_bytes, file_s, free_bytes
        self._files: OrderedDict[str, _WarcFile] = OrderedDict()
        self._lock = threading.Lock()
        self._serial = 0
        for site in directory.iterdir() if directory.is_dir() else ():
            complete_left(site)

    def check(self) -> None:
        """Check that records can be written, before a page is fetched for nothing.

        Raises:
            ArchiveFailed: the disk is full, or warcio is not installed.
        """
        if find_spec("warcio") is None:
            raise ArchiveFailed("needs warcio: pip install 'crawl-tasks[archive]'")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(self._directory).free
        except OSError as error:
            raise ArchiveFailed(f"{self._directory}: {error.strerror}") from error
        if free < self._free_bytes:
            raise ArchiveFailed(f"the disk of {self._directory} is full, {free >> 20} MB are free")

    def write(
        self,
        site: str,
        exchanges: Sequence[RequestResponse],
        page: Mapping[str, object] | None,
        *,
        now: float,
        secret: Collection[str] = (),
    ) -> None:
        """Append the exchanges of one attempt, and return when they are on disk.

        Args:
            site: the name of the site.
            exchanges: of one attempt, in order.
            page: the description of the last exchange, None where that is no page.
            now: Redis' clock, in seconds since the epoch.
            secret: names of request headers that are left out, beside those of every site.

        Raises:
            ArchiveFailed: nothing was written, or the records may not be on disk.
        """
        try:
            with self._lock:
                file = self._file_of(site)
                records = WarcRecords(file.size, now - time.monotonic(), file.known, secret)
                if not file.size:
                    records.add_information(file.path.with_suffix("").name)
                records.add(exchanges, page)
                until = file.append(records.packed())
                file.known.update(records.new)
                while len(file.known) > _MOST_KNOWN:
                    file.known.popitem(last=False)
            file.sync(until)
        except OSError as error:
            raise ArchiveFailed(f"{self._directory / site}: {error.strerror}") from error

    def close(self) -> None:
        """Complete all files."""
        with self._lock, suppress(OSError):
            while self._files:
                self._files.popitem()[1].close()

    def _file_of(self, site: str) -> _WarcFile:
        """Return the site's file in writing, after files that are full or old were completed."""
        oldest = time.monotonic() - self._file_s
        for name, file in list(self._files.items()):
            if file.is_broken or file.opened_at < oldest or file.size >= self._file_bytes:
                self._files.pop(name).close()
        if site not in self._files:
            while len(self._files) >= _MOST_OPEN:
                self._files.popitem(last=False)[1].close()
            self._files[site] = self._new_file(self._directory / site)
        self._files.move_to_end(site)
        return self._files[site]

    def _new_file(self, directory: Path) -> _WarcFile:
        directory.mkdir(parents=True, exist_ok=True)
        self._serial += 1
        began = datetime.now(UTC).strftime("%Y%m%d%H%M%S%f")
        writer = f"{socket.gethostname()}-{os.getpid()}"
        return _WarcFile(directory / f"{directory.name}-{began}-{self._serial:05}-{writer}.warc.gz{OPEN}")


def complete_left(directory: Path) -> None:
    """Complete the files that dead processes left: each ends behind its last whole record."""
    if not directory.is_dir():
        return
    with _locked(directory):
        for path in sorted(directory.glob(f"*{OPEN}")):
            with path.open("rb+") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                size = whole_size(path)
                file.truncate(size)
                os.fsync(file.fileno())
                _complete(path, size)


def whole_size(path: Path) -> int:
    """Return the position behind the last whole gzip member of a file."""
    whole = at = 0
    with path.open("rb") as file:
        inflater = zlib.decompressobj(GZIP)
        while piece := file.read(_PIECE):
            while piece:
                try:
                    inflater.decompress(piece)
                except zlib.error:
                    return whole
                at += len(piece) - len(inflater.unused_data)
                piece = inflater.unused_data
                if inflater.eof:
                    whole, inflater = at, zlib.decompressobj(GZIP)
    return whole


def _complete(path: Path, size: int) -> None:
    if size:
        path.rename(path.with_suffix(""))
    else:
        path.unlink()
    _sync_directory(path.parent)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the lock of a directory: between its creation and its lock, a file looks like a dead process's."""
    file = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _sync_directory(directory: Path) -> None:
    """Make the names of a directory durable."""
    file = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
