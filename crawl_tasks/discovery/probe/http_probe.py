"""The HTTP probe: pages of an unknown forum, one after the other, each requested once, few in all."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Self

from crawl_tasks.errors import FetchError, ParseError
from crawl_tasks.fetch.body import decode
from crawl_tasks.fetch.fetch_policy import FetchPolicy, RenderPolicy
from crawl_tasks.fetch.fetcher import Fetcher
from crawl_tasks.fetch.http_client import Limits
from crawl_tasks.fetch.warc_records import RequestResponse
from crawl_tasks.model import Fetched, Request, Stage
from crawl_tasks.parse.json_ld import Json, loads
from crawl_tasks.parse.markup_limits import check_markup
from crawl_tasks.parse.values.charset import decoded, is_named
from crawl_tasks.parse.values.charset_detector import CharsetDetector

MOST_PAGES = 36
PUBLIC_PACE_S = 1.0
_LIMITS = Limits(8 << 20, 16 << 20)
# What browsers send with each request, and what is of one session.
_NOT_OF_API = re.compile(r"accept|user-agent|referer|origin|content-|sec-|if-|cookie|.*(auth|token|csrf|xsrf|session)")


# A session id in a link, as programs write it for visitors without cookies, and the signs around.
_SESSION = re.compile(
    rb"(\?|;|&(?:amp;)?)([A-Za-z_]\w*)=([0-9A-Fa-f]{32}|(?<=SESSID=)[0-9A-Za-z,-]{16,})(?![\w,-])(&(?:amp;)?|;(?=\w))?"
)
_LEAST_LINKS = 3


class HttpProbe:
    """Fetches through the crawl's own fetcher: robots.txt, address checks and limits hold here too.

    With `drops_sessions` pages come without the session ids in their links. `sessions` are the parameters met so far.
    """

    def __init__(self, fetcher: Fetcher, policy: FetchPolicy, *, pace_s: float, drops_sessions: bool = False) -> None:
        """Make a probe. `pace_s` is the pause between two requests, unless robots.txt has a longer Crawl-delay."""
        self.sessions: set[str] = set()
        self._drops_sessions = drops_sessions
        self._fetcher = fetcher
        self._policy = policy
        self._pace_s = pace_s
        self._seen: dict[str, Fetched | FetchError] = {}
        self._asked_by: dict[str, list[RequestResponse]] = {}

    @property
    def asked(self) -> list[str]:
        """Every requested address, in order."""
        return list(self._seen)

    def has(self, url: str) -> bool:
        """Return whether a page is here already, so that it costs no request."""
        return isinstance(self._seen.get(url), Fetched)

    def page(self, url: str, request: Request | None = None) -> Fetched:
        """Return a page, which is fetched at most once. A request has the body and the headers of its stage.

        Raises:
            FetchError: the page cannot be fetched, or would be one too many.
        """
        known = self._seen.get(url)
        if known is None:
            known = self._seen[url] = self._ask(request or Request("survey", Stage.LIST, "page", url))
        if isinstance(known, FetchError):
            raise known
        return known

    def drawing(self) -> Self:
        """Let a browser draw all pages from now on, and return this probe without the pages so far."""
        self._policy = replace(self._policy, render=dict.fromkeys(Stage, RenderPolicy()))
        self._seen.clear()
        return self

    def plain(self, *, draws: bool = False) -> tuple[Self, dict[str, str]]:
        """Return a probe with these pages, which goes on drawing or not, and the headers that all scripts sent."""
        sent = [set(asked.headers.items()) for those in self._asked_by.values() for asked in those if _json_in(asked)]
        common = set.intersection(*sent) if sent else set()
        headers = {name: value for name, value in sorted(common) if not _NOT_OF_API.match(name.lower())}
        other = copy(self)
        other._policy = replace(self._policy, render=self._policy.render if draws else {}, headers=headers)
        return other, headers

    def answers(self, url: str) -> Iterator[tuple[str, Json]]:
        """Yield the JSON answers that a drawn page asked for, with their addresses."""
        for asked in self._asked_by.get(url, ()):
            if (answer := _json_in(asked)) is not None:
                yield asked.url, answer

    def guessed_charset(self) -> str:
        """Return the charset that fits all pages that name none that fits, empty where they are few.

        A single page counts if it names no charset, or one of Western Europe that its letters refute, and if nothing
        of it is lost. Otherwise a damaged page would choose the charset of the forum.
        """
        detector = CharsetDetector()
        pages = [(page, decoded(page, detector=detector)) for page in self._seen.values() if isinstance(page, Fetched)]
        unnamed = [page for page, text in pages if text.note]
        named = sum(not text.note and not text.text.isascii() for _, text in pages)
        if len(unnamed) <= named:
            return ""
        charset = decoded(unnamed[-1], detector=detector).charset
        fitting = [page for page in unnamed if not decoded(page, charset).lost]
        is_sure = len(fitting) > 1 or any(not is_named(page) for page in fitting)
        return charset if is_sure and 2 * len(fitting) > len(unnamed) else ""

    def crawl_delay_s(self, url: str) -> float | None:
        """Return the Crawl-delay of the address's robots.txt in seconds, after a first fetch from that host."""
        return self._fetcher.crawl_delay_s(url, self._policy)

    def _ask(self, request: Request) -> Fetched | FetchError:
        url = request.address
        if len(self._seen) >= MOST_PAGES:
            raise FetchError(f"{url} would be request {MOST_PAGES + 1}; a survey makes {MOST_PAGES} at most")
        if self._seen:
            # At most 30 s: a person waits while up to 36 pages are fetched.
            time.sleep(max(self._pace_s, min(self.crawl_delay_s(url) or 0.0, 30.0)))
        try:
            with self._fetcher.recording() as self._asked_by[url]:
                page = self._fetcher.fetch(request, self._policy)
            check_markup(page.body, url)
        except FetchError as error:
            return error
        except ParseError as error:
            # One page that no parser takes is no reason to look at no other.
            return FetchError(str(error))
        return self._without_sessions(page) if self._drops_sessions else page

    def _without_sessions(self, page: Fetched) -> Fetched:
        often = Counter(match.group(2, 3) for match in _SESSION.finditer(page.body))
        names = {name for (name, _), count in often.items() if count >= _LEAST_LINKS}
        self.sessions |= {name.decode() for name in names}

        def left(match: re.Match[bytes]) -> bytes:
            before, name, _, behind = match.groups(b"")
            if name not in names:
                return match[0]
            # The next parameter takes the question mark.
            return behind if before != b"?" else b"?" * bool(behind)

        return page._replace(body=_SESSION.sub(left, page.body)) if names else page


def _json_in(asked: RequestResponse) -> Json:
    """Return the JSON answer to a GET, None for any other."""
    raw = asked.response
    with suppress(FetchError, ValueError):
        if raw.status == 200 and "json" in raw.headers.get("content-type", "") and "content-type" not in asked.headers:
            return loads(decode(raw.wire, raw.headers.get("content-encoding", ""), _LIMITS).decode())
    return None
