"""Step 3: a message as it was taken from Redis: checked before Celery sees it, and decoded once."""

from __future__ import annotations

import base64
from typing import Any

import orjson
from kombu.exceptions import DecodeError
from kombu.transport import virtual


def is_hint(message: virtual.Message) -> bool:
    """Say whether the frontier wrote a message, and will send it again when it is lost."""
    return "crawl_at" in message.headers


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
    if encoding == "base64":
        base64.b64decode(payload["body"], validate=True)
    elif encoding not in (None, "utf-8"):
        raise ValueError("the body's encoding is neither utf-8 nor base64")
    return payload


class Message(virtual.Message):
    """A message on its way through a worker."""

    def _decode(self) -> object:
        """Decode the body. A hint is plain JSON; others may hold the types that kombu adds to it."""
        if not is_hint(self):
            return super()._decode()
        try:
            return orjson.loads(self.body or "")
        except ValueError as error:
            raise DecodeError(str(error)) from error
