"""Answers of pages that do harm: misbehaving servers, heavy markup, refusals without end, and pages that are none."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import count

from tests.unit.heavy_markup import HEAVY
from tests.unit.hostile_server import Answer, Visit, page, redirect
from tests.unit.misbehaviour import BAD

GOOD = "<h1>post</h1><div class=body>hello</div>"
OTHER = GOOD.replace("hello", "other")
A_DAY = "86400"
TOO_MANY, UNAVAILABLE = "429 Too Many Requests", "503 Service Unavailable"


def html(body: bytes | str, charset: str = "", **headers: str) -> Answer:
    """Answer with a page of HTML."""
    kind = f"text/html; charset={charset}" if charset else "text/html"
    return page(body.encode() if isinstance(body, str) else body, Content_Type=kind, **headers)


def in_a_circle(visit: Visit) -> None:
    """Redirect from one address of the page to the next, and back."""
    path, _, query = visit.target.partition("?")
    redirect(path if query == "turn=3" else f"{path}?turn={int(query[5:] or 0) + 1}")(visit)


def ever_further(visit: Visit) -> None:
    """Redirect to an address of the page that nobody has seen."""
    redirect(f"{visit.target.partition('?')[0]}?turn={next(_TURNS)}")(visit)


def redirect_to_itself(visit: Visit) -> None:
    """Redirect to the same address."""
    redirect(visit.target)(visit)


_TURNS = count()
LAUGHS = '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {after} "{f"&{before};" * 10}">' for before, after in zip("abcdefghi", "bcdefghij", strict=True)
)

REFUSALS: dict[str, Answer] = {
    "429 for a day": page(b"later", TOO_MANY, Retry_After=A_DAY),
    "503 for a second, without an end": page(b"later", UNAVAILABLE, Retry_After="1"),
    "500 for a day": page(b"later", "500 Oops", Retry_After=A_DAY),
}

FALSE_PAGES: dict[str, Answer] = {
    "redirect to itself": redirect_to_itself,
    "redirect in a circle": in_a_circle,
    "redirect ever further": ever_further,
    "a refresh to itself": html('<meta http-equiv=refresh content="0"><h1>wait'),
    "nothing": html(b""),
    "zeros": html(b"\0" * 100_000),
    "a picture": page(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100, Content_Type="image/png"),
    "a picture that says it is a page": html(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100),
    "JSON": page(b'{"error": "no such post"}', Content_Type="application/json"),
    "JSON of 100,000 brackets": page(b"[" * 100_000, Content_Type="application/json"),
    "a login wall": html("<form action=/login><input type=password></form>"),
    "XML of a billion laughs": page(f"{LAUGHS}]><l>&j;</l>".encode(), Content_Type="application/xhtml+xml"),
    "UTF-16 that says UTF-8": html(OTHER.encode("utf-16"), "utf-8"),
    "UTF-8 that says UTF-16": html(OTHER, "utf-16"),
    "a charset that there is none of": html(OTHER.encode("cp037"), "x-none"),
    "a charset of 10,000 letters": html(b"\xff\xfe\xfd" * 1000, "x" * 10_000),
    "12 MB of text": html(b"<p>" + b"word " * 2_500_000),
    "a bomb that is a page": html(gzip.compress(b"<p>" + b" " * 15_000_000), Content_Encoding="gzip"),
    "2,000 cookies": page(b"<p>", Set_Cookie="\r\nSet-Cookie: ".join(f"c{number}=1" for number in range(2_000))),
    "an ETag of 50 KB": page(b"<p>", ETag=f'"{"e" * 50_000}"'),
    "an age of a thousand years": page(b"<p>", Age="9" * 11, Date="Mon, 01 Jan 1000 00:00:00 GMT"),
}


def hostile_pages() -> Iterator[tuple[str, Answer]]:
    """Yield the name and the answer of each page, the refusals first."""
    yield from REFUSALS.items()
    yield from FALSE_PAGES.items()
    for name, (answer, _) in BAD.items():
        if name not in {"redirect to itself", "429", "503"}:  # which are above
            yield name, answer
    for name, body in HEAVY.items():
        yield f"markup: {name}", html(body)
