"""The preset for Hacker News: rows that are split in two, and a tree drawn by indents."""

from __future__ import annotations

from crawl_tasks.model import Stage
from tests.unit.presets import Preset

MOMENT = 1718806620


def test_hacker_news_lists_are_read_from_the_row_below_the_title_and_walked_by_links() -> None:
    def row(number: int, *, end: str = '| <a href="item?id=12">7&nbsp;comments</a>') -> str:
        return f"""<tr class=athing id={number}><td class=title><span class=titleline><a>T</a></span></tr>
        <tr><td colspan=2></td><td class=subtext><span class=subline><span class=score>9 points</span> by
        <a class=hnuser>ann</a> <span class=age title="2024-06-19T14:17:00 1718806620">
        <a href="item?id={number}">1 hour ago</a></span> {end}</span></td></tr>"""

    body = f"<table id=hnmain>{row(12)}{row(13, end='')}<tr><td><a class=morelink href='newest?next=9&n=31'>"

    parsed = Preset("hackernews").parse(Stage.LIST, "newest", body)

    assert [(one.post_id, one.author, one.created_at, one.reply_count) for one in parsed.items.posts] == [
        ("12", "ann", MOMENT, 7), ("13", "ann", MOMENT, 0),
    ]  # fmt: skip
    assert parsed.children[-1].address == "https://forum.example/newest?next=9&n=31"


def test_a_hacker_news_tree_is_read_from_its_indents() -> None:
    def comment(
        number: int, indent: int, text: str = "<div class=commtext>say<div class=reply>reply</div></div>"
    ) -> str:
        return f"""<tr class="athing comtr" id={number}><td><table><tr><td class=ind indent={indent}></td><td>
        <a class=hnuser>u{number}</a> <span class=age title="2024-06-19T14:17:00 1718806620"></span>
        <div class=comment>{text}</div></td></tr></table></td></tr>"""

    body = f"""<table class=fatitem><tr><td><span class=titleline><a href="https://elsewhere.example/a">A title</a>
    <span class=sitebit>(elsewhere.example)</span></span></td></tr><tr><td class=subtext><a class=hnuser>ann</a>
    <span class=age title="2024-06-19T14:17:00 1718806620"></span> | <a href="item?id=12">4&nbsp;comments</a></td></tr>
    <tr><td><div class=toptext>Hello<p>there</div></td></tr></table><table>{comment(1, 0)}{comment(2, 1)}
    {comment(3, 1, "[flagged]")}{comment(4, 0)}<tr><td><a class=morelink href="item?id=12&p=2">More</a></table>"""

    parsed = Preset("hackernews").parse(Stage.POST, "12", body)

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.body, post.created_at, post.reply_count) == (
        "A title", "ann", "Hello\nthere", MOMENT, 4,
    )  # fmt: skip
    assert post.extra == {"link": "https://elsewhere.example/a"}
    assert [(one.comment_id, one.parent_id, one.depth, one.body, one.state) for one in parsed.items.comments] == [
        ("1", None, 0, "say", "normal"), ("2", "1", 1, "say", "normal"), ("3", "1", 1, None, "masked"),
        ("4", None, 0, "say", "normal"),
    ]  # fmt: skip
    assert [child.page for child in parsed.children] == [2]
