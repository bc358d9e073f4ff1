"""The calls of the frontier's Lua verbs: one FCALL a verb, of the library that redis_functions.py writes."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Final, cast

import redis
from hiredis import pack_command
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ReadOnlyError, RedisError, ResponseError

from crawl_tasks.errors import BackendError, RedisUnreachable
from crawl_tasks.frontier.envelope import hint_templates
from crawl_tasks.frontier.redis_client import ThreadConnection
from crawl_tasks.frontier.redis_functions import LIBRARY, OUTBOX_MAX, Verb, lua_text, named_library

_AT_ONCE: Final = 600  # commands in one pipeline

Command = tuple[str | bytes | int, ...]

_ANSWERED: Final = frozenset({Verb.LEASE, Verb.COMMIT, Verb.FAIL, Verb.ADMIT})
"""The verbs that answer a call that is sent a second time as they did before: lib/answers.lua."""
_ENDS: Final = frozenset({Verb.COMMIT, Verb.FAIL})
"""Those whose calls are named by the lease that they end: site, number and token."""

MOST_LIBRARIES: Final = 8
"""The most libraries of ours in one Redis. With more, all but the newest go, and those in use come back by one call."""


@contextmanager
def explained(subject: str) -> Iterator[None]:
    """Turn redis-py's errors into ours, around a block or a function that asks Redis for a `subject`.

    Raises:
        RedisUnreachable: there is no connection, or a broken one.
        BackendError: Redis refused.
    """
    try:
        yield
    except RedisError as error:
        raise _explanation(subject, error) from error


def _explanation(subject: str, error: RedisError) -> BackendError:
    if isinstance(error, ResponseError):
        return BackendError(f"Redis refused {subject}: {error}")
    return RedisUnreachable(f"Redis did not answer {subject}: {error}; is it running and is CRAWL_REDIS_URL right?")


class Scripts:
    """The verbs on one Redis. Thread-safe."""

    def __init__(self, client: redis.Redis, prefix: str, outbox_max: int = OUTBOX_MAX) -> None:
        self._pool = client.connection_pool
        self._of_thread = threading.local()
        self._library, self._text = named_library(lua_text(hint_templates(), outbox_max))
        self._heads = {
            verb: ("FCALL", f"{self._library}_{verb.name}", 2 if verb in _ANSWERED else 1, prefix) for verb in Verb
        }
        self._calls = count()
        self._prefix = prefix

    def call(self, verb: Verb, *args: str | bytes | int) -> list[object]:
        """Run a verb and return the reply. Byte strings stay bytes.

        After a broken connection a verb is sent once more. The guard, the token and the board's state make a verb
        harmless that has already taken effect, and leases and their ends get the answer that was lost.

        Raises:
            RedisUnreachable: there is no connection, or a broken one. The verb may have taken effect.
            BackendError: Redis refused: out of memory, read-only, a script error.
        """
        try:
            if verb not in _ANSWERED:
                reply = self._ask_twice(verb, args, args)
            else:
                name = ":".join(map(str, (verb.name, *args[:3]))) if verb in _ENDS else next(self._calls)
                call = f"{self._caller()} {name}"
                reply = self._ask_twice(verb, (call, *args), (f"{call} again", *args))
        except RedisError as error:
            raise _explanation(verb, error) from error
        if not isinstance(reply, list):
            raise BackendError(
                f"Redis answered {verb} with {type(reply).__name__}, not a list; is something in between?"
            )
        return reply

    def _ask_twice(self, verb: Verb, args: Command, again: Command) -> object:
        try:
            return self._ask(verb, args)
        except RedisConnectionError:
            return self._ask(verb, again)

    def _caller(self) -> str:
        """Return the name of this thread, by chance. It begins as keys do: users of Redis may name no other keys."""
        name: str | None = getattr(self._of_thread, "name", None)
        if name is None:
            name = self._of_thread.name = f"{self._prefix}:{secrets.token_hex(6)}"
        return name

    def repeat(self, verb: Verb, times: int, *args: str | bytes | int) -> list[list[object]]:
        """Run a verb several times in one round trip, each as a script of its own, and return the replies.

        Raises:
            RedisUnreachable, BackendError: as `call`. Some of the scripts may have run.
        """
        if times == 1:
            return [self.call(verb, *args)]
        with explained(verb):
            return cast("list[list[object]]", self._ask_all([(*self._heads[verb], *args)] * times))

    def read_all(self, subject: str, commands: Sequence[Command]) -> list[object]:
        """Send commands that only read, in few round trips, and return the replies in order.

        Raises:
            RedisUnreachable: there is no connection, or a broken one.
            BackendError: Redis refused.
        """
        replies: list[object] = []
        with explained(subject):
            for start in range(0, len(commands), _AT_ONCE):
                replies += self._ask_all(commands[start : start + _AT_ONCE])
        return replies

    def _ask_all(self, commands: Sequence[Command]) -> list[object]:
        connection = self._of_this_thread().connection
        try:
            connection.send_packed_command(connection.pack_commands(commands))
            return [connection.read_response() for _ in commands]
        except BaseException:
            # The other replies are still on their way, and would be read as replies to the next command.
            connection.disconnect()
            raise

    def _ask(self, verb: Verb, args: tuple[str | bytes | int, ...]) -> object:
        """Send a verb on this thread's own connection, without redis-py's client: half the CPU of `client.evalsha`."""
        own = self._of_this_thread()
        connection = own.connection
        try:
            # hiredis' stub declares a tuple of one element.
            command = pack_command((*self._heads[verb], *args))  # type: ignore[arg-type]
            try:
                return own.exchange(command)
            except ResponseError as error:
                if "Function not found" not in str(error):
                    raise
                self._load(connection)
                return own.exchange(command)
        except ResponseError as error:
            # A read-only server is no master any more. Behind Sentinels a new connection goes to the new master.
            if isinstance(error, ReadOnlyError):
                connection.disconnect()
            raise
        except BaseException:
            # After Ctrl-C too the reply is still on its way, and would be read by the next caller.
            connection.disconnect()
            raise

    def _load(self, connection: redis.Connection) -> None:
        """Load the library into a Redis that does not have it: a new one, a restored one, or after FUNCTION FLUSH."""
        connection.send_command("FUNCTION", "LIST", "LIBRARYNAME", f"{LIBRARY}*")
        # A map in RESP3, a flat list in RESP2.
        listed = connection.read_response()
        names = [library[b"library_name"] if isinstance(library, dict) else library[1] for library in listed]
        for name in names if len(names) >= MOST_LIBRARIES else ():
            connection.send_command("FUNCTION", "DELETE", name)
            with suppress(ResponseError):  # another process deleted it
                connection.read_response()
        connection.send_command("FUNCTION", "LOAD", "REPLACE", self._text)
        connection.read_response()

    def _of_this_thread(self) -> ThreadConnection:
        own: ThreadConnection | None = getattr(self._of_thread, "own", None)
        if own is None:
            own = self._of_thread.own = ThreadConnection(self._pool)
        # send_command would reconnect to the same host, behind Sentinels the old master. connect() asks the Sentinels.
        if not own.connection.is_connected:
            own.connection.connect()
        return own


__all__ = ["MOST_LIBRARIES", "OUTBOX_MAX", "Command", "Scripts", "Verb", "explained"]
