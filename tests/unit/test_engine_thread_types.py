"""The kinds of thread that programs have beside the plain one, on pages of ours after each program's templates."""

from __future__ import annotations

import re

import pytest

from crawl_tasks.model import Parsed, Stage
from tests.programs.content import small_forum
from tests.programs.host import Ask, Make
from tests.programs.mybb import MYBB
from tests.programs.phpbb import PHPBB
from tests.programs.smf import Smf
from tests.programs.vbulletin4 import VBulletin4
from tests.unit.pages import BASE, found_extra
from tests.unit.presets import Preset

MOMENT = 1718806620
XENFORO = Preset("xenforo")
XF_TIME = '<time class="u-dt" datetime="2024-06-19T14:17:00+0000" data-time="1718806620">Jun 19, 2024</time>'
XF_QUOTE = """<blockquote data-source="post: 102" class="bbCodeBlock bbCodeBlock--quote"><div
  class="bbCodeBlock-content">
<div class="bbCodeBlock-expandContent">old <img src="/quoted.png" class="bbImage"></div></div></blockquote>"""


def xf_post(number: int, kind: str = "message--post", *, body: str = "") -> str:
    user = f'''<a class="username" data-user-id="{number}"><span>user{number}</span></a>'''
    is_article = kind == "message--article"
    beside = f'<div class="message-cell message-cell--user"><h4 class="message-name">{user}</h4></div>'
    below = f'<aside class="message-articleUserInfo"><h3 class="message-articleUserName">{user}</h3></aside>'
    return f"""<article class="message {kind} js-post js-inlineModContainer" data-author="user{number}"
      data-content="post-{number}" id="js-post-{number}"><span class="u-anchorTarget" id="post-{number}"></span>
      <div class="message-inner">{"" if is_article else beside}<div class="message-cell message-cell--main">
      <header class="message-attribution"><ul class="message-attribution-main listInline">
      <li class="u-concealed"><a href="/threads/t.12/post-{number}">{XF_TIME}</a></li></ul></header>
      <div class="message-content js-messageContent"><div class="message-userContent"><article class="message-body">
      <div
  class="bbWrapper">{body or f"say {number}"}</div></article></div></div></div></div>{below if is_article else ""}
      </article>"""


def xf_thread(kind: str, *posts: str, pinned: str = "", above: str = "") -> str:
    """Return a page as `thread_view` makes it: what is pinned stands in a block of its own."""
    block = f'<div class="block block--messages" data-message-selector=".js-post">{pinned}</div>' if pinned else ""
    return f"""<html id="XF" data-app="public" data-template="{kind}"><h1 class="p-title-value">A title</h1>
      <div class="p-body-pageContent">{above}{block}<div class="block block--messages" data-type="post">
      <div class="block-container"><div class="block-body
  js-replyNewMessageContainer">{"".join(posts)}</div></div></div>
      </div></html>"""


def told(parsed: Parsed) -> list[tuple[str, str | None, str | None, str | None]]:
    return [(one.comment_id, one.author, one.author_id, one.body) for one in parsed.items.comments]


def said(*numbers: int) -> list[tuple[str, str, str, str]]:
    return [(f"{one}", f"user{one}", f"{one}", f"say {one}") for one in numbers]


XF_POLL = """<div class="block js-pollContainer-4"><form><h2 class="block-header">Lamps?</h2><ul
  class="pollResults"><li>
  <h3 class="pollResult-response">Yes</h3><span class="pollResult-votes">Votes: 4</span></li></ul></form></div>"""
XF_KINDS = [
    ("thread_view", "", ""),
    ("thread_view_type_poll", "", XF_POLL),
    ("thread_view_type_article", "message--article", ""),
    ("thread_view_type_question", "message--post", ""),
    ("thread_view_type_suggestion", "message--post", ""),
]


@pytest.mark.parametrize(("kind", "pinned", "above"), XF_KINDS, ids=[kind for kind, *_ in XF_KINDS])
def test_every_kind_of_xenforo_thread_is_its_first_post_and_the_replies(kind: str, pinned: str, above: str) -> None:
    first, replies = xf_post(101, pinned or "message--post"), [xf_post(number) for number in (102, 103)]
    shown = [*replies] if pinned else [first, *replies]

    page = xf_thread(kind, *shown, pinned=first if pinned else "", above=above)
    later = xf_thread(kind, xf_post(121), xf_post(122), pinned=first if pinned else "", above=above)
    parsed = XENFORO.parse(Stage.POST, "12", page)
    last = XENFORO.parse(Stage.COMMENT, "12", later, page=2)

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.author_id, post.body, post.created_at) == (
        "A title", "user101", "101", "say 101", MOMENT,
    )  # fmt: skip
    assert told(parsed) == said(102, 103)
    assert [one.position for one in parsed.items.comments] == [0, 1]
    assert told(last) == said(121, 122)


def test_copies_of_xenforo_pages_without_data_attributes_are_read() -> None:
    page = xf_thread("thread_view", *map(xf_post, (101, 102, 103)))

    parsed = XENFORO.parse(Stage.POST, "12", re.sub(r' data-(?!template)[\w-]+="[^"]*"', "", page))

    assert [(one.author, one.body) for one in parsed.items.posts] == [("user101", "say 101")]
    assert [(one.comment_id, one.author, one.body) for one in parsed.items.comments] == [
        ("102", "user102", "say 102"), ("103", "user103", "say 103"),
    ]  # fmt: skip


def test_the_style_of_large_xenforo_forums_shows_posts_as_cards() -> None:
    card = """<div class="MessageCard js-messageCard js-post" id="js-post-ID"><div class="MessageCard__user-info">
      <a class="MessageCard__user-info__name" href="/members/u.1/">userID</a></div><a class="MessageCard__date-created">
      <time class="u-dt" datetime="2024-06-19T14:17:00+0000">Jun 19</time></a><div class="message-content">
      <article class="message-body"><div class="bbWrapper">say ID</div></article></div></div>"""
    cards = "".join(card.replace("ID", number) for number in ("101", "102"))

    items = XENFORO.parse(Stage.POST, "12", f'<h1 class="MessageCard__thread-title">A title</h1>{cards}').items

    assert [(one.title, one.author, one.body, one.created_at) for one in items.posts] == [
        ("A title", "user101", "say 101", MOMENT)
    ]
    assert [(one.comment_id, one.author, one.body) for one in items.comments] == [("102", "user102", "say 102")]


def test_a_xenforo_article_without_replies_is_a_post() -> None:
    page = xf_thread("thread_view_type_article", pinned=xf_post(101, "message--article"))

    items = XENFORO.parse(Stage.POST, "12", page).items

    assert ([one.body for one in items.posts], items.comments) == (["say 101"], ())


def test_pictures_of_quotes_are_no_pictures_of_the_post() -> None:
    body = f'{XF_QUOTE}mine <img src="/own.png" class="bbImage">'

    items = XENFORO.parse(
        Stage.POST, "12", xf_thread("thread_view", *(xf_post(one, body=body) for one in (101, 102)))
    ).items

    assert [found_extra(one) for one in (*items.posts, *items.comments)] == [
        {"images": "https://forum.example/own.png"}
    ] * 2


def test_pictures_of_quotes_are_no_pictures_of_a_vbulletin_4_post() -> None:
    quote = """<div class="bbcode_container"><div class="bbcode_quote"><div class="quote_container"><div
      class="bbcode_postedby"><img src="/images/misc/quote_icon.png"> by <strong>x</strong> <a
  href="showthread.php?p=9#post9"
      rel="nofollow"><img class="inlineimg" src="/viewpost-right.png"></a></div><div class="message"><img
  src="/quoted.png">
      </div></div></div></div>"""
    post = f"""<li class="postbitlegacy postcontainer" id="post_ID"><div class="posthead"><span class="date">06-19-2024
      </span></div><div class="username_container"><a class="username">ann</a></div><div class="postbody"><blockquote
      class="postcontent restore">{quote}mine <img src="/own.png"></blockquote></div></li>"""
    posts = "".join(post.replace("ID", number) for number in ("101", "102"))

    items = (
        Preset("vbulletin4").parse(Stage.POST, "12", f"<span class=threadtitle>A</span><ol id=posts>{posts}</ol>").items
    )

    own = {"images": "https://forum.example/own.png"}
    assert [found_extra(one) for one in (*items.posts, *items.comments)] == [own, own]


XF_CARD = f"""<article class="message message--article message--articlePreview js-inlineModContainer
  js-threadListItem-12">
  <div class="articlePreview-main"><h2 class="articlePreview-title"><a class="labelLink" href="/forums/b.4/">P</a>
  <a href="/threads/t.12/">Title 12</a></h2><div class="articlePreview-content"><article
  class="message-body">Text</article>
  </div></div><footer><ul class="articlePreview-meta"><li class="articlePreview-by">By <a class="username">ann</a></li>
  <li><a href="/threads/t.12/">{XF_TIME}</a></li><li class="articlePreview-replies"><a href="/threads/t.12/">
  <span class="articlePreview-repliesLabel">Replies: </span>7</a></li></ul></footer></article>"""
XF_EXPANDED = f"""<article class="message message--article js-post js-inlineModContainer" data-author="ann"
  data-content="post-9"><h2 class="article-title"><a href="/threads/t.12/">Title 12</a></h2>
  <ul class="message-attribution-main"><li><a href="/threads/t.12/">{XF_TIME}</a></li></ul><article
  class="message-body">
  Text</article><div class="actionBar"><a href="/threads/t.12/" class="actionBar-action--replies">Replies:
  7</a></div></article>"""


@pytest.mark.parametrize("row", [XF_CARD, XF_EXPANDED], ids=["as cards", "with their texts"])
def test_boards_of_xenforo_articles_list_them(row: str) -> None:
    parsed = XENFORO.parse(Stage.LIST, "4", f"<html data-template=forum_view_type_article>{row}</html>")

    (post,) = parsed.items.posts
    assert (post.post_id, post.title, post.author, post.created_at, post.reply_count) == (
        "12",
        "Title 12",
        "ann",
        MOMENT,
        7,
    )
    assert [child.address for child in parsed.children] == ["https://forum.example/threads/t.12/"]


ARCHIVED = """<div class="ipsMessage ipsMessage_general"><p>This topic is now archived and is closed to further
  replies.</p>
</div>"""


def ips_post(number: int) -> str:
    return f"""<a id="comment-{number}"></a><article id="elComment_{number}" class="cPost ipsComment
  ipsComment_parent"><aside
      class="ipsComment_author cAuthorPane"><h3 class="cAuthorPane_author"><strong><a href="/profile/{number}-x/"
      class="ipsType_break">user{number}</a></strong> <span title="Badge">Staff</span></h3></aside><div
  class="ipsComment_meta">
      Posted <time datetime="2024-06-19T14:17:00Z">x</time></div><div class="cPost_contentWrap"><div
  class="ipsType_normal
      ipsType_richText ipsContained"><blockquote class="ipsQuote"><div class="ipsQuote_citation">x
  said:</div>old</blockquote>
      <p>say {number}</p></div></div></article>"""


def test_an_archived_topic_of_invision_is_its_posts_and_not_its_notice() -> None:
    head = '<h1 class="ipsType_pageTitle"><span class="ipsType_break ipsContained"><span>A title</span></span></h1>'

    items = Preset("invision").parse(Stage.POST, "12", head + ARCHIVED + "".join(map(ips_post, (101, 102)))).items

    assert [(one.title, one.author, one.body) for one in items.posts] == [("A title", "user101", "say 101")]
    assert [(one.comment_id, one.author, one.body) for one in items.comments] == [("102", "user102", "say 102")]


DISCUZ_TEXTS = [
    '<table><tr><td class="t_f" id="postmessage_101">say 101</td></tr></table>',
    '<div class="mbm"><p>Price: 12</p></div><div id="postmessage_101">say 101</div>',
    """<div class="rwdn"><table><tr><td class="t_f" id="postmessage_101">say 101</td></tr></table></div><div
  class="rwdbst">
    <div class="pstl"><div class="psta"><a class="xi2 xw1">bob</a></div><div class="psti"><div class="mtn">say
  102</div></div>
    </div></div>""",
    """<div class="act"><dl><dt>Place</dt><dd>Here</dd></dl></div><table><tr><td class="t_f" id="postmessage_101">say
  101</td></tr>
    </table>""",
]


@pytest.mark.parametrize("text", DISCUZ_TEXTS, ids=["plain", "goods", "reward", "activity"])
def test_every_kind_of_discuz_thread_has_its_text(text: str) -> None:
    post = """<div id="post_{0}"><table><tr><td class="pls"><div class="authi"><a
  class="xw1">user{0}</a></div></td><td class="plc">
      <em id="authorposton{0}">2024-6-19 22:17</em><div class="pct"><div
  class="pcb">{1}</div></div></td></tr></table></div>"""
    reply = post.format(102, '<table><tr><td class="t_f" id="postmessage_102">say 102</td></tr></table>')
    page = f'<span id="thread_subject">A title</span><div id="postlist">{post.format(101, text)}{reply}</div>'

    items = Preset("discuz").parse(Stage.POST, "12", page).items

    assert [(one.author, one.body, one.created_at) for one in items.posts] == [("user101", "say 101", MOMENT)]
    assert [(one.comment_id, one.author, one.body) for one in items.comments] == [("102", "user102", "say 102")]


POLLS: dict[str, tuple[Make, Ask, str, str]] = {
    "phpbb": (
        PHPBB.shown,
        Ask("/viewtopic.php", {"t": "2"}, BASE),
        '<div id="p',
        """<form class="topic_poll"><div class="panel"><div class="inner"><div class="content"><h2
  class="poll-title">Lamps?</h2>
        <p class="author">Poll ended at Thu Jan 01, 2015 1:00 am</p><fieldset
  class="polls"><dl><dt>Yes</dt><dd>60%</dd></dl>
        </fieldset></div></div></div></form>""",
    ),
    "mybb": (
        MYBB.shown,
        Ask("/showthread.php", {"tid": "2"}, BASE),
        "<table",
        """<table class="tborder tfixed"><tr><td colspan="4" class="thead"><strong>Poll: Lamps?</strong><br><span
        class="smalltext">You do not have permission to vote.</span></td></tr><tr><td
  class="trow1">Yes</td><td>60%</td></tr>
        </table>""",
    ),
    "smf": (
        Smf,
        Ask("/index.php", {"topic": "2.0"}, BASE),
        '<div id="forumposts"',
        """<div id="poll"><div class="cat_bar"><h3 class="catbg"><span class="main_icons
  poll"></span>Poll</h3></div><div
        class="windowbg"><div id="poll_options"><h4 id="pollquestion">Lamps?</h4><dl
  class="options"><dt>Yes</dt><dd>60%</dd>
        </dl></div></div></div><div class="title_bar"><h3 class="titlebg">Linked Events</h3></div><div
  class="information"><ul>
        <li>Fair: 19 June 2024</li></ul></div>""",
    ),
    "vbulletin4": (
        VBulletin4,
        Ask("/showthread.php", {"t": "2"}, BASE),
        '<div id="postlist"',
        """<form id="pollform" class="vbform"><h2 class="blockhead">View Poll Results:
  <span>Lamps?</span></h2><dl><dt>Yes</dt>
        <dd><span class="date">60%</span></dd></dl></form>""",
    ),
}


@pytest.mark.parametrize("name", POLLS)
def test_a_poll_above_the_posts_changes_nothing_of_them(name: str) -> None:
    make, ask, mark, poll = POLLS[name]
    page = make(small_forum()).answer(ask).body
    assert mark in page

    plain = Preset(name).parse(Stage.POST, "2", page)
    polled = Preset(name).parse(Stage.POST, "2", page.replace(mark, f"{poll}{mark}", 1))

    assert polled.items == plain.items
    assert plain.items.comments
