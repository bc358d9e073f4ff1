"""Each guard of the ledger is taken out of a copy, and the property test of any history must notice it.

`python -m tests.frontier.mutations [WORD ...]` takes those whose name holds a word, else all, and prints after how
many histories each was noticed, of HISTORIES (2,000). It ends with 1 when one was not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import extract_tb

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from crawl_tasks.local.redis_server import RedisServer
from tests.chaos.guards import LUA, Guard, copied
from tests.flow.world import ROOT

TEST = "tests/frontier/test_any_history.py"
AT_ONCE = 20
"""Histories of one guard mode, before the next mode has its turn."""

STORE = "crawl_tasks/store"


def _of(name: str, file: str, old: str, new: str, also: tuple[str, str] = ("", "")) -> Guard:
    return Guard(name, file, old, new, TEST, "", also)


MUTATIONS = (
    _of(
        "the token of a lease is compared when it ends",
        f"{LUA}/lib/release.lua",
        "if not holder or holder == '0' or holder ~= token then return nil end",
        "if not holder or holder == '0' then return nil end",
    ),
    _of(
        "a page that two store workers had is counted as stored once",
        f"{LUA}/items/ack_outbox.lua",
        "gone = gone + redis.call('XDEL', stream, unpack(ids, i, last))",
        "redis.call('XDEL', stream, unpack(ids, i, last)); gone = gone + last - i + 1",
    ),
    _of(
        "the newest observation wins",
        f"{STORE}/merge.py",
        "    if left_at > right_at:\n        return merge(shape, right, left)\n",
        "    right_at = max(left_at, right_at)\n",
    ),
    _of(
        "a site is not published while it is removed",
        f"{LUA}/site/publish.lua",
        "if work == 'remove' then return {4, 0} end\n",
        "",
    ),
    _of(
        "a pause outlives a recovery",
        f"{LUA}/lib/decisions.lua",
        "  local value = last and last[2] or 'run'\n",
        "  local value = 'run'\n",
    ),
    _of(
        "a page that was laid aside keeps the time of its commit",
        f"{LUA}/items/reject_items.lua",
        "'at', string.match(ARGV[1], '^%d+'))",
        "'at', string.format('%.0f', now_ms()))",
    ),
    _of(
        "what was seen before an erasure is not stored behind it",
        f"{STORE}/site_removal.py",
        "    kept = (page for page in pages if _seen_ms(page) > ends.get((page.site, _DATA), _NEVER))\n",
        "    kept = pages\n",
    ),
    _of(
        "a board that was taken out is walked no further",
        f"{LUA}/lib/admission.lua",
        "  if is_open and not line and not is_by_hand(said) then return false end  -- the board left the site file\n",
        "",
    ),
    _of(
        "what was open is fetched after a loss",
        f"{LUA}/admin/restore_requests.lua",
        "if flag == '!' and is_new then admit_line(site, ARGV[i], now, true) end",
        "",
    ),
    _of(
        "a page of a life before is not counted as stored",
        f"{LUA}/items/ack_outbox.lua",
        "local life = tonumber(string.match(id, '^%d+')) >= since and own or earlier",
        "local life = own",
    ),
)


def search(most: int) -> tuple[int, str]:
    """Return the number of histories until one fails, and how it fails, or "" where none does."""
    # Only where a test is asked for: the test itself registers with Hypothesis when it is imported.
    from tests.frontier.test_any_history import GUARDS, STEPS, AnyHistory  # noqa: PLC0415

    terms = settings(
        max_examples=AT_ONCE, stateful_step_count=STEPS, phases=(Phase.generate,), derandomize=False, deadline=None,
        database=None, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    with TemporaryDirectory(prefix="crawl-history-") as directory:
        server = RedisServer(Path(directory))
        server.start()
        try:
            while AnyHistory.begun < most:
                for guard in GUARDS:
                    AnyHistory.url, AnyHistory.guard = server.url, guard
                    run_state_machine_as_test(AnyHistory, settings=terms)
        except Exception as error:  # noqa: BLE001 (whatever it was, it was noticed)
            lines = [frame.line for frame in extract_tb(error.__traceback__) if frame.filename.endswith(TEST)]
            return AnyHistory.begun, f"{guard}: {type(error).__name__}: {lines[-1] if lines else error}"[:160]
        finally:
            server.stop()
    return AnyHistory.begun, ""


def noticed(mutations: tuple[Guard, ...], most: int) -> Iterator[tuple[Guard, int, str]]:
    """Yield each guard, after how many histories of a copy without it one failed, and how."""
    for guard in mutations:
        with copied(guard) as root:
            done = subprocess.run(
                [sys.executable, "-m", "tests.frontier.mutations", "--search", str(most)],
                cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True, text=True, check=True,
            )  # fmt: skip
        count, _, how = done.stdout.splitlines()[-1].partition(" ")
        yield guard, int(count), how


def main() -> int:
    """Take out those that were named, or search this copy."""
    words = sys.argv[1:]
    if words[:1] == ["--search"]:
        count, how = search(int(words[1]))
        sys.stdout.write(f"\n{count} {how}\n")
        return 0
    chosen = tuple(guard for guard in MUTATIONS if not words or any(word in guard.name for word in words))
    if not chosen:
        sys.exit(f"no guard is named so: {' '.join(words)}; there are: {', '.join(guard.name for guard in MUTATIONS)}")
    if absent := [guard.name for guard in chosen if guard.count(ROOT) != 1]:
        sys.exit(f"these stand elsewhere by now, mend this list: {', '.join(absent)}")
    unnoticed, began = 0, time.monotonic()
    sys.stdout.write("| guard taken out | where | histories | what was seen |\n|---|---|---|---|\n")
    for guard, count, how in noticed(chosen, int(os.environ.get("HISTORIES", "2000"))):
        unnoticed += not how
        sys.stdout.write(f"| {guard.name} | `{Path(guard.file).name}` | {count} | {how or 'NOT NOTICED'} |\n")
        sys.stdout.flush()
        sys.stderr.write(f"{guard.name}: {time.monotonic() - began:.0f} s\n")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
