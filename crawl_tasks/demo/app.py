"""The demo application: answers a request with a page, a fault or a reply of the control API."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

from crawl_tasks.demo.access_log import AccessLog
from crawl_tasks.demo.fault_injection import MOVED, wrong_answer
from crawl_tasks.demo.faults import Fault, FaultPlan
from crawl_tasks.demo.forum import HTML, Answer, DemoForum
from crawl_tasks.demo.http_request import DemoRequest
from crawl_tasks.demo.mutation import Mutation

_CONTROL = "/_control/"
_JSON = "application/json; charset=utf-8"


class DemoApp:
    """A forum with faults, access log and control API. For the thread of the event loop only.

    The API is open to requests with the token in `X-Demo-Token`. For others, or without a token, there is no such API.
    These requests are not logged, delayed or struck by faults.
        POST /_control/mutate    become the next generation, answered with the Mutation
        PUT  /_control/faults    replace all faults by a JSON list of texts for `Fault.parse`, with new counts
        GET  /_control/truth     the Truth of this generation
        GET  /_control/log       a JSON list of all entries of the access log
    """

    def __init__(
        self, forum: DemoForum, journal: AccessLog, latency_s: float, token: str, truth_file: Path | None
    ) -> None:
        self.forum, self.journal, self.latency_s = forum, journal, latency_s
        self._token, self._truth_file = token, truth_file
        self._plan: FaultPlan | None = None
        self._write_truth()

    def set_faults(self, faults: Iterable[Fault]) -> None:
        """Replace all faults. The counts start anew."""
        chosen = tuple(faults)
        self._plan = FaultPlan(self.forum.seed, chosen) if chosen else None

    def mutate(self) -> Mutation:
        """Become the next generation, and write the truth's file anew."""
        news = self.forum.mutate()
        self._write_truth()
        return news

    def answer(self, call: DemoRequest) -> tuple[bytes, Fault | None]:
        """Return a whole response, and the fault that struck, if any."""
        if call.method not in ("GET", "HEAD"):
            return self.forum.pack(Answer(405, {"content-type": HTML, "allow": "GET, HEAD"}, b"")), None
        target = call.target.removeprefix(MOVED)
        fault = self._plan.pick(call.path) if self._plan else None
        wrong = wrong_answer(fault, call, self.forum.render(target)) if fault else None
        return self._aged(self.forum.pack(wrong) if wrong else self.forum.wire(target)), fault

    def control(self, call: DemoRequest) -> bytes | None:
        """Return the response of the control API, None for a request to the forum."""
        if not call.target.startswith(_CONTROL) or not self._token or call.token != self._token:
            return None
        try:
            return self.forum.pack(self._serve_control(call))
        except ValueError as error:
            return self.forum.pack(Answer(400, {"content-type": "text/plain; charset=utf-8"}, f"{error}\n".encode()))

    def _serve_control(self, call: DemoRequest) -> Answer:
        match call.method, call.target.removeprefix(_CONTROL):
            case "POST", "mutate":
                news = self.mutate()
                return _json({name: getattr(news, name) for name in Mutation.__slots__})
            case "PUT", "faults":
                self.set_faults(_faults(call.body))
                return _json("done")
            case "GET", "truth":
                return Answer(200, {"content-type": _JSON}, self.forum.truth().to_json().encode())
            case "GET", "log":
                return _json([entry._asdict() for entry in self.journal.entries])
        raise ValueError(f"the control desk does not know {call.method} {call.target}; see crawl_tasks/demo/app.py")

    def _aged(self, wire: bytes) -> bytes:
        """Add an Age header: as if cached since the forum's present, or nobody would believe the Date."""
        return wire.replace(b"\r\n", b"\r\nAge: %d\r\n" % max(0, int(time.time()) - self.forum.now), 1)

    def _write_truth(self) -> None:
        if self._truth_file is not None:
            # Written beside and renamed: a test that reads meanwhile sees the old truth or the new one.
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
