"""Traces by OpenTelemetry: one for each visit of a thread, from the list that showed it to its rows.

The ids of a trace and of its first span are made of site, thread and revision. So all processes know them, no message
and no entry of the ledger carries them, and a worker of another version in between breaks no trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Protocol

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from crawl_tasks import __version__
from crawl_tasks.model import Items, Lease, Stage, Visit

_SCOPE = InstrumentationScope("crawl_tasks", __version__)
_MS = 1_000_000
_FAILED = frozenset({"parked", "dead", "delayed"})


class Page(Protocol):
    """A page as a trace names it: a request, or a visit."""

    @property
    def site(self) -> str:
        """The site."""

    @property
    def stage(self) -> str:
        """The stage."""

    @property
    def key(self) -> str:
        """The id of the board or thread."""

    @property
    def revision(self) -> str:
        """The number of the board's scan, or the revision of the thread."""


class Traces:
    """The traces of a process. Thread-safe. Spans leave in batches, in a thread of the SDK's."""

    def __init__(self, exporter: SpanExporter) -> None:
        # Reads OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and OTEL_TRACES_SAMPLER.
        provider = TracerProvider(resource=Resource.create({"service.version": __version__}), shutdown_on_exit=False)
        self._resource, self._sampler = provider.resource, provider.sampler
        self._batches = BatchSpanProcessor(exporter)

    def page(self, lease: Lease, outcome: str, reason: str, status: int, steps: Iterable[tuple[str, float]]) -> None:
        """Record an attempt at a page, with its steps and the seconds that each took, one behind the other."""
        request = lease.request
        root = _root_of(request)
        if not self._is_sampled(root.trace_id):
            return
        own = _context(root.trace_id, f"{request.stage} {request.page} {lease.token}")
        at = began = lease.at_ms * _MS
        for name, seconds in steps:
            ends = at + round(seconds * 1e9)
            self._end(name, _context(root.trace_id, f"{name} {lease.token} {request.page}"), own, at, ends, {})
            at = ends
        about: dict[str, str | int] = {
            "url.full": request.address, "crawl.page": request.page, "crawl.attempt": lease.attempt,
            "crawl.outcome": outcome, **_names(request),
        }  # fmt: skip
        if status:
            about["http.response.status_code"] = status
        is_board = request.stage is Stage.LIST
        self._end(f"fetch {request.stage}", own, None if is_board else root, began, at, about, SpanKind.CONSUMER,
                  Status(StatusCode.ERROR, reason) if outcome in _FAILED else None)  # fmt: skip

    def stored(self, batch: Iterable[Items], began_s: float, ended_s: float) -> None:
        """Record that pages were stored, and which threads their lists had shown. Times are in seconds since 1970."""
        for items in batch:
            if not items.visits:
                continue
            done, *admitted = items.visits
            if done.stage == Stage.LIST:
                for thread in admitted:
                    self._admitted(done, thread)
            root = _root_of(done)
            if self._is_sampled(root.trace_id):
                own = _context(root.trace_id, f"store {done.stage} {done.page} {done.at_ms}")
                about: dict[str, str | int] = {"crawl.posts": len(items.posts), "crawl.comments": len(items.comments)}
                self._end("store", own, root, round(began_s * 1e9), round(ended_s * 1e9), _names(done) | about)

    def close(self) -> None:
        """Send what waits."""
        self._batches.shutdown()  # type: ignore[no-untyped-call]  # of the SDK

    def _admitted(self, found_on: Visit, thread: Visit) -> None:
        root = _root_of(thread)
        if self._is_sampled(root.trace_id):
            at = thread.at_ms * _MS
            place: dict[str, str | int] = {"crawl.board": found_on.key, "crawl.board_page": found_on.page}
            self._end("admit", root, None, at, at, _names(thread) | place, SpanKind.PRODUCER)

    def _is_sampled(self, trace_id: int) -> bool:
        return self._sampler.should_sample(None, trace_id, "crawl").decision is Decision.RECORD_AND_SAMPLE

    def _end(
        self, name: str, own: SpanContext, parent: SpanContext | None, began_ns: int, ended_ns: int,
        about: dict[str, str | int], kind: SpanKind = SpanKind.INTERNAL, status: Status | None = None,
    ) -> None:  # fmt: skip
        span = ReadableSpan(
            name, own, parent, self._resource, about, kind=kind, status=status or Status(StatusCode.UNSET),
            start_time=began_ns, end_time=ended_ns, instrumentation_scope=_SCOPE,
        )  # fmt: skip
        self._batches.on_end(span)


def otlp_traces() -> Traces:
    """Return traces that go to the collector which OTEL_EXPORTER_OTLP_ENDPOINT names."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 (0.1 s)

    return Traces(OTLPSpanExporter())


def _names(page: Page) -> dict[str, str | int]:
    return {"crawl.site": page.site, "crawl.stage": str(page.stage), "crawl.key": page.key}


def _root_of(page: Page) -> SpanContext:
    """Return the first span of a page's trace: the scan of a board, or the admission of a thread."""
    kind = "board" if page.stage == Stage.LIST else "thread"
    trace = sha256(f"{page.site}\0{kind}\0{page.key}\0{page.revision}".encode()).digest()
    return _context(int.from_bytes(trace[:16]), "")


def _context(trace_id: int, name: str) -> SpanContext:
    span_id = int.from_bytes(sha256(f"{trace_id} {name}".encode()).digest()[:8])
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
