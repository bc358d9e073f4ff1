"""Pages of a dump, in a directory, in a bucket or by a function: below the root, within the limits, never elsewhere."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from crawl_tasks.api import Request as Asked
from crawl_tasks.errors import BadStatus, Crashed, DeadlineExceeded, FetchError, RefusedAddress, SiteError, TooLarge
from crawl_tasks.fetch.dump_files import DumpFiles
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.fetch.throttle import Clock
from crawl_tasks.model import Fetched, Request, Stage
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.loader import parse_site

BASE = "https://forum.example"
RULES = f"""\
name: demo
base: {BASE}
list: {{address: "/list?board={{board}}", record: .row, fields: {{post_id: {{attr: data-id}}}}}}
post: {{address: "/t/{{post}}", fields: {{title: h1}}}}
"""
MOST_BYTES = 1 << 20


def fetch(read_from: str, path: str, more: str = "") -> Fetched:
    site = parse_site(f"{RULES}read_from: {read_from}\n{more}", "demo.yaml")
    fetcher = Fetcher(build_client("curl"))
    try:
        return fetcher.fetch(Request("demo", Stage.POST, "1", BASE + path), compile_site(site, None).policy)
    finally:
        fetcher.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("outside")
    root = tmp_path / "dump"
    (root / "t").mkdir(parents=True)
    (root / "t" / "1").write_text("<h1>one</h1>")
    (root / "t" / "2.html").write_text("<h1>two</h1>")
    (root / "list?board=3").write_text("a list")
    (root / "index.html").write_text("front")
    (root / "t" / "ü b").write_text("spelt")
    return root


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/t/1", "<h1>one</h1>"),
        ("/t/2", "<h1>two</h1>"),
        ("/list?board=3", "a list"),
        ("/", "front"),
        ("/t/%C3%BC%20b", "spelt"),
    ],
)
def test_page_is_the_file_that_wget_writes(root, path, body):
    got = fetch(f"file://{root}", path)

    assert (got.url, got.status, got.body.decode()) == (BASE + path, 200, body)


def test_page_that_the_dump_lacks_counts_as_no_deletion(root):
    with pytest.raises(BadStatus, match="there is no file t/9"):
        fetch(f"file://{root}", "/t/9")


@pytest.mark.parametrize("path", ["/t/%2E%2E/%2E%2E/secret", "/..%2Fsecret", "/t//1", "/t/%00", "/./t/1"])
def test_no_address_leads_out_of_the_root(root, path):
    with pytest.raises(FetchError) as refused:
        DumpFiles(f"file://{root}").read(BASE + path, Clock(time.monotonic() + 60), MOST_BYTES)

    assert isinstance(refused.value, RefusedAddress)


def test_no_symbolic_link_is_followed(root):
    (root / "t" / "link").symlink_to(root.parent / "secret")
    (root / "away").symlink_to(root.parent)

    for path in ("/t/link", "/away/secret"):
        with pytest.raises(RefusedAddress, match="symbolic link"):
            fetch(f"file://{root}", path)


def test_directory_and_named_pipe_are_no_pages(root):
    os.mkfifo(root / "pipe")

    for path in ("/pipe", "/t"):
        with pytest.raises(RefusedAddress, match="is no file"):
            fetch(f"file://{root}", path)


def test_limits_of_size_and_time_hold(root):
    (root / "large").write_bytes(b"a" * 2000)
    files, late = DumpFiles(f"file://{root}"), Clock(time.monotonic() - 1)

    with pytest.raises(TooLarge, match="more than 1024 bytes"):
        fetch(f"file://{root}", "/large", "gate: {max_body_bytes: 1024}\n")
    with pytest.raises(DeadlineExceeded):
        files.read(f"{BASE}/large", late, MOST_BYTES)


def test_dump_in_a_bucket(root):
    import fsspec  # noqa: PLC0415 (an extra)

    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/dump/t/1", b"<h1>one</h1>")

    got = fetch("memory://bucket/dump", "/t/1")
    with pytest.raises(BadStatus):
        fetch("memory://bucket/dump", "/t/2")

    assert got.body == b"<h1>one</h1>"


def shelf(request: Asked) -> bytes | None:
    """Read pages from a scheme of one's own."""
    return {"1": b"<h1>mine</h1>", "2": b"a" * 2000}.get(request.address.rpartition("/")[2])


def careless(request: Asked) -> str:
    return "text"


def test_a_function_reads_what_no_handler_knows():
    here = "tests.unit.test_fetch_dump_files"

    assert fetch(f"{here}:shelf", "/t/1").body == b"<h1>mine</h1>"
    with pytest.raises(BadStatus, match="is not there"):
        fetch(f"{here}:shelf", "/t/9")
    with pytest.raises(TooLarge):
        fetch(f"{here}:shelf", "/t/2", "gate: {max_body_bytes: 1024}\n")
    with pytest.raises(Crashed, match="returned str"):
        fetch(f"{here}:careless", "/t/1")


def test_the_pace_of_the_site_holds_for_a_dump_too(root, pace):
    fetcher = Fetcher(build_client("curl"))
    policy = compile_site(parse_site(f"{RULES}read_from: file://{root}\n", "demo.yaml"), None).policy

    fetcher.fetch(Request("demo", Stage.POST, "1", f"{BASE}/t/1"), policy, "", pace)
    fetcher.close()

    assert pace.said == ["begin", "confirm", "sent"]


@pytest.mark.parametrize(
    "where",
    ["/srv/dump", "https://forum.example", "file://srv/dump", "local:///etc", "simplecache::https://a/b", "dump"],
)
def test_a_source_that_is_none_is_refused(where):
    with pytest.raises(SiteError, match="is no source of pages"):
        parse_site(f"{RULES}read_from: '{where}'\n", "demo.yaml")


def test_threads_share_a_dump(root):
    files, found = DumpFiles(f"file://{root}"), []

    def read() -> None:
        for _ in range(50):
            found.append(files.read(f"{BASE}/t/1", Clock(time.monotonic() + 60), MOST_BYTES))

    threads = [threading.Thread(target=read) for _ in range(4)]
    before = len(os.listdir("/proc/self/fd"))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(found) == {b"<h1>one</h1>"}
    assert len(os.listdir("/proc/self/fd")) <= before
