"""The web archive: WARC files that other readers read to the end, whatever ends a process."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from fastwarc import ArchiveIterator, WarcRecordType
from warcio.checker import Checker

from crawl_tasks.errors import ArchiveFailed
from crawl_tasks.fetch.archive_reader import archive_files, read_archive
from crawl_tasks.fetch.http_client import Limits, RawResponse
from crawl_tasks.fetch.warc_records import RequestResponse, description
from crawl_tasks.fetch.web_archive import Archive
from crawl_tasks.model import Fetched, Lease, Reach, Request, Stage

URL = "http://forum.example/post/1"
REQUEST = Request("demo", Stage.POST, "1", URL, revision="3", reach=Reach(whole="w1", meta='{"from": "them"}'))
LIMITS = Limits(1 << 20, 1 << 20)

Open = Callable[..., Archive]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    def archive(**limits: float) -> Archive:
        terms = {"file_bytes": 1 << 30, "file_s": 3600.0, "free_bytes": 0} | limits
        return Archive(tmp_path, **terms)  # type: ignore[arg-type]

    return archive


def exchange(body: bytes = b"<h1>one</h1>", status: int = 200, url: str = URL, **sent: str) -> RequestResponse:
    response = RawResponse(status, {"content-type": "text/html", "set-cookie": "sid=s3cret"}, body)
    return RequestResponse(url, {"User-Agent": "crawl_tasks", **sent}, response, time.monotonic(), is_cut=False)


def put(archive: Archive, token: int, *exchanges: RequestResponse, **more: object) -> None:
    lease = Lease(7, token, 1, REQUEST, "v1", 4, deadline_ms=0)
    last = exchanges[-1]
    page = Fetched(last.url, last.response.status, last.response.headers, b"", 9.5, age_s=2.0, seen_at=token / 1000 - 2)
    archive.write("demo", exchanges, description(lease, page), now=1_700_000_000.25, **more)  # type: ignore[arg-type]


def check(path: Path) -> None:
    """Check a file by the tool of warcio and by the other reader, to its end."""
    assert Checker(Namespace(inputs=[str(path)], verbose=False)).process_all() == 0
    assert records(path)


def records(path: Path) -> list[tuple[str, str, Mapping[str, str]]]:
    """Read a file to its end by a reader of others, which checks every digest."""
    found = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, parse_http=False):
            assert record.verify_block_digest()
            if record.record_type is WarcRecordType.response:
                record.parse_http()
                assert record.verify_payload_digest()
            found.append((record.headers["WARC-Type"], record.headers.get("WARC-Target-URI"), dict(record.headers)))
    return found


def test_other_readers_read_what_was_sent_and_what_came(opened: Open, tmp_path: Path) -> None:
    archive = opened()
    robots = exchange(b"User-agent: *", url="http://forum.example/robots.txt")

    put(archive, 1000, robots, exchange(b"", 302, "http://forum.example/p/1"), exchange())
    archive.close()

    [path] = archive_files(tmp_path, "demo")
    assert path.name.endswith(".warc.gz")
    check(path)
    assert [(kind, url) for kind, url, _ in records(path)] == [
        ("warcinfo", None),
        ("response", "http://forum.example/robots.txt"),
        ("request", "http://forum.example/robots.txt"),
        ("response", "http://forum.example/p/1"),
        ("request", "http://forum.example/p/1"),
        ("response", URL),
        ("request", URL),
        ("metadata", URL),
    ]
    # The offset from one clock to the other is taken a moment later.
    assert records(path)[5][2]["WARC-Date"].startswith(("2023-11-14T22:13:19.", "2023-11-14T22:13:20."))


def test_a_page_is_read_back_with_its_lease_and_its_times(opened: Open, tmp_path: Path) -> None:
    archive = opened()

    put(archive, 5000, exchange())

    [page] = [page for path in archive_files(tmp_path, "demo") for page in read_archive(path)]
    assert page.lease == Lease(0, 5000, 1, REQUEST, "v1", 4, deadline_ms=0)
    assert page.decoded(LIMITS) == Fetched(
        URL, 200, {"content-type": "text/html"}, b"<h1>one</h1>", 9.5, 0, 12, age_s=2.0, seen_at=3.0
    )


@pytest.mark.parametrize(
    "value", ["caf\u00e9 \u65e5".encode(), b"caf\xe9", b"\xff\xfe: x", "\u00e9".encode() * 2, b"a\x85b"]
)
def test_a_header_beyond_ascii_is_kept_byte_for_byte_and_read_back_as_the_client_read_it(
    opened: Open, tmp_path: Path, value: bytes
) -> None:
    archive = opened()
    read = {"x-odd": value.decode("latin-1"), "content-type": "text/html"}

    for token in (1000, 2000):  # the second one is a revisit
        one = exchange()
        put(archive, token, one._replace(response=one.response._replace(headers=read)))
    archive.close()

    [path] = archive_files(tmp_path, "demo")
    check(path)
    assert gzip.decompress(path.read_bytes()).count(b"x-odd: " + value + b"\r\n") == 2
    assert [(page.page.headers, page.page.body) for page in read_archive(path)] == [(read, b"<h1>one</h1>")] * 2


def test_what_did_not_change_is_a_revisit_and_is_read_all_the_same(opened: Open, tmp_path: Path) -> None:
    archive = opened()

    put(archive, 1000, exchange())
    put(archive, 2000, exchange())
    put(archive, 3000, exchange(b"", 304))
    archive.close()

    [path] = archive_files(tmp_path, "demo")
    revisits = [headers for kind, _, headers in records(path) if kind == "revisit"]
    assert [one["WARC-Profile"].rpartition("/")[2] for one in revisits] == [
        "identical-payload-digest",
        "server-not-modified",
    ]
    assert revisits[0]["WARC-Refers-To"] == records(path)[1][2]["WARC-Record-ID"]
    assert [(page.page.body, page.page.is_unchanged) for page in read_archive(path)] == [
        (b"<h1>one</h1>", False),
        (b"<h1>one</h1>", False),
        (b"", True),
    ]
    assert [page.lease.token for page in read_archive(path, since=1.5)] == [2000, 3000]


def test_a_file_that_is_full_or_old_is_completed_and_stands_alone(opened: Open, tmp_path: Path) -> None:
    for limits in ({"file_bytes": 100}, {"file_s": 0.0}):
        archive = opened(**limits)
        put(archive, 1000, exchange())
        put(archive, 2000, exchange())
        archive.close()

    paths = archive_files(tmp_path, "demo")
    assert [path.suffix for path in paths] == [".gz"] * 4
    # A revisit never names a record of another file, which may be deleted by then.
    assert {kind for path in paths for kind, _, _ in records(path)} == {"warcinfo", "response", "request", "metadata"}


@pytest.mark.parametrize("cut", [1, 40, 700])
def test_a_part_of_a_record_is_cut_off_by_the_next_start(opened: Open, tmp_path: Path, cut: int) -> None:
    child = f"""
import os, sys
sys.path.insert(0, {str(Path.cwd())!r})
from pathlib import Path
from tests.unit.test_fetch_web_archive import Archive, exchange, put
archive = Archive(Path({str(tmp_path)!r}), file_bytes=1 << 30, file_s=3600, free_bytes=0)
put(archive, 1000, exchange())
put(archive, 2000, exchange(bytes(range(256)) * 9))
os._exit(9)
"""
    subprocess.run([sys.executable, "-c", child], check=False)
    [left] = tmp_path.glob("demo/*.open")
    left.write_bytes(left.read_bytes()[:-cut])

    before = [page.lease.token for page in read_archive(left)]
    archive = opened()
    put(archive, 3000, exchange())
    archive.close()

    first, second = archive_files(tmp_path, "demo")
    for path in (first, second):
        check(path)
    assert [page.lease.token for path in (first, second) for page in read_archive(path)] == [1000, 3000]
    assert before == [1000]


def test_the_file_of_a_living_process_is_left_alone(opened: Open, tmp_path: Path) -> None:
    archive = opened()
    put(archive, 1000, exchange())

    opened().close()

    assert [path.suffix for path in archive_files(tmp_path, "demo")] == [".open"]
    put(archive, 2000, exchange())
    archive.close()
    assert [path.suffix for path in archive_files(tmp_path, "demo")] == [".gz"]


def test_no_credential_is_archived(opened: Open, tmp_path: Path) -> None:
    archive = opened()
    sent = {"Cookie": "sid=s3cret", "Authorization": "Bearer s3cret", "X-Key": "s3cret"}

    put(archive, 1000, exchange(**sent), secret=["x-key"])
    archive.close()

    [path] = archive_files(tmp_path, "demo")
    with path.open("rb") as file:
        texts = [record.reader.read() for record in ArchiveIterator(file, parse_http=False)]
    assert any(b"User-Agent" in text for text in texts)
    assert not any(b"s3cret" in text for text in texts)


def test_a_write_that_fails_leaves_no_part_of_a_record(opened: Open, tmp_path: Path) -> None:
    child = f"""
import resource, sys
sys.path.insert(0, {str(Path.cwd())!r})
from pathlib import Path
from crawl_tasks.errors import ArchiveFailed
from tests.unit.test_fetch_web_archive import Archive, exchange, put
import random
archive = Archive(Path({str(tmp_path)!r}), file_bytes=1 << 30, file_s=3600, free_bytes=0)
put(archive, 1000, exchange())
resource.setrlimit(resource.RLIMIT_FSIZE, (8000, -1))
try:
    put(archive, 2000, exchange(random.Random(1).randbytes(20_000)))
except ArchiveFailed as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
put(archive, 3000, exchange(b"later"))
archive.close()
"""
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True)

    [path] = archive_files(tmp_path, "demo")
    assert done.stdout == f"{tmp_path}/demo: File too large\n"
    check(path)
    assert len(records(path)) == 7
    assert [page.lease.token for page in read_archive(path)] == [1000, 3000]


def test_a_full_disk_is_noticed_before_a_page_is_fetched(opened: Open) -> None:
    with pytest.raises(ArchiveFailed, match=r"the disk of .* is full, \d+ MB are free"):
        opened(free_bytes=1 << 60).check()
