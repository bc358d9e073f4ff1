"""The ids of authors that presets read: a guest's first post has none, and takes none from the member below."""

from __future__ import annotations

import json

import pytest

from crawl_tasks.model import Stage
from tests.unit.presets import Preset

WHEN = "2024-06-19 14:17:00"


def phpbb(number: int, who: str) -> str:
    return f"""<div class=post id=p{number}><dl class=postprofile><dt>{who}</dt></dl><p class=author>by x
      <time datetime="2024-06-19T14:17:00+00:00">t</time></p><div class=content>text</div></div>"""


def mybb(number: int, who: str) -> str:
    return f"""<div class=post id=post_{number}><div class=author_information><strong>
      <span class=largetext>{who}</span></strong></div><span class=post_date>06-19-2024, 02:17 PM</span>
      <div class=post_body>text</div></div>"""


def discuz(number: int, who: str) -> str:
    return f"""<div id=post_{number}><div class=authi>{who}</div><em id=authorposton{number}>发表于 2024-6-19 14:17</em>
      <table><tr><td class=t_f>text</td></tr></table></div>"""


def xenforo(number: int, who: str) -> str:
    return f"""<article class="message message--post" data-author=x data-content=post-{number}>
      <h4 class=message-name>{who}</h4><ul class=message-attribution-main><time datetime="2024-06-19T14:17:00+0000">x
      </time></ul><div class=message-body><div class=bbWrapper>text</div></div></article>"""


def smf(number: int, who: str) -> str:
    return f"""<div class=windowbg><div class=post_wrapper><div class=poster><h4>{who}</h4></div><div class=postarea>
      <div class=postinfo><a class=smalltext>June 19, 2024, 02:17:00 PM</a></div>
      <div class=post><div class=inner id=msg_{number}>text</div></div></div></div></div>"""


def vbulletin4(number: int, who: str) -> str:
    return f"""<li class=postcontainer id=post_{number}><div class=posthead><span class=date>06-19-2024, 02:17 PM</span>
      </div><div class=username_container>{who}</div><blockquote class=postcontent>text</blockquote></li>"""


def vbulletin5(number: int, who: str) -> str:
    return f"""<li class=b-post data-node-id={number}><div class=author>{who}</div><div class=b-post__timestamp>
      <time>06-19-2024, 02:17 PM</time></div><div class=js-post__content-text>text</div></li>"""


def fluxbb(number: int, who: str) -> str:
    first = "firstpost" if number == 1 else ""
    return f"""<div id=p{number} class="blockpost {first}"><h2><a href="viewtopic.php?pid={number}">{WHEN}</a></h2>
      <div class=postleft><dl><dt><strong>{who}</strong></dt></dl></div><div class=postmsg>text</div></div>"""


def punbb(number: int, who: str) -> str:
    first = "topicpost" if number == 1 else ""
    return f"""<div class="post {first}"><div id=p{number} class=posthead>
      <span class=post-link><a>{WHEN}</a></span></div>
      <ul class=author-ident><li class=username>{who}</ul><div class=entry-content>text</div></div>"""


def nodebb(number: int, who: str) -> str:
    uid = "0" if who == "guest" else "12"
    return f"""<li component=post data-index={number - 1} data-pid={number} data-uid={uid} data-username=x
      data-timestamp=1718806620000><div component="post/content">text</div></li>"""


def misago(number: int, who: str) -> str:
    return f"""<li id=post-{number} class=post><a href="/u/bob/{number + 70}/"><img></a>
      <div class=media-heading>{who}</div><time itemprop=datePublished datetime="2024-06-19T14:17:00+00:00">t</time>
      <article class=misago-markup><a href="/u/cid/99/">@cid</a> text</article></li>"""


def bbpress(number: int, who: str) -> str:
    kind = "topic" if number == 1 else "reply"
    return f"""<div class=bbp-reply-header><span class=bbp-reply-post-date>June 19, 2024 at 2:17 pm</span></div>
      <div class="loop-item-0 user-id-{"12" if who == "ann" else "0"} post-{number} {kind} type-{kind}">
      <div class=bbp-reply-author><a class=bbp-author-link href="/forums/users/ann/"><span class=bbp-author-name>{who}
      </span></a></div><div class=bbp-reply-content><p>text</p></div></div>"""


MEMBERS = {
    "phpbb": '<a class=avatar href="./memberlist.php?u=12"></a><a class=username href="?u=12">ann</a>',
    "mybb": '<a href="/member.php?action=profile&amp;uid=12">ann</a>',
    "discuz": '<a class=xw1 href="space-uid-12.html">ann</a>',
    "xenforo": '<a class=username href="/members/ann.12/" data-user-id=12>ann</a>',
    "smf": '<a href="/index.php?action=profile;u=12">ann</a>',
    "vbulletin4": '<a class=username href="member.php?12-ann">ann</a>',
    "vbulletin5": '<a href="/member/12-ann" data-vbnamecard=12>ann</a>',
    "fluxbb": '<a href="profile.php?id=12">ann</a>',
    "punbb": '<a href="/user/12/">ann</a>',
    "nodebb": "ann",
    "misago": '<a class=item-title href="/u/ann/12/"><span itemprop=author>ann</span></a>',
    "bbpress": "ann",
}
"""The name of a member in each program's markup."""

FRAMES = {
    "phpbb": "<h2 class=topic-title>T</h2>%s",
    "mybb": "<table><tr><td class=thead><div><strong>T</strong></div></td></tr></table>%s",
    "discuz": "<span id=thread_subject>T</span><div id=postlist>%s</div>",
    "xenforo": "<html><h1 class=p-title-value>T</h1>%s", "smf": "<h2 id=top_subject>T</h2><div id=forumposts>%s</div>",
    "vbulletin4": "<span class=threadtitle>T</span><ol>%s</ol>", "vbulletin5": "<h1 class=main-title>T</h1><ul>%s</ul>",
    "fluxbb": '<ol class=crumbs><li><a href="viewtopic.php?id=7">T</a></ol>%s',
    "punbb": '<h1 class=main-title><a href="/viewtopic.php?id=7">T</a></h1><div class=main-topic>%s</div>',
    "nodebb": '<span component="topic/title">T</span><ul component=topic>%s</ul>', "misago": "<h1>T</h1><ul>%s</ul>",
    "bbpress": """<h1 class=entry-title>T</h1><div id=bbpress-forums><ul class=bbp-replies><li class=bbp-body>%s
      </ul></div>""",
}  # fmt: skip


POSTS = {
    "phpbb": phpbb, "mybb": mybb, "discuz": discuz, "xenforo": xenforo, "smf": smf, "vbulletin4": vbulletin4,
    "vbulletin5": vbulletin5, "fluxbb": fluxbb, "punbb": punbb, "nodebb": nodebb, "misago": misago, "bbpress": bbpress,
}  # fmt: skip


@pytest.mark.parametrize("engine", list(POSTS))
def test_the_id_of_a_member_is_read_and_a_guest_takes_none_from_the_member_below(engine: str) -> None:
    preset, post, url = Preset(engine), POSTS[engine], "https://forum.example/t/7"
    guest_first = post(1, "guest") + post(2, MEMBERS[engine])
    member_first = post(1, MEMBERS[engine]) + post(2, "guest")

    by_guest = preset.parse(Stage.POST, "7", FRAMES[engine] % guest_first, url=url)
    by_member = preset.parse(Stage.POST, "7", FRAMES[engine] % member_first, url=url)

    assert [one.author_id for one in (*by_guest.items.posts, *by_guest.items.comments)] == [None, "12"]
    assert [one.author_id for one in (*by_member.items.posts, *by_member.items.comments)] == ["12", None]


def test_ids_of_json_are_texts() -> None:
    said = [{"id": n, "post_number": n, "user_id": 12, "username": "ann", "cooked": "x", "version": 1,
             "created_at": "2024-06-19T14:17:00Z"} for n in (1, 2)]  # fmt: skip
    thread = {"title": "T", "posts_count": 2, "post_stream": {"posts": said, "stream": [1, 2]}}

    parsed = Preset("discourse").parse(Stage.POST, "7", json.dumps(thread))

    assert [one.author_id for one in (*parsed.items.posts, *parsed.items.comments)] == ["12", "12"]


def test_a_guest_of_wordpress_has_no_id() -> None:
    said = [{"id": n, "parent": 0, "author": who, "author_name": "ann", "date_gmt": "2024-06-19T14:17:00",
             "content": {"rendered": "x"}} for n, who in ((1, 0), (2, 12))]  # fmt: skip

    parsed = Preset("wordpress").parse(Stage.COMMENT, "7", json.dumps(said))

    assert [one.author_id for one in parsed.items.comments] == [None, "12"]
