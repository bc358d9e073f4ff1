"""The library of Redis functions: its text from the Lua files, and the verbs in it.

The text is the hint templates, the tables of wire/writer.py, the prelude and all verbs. The hash of the text
names the library, so that workers of several versions call their own. Redis Functions need Redis 7.0 or Valkey.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from importlib import resources
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
    "lib/pending_pages",
    "lib/answers",
)
"""The library in front of every verb, in this order."""


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
    prelude = "\n".join(scoped(part) for part in PRELUDE)
    values = f"{_numbers(TIMES_MS)}, {_numbers(AGES_S)}, {outbox_max}, {FORMAT}"
    bounds = f"local TIMES_MS, AGES_S, OUTBOX_MAX, FORMAT = {values}"
    verbs = "\n".join(f"VERBS['{verb.name}'] = function(KEYS, ARGV)\n{_body(verb)}\nend" for verb in Verb)
    return f"local HINTS = {{{table}}}\n{bounds}\n{library_tables()}\n{prelude}\nlocal VERBS = {{}}\n{verbs}"


@cache
def library_tables() -> str:
    """Return the Lua text of WIRE, with all patterns that the files name."""
    return lua_tables(read_lua(file) for file in (*PRELUDE, *Verb))


def _body(verb: Verb) -> str:
    """Return the file of a verb, behind locals for its arguments where frontier/wire names them."""
    rows = NAMED_ARGUMENTS.get(verb)
    return f"{lua_locals(rows)}\n{read_lua(verb)}" if rows else read_lua(verb)


def scoped(part: str) -> str:
    """Return a file of the prelude as a block. Its header names the functions and constants for other files."""
    # Lua allows 200 local names in one function, and the whole library is one.
    text = read_lua(part)
    exports = ", ".join(name for line in re.findall("^-- EXPORTS: (.+)$", text, re.MULTILINE) for name in line.split())
    return f"local {exports}\ndo\n{text}\nend"


def named_library(text: str) -> tuple[str, str]:
    """Return the name of a library, and its text with the lines that name it and register its functions."""
    name = LIBRARY + hashlib.sha256(text.encode()).hexdigest()[:16]
    found = {verb: re.search("^-- FLAGS: (.+)$", read_lua(verb), re.MULTILINE) for verb in Verb}
    flags = {verb: f"'{flag[1]}'" if flag else "" for verb, flag in found.items()}
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
