"""Boards by the thousand, in a file beside the site file."""

from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path

import pytest
import redis

from crawl_tasks.errors import SiteError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Stage
from crawl_tasks.registry.site_publisher import board_terms, publish_site
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.board import BoardKind
from crawl_tasks.sites.board_pack import MOST_UNPACKED, unpack
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.site_json import dump_site, read_site
from tests.unit.good_site import GOOD


@pytest.fixture
def frontier(client: redis.Redis) -> Frontier:
    return Frontier(client, "test")


def write(project: Path, name: str, content: str, boards: str = "") -> Path:
    """Write a list, and a site file that names it."""
    (project / name).write_text(content, "utf-8")
    path = project / "forum.yaml"
    path.write_text(re.sub(r"(?m)^boards:.*$", boards or f"boards: {{file: {name}}}", GOOD), "utf-8")
    return path


def complaint(project: Path, name: str, content: str, boards: str = "") -> str:
    with pytest.raises(SiteError) as caught:
        load_site(write(project, name, content, boards))
    return str(caught.value).replace(f"{project}/", "")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("boards.csv", 'id,title,priority,interval_s\n1,"News, all",7,60\n b2 ,,,\n\n'),
        ("boards.csv", "\ufeffid;priority;interval_s;title\r\n1;7;60;News, all\r\nb2;;;\r\n"),
        ("boards.tsv", "title\tid\tpriority\tinterval_s\nNews, all\t1\t7\t60.0\n\tb2\t\t\n"),
        ("boards.jsonl", '{"id": 1, "title": "News, all", "priority": 7, "interval_s": 60}\n\n"b2"\n'),
    ],
)
def test_a_list_gives_boards_as_the_site_file_itself_would(project: Path, name: str, content: str) -> None:
    site = load_site(write(project, name, content))
    named = write(project, "x", "", "boards: [{id: 1, title: 'News, all', priority: 7, interval_s: 60}, b2]")

    assert list(site.boards) == list(load_site(named).boards)
    assert site.board_count == 2
    assert board_terms(site) == board_terms(load_site(named))


def test_a_list_of_bare_ids_has_remarks(project: Path) -> None:
    site = load_site(write(project, "boards.txt", "# ours\n12\n\n  b7\n"))

    assert [board.id for board in site.boards] == ["12", "b7"]


def test_lists_stand_beside_boards_of_the_file_and_each_other(project: Path) -> None:
    (project / "more.csv").write_text("id,kind,address\nhot,news,/new\n", "utf-8")
    site = load_site(
        write(project, "a.txt", "1\n2\n", "boards: [{id: 3, priority: 9}, {file: a.txt}, {file: more.csv}]")
    )

    assert [board.id for board in site.boards] == ["3", "1", "2", "hot"]
    assert [(board.id, board.kind) for board in site.own_boards] == [("hot", BoardKind.NEWS)]


def test_a_published_site_has_its_list_wherever_it_is_read(project: Path) -> None:
    site = load_site(write(project, "boards.csv", "id,address,title\n1,/one,A\n2,,B\n"))
    again = read_site(dump_site(site))

    assert (list(again.boards), again.version) == (list(site.boards), site.version)
    assert [Addresses(again).of(Stage.LIST, board) for board in ("1", "2")] == [
        "https://forum.example/one",
        "https://forum.example/list/2/1",
    ]
    assert list(site.relocated("http://127.0.0.1:8000").boards) == list(site.boards)


def test_another_list_is_another_version(project: Path) -> None:
    versions = {
        load_site(write(project, "boards.txt", text)).version for text in ("1\n2\n", "1\n3\n", "2\n1\n", "1\n2\n")
    }

    assert len(versions) == 3


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("boards.csv", "title\nx\n", "boards.csv:1: must name the columns, each once, and `id` among them"),
        ("boards.csv", "id,id\n1,2\n", "boards.csv:1: must name the columns, each once"),
        ("boards.csv", "id,titel\n1,x\n", "boards.csv:1: 'titel' is no key of a board; did you mean 'title'?"),
        ("boards.csv", "id\n", "boards.csv: names no board"),
        ("boards.csv", "", "boards.csv:1: must name the columns"),
        ("boards.csv", "id,title\n1,a\n2,b,c\n", "boards.csv:3: has 3 values for 2 columns; quote a value that"),
        ("boards.csv", 'id,title\n1,"a\nb"\n2\n', "boards.csv:4: has 1 values for 2 columns"),
        ("boards.csv", "id,priority\n1,5\n2,high\n3,12\n", "boards.csv:3: priority: Input should be a valid integer"),
        (
            "boards.csv",
            "id,priority\n1,5\n2,high\n3,12\n",
            "boards.csv:4: priority: Input should be less than or equal",
        ),
        ("boards.csv", "id\n1\na b\n", "boards.csv:3: id: String should match pattern"),
        ("boards.csv", "id,title\n1,x\n,y\n", "boards.csv:3: id: Field required"),
        ("boards.csv", "id\n1\n2\n1\n", "boards.csv:4: id: 1 stands twice; ids are unique"),
        ("boards.csv", "id,kind\n1,list\n2,news\n", "boards.csv:3: is a news without an address; give it one"),
        ("boards.jsonl", '{"id": 1}\n{"id"\n', "boards.jsonl:2: is no JSON"),
        ("boards.jsonl", '{"id": 1}\n{"id": [2]}\n', "boards.jsonl:2: id: Input should be a valid string"),
        (
            "boards.jsonl",
            '{"id": 1}\n{"id": 2, "priority": [2]}\n',
            "boards.jsonl:2: priority: Input should be a valid int",
        ),
        ("boards.xlsx", "x", "boards.xlsx: is no .csv, .tsv, .jsonl, .txt"),
        ("boards.txt", f"1\n{'x' * 201}\n", "boards.txt:2: id: String should have at most 200"),
    ],
)
def test_a_wrong_list_says_where_and_what(project: Path, name: str, content: str, said: str) -> None:
    assert said in complaint(project, name, content)


@pytest.mark.parametrize(
    ("boards", "said"),
    [
        ("boards: {file: /etc/passwd}", "forum.yaml:3: boards: is no {file: NAME}"),
        ("boards: {file: ../x.csv}", "forum.yaml:3: boards: is no {file: NAME}"),
        ("boards: {file: a.txt, priority: 3}", "forum.yaml:3: boards: is no {file: NAME}"),
        ("boards: {file: none.txt}", "none.txt: cannot be read: No such file or directory; it must lie beside"),
        ("boards: [2, {file: a.txt}]", "a.txt:1: id: 2 stands twice"),
        ("boards: [1]\nboard_list: x", "forum.yaml:4: board_list: is not a key here"),
    ],
)
def test_a_wrong_word_about_a_list_is_told(project: Path, boards: str, said: str) -> None:
    assert said in complaint(project, "a.txt", "2\n", boards)


def test_a_list_without_any_address_is_refused(project: Path) -> None:
    path = write(project, "a.csv", "id,address\n1,/a\n2,\n")
    text = re.sub(r"(?m)^  address: /list.*\n", "", path.read_text("utf-8"))
    path.write_text(text.replace("next: a.next", "next: {css: a.next, attr: href, as: url}"), "utf-8")

    with pytest.raises(SiteError, match=r"a.csv:3: makes no address"):
        load_site(path)


def test_thousands_of_boards_are_published_once_and_only_renewed_then(project: Path, frontier: Frontier) -> None:
    path = write(project, "boards.txt", "\n".join(str(number) for number in range(3000)))
    publish_site(frontier, load_site(path), "me@example.org")
    assert Inspector(frontier).count_requests("forum").boards.total == 3000
    before = frontier.client.info("commandstats")

    publish_site(frontier, load_site(path), "me@example.org")

    after = frontier.client.info("commandstats")
    assert sum(one["calls"] for one in after.values()) - sum(one["calls"] for one in before.values()) < 100


def test_a_board_that_leaves_its_list_leaves_the_schedule(project: Path, frontier: Frontier) -> None:
    for text in ("1\n2\n3\n", "2\n4\n"):
        publish_site(frontier, load_site(write(project, "boards.txt", text)), "me@example.org")

    assert [board.board for board in Inspector(frontier).boards("forum")] == ["2", "4"]


def test_a_packed_list_that_unpacks_to_gigabytes_is_refused_before_it_does() -> None:
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(b" " * 10_000_000) for _ in range(30)) + packer.flush()

    with pytest.raises(SiteError, match="unpacks to more than"):
        unpack(base64.b64encode(bomb).decode())

    assert 1000 * len(bomb) > MOST_UNPACKED
