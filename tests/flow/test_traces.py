"""Traces of real workers, as a collector gets them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.flow.world import World
from tests.serving import serving
from tests.waiting import PATIENCE_S


@contextmanager
def collector() -> Iterator[tuple[str, list[Span]]]:
    """Serve what takes traces by OTLP over HTTP; yield its address, and the spans that came."""
    spans: list[Span] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
            spans.extend(
                span
                for of_process in request.resource_spans
                for scope in of_process.scope_spans
                for span in scope.spans
            )
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url, spans


def test_each_thread_that_was_stored_is_one_whole_trace(world: World) -> None:
    world.forum()
    with collector() as (url, spans):
        world.environment |= {"CRAWL_TRACES": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": url}
        workers = [world.worker("fetch", "list,detail"), world.worker("store", "store")]
        world.crawl()
        for worker in workers:
            worker.terminate()
        assert [worker.wait(timeout=PATIENCE_S) for worker in workers] == [0, 0]
        for name in ("fetch", "store"):
            world.processes.pop(name)

    by_trace: dict[bytes, list[str]] = {}
    for span in spans:
        by_trace.setdefault(span.trace_id, []).append(span.name)
    threads = [names for names in by_trace.values() if "fetch post" in names]
    assert len(threads) == int(world.count_requests().fields["done:post"])
    assert all("admit" in names and names.count("store") == count_of_pages(names) for names in threads)


def count_of_pages(names: list[str]) -> int:
    return sum(name in {"fetch post", "fetch comment"} for name in names)
