"""What one call is answered with: a page, a fault, or a word from the control desk."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

from crawl_tasks.demo.call import Call
from crawl_tasks.demo.faults import Fault, FaultPlan
from crawl_tasks.demo.forum import HTML, Answer, DemoForum
from crawl_tasks.demo.havoc import MOVED, wrong_answer
from crawl_tasks.demo.journal import Journal
from crawl_tasks.demo.news import News

_DESK = "/_control/"
_JSON = "application/json; charset=utf-8"


class House:
    """A forum with its faults, journal and control desk. For the thread of the event loop only.

    The desk is open to calls that carry the token in `X-Demo-Token`; to others it does not exist, nor without a token.
    It is not journalled, delayed or struck by faults.
        POST /_control/mutate    become the next generation; answers with the News
        PUT  /_control/faults    a JSON list of texts as `Fault.parse` reads them replaces all faults; counts start anew
        GET  /_control/truth     the Truth of this generation
        GET  /_control/log       a JSON list of all entries of the journal
    """

    def __init__(
        self, forum: DemoForum, journal: Journal, latency_s: float, token: str, truth_file: Path | None
    ) -> None:
        self.forum, self.journal, self.latency_s = forum, journal, latency_s
        self._token, self._truth_file = token, truth_file
        self._plan: FaultPlan | None = None
        self._write_truth()

    def set_faults(self, faults: Iterable[Fault]) -> None:
        """Replace all faults; their counts start anew."""
        chosen = tuple(faults)
        self._plan = FaultPlan(self.forum.seed, chosen) if chosen else None

    def mutate(self) -> News:
        """Become the next generation, and renew the truth's file."""
        news = self.forum.mutate()
        self._write_truth()
        return news

    def answer(self, call: Call) -> tuple[bytes, Fault | None]:
        """Return a whole response, and the fault that struck, if any."""
        if call.method not in ("GET", "HEAD"):
            return self.forum.pack(Answer(405, {"content-type": HTML, "allow": "GET, HEAD"}, b"")), None
        target = call.target.removeprefix(MOVED)
        fault = self._plan.pick(call.path) if self._plan else None
        wrong = wrong_answer(fault, call, self.forum.render(target)) if fault else None
        return self._aged(self.forum.pack(wrong) if wrong else self.forum.wire(target)), fault

    def control(self, call: Call) -> bytes | None:
        """Return the desk's response, or None if the call is for the forum."""
        if not call.target.startswith(_DESK) or not self._token or call.token != self._token:
            return None
        try:
            return self.forum.pack(self._serve_desk(call))
        except ValueError as error:
            return self.forum.pack(Answer(400, {"content-type": "text/plain; charset=utf-8"}, f"{error}\n".encode()))

    def _serve_desk(self, call: Call) -> Answer:
        match call.method, call.target.removeprefix(_DESK):
            case "POST", "mutate":
                news = self.mutate()
                return _json({name: getattr(news, name) for name in News.__slots__})
            case "PUT", "faults":
                self.set_faults(_faults(call.body))
                return _json("done")
            case "GET", "truth":
                return Answer(200, {"content-type": _JSON}, self.forum.truth().to_json().encode())
            case "GET", "log":
                return _json([entry._asdict() for entry in self.journal.entries])
        raise ValueError(f"the control desk does not know {call.method} {call.target}; see crawl_tasks/demo/house.py")

    def _aged(self, wire: bytes) -> bytes:
        """Say that a response lay in a cache since the forum's present, or nobody would believe its Date."""
        return wire.replace(b"\r\n", b"\r\nAge: %d\r\n" % max(0, int(time.time()) - self.forum.now), 1)

    def _write_truth(self) -> None:
        if self._truth_file is not None:
            fresh = self._truth_file.with_name(f".{self._truth_file.name}.new")
            fresh.write_text(self.forum.truth().to_json(), encoding="utf-8")
            fresh.replace(self._truth_file)


def _faults(body: bytes) -> list[Fault]:
    texts = json.loads(body)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError('faults are a JSON list of texts, such as ["error /post/.* times=1"]')
    return [Fault.parse(text) for text in texts]


def _json(value: object) -> Answer:
    return Answer(200, {"content-type": _JSON}, json.dumps(value, ensure_ascii=False).encode())
