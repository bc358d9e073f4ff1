"""Load the Lua verbs of the frontier and call them: one EVALSHA a verb.

The text of a script is the hint templates, the prelude and the verb; Redis knows it by its SHA-1.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import cache, partial
from importlib import resources
from typing import Final

import redis
from hiredis import pack_command
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, ReadOnlyError, RedisError, ResponseError

from crawl_tasks.errors import BackendError, RedisUnreachable
from crawl_tasks.frontier.client import PlainConnection
from crawl_tasks.frontier.envelope import hint_templates
from crawl_tasks.frontier.histogram import AGES_S, TIMES_MS

_AT_ONCE: Final = 600  # commands on their way at once

Command = tuple[str | bytes | int, ...]


class Verb(StrEnum):
    """The scripts, by file name."""

    ADMIT = "admit"
    LEASE = "lease"
    TURN = "turn"
    SHARE_ROBOTS = "share_robots"
    COMMIT = "commit"
    FAIL = "fail"
    TICK = "tick"
    PUBLISH = "publish"
    PRODUCE = "produce"
    PAUSE = "pause"
    REVIVE = "revive"
    DROP = "drop"
    RESCHEDULE = "reschedule"
    CENSUS = "census"
    DRAW = "draw"
    STORED = "stored"
    CLAIM = "claim"
    SETTLE = "settle"
    PRESENT = "present"
    ALARM = "alarm"
    FORGET = "forget"
    RECALL = "recall"
    RECALL_BOARD = "recall_board"
    SHELVE = "shelve"
    UNSHELVE = "unshelve"
    KEEP = "keep"
    REOPEN = "reopen"
    AUDIT = "audit"
    AUDIT_SITE = "audit_site"
    AUDIT_GUARD = "audit_guard"
    AUDIT_PAIRS = "audit_pairs"
    AUDIT_ITEMS = "audit_items"
    UNKNOWN = "unknown"
    HEED = "heed"
    HALT = "halt"
    SEIZE = "seize"
    DISMISS = "dismiss"


PRELUDE: Final = (
    "calendar",
    "pace",
    "site",
    "guard",
    "admission",
    "breaker",
    "shares",
    "threshold",
    "turns",
    "release",
    "validator",
)
"""What stands in front of every verb, in this order."""


def _numbers(values: Iterable[int]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


def _quote(text: str) -> str:
    return f"[==[{text}]==]"


OUTBOX_MAX: Final = 5000
"""Pages that may wait for the store before fetching stops."""


def script_text(verb: Verb, hints: Mapping[str, str], outbox_max: int = OUTBOX_MAX) -> str:
    """Put a verb's script together: templates, bounds, prelude, verb."""
    table = ", ".join(f"{queue} = {_quote(hint)}" for queue, hint in hints.items())
    prelude = "\n".join(_read_lua(f"_{part}") for part in PRELUDE)
    bounds = f"local TIMES_MS, AGES_S, OUTBOX_MAX = {_numbers(TIMES_MS)}, {_numbers(AGES_S)}, {outbox_max}"
    return f"local HINTS = {{{table}}}\n{bounds}\n{prelude}\n{_read_lua(verb)}"


@cache  # the prelude stands in every script
def _read_lua(name: str) -> str:
    return (resources.files("crawl_tasks.frontier") / "lua" / f"{name}.lua").read_text("utf-8")


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn redis-py's errors into ours, which every caller knows: a block, or a function, that asks Redis for `what`.

    Raises:
        RedisUnreachable: no connection, or it broke.
        BackendError: Redis refused.
    """
    try:
        yield
    except RedisError as error:
        raise _explanation(what, error) from error


def _explanation(what: str, error: RedisError) -> BackendError:
    if isinstance(error, ResponseError):
        return BackendError(f"Redis refused {what}: {error}")
    return RedisUnreachable(f"Redis did not answer {what}: {error}; is it running and is CRAWL_REDIS_URL right?")


class Scripts:
    """The verbs on one Redis. Thread-safe."""

    def __init__(self, client: redis.Redis, prefix: str, outbox_max: int = OUTBOX_MAX) -> None:
        self._pool = client.connection_pool
        self._of_thread = threading.local()
        self._prefix = prefix
        hints = hint_templates()
        self._texts = {verb: script_text(verb, hints, outbox_max) for verb in Verb}
        self._shas = {
            verb: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest() for verb, text in self._texts.items()
        }

    def call(self, verb: Verb, *args: str | bytes | int) -> list[object]:
        """Run a verb and give its reply; byte strings stay bytes.

        A verb whose connection broke is sent once more: the guard, the token and the board's state make every
        verb harmless when it took effect the first time.

        Raises:
            RedisUnreachable: no connection, or it broke; whether the verb took effect is not known.
            BackendError: Redis refused: out of memory, read-only, a script error.
        """
        try:
            try:
                reply = self._ask(verb, args)
            except RedisConnectionError:
                reply = self._ask(verb, args)
        except RedisError as error:
            raise _explanation(verb, error) from error
        if not isinstance(reply, list):
            raise BackendError(
                f"Redis answered {verb} with {type(reply).__name__}, not a list; is something in between?"
            )
        return reply

    def read_all(self, what: str, commands: Sequence[Command]) -> list[object]:
        """Send commands that only read, in few round trips; give the replies in order.

        Raises:
            RedisUnreachable: no connection, or it broke.
            BackendError: Redis refused.
        """
        replies: list[object] = []
        with explained(what):
            for start in range(0, len(commands), _AT_ONCE):
                replies += self._ask_all(commands[start : start + _AT_ONCE])
        return replies

    def _ask_all(self, commands: Sequence[Command]) -> list[object]:
        connection = self._own().connection
        try:
            connection.send_packed_command(connection.pack_commands(commands))
            return [connection.read_response() for _ in commands]
        except BaseException:  # the other replies are still on their way
            connection.disconnect()
            raise

    def _ask(self, verb: Verb, args: tuple[str | bytes | int, ...]) -> object:
        """Send on this thread's own connection, without the client above it: half the CPU of `client.evalsha`."""
        own = self._own()
        connection = own.connection
        try:
            # its stub means a tuple of one
            command = pack_command(("EVALSHA", self._shas[verb], 1, self._prefix, *args))  # type: ignore[arg-type]
            try:
                return own.exchange(command)
            except NoScriptError:
                connection.send_command("EVAL", self._texts[verb], 1, self._prefix, *args)
                return connection.read_response()
        except ResponseError as error:
            if isinstance(error, ReadOnlyError):  # the master is another one by now, or will be
                connection.disconnect()
            raise
        except BaseException:  # Ctrl-C too: the reply is still on its way, and would be the next caller's
            connection.disconnect()
            raise

    def _own(self) -> Own:
        own: Own | None = getattr(self._of_thread, "own", None)
        if own is None:
            own = self._of_thread.own = Own(self._pool)
        if not own.connection.is_connected:  # send_command would go to the same host: behind Sentinels, the old master
            own.connection.connect()
        return own


def _exchange(connection: redis.Connection, command: bytes) -> object:
    connection.send_packed_command((command,))
    return connection.read_response()


class Own:
    """A connection for as long as a thread lives; the pool gets it back when the thread has ended."""

    __slots__ = ("_pool", "connection", "exchange")

    def __init__(self, pool: redis.ConnectionPool) -> None:
        self._pool = pool
        connection = self.connection = pool.get_connection()
        self.exchange = (
            connection.exchange if isinstance(connection, PlainConnection) else partial(_exchange, connection)
        )

    def __del__(self) -> None:
        if hasattr(self, "connection"):  # the pool may have had none to give
            self._pool.release(self.connection)
