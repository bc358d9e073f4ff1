"""Log lines for people (key=value) or machines (JSON), each with the page that was being worked on.

Modules log with the standard library, constant messages and values in `extra`; structlog only renders.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

import structlog
from structlog.typing import EventDict, WrappedLogger

from crawl_tasks.model import Lease

_lease: ContextVar[Lease | None] = ContextVar("lease", default=None)


@contextmanager
def page_context(lease: Lease) -> Iterator[None]:
    """Name the page in every line logged inside."""
    token = _lease.set(lease)
    try:
        yield
    finally:
        _lease.reset(token)


def _add_page(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    lease = _lease.get()
    if lease is not None:
        request = lease.request
        event.update(
            site=request.site, stage=request.stage.value, url=request.address, task=lease.rid, attempt=lease.attempt
        )
    return event


def configure_logs(
    style: Literal["console", "json"], level: int | str | None = None, logfile: str | None = None
) -> None:
    """Set up the root logger of a process: one handler, to stderr or a file."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if style == "json"
        else structlog.dev.ConsoleRenderer(colors=logfile is None and sys.stderr.isatty(), pad_event_to=0)
    )
    before: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _add_page,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
    )
    handler: logging.Handler = logging.FileHandler(logfile) if logfile else logging.StreamHandler()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level or logging.WARNING)
