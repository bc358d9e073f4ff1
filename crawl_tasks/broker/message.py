"""Broker messages: checked before Celery sees them, and decoded once."""

from __future__ import annotations

import base64
from typing import Any

import orjson
from kombu.exceptions import DecodeError
from kombu.transport import virtual

_MARK = "crawl_at"
"""The header that only the frontier writes."""

_ENCODINGS = (None, "utf-8", "base64")

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
    # A forged hint ends where its task fails. Any other message would come back to the queue and end the next worker.
    if "task" in headers and _MARK not in headers:
        _check_body(base64.b64decode(payload["body"], validate=True) if encoding == "base64" else payload["body"])
    return payload


def _check_body(text: str | bytes) -> None:
    """Check the shape of a body: with a wrong one Celery's worker fails before or after the task, not within."""
    match orjson.loads(text):
        case [list(), dict(), dict() as links]:
            calls = [call for name in _CALLS for call in links.get(name) or ()]
        case _:
            raise ValueError("the body is not arguments, named arguments and what to call next: [[], {}, {}]")
    if not all(isinstance(call, dict) and isinstance(call.get("task"), str) for call in calls):
        raise ValueError("what to call next is no task")


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
