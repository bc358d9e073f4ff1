"""What the database notes of the ledgers that fill it: whose sites these are, and which of the two is older.

The name of a ledger is INSTALLATION:CELL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import BigInteger, ColumnElement, Connection, String, case, cast, select, update

from crawl_tasks.errors import ConfigError
from crawl_tasks.store import tables
from crawl_tasks.store.rows import digest
from crawl_tasks.store.statements import Statements

DEFAULT_INSTALLATION: Final = "crawl"
UNHEARD: Final = 1000
"""More changes than store workers commit before their ledger hears of one."""
_LOST: Final = "lost@"
_IS_OF_CHANGES: Final = (tables.meta.c.name == "change") | tables.meta.c.name.startswith(_LOST)
_VALUE: Final = cast(tables.meta.c.value, BigInteger)


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
    """Return the condition that a site is another installation's."""
    return tables.sites.c.installation != installation_of(ledger)


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


def own_change_of(ledger: str) -> str:
    """Return the name of the row with the last change by the pages of a ledger."""
    name = f"change@{ledger}"
    return name if len(name) <= tables.META_LENGTH else f"change:{digest(name)}"


def read_number(connection: Connection, name: str) -> int | None:
    """Return a number of table `meta`, None without one."""
    value = connection.scalar(select(tables.meta.c.value).where(tables.meta.c.name == name))
    return None if value is None else int(value)


def read_changes(connection: Connection) -> tuple[int, list[tuple[int, int]]]:
    """Return the last change, 0 without one, and the changes that a restore took back, as (after, up to)."""
    at = tables.meta.c
    notes = dict(map(tuple, connection.execute(select(at.name, at.value).where(_IS_OF_CHANGES))))
    last = int(notes.pop("change", 0))
    return last, [(int(begin), int(name.removeprefix(_LOST))) for name, begin in notes.items()]


def note_lost(connection: Connection, statements: Statements, begin: int, end: int) -> None:
    """Note that the changes after `begin` and up to `end` were lost by a restore, for readers that have seen them."""
    if begin < end:
        statements.add(connection, tables.meta, [(f"{_LOST}{end}", str(begin))])


def raise_number(connection: Connection, statements: Statements, name: str, number: int) -> None:
    """Raise a number of table `meta`, unless it is higher."""
    higher = cast(case((number < _VALUE, _VALUE), else_=number), String)
    statements.add(connection, tables.meta, [(name, str(number))])
    connection.execute(update(tables.meta).where(tables.meta.c.name == name).values(value=higher))


def note_own_change(connection: Connection, statements: Statements, ledger: str, change: int, acked: int) -> None:
    """Note the change by some pages of a ledger, of which Redis knows the changes up to `acked`.

    A database that lacks some of those was restored. It stays behind, or its next changes would hide that.
    """
    name = own_change_of(ledger)
    if acked:
        is_whole = (tables.meta.c.name == name) & (acked <= _VALUE)
        connection.execute(update(tables.meta).where(is_whole).values(value=str(change)))
    else:
        raise_number(connection, statements, name, change)
