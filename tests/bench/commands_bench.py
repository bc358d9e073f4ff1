# a bench prints
"""Measure what the commands of a chained page cost Redis without the Lua that chooses them: the floor of its script.

    python -m tests.bench.commands_bench [--lists 100] [--rounds 4]

A crawl by chains is done twice in turn: once by the frontier, as `frontier_bench --chained` does, and once by one
function that only carries out the commands of each script, as MONITOR showed them. Prints microseconds of Redis' CPU a
page, and asserts nothing.
"""

from __future__ import annotations

import argparse
import re
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import redis

from crawl_tasks.local.redis_server import RedisServer
from tests.bench.frontier_bench import begin_chains, follow_chains, server_cpu

_LINE = re.compile(rb"^\+\S+ \[\d+ (\S+)\] (.*)$")
_WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|.)")
_NAMED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}
_REPLAY = """#!lua name=replay
redis.register_function('replay', function(_, words)
  local at = 1
  while at <= #words do
    local last = at + words[at]
    redis.call(unpack(words, at + 1, last))
    at = last + 1
  end
end)
"""
Script = list[list[bytes]]


def main() -> None:
    """Print the cost of a page by scripts and by their commands, round by round."""
    parser = argparse.ArgumentParser(description="Measure the commands of a chained page.")
    parser.add_argument("--lists", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=4)
    chosen = parser.parse_args()
    before, scripts = record(chosen.lists)
    for _ in range(chosen.rounds):
        with served() as client:
            frontier, leases = begin_chains(client, chosen.lists)
            used = server_cpu(client)
            pages = follow_chains(frontier, leases)
            used = server_cpu(client) - used
        floor = replay(before, scripts) / pages * 1e6
        commands = sum(map(len, scripts)) / pages
        print(f"{pages} pages of {commands:.0f} commands: {used / pages * 1e6:.1f} us each, {floor:.1f} by them alone")


def record(lists: int) -> tuple[list[Script], list[Script]]:
    """Return the commands of each script of a crawl, those before the first page apart."""
    with served() as client:
        seen, watcher = bytearray(), socket.create_connection(_place(client))
        watcher.sendall(b"MONITOR\r\n")
        reader = threading.Thread(target=_read, args=(watcher, seen))
        reader.start()
        frontier, leases = begin_chains(client, lists)
        client.echo("begun")
        follow_chains(frontier, leases)
        client.echo("ended")
        reader.join()
        watcher.close()
    scripts = list(_scripts(bytes(seen)))
    begun = next(place for place, script in enumerate(scripts) if script == [[b"ECHO", b"begun"]])
    return scripts[:begun], scripts[begun + 1 :]


def replay(before: Sequence[Script], scripts: Sequence[Script]) -> float:
    """Carry out scripts on an empty server; return the CPU of the latter ones in seconds."""
    with served() as client:
        client.function_load(_REPLAY)
        for script in before:
            client.execute_command("FCALL", "replay", 0, *_words(script))
        used = server_cpu(client)
        for script in scripts:
            client.execute_command("FCALL", "replay", 0, *_words(script))
        return server_cpu(client) - used


@contextmanager
def served() -> Iterator[redis.Redis]:
    """Run a server with an append-only file."""
    with tempfile.TemporaryDirectory() as directory:
        server = RedisServer(Path(directory))
        server.start()
        yield redis.Redis.from_url(server.url)
        server.stop()


def _place(client: redis.Redis) -> tuple[str, int]:
    terms = client.connection_pool.connection_kwargs
    return terms["host"], terms["port"]


def _read(watcher: socket.socket, seen: bytearray) -> None:
    while b'"ECHO" "ended"' not in seen[-200:]:
        seen += watcher.recv(1 << 20)


def _scripts(seen: bytes) -> Iterator[Script]:
    """Yield the commands that each script called; ECHO stands for itself."""
    script: Script = []
    for line in seen.split(b"\r\n"):
        match = _LINE.match(line)
        if match is None:
            continue
        words = [_ESCAPE.sub(_plain, word) for word in _WORD.findall(match[2])]
        if match[1] == b"lua":
            script.append(words)
            continue
        if script:
            yield script
        script = []
        if words[0] == b"ECHO":
            yield [words]
    if script:
        yield script


def _plain(match: re.Match[bytes]) -> bytes:
    said = match[1]
    return bytes([int(said[1:], 16)]) if len(said) == 3 else _NAMED.get(said, said)


def _words(script: Script) -> list[bytes | int]:
    return [word for command in script for word in (len(command), *command)]


if __name__ == "__main__":
    main()
