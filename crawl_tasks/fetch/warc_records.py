"""WARC records (ISO 28500): the requests and responses of one attempt, and the description of its page for a reread."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from io import BytesIO
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from crawl_tasks.fetch.http_client import RawResponse
from crawl_tasks.fetch.revalidation import NOT_MODIFIED
from crawl_tasks.model import Fetched, Lease

GZIP: Final = 31
"""The window of zlib for gzip members."""
# Credentials: whoever reads the archive could act as us.
_SECRET: Final = frozenset({"authorization", "cookie", "proxy-authorization", "set-cookie"})
_NOT_MODIFIED_PROFILE: Final = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_SAME_PROFILE: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


class RequestResponse(NamedTuple):
    """A request with its response, received at `at` (`time.monotonic`). `is_cut` if the body goes on in truth."""

    url: str
    headers: Mapping[str, str]
    response: RawResponse
    at: float
    is_cut: bool


class KnownBody(NamedTuple):
    """A payload that the file holds: the record, its date, and the position in the file."""

    record_id: str
    date: str
    at: int


def description(lease: Lease, page: Fetched) -> dict[str, object]:
    """Return the values for a reread of a page: the request, and the page's times by Redis' clock."""
    request = lease.request._asdict() | {"reach": lease.request.reach._asdict()}
    return {
        "request": request,
        "token": lease.token,
        "tail": lease.tail,
        "site_version": lease.site_version,
        "url": page.url,
        "at_s": page.at_s,
        "age_s": page.age_s,
        "seen_at": page.seen_at,
    }


class WarcRecords:
    """The records of one attempt, packed: one gzip member each, as WARC readers expect."""

    def __init__(
        self, start: int, offset: float, known: Mapping[tuple[str, str], KnownBody], secret: Collection[str] = ()
    ) -> None:
        """Begin the records.

        Args:
            start: the position in the file at which they will stand.
            offset: Redis' clock less `time.monotonic`, in seconds.
            known: the payloads that the file holds already, by address and digest.
            secret: names of request headers that no archive may hold, beside those of every site.
        """
        from warcio.recordbuilder import RecordBuilder  # noqa: PLC0415 (an extra)

        self._builder = RecordBuilder(warc_version="1.1")
        self._start, self._offset, self._known = start, offset, known
        self._secret = _SECRET | {name.lower() for name in secret}
        self._out = bytearray()
        self.new: dict[tuple[str, str], KnownBody] = {}

    def packed(self) -> bytes:
        """Return all records so far."""
        return bytes(self._out)

    def add_information(self, name: str) -> None:
        """Add the record that stands first in a file of this name."""
        fields = {"software": "crawl_tasks", "format": "WARC File Format 1.1", "hostname": socket.gethostname()}
        self._add(self._builder.create_warcinfo_record(name, fields))

    def add(self, exchanges: Sequence[RequestResponse], page: Mapping[str, object] | None) -> None:
        """Add exchanges, and the description of the last one where it is a page."""
        record_id = date = ""
        payload_at = 0
        for exchange in exchanges:
            date = datetime.fromtimestamp(exchange.at + self._offset, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            record_id, payload_at = self._add_response(exchange, date)
            self._add_request(exchange, {"WARC-Date": date, "WARC-Concurrent-To": record_id})
        if page is not None:
            text = json.dumps({**page, "payload_at": payload_at}).encode()
            named = {"WARC-Date": date, "WARC-Refers-To": record_id}
            uri = exchanges[-1].url
            made = self._builder.create_warc_record(
                uri, "metadata", BytesIO(text), len(text), "application/json", warc_headers_dict=named
            )
            self._add(made)

    def _add_response(self, exchange: RequestResponse, date: str) -> tuple[str, int]:
        """Add a response, or the revisit of one in this file. Return its id, and the position of its payload."""
        url, raw = exchange.url, exchange.response
        # The client has undone the transfer encoding. The content encoding is as it came.
        headers = [(name, value) for name, value in self._public(raw.headers) if name != "transfer-encoding"]
        digest = "sha1:" + base64.b32encode(hashlib.sha1(raw.wire, usedforsecurity=False).digest()).decode()
        payload = (url, digest)
        known = (self._known.get(payload) or self.new.get(payload)) if raw.wire else None
        named = {"WARC-Date": date} | ({"WARC-Truncated": "length"} if exchange.is_cut else {})
        if raw.status == NOT_MODIFIED:
            named |= {"WARC-Profile": _NOT_MODIFIED_PROFILE, "WARC-Refers-To-Target-URI": url}
        elif known is not None:
            named |= {"WARC-Profile": _SAME_PROFILE, "WARC-Payload-Digest": digest, "WARC-Refers-To": known.record_id}
            named |= {"WARC-Refers-To-Target-URI": url, "WARC-Refers-To-Date": known.date}
        else:
            named["WARC-Payload-Digest"] = digest
        kind = "revisit" if "WARC-Profile" in named else "response"
        body = raw.wire if kind == "response" else b""
        at = self._start + len(self._out)
        made = self._builder.create_warc_record(
            url, kind, BytesIO(body), len(body), warc_headers_dict=named,
            http_headers=_header_class()(_status_line(raw.status), headers, protocol="HTTP/1.1"),
        )  # fmt: skip
        record_id = str(made.rec_headers.get_header("WARC-Record-ID"))
        self._add(made)
        if known is not None:
            return record_id, known.at
        self.new[payload] = KnownBody(record_id, date, at)
        return record_id, at

    def _add_request(self, exchange: RequestResponse, named: dict[str, str]) -> None:
        parts = urlsplit(exchange.url)
        line = f"GET {parts.path or '/'}{f'?{parts.query}' if parts.query else ''} HTTP/1.1"
        head = _header_class()(line, [("Host", parts.netloc), *self._public(exchange.headers)], is_http_request=True)
        made = self._builder.create_warc_record(
            exchange.url, "request", BytesIO(), 0, warc_headers_dict=named, http_headers=head
        )
        self._add(made)

    def _public(self, headers: Mapping[str, str]) -> list[tuple[str, str]]:
        return [(name, value) for name, value in headers.items() if name.lower() not in self._secret]

    def _add(self, record: object) -> None:
        from warcio.warcwriter import WARCWriter  # noqa: PLC0415 (an extra)

        plain = BytesIO()
        WARCWriter(plain, gzip=False, warc_version="1.1").write_record(record)
        packer = zlib.compressobj(6, zlib.DEFLATED, GZIP)
        self._out += packer.compress(plain.getvalue()) + packer.flush()


@cache
def _header_class() -> Callable[..., object]:
    """Return the class of a header block that is written as it came: clients read header values as latin-1.

    warcio's own would write each byte beyond ASCII twice encoded, as %C3%83.
    """
    from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415 (an extra)

    class HttpHeaders(StatusAndHeaders):  # type: ignore[misc]  # warcio has no types
        def to_ascii_bytes(self, filter_func: object = None) -> bytes:
            text = f"{self.to_str(filter_func)}\r\n"
            try:
                return text.encode("latin-1")
            # Of a request: what a site file says, which goes out as UTF-8.
            except UnicodeEncodeError:
                return text.encode()

    return HttpHeaders


def _status_line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} "
