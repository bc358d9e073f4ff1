"""Step 3: a message as it was taken from Redis: checked before Celery sees it, and decoded once."""

from __future__ import annotations

import base64
from typing import Any

import orjson
from kombu.exceptions import DecodeError
from kombu.transport import virtual

_MARK = "crawl_at"
"""The header that only the frontier writes."""

_ENCODINGS = (None, "utf-8", "base64")

_CALLS = ("callbacks", "errbacks", "chain")


def is_hint(message: virtual.Message) -> bool:
    """Say whether the frontier wrote a message, and will send it again when it is lost."""
    return _MARK in message.headers


def readable(message: bytes) -> dict[str, Any]:
    """Read a message as far as kombu and Celery need it; anybody can put anything on a Redis list.

    Raises:
        ValueError: it is no JSON, or its body is no base64.
        LookupError: it lacks what a message has.
        TypeError: what it has is of the wrong kind.
    """
    payload: dict[str, Any] = orjson.loads(message)
    properties, headers = payload["properties"], payload["headers"]
    texts = [payload["body"], properties["delivery_tag"], properties["delivery_info"]["routing_key"]]
    if "task" in headers:  # else it is of the workers' remote control
        texts += (headers["task"], headers["id"])
    "".join(texts)  # the cheapest way to hold that all are texts
    if payload["content-type"] != "application/json":
        raise ValueError("the content type is not application/json")
    encoding = properties.get("body_encoding")
    if encoding not in _ENCODINGS:
        raise ValueError("the body's encoding is neither utf-8 nor base64")
    if "task" in headers and _MARK not in headers:  # a forged hint ends where its task fails; others would come back
        _check_body(base64.b64decode(payload["body"], validate=True) if encoding == "base64" else payload["body"])
    return payload


def _check_body(text: str | bytes) -> None:
    """Hold that a body is what Celery takes it for: if not, its worker fails before or after the task, not in it."""
    match orjson.loads(text):
        case [list(), dict(), dict() as links]:
            calls = [call for name in _CALLS for call in links.get(name) or ()]
        case _:
            raise ValueError("the body is not arguments, named arguments and what to call next: [[], {}, {}]")
    if not all(isinstance(call, dict) and isinstance(call.get("task"), str) for call in calls):
        raise ValueError("what to call next is no task")


class Message(virtual.Message):
    """A message on its way through a worker.

    A hint is neither compressed nor encoded, and nothing but plain JSON: what kombu looks for in any message is not
    looked for in it. Sets private names of kombu 5.7; a test compares the hint with kombu's own.
    """

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
