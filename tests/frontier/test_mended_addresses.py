"""Requests that wait when a site file is mended are fetched at the addresses of today, at every stage."""

from __future__ import annotations

import pytest

from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Request, Stage
from crawl_tasks.sites.schema import Site
from tests.frontier.small_crawl import RULES, SmallCrawl


def request(site: Site, stage: Stage, path: str, page: int = 1) -> Request:
    return Request("demo", stage, path.split("/")[-2 if stage is not Stage.POST else -1], f"{site.base}{path}", page)


def admit_all(crawl: SmallCrawl, site: Site, directory: str, wait_s: int = 0) -> None:
    places = (Stage.LIST, "/list/7/2", 2), (Stage.POST, "/post/1", 1), (Stage.COMMENT, "/comment/1/3", 3)
    requests = [request(site, stage, directory + path, page) for stage, path, page in places]
    crawl.frontier.admit("demo", requests, wait_s=wait_s)


def publish(crawl: SmallCrawl, directory: str, more: str = "boards: []\n") -> Site:
    crawl.forum.pages[f"{directory}/comment/1/3"] = "<p>nobody has answered"
    return crawl.publish(more, rules=RULES.replace("address: /", f"address: {directory}/"))


def todays(directory: str) -> set[str]:
    return {f"{directory}/list/7/2", f"{directory}/post/1", f"{directory}/comment/1/3"}


@pytest.mark.parametrize("wait_s", [0, 3600], ids=["ready", "delayed"])
def test_waiting_requests_of_all_stages_take_the_addresses_of_a_mended_file(crawl: SmallCrawl, wait_s: int) -> None:
    site = publish(crawl, "/old")
    admit_all(crawl, site, "/old", wait_s)

    publish(crawl, "/new")
    for entry in crawl.client.zrange("test:s:demo:delayed", 0, -1):
        crawl.client.zadd("test:s:demo:delayed", {entry: 0})
    crawl.frontier.tick("t")

    assert set(crawl.work()) == todays("/new")
    assert Inspector(crawl.frontier).count_requests("demo").imbalance() == ""


def test_addresses_of_three_versions_before_are_known_and_those_of_a_file_set_back_are_todays(
    crawl: SmallCrawl,
) -> None:
    site = publish(crawl, "/v1")
    admit_all(crawl, site, "/v1")
    for directory in ("/v2", "/v3", "/v4"):
        publish(crawl, directory)
        publish(crawl, directory, "boards: []\ntitle: the same addresses\n")

    assert set(crawl.work()) == todays("/v4")

    admit_all(crawl, site, "/v2")
    publish(crawl, "/v2")
    assert crawl.frontier.sites.old_addresses("demo").count("/v2/") == 0


def test_an_address_from_a_link_and_one_of_nobodys_template_stay(crawl: SmallCrawl) -> None:
    site = publish(crawl, "/old")
    paths = ("/old/post/1-with-a-title", "/old/post/2?page=last")
    crawl.frontier.admit(
        "demo", [Request("demo", Stage.POST, str(key), f"{site.base}{path}") for key, path in enumerate(paths, 1)]
    )

    publish(crawl, "/new")

    assert set(crawl.work()) == set(paths)


def test_a_waiting_board_follows_its_own_address(crawl: SmallCrawl) -> None:
    site = publish(crawl, "", "boards: [{id: 1, address: /one}, {id: 2, address: /two}]\n")
    boards = [Request("demo", Stage.LIST, key, f"{site.base}{path}") for key, path in (("1", "/one"), ("2", "/two"))]
    crawl.frontier.admit("demo", boards)

    publish(crawl, "", "boards: [{id: 1, address: /first}, {id: 2, address: /two}]\n")

    assert set(crawl.work()) == {"/first", "/two"}


def test_a_failed_page_of_two_versions_before_is_asked_for_at_the_address_of_today(crawl: SmallCrawl) -> None:
    site = publish(crawl, "/v1")
    crawl.forum.pages["/v1/post/1"] = "<h1>no body</h1>"
    crawl.frontier.admit("demo", [request(site, Stage.POST, "/v1/post/1")])
    crawl.work()
    publish(crawl, "/v1", "boards: []\ntitle: another\n")
    assert Inspector(crawl.frontier).count_requests("demo").parked == 1

    publish(crawl, "/v2")

    assert crawl.work() == ["/v2/post/1"]
