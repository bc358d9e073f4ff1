"""The commands where there are several Redis: each site in its cell, and a dead cell holds up its own sites only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result

from crawl_tasks.cli.exits import Exit
from crawl_tasks.errors import SettingsError
from crawl_tasks.frontier.admin.transfer import SiteTransfer
from crawl_tasks.frontier.cells import Cells, home_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.monitor.cell_snapshots import CellSnapshots
from crawl_tasks.settings import Cell, load_settings
from crawl_tasks.store.upsert import Store
from crawl_tasks.web.exposition import Writer
from crawl_tasks.web.metrics import FAMILIES
from crawl_tasks.worker.runtime import Runtime
from tests.unit.command_line import run, site_text, write_site

NAMES = [f"site{number}" for number in range(12)]
DEAD = "redis://127.0.0.1:1/0"


class Installation:
    """Cells on one server, a database each, and twelve sites of twelve forums."""

    def __init__(self, home: Path, place: str) -> None:
        self.home = home
        self.urls = {cell: f"{place}/{number}" for number, cell in enumerate("abc", start=4)}
        self.frontiers = {cell: Frontier(open_client(url, ""), "test", cell=cell) for cell, url in self.urls.items()}
        for port, name in enumerate(NAMES, start=8800):
            write_site(home, site_text(name, f"http://127.0.0.1:{port}", f"127.0.0.1:{port}"), name)

    def run(self, *arguments: str, cells: str = "ab", **dead: str) -> Result:
        urls = " ".join(f"{cell}={(self.urls | dead)[cell]}" for cell in cells)
        return run(*arguments, home=self.home, redis_url=urls)

    def keep_in_database(self) -> None:
        """Keep sites and ledgers in the database, as the store workers of the cells do."""
        with Store(f"sqlite:///{self.home}/state/crawl.db") as store:
            for name, cell in self.places().items():
                frontier = self.frontiers[cell]
                epoch = (frontier.client.get("test:epoch") or b"").decode()
                store.keep(name, frontier.sites.published(name) or "", epoch, frontier.ledger)

    def places(self) -> dict[str, str]:
        return {name: cell for cell, frontier in self.frontiers.items() for name in frontier.sites.names()}


@pytest.fixture
def installation(redis_server: RedisServer, tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path, redis_server.url.rsplit("/", 1)[0])
    assert made.run("sites", "check").exit_code == Exit.OK
    yield made
    for frontier in made.frontiers.values():
        frontier.client.flushdb()
        frontier.client.close()


def test_each_site_is_published_in_the_cell_of_its_hash(installation: Installation) -> None:
    assert installation.places() == {name: home_of(name, "ab") for name in NAMES}
    assert set(installation.places().values()) == {"a", "b"}

    listed = installation.run("sites", "list").output
    assert all(f"{name}: published from" in listed for name in NAMES)
    assert f"to the cell {home_of('site3', 'ab')}" in listed


def test_commands_reach_each_site_where_it_is(installation: Installation) -> None:
    assert installation.run("seed", "site1", "--post", "7").exit_code == Exit.OK
    assert installation.run("pause", "--all", "--why", "a test").exit_code == Exit.OK
    shown = json.loads(installation.run("status", "--json").output)
    assert [site["site"] for site in shown["sites"]] == sorted(NAMES)
    assert {site["site"] for site in shown["sites"] if site["paused"]} == set(NAMES)
    assert {site["site"]: site["open"] for site in shown["sites"]}["site1"] == 1

    assert "site2 goes on" in installation.run("resume", "site2").output
    assert "site3/b2" in installation.run("schedule", "list", "site3").output
    assert installation.run("sites", "remove", "site4", "--yes").exit_code == Exit.OK
    again = installation.run("sites", "check")
    assert "site4: left out" in again.output
    assert "site4" not in installation.places()


def test_a_problem_of_one_cell_names_it_and_holds_for_its_own_sites(installation: Installation) -> None:
    installation.frontiers["a"].heartbeat("host:1", ["list", "post", "control"])

    problems = json.loads(installation.run("check", "--json").output)["problems"]

    unserved = {(one["cell"], one["subject"]) for one in problems if one["name"] == "CrawlNoWorker"}
    assert ("b", "post") in unserved
    assert ("a", "post") not in unserved
    assert ("a", "store") in unserved


def test_a_cell_that_does_not_answer_holds_up_its_own_sites_only(installation: Installation) -> None:
    in_b = [name for name in NAMES if home_of(name, "ab") == "b"]
    in_a = [name for name in NAMES if name not in in_b]
    installation.keep_in_database()

    assert json.loads(installation.run("status", "--json", b=DEAD).output)["cells"] == {"a": True, "b": False}
    status = installation.run("status", b=DEAD)
    assert status.exit_code == Exit.OK
    assert f"b: this cell does not answer: its {len(in_b)} sites ({', '.join(in_b[:3])}" in status.output
    assert f"{in_a[0]}: 0 open" in status.output
    assert f"{in_b[0]}: 0 open" not in status.output

    assert installation.run("pause", in_a[0], b=DEAD).exit_code == Exit.OK
    refused = installation.run("pause", in_b[0], b=DEAD)
    assert (refused.exit_code, "may be in the cell b" in refused.output) == (Exit.BACKEND, True)

    checked = installation.run("sites", "check", b=DEAD)
    assert checked.exit_code == Exit.BACKEND
    [published] = [line for line in checked.output.splitlines() if line.startswith("published: ")]
    assert set(published.removeprefix("published: ").split(", ")) == set(in_a)
    assert f"{in_b[0]}: not published" in checked.output
    assert installation.places() == {name: home_of(name, "ab") for name in NAMES}
    assert installation.run("status", a=DEAD, b=DEAD.replace(":1/", ":2/")).exit_code == Exit.BACKEND


def test_a_new_site_waits_while_a_cell_that_may_have_it_does_not_answer(installation: Installation) -> None:
    write_site(installation.home, site_text("fresh", "http://127.0.0.1:8900", "127.0.0.1:8900"), "fresh")

    assert installation.run("sites", "check", "fresh", b=DEAD).exit_code == Exit.BACKEND

    assert "fresh" not in installation.places()


def test_a_further_cell_gets_its_share_when_the_sites_are_moved(installation: Installation) -> None:
    installation.run("seed", "site1", "--post", "7")
    before = installation.places()

    told = json.loads(installation.run("check", "--json", cells="abc").output)["problems"]
    assert installation.places() == before
    moving = [name for name in NAMES if home_of(name, "abc") == "c"]
    [misplaced] = [one["text"] for one in told if one["name"] == "CrawlSitesMisplaced"]
    assert misplaced.startswith(f"{len(moving)} sites")

    moved = installation.run("sites", "move", cells="abc")

    assert moved.exit_code == Exit.OK, moved.output
    assert installation.places() == before | dict.fromkeys(moving, "c")
    assert moved.output.count("moved from") == len(moving)
    assert installation.run("sites", "move", cells="abc").output == "every site is in its cell\n"
    assert installation.run("sites", "check", cells="abc").exit_code == Exit.OK
    assert installation.places() == before | dict.fromkeys(moving, "c")
    # A process that still has the old list of cells.
    late = installation.run("sites", "check", moving[0])
    assert (late.exit_code, "has moved to another cell" in late.output) == (Exit.USAGE, True)


def test_a_move_that_was_cut_off_is_ended_by_the_next_command(installation: Installation) -> None:
    [name, *_] = [name for name in NAMES if home_of(name, "abc") == "c"]
    source = installation.frontiers[home_of(name, "ab")]
    cut = SiteTransfer(name, source, installation.frontiers["c"])
    cut.begin()
    assert cut.freeze()

    assert "on its way to another cell" in installation.run("pause", name, cells="abc").output
    # The new cell is given up, then named again.
    gave_up = installation.run("sites", "move", name)
    assert f"{name}: stays in {source.cell}" in gave_up.output
    assert installation.places()[name] == source.cell
    moved = installation.run("sites", "move", name, cells="abc")
    assert f"{name}: moved from {source.cell} to c" in moved.output


def test_a_cell_that_was_lost_is_rebuilt_from_the_database_and_the_others_stay(installation: Installation) -> None:
    lost = [name for name in NAMES if home_of(name, "ab") == "b"]
    installation.keep_in_database()
    kept = installation.frontiers["a"].client.get("test:epoch")
    installation.frontiers["b"].client.flushdb()

    assert "run: crawl-tasks recover" in installation.run("sites", "check").output
    recovered = installation.run("recover")

    assert recovered.exit_code == Exit.OK, recovered.output
    assert sorted(line.partition(":")[0] for line in recovered.output.splitlines()) == sorted(lost)
    assert installation.places() == {name: home_of(name, "ab") for name in NAMES}
    assert installation.frontiers["a"].client.get("test:epoch") == kept
    assert "nothing is lost" in installation.run("recover").output


def test_sites_of_a_cell_that_is_named_no_more_are_rebuilt_in_the_others(installation: Installation) -> None:
    lost = [name for name in NAMES if home_of(name, "ab") == "b"]
    installation.keep_in_database()

    assert installation.run("recover", cells="ac").exit_code == Exit.OK

    assert {name: installation.places()[name] for name in lost} != dict.fromkeys(lost, "b")
    known = {name for cell in "ac" for name in installation.frontiers[cell].sites.names()}
    assert known == set(NAMES)


@pytest.mark.parametrize(
    ("urls", "why"),
    [
        ("redis://a:1/0 redis://b:1/0", "give each of several a name"),
        ("a=redis://a:1/0 a=redis://b:1/0", "give each of several a name"),
        ("a=redis://a:1/0 b=redis://a:1/0", "give each of several a name"),
        ("a=redis://a:1/0,b=redis://b:1/0", "several separated by blanks"),
        ("a=http://a:1/0 b=redis://b:1/0", "begins with none of"),
    ],
)
def test_cells_that_cannot_be_told_apart_are_refused(urls: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        load_settings({"CRAWL_REDIS_URL": urls})


def test_a_process_serves_the_cell_that_it_is_given(redis_server: RedisServer) -> None:
    both = f"a={redis_server.url} b={DEAD}"
    settings = load_settings({"CRAWL_REDIS_URL": both, "CRAWL_CELL": "b"})

    assert settings.own().cells == (Cell("b", DEAD),)
    assert load_settings({"CRAWL_REDIS_URL": redis_server.url}).own().cells == (Cell("", redis_server.url),)
    assert Runtime(settings).frontier.cell == "b"
    assert Runtime(settings).cells.names == ["a", "b"]
    with pytest.raises(SettingsError, match="names no cell 'c'; it names a, b"):
        load_settings({"CRAWL_REDIS_URL": both, "CRAWL_CELL": "c"})


def test_one_redis_with_a_password_full_of_signs_is_one_cell() -> None:
    [cell] = load_settings({"CRAWL_REDIS_URL": "redis://:a=b,c@host:1/0"}).cells

    assert cell == Cell("", "redis://:a=b,c@host:1/0")


def test_the_metrics_of_each_cell_have_its_name(installation: Installation) -> None:
    dead = Frontier(open_client(DEAD, "", retry=None), "test", cell="x")
    look = CellSnapshots(Cells([installation.frontiers["a"], installation.frontiers["b"], dead]))

    text = Writer(FAMILIES).write(look.look())

    assert 'crawl_cell_up{cell="a"} 1\n' in text
    assert 'crawl_cell_up{cell="x"} 0\n' in text
    assert 'crawl_workers{queue="post",cell="b"} 0\n' in text
    assert 'crawl_outbox_pages{cell="a"} 0\n' in text
    assert 'crawl_site_paused{site="site1"} 0\n' in text
