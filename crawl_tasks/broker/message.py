"""Broker messages: checked before Celery sees them, and decoded once."""

from __future__ import annotations

import base64
import copy
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from kombu.exceptions import DecodeError
from kombu.transport import virtual

from crawl_tasks.frontier.envelope import HINT_END, HINTED

_MARK = "crawl_at"
"""The header that only the frontier writes."""

_ENCODINGS = (None, "utf-8", "base64")

MOST_WAIT = timedelta(days=2)
"""The time ahead that the eta of a message may lie at most."""

_CHORD = re.compile(rb'"subtask_type": ?"chord"')
_TIME = re.compile(r"\d{4}-\d\d-\d\d")

# Celery starts these after the task: a malformed one fails outside of the task.
_CALLS = ("callbacks", "errbacks", "chain")


def is_hint(message: virtual.Message) -> bool:
    """Return whether the frontier wrote a message, and sends a lost one again."""
    return _MARK in message.headers


def readable(message: bytes) -> dict[str, Any]:
    """Return a message's JSON after the checks that kombu and Celery need. Anybody can put anything on a Redis list.

    Raises:
        ValueError: the message is no JSON, or the body is no base64.
        LookupError: a necessary part is missing.
        TypeError: a part has a wrong type.
    """
    payload: dict[str, Any] = orjson.loads(message)
    properties, headers = payload["properties"], payload["headers"]
    if not isinstance(headers, dict) or not isinstance(properties, dict):
        raise TypeError("its headers and properties are no objects")
    texts = [payload["body"], properties["delivery_tag"], properties["delivery_info"]["routing_key"]]
    # Messages without a task are of the workers' remote control.
    if "task" in headers:
        texts += (headers["task"], headers["id"])
    # The cheapest way to check that all are texts.
    "".join(texts)
    if payload["content-type"] != "application/json":
        raise ValueError("the content type is not application/json")
    encoding = properties.get("body_encoding")
    if encoding not in _ENCODINGS:
        raise ValueError("the body's encoding is neither utf-8 nor base64")
    # A kilobyte may unpack to gigabytes.
    if headers.get("compression"):
        raise ValueError("it is compressed, which no message here need be")
    if _MARK in headers:
        # Celery is not asked to check a hint, so it is nothing but what the frontier writes.
        if headers.get("task") not in HINTED or not payload["body"].endswith(HINT_END):
            raise ValueError("it is marked as a message of the frontier, and is none")
    elif "task" in headers:
        # Celery counts tasks by this name: with a list or a dictionary it fails there, and never acknowledges.
        if not isinstance(headers.get("shadow"), str | None):
            raise ValueError("the name that it is to be shown by is no text")
        _check_eta(headers.get("eta"))
        _check_body(base64.b64decode(payload["body"], validate=True) if encoding == "base64" else payload["body"])
    return payload


def _check_eta(eta: object) -> None:
    """Refuse a time far ahead: the worker would hold the message until then. Celery itself refuses what is no time."""
    if isinstance(eta, str) and _TIME.match(eta) and eta[:10] > (datetime.now(UTC) + MOST_WAIT).date().isoformat():
        raise ValueError(f"its eta {eta[:40]} is more than {MOST_WAIT.days} days ahead")


def _check_body(text: str | bytes) -> None:
    """Check the shape of a body: with a wrong one Celery's worker fails before or after the task, not within."""
    match orjson.loads(text):
        case [list(), dict(), dict() as links]:
            calls = [call for name in _CALLS for call in links.get(name) or ()]
        case _:
            raise ValueError("the body is not arguments, named arguments and what to call next: [[], {}, {}]")
    if not all(isinstance(call, dict) and isinstance(call.get("task"), str) for call in calls):
        raise ValueError("what to call next is no task")
    if links.get("chord") or (calls and _CHORD.search(text if isinstance(text, bytes) else text.encode())):
        raise ValueError("it is of a chord, which waits for results that nobody keeps")
    if calls:
        _check_calls(calls)


def _check_calls(calls: list[dict[str, Any]]) -> None:
    """Check that Celery can read what to call next. It tries only after the task, and would never acknowledge it."""
    # Few messages call anything, and the import takes 30 ms.
    from celery.canvas import Signature  # noqa: PLC0415

    try:
        for call in calls:
            Signature.from_dict(copy.deepcopy(call))
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"what to call next cannot be read: {type(error).__name__}") from None


class Message(virtual.Message):
    """A message on the way through a worker.

    A hint is neither compressed nor encoded, and nothing but plain JSON, so kombu's checks for these are left out. Sets
    private names of kombu 5.7. A test compares the hint with kombu's own.
    """

    is_sound = False
    """Whether Celery has read the whole message. From then on an error is the worker's, and not the message's."""

    def __init__(self, payload: dict[str, Any], channel: Any = None, **kwargs: Any) -> None:  # noqa: ANN401 (kombu's)
        if _MARK not in payload["headers"]:
            super().__init__(payload, channel, **kwargs)
            return
        self._raw = payload
        self.channel = channel
        self.body = payload["body"]
        self.headers = payload["headers"]
        self.properties = properties = payload["properties"]
        self.delivery_tag = properties["delivery_tag"]
        self.delivery_info = properties["delivery_info"]
        self.content_type = payload["content-type"]
        self.content_encoding = payload.get("content-encoding")
        self.accept = self._decoded_cache = None
        self._state = "RECEIVED"

    def _decode(self) -> object:
        if not is_hint(self):
            return super()._decode()
        try:
            return orjson.loads(self.body or "")
        except ValueError as error:
            raise DecodeError(str(error)) from error
