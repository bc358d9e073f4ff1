"""What each preset takes for news in a thread: not an hour that has passed, but a reply that came for one that went."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from crawl_tasks.model import Stage
from tests.unit.presets import Preset


class Last(NamedTuple):
    """The last reply as a list shows it: its id, the words for its time, its author."""

    id: int = 9
    words: str = "Today, 02:17 PM"
    author: str = "bob"


def discuz(last: Last) -> str:
    return f"""<div id="ct"><div id="threadlist"><table><tbody id="normalthread_12"><tr>
      <th><a href="thread-12-1-1.html" class="s xst">T</a></th>
      <td class="by"><cite><a>ann</a></cite><em><span>2024-5-1</span></em></td>
      <td class="num"><a class="xi2">25</a><em>66</em></td><td class="by"><cite><a>{last.author}</a></cite>
      <em><a href="forum.php?mod=redirect&tid=12&goto=lastpost#lastpost">{last.words}</a></em></td></tr></table>"""


def flaskbb(last: Last) -> str:
    return f"""<div class="row forum-row"><div class=topic-info>
      <div class=topic-name><a href="/topic/12-t">T</a></div></div>
      <div class=topic-stats>26</div><div class=topic-stats>1000</div><div class=topic-last-post>
      <a href="/post/{last.id}">{last.words}</a><br>
      <div class=topic-author>by <a href="/user/b">{last.author}</a></div></div>"""


def fluxbb(last: Last) -> str:
    return f"""<div id=vf><table><tbody><tr class=rowodd><td class=tcl><div class=tclcon><div>
      <a href="viewtopic.php?id=12">T</a></div></div></td><td class=tc2>25</td><td class=tc3>1,000</td><td class=tcr>
      <a href="viewtopic.php?pid={last.id}#p{last.id}">{last.words}</a>
      <span class=byuser>by {last.author}</span></td></tr>"""


def hackernews(last: Last) -> str:
    return f"""<table id=hnmain><tr class=athing id=12><td class=title><span class=titleline><a>T</a></span></tr>
      <tr><td colspan=2></td><td class=subtext><span class=subline><span class=score>7 points</span> by
      <a class=hnuser>ann</a> <span class=age title="2024-06-19T14:17:00 1718806620">
      <a href="item?id=12">{last.words}</a></span> | <a href="hide?id=12">hide</a> |
      <a href="item?id=12">{last.id}&nbsp;comments</a></span></td></tr></table>"""


def lobsters(last: Last) -> str:
    return f"""[{{"short_id": "a1", "created_at": "2024-06-19T14:17:00.000-05:00", "title": "T", "url": "", "score": 7,
      "comment_count": {last.id}, "submitter_user": "ann", "tags": ["a"]}}]"""


def mybb(last: Last) -> str:
    return f"""<div id="content"><table class="tborder clear"><tr class="inline_row"><td></td><td></td><td>
      <span id="tid_12"><a href="showthread.php?tid=12">T</a></span></td><td>25</td><td>107</td>
      <td><span class="lastpost smalltext">{last.words}<br>
      <a href="showthread.php?tid=12&amp;action=lastpost">Last Post</a>:
      <a href="member.php?action=profile&amp;uid=3">{last.author}</a></span></td></tr></table></div>"""


def punbb(last: Last) -> str:
    return f"""<div class="main-content main-forum"><div id=topic12 class="main-item odd"><h3>
      <a href="/viewtopic.php?id=12">T</a></h3><ul><li class=info-replies><strong>25</strong> replies
      <li class=info-lastpost>Last post
      <a href="/viewtopic.php?pid={last.id}#p{last.id}">{last.words}</a>
      <cite>by {last.author}</cite></ul></div></div>"""


def punbb_rewritten(last: Last) -> str:
    return punbb(last).replace(f"viewtopic.php?pid={last.id}#", f"post/{last.id}/#")


def smf(last: Last) -> str:
    return f"""<div id=topic_container><div class=windowbg><div class="info info_block"><span id=msg_1>
      <a href="/index.php?topic=12.0">T</a></span></div><div class=board_stats><p>Replies: 25<br>Views: 1</p></div>
      <div class=lastpost><p><a href="/index.php?topic=12.15#msg{last.id}">{last.words}</a>
      by {last.author}</p></div></div>"""


def smf_20(last: Last) -> str:
    return f"""<div id=messageindex><table><tbody><tr><td class="subject"><span id=msg_1>
      <a href="/index.php?topic=12.0">T</a></span></td><td class=stats>25 Replies<br>7 Views</td><td class=lastpost>
      <a href="/index.php?topic=12.msg{last.id}#new"><img src="/l.gif"></a>
      {last.words}<br>by {last.author}</td></tr></table>"""


def vbulletin4(last: Last) -> str:
    return f"""<div id=threadlist><ol id=threads><li class="threadbit hot" id="thread_12"><a class=title
      href="showthread.php?12-t">T</a><ul class=threadstats><li>Replies: <a>25</a></li><li>Views: 1</li></ul>
      <dl class=threadlastpost><dd><a class=username>{last.author}</a></dd><dd>{last.words}
      <a href="showthread.php?12-t&amp;p={last.id}#post{last.id}" class=lastpostdate><img></a></dd></dl></li></ol>"""


def vbulletin5(last: Last) -> str:
    return f"""<table class=topic-list><tr class="topic-item" data-node-id=12><td><a class=topic-title
      href="/forum/board/12-t">T</a></td><td><div class=posts-count>25 responses</div></td><td class=cell-lastpost>
      <div class=lastpost-by>by <a data-vbnamecard=2>{last.author}</a></div><span class=post-date>{last.words}</span>
      <a href="/forum/board/12-t?p={last.id}#post{last.id}" class=go-to-last-post></a></td></tr></table>"""


def vbulletin5_without_link(last: Last) -> str:
    return vbulletin5(last).replace("go-to-last-post", "go-nowhere")


HOUR_AGO, DATE = "3 hours ago", "06-19-2024, 02:17 PM"
LATER = [Last(), Last(words="Yesterday, 02:17 PM"), Last(words=HOUR_AGO), Last(words=DATE)]
"""One reply as it is told while time passes, where the list has an id."""
ANOTHER = [Last(10)]
DISCUZ = '<span title="2024-6-19 14:17">{}</span>'
MYBB = '<span title="06-19-2024{}">{}</span>{}'

PROGRAMS: list[tuple[Callable[[Last], str], list[Last], list[Last]]] = [
    (
        discuz,
        [Last(words=DISCUZ.format(one)) for one in ("3&nbsp;小时前", "昨天&nbsp;14:17", "4&nbsp;天前")]
        + [Last(words="2024-6-19 14:17")],
        [Last(words=DISCUZ.format("3&nbsp;小时前").replace(":17", ":18")), Last(words="2024-6-19 14:17", author="eve")],
    ),
    (flaskbb, LATER, ANOTHER),
    (fluxbb, LATER, ANOTHER),
    (
        mybb,
        [
            Last(words=MYBB.format(", 02:17 PM", "2 hours ago", "")),
            Last(words=MYBB.format(", 02:17 PM", "3 hours ago", "")),
            Last(words=MYBB.format("", "Today", ", 02:17 PM")),
            Last(words=MYBB.format("", "Yesterday", ", 02:17 PM")),
            Last(words=DATE),
        ],
        [
            Last(words=MYBB.format(", 02:18 PM", "2 hours ago", "")),
            Last(words=MYBB.format("", "Yesterday", ", 02:17 AM")),
            Last(words=DATE, author="eve"),
        ],
    ),
    (punbb, LATER, ANOTHER),
    (punbb_rewritten, LATER, ANOTHER),
    (smf, LATER, ANOTHER),
    (smf_20, LATER, ANOTHER),
    (vbulletin4, LATER, ANOTHER),
    (vbulletin5, LATER, ANOTHER),
    (vbulletin5_without_link, LATER, [Last(author="eve")]),
]
COUNTED = [hackernews, lobsters]
"""Lists on which nothing is the last reply's."""
EACH = pytest.mark.parametrize(("row", "same", "other"), PROGRAMS, ids=[row.__name__ for row, *_ in PROGRAMS])


def revision_of(row: Callable[[Last], str], last: Last) -> str:
    name = row.__name__.partition("_")[0]
    board = "/forum/board" if name == "vbulletin5" else None
    url = f"https://forum.example{board}" if board else None
    (post,) = Preset(name).parse(Stage.LIST, "newest" if name == "hackernews" else "4", row(last), url=url).items.posts
    assert post.revision
    return post.revision


@EACH
def test_time_that_passes_is_no_news(row: Callable[[Last], str], same: list[Last], other: list[Last]) -> None:
    assert len({revision_of(row, last) for last in same}) == 1


@EACH
def test_another_last_reply_is_news_though_the_count_is_the_same(
    row: Callable[[Last], str], same: list[Last], other: list[Last]
) -> None:
    before = revision_of(row, same[0])

    assert [last for last in other if revision_of(row, last) == before] == []


@pytest.mark.parametrize("row", COUNTED)
def test_a_list_that_shows_no_last_reply_knows_the_count(row: Callable[[Last], str]) -> None:
    before, later, more = (revision_of(row, last) for last in (Last(), Last(words="2 hours ago"), Last(id=10)))

    assert (before, later, more) == ("9", "9", "10")
