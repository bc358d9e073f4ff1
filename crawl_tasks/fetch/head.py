"""Step 5, fetch: the head of a response, status and headers, read from the bytes that libcurl hands over. Pure."""

from __future__ import annotations


def read_head(raw: bytes | bytearray) -> tuple[int, dict[str, str]] | None:
    """Read status and headers of the last head there is; None where it does not end with an empty line.

    Names of headers are in lower case, repeated ones joined by commas.

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
    status = first[9:12]  # libcurl lets through no status line of another shape
    return int(status) if status.isdecimal() else 0, headers
