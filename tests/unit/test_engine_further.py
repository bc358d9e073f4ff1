"""Presets of questions, image boards, mail archives and hosted forums, on small pages of ours in their markup."""

from __future__ import annotations

import json

from crawl_tasks.model import Stage
from tests.unit.pages import BASE
from tests.unit.presets import Preset

MOMENT = 1718806620


def test_stack_exchange_answers_and_the_comments_below_each_of_them_are_a_tree() -> None:
    def comment(number: int) -> str:
        return f"""<li id="comment-{number}" class="comment js-comment" data-comment-id="{number}" data-comment-owner-id="7"><span
          class="comment-copy">so {number}</span><a class="comment-user">cid</a><span class="comment-date"><span
          title="2024-06-19 14:17:00Z, License: CC BY-SA 4.0" class="relativetime-clean">x</span></span></li>"""

    def signature(name: str, at: str) -> str:
        return f"""<div class="user-info"><div class="user-action-time">answered <span title="{at}" class="relativetime">x</span></div>
          <div class="user-details" itemprop="author"><a href="/users/9/x">{name}</a><span class="d-none" itemprop="name">{name}</span></div></div>"""

    edited = """<div class="user-info"><div class="user-action-time"><a href="/posts/5/revisions">edited <span
      title="2024-06-20 14:17:00Z" class="relativetime">x</span></a></div><div class="user-details"><a href="/users/3/z">zed</a></div></div>"""
    body = f"""<div id="question-header"><h1><a class="question-hyperlink" href="/questions/4/t">A title</a></h1></div>
      <time itemprop="dateCreated" datetime="2024-06-19T14:17:00">x</time><div id="question"><div class="post-layout"><div
      class="s-prose js-post-body"><p>Why?</p></div>{signature("ann", "2024-06-19 14:17:00Z")}</div><ul>{comment(31)}</ul></div>
      <div id="answers"><div id="answer-5" class="answer" data-answerid="5"><div class="post-layout"><div class="answercell"><div
      class="s-prose js-post-body"><p>Since.</p></div>{edited}{signature("bob", "2024-06-19 14:17:00Z")}</div></div><ul>{comment(32)}</ul></div>
      <a rel="next" href="/questions/4/t?page=2">next</a></div>"""

    parsed = Preset("stackexchange").parse(Stage.POST, "4", body)

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.body, post.created_at) == ("A title", "ann", "Why?", MOMENT)
    assert [(one.comment_id, one.parent_id, one.author, one.body, one.created_at) for one in parsed.items.comments] == [
        ("comment-31", None, "cid", "so 31", MOMENT),
        ("answer-5", None, "bob", "Since.", MOMENT),
        ("comment-32", "answer-5", "cid", "so 32", MOMENT),
    ]
    assert parsed.items.comments[1].edited_at == MOMENT + 86_400
    assert [child.page for child in parsed.children] == [2]


def test_stack_exchange_lists_are_read_by_what_happened_last() -> None:
    body = """<div class="s-post-summary js-post-summary" data-post-id="12"><div class="s-post-summary--stats-item"
      title="Score of -2"></div><div class="s-post-summary--stats-item" title="3 answers"></div><div
      class="s-post-summary--stats-item" title="1,204 views"></div><h3 class="s-post-summary--content-title"><a
      href="/questions/12/t" class="s-link">A title</a></h3><a class="s-tag" href="/questions/tagged/a">a</a><time
      class="s-user-card--time">modified <span title="2024-06-19 14:17:00Z" class="relativetime">x</span></time></div>
      <a rel="next" href="/questions?tab=active&page=2">2</a>"""
    forum = Preset("stackexchange")

    parsed = forum.parse(Stage.LIST, "questions", body)

    (post,) = parsed.items.posts
    assert (post.post_id, post.title, post.reply_count, post.view_count, post.last_reply_at) == (
        "12", "A title", 3, 1204, MOMENT,
    )  # fmt: skip
    assert post.extra == {"score": "-2", "tags": "a"}
    assert parsed.children[-1].address == f"{BASE}/questions?tab=active&page=2"
    assert forum.named(f"{BASE}/questions/12/some-words/57#57") == ("post", "12", 1)
    assert forum.named(f"{BASE}/questions/12/some-words?page=2&tab=scoredesc") == ("comment", "12", 2)


def test_vanilla_threads_have_the_discussion_apart_from_its_comments() -> None:
    def item(kind: str, number: int, name: str) -> str:
        return f"""<div id="{kind}_{number}" class="Item Item{kind}"><span class=Author><a class="PhotoWrap" href="/profile/x"><img></a><a
          class=Username href="/profile/x" data-userid=4>{name}</a></span><time datetime="2024-06-19T14:17:00+00:00">June</time>
          <div class="Message userContent">{name} says<blockquote>old</blockquote></div></div>"""

    comments = item("Comment", 8, "bob").replace("<div id", "<li id", 1)
    body = f"""<h1>A title</h1>{item("Discussion", 7, "ann")}<ul class=Comments>{comments}</li></ul>
      <div class=Pager><a class="p-1" href="/discussion/7/t">1</a><a class="p-3" href="/discussion/7/t/p3">3</a></div>"""
    forum = Preset("vanilla")

    parsed = forum.parse(Stage.POST, "7", body)

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.body, post.created_at) == ("A title", "ann", "ann says", MOMENT)
    (reply,) = parsed.items.comments
    assert (reply.comment_id, reply.author, reply.author_id, reply.body) == ("8", "bob", "4", "bob says")
    assert [child.page for child in parsed.children] == [2, 3]
    assert forum.named(f"{BASE}/discussion/7/some-words/p3") == ("comment", "7", 3)


def thread(*posts: dict[str, object]) -> str:
    return json.dumps({"posts": list(posts)})


def test_image_boards_name_a_thread_by_its_board_and_number() -> None:
    for engine, middle, quote in (
        ("4chan", "thread", '<a href="#pID" class="quotelink">'),
        ("vichan", "res", """<a onclick="highlightReply('ID', event);" href="/b/res/9.html#ID">"""),
    ):
        forum = Preset(engine)
        row = {"no": 9, "name": "Anonymous", "trip": "!ab", "sub": "A &amp; B", "time": MOMENT, "replies": 2}
        listed = forum.parse(Stage.LIST, "b", json.dumps([{"page": 1, "threads": [row | {"last_modified": MOMENT}]}]))
        assert [(one.post_id, one.title, one.author, one.reply_count) for one in listed.items.posts] == [
            (f"b/{middle}/9", "A & B", "Anonymous!ab", 2)
        ]
        assert [child.address for child in listed.children] == [f"{BASE}/b/{middle}/9.json"]

        answers = [quote.replace("ID", str(number)) + f"&gt;&gt;{number}</a><br>Yes" for number in (9, 10)]
        replies = [
            {"no": 10 + nth, "resto": 9, "name": "x", "com": text, "time": MOMENT} for nth, text in enumerate(answers)
        ]
        parsed = forum.parse(
            Stage.POST, f"b/{middle}/9", thread(row | {"resto": 0, "com": "Hi<br>there"}, *replies),
            url=f"{BASE}/b/{middle}/9.json",
        )  # fmt: skip

        (post,) = parsed.items.posts
        assert (post.post_id, post.title, post.body) == (f"b/{middle}/9", "A & B", "Hi\nthere")
        assert [(one.comment_id, one.parent_id, one.body) for one in parsed.items.comments] == [
            ("10", "9", ">>9\nYes"), ("11", "10", ">>10\nYes"),
        ]  # fmt: skip
        assert not parsed.children


def test_lemmy_comments_know_what_they_answer_by_their_path() -> None:
    def comment(number: int, path: str, **more: bool) -> dict[str, object]:
        own = {"id": number, "path": path, "content": f"say {number}", "published": "2024-06-19T14:17:00Z"} | more
        return {"comment": own, "creator": {"id": 5, "name": "bob"}, "counts": {"score": 1}}

    forum = Preset("lemmy")
    view = {
        "post": {"id": 4, "name": "A title", "body": "Text", "published": "2024-06-19T14:17:00Z"},
        "creator": {"id": 1, "name": "ann"}, "community": {"name": "asklemmy"}, "counts": {"comments": 120},
    }  # fmt: skip

    parsed = forum.parse(Stage.POST, "4", json.dumps({"post_view": view}))
    replies = forum.parse(
        Stage.COMMENT, "4", json.dumps({"comments": [comment(8, "0.8"), comment(9, "0.8.9", deleted=True)]})
    )

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.body, post.created_at) == ("A title", "ann", "Text", MOMENT)
    assert [child.page for child in parsed.children] == [1, 2, 3]
    assert [(one.comment_id, one.parent_id, one.state) for one in replies.items.comments] == [
        ("8", None, "normal"), ("9", "8", "deleted"),
    ]  # fmt: skip


def test_messages_of_pipermail_are_threads_named_by_month_and_number() -> None:
    forum = Preset("pipermail")
    months = """<table><tr><td>May 2024:</td><td><A href="2024-May/thread.html">[ Thread ]</a> <A
      href="2024-May/date.html">[ Date ]</a></td></tr></table>"""
    listing = """<a name="start"></A><h1>May 2024 Archives by date</h1><ul><li> <b>Messages sorted by:</b> <a
      href="thread.html#start">[ thread ]</a></ul><ul><LI><A HREF="000012.html">[Talk] Lamps
      </A><A NAME="12">&nbsp;</A> <I>Ann Lee </I></ul>"""
    message = """<H1>[Talk] Lamps</H1> <B>Ann Lee</B> <A HREF="mailto:talk%40lists.example?Subject=Re">ann at
      example.org</A><BR> <I>Wed Jun 19 14:17:00 UTC 2024</I><HR><!--beginarticle--><PRE>Which one?
      A lamp.</PRE><!--endarticle--><HR>"""

    listed = forum.parse(Stage.LIST, "2024-May", listing)
    parsed = forum.parse(Stage.POST, "2024-May/000012", message, url=f"{BASE}/2024-May/000012.html")

    assert forum.boards(months) == [("2024-May", "2024-May", None)]
    assert [(one.post_id, one.title, one.author) for one in listed.items.posts] == [
        ("2024-May/000012", "[Talk] Lamps", "Ann Lee")
    ]
    (post,) = parsed.items.posts
    assert (post.title, post.author, post.created_at) == ("[Talk] Lamps", "Ann Lee", MOMENT)
    assert post.body == "Which one?\n      A lamp."


def test_messages_of_hypermail_are_read_from_the_remarks_in_their_source() -> None:
    forum = Preset("hypermail")
    listing = """<h1>Talk by date</h1><ul><li><a href="0012.html"><strong>Lamps</strong></a>&nbsp;<a
      name="12"><em>Ann Lee</em></a></li></ul>"""
    message = """<!-- received="Wed Jun 19 16:17:05 2024" --> <!-- sent="Wed, 19 Jun 2024 16:17:00 +0200" --> <!-- name="Ann Lee" -->
      <!-- email="ann@example.org" --> <!-- subject="Re: Lamps &amp; more" --><h1>Re: Lamps</h1><!-- body="start" --><p>
      Which one?<br>That one.</p><!-- body="end" -->"""

    listed = forum.parse(Stage.LIST, "date", listing)
    parsed = forum.parse(Stage.POST, "0012", message)

    assert [(one.post_id, one.title, one.author) for one in listed.items.posts] == [("0012", "Lamps", "Ann Lee")]
    (post,) = parsed.items.posts
    assert (post.author, post.created_at, post.body) == ("Ann Lee", MOMENT, "Which one?\nThat one.")


def test_proboards_threads_begin_with_their_post() -> None:
    def post(number: int, who: str) -> str:
        return f"""<tr id="post-{number}" class="post item"><td class="left-panel">{who}</td><td class="content"><div class="info"><span
          class="date"><abbr class="o-timestamp time" data-timestamp="{MOMENT}000">Jun 19</abbr></span></div><article><div
          class="message"><div class="quote">old</div>say {number}</div></article></td></tr>"""

    guest, member = '<span class="user-guest">gus</span>', '<a class="user-link" data-id="6" href="/user/6">ann</a>'
    body = f"""<ul id="nav-tree"><li><a href="/board/3/general">General</a></li></ul><div class="container posts"><div
      class="title-bar"><h1>A title</h1></div><div class="control-bar"><ul><li class="next"><a href="/thread/4/t?page=2">Next</a></ul></div>
      <table>{post(10, guest)}{post(11, member)}</table></div>"""
    forum = Preset("proboards")

    parsed = forum.parse(Stage.POST, "4", body)

    (first,) = parsed.items.posts
    assert (first.title, first.forum_id, first.author, first.body, first.created_at) == (
        "A title", "3", "gus", "say 10", MOMENT,
    )  # fmt: skip
    (reply,) = parsed.items.comments
    assert (reply.comment_id, reply.author, reply.author_id, reply.body) == ("11", "ann", "6", "say 11")
    assert [child.page for child in parsed.children] == [2]
    assert forum.named(f"{BASE}/thread/4/t?page=2") == ("comment", "4", 2)
