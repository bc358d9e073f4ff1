"""A few of the made-up forums that `python -m tests.layouts` measures: none is read wrongly without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.stages import Nesting
from tests.layouts.drawing import CLUTTER, CLUTTERED_FROM, CROWD, content, drawn
from tests.layouts.measure import Verdict, measured
from tests.layouts.pages import Pages
from tests.programs.host import served
from tests.programs.test_broken_rules import verdict
from tests.unit.command_line import run

RIGHT = (
    0, 8, 16, 24, 50, 72, 88, 104, 124, 157, 161, 172, 1006, 1018, 1020, 1026, 1032, 1078, 1105, 1150,
    1198, 123, 2000, 2004, 2008, 2072, 2153, 2242, 2368, 2408, 2414, 2421, 2422, 2514, 2552, 2604, 2675,
    2838, 2270, 2382, 2853, 3007, 3056, 3144, 3179, 3108, 4005, 4024, 4029, 4031, 4034, 4045, 4050, 4150,
    2198, 1653, 3079, 4126, 4001, 4003, 4006, 4017, 4082, 1054, 1646, 3090,
    4046, 4111, 4016, 4094, 4178, 4138, 3120, 4254, 4301,
    10000, 10001, 10002, 10003, 10004, 10005, 10006, 10007, 10009, 10024, 10010, 10011, 10012, 10013, 10014, 10015,
)  # fmt: skip
REFUSED = {
    2029: "all replies stand on the page", 2545: "all replies stand on the page",
    2792: "texts of posts have words", 4077: "comment_id found in none of", 2812: "several people write",
    3021: "titles of lists differ", 4208: "threads have the replies that lists count",
    4072: "comments have ids, or times that stand still",
    3003: "titles of threads are without a label", 3158: "rows lead to their threads",
}  # fmt: skip
LOST = "every record of a page is read: "


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.long] * (place % 8 > 0)) for place, seed in enumerate(RIGHT)]
)
def test_a_file_for_a_made_up_forum_reads_every_record_right(seed: int) -> None:
    outcome = measured(seed)

    assert (outcome.verdict, outcome.why) == (Verdict.RIGHT, "")
    assert outcome.requests <= 40


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.long] * (place % 2)) for place, seed in enumerate(REFUSED)]
)
def test_a_forum_that_is_not_understood_is_refused_with_a_reason(seed: int) -> None:
    outcome = measured(seed)

    assert outcome.verdict is Verdict.REFUSED
    assert REFUSED[seed] in outcome.why


def test_cluttered_forums_show_every_kind_of_clutter() -> None:
    shown = {
        name for seed in (*RIGHT, *REFUSED) if seed >= CLUTTERED_FROM for name in drawn(seed).flags & CLUTTER.keys()
    }

    assert shown == CLUTTER.keys()
    assert CROWD.keys() <= {name for seed in (*RIGHT, *REFUSED) for name in drawn(seed).flags}


def test_a_record_that_no_rule_finds_refutes_a_file(tmp_path: Path) -> None:
    layout = drawn(24)
    with served(Pages(layout, content(layout))) as host:
        run("new", host.url, "--name", "made", home=tmp_path)
        site = load_site(tmp_path / "sites" / "made.yaml")
        inside, rows = site.post.comments, site.list.record
        assert inside is not None
        assert rows is not None
        fewer = inside.model_copy(update={"record": Rule(css=f"{inside.record.css}:not(:nth-child(3))")})
        lost_comment = site.model_copy(update={"post": site.post.model_copy(update={"comments": fewer})})
        lost_row = site.list.model_copy(update={"record": Rule(css=f"{rows.css}:not(:nth-child(3))")})

        assert verdict(site) == []
        assert any(one.startswith(LOST) for one in verdict(lost_comment))
        assert any(one.startswith(LOST) for one in verdict(site.model_copy(update={"list": lost_row})))


def test_ids_made_of_times_that_count_from_now_refute_a_file(tmp_path: Path) -> None:
    layout = drawn(4072)
    with served(Pages(layout, content(layout))) as host:
        run("new", host.url, "--name", "made", home=tmp_path)
        site = load_site(tmp_path / "sites" / "made.yaml")
        assert site.comment is not None
        assert site.comment.id_of == ("author", "body")
        moving = site.comment.model_copy(update={"id_of": ("author", "created_at", "body")})
        inside = site.post.comments and site.post.comments.model_copy(update={"id_of": moving.id_of})
        post = site.post.model_copy(update={"comments": inside})

        assert any(one.startswith("comments have ids, or times that stand still: ") for one in verdict(site))
        said = verdict(site.model_copy(update={"comment": moving, "post": post}))

    assert any(one.startswith("ids of comments stand still: ") for one in said)


def test_comments_within_comments_that_no_rule_finds_refute_a_file(tmp_path: Path) -> None:
    layout = drawn(1646)
    with served(Pages(layout, content(layout))) as host:
        run("new", host.url, "--name", "made", home=tmp_path)
        site = load_site(tmp_path / "sites" / "made.yaml")
        assert site.comment is not None
        assert site.comment.record is not None
        outer = {"record": Rule(css=f"main > ul > {site.comment.record.css}"), "nesting": Nesting.FLAT}
        inside = site.post.comments and site.post.comments.model_copy(update=outer)
        changed = {
            "comment": site.comment.model_copy(update=outer), "post": site.post.model_copy(update={"comments": inside})
        }  # fmt: skip

        assert any(
            one.startswith("replies within a comment are read: ") for one in verdict(site.model_copy(update=changed))
        )


def test_quotes_that_stay_in_texts_refute_a_file(tmp_path: Path) -> None:
    layout = drawn(4045)
    with served(Pages(layout, content(layout))) as host:
        run("new", host.url, "--name", "made", home=tmp_path)
        site = load_site(tmp_path / "sites" / "made.yaml")
        inside = site.post.comments
        assert inside is not None
        whole = inside.fields | {"body": inside.fields["body"].model_copy(update={"drop": None})}
        quoting = inside.model_copy(update={"fields": whole})

        assert verdict(site) == []
        told = verdict(site.model_copy(update={"post": site.post.model_copy(update={"comments": quoting})}))
        assert any(one.startswith("texts of comments are without quotes: ") for one in told)
