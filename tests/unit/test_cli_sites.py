"""From a site file to terms that the scripts read, and the command that publishes them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.registry.site_publisher import board_terms, is_public, terms_of
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import read_site
from tests.unit.command_line import run, site_text, write_site


def site(text: str = "", **changes: object) -> Site:
    return parse_site(text or site_text(), "tiny.yaml").model_copy(update=changes)


def test_terms_are_whole_milliseconds_and_one_letter_a_stage() -> None:
    text = site_text().replace("window: 4", "window: 4, delay_s: 0.25, deadline_s: 20").replace("delay_s: 0,", "")
    more = "order: {list: fifo, post: lifo, comment: fifo}\nguard: {list: rolling, post: exact, comment: 'off'}\n"

    terms = terms_of(site(text + more + "guard_window_s: 3600\n"))

    expected = {
        "window": 4,
        "delay_ms": 250,
        "lease_ms": 35_000,
        "max_attempts": 5,
        "max_backlog": 5,
        "order": "fifo lifo fifo",
        "guard": "rolling exact off",
        "rolling_ms": 3_600_000,
        "guard_capacity": 1_000_000,
        "full_pass_ms": 0,
    }
    assert {name: terms[name] for name in expected} == expected


def test_a_board_has_a_line_for_its_first_page_and_its_interval() -> None:
    adaptive, fixed = board_terms(site())

    assert adaptive.line.split(" ", 1)[1] == '! list 5 http://127.0.0.1:8765/list/1/1 ["1",1,"@SCAN@"]'
    assert (adaptive.start_ms, adaptive.min_ms, adaptive.max_ms) == (600_000, 60_000, 86_400_000)
    assert (fixed.start_ms, fixed.min_ms, fixed.max_ms) == (60_000, 60_000, 60_000)


@pytest.mark.parametrize(
    ("text", "least_ms"),
    [
        ("freshness: {goal_s: 30}", 15_000),
        ("freshness: {goal_s: 600}", 60_000),
        ("freshness: {goal_s: 30}\ninterval: {min_s: 45}", 45_000),
    ],
)
def test_a_default_of_the_interval_does_not_forbid_the_goal(text: str, least_ms: int) -> None:
    assert board_terms(site(f"{site_text()}{text}\n"))[0].min_ms == least_ms


def test_a_boards_own_priority_stands_before_the_sites() -> None:
    text = site_text().replace("boards: [1,", "priority: {list: 3}\nboards: [{id: 1, priority: 8},")

    first, second = board_terms(site(text))

    assert first.line.split(" ")[3] == "8"
    assert second.line.split(" ")[3] == "3"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"private_hosts": ()}, True),
        ({"private_hosts": ("127.0.0.1:9999",)}, True),
        ({"base": "https://forum.example", "private_hosts": ()}, True),
        ({"base": "http://forum.lan", "private_hosts": ("forum.lan:80",)}, False),
        ({"hosts": ("www.forum.example",)}, True),
        ({"base": "http://forum.lan", "hosts": ("b.lan:81",), "private_hosts": ("forum.lan:80", "b.lan:81")}, False),
        ({"base": "http://forum.lan", "hosts": ("b.lan:82",), "private_hosts": ("forum.lan:80", "b.lan:81")}, True),
    ],
)
def test_a_site_is_public_unless_all_its_hosts_are_named_as_private(changes: dict[str, object], expected: bool) -> None:
    assert is_public(site(**changes)) is expected


def test_check_publishes_what_the_files_say(tmp_path: Path, redis_server: RedisServer, client: redis.Redis) -> None:
    write_site(tmp_path, site_text())

    result = run("sites", "check", home=tmp_path, redis_url=redis_server.url)

    assert result.exit_code == Exit.OK, result.output
    assert result.stdout.splitlines() == [
        "tiny: OK: http://127.0.0.1:8765, 2 boards, list, post; 4 in flight, no delay; at most 5 open",
        "published: tiny",
    ]
    frontier = Frontier(client, "test")
    assert read_site(frontier.sites.published("tiny") or "") == parse_site(site_text(), "")
    assert [board.board for board in Inspector(frontier).boards("tiny")] == ["1", "b2"]


def test_a_file_that_is_half_written_leaves_what_is_published(
    tmp_path: Path, redis_server: RedisServer, client: redis.Redis
) -> None:
    text = site_text()
    path = write_site(tmp_path, text)
    run("sites", "check", home=tmp_path, redis_url=redis_server.url)
    before = client.hgetall("test:sites")

    codes = set()
    for size in range(0, len(text) - 80, 40):
        path.write_text(text[:size].replace("window: 4", "window: 3"))
        codes.add(run("sites", "check", home=tmp_path, redis_url=redis_server.url).exit_code)
    path.unlink()
    path.symlink_to("/etc/passwd")
    linked = run("sites", "check", home=tmp_path, redis_url=redis_server.url)

    assert codes == {Exit.USAGE}
    assert linked.exit_code == Exit.USAGE
    assert "root:" not in linked.output
    assert client.hgetall("test:sites") == before


def test_boards_with_one_address_are_named(tmp_path: Path) -> None:
    more = "boards: [1, {id: one, address: /list/1/1}, 2]"
    text = site_text()
    write_site(tmp_path, "\n".join(more if line.startswith("boards:") else line for line in text.splitlines()))

    result = run("sites", "check", "--no-publish", home=tmp_path)

    assert result.exit_code == Exit.OK, result.output
    assert result.stderr.splitlines() == [
        "tiny: boards 1 and one have one address: it is scanned twice, its threads are read once"
    ]


@pytest.mark.parametrize(
    ("revision", "said"),
    [
        ("[reply_count]", []),
        ("[{css: .last a, attr: href}]", []),
        (
            "[post_id, author]",
            [
                "tiny: list.revision names nothing that changes when a thread does: each thread is read once; add a "
                "reply count and the last reply's time or id"
            ],
        ),
        (
            "[reply_count, view_count]",
            ["tiny: list.revision names view_count: each thread is fetched again whenever somebody has read it"],
        ),
    ],
)
def test_a_revision_that_cannot_be_right_is_named(revision: str, said: list[str], tmp_path: Path) -> None:
    fields = "{post_id: {attr: id}, author: b, reply_count: i, view_count: u}"
    text = site_text().replace("{post_id: {css: a, attr: href}}", fields)
    write_site(tmp_path, text.replace("revision: {css: i}", f"revision: {revision}"))

    result = run("sites", "check", "--no-publish", home=tmp_path)

    assert result.exit_code == Exit.OK, result.output
    assert result.stderr.splitlines() == said


FUNCTIONS = [
    "priority_of: no_such:f",
    "prepare_request: no_such:f",
    "on_response: no_such:f",
    "read_from: no_such:f",
    "start_request: no_such:f",
    "hooks: {item_stored: no_such:f}",
    "items: [no_such:f]",
    "login: {function: no_such:f, check: /me, success: .me}",
]


@pytest.mark.parametrize("line", FUNCTIONS, ids=lambda line: line.partition(":")[0])
def test_a_function_that_is_not_there_is_named_before_the_site_is_published(line: str, tmp_path: Path) -> None:
    write_site(tmp_path, f"{site_text()}\n{line}\n")

    result = run("sites", "check", "--no-publish", home=tmp_path)

    assert result.exit_code == Exit.USAGE, result.output
    assert f"tiny: {line.partition(':')[0]}" in result.stderr
    assert "'no_such:f' cannot be imported" in result.stderr


def test_all_functions_that_are_not_there_are_named_at_once(tmp_path: Path) -> None:
    text = site_text().replace("fields: {title: h1}", "parser: no_such:f")
    write_site(tmp_path, "\n".join([text, *FUNCTIONS]))

    result = run("sites", "check", "--no-publish", home=tmp_path)

    assert result.stderr.count("'no_such:f' cannot be imported") == len(FUNCTIONS) + 1, result.stderr


def test_functions_are_found_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_forum_code.py").write_text("def first(request): return 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [place for place in sys.path if place])
    write_site(tmp_path, f"{site_text()}\npriority_of: own_forum_code:first\n")

    result = run("sites", "check", "--no-publish", home=tmp_path)

    assert result.exit_code == Exit.OK, result.output


def test_check_of_one_site_does_not_mind_the_mistakes_of_others(tmp_path: Path) -> None:
    write_site(tmp_path, site_text())
    write_site(tmp_path, "nonsense", "other")

    result = run("sites", "check", "tiny", "--no-publish", home=tmp_path)

    assert result.exit_code == Exit.OK, result.output


@pytest.mark.parametrize("directory", ["", "{sites}/"])
def test_check_of_one_site_takes_its_file_for_its_name(tmp_path: Path, directory: str) -> None:
    file = write_site(tmp_path, site_text())

    result = run("sites", "check", f"{directory.format(sites=file.parent)}{file.name}", "--no-publish", home=tmp_path)

    assert result.exit_code == Exit.OK, result.output


def test_check_of_a_site_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    write_site(tmp_path, site_text())

    result = run("sites", "check", "tinny", "--no-publish", home=tmp_path)

    assert result.exit_code == Exit.USAGE
    assert "tinny.yaml: there is no such site; there are: tiny" in result.stderr


@pytest.mark.parametrize(
    ("second", "is_refused"),
    [
        ("https://forum.example/other", True),
        ("http://forum.example:8080", True),
        ("https://sub.forum.example", False),
    ],
)
def test_a_public_host_has_one_file_so_that_its_pace_is_one(tmp_path: Path, second: str, is_refused: bool) -> None:
    write_site(tmp_path, site_text("first", "https://forum.example", ""), "first")
    write_site(tmp_path, site_text("second", second, ""), "second")

    result = run("sites", "check", "--no-publish", home=tmp_path, contact="me@example.com")

    assert ("second.yaml: base: forum.example is the host of site first too" in result.stderr) is is_refused
    assert result.exit_code == (Exit.USAGE if is_refused else Exit.OK)


def test_a_private_forum_has_one_file_too(tmp_path: Path) -> None:
    write_site(tmp_path, site_text("first"), "first")
    write_site(tmp_path, site_text("second"), "second")

    result = run("sites", "check", "--no-publish", home=tmp_path)

    assert result.exit_code == Exit.USAGE
    assert "second.yaml: base: 127.0.0.1:8765 is the host of site first too" in result.stderr


@pytest.mark.parametrize("is_renamed", [False, True])
def test_a_host_of_a_site_that_is_published_has_no_second_site(
    is_renamed: bool, tmp_path: Path, redis_server: RedisServer, client: redis.Redis
) -> None:
    for directory in ("one", "other"):
        (tmp_path / directory).mkdir()
    file = write_site(tmp_path / "one", site_text("first"), "first")
    run("sites", "check", home=tmp_path / "one", redis_url=redis_server.url)
    there = tmp_path / ("one" if is_renamed else "other")
    if is_renamed:
        file.unlink()
    write_site(there, site_text("second"), "second")

    refused = run("sites", "check", home=there, redis_url=redis_server.url)
    run("sites", "remove", "first", "--yes", home=there, redis_url=redis_server.url)
    taken = run("sites", "check", home=there, redis_url=redis_server.url)

    assert refused.exit_code == Exit.USAGE
    assert "second: 127.0.0.1:8765 is the host of the published site first too" in refused.stderr
    assert "crawl-tasks sites remove first" in refused.stderr
    assert taken.exit_code == Exit.OK
    assert Frontier(client, "test").sites.names() == ["second"]
