"""`crawl-tasks try`, `shell`, and the kept pages that `sites check` reads again, on the demo forum."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl_tasks.cli.exits import Exit
from crawl_tasks.demo.forum import DemoForum
from tests.threaded_forum import ThreadedForum
from tests.unit.command_line import run, write_site
from tests.unit.hostile_server import HostileServer, Visit

BY_STAGE = """\
name: kinds
base: {base}
private_hosts: ["{place}"]
boards: [1]
list:
  address: /list/{{board}}
  headers: {{X-Kind: list}}
  record: a.row
  fields: {{post_id: {{attr: href, regex: '(\\d+)'}}, title: {{text: own}}}}
post:
  address: /post/{{post}}
  headers: {{X-Kind: post}}
  fields: {{title: h1, body: .said}}
"""
DEMO = Path(__file__).parents[2] / "config" / "sites" / "demo.yaml"


@pytest.fixture(scope="module")
def forum() -> Iterator[ThreadedForum]:
    with ThreadedForum(DemoForum(1)) as server:
        yield server


@pytest.fixture
def site_file(tmp_path: Path, forum: ThreadedForum) -> Path:
    text = DEMO.read_text("utf-8").replace("http://127.0.0.1:8765", forum.url)
    return write_site(tmp_path, text.replace("127.0.0.1:8765", forum.url.removeprefix("http://")), "demo")


def test_a_page_of_every_stage_is_shown_field_by_field(tmp_path: Path, site_file: Path) -> None:
    result = run("try", "demo", home=tmp_path)

    assert result.exit_code == Exit.OK, result.output
    pages = [line.split()[0] for line in result.stdout.splitlines() if " page  http" in line]
    assert pages == ["list"] * 4 + ["post", "comment"] + ["post"] * 10
    assert "reply_count      10 of 10" in result.stdout
    assert "2024-05-" in result.stdout
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("right", "wrong", "text"),
    [
        (
            "record: table.threads tr.thread",
            "record: table.threads tr.row",
            "refuted  a board without rows is empty: 10 threads",
        ),
        ("title: a.title ", "title: a.heading ", "missing  list.title"),
        ("body: {css: div.body, drop: blockquote.quote}", "body: div.text", "body found nothing"),
    ],
)
def test_what_a_crawl_cannot_do_without_is_named_and_fails(
    tmp_path: Path, site_file: Path, right: str, wrong: str, text: str
) -> None:
    site_file.write_text(site_file.read_text("utf-8").replace(right, wrong), "utf-8")

    result = run("try", "demo", home=tmp_path)

    assert result.exit_code == Exit.FAILURES, result.output
    assert text in result.stdout


def test_one_address_is_tried_alone(tmp_path: Path, site_file: Path, forum: ThreadedForum) -> None:
    result = run("try", "demo", "--url", f"{forum.url}/list/2/1", home=tmp_path)

    assert result.exit_code == Exit.OK, result.output
    assert result.stdout.count(" page  http") == 1


def test_kept_pages_are_read_again_without_the_forum(tmp_path: Path, site_file: Path) -> None:
    run("try", "demo", "--save", home=tmp_path)

    same = run("sites", "check", "--no-publish", home=tmp_path)
    site_file.write_text(site_file.read_text("utf-8").replace("view_count: .views", "view_count: .replies"), "utf-8")
    changed = run("sites", "check", "--no-publish", home=tmp_path)

    assert (same.exit_code, changed.exit_code) == (Exit.OK, Exit.USAGE), same.output
    assert "demo: 15 kept pages read as before" in same.stdout
    assert "post-" in changed.stderr
    assert "posts[0].view_count" in changed.stderr


def test_a_broken_case_is_one_line_that_names_it(tmp_path: Path, site_file: Path) -> None:
    directory = site_file.with_suffix(".cases")
    directory.mkdir()
    (directory / "list-1-1.json").write_text("{")

    result = run("sites", "check", "--no-publish", home=tmp_path)

    assert result.exit_code == Exit.USAGE
    assert "list-1-1.json: is no case" in result.stderr


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("page.status", "200"),
        ("css('h1')[0] == xpath('//h1')[0] == soup.h1.text", "True"),
        ("css('a.title', 'href')[0][:6]", "/post/"),
        ("len(read()['posts'])", "10"),
        ("n = 1\nprint(n + 1)", "2"),
    ],
)
def test_the_shell_has_the_page_in_many_forms(
    tmp_path: Path, site_file: Path, forum: ThreadedForum, code: str, printed: str
) -> None:
    result = run("shell", f"{forum.url}/list/1/1", "-c", code, home=tmp_path)

    assert result.exit_code == Exit.OK, result.output
    assert result.stdout.strip() == printed


@pytest.mark.parametrize(("code", "said"), [("1/0", "ZeroDivisionError"), ("css(1", "SyntaxError")])
def test_code_that_fails_is_one_line(
    tmp_path: Path, site_file: Path, forum: ThreadedForum, code: str, said: str
) -> None:
    result = run("shell", f"{forum.url}/list/1/1", "-c", code, home=tmp_path)

    assert result.exit_code == Exit.FAILURES
    [line] = result.stderr.splitlines()
    assert line.startswith(f"crawl-tasks: -c {code!r}: {said}")


def test_the_shell_opens_pages_of_no_site(tmp_path: Path, forum: ThreadedForum) -> None:
    title = run("shell", f"{forum.url}/", "-c", "soup.title.text", home=tmp_path)
    read = run("shell", f"{forum.url}/", "-c", "read()", home=tmp_path)

    assert title.stdout.strip() == "Demo forum"
    assert (read.exit_code, "is no page of a known site" in read.stderr) == (Exit.USAGE, True)


def test_a_page_is_asked_for_by_the_terms_of_its_own_stage(tmp_path: Path) -> None:
    def answer(visit: Visit) -> None:
        if visit.headers.get("x-kind") != visit.target.split("/")[1]:
            visit.reply(b"", "400 Bad Request")
            return
        visit.reply(
            b"<h1>boats</h1><a class=row href=/post/5>boats</a><p class=said>words</p>", Content_Type="text/html"
        )

    server = HostileServer(otherwise=answer)
    write_site(tmp_path, BY_STAGE.format(base=server.base, place=server.place), "kinds")

    result = run("try", "kinds", home=tmp_path)

    server.stop()
    assert result.exit_code == Exit.OK, result.output
    assert {visit.headers["x-kind"] for visit in server.visits if visit.target != "/robots.txt"} == {"list", "post"}
