"""Step 5, fetch: the head of a response, status and headers, read from the bytes that libcurl hands over. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Head(NamedTuple):
    """What stands before a body. Names of headers are in lower case, repeated ones joined by commas."""

    status: int
    headers: dict[str, str]


def read_head(raw: bytes | bytearray) -> Head | None:
    """Read the last head there is; None where it does not end with an empty line.

    Args:
        raw: all lines as they came: interim responses (1xx) before, trailers behind.
    """
    text = raw.decode("latin-1").replace("\r\n", "\n")
    front, is_whole, _ = text[text.rfind("\nHTTP/") + 1 :].partition("\n\n")
    if not is_whole:
        return None
    first, *lines = front.split("\n")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Head(_status_in(first), headers)


def _status_in(line: str) -> int:
    """Read the status of a status line; libcurl has refused what is none."""
    words = line.split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdecimal() else 0
