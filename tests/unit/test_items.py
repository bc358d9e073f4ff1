"""The steps between parse and commit: what they change, drop and add, and what is said of wrong ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawl_tasks.errors import Crashed, Gone, SettingsError, SiteError
from crawl_tasks.items.language import language_of
from crawl_tasks.items.pipeline import ItemPipeline
from crawl_tasks.items.steps import DropItem
from crawl_tasks.model import Comment, Items, Parsed, Post, Request, Stage
from crawl_tasks.sites.item_steps import read_steps
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.schema import Site
from tests.unit.good_site import GOOD
from tests.unit.pages import ask

HERE = __name__
POST = Post("1", 1.0, title="Hello", body="the body of a post", author="ann")
SHORT = Comment("1", "c1", 1.0, author="bob", body="buy pills now")
LONG = Comment("1", "c2", 1.0, author="", body="x" * 50)


def shout(item: Post | Comment) -> Post | Comment:
    return item._replace(body=(item.body or "").upper())


def drop_bob(item: Comment) -> Comment | DropItem:
    return DropItem("Bob, again!") if item.author == "bob" else item


def twice(item: Comment, request: Request, site: Site) -> Iterator[Comment]:
    yield item
    yield item._replace(comment_id=f"{item.comment_id}-{site.name}-{request.stage}")


def forgets(item: Post) -> None: ...


def breaks(item: Post) -> Post:
    return item._replace(body=item.nothing)  # type: ignore[attr-defined]  # that is what is tested


def gone(item: Post) -> Post:
    raise Gone("it says so")


def endless(item: Comment) -> Iterator[Comment]:
    while True:
        yield item


def halves(item: Post) -> Post:
    return item._replace(title="party \ud83c", extra={"ico\udf89": "\ud83c\udf89"})


def halves_twice(item: Comment) -> list[Comment]:
    return [item, item._replace(comment_id="\ud83c1")]


def gives_odd_things(item: Post) -> list[object]:
    return [item.title]


def no_item(request: Request) -> None: ...


def site_with(steps: str) -> Site:
    return parse_site(f"{GOOD}items:\n{steps}", "f.yaml")


def sifted(steps: str, *items: Post | Comment, stage: Stage = Stage.POST) -> Parsed:
    site = site_with(steps)
    posts = tuple(one for one in items if isinstance(one, Post))
    comments = tuple(one for one in items if isinstance(one, Comment))
    return ItemPipeline(site.items, site).process(
        ask(stage), Parsed(Items("forum", (), posts, comments), (ask(stage),), 3)
    )


def test_items_without_a_required_field_are_dropped_and_counted() -> None:
    parsed = sifted("  - require: [title, author]\n", POST, SHORT, LONG)

    assert (parsed.items.posts, parsed.items.comments) == ((POST,), (SHORT,))
    assert parsed.dropped == (("without_author", 1),)


@pytest.mark.parametrize(
    ("post", "stage"),
    [
        pytest.param(Post("1", 1.0, title="t"), Stage.LIST, id="a list page knows no bodies"),
        pytest.param(Post("1", 1.0, state="deleted"), Stage.POST, id="a deleted post has none"),
    ],
)
def test_a_post_that_cannot_have_a_body_is_not_dropped_for_it(post: Post, stage: Stage) -> None:
    assert sifted("  - require: body\n", post, stage=stage).items.posts == (post,)


def test_texts_are_cut_to_their_limit() -> None:
    parsed = sifted("  - limit: {body: 8, title: 100}\n", POST, LONG)

    assert parsed.items.posts == (POST._replace(body="the body"),)
    assert parsed.items.comments == (LONG._replace(body="xxxxxxxx"),)


def test_a_language_is_written_beside_what_extra_holds() -> None:
    parsed = sifted("  - language: [title, body]\n", POST._replace(extra={"a": "b"}), LONG._replace(body=None))

    assert parsed.items.posts[0].extra == {"a": "b", "language": "en"}
    assert parsed.items.comments[0].extra is None


def test_unwanted_texts_are_dropped_under_their_reason() -> None:
    parsed = sifted("  - drop: {field: body, regex: '(?i)PILLS', reason: advert}\n", POST, SHORT, LONG)

    assert parsed.items.comments == (LONG,)
    assert parsed.dropped == (("advert", 1),)


def test_what_else_a_page_gave_is_left_alone() -> None:
    parsed = sifted("  - drop: {field: body, regex: .}\n", POST)

    assert (len(parsed.children), parsed.tail) == (1, 3)


def test_half_a_character_that_a_function_leaves_is_replaced_and_two_are_joined() -> None:
    parsed = sifted(f"  - {HERE}:halves\n", POST)
    twice = sifted(f"  - {{function: '{HERE}:halves_twice', of: comment}}\n", SHORT)

    assert parsed.items.posts == (POST._replace(title="party \ufffd", extra={"ico\ufffd": "🎉"}),)
    assert [comment.comment_id for comment in twice.items.comments] == ["c1", "\ufffd1"]


def test_functions_change_drop_and_add_items_in_order() -> None:
    parsed = sifted(
        f"  - {{function: '{HERE}:drop_bob', of: comment}}\n  - {{function: '{HERE}:twice', of: comment}}\n"
        f"  - {HERE}:shout\n  - limit: {{body: 2}}\n",
        POST,
        SHORT,
        LONG,
    )

    assert parsed.items.posts[0].body == "TH"
    assert [(one.comment_id, one.body) for one in parsed.items.comments] == [("c2", "XX"), ("c2-forum-post", "XX")]
    assert parsed.dropped == (("bob_again", 1),)


@pytest.mark.parametrize(
    ("name", "item", "said"),
    [
        ("forgets", POST, "it returned NoneType; return the item, DropItem"),
        ("breaks", POST, "AttributeError"),
        ("endless", SHORT, "more than 1000 items"),
        ("gives_odd_things", POST, "it gave a str; give Post or Comment"),
    ],
)
def test_a_step_that_fails_parks_the_page(name: str, item: Post | Comment, said: str) -> None:
    with pytest.raises(Crashed, match=said):
        sifted(f"  - {HERE}:{name}\n", item)


def test_a_step_may_say_what_has_become_of_a_page() -> None:
    with pytest.raises(Gone):
        sifted(f"  - {HERE}:gone\n", POST)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (f"{HERE}:no_item", "does not ask for item"),
        ("os:getcwd", "is not a function"),
        ("no.such:f", "cannot be imported"),
    ],
)
def test_only_functions_that_ask_for_an_item_are_steps(name: str, said: str) -> None:
    site = site_with(f"  - {name}\n")

    with pytest.raises(SiteError, match=said):
        ItemPipeline(site.items, site)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("  - {require: [titel]}", "0.require.0: 'titel' is no field of a post or comment; did you mean 'title'?"),
        ("  - {limit: {body_html: 5}}", "'body_html' is no text that a step can read"),
        ("  - {limit: {body: 0}}", "greater than or equal to 1"),
        ("  - {drop: {field: body, regex: '(a+)+'}}", "repeats a repetition"),
        ("  - {drop: {field: body, regex: a, reason: 'two words'}}", "items.0.drop.reason"),
        ("  - {requires: title}", "is not a key here; did you mean 'require'?"),
        ("  - {require: title, language: body}", "must be one of require, limit, language, drop, function"),
        ("  - {of: post}", "it is none"),
        ("  - os.system", "items.0.function: String should match"),
    ],
)  # fmt: skip
def test_a_wrong_step_is_named_with_file_and_line(step: str, said: str) -> None:
    with pytest.raises(SiteError) as caught:
        site_with(step)

    assert said in str(caught.value)
    assert "f.yaml:2" in str(caught.value)


def test_the_whole_crawl_may_have_steps_by_name_or_as_json() -> None:
    assert [step.function for step in read_steps("a:b, c.d:e")] == ["a:b", "c.d:e"]
    assert read_steps('["a:b", {"require": "title"}]')[1].require == ("title",)
    assert read_steps("") == ()


@pytest.mark.parametrize("text", ["nonsense", "[1", '[{"limit": {"body": "x"}}]'])
def test_wrong_steps_of_the_whole_crawl_are_named(text: str) -> None:
    with pytest.raises(SettingsError, match="CRAWL_ITEMS"):
        read_steps(text)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("今天的天气很好，iPhone 15 Pro Max 也降价了", "zh"),
        ("今日は天気がいいですね", "ja"),
        ("東京都知事選挙の結果", "ja"),
        ("오늘 날씨가 좋네요 lol", "ko"),
        ("Сегодня хорошая погода, see https://example.org/a/long/address/that/is/not/text", "ru"),
        ("Сьогодні гарна погода, їжак", "uk"),
        ("I think the weather is fine today", "en"),
        ("Das Wetter finde ich heute ausgezeichnet", "und"),
        ("12345 !!! 🙂", "und"),
        ("https://example.org/only", "und"),
    ],
)
def test_a_language_is_told_by_its_letters(text: str, language: str) -> None:
    assert language_of(text) == language
