"""Log lines for people (key=value) or machines (JSON), each with the page that was being worked on.

Modules log with the standard library: a constant message, values in `extra`.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from contextvars import ContextVar
from typing import Literal

from crawl_tasks.model import Lease

page_at_hand: ContextVar[Lease | None] = ContextVar("page_at_hand", default=None)
"""Every line logged while it is set names the page."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_CELERY_TASK_DATA = "data"
"""Celery repeats in this extra what its message says already."""
_PASSWORD = re.compile(r"(://[^\s/:@\"']*):[^\s/\"']+@")
_ESCAPED = {code: f"\\x{code:02x}" for code in [*range(9), *range(11, 32), 127, *range(128, 160)]}


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """Collect what a record says beside its message: the page, and the values given with it."""
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


def hide_passwords(text: str) -> str:
    """Replace the password of every URL in a text by ***."""
    return _PASSWORD.sub(r"\1:***@", text) if "@" in text else text


class ConsoleFormatter(logging.Formatter):
    """`time level message key=value ... [logger]`, on one line but for tracebacks; control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record."""
        pairs = (f"{name}={_shown(value)}" for name, value in _fields(record).items())
        message = record.getMessage().translate(_ESCAPED)
        line = " ".join([_stamp(record), f"{record.levelname.lower():8}", message, *pairs, f"[{record.name}]"])
        return hide_passwords(line if record.exc_info is None else f"{line}\n{self.formatException(record.exc_info)}")


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record."""
        said: dict[str, object] = {
            "time": _stamp(record),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "logger": record.name,
        }
        said |= _fields(record)
        if record.exc_info is not None:
            said["traceback"] = self.formatException(record.exc_info)
        return hide_passwords(json.dumps(said, ensure_ascii=False, default=str))


def _shown(value: object) -> str:
    text = str(value).translate(_ESCAPED)
    return json.dumps(text, ensure_ascii=False) if " " in text or '"' in text or not text else text


def configure_logs(
    style: Literal["console", "json"], level: int | str | None = None, logfile: str | None = None
) -> None:
    """Set up the root logger of a process: one handler, to stderr or a file."""
    handler: logging.Handler = logging.FileHandler(logfile) if logfile else logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else ConsoleFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level or logging.WARNING)
