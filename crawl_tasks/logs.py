"""Logging: lines for people (key=value) or machines (JSON), each with the page that was in work.

Modules log with the standard library: a constant message, values in `extra`.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import time
import unicodedata
from collections.abc import Callable
from contextvars import ContextVar
from typing import Literal

from crawl_tasks.model import Lease

page_at_hand: ContextVar[Lease | None] = ContextVar("page_at_hand", default=None)
"""Every line names the page while this variable is set."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_CELERY_TASK_DATA = "data"
"""The extra in which Celery repeats its own message."""
_PASSWORD = re.compile(r"(://[^\s/:@\"']*):[^\s/\"']+@")
# A forum's text could otherwise steer the terminal on which a log is read.
# Controls but tab and line feed, and the marks that turn the direction of a line (UAX 9).
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_ESCAPED = {code: f"\\x{code:02x}" for code in [*range(9), *range(11, 32), 127, *range(128, 160)]}
_ESCAPED |= {code: f"\\u{code:04x}" for code in [0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]}


# Unicode categories: control, format (such as right-to-left overrides), surrogate, line and paragraph separator.
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """Return the fields of a record beside its message: the page, and the values in `extra`."""
    fields: dict[str, object] = {}
    lease = page_at_hand.get()
    if lease is not None:
        request = lease.request
        fields.update(site=request.site, stage=request.stage.value, url=request.address)
        fields.update(task=lease.rid, attempt=lease.attempt)
    for name, value in vars(record).items():
        if name not in _STANDARD and name != _CELERY_TASK_DATA:
            fields[name] = value
    return fields


def _stamp(record: logging.LogRecord) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{whole}.{int(record.msecs):03d}Z"


def for_terminal(text: str) -> str:
    r"""Return a text with control and direction characters as JSON spells them, as in \u009b, but line ends."""
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def printable(text: str, most: int = 500) -> str:
    """Return a text of at most `most` characters, with control and direction characters as escapes."""
    safe = "".join(_escaped(char) if unicodedata.category(char) in _UNSAFE else char for char in text[:most])
    return safe + "…" if len(text) > most else safe


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def hide_passwords(text: str) -> str:
    """Return a text with the password of every URL replaced by ***."""
    return _PASSWORD.sub(r"\1:***@", text) if "@" in text else text


class ConsoleFormatter(logging.Formatter):
    """Formatter of `time level message key=value ... [logger]` on one line, with control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of one record, followed by the traceback if there is one."""
        pairs = (f"{name}={_shown(value)}" for name, value in _fields(record).items())
        message = record.getMessage().translate(_ESCAPED)
        line = " ".join([_stamp(record), f"{record.levelname.lower():8}", message, *pairs, f"[{record.name}]"])
        return hide_passwords(line if record.exc_info is None else f"{line}\n{self.formatException(record.exc_info)}")


class JsonFormatter(logging.Formatter):
    """Formatter of one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON object of one record."""
        fields: dict[str, object] = {
            "time": _stamp(record),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "logger": record.name,
        }
        fields |= _fields(record)
        if record.exc_info is not None:
            fields["traceback"] = self.formatException(record.exc_info)
        return hide_passwords(json.dumps(fields, ensure_ascii=False, default=str))


def _shown(value: object) -> str:
    text = str(value).translate(_ESCAPED)
    return json.dumps(text, ensure_ascii=False) if " " in text or '"' in text or not text else text


def configure_logs(
    style: Literal["console", "json"], level: int | str | None = None, logfile: str | None = None
) -> None:
    """Set up the root logger of a process with one handler, for stderr or a file."""
    handler: logging.Handler = logging.FileHandler(logfile) if logfile else logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else ConsoleFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level or logging.WARNING)


COUNT_EVERY_S = 60.0


class OutageLog:
    """A rate-limited error log for the outages of one server, in one process. Thread-safe."""

    def __init__(self, log: logging.Logger, what: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with a server that works.

        Args:
            log: the logger to write to.
            what: the message, which names the failure and its consequence.
            clock: returns seconds.
        """
        self._log = log
        self._what = what
        self._clock = clock
        self._lock = threading.Lock()
        self._began: float | None = None
        self._count_at = 0.0
        self._failures = 0

    def fail(self, error: Exception) -> None:
        """Log one more failure: the first at once, further ones by their number, once a minute."""
        with self._lock:
            now = self._clock()
            self._failures += 1
            if self._began is None:
                self._began, fields = now, {"error": str(error)}
            elif now >= self._count_at:
                fields = {"error": str(error), "failures": str(self._failures), "for_s": f"{now - self._began:.0f}"}
            else:
                return
            self._count_at = now + COUNT_EVERY_S
        self._log.error(self._what, extra=fields)

    def end(self) -> None:
        """Note that the server works, and log how long an outage lasted."""
        # Called after every success, so the usual case takes no lock. The second check is the safe one.
        if self._began is None:
            return
        with self._lock:
            if self._began is None:
                return
            lasted, failures = self._clock() - self._began, self._failures
            self._began, self._failures = None, 0
        self._log.warning("works again", extra={"after_s": f"{lasted:.1f}", "failures": failures, "what": self._what})
