"""What the database notes of the ledgers that fill it: whose sites these are, and which of the two is older.

The name of a ledger is INSTALLATION:CELL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import BigInteger, ColumnElement, Connection, String, case, cast, func, select, update

from crawl_tasks.errors import ConfigError
from crawl_tasks.store import tables
from crawl_tasks.store.rows import digest
from crawl_tasks.store.statements import Statements

DEFAULT_INSTALLATION: Final = "crawl"


def refuse_others(connection: Connection, sites: Sequence[str], ledger: str) -> None:
    """Refuse sites that another installation crawls into this database.

    Raises:
        ConfigError: a site is another installation's.
    """
    query = select(tables.sites.c.site, tables.sites.c.installation).where(is_of_others(ledger))
    for site, other in connection.execute(query.order_by(tables.sites.c.site)).all():
        if site in sites:
            raise ConfigError(
                f"site {site}: the installation with CRAWL_REDIS_PREFIX={other} crawls it into this database; end that"
                f" there (crawl-tasks sites remove {site}), or set another CRAWL_DATABASE_URL here"
            )


def is_of_others(ledger: str) -> ColumnElement[bool]:
    """Return the condition that a site is another installation's. NULL, of an earlier version, is anybody's."""
    return func.coalesce(tables.sites.c.installation != installation_of(ledger), False)


def installation_of(ledger: str) -> str:
    """Return the installation of a ledger, which is its name before the cell."""
    return ledger.partition(":")[0]


def epoch_of(ledger: str) -> str:
    """Return the name of the row of a ledger's epoch. That of the default installation names none."""
    installation, _, cell = ledger.partition(":")
    name = f"epoch@{installation}" if installation != DEFAULT_INSTALLATION else "epoch"
    name = f"{name}:{cell}" if cell else name
    return name if len(name) <= tables.META_LENGTH else f"epoch:{digest(name)}"


def drawn_of(ledger: str) -> str:
    """Return the name of the row with the batches that were drawn from a ledger's outbox."""
    name = f"drawn@{ledger}"
    return name if len(name) <= tables.META_LENGTH else f"drawn:{digest(name)}"


def read_drawn(connection: Connection, ledger: str) -> int:
    """Return the greatest number of a batch that was drawn, 0 without one."""
    return int(connection.scalar(select(tables.meta.c.value).where(tables.meta.c.name == drawn_of(ledger))) or 0)


def raise_number(connection: Connection, statements: Statements, name: str, number: int) -> None:
    """Raise a number of table `meta`, unless it is higher."""
    value = cast(tables.meta.c.value, BigInteger)
    higher = cast(case((value > number, value), else_=number), String)
    statements.add(connection, tables.meta, [(name, str(number))])
    connection.execute(update(tables.meta).where(tables.meta.c.name == name).values(value=higher))
