"""States of what an installation stands on: Redis, cells, the database, disks and the browser."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from typing import Final

import psycopg

from crawl_tasks.local.redis_server import RedisServer
from tests.flow.world import CELERY
from tests.store.conftest import PASSWORD, new_cluster
from tests.watched.places import Installation
from tests.watched.processes import ends
from tests.watched.whole import Act, WholeState, nothing

# -- Redis and its cells -----------------------------------------------------------------------------------------


def _fill_redis(there: Installation) -> None:
    there.world.client.config_set("maxmemory", 1)


def _nearly_fill_redis(there: Installation) -> None:
    used = there.world.client.info("memory")["used_memory"]
    there.world.client.config_set("maxmemory", round(used * 1.15))


def _free_redis(there: Installation) -> None:
    there.world.client.config_set("maxmemory", 0)


def _empty_redis(there: Installation) -> None:
    there.world.client.flushall()


def _second_cell(there: Installation) -> None:
    there.scrape_s = 6  # a cell that hangs is waited for
    there.other = RedisServer(there.world.directory / "b")
    there.other.start()
    there.stack.callback(there.other.stop)
    there.world.environment |= {"CRAWL_REDIS_URL": f"a={there.server.url} b={there.other.url}", "CRAWL_CELL": "a"}


def _serve_second_cell(there: Installation) -> None:
    with there.world.environment_of(CRAWL_CELL="b"):
        there.world.start_worker("other", "list,detail,store")
        there.world.start("otherbeat", *CELERY, "beat")


def _freeze_cell(there: Installation) -> None:
    os.kill(there.other.pid, signal.SIGSTOP)


def _thaw_cell(there: Installation) -> None:
    os.kill(there.other.pid, signal.SIGCONT)


# -- SQLite and disks --------------------------------------------------------------------------------------------


def _lock_database(there: Installation) -> None:
    locker = sqlite3.connect(there.database, isolation_level=None)
    locker.execute("begin exclusive")
    there.held.enter_context(closing(locker))


def _unlock_database(there: Installation) -> None:
    there.held.close()


def _runs(*statements: str) -> Act:
    def act(there: Installation) -> None:
        with closing(sqlite3.connect(there.database)) as database:
            for statement in statements:
                database.execute(statement)
            database.commit()

    return act


def _limits_files(size: str, *names: str) -> Act:
    """Let processes write no file beyond a size, as on a full disk."""

    def act(there: Installation) -> None:
        for name in names:
            pid = there.world.processes[name].pid
            subprocess.run(["prlimit", f"--pid={pid}", f"--fsize={size}:"], check=True)

    return act


def _small_outbox(there: Installation) -> None:
    there.world.environment["CRAWL_OUTBOX_MAX"] = "4"


# -- PostgreSQL --------------------------------------------------------------------------------------------------

_AWAY: Final = "alter role postgres password 'changed'"
_BACK: Final = f"alter role postgres password '{PASSWORD}'"
_END_ALL: Final = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"


def _postgres(there: Installation) -> None:
    there.cluster = there.stack.enter_context(new_cluster())
    there.world.environment["CRAWL_DATABASE_URL"] = there.cluster.url


def _latin_postgres(there: Installation) -> None:
    _postgres(there)
    _asks("create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0")(there)
    there.world.environment["CRAWL_DATABASE_URL"] = f"{there.cluster.url.rpartition('/')[0]}/latin"


def _asks(*statements: str, of: str = "postgres", password: str = PASSWORD) -> Act:
    def act(there: Installation) -> None:
        url = there.cluster.url.rpartition("/")[0].replace(PASSWORD, password)
        with psycopg.connect(f"{url}/{of}", autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]  # texts of ours

    return act


def _stop_postgres(there: Installation) -> None:
    there.cluster.stop()


def _start_postgres(there: Installation) -> None:
    there.cluster.start()


def _lock_table(there: Installation) -> None:
    connection = there.held.enter_context(closing(psycopg.connect(there.cluster.url)))
    connection.execute("lock table comments in access exclusive mode")


# -- The browser -------------------------------------------------------------------------------------------------

_DRAWN: Final = "render: true\n"


def _draw(there: Installation) -> None:
    there.world.worker("render", "render", "-c", "1")


def _dying_browser(there: Installation) -> None:
    program = there.world.directory / "bin" / "chromium"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o700)
    there.world.environment["PATH"] = f"{program.parent}{os.pathsep}{there.world.environment['PATH']}"


_STORE_FAILS: Final = ("CrawlStoreFails",)

BACKEND_STATES = (
    WholeState("full", "Redis is full", ("CrawlRedisRefuses",), _fill_redis, _free_redis),
    WholeState("nearlyfull", "Redis is nearly full", ("CrawlRedisMemory",), _nearly_fill_redis, _free_redis),
    WholeState("emptied", "Redis was emptied", ("CrawlHalted",), _empty_redis, types="recover"),
    WholeState("celldown", "one of two cells is away", ("CrawlCellDown b",), lambda there: there.other.stop(),
               lambda there: there.other.start(), _second_cell, _serve_second_cell),
    WholeState("cellfrozen", "one of two cells does not answer", ("CrawlCellDown b",), _freeze_cell, _thaw_cell,
               _second_cell, _serve_second_cell),
    WholeState("locked", "the database is locked", _STORE_FAILS, _lock_database, _unlock_database),
    WholeState("tableless", "a table of the database is gone", _STORE_FAILS,
               _runs("alter table comments rename to comments_away"),
               _runs("drop table if exists comments", "alter table comments_away rename to comments")),
    WholeState("diskfull", "the disk of the database is full", _STORE_FAILS, _limits_files("1", "store"),
               _limits_files("unlimited", "store")),
    WholeState("rejecting", "the database takes no comment", ("CrawlItemsRejected",),
               _runs("create trigger no before insert on comments begin select raise(abort, 'not this one'); end"),
               _runs("drop trigger no"), types="failed retry"),
    WholeState("outboxfull", "no worker stores, and the outbox is full", ("CrawlNoWorker store",),
               ends("store"), prepare=_small_outbox, types="celery"),
    WholeState("unarchived", "the disk of the archive is full", ("CrawlArchiveFails forum",),
               _limits_files("1", "list", "detail"), _limits_files("unlimited", "list", "detail"),
               site="archive: true\n"),
    WholeState("pgstopped", "PostgreSQL is stopped", _STORE_FAILS, _stop_postgres, _start_postgres, _postgres),
    WholeState("pgreadonly", "PostgreSQL is read-only", _STORE_FAILS,
               _asks("alter database postgres set default_transaction_read_only = on", _END_ALL),
               _asks("set default_transaction_read_only = off",
                     "alter database postgres reset default_transaction_read_only", _END_ALL), _postgres),
    WholeState("pgtableless", "a table of PostgreSQL is gone", _STORE_FAILS,
               _asks("alter table comments rename to comments_away"),
               _asks("drop table if exists comments", "alter table comments_away rename to comments"), _postgres),
    WholeState("pgrefusing", "PostgreSQL takes no connection", _STORE_FAILS,
               _asks("alter database postgres allow_connections false", _END_ALL, of="template1"),
               _asks("alter database postgres allow_connections true", of="template1"), _postgres),
    WholeState("pgpassword", "the password of PostgreSQL was changed", _STORE_FAILS, _asks(_AWAY, _END_ALL),
               _asks(_BACK, password="changed"), _postgres),
    WholeState("pglocked", "a table of PostgreSQL is locked", _STORE_FAILS, _lock_table,
               _unlock_database, _postgres),
    WholeState("pglatin", "PostgreSQL has another encoding", _STORE_FAILS, nothing,
               prepare=_latin_postgres, is_from_start=True, ends=False),
    WholeState("undrawn", "the worker that draws is killed", ("CrawlNoWorker render",), ends("render"),
               before=_draw, site=_DRAWN, types="celery"),
    WholeState("browserless", "the browser ends at once", ("CrawlNoPages forum",), nothing, prepare=_dying_browser,
               before=_draw, site=_DRAWN, is_from_start=True, ends=False),
)  # fmt: skip
