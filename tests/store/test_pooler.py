"""A PostgreSQL behind pgbouncer, where each transaction may have another connection to the server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from crawl_tasks.local.redis_server import free_port
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.upsert import Store
from tests.store.conftest import Cluster
from tests.store.rows import dump
from tests.waiting import PATIENCE_S, eventually

BATCHES, PAGES = 30, 4


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def pooled(small_cluster: Cluster) -> Iterator[str]:
    """The URL of an empty database behind a pooler with two connections, each for one transaction."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("no pgbouncer: install the package pgbouncer")
    server, port = make_url(small_cluster.url), free_port()
    engine = create_engine(server.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("CREATE DATABASE pooled TEMPLATE template0"))
    engine.dispose()
    with tempfile.TemporaryDirectory(prefix="crawl-pooler-") as directory:
        place, prefix = Path(directory), list[str]()
        if os.getuid() == 0:  # pgbouncer refuses root
            prefix = ["runuser", "-u", "postgres", "--"]
            shutil.chown(place, "postgres")
        (place / "pooler.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port} user=postgres password={server.password}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\nunix_socket_dir =\n"
            "pool_mode = transaction\ndefault_pool_size = 2\n"
        )
        pooler = subprocess.Popen([*prefix, program, "-q", str(place / "pooler.ini")], stderr=subprocess.DEVNULL)
        try:
            eventually(lambda: answers(port))
            yield f"postgresql://postgres@127.0.0.1:{port}/pooled"
        finally:
            pooler.terminate()
            pooler.wait(timeout=PATIENCE_S)


def pages(writer: int, batch: int) -> list[Items]:
    keys = [f"{writer}-{batch}-{number}" for number in range(PAGES)]
    return [
        Items("demo", posts=(Post(key, 1.0, "b", title=key),), comments=(Comment(key, f"c{key}", 1.0, body=key),))
        for key in keys
    ]


def test_batches_of_several_writers_behind_a_pooler_are_stored_whole(pooled: str) -> None:
    with Store(pooled) as store:

        def write(writer: int) -> None:
            with Store(pooled) as own:
                for batch in range(BATCHES):
                    own.write(pages(writer, batch))

        with ThreadPoolExecutor(4) as writers:
            list(writers.map(write, range(4)))
        rows = dump(store)

    assert (len(rows["posts"]), len(rows["comments"])) == (4 * BATCHES * PAGES, 4 * BATCHES * PAGES)
