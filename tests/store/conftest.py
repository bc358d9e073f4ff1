"""One contract, every dialect: SQLite always, PostgreSQL where a server can be had."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from crawl_tasks.store.upsert import Store

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
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("no PostgreSQL: set CRAWL_TEST_POSTGRES_URL, or install the package postgresql")
    with tempfile.TemporaryDirectory(prefix="crawl-pg-") as directory:
        yield from _private_cluster(programs[-1].parent, Path(directory))


def _private_cluster(programs: Path, directory: Path) -> Iterator[str]:
    prefix: list[str] = []
    user = pwd.getpwuid(os.getuid()).pw_name
    if os.getuid() == 0:  # initdb refuses root
        user, prefix = "postgres", ["runuser", "-u", "postgres", "--"]
        shutil.chown(directory, user)
    data, port = directory / "data", _free_port()
    options = f"-p {port} -k {directory} -c listen_addresses=127.0.0.1 -c fsync=off"
    secret = directory / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    flags = ("-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--no-sync")
    _run(*prefix, str(programs / "initdb"), "-D", str(data), "-U", user, *flags)
    _run(*prefix, str(programs / "pg_ctl"), "-D", str(data), "-w", "-l", str(directory / "log"), "-o", options, "start")
    try:
        yield f"postgresql://{user}:{PASSWORD}@127.0.0.1:{port}/postgres"
    finally:
        _run(*prefix, str(programs / "pg_ctl"), "-D", str(data), "-w", "-m", "immediate", "stop")


def _run(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", check=False)
    assert done.returncode == 0, done.stdout.decode()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


_schemas = count()


def empty_schema(server: str) -> str:
    name = f"crawl_test_{os.getpid()}_{next(_schemas)}"
    url = make_url(server).set(drivername="postgresql+psycopg")
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"DROP SCHEMA IF EXISTS {name} CASCADE"))
        connection.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    return url.update_query_dict({"options": f"-csearch_path={name}"}).render_as_string(hide_password=False)


@pytest.fixture
def unused_port() -> int:
    return _free_port()
