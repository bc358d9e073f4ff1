"""Exit codes tell what a command could not read, and a file that is there stays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl_tasks.cli.exits import Exit
from tests.frontier.small_crawl import SmallForum, small_forum
from tests.unit.command_line import run

RULES = """\
name: lamps
base: {base}
private_hosts: ["{place}"]
robots: false
gate: {{delay_s: 0}}
boards: [1]
list:
  address: /list/{{board}}/{{page}}
  record: .row
  fields: {{post_id: {{attr: data-id}}, title: .t, reply_count: .n}}
  next: .next
  revision: [reply_count]
post:
  address: /post/{{post}}
  fields: {{title: h1, body: .body, author: .op, created_at: .begun}}
  next: .more
comment:
  address: /comment/{{post}}/{{page}}
  first_page: 2
  record: .c
  fields: {{comment_id: {{attr: data-id}}, author: {author}, created_at: .at, body: .say}}
"""
THREADS = ("11", "12", "13", "14")


@pytest.fixture
def forum() -> Iterator[SmallForum]:
    with small_forum() as forum:
        forum.board("1", 1, *(f"{post} 5" for post in THREADS))
        for post in THREADS:
            replies = [f"{post}{n} a reply of its own, {n}" for n in range(5)]
            begun = f"<b class=op>eve</b><i class=begun>2024-05-{post} 09:00</i>"
            forum.thread(post, *replies, body=f"the text of thread {post} alone", more=begun)
            for n in range(5):
                page = str(forum.pages[f"/post/{post}"])
                mark = f"data-id={post}{n}>"
                forum.pages[f"/post/{post}"] = page.replace(mark, f"{mark}<i class=at>2024-05-{post} 1{n}:00</i>")
        yield forum


def tried(forum: SmallForum, home: Path, author: str = ".who") -> tuple[int, str]:
    (home / "sites").mkdir(exist_ok=True)
    text = RULES.format(base=forum.url, place=forum.url.removeprefix("http://"), author=author)
    (home / "sites" / "lamps.yaml").write_text(text, "utf-8")
    result = run("try", "lamps", home=home)
    return result.exit_code, result.stdout


def without_author(forum: SmallForum, *places: int) -> None:
    for post in THREADS:
        page = str(forum.pages[f"/post/{post}"])
        for n in places:
            page = page.replace(f"1{n}:00</i><b class=who>ann</b>", f"1{n}:00</i><b class=admin>ann</b>")
        forum.pages[f"/post/{post}"] = page


def test_try_ends_with_0_where_all_is_read(forum: SmallForum, tmp_path: Path) -> None:
    code, out = tried(forum, tmp_path)

    assert (code, "refuted" in out, "missing" in out) == (Exit.OK, False, False), out


@pytest.mark.parametrize(
    ("status", "code"), [(500, Exit.FAILURES), (502, Exit.FAILURES), (404, Exit.OK), (403, Exit.OK)]
)
def test_try_names_a_thread_that_could_not_be_read(forum: SmallForum, tmp_path: Path, status: int, code: Exit) -> None:
    forum.statuses["/post/12"] = status

    found, out = tried(forum, tmp_path)

    assert found == code, out
    assert f"{forum.url}/post/12" in out
    assert ("missing  " in out) == (code != Exit.OK)
    assert ("not read: " in out) == (code == Exit.OK)


@pytest.mark.parametrize("places", [(2,), (0, 1, 2, 3, 4)], ids=["one of five", "all"])
def test_try_ends_with_1_where_records_lack_a_field_of_their_rules(
    forum: SmallForum, tmp_path: Path, places: tuple[int, ...]
) -> None:
    without_author(forum, *places)

    code, out = tried(forum, tmp_path)
    _, accepted = tried(forum, tmp_path, author="{css: .who, required: false}")

    assert code == Exit.FAILURES
    assert f"refuted  comment.author is found: {len(places)} of 5 records have none, as on {forum.url}/post/1" in out
    assert "comment.author is found" not in accepted


def test_try_quotes_the_dates_that_it_cannot_read(forum: SmallForum, tmp_path: Path) -> None:
    for post in THREADS:
        forum.pages[f"/post/{post}"] = re.sub(r"2024-05-\d\d 1\d:00", "5 órája", str(forum.pages[f"/post/{post}"]))

    code, out = tried(forum, tmp_path)

    assert code == Exit.FAILURES
    told = next(line for line in out.splitlines() if "refuted  comment.created_at is found: 5 of 5" in line)
    assert told.endswith("no date is read in '5 órája': set format"), out
    assert "mend the rule" not in told


def test_run_leaves_a_file_that_is_there(forum: SmallForum, tmp_path: Path) -> None:
    tried(forum, tmp_path)
    asked = len(forum.asked)
    file = tmp_path / "rows.jsonl"
    file.write_text("of an earlier run\n", "utf-8")

    result = run("run", "lamps", "--until-idle", "-o", str(file), home=tmp_path)

    assert result.exit_code == Exit.USAGE
    assert "is there already; --force replaces it" in result.stderr
    assert file.read_text("utf-8") == "of an earlier run\n"
    assert len(forum.asked) == asked
