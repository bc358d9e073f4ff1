"""Each guard is taken out of a copy of the crawler, and the part of chaos, or the test, that rests on it must fail.

`python -m tests.chaos.guards [WORD ...]` takes those whose description holds a word, else all. It ends with 1 when a
guard could go unnoticed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.flow.world import ROOT

LUA = "crawl_tasks/frontier/lua"
COPIED = ("crawl_tasks", "tests", "config", "pyproject.toml")
PATIENCE = ("tests/chaos/kills.py", "STANDS_STILL_S = 120.0", "STANDS_STILL_S = 30.0")
MOST_S = 900.0


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard: where it stands, what takes its place, what rests on it (a part, or a test file), what is seen then."""

    name: str
    file: str
    old: str
    new: str
    rests: str
    sees: str
    also: tuple[str, str] = ("", "")  # a second guard of the same file, where either of them suffices

    def count(self, root: Path = ROOT) -> int:
        """Count how often the guard stands there: once, else this list is out of date."""
        text = (root / self.file).read_text("utf-8")
        return text.count(self.old) if self.also[0] in text else 0

    def remove(self, root: Path) -> None:
        """Take it out."""
        _replace(root, self.file, self.old, self.new)
        if self.also[0]:
            _replace(root, self.file, *self.also)


GUARDS = (
    Guard(
        "lost messages go back",
        f"{LUA}/request/tick.lua",
        "lost = lost + return_lost(site, stage)",
        "lost = lost + 0",
        "kills",
        "the crawl does not end",
    ),
    Guard(
        "leases that ran out go back",
        f"{LUA}/request/tick.lua",
        "local late = expire_leases(site)",
        "local late = 0",
        "calls",
        "does not end",
    ),
    Guard(
        "pages leave the outbox only when they are stored",
        "crawl_tasks/worker/store_task.py",
        "            gains, stored, missed, change_id = self._write(self._store, batch, drawn.acked)\n",
        "            for page_id, items in batch:\n"
        "                self._frontier.outbox.ack({items.site: [page_id]})\n"
        "            gains, stored, missed, change_id = self._write(self._store, batch, drawn.acked)\n",
        "calls",
        "differ",
    ),
    Guard(
        "a part of a record is cut off by the next start",
        "crawl_tasks/fetch/web_archive.py",
        "                file.truncate(size)\n",
        "",
        "archive",
        "cannot be read|is not read to its end",
    ),
    Guard(
        "a lease is refused while another worker holds it",
        f"{LUA}/lib/lease.lua",
        "if token ~= '0' then return {-3} end",
        "",
        "deliveries",
        "were fetched again",
    ),
    Guard(
        "the guard stands before the queue",
        f"{LUA}/lib/admission.lua",
        "if not is_new and flag ~= '+' then",
        "if not is_new and flag ~= '+' and stage == 'list' then",
        "deliveries",
        "were fetched again",
    ),
    Guard(
        "the fencing token is compared when a lease ends",
        f"{LUA}/lib/release.lua",
        "if not holder or holder == '0' or holder ~= token then return nil end",
        "if not holder or holder == '0' then return nil end",
        "stops",
        "a stale commit ended the lease of another worker",
    ),
    Guard(
        "Redis starts on a file that ends in the middle of a write",
        "crawl_tasks/local/redis_server.py",
        '"--appendonly", "yes", "--appendfsync", "everysec"',
        '"--appendonly", "yes", "--appendfsync", "everysec", "--aof-load-truncated", "no"',
        "cuts",
        "did not start",
    ),
    Guard(
        "what the database waits for becomes ready when a ledger is rebuilt",
        f"{LUA}/admin/restore_requests.lua",
        "if flag == '!' and is_new then admit_line(site, ARGV[i], now, true) end",
        "",
        "floods",
        "was never fetched",
    ),
    Guard(
        "`check --deep` looks into each site's ledger",
        "crawl_tasks/recovery/fsck.py",
        "        for site in self._sites or sites:\n            yield from",
        "        for site in ():\n            yield from",
        "keys",
        "before call",
    ),
    Guard(
        "`check --deep` counts what is done and not stored",
        "crawl_tasks/recovery/fsck.py",
        "in audit.items(self._sites or sites))",
        "in ())",
        "tests/frontier/test_fsck.py",
        "failed",
    ),
    Guard(
        "a connection that says nothing is given up",
        "crawl_tasks/worker/runtime.py",
        "        socket_timeout=10,\n        health_check_interval=30,\n",
        "        socket_timeout=None,\n        health_check_interval=0,\n",
        "holes",
        "broken off|does not move|not idle",
    ),
    Guard(
        "admission stops at the threshold",
        f"{LUA}/request/admit.lua",
        "  if site.page.fresh >= (level <= BACKFILL and backfill_room or room) then\n",
        "  if false then\n",
        "threshold",
        "the backlog was",
    ),
    Guard(
        "a page waits until its children fit",
        f"{LUA}/lib/backlog_limit.lua",
        "  if max_backlog <= 0 then return nil end\n",
        "  if max_backlog then return nil end\n",
        "backlog",
        "the backlog was",
    ),
    Guard(
        "a board is due again after its interval, and has one scan at a time",
        f"{LUA}/schedule/produce.lua",
        "  plan_scan(site, id, now + v.interval_ms, ",
        "  plan_scan(site, id, now, ",
        "slots",
        "scans in .* slots",
        also=("elseif tonumber(v.open) > 0 then\n    busy", "elseif false then\n    busy"),
    ),
    Guard(
        "a lease moves the site's next turn",
        f"{LUA}/lib/slots.lua",
        "redis.call('HSET', site.key, 'next_at', next_at, 'turn',",
        "redis.call('HSET', site.key, 'turn',",
        "politeness",
        "came too early|does not end",
    ),
    Guard(
        "what is sent late has a fresh turn first",
        "crawl_tasks/frontier/slot_throttle.py",
        "return awake_at <= span.shuts_at",
        "return True",
        "politeness",
        "came too early",
        also=("return ready_at <= span.shuts_at", "return True"),
    ),
    Guard(
        "a request whose leases run out is parked after `max_attempts`",
        f"{LUA}/request/tick.lua",
        "elseif attempt >= site.terms.max_attempts then",
        "elseif false then",
        "poison",
        "does not end|is not parked|ran \\d+ times",
    ),
    Guard(
        "half a character in an address is refused, not met with a traceback",
        "crawl_tasks/urls.py",
        "    except UnicodeError:\n        raise _refusal(address",
        "    except ZeroDivisionError:\n        raise _refusal(address",
        "fuzz",
        "random addresses",
    ),
    Guard(
        "a connection that broke asks the Sentinel who is master",
        "crawl_tasks/frontier/scripts.py",
        "if not own.connection.is_connected:",
        "if False:",
        "failovers",
        "does not move",
    ),
    Guard(
        "leases that ran out go back, after a death of Redis too",
        f"{LUA}/request/tick.lua",
        "local late = expire_leases(site)",
        "local late = 0",
        "deaths",
        "not idle|does not move",
    ),
    Guard(
        "fetching stops while the store is behind",
        f"{LUA}/lib/release.lua",
        "function store_is_behind() return outbox_size() >= OUTBOX_MAX end",
        "function store_is_behind() return false end",
        "tests/frontier/test_outbox.py",
        "failed",
    ),
    Guard(
        "the circuit breaker opens",
        f"{LUA}/lib/circuit_breaker.lua",
        "  open_breaker(site, stage, now, now + first_probe, reason)\n",
        "",
        "tests/frontier/test_breaker.py",
        "failed",
    ),
    Guard(
        "the window is held where a lease is given",
        f"{LUA}/lib/lease.lua",
        "(site.leased or redis.call('ZCARD', site.key .. ':leased')) >= site.window and -5",
        "false and -5",
        "tests/frontier/test_life_of_a_request.py",
        "failed",
    ),
    Guard(
        "a page of a thread that is gone lowers its tail",
        f"{LUA}/request/commit.lua",
        "  local tells_all = stage == 'post' or string.sub(outcome, 1, 5) == 'gone:'\n",
        "  local tells_all = stage == 'post'\n",
        "tests/frontier/test_changes_between_scans.py",
        "failed",
    ),
    Guard(
        "each of two lists has its own word of a thread",
        f"{LUA}/guard/guard.lua",
        "if is_other then write_own(t, older, address, rest, mark) end",
        "",
        "tests/frontier/test_two_lists.py",
        "failed",
        also=("      keep_own_word(t, older, address, rest, mark, revision)\n", ""),
    ),
    Guard(
        "a database that was restored stays behind",
        "crawl_tasks/store/ledger_notes.py",
        "    if acked:\n",
        "    if False:\n",
        "tests/frontier/test_ages.py",
        "failed",
    ),
    Guard(
        "of the post pages of a thread the one that was leased last tells its tail",
        f"{LUA}/request/commit.lua",
        "if tonumber(token) > known_by and (",
        "if (",
        "tests/frontier/test_changes_between_scans.py",
        "failed",
    ),
    Guard(
        "a process of a local crawl dies with its supervisor",
        "crawl_tasks/local/supervisor.py",
        "        tie = leash(signal.SIGKILL)\n",
        "        tie = None\n",
        "crews",
        "left",
    ),
    Guard(
        "a site whose new cell was lost begins anew in it",
        "crawl_tasks/frontier/cells.py",
        "                return self.by_name[cell]\n",
        "                break\n",
        "tests/frontier/test_cells.py",
        "failed",
    ),
)


def _replace(root: Path, file: str, old: str, new: str) -> None:
    text = (root / file).read_text("utf-8")
    (root / file).write_text(text.replace(old, new), "utf-8")


@contextmanager
def copied(guard: Guard) -> Iterator[Path]:
    """Yield a copy without a guard."""
    with TemporaryDirectory(prefix="crawl-guard-") as directory:
        root = Path(directory)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, root / name)
        guard.remove(root)
        yield root


def show(guard: Guard) -> tuple[bool, str]:
    """Run what rests on a guard without it; say whether that was noticed, and by what line."""
    if guard.count() != 1:
        return False, f"it stands {guard.count()} times in {guard.file}: mend this list"
    with copied(guard) as root:
        _replace(root, *PATIENCE)
        is_test = guard.rests.startswith("tests/")
        command = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"] if is_test else ["-m", "tests.chaos"]
        done = subprocess.run(
            [sys.executable, *command, guard.rests],
            cwd=root,
            env=os.environ | {"PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            timeout=MOST_S,
            check=False,
        )
    lines = [line for line in f"{done.stdout}\n{done.stderr}".splitlines() if is_test or line.startswith("FAULT")]
    seen = next((line for line in lines if re.search(guard.sees, line)), "")
    return done.returncode == 1 and bool(seen), (seen or f"ended with {done.returncode}: {lines[-3:]}")[:300]


def main(guards: tuple[Guard, ...] = GUARDS) -> int:
    """Take out those that were named."""
    words = sys.argv[1:]
    chosen = [guard for guard in guards if not words or any(word in guard.name for word in words)]
    if not chosen:
        sys.exit(f"no guard is named so: {' '.join(words)}; there are: {', '.join(guard.name for guard in guards)}")
    unnoticed = 0
    sys.stdout.write("| guard taken out | where | what rests on it | what was seen |\n|---|---|---|---|\n")
    for guard in chosen:
        began = time.monotonic()
        is_noticed, seen = show(guard)
        unnoticed += not is_noticed
        verdict = seen if is_noticed else f"NOT NOTICED: {seen}"
        sys.stdout.write(f"| {guard.name} | `{Path(guard.file).name}` | `{guard.rests}` | {verdict} |\n")
        sys.stdout.flush()
        sys.stderr.write(f"{guard.name}: {time.monotonic() - began:.0f} s\n")
    sys.stdout.write(f"\n{len(chosen) - unnoticed} of {len(chosen)} noticed\n")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
