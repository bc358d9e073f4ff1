"""The move of a site from one cell to another: exact, one step after the other, resumable after each.

The site is frozen where it is, all its keys are copied, and it is published in the other cell at one instant. Only then
its old keys go. Killed before that instant, the site is in the old cell, after it in the new one. Both sites of the
move hold the token of the last mover, so that one who was overtaken changes nothing any more.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, cast

from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.replies import ints
from crawl_tasks.frontier.scripts import Command, Verb
from crawl_tasks.frontier.start_queue import start_key_of

_NAMES_AT_ONCE = 200
_VALUES_AT_ONCE = 400
_BYTES_AT_ONCE = 1 << 19
"""Keys, values and bytes that one call reads or writes: Redis serves nobody else meanwhile."""

_SCANS = {"hash": "HSCAN", "set": "SSCAN", "zset": "ZSCAN"}


class _Part(NamedTuple):
    """A part of a key: name behind the prefix, type, expiry in ms or 0, elements or bytes before it, values."""

    name: str
    kind: str
    expires_ms: int
    before: int
    values: Sequence[bytes | str | int]

    @property
    def arguments(self) -> tuple[bytes | str | int, ...]:
        """Return the part as copy_keys.lua reads it."""
        return self.name, self.kind, self.expires_ms, self.before, len(self.values), *self.values


class SiteTransfer:
    """A move of one site by one mover. Every call may raise RedisUnreachable or BackendError.

    The target may be the source: then a site that an earlier mover held or froze goes on where it is.
    """

    def __init__(self, site: str, source: Frontier, target: Frontier, renew: Callable[[], None] = lambda: None) -> None:
        """Begin. `renew` is called between two steps."""
        self._site = site
        self._source = source
        self._target = target
        self._renew = renew
        self._token = secrets.token_hex(8)
        self._role = "leaving" if source is target else "arriving"

    def begin(self) -> int:
        """Let the site stand still, and return the number of its pages that are still being fetched.

        Raises:
            ConfigError: the site is not there, or in both cells.
        """
        places = {self._source.cell: self._source, self._target.cell: self._target}
        if len([cell for cell, frontier in places.items() if frontier.sites.is_published(self._site)]) > 1:
            raise ConfigError(
                f"site {self._site!r} is published in the cells {' and '.join(places)}, as by a process with another"
                " CRAWL_REDIS_URL; remove it, then publish it again"
            )
        code, leased, _ = ints(
            self._source.scripts.call(Verb.BEGIN_TRANSFER, self._site, self._token, self._target.cell)
        )
        if code != 0:
            raise ConfigError(f"site {self._site!r} is not published in the cell {self._source.cell}")
        return leased

    def freeze(self) -> bool:
        """Take the site out of the source, and return whether nothing of it was being fetched any more."""
        code, following = 3, "-"
        while code == 3:
            reply = self._source.scripts.call(Verb.FREEZE_SITE, self._site, self._token, following)
            code, following = cast("tuple[int, str]", reply)
        if code not in (0, 2):
            raise self._overtaken()
        return code == 0

    def stay(self) -> None:
        """Let the site go on in the source, as it is there."""
        if self._source.sites.is_frozen(self._site):
            self._write(self._schedule())
        self._call(self._source, Verb.THAW_SITE, "leaving")
        self._unpack_starts(self._source)

    def arrive(self) -> int:
        """Copy the frozen site to the target, publish it there, and return the number of its keys."""
        code = ints(self._target.scripts.call(Verb.RECEIVE_SITE, self._site, self._token))[0]
        if code == 2:
            raise ConfigError(f"site {self._site!r} has not left the cell {self._target.cell} yet; move it again")
        # A mover before was cut off behind its arrival.
        if code == 1:
            return 0
        self._drop(self._target, self._names(self._target), "")
        self._pack_starts()
        names = self._names(self._source)
        self._write(self._parts(names))
        self._write(self._schedule())
        self._call(self._target, Verb.THAW_SITE, self._role)
        return len(names)

    def end(self) -> None:
        """Put boards on the target's schedule, start entries into its keys, and delete the rest from the source."""
        self._unpack_starts(self._target)
        while ints(self._target.scripts.call(Verb.PLAN_BOARDS, self._site, _NAMES_AT_ONCE))[1]:
            self._renew()
        if self._source is not self._target:
            self._drop(self._source, self._names(self._source), self._target.cell)

    def _pack_starts(self) -> None:
        """Have the start entries of the site move with it, those that are there now."""
        reads = cast("list[bytes]", self._read([("HVALS", self._source.keys.reads)])[0])
        # The names that processes read, by default those of an installation that reads none.
        for name in sorted({start.decode() for start in reads} or {f"{self._source.keys.prefix}:start"}):
            while True:
                key = start_key_of(name, self._site)
                code, packed = ints(
                    self._source.scripts.call(Verb.PACK_STARTS, self._site, self._token, key, _NAMES_AT_ONCE)
                )
                if code != 0:
                    raise self._overtaken()
                if packed < _NAMES_AT_ONCE:
                    break
                self._renew()

    def _unpack_starts(self, frontier: Frontier) -> None:
        while ints(frontier.scripts.call(Verb.UNPACK_STARTS, self._site, _NAMES_AT_ONCE))[1]:
            self._renew()

    def _names(self, frontier: Frontier) -> list[str]:
        """Return the keys of the site in a cell, without the prefix."""
        prefix = f"{frontier.keys.prefix}:"
        keys = {f"s:{self._site}", f"decisions:{self._site}"}
        cursor = b"0"
        while True:
            command = ("SCAN", cursor, "MATCH", f"{prefix}s:{self._site}:*", "COUNT", 1000)
            [reply] = frontier.scripts.read_all("keys", [command])
            cursor, names = cast("tuple[bytes, list[bytes]]", reply)
            keys.update(name.decode().removeprefix(prefix) for name in names)
            self._renew()
            if cursor == b"0":
                return sorted(keys)

    def _parts(self, names: Sequence[str]) -> Iterator[_Part]:
        """Yield all that these keys of the source hold."""
        for start in range(0, len(names), _NAMES_AT_ONCE):
            portion = names[start : start + _NAMES_AT_ONCE]
            kinds = cast("list[bytes]", self._read([("TYPE", self._key(name)) for name in portion]))
            expiries = cast("list[int]", self._read([("PEXPIRETIME", self._key(name)) for name in portion]))
            texts = [name for name, kind in zip(portion, kinds, strict=True) if kind == b"string"]
            # Thousands of short ones, and a bitmap of many megabytes.
            heads = self._read([("GETRANGE", self._key(name), 0, _BYTES_AT_ONCE - 1) for name in texts])
            first = dict(zip(texts, cast("list[bytes]", heads), strict=True))
            for name, kind, expires_ms in zip(portion, kinds, expiries, strict=True):
                if kind == b"string":
                    yield from self._pieces(name, max(0, expires_ms), first[name])
                elif kind == b"list":
                    yield from self._elements(name, max(0, expires_ms))
                elif kind.decode() in _SCANS:
                    for page in self._scan(name, _SCANS[kind.decode()]):
                        yield _Part(name, kind.decode(), max(0, expires_ms), 0, page)

    def _pieces(self, name: str, expires_ms: int, piece: bytes) -> Iterator[_Part]:
        """Yield a string from its first piece on."""
        before = 0
        while piece:
            yield _Part(name, "string", expires_ms, before, [piece])
            before += len(piece)
            if len(piece) < _BYTES_AT_ONCE:
                return
            [rest] = self._read([("GETRANGE", self._key(name), before, before + _BYTES_AT_ONCE - 1)])
            piece = cast(bytes, rest)

    def _elements(self, name: str, expires_ms: int) -> Iterator[_Part]:
        before = 0
        while True:
            [reply] = self._read([("LRANGE", self._key(name), before, before + _VALUES_AT_ONCE - 1)])
            values = cast("list[bytes]", reply)
            if not values:
                return
            yield _Part(name, "list", expires_ms, before, values)
            before += len(values)

    def _scan(self, name: str, verb: str) -> Iterator[list[bytes]]:
        cursor = b"0"
        while True:
            [reply] = self._read([(verb, self._key(name), cursor, "COUNT", _NAMES_AT_ONCE)])
            cursor, values = cast("tuple[bytes, list[bytes]]", reply)
            for start in range(0, len(values), _VALUES_AT_ONCE):
                yield values[start : start + _VALUES_AT_ONCE]
            if cursor == b"0":
                return

    def _schedule(self) -> Iterator[_Part]:
        """Yield when each board is due, by the source's schedule. Boards that fell off it while frozen are due now."""
        key, now_ms = f"s:{self._site}", self._source.clock_ms()
        for names in self._scan(f"{key}:boards", "SSCAN"):
            boards = [name.decode() for name in names]
            members = [f"{self._site} {board}" for board in boards]
            for kind in ("boards", "fulls"):
                [scores] = self._read([("ZMSCORE", self._key(kind), *members)])
                plan = dict(zip(boards, cast("list[bytes | None]", scores), strict=True))
                if kind == "boards":
                    plan |= dict.fromkeys(self._due_again(plan), str(now_ms).encode())
                planned = [(board, score) for board, score in plan.items() if score is not None]
                if planned:
                    yield _Part(f"{key}:moved_{kind}", "zset", 0, 0, list(chain.from_iterable(planned)))

    def _due_again(self, scores: Mapping[str, bytes | None]) -> Iterator[str]:
        """Yield the boards without a score that have a line and that no operator holds."""
        key, boards = f"s:{self._site}:board", [board for board, score in scores.items() if score is None]
        terms = self._read([("HMGET", self._key(f"{key}:{board}"), "line", "held") for board in boards])
        for board, (line, held) in zip(boards, cast("list[list[bytes | None]]", terms), strict=True):
            if line and not held:
                yield board

    def _write(self, parts: Iterator[_Part]) -> None:
        waiting: list[_Part] = []
        size = 0
        for part in parts:
            added = sum(len(value) for value in part.values if isinstance(value, (bytes, str)))
            if waiting and (
                size + added > _BYTES_AT_ONCE or sum(len(packed.values) for packed in waiting) > _VALUES_AT_ONCE
            ):
                self._flush(waiting)
                waiting, size = [], 0
            waiting.append(part)
            size += added
        if waiting:
            self._flush(waiting)

    def _flush(self, parts: Sequence[_Part]) -> None:
        self._call(
            self._target, Verb.COPY_KEYS, self._role, *(argument for part in parts for argument in part.arguments)
        )
        self._renew()

    def _drop(self, frontier: Frontier, names: Sequence[str], moved_to: str) -> None:
        role = "leaving" if frontier is self._source else "arriving"
        for start in range(0, len(names), _NAMES_AT_ONCE):
            self._call(frontier, Verb.DROP_KEYS, role, "", *names[start : start + _NAMES_AT_ONCE])
            self._renew()
        if moved_to:
            self._call(frontier, Verb.DROP_KEYS, role, moved_to)

    def _call(self, frontier: Frontier, verb: Verb, role: str, *args: str | bytes | int) -> None:
        code = frontier.scripts.call(verb, self._site, self._token, role, *args)[0]
        if code == 1:
            raise self._overtaken()
        if code != 0:
            raise BackendError(f"site {self._site!r} changed in the cell {frontier.cell} while it moved; move it again")

    def _overtaken(self) -> ConfigError:
        return ConfigError(f"another mover has taken over the site {self._site!r}")

    def _key(self, name: str) -> str:
        return f"{self._source.keys.prefix}:{name}"

    def _read(self, commands: Sequence[Command]) -> list[object]:
        return self._source.scripts.read_all("a site that moves", commands) if commands else []
