"""Messages as each kind of receiver wants them; secrets never in an error."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from crawl_tasks.errors import SettingsError
from crawl_tasks.frontier.admin.alert_state import Change
from crawl_tasks.monitor.alerts.receivers import Form, News, NotDelivered, read_receivers, sign, text_of
from crawl_tasks.monitor.problems.kinds import Problem, Severity
from tests.alerts.receiver import Inbox, open_inbox

LATE = Problem("CrawlSiteLate", Severity.WARNING, "demo", "2 boards <late>", "crawl-tasks status")
BEGINS = News(Change.BEGINS, LATE, 1_700_000_000_000)
ENDED = News(Change.ENDED, LATE, 1_700_000_000_000)


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with open_inbox() as inbox:
        yield inbox


def deliver(address: str, *news: News, secret: str = "") -> None:
    (receiver,) = read_receivers(address, secret)
    receiver.deliver(news, "crawl")


def test_a_generic_receiver_gets_every_field(inbox: Inbox) -> None:
    deliver(inbox.url, BEGINS)

    assert inbox.messages == [
        {
            "source": "crawl_tasks",
            "installation": "crawl",
            "alerts": [
                {
                    "change": "begins",
                    "name": "CrawlSiteLate",
                    "subject": "demo",
                    "severity": "warning",
                    "summary": "demo: 2 boards <late>",
                    "remedy": "crawl-tasks status",
                    "since_ms": 1_700_000_000_000,
                }
            ],
        }
    ]


@pytest.mark.parametrize("form", ["dingtalk", "wecom"])
def test_a_chat_gets_plain_text_that_says_what_to_do(inbox: Inbox, form: str) -> None:
    deliver(f"{form}+{inbox.url}", BEGINS, ENDED)

    (message,) = inbox.messages
    assert message["msgtype"] == "text"
    assert message["text"]["content"].splitlines() == [
        "crawl: 2 alerts",
        "begins (warning) CrawlSiteLate: demo: 2 boards <late>",
        "  crawl-tasks status",
        "ended: CrawlSiteLate demo",
    ]


def test_slack_reads_no_markup_into_a_site_name(inbox: Inbox) -> None:
    deliver(f"slack+{inbox.url}", BEGINS)

    assert "2 boards &lt;late&gt;" in inbox.messages[0]["text"]


def test_a_message_to_dingtalk_is_signed_with_its_moment(inbox: Inbox) -> None:
    deliver(f"dingtalk+{inbox.url}?access_token=1", BEGINS, secret="SEC1")

    query = parse_qs(urlsplit(inbox.paths[0]).query)
    assert query["access_token"] == ["1"]
    assert sign("SEC1", query["timestamp"][0]) in inbox.paths[0]


def test_a_signature_is_what_an_independent_hmac_gives() -> None:
    # printf '1700000000000\nSEC1' | openssl dgst -sha256 -hmac SEC1 -binary | base64
    assert sign("SEC1", "1700000000000") == "ukR4%2BWoOOBTGaOauYqugxVrMSFyr92q4hPxJxuOkiio%3D"


@pytest.mark.parametrize(
    ("form", "status", "reply", "complaint"),
    [
        ("json", 500, "", "answered 500"),
        ("slack", 302, "", "answered 302"),
        ("dingtalk", 200, '{"errcode": 310000, "errmsg": "sign not match"}', "sign not match"),
        ("wecom", 200, "hello", "was not reached: JSONDecodeError"),
        ("wecom", 200, "[]", "refused"),
    ],
)
def test_an_answer_that_says_no_is_an_error_without_the_secret(
    inbox: Inbox, form: str, status: int, reply: str, complaint: str
) -> None:
    inbox.status, inbox.reply = status, reply

    with pytest.raises(NotDelivered) as caught:
        deliver(f"{form}+{inbox.url}", BEGINS)

    assert complaint in str(caught.value)
    assert "TOKEN" not in str(caught.value)


def test_nobody_there_is_an_error_without_the_secret() -> None:
    with pytest.raises(NotDelivered) as caught:
        deliver("http://127.0.0.1:1/hook/TOKEN", BEGINS)

    assert str(caught.value).startswith("json at 127.0.0.1 was not reached: ConnectionError")
    assert "TOKEN" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "text", ["TOKEN", "slack+TOKEN", "ftp://host/TOKEN", "https:///TOKEN", "mail+https://host/TOKEN"]
)
def test_what_is_no_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_receivers(f"https://example.org/x {text}")

    assert "address 2 is none" in str(caught.value)
    assert "TOKEN" not in str(caught.value)


def test_a_receiver_shows_neither_path_nor_secret() -> None:
    (receiver,) = read_receivers("dingtalk+https://oapi.example/robot/send?access_token=TOKEN", "SEC1")

    assert receiver.form is Form.DINGTALK
    assert str(receiver) == repr(receiver) == "dingtalk at oapi.example"


def test_a_message_with_many_alerts_names_the_first_and_counts_the_rest() -> None:
    lines = text_of([ENDED] * 50, "crawl").splitlines()

    assert len(lines) == 22
    assert lines[-1] == "and 30 more: crawl-tasks status"
