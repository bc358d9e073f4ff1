"""Receivers of alerts: webhooks and chats, each a URL and the payload that its owner reads.

The URLs contain secrets. So no URL is logged or shown.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote_plus, urlsplit

import requests

from crawl_tasks.errors import BackendError, SettingsError
from crawl_tasks.frontier.admin.alert_state import Change
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.kinds import Problem

TIMEOUT_S = 10.0
MOST_LINES = 20
"""Alerts in one message of a chat at most. The rest is counted."""


@dataclass(frozen=True, slots=True)
class News:
    """A problem that begins, lasts or ended, and the time of its beginning in ms by the clock of Redis."""

    change: Change
    problem: Problem
    since_ms: int


class Form(StrEnum):
    """The payload formats of a message."""

    JSON = "json"
    SLACK = "slack"
    DINGTALK = "dingtalk"
    WECOM = "wecom"


class NotDelivered(BackendError):
    """A receiver did not take a message."""


@dataclass(frozen=True, slots=True, repr=False)
class Receiver:
    """A receiver. Its text is safe to log: format and host without the path, which often is the secret."""

    form: Form
    url: str
    secret: str = ""

    def __str__(self) -> str:
        return f"{self.form.value} at {urlsplit(self.url).hostname}"

    __repr__ = __str__

    def deliver(self, news: Sequence[News], installation: str) -> None:
        """Send a message.

        Raises:
            NotDelivered: nobody answers, or the answer is a refusal.
        """
        body = _BODIES[self.form](news, installation)
        # No redirects: the message would go to an address that nobody has configured, perhaps over plain HTTP.
        try:
            with requests.post(self._signed(), json=body, timeout=TIMEOUT_S, allow_redirects=False) as answer:
                self._check(answer)
        except requests.RequestException as error:
            # The text of the error, and the errors it was raised from, contain the URL and so the secret.
            raise NotDelivered(f"{self} was not reached: {type(error).__name__}; is the address right?") from None

    def _signed(self) -> str:
        if self.form is not Form.DINGTALK or not self.secret:
            return self.url
        at = str(round(time.time() * 1000))
        return f"{self.url}{'&' if '?' in self.url else '?'}timestamp={at}&sign={sign(self.secret, at)}"

    def _check(self, answer: requests.Response) -> None:
        if answer.status_code >= 300:
            raise NotDelivered(f"{self} answered {answer.status_code}; is the address right?")
        # DingTalk and WeCom answer 200 to everything, and put their error into the body.
        if self.form in (Form.DINGTALK, Form.WECOM):
            reply = answer.json()
            if not isinstance(reply, dict) or reply.get("errcode") != 0:
                raise NotDelivered(f"{self} refused: {str(reply)[:200]}; is its secret right?")


def sign(secret: str, at_ms: str) -> str:
    """Return the signature of a time for a DingTalk robot: HMAC-SHA256 over time and secret, in base64, for a URL."""
    digest = hmac.new(secret.encode(), f"{at_ms}\n{secret}".encode(), hashlib.sha256).digest()
    return quote_plus(base64.b64encode(digest))


def read_receivers(text: str, dingtalk_secret: str = "") -> list[Receiver]:
    """Return the receivers of CRAWL_ALERT_TO: addresses separated by blanks, each FORM+URL or, for json, URL.

    Raises:
        SettingsError: a word is no address. The message names its number only, since the word may be a secret.
    """
    receivers = []
    for number, word in enumerate(text.split(), 1):
        form, plus, url = word.partition("+")
        # A plus sign may also be part of a plain URL.
        if not plus or form not in set(Form):
            form, url = Form.JSON, word
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(
                f"CRAWL_ALERT_TO: address {number} is none; write https://..., slack+https://..., dingtalk+https://..."
                " or wecom+https://..."
            )
        receivers.append(Receiver(Form(form), url, dingtalk_secret))
    return receivers


def _json(news: Sequence[News], installation: str) -> dict[str, object]:
    return {
        "source": "crawl_tasks",
        "installation": installation,
        "alerts": [
            {
                "change": item.change.value,
                "name": item.problem.name,
                "subject": item.problem.subject,
                "severity": item.problem.severity.value,
                "summary": item.problem.summary,
                "remedy": item.problem.remedy,
                "since_ms": item.since_ms,
            }
            for item in news
        ],
    }


def text_of(news: Sequence[News], installation: str) -> str:
    """Return alerts as text for people, a paragraph each."""
    lines = [f"{installation}: {counted(len(news), 'alert')}"]
    for item in news[:MOST_LINES]:
        problem = item.problem
        if item.change is Change.ENDED:
            lines.append(gettext("ended: {problem}", problem=problem.key))
        else:
            head = f"{gettext(item.change.value)} ({gettext(problem.severity.value)}) {problem.name}"
            lines.append(f"{head}: {problem.summary}\n  {problem.remedy}")
    if len(news) > MOST_LINES:
        lines.append(gettext("and {count} more: crawl-tasks status", count=len(news) - MOST_LINES))
    return "\n".join(lines)


def _slack(news: Sequence[News], installation: str) -> dict[str, object]:
    # Slack reads these three characters as markup, and asks for no other escapes.
    text = text_of(news, installation).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": text}


def _chat(news: Sequence[News], installation: str) -> dict[str, object]:
    return {"msgtype": "text", "text": {"content": text_of(news, installation)}}


_BODIES: dict[Form, Callable[[Sequence[News], str], dict[str, object]]] = {
    Form.JSON: _json,
    Form.SLACK: _slack,
    Form.DINGTALK: _chat,
    Form.WECOM: _chat,
}
