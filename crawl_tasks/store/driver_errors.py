"""Driver errors: an exception of the database becomes one line with the place, the meaning and the remedy."""

from __future__ import annotations

from typing import Final

from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from crawl_tasks.errors import StoreError

# A word of the driver's message, the meaning, the remedy. The first that is found counts.
REMEDIES: Final = (
    ("unable to open database file", "the file cannot be opened", "check that its directory exists and is writable"),
    ("readonly database", "the file is read-only", "make the file and its directory writable for this user"),
    ("read-only transaction", "the server is read-only", "point the URL at the primary server"),
    ("database is locked", "another process holds the database", "end that process; the batch is not lost"),
    ("disk is full", "the disk is full", "free some space; the batch is not lost"),
    ("no space left", "the server's disk is full", "free some space; the batch is not lost"),
    ("not a database", "the file is not an SQLite database", "name another file, or move this one away"),
    ("malformed", "the file is damaged", "restore a backup, or move it away and crawl again"),
    ("disk i/o error", "the disk fails", "look at the system's log"),
    ("no such table", "the file is not the one that was opened", "put it back, or restart to begin a new one"),
    ("password authentication failed", "user or password is wrong", "mend the database URL"),
    ("no password supplied", "the server wants a password", "put it into the database URL"),
    ("prepared statement", "a pooler is between, as pgbouncer", "the batch is tried again without them"),
    ("does not exist", "the server lacks a database, role or table", "create it, or mend the database URL"),
    ("permission denied", "this user may not do that", "grant it CREATE and USAGE on the schema"),
    ("connection refused", "no server listens there", "start it, or mend host and port in the database URL"),
    ("could not translate host", "the host is not known", "mend the host in the database URL"),
    ("failed to resolve host", "the host is not known", "mend the host in the database URL"),
    ("timeout expired", "the server does not answer", "check host, port and firewall"),
    ("too many clients", "the server has no connection left", "raise max_connections, or run fewer store workers"),
    ("too many connections", "the server has no connection left", "raise the limit, or run fewer store workers"),
    ("remaining connection slots", "the server has no connection left", "raise max_connections"),
    ("deadlock", "two writers waited for each other", "nothing to do: the batch is tried again"),
    ("could not serialize", "two writers met", "nothing to do: the batch is tried again"),
    ("statement timeout", "the statement took longer than the server allows", "the batch is tried again"),
    ("lock timeout", "another process holds the rows", "the batch is tried again"),
    ("is starting up", "the server is starting", "wait for it; the batch is not lost"),
    ("is shutting down", "the server is stopping", "wait for it; the batch is not lost"),
    ("terminating connection", "the server closed the connection", "wait for it; the batch is not lost"),
    ("server closed the connection", "the server went away", "wait for it; the batch is not lost"),
    ("connection is closed", "the connection is closed", "wait for the server; the batch is not lost"),
)


def explain(error: Exception, url: URL | str) -> StoreError:
    """Return an error of the driver, of SQLAlchemy or of the file system as one line, never with the password."""
    where = without_password(url)
    if isinstance(error, NoSuchModuleError):
        return StoreError(f"store: {where}: unknown kind of database; use sqlite:///FILE or postgresql://...")
    if isinstance(error, ArgumentError):
        return StoreError("store: the database URL cannot be read; write sqlite:///FILE or postgresql://USER@HOST/NAME")
    if isinstance(error, ModuleNotFoundError):
        return StoreError(f"store: {where}: the driver {error.name} is missing; pip install 'crawl-tasks[postgres]'")
    text = _first_line(error)
    if not isinstance(url, str) and url.password:
        text = text.replace(str(url.password), "***")
    for word, meaning, remedy in REMEDIES:
        if word in text.lower():
            return StoreError(f"store: {where}: {meaning}; {remedy} ({text})")
    return StoreError(f"store: {where}: {text}")


def without_password(url: URL | str) -> str:
    """Return a database's address without its password."""
    if isinstance(url, str):
        return url.rpartition("@")[2]
    if url.get_backend_name() == "sqlite":
        return url.database or "memory"
    return url.set(query={}).render_as_string(hide_password=True)


def is_passing(error: DBAPIError) -> bool:
    """Return whether the same batch may succeed at once: a lost connection, a deadlock, a serialization failure."""
    return error.connection_invalidated or getattr(error.orig, "sqlstate", None) in {"40001", "40P01"}


def is_of_values(error: DBAPIError) -> bool:
    """Return whether the database refuses a value of the batch: too large, or of the wrong type."""
    if isinstance(error, DataError | IntegrityError):
        return True
    # sqlite3 and psycopg have no class of their own for a Python value that they cannot bind.
    text = str(error.orig).lower()
    mismatch = getattr(error.orig, "sqlstate", None) == "42804"
    return mismatch or "binding parameter" in text or "cannot adapt" in text


def _first_line(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    text = str(cause) if not isinstance(error, SQLAlchemyError) or cause is not error else error._message()
    return text.strip().partition("\n")[0] or type(cause).__name__
