"""One contract, every dialect: SQLite always, PostgreSQL where a server can be had."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from crawl_tasks.local.redis_server import free_port
from crawl_tasks.store.upsert import Store
from tests.asked_programs import POSTGRES
from tests.waiting import PATIENCE_S

PASSWORD = "open-sesame"

MakeStore = Callable[[], Store]


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Hand out the URL of an empty database, another one at each call."""
    numbers = count()
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path}/crawl{next(numbers)}.db"
    server: str = request.getfixturevalue("postgres_server")
    return lambda: empty_schema(server)


@pytest.fixture
def new_store(new_url: Callable[[], str]) -> Iterator[MakeStore]:
    opened: list[Store] = []

    def make() -> Store:
        opened.append(Store(new_url()).open())
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(new_store: MakeStore) -> Store:
    return new_store()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL database in which schemas may be made."""
    if given := os.environ.get("CRAWL_TEST_POSTGRES_URL"):
        yield given
        return
    with new_cluster() as cluster:
        yield cluster.url


@pytest.fixture(scope="session")
def small_cluster() -> Iterator[Cluster]:
    """A PostgreSQL server that a test may stop, and that takes four connections."""
    with new_cluster("-c max_connections=4 -c superuser_reserved_connections=0 -c max_wal_senders=0") as cluster:
        yield cluster


@contextmanager
def new_cluster(options: str = "") -> Iterator[Cluster]:
    """Make and start a PostgreSQL server of the run's own."""
    programs = sorted(Path(os.environ.get(POSTGRES, "/usr/lib/postgresql")).glob("*/bin/initdb"))
    if not programs:
        pytest.skip("no PostgreSQL: set CRAWL_TEST_POSTGRES_URL, or install the package postgresql")
    with tempfile.TemporaryDirectory(prefix="crawl-pg-") as directory:
        cluster = Cluster(programs[-1].parent, Path(directory), options)
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()


class Cluster:
    """A PostgreSQL server of ours on a free port of loopback."""

    def __init__(self, programs: Path, directory: Path, options: str) -> None:
        self._prefix: list[str] = []
        if os.getuid() == 0:  # initdb refuses root
            self._prefix = ["runuser", "-u", "postgres", "--"]
            shutil.chown(directory, "postgres")
        self._data, self._log, self._programs, port = directory / "data", directory / "log", programs, free_port()
        places = "-c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self._options = f"-p {port} {places} -c fsync=off {options}"
        secret = directory / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        flags = ("-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--no-sync")
        self._call("initdb", "-U", "postgres", *flags)
        self.url = f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/postgres"

    def start(self) -> None:
        """Start, and wait until it answers."""
        self._call("pg_ctl", "-w", "-t", str(round(PATIENCE_S)), "-l", str(self._log), "-o", self._options, "start")

    def stop(self) -> None:
        """Stop at once, as a crash does."""
        self._call("pg_ctl", "-w", "-t", str(round(PATIENCE_S)), "-m", "immediate", "stop")

    def _call(self, program: str, *arguments: str) -> None:
        _run(*self._prefix, str(self._programs / program), "-D", str(self._data), *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", check=False)
    assert done.returncode == 0, done.stdout.decode()


_schemas = count()


def empty_schema(server: str) -> str:
    name = f"crawl_test_{os.getpid()}_{next(_schemas)}"
    url = make_url(server).set(drivername="postgresql+psycopg")
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"DROP SCHEMA IF EXISTS {name} CASCADE"))
        connection.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    return url.update_query_dict({"options": f"-csearch_path={name} -capplication_name={name}"}).render_as_string(
        hide_password=False
    )


@pytest.fixture
def unused_port() -> int:
    return free_port()
