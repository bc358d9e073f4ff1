"""Two installations, each with a Redis and sites of its own, that share one database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Comment, Items, Lease, Parsed, Post, Request, Stage
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.unit.command_line import run, site_text, write_site


class Team:
    """An installation with a database number of one Redis, and a site file for each of its sites."""

    def __init__(self, prefix: str, place: str, database: str, home: Path) -> None:
        self.prefix, self.place, self.database, self.home = prefix, place, database, home
        home.mkdir()
        self.frontier = Frontier(open_client(place, ""), prefix)

    def run(self, *words: str, prefix: str = "") -> Result:
        settings = {"database_url": self.database, "redis_prefix": prefix or self.prefix}
        return run(*words, home=self.home, redis_url=self.place, **settings)

    def publish(self, site: str, port: int) -> Result:
        write_site(self.home, site_text(site, f"http://127.0.0.1:{port}", f"127.0.0.1:{port}"), site)
        return self.run("sites", "check", site)

    def crawl(self, site: str) -> None:
        """Read thread 1, which names thread 2, and store it."""
        first, second = (Request(site, Stage.POST, one, f"http://127.0.0.1/post/{one}") for one in "12")
        self.frontier.admit(site, [first])
        [rid] = self.frontier.client.zrange(f"{self.prefix}:s:{site}:released:post", 0, -1)
        lease = self.frontier.lease(site, int(rid))
        assert isinstance(lease, Lease)
        at = lease.token / 1000
        items = Items(site, posts=(Post("1", seen_at=at, title="t"),), comments=(Comment("1", "7", at, body="b"),))
        self.frontier.commit(lease, Parsed(items, (second,)))
        self.store()

    def store(self) -> None:
        with Store(self.database) as store:
            OutboxConsumer(self.frontier, lambda: store, batch=10, worth=1).run()

    def open_pages(self, site: str) -> int:
        return int(self.frontier.client.hget(f"{self.prefix}:s:{site}", "ready") or 0)


@pytest.fixture
def teams(new_url: Callable[[], str], redis_server: RedisServer, tmp_path: Path) -> Iterator[tuple[Team, Team]]:
    place, url = redis_server.url.rsplit("/", 1)[0], new_url()
    made = Team("north", f"{place}/4", url, tmp_path / "north"), Team("south", f"{place}/5", url, tmp_path / "south")
    for team, site, port in zip(made, ("one", "two"), (8001, 8002), strict=True):
        assert team.publish(site, port).exit_code == Exit.OK
        team.crawl(site)
    yield made
    for team in made:
        team.frontier.client.flushdb()
        team.frontier.client.close()


def test_an_emptied_installation_rebuilds_its_own_sites_and_leaves_the_other_alone(teams: tuple[Team, Team]) -> None:
    north, south = teams
    assert north.run("pause", "one", "--why", "a court order").exit_code == Exit.OK
    epoch = Admin(north.frontier).restore.epoch()
    south.frontier.client.flushdb()

    recovered = south.run("recover")

    assert recovered.exit_code == Exit.OK, recovered.output
    assert [line.partition(":")[0] for line in recovered.output.splitlines()] == ["two"]
    assert south.frontier.sites.names() == ["two"]
    assert not south.frontier.sites.has_decisions("one")
    assert Admin(north.frontier).restore.epoch() == epoch
    for team in teams:
        assert "nothing is lost" in team.run("recover").output


def test_neither_installation_misses_the_sites_of_the_other(teams: tuple[Team, Team]) -> None:
    for team in teams:
        said = team.run("check", "--deep")

        assert "the terms of the site are gone" not in said.output
        assert "another ledger" not in said.output


def test_a_second_installation_without_a_prefix_of_its_own_is_told_to_have_one(teams: tuple[Team, Team]) -> None:
    _, south = teams

    said = south.run("sites", "check", prefix="north")

    assert said.exit_code == Exit.USAGE
    assert "set a CRAWL_REDIS_PREFIX of its own" in said.output


def test_a_site_of_the_other_installation_is_refused_until_it_is_removed_there(teams: tuple[Team, Team]) -> None:
    north, south = teams

    refused = south.publish("one", 8001)

    assert refused.exit_code == Exit.USAGE
    assert "CRAWL_REDIS_PREFIX=north crawls it into this database" in refused.output
    assert south.frontier.sites.names() == ["two"]
    assert north.run("sites", "remove", "one", "--yes").exit_code == Exit.OK
    assert "removed" in south.run("sites", "check").output
    assert south.publish("one", 8001).exit_code == Exit.OK
    south.crawl("one")
    south.frontier.client.flushdb()
    assert south.run("recover").exit_code == Exit.OK
    assert south.frontier.sites.names() == ["one", "two"]


def test_a_site_that_both_publish_past_the_database_stays_with_the_first(
    teams: tuple[Team, Team], tmp_path: Path
) -> None:
    north, south = teams
    database, south.database = south.database, f"sqlite:///{tmp_path}/nowhere/none.db"
    assert south.publish("one", 8001).exit_code == Exit.OK
    south.database = database

    south.crawl("one")
    refused = south.run("pause", "one")
    south.frontier.client.delete("south:decisions:one")
    removed = south.run("sites", "remove", "one", "--data", "--yes")

    assert (refused.exit_code, removed.exit_code) == (Exit.USAGE, Exit.USAGE)
    assert "CRAWL_REDIS_PREFIX=north crawls it" in removed.output
    with Store(database) as store:
        assert set(store.kept_sites(north.frontier.ledger)) == {"one"}
        assert set(store.kept_sites(south.frontier.ledger)) == {"two"}
        assert store.decisions(north.frontier.ledger) == []


def test_a_ledger_that_fills_the_database_no_more_leaves_no_number_of_its_batches(store: Store) -> None:
    store.note_drawn("crawl:", 7)
    store.note_drawn("crawl:", 5)
    assert (store.drawn("crawl:"), store.drawn("south:")) == (7, 0)

    store.renew_epoch(None, "crawl:")

    assert store.drawn("crawl:") == 0
