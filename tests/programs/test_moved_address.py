"""`crawl-tasks new` where the address leads on: from http to https, and to or from a name with www."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from crawl_tasks.cli.exits import Exit
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.site_address import place_of
from crawl_tasks.discovery.proof.checks import check_trials
from crawl_tasks.discovery.proof.dry_run import missing_in, try_site
from crawl_tasks.discovery.proof.findings import site_file
from crawl_tasks.discovery.start_page import find_forum
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.loader import parse_site
from tests.layouts.drawing import content, drawn
from tests.layouts.pages import Pages
from tests.programs.host import Answer, Ask, moved, served
from tests.serving import signed_for
from tests.unit.command_line import run

NAMES = ("localhost", "www.localhost")


@dataclass(frozen=True)
class Moved:
    """A server that redirects each page to another address."""

    target: Callable[[], str]

    def answer(self, ask: Ask) -> Answer:
        return moved(f"{self.target()}{ask.path}")


@pytest.mark.parametrize("layout", [0, 8])
@pytest.mark.parametrize(
    ("given", "name"), [NAMES, NAMES[::-1], NAMES[:1] * 2], ids=["to www", "from www", "same name"]
)
def test_the_file_names_the_address_that_answers_and_no_page_is_redirected(
    tmp_path: Path, layout: int, given: str, name: str
) -> None:
    pages = Pages(drawn(layout), content(drawn(layout)))
    certificate = signed_for(2, tmp_path, *NAMES)
    with served(pages, certificate=certificate) as host, served(Moved(lambda: last)) as first:
        last = f"https://{name}:{urlsplit(host.url).port}"
        place = place_of(f"http://{given}:{urlsplit(first.url).port}/")
        ours = frozenset(f"{one}:{urlsplit(url).port}" for one in NAMES for url in (host.url, first.url))
        fetcher = Fetcher(build_client("requests", ca_file=str(certificate)), Resolver(lambda _: ("127.0.0.1",)))
        policy = FetchPolicy("crawl_tasks", allowed_hosts=ours, private_hosts=ours, origin=place.base)
        probe = HttpProbe(fetcher, policy, pace_s=0)

        found = find_forum(probe, place, "moved", None, contact=None)
        site = parse_site(site_file(found), "moved.yaml").model_copy(update={"private_hosts": tuple(ours)})
        trials = list(try_site(probe, compile_site(site, None)))

    assert site.base == last
    assert f"{place.base} redirects to {last}, which is crawled" in found.remarks
    assert (missing_in(trials), [one for one in check_trials(site, trials) if not one.holds]) == ([], [])
    assert len(first.asked) == 1
    assert [url for url in probe.asked[1:] if not url.startswith(last)] == []


@pytest.mark.parametrize("name", ["127.0.0.1", "127.0.0.2", "localhost"])
def test_a_redirect_to_another_private_host_is_said_and_not_followed(tmp_path: Path, name: str) -> None:
    with served(Pages(drawn(0), content(drawn(0)))) as host, served(Moved(lambda: last)) as first:
        last = host.url.replace("127.0.0.1", name)

        result = run("new", first.url, "--name", "moved", home=tmp_path)

    assert result.exit_code == Exit.USAGE
    assert f"{first.url}/ redirects to {last}/, which is another host" in result.stderr
    assert f"crawl-tasks new {last}/" in result.stderr
    assert (host.asked, list(tmp_path.glob("sites/*"))) == ([], [])
