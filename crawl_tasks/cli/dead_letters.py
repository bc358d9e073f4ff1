"""The entries of `crawl-tasks failed list`: a dead letter or kept page as a line, and as JSON values."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

from crawl_tasks.frontier.admin.failed import DeadLetter, FailedRequest, RejectedItem
from crawl_tasks.frontier.kept_pages import KeptPage
from crawl_tasks.logs import printable
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.monitor.output_language import gettext

SHORT = 10
"""Characters of a message's id that are shown. Commands take any prefix that is unique."""


def row_of(entry: DeadLetter | KeptPage) -> dict[str, str | int]:
    """Return an entry as JSON values."""
    match entry:
        case FailedRequest(request=request):
            return {"kind": "page", "number": entry.rid, "site": request.site, "state": entry.state.value,
                    "stage": request.stage.value, "key": request.key, "page": request.page,
                    "address": request.address, "at_ms": entry.at_ms, "attempts": entry.attempts,
                    "reason": entry.reason, "details": entry.details}  # fmt: skip
        case KeptPage(request=request, page=page):
            return {"kind": "kept", "number": entry.rid, "site": request.site, "stage": request.stage.value,
                    "address": request.address, "at_ms": round(page.at_s * 1000), "bytes": len(page.body),
                    "reason": entry.why}  # fmt: skip
    row: dict[str, str | int] = {"kind": "item" if isinstance(entry, RejectedItem) else entry.kind.value}
    return row | {name: _text(value) if isinstance(value, bytes) else value for name, value in asdict(entry).items()}


def line_of(entry: DeadLetter | KeptPage) -> str:
    """Return an entry as one line that is safe to print."""
    match entry:
        case FailedRequest(request=request):
            address = f"{request.site} {request.stage.value} {request.address}"
            why = f"{entry.reason} {entry.details}".strip()
            after = gettext("after {attempts}", attempts=counted(entry.attempts, "attempt"))
            line = f"{entry.rid:>8} {_at(entry.at_ms)} {entry.state.value} {address} {after}: {why}"
        case KeptPage(request=request, page=page):
            address = f"{request.site} {request.stage.value} {request.address}"
            line = f"{entry.rid:>8} {_at(page.at_s * 1000)} kept {address} {len(page.body)} bytes: {entry.why}"
        case RejectedItem():
            line = f"{entry.id} {_at(entry.at_ms)} item {entry.reason}: {_text(entry.items[:200])}"
        case _:
            line = f"{entry.id[:SHORT]} {entry.kind.value} {entry.origin}: {entry.reason}"
    return printable(line, most=900)


def _at(ms: float) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")
