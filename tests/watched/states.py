"""The states of one site: how each begins and ends, and the problems that all places are to name meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from crawl_tasks.monitor.problems.registry import KINDS
from tests.watched.forum import Forum
from tests.watched.places import Installation

Act = Callable[[Installation, str], None]

NOT_ROBOTS: Final = "User-agent: *\nDisallow: /\n"
WEEK_MS: Final = 7 * 86_400_000


def becomes(state: str) -> Act:
    def act(there: Installation, name: str) -> None:
        there.forums[name].state = state

    return act


def _close(there: Installation, name: str) -> None:
    there.forums[name].close()


def _open(there: Installation, name: str) -> None:
    there.forums[name].open()


def types(*arguments: str) -> Act:
    def act(there: Installation, name: str) -> None:
        code, text = there.command(*(one.replace("NAME", name) for one in arguments))
        assert code == 0, text

    return act


def _slow(there: Installation, name: str) -> None:
    there.forums[name].latency_s = 4.0  # the deadline is 3 s


def _quick(there: Installation, name: str) -> None:
    there.forums[name].latency_s = 0.0


def robots(answer: str | int) -> Act:
    def act(there: Installation, name: str) -> None:
        there.forums[name].robots = answer
        # Its copy lasts a day.
        there.world.client.delete(f"crawl:robots:http://127.0.0.1:{there.forums[name].port}")

    return act


_allow = robots(404)


def reads_robots(answer: str | int) -> Act:
    def act(there: Installation, name: str) -> None:
        robots(answer)(there, name)
        there.restart_worker()  # each process keeps a copy of its own

    return act


def _stop_long_ago(*arguments: str) -> Act:
    def act(there: Installation, name: str) -> None:
        types(*arguments)(there, name)
        client, key = there.world.client, f"crawl:s:{name}"
        text = (client.hget(key, "decision") or b"").decode()
        at = text[1:].partition(",")[0].strip('" ')
        client.hset(key, "decision", text.replace(at, str(int(at) - WEEK_MS), 1))
        client.hincrby("crawl:changes", name, 1)

    return act


def _hold_long_ago(there: Installation, name: str) -> None:
    types("schedule", "hold", f"{name}/2")(there, name)
    client, key = there.world.client, f"crawl:s:{name}:unwatched"
    since, _, rest = (client.hget(key, "2") or b"").decode().partition(" ")
    client.hset(key, "2", f"{int(since) - WEEK_MS} {rest}")
    client.hincrby("crawl:changes", name, 1)


def _take_file_away(there: Installation, name: str) -> None:
    file = there.sites / f"{name}.yaml"
    file.rename(there.sites / f"{name}.away")
    there.command("sites", "check")


def _put_file_back(there: Installation, name: str) -> None:
    (there.sites / f"{name}.away").rename(there.sites / f"{name}.yaml")
    there.command("sites", "check")


def _nothing(there: Installation, name: str) -> None:
    time.sleep(0)


@dataclass(frozen=True)
class State:
    """A state of a site. `kinds` are told of it, the gravest first; `types` are the commands of remedies that mend it.

    `also` may be told besides, for a while. A forum that is ill from the first request on `is_from_start`.
    """

    name: str
    what: str
    kinds: tuple[str, ...]
    begin: Act = _nothing
    mend: Act = _nothing
    also: tuple[str, ...] = ()
    types: str = ""
    forum: Callable[[], Forum] = Forum
    site: dict[str, str] = field(default_factory=dict)
    is_from_start: bool = False
    in_ci: bool = False
    ends: bool = True

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the kinds for which Prometheus has a rule."""
        return tuple(name for name in self.kinds if KINDS[name].rule)


_RETRY = "failed retry"
_LOGIN = "login: {form: /login, secrets: {password: FORUM_PASS}, success: 'a.out'}\n"

STATES = (
    State("okay", "in order", (), in_ci=True),
    State("refused", "connections are refused", ("CrawlNoPages",), _close, _open, in_ci=True,
          also=("CrawlSlowedDown",)),
    State("hanging", "no answer within the deadline", ("CrawlNoPages",), becomes("hanging"), becomes("")),
    State("busy", "503 to everything", ("CrawlSiteRefuses",), becomes("busy"), becomes(""), in_ci=True),
    State("denied", "403 to everything", ("CrawlDenied",), becomes("denied"), becomes(""), in_ci=True,
          types=_RETRY),
    State("failing", "500 to everything", ("CrawlNoPages",), becomes("failing"), becomes("")),
    State("robots500", "robots.txt answers 500", ("CrawlSiteRefuses",),
          forum=lambda: Forum(robots=500), mend=_allow, is_from_start=True),
    State("robotsno", "robots.txt forbids everything", ("CrawlNoPages",),
          forum=lambda: Forum(robots=NOT_ROBOTS), mend=_allow, is_from_start=True, in_ci=True, ends=False),
    State("robotspost", "robots.txt forbids the threads", ("CrawlGivenUp",),
          forum=lambda: Forum(robots="User-agent: *\nDisallow: /post/\n"), mend=_allow, is_from_start=True,
          ends=False),
    State("upkeep", "a page of maintenance with 200", ("CrawlParserBroken",), becomes("maintenance"), becomes(""),
          in_ci=True, types=_RETRY),
    State("redesigned", "another markup of the threads", ("CrawlQuarantined",), becomes("redesigned"), becomes(""),
          types=_RETRY),
    State("textless", "no text where the rules look for it", ("CrawlQuarantined",), becomes("textless"), becomes(""),
          types=_RETRY),
    State("uncounted", "no comments where the rules look", ("CrawlMismatch",), becomes("uncounted"), becomes(""),
          in_ci=True, also=("CrawlThreadsShort",)),
    State("miscounted", "lists count three times as many", ("CrawlMismatch",), becomes("miscounted"), becomes(""),
          also=("CrawlThreadsShort",)),
    State("boardgone", "a board answers 404", ("CrawlBoardsGone",), becomes("board_gone"), becomes(""), in_ci=True),
    State("boardempty", "a board shows no thread any more", ("CrawlBoardsEmpty",), becomes("board_empty"), becomes(""),
          in_ci=True),
    State("empty", "no board shows a thread any more", ("CrawlBoardsEmpty",), becomes("empty"), becomes("")),
    State("threadsgone", "listed threads answer 404", ("CrawlMismatch",), becomes("threads_gone"), becomes(""),
          in_ci=True),
    State("deadposts", "each thread answers 418", ("CrawlGivenUp",), becomes("dead_posts"), becomes(""), in_ci=True,
          types=_RETRY),
    State("illposts", "each thread answers 500", ("CrawlGivenUp",), becomes("ill_posts"), becomes(""),
          also=("CrawlRetrying",), types=_RETRY),
    State("guest", "members only, without a login", ("CrawlParserBroken",), becomes("guest"), becomes(""),
          types=_RETRY),
    State("slow", "each answer comes after the deadline", ("CrawlNoPages",), _slow, _quick),
    State("paused", "paused by an operator", ("CrawlPaused",), types("pause", "NAME"), in_ci=True, types="resume"),
    State("pausedlong", "paused a week ago", ("CrawlPausedLong",), _stop_long_ago("pause", "NAME"), types="resume",
          in_ci=True),
    State("drained", "drained a week ago", ("CrawlPausedLong",), _stop_long_ago("pause", "NAME", "--drain"),
          types="resume"),
    State("held", "a board is held", ("CrawlBoardsHeld",), types("schedule", "hold", "NAME/2"), types="schedule go",
          in_ci=True),
    State("hooks", "its own functions raise", ("CrawlHooksFail",), is_from_start=True, in_ci=True,
          site={"more": "hooks: {item_stored: 'tests.watched.hooks:raises'}\n"}, ends=False),
    State("login", "no login succeeds", ("CrawlLoginRefused",), is_from_start=True, site={"more": _LOGIN}, in_ci=True,
          ends=False),
    State("budget", "its daily budget is spent", ("CrawlResting",), is_from_start=True,
          site={"gate": ", daily_budget: 12"}, ends=False),
    State("unfiled", "its file is gone", ("CrawlSiteWithoutFile",), _take_file_away, _put_file_back,
          in_ci=True),
    State("nameless", "its name does not resolve", ("CrawlNoPages",), is_from_start=True,
          site={"base": "http://nowhere.invalid"}, ends=False),
    State("goal", "a goal that cannot be met", ("CrawlGoalMissed",), is_from_start=True, ends=False,
          site={"more": "freshness: {goal_s: 2, requests_s: 0.02}\n"}),
    State("robotsturns", "robots.txt begins to forbid everything", ("CrawlNoPages",), reads_robots(NOT_ROBOTS),
          reads_robots(404)),
    State("robotsbreaks", "robots.txt begins to answer 500", ("CrawlSiteRefuses",), reads_robots(500), _allow),
    State("robotsbig", "robots.txt has 2 MB", (), reads_robots("User-agent: *\nDisallow: /x\n" * 70_000), _allow),
    State("limited", "429 to everything, for ten minutes", ("CrawlSiteRefuses",), becomes("limited"), becomes(""),
          ends=False),
    State("blank", "200 without a text", ("CrawlParserBroken",), becomes("blank"), becomes(""), types=_RETRY),
    State("moved", "everything redirects to another host", ("CrawlNoPages",), becomes("moved"), becomes(""),
          also=("CrawlGivenUp",)),
    State("walled", "everything redirects to a login", ("CrawlNoPages",), becomes("walled"), becomes("")),
    State("circular", "everything redirects to itself", ("CrawlNoPages",), becomes("circular"), becomes("")),
    State("challenged", "a wall against robots", ("CrawlDenied",), becomes("challenged"), becomes(""),
          types=_RETRY),
    State("huge", "pages larger than the limit", ("CrawlNoPages",), becomes("huge"), becomes(""),
          site={"gate": ", max_body_bytes: 65536"}),
    State("cut", "each answer breaks off", ("CrawlNoPages",), becomes("cut"), becomes("")),
    State("undecodable", "pages in an encoding that they do not have", ("CrawlNoPages",), becomes("undecodable"),
          becomes("")),
    State("picture", "pictures in the place of pages", ("CrawlParserBroken",), becomes("picture"), becomes(""),
          types=_RETRY),
    State("mislabelled", "another charset than the pages name", (), becomes("mislabelled"), becomes("")),
    State("boarddenied", "a board answers 403", ("CrawlBoardsUnwatched",), becomes("board_denied"), becomes(""),
          types=_RETRY),
    State("boardfailing", "a board answers 500", ("CrawlBoardsUnwatched",), becomes("board_failing"), becomes(""),
          also=("CrawlRetrying",), types=_RETRY),
    State("nightly", "quiet hours at all hours", ("CrawlResting",), is_from_start=True, ends=False,
          site={"gate": ", quiet_hours: ['00:00-12:00', '12:00-00:00']"}),
    State("proxyless", "its proxy is away", ("CrawlSiteRefuses",), is_from_start=True, ends=False,
          site={"more": "proxy: http://127.0.0.1:9\n"}),
    State("untrusted", "no TLS where its address says https", ("CrawlSiteRefuses",), is_from_start=True, ends=False,
          site={"base": "https://127.0.0.1:{port}"}),
    State("flushed", "its guard was flushed", (), types("sites", "flush", "NAME", "--guard")),
    State("unpriced", "its function of priorities raises", ("CrawlHooksFail",), is_from_start=True, ends=False,
          site={"more": "priority_of: 'tests.watched.hooks:raises_at'\n"}),
    State("heldlong", "a board is held since a week", ("CrawlBoardsHeldLong",), _hold_long_ago, types="schedule go"),
)  # fmt: skip
