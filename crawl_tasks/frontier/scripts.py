"""The Lua verbs of the frontier: one library of Redis functions, and one FCALL a verb.

The text of the library is the hint templates, the prelude and all verbs. The hash of the text names the library, so
that workers of several versions call their own. Redis Functions need Redis 7.0 or Valkey.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final, cast

import redis
from hiredis import pack_command
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ReadOnlyError, RedisError, ResponseError

from crawl_tasks.errors import BackendError, RedisUnreachable
from crawl_tasks.frontier.envelope import hint_templates
from crawl_tasks.frontier.histogram import AGES_S, TIMES_MS
from crawl_tasks.frontier.redis_client import ThreadConnection

_AT_ONCE: Final = 600  # commands in one pipeline

Command = tuple[str | bytes | int, ...]


class Verb(StrEnum):
    """The scripts, by file name."""

    ADMIT = "request/admit"
    LEASE = "request/lease"
    RESERVE_SLOT = "request/reserve_slot"
    SHARE_ROBOTS = "site/share_robots"
    NOTE_PARSING = "request/note_parsing"
    COMMIT = "request/commit"
    FAIL = "request/fail"
    TICK = "request/tick"
    PUBLISH = "site/publish"
    STAGE_BOARDS = "site/stage_boards"
    PUBLISH_BOARDS = "site/publish_boards"
    PRODUCE = "request/produce"
    PAUSE = "site/pause"
    RETRY_FAILED = "admin/retry_failed"
    DROP_FAILED = "admin/drop_failed"
    RESCHEDULE = "site/reschedule"
    COUNT_REQUESTS = "admin/count_requests"
    READ_OUTBOX = "items/read_outbox"
    ACK_OUTBOX = "items/ack_outbox"
    CLAIM_STARTS = "request/claim_starts"
    ADMIT_STARTS = "request/admit_starts"
    HEARTBEAT = "admin/heartbeat"
    NOTE_ALERTS = "admin/note_alerts"
    NOTE_READING = "admin/note_reading"
    WIPE_SITE = "admin/wipe_site"
    RESTORE_REQUESTS = "admin/restore_requests"
    RESTORE_BOARD = "admin/restore_board"
    REJECT_ITEMS = "items/reject_items"
    REQUEUE_REJECTED = "items/requeue_rejected"
    KEEP_PAGE = "request/keep_page"
    CLOSE_BREAKER = "site/close_breaker"
    LIST_BOARDS = "admin/list_boards"
    AUDIT = "admin/audit"
    AUDIT_SITE = "admin/audit_site"
    AUDIT_GUARD = "admin/audit_guard"
    AUDIT_PAIRS = "admin/audit_pairs"
    AUDIT_ITEMS = "admin/audit_items"
    FIND_UNKNOWN = "admin/find_unknown"
    SET_CRAWL_DELAY = "site/set_crawl_delay"
    NOTE_VALIDATION = "site/note_validation"
    PAUSE_ALL = "site/pause_all"
    LOCK_RECOVERY = "admin/lock_recovery"
    DISCARD_REJECTED = "admin/discard_rejected"
    RESTORE_DECISIONS = "admin/restore_decisions"
    ACK_DECISIONS = "admin/ack_decisions"
    READDRESS = "admin/readdress"
    COUNT_OWN = "request/count_own"
    FLUSH_GUARD = "site/flush_guard"
    FLUSH_QUEUE = "site/flush_queue"
    REMOVE_SITE = "site/remove_site"
    WITHDRAW = "site/withdraw"
    RUN_ONLY = "site/run_only"
    BEGIN_LOGIN = "site/begin_login"
    END_LOGIN = "site/end_login"
    BEGIN_TRANSFER = "site/begin_transfer"
    FREEZE_SITE = "site/freeze_site"
    RECEIVE_SITE = "site/receive_site"
    COPY_KEYS = "site/copy_keys"
    THAW_SITE = "site/thaw_site"
    PLAN_BOARDS = "site/plan_boards"
    DROP_KEYS = "site/drop_keys"


PRELUDE: Final = (
    "lib/quiet_hours",
    "lib/revisit",
    "lib/backoff",
    "lib/site",
    "lib/failures",
    "lib/decisions",
    "lib/guard",
    "lib/admission",
    "lib/news",
    "lib/scan",
    "lib/boards",
    "lib/circuit_breaker",
    "lib/fair_share",
    "lib/backlog_limit",
    "lib/slots",
    "lib/release",
    "lib/http_validator",
    "lib/lease",
    "lib/idle",
)
"""The library in front of every verb, in this order."""


def _numbers(values: Iterable[int]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


def _quote(text: str) -> str:
    return f"[==[{text}]==]"


OUTBOX_MAX: Final = 5000
"""The most pages that may wait for the store. With more, fetching stops."""


LIBRARY: Final = "crawl_tasks_"
"""How the names of our libraries begin. The hash of the text follows."""

MOST_LIBRARIES: Final = 8
"""The most libraries of ours in one Redis. With more, all but the newest go, and those in use come back by one call."""


def lua_text(hints: Mapping[str, str], outbox_max: int = OUTBOX_MAX) -> str:
    """Return the Lua of the library without its first line: templates, bounds, prelude, verbs as `VERBS[name]`."""
    table = ", ".join(f"{queue} = {_quote(hint)}" for queue, hint in hints.items())
    prelude = "\n".join(scoped(part) for part in PRELUDE)
    bounds = f"local TIMES_MS, AGES_S, OUTBOX_MAX = {_numbers(TIMES_MS)}, {_numbers(AGES_S)}, {outbox_max}"
    verbs = "\n".join(f"VERBS['{verb.name}'] = function(KEYS, ARGV)\n{read_lua(verb)}\nend" for verb in Verb)
    return f"local HINTS = {{{table}}}\n{bounds}\n{prelude}\nlocal VERBS = {{}}\n{verbs}"


def scoped(part: str) -> str:
    """Return a file of the prelude as a block. Its header names the functions and constants for other files."""
    # Lua allows 200 local names in one function, and the whole library is one.
    text = read_lua(part)
    exports = ", ".join(name for line in re.findall("^-- EXPORTS: (.+)$", text, re.MULTILINE) for name in line.split())
    return f"local {exports}\ndo\n{text}\nend"


def named_library(text: str) -> tuple[str, str]:
    """Return the name of a library, and its text with the lines that name it and register its functions."""
    name = LIBRARY + hashlib.sha256(text.encode()).hexdigest()[:16]
    flags = {verb: re.search("^-- FLAGS: (.+)$", read_lua(verb), re.MULTILINE) for verb in Verb}
    registered = "\n".join(
        f"redis.register_function{{function_name = '{name}_{verb.name}', flags = {{{_flag(found)}}}, "
        f"callback = function(keys, args) P = keys[1] return VERBS.{verb.name}(keys, args) end}}"
        for verb, found in flags.items()
    )
    return name, f"#!lua name={name}\n{text}\n{registered}"


def _flag(found: re.Match[str] | None) -> str:
    return f"'{found[1]}'" if found else ""


@cache
def read_lua(name: str) -> str:
    """Return the text of a Lua file, such as `request/commit`."""
    return (resources.files("crawl_tasks.frontier") / "lua" / f"{name}.lua").read_text("utf-8")


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
        self._heads = {verb: ("FCALL", f"{self._library}_{verb.name}", 1, prefix) for verb in Verb}

    def call(self, verb: Verb, *args: str | bytes | int) -> list[object]:
        """Run a verb and return the reply. Byte strings stay bytes.

        After a broken connection a verb is sent once more. The guard, the token and the board's state make a verb
        harmless that has already taken effect.

        Raises:
            RedisUnreachable: there is no connection, or a broken one. The verb may have taken effect.
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
