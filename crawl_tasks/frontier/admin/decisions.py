"""Decisions of operators on one Redis: those of a site, those that the database lacks, and their restoring."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import cast

import orjson
import redis

from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.replies import ints
from crawl_tasks.frontier.scripts import Scripts, Verb, explained
from crawl_tasks.frontier.site_wipe import wipe
from crawl_tasks.model import Decision

_AT_ONCE = 300


class Decisions:
    """The decisions on one Redis. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._client = client
        self._scripts = scripts
        self._keys = keys

    @explained("decisions")
    def of(self, sites: Sequence[str]) -> list[Decision]:
        """Return the last decisions about some sites and their boards."""
        pipe = self._client.pipeline(transaction=False)
        for site in sites:
            pipe.hgetall(self._keys.decisions(site))
        return [
            _decision(site, subject.decode(), text)
            for site, held in zip(sites, pipe.execute(), strict=True)
            for subject, text in sorted(held.items())
        ]

    def flushed_ms(self, site: str) -> int:
        """Return when the guard of a site was last flushed, in ms of Redis' clock, 0 for never."""
        return max((decision.at_ms for decision in self.of([site]) if decision.subject == "guard"), default=0)

    def began_ms(self, site: str) -> int:
        """Return when a site was published again after a removal, in ms of Redis' clock, 0 for never."""
        return max(
            (decision.at_ms for decision in self.of([site]) if decision.subject == "site" and not decision.is_removal),
            default=0,
        )

    def unstored(self) -> list[Decision]:
        """Return some of the decisions that the database lacks."""
        [names] = self._scripts.read_all("decisions", [("SRANDMEMBER", self._keys.undecided, _AT_ONCE)])
        pairs = [name.decode().partition(" ") for name in cast("list[bytes]", names)]
        texts = self._scripts.read_all("decisions", [("HGET", self._keys.decisions(site), of) for site, _, of in pairs])
        rows = [(site, of, text) for (site, _, of), text in zip(pairs, cast("list[bytes | None]", texts), strict=True)]
        # Their key was deleted: nothing can be stored, and the name would have the store called for ever.
        self.ack(Decision(site, of, "", 0) for site, of, text in rows if text is None)
        return [_decision(site, of, text) for site, of, text in rows if text is not None]

    @explained("decisions")
    def are_unstored(self, site: str) -> bool:
        """Return whether the database lacks decisions about a site."""
        return any(True for _ in self._client.sscan_iter(self._keys.undecided, match=f"{site} *", count=1000))

    def ack(self, stored: Iterable[Decision]) -> None:
        """Take stored decisions off those that the database lacks."""
        flat = [text for decision in stored for text in (f"{decision.site} {decision.subject}", decision.text)]
        if flat:
            self._scripts.call(Verb.ACK_DECISIONS, *flat)

    def restore(self, decisions: Iterable[Decision]) -> int:
        """Restore decisions that the database knows, carry them out, and return their number. Newer ones in Redis stay.

        Raises:
            ConfigError: another command has taken over a site that is removed by this.
        """
        restored = 0
        for site, group in groupby(sorted(decisions), key=attrgetter("site")):
            flat, token = (
                [text for decision in group for text in (decision.subject, decision.text)],
                secrets.token_hex(8),
            )
            for start in range(0, len(flat), 2 * _AT_ONCE):
                reply = self._scripts.call(Verb.RESTORE_DECISIONS, site, token, *flat[start : start + 2 * _AT_ONCE])
                _, more, is_removed = ints(reply)
                restored += more
                if is_removed:
                    wipe(self._scripts, site, token)
        return restored


def _decision(site: str, subject: str, text: bytes) -> Decision:
    at, value, who, why = orjson.loads(text)
    return Decision(site, subject, value, int(at), who, why, text.decode())
