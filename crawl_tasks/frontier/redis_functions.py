"""The library of Redis functions: its text from the Lua files, and the verbs in it.

The text is the hint templates, the tables of wire/writer.py, the prelude and all verbs. The hash of the text
names the library, so that workers of several versions call their own. Redis Functions need Redis 7.0 or Valkey.

The header of a Lua file names the files that it INCLUDES and the names that it EXPORTS to those which include it. The
files of a folder are one home, but for `lib` and the verbs: what only they need of each other, they SHARE.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from graphlib import TopologicalSorter
from importlib import resources
from itertools import groupby
from typing import Final

from crawl_tasks.frontier.histogram import AGES_S, TIMES_MS
from crawl_tasks.frontier.state_format import FORMAT
from crawl_tasks.frontier.wire.lease_end import COMMIT_ROWS, FAIL_ROWS
from crawl_tasks.frontier.wire.writer import lua_locals, lua_tables


class Verb(StrEnum):
    """The scripts, by file name."""

    ADMIT = "request/admit"
    LEASE = "request/lease"
    RESERVE_SLOT = "request/reserve_slot"
    SHARE_ROBOTS = "site/share_robots"
    COMMIT = "request/commit"
    FAIL = "request/fail"
    TICK = "request/tick"
    PUBLISH = "site/publish"
    STAGE_BOARDS = "site/stage_boards"
    PUBLISH_BOARDS = "site/publish_boards"
    PRODUCE = "schedule/produce"
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
    SET_AGES = "admin/set_ages"
    REJECT_ITEMS = "items/reject_items"
    REQUEUE_REJECTED = "items/requeue_rejected"
    KEEP_PAGE = "request/keep_page"
    CLOSE_BREAKER = "site/close_breaker"
    LIST_BOARDS = "admin/list_boards"
    AUDIT = "admin/audit"
    AUDIT_SITE = "admin/audit_site"
    AUDIT_GUARD = "admin/audit_guard"
    AUDIT_PAIRS = "admin/audit_pairs"
    FIND_UNKNOWN = "admin/find_unknown"
    SET_CRAWL_DELAY = "site/set_crawl_delay"
    NOTE_VALIDATION = "site/note_validation"
    NOTE_THREADS = "site/note_threads"
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
    END_REMOVAL = "site/end_removal"
    WITHDRAW = "site/withdraw"
    RUN_ONLY = "site/run_only"
    BEGIN_LOGIN = "site/begin_login"
    END_LOGIN = "site/end_login"
    NOTE_PENDING = "site/note_pending"
    NOTE_CHECK = "site/note_check"
    BEGIN_TRANSFER = "site/begin_transfer"
    FREEZE_SITE = "site/freeze_site"
    RECEIVE_SITE = "site/receive_site"
    COPY_KEYS = "site/copy_keys"
    THAW_SITE = "site/thaw_site"
    PLAN_BOARDS = "site/plan_boards"
    PACK_STARTS = "site/pack_starts"
    UNPACK_STARTS = "site/unpack_starts"
    DROP_KEYS = "site/drop_keys"


NAMED_ARGUMENTS: Final = {Verb.COMMIT: COMMIT_ROWS, Verb.FAIL: FAIL_ROWS}
"""The verbs whose arguments have names."""


_RUNNER: Final = "lib/answers"
"""The file that runs the verbs."""


@cache
def prelude() -> tuple[str, ...]:
    """Return the files in front of the verbs, each behind those that it includes. Files of one home stand together.

    Raises:
        graphlib.CycleError: files or homes include each other.
    """
    includes: dict[str, list[str]] = {}
    waiting = [_RUNNER, *(part for verb in Verb for part in header(verb, "INCLUDES"))]
    for file in waiting:
        if file not in includes:
            includes[file] = header(file, "INCLUDES")
            waiting += includes[file]
    homes: TopologicalSorter[str] = TopologicalSorter()
    for file, parts in includes.items():
        homes.add(_home(file), *({_home(part): None for part in parts if _home(part) != _home(file)}))
    order = list(homes.static_order())
    return tuple(sorted(TopologicalSorter(includes).static_order(), key=lambda file: order.index(_home(file))))


def _home(file: str) -> str:
    """Return what makes one block: a folder, or a file of `lib`."""
    return file if file.startswith("lib/") else file.partition("/")[0]


def header(file: str, field: str) -> list[str]:
    """Return the words of a field in the header of a Lua file."""
    lines = re.findall(f"^-- {field}: (.+)$", read_lua(file), re.MULTILINE)
    return [word for line in lines for word in line.split()]


def _numbers(values: Iterable[int]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


OUTBOX_MAX: Final = 5000
"""The most pages that may wait for the store. With more, fetching stops."""


LIBRARY: Final = "crawl_tasks_"
"""How the names of our libraries begin. The hash of the text follows."""


def _message(template: str) -> str:
    """Return the Lua function of a template: a concatenation. string.gsub() took 5 % of a page."""
    parts = [part if place % 2 else f"[==[{part}]==]" for place, part in enumerate(re.split("@([A-Z]+)@", template))]
    return f"function(SITE, RID, ADDRESS, QUEUE, AT) return {' .. '.join(parts)} end"


def lua_text(hints: Mapping[str, str], outbox_max: int = OUTBOX_MAX) -> str:
    """Return the Lua of the library without its first line: hints, bounds, WIRE, prelude, verbs as `VERBS[name]`."""
    table = ", ".join(f"{queue} = {_message(hint)}" for queue, hint in hints.items())
    homes = "\n".join(scoped(*files) for _, files in groupby(prelude(), _home))
    values = f"{_numbers(TIMES_MS)}, {_numbers(AGES_S)}, {outbox_max}, {FORMAT}"
    bounds = f"local TIMES_MS, AGES_S, OUTBOX_MAX, FORMAT = {values}"
    verbs = "\n".join(f"VERBS['{verb.name}'] = function(KEYS, ARGV)\n{_body(verb)}\nend" for verb in Verb)
    return f"local HINTS = {{{table}}}\n{bounds}\n{library_tables()}\n{homes}\nlocal VERBS = {{}}\n{verbs}"


@cache
def library_tables() -> str:
    """Return the Lua text of WIRE, with all patterns that the files name."""
    return lua_tables(read_lua(file) for file in (*prelude(), *Verb))


def _body(verb: Verb) -> str:
    """Return the file of a verb, behind locals for its arguments where frontier/wire names them."""
    rows = NAMED_ARGUMENTS.get(verb)
    return f"{lua_locals(rows)}\n{read_lua(verb)}" if rows else read_lua(verb)


def scoped(*files: str) -> str:
    """Return files of one home as a block, behind locals for what they export."""
    # Lua allows 200 local names in one function, and the whole library is one.
    exports, shares = ([name for file in files for name in header(file, field)] for field in ("EXPORTS", "SHARES"))
    shared = f"local {', '.join(shares)}\n" if shares else ""
    blocks = "\n".join(f"do\n{read_lua(file)}\nend" for file in files)
    return f"local {', '.join(exports)}\ndo\n{shared}{blocks}\nend"


def named_library(text: str) -> tuple[str, str]:
    """Return the name of a library, and its text with the lines that name it and register its functions."""
    name = LIBRARY + hashlib.sha256(text.encode()).hexdigest()[:16]
    matches = {verb: re.search("^-- FLAGS: (.+)$", read_lua(verb), re.MULTILINE) for verb in Verb}
    flags = {verb: f"'{flag[1]}'" if flag else "" for verb, flag in matches.items()}
    registered = "\n".join(
        f"redis.register_function{{function_name = '{name}_{verb.name}', flags = {{{flag}}}, "
        f"callback = function(keys, args) return run(VERBS.{verb.name}, keys, args) end}}"
        for verb, flag in flags.items()
    )
    return name, f"#!lua name={name}\n{text}\n{registered}"


@cache
def read_lua(name: str) -> str:
    """Return the text of a Lua file, such as `request/commit`."""
    return (resources.files("crawl_tasks.frontier") / "lua" / f"{name}.lua").read_text("utf-8")
