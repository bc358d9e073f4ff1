"""Commands that only look: doctor, fetch, export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.server import DemoServer
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.upsert import Store
from tests.unit.command_line import run, site_text, write_site

DEMO = Path(__file__).parents[2] / "config" / "sites" / "demo.yaml"


@pytest.fixture
def forum(tmp_path: Path) -> Iterator[DemoServer]:
    """The demo forum, with its site file in the sites directory."""
    with DemoServer(DemoForum(1)) as server:
        text = DEMO.read_text("utf-8").replace("http://127.0.0.1:8765", server.url)
        write_site(tmp_path, text.replace("127.0.0.1:8765", server.url.removeprefix("http://")), "demo")
        yield server


def test_fetch_prints_what_is_read_from_a_page_and_writes_nothing(tmp_path: Path, forum: DemoServer) -> None:
    truth = next(post for post in DemoForum(1).truth().posts if post.status == 200)

    by_url = run("fetch", f"{forum.url}/post/{truth.post_id}", home=tmp_path)
    by_name = run("fetch", "demo", "post", truth.post_id, home=tmp_path)

    for result in (by_url, by_name):
        assert result.exit_code == Exit.OK, result.output
        page = json.loads(result.stdout)
        assert page["posts"][0]["title"] == truth.title
        assert "nothing is stored" in result.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("what", "code", "text"),
    [
        (("http://elsewhere.example/post/1",), Exit.USAGE, "is no page of a known site; known are demo"),
        (("no", "post", "1"), Exit.USAGE, "there is no site 'no'; there are: demo"),
        (("demo", "post", "999999999"), Exit.FAILURES, "404"),
        (("file:///etc/passwd",), Exit.FAILURES, "http"),
        (("demo", "thread", "1"), Exit.USAGE, "name a URL, or a site"),
    ],
)
def test_what_cannot_be_fetched_is_one_clear_line(
    tmp_path: Path, forum: DemoServer, what: tuple[str, ...], code: int, text: str
) -> None:
    result = run("fetch", *what, home=tmp_path)

    assert result.exit_code == code
    assert text in result.stderr.splitlines()[-1]


def test_the_doctor_names_each_thing_and_its_remedy(tmp_path: Path, redis_server: RedisServer) -> None:
    write_site(tmp_path, site_text())

    result = run("doctor", "--json", home=tmp_path, redis_url=redis_server.url)

    assert result.exit_code == Exit.OK, result.output
    rows = json.loads(result.stdout)
    levels = {(row["what"], row["level"]) for row in rows}
    assert {("python", "ok"), ("celery", "ok"), ("sites", "ok"), ("redis", "ok"), ("beat", "ok")} <= levels
    assert "nobody serves post; start: celery -A crawl_tasks worker -Q post" in [row["text"] for row in rows]


def test_the_doctor_fails_where_redis_may_throw_the_ledger_away(
    tmp_path: Path, redis_server: RedisServer, client: redis.Redis
) -> None:
    write_site(tmp_path, site_text())
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("appendonly", "no")

    result = run("doctor", home=tmp_path, redis_url=redis_server.url)
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("appendonly", "yes")

    assert result.exit_code == Exit.BACKEND
    assert "fail  memory     maxmemory-policy is allkeys-lru" in result.stdout
    assert "warn  memory     appendonly is off" in result.stdout


@pytest.mark.parametrize(
    ("site", "settings", "code", "text"),
    [
        ("name: [", {}, Exit.BACKEND, "fail  sites      "),
        (site_text(base="https://forum.example", private=""), {}, Exit.BACKEND, "fail  sites      "),
        (site_text(), {}, Exit.BACKEND, "fail  redis      Redis at redis://127.0.0.1:1/0 does not answer"),
        (site_text(), {"database_url": "oracle://me:secret@h/x"}, Exit.BACKEND, "fail  database   "),
    ],
)
def test_the_doctor_goes_on_after_a_failure_and_ends_with_the_gravest(
    tmp_path: Path, site: str, settings: dict[str, str], code: int, text: str
) -> None:
    write_site(tmp_path, site)

    result = run("doctor", home=tmp_path, **settings)

    assert result.exit_code == code
    assert text in result.stdout
    assert "secret" not in result.output
    assert "fail  redis" in result.stdout


def test_export_writes_rows_once_and_does_not_replace_a_file_unasked(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/state/crawl.db") as store:
        store.write([Items("demo", posts=(Post("1", 1.0, title="=1+1"),), comments=(Comment("1", "2", 1.0),))])
    out = tmp_path / "out.csv"

    stream = run("export", "--kind", "posts", home=tmp_path)
    first = run("export", "-o", str(out), home=tmp_path)
    second = run("export", "-o", str(out), home=tmp_path)
    forced = run("export", "-o", str(out), "--force", "--site", "none", home=tmp_path)

    assert [json.loads(line)["post_id"] for line in stream.stdout.splitlines()] == ["1"]
    assert (first.exit_code, second.exit_code, forced.exit_code) == (Exit.OK, Exit.USAGE, Exit.OK)
    assert "2 rows in" in first.stderr
    assert "stored of site 'none'; sites with posts: demo" in forced.stderr
    assert len(out.read_text("utf-8").splitlines()) == 1


def test_export_goes_on_after_the_change_that_a_reader_names(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/state/crawl.db") as store:
        for number in ("1", "2"):
            store.write([Items("demo", posts=(Post(number, 1.0, title="t"),))])

    first = run("export", "--after", "0", home=tmp_path)
    known = json.loads(first.stdout.splitlines()[0])["change_id"]
    second = run("export", "--after", str(known), home=tmp_path)
    into_a_file = run("export", "--follow", "-o", str(tmp_path / "out"), home=tmp_path)

    assert [json.loads(line)["post_id"] for line in first.stdout.splitlines()] == ["1", "2"]
    assert [json.loads(line)["post_id"] for line in second.stdout.splitlines()] == ["2"]
    assert "up to change 2" in second.stderr
    assert (into_a_file.exit_code, "export --follow > FILE" in into_a_file.stderr) == (Exit.USAGE, True)


def test_export_of_what_was_never_crawled_is_one_line(tmp_path: Path) -> None:
    result = run("export", home=tmp_path)

    assert result.exit_code == Exit.BACKEND
    [line] = result.stderr.splitlines()
    assert "crawl first" in line


@pytest.mark.parametrize(
    ("text", "shown"),
    [("plain 你好 🙂", "plain 你好 🙂"), ("\x1b[31mred", "\\x1b[31mred"), ("a\nb", "a\\nb"), ("\u202eb", "\\u202eb")],
)
def test_text_of_strangers_cannot_steer_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown
