"""e107 and its forum: a site with a forum behind a link, in a directory with a number, and a page of statistics beside.

Scripts of two words tell boards from threads. A thread that is gone redirects to the front page of the forum.
"""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Answer, Ask, moved, page
from tests.programs.layouts import Layout, Part, Shown, lines, moment
from tests.programs.parts import by_parameter, last

HERE = "/e107_plugins/forum"
PAGES = "".join(f'<li><a href="/page.php?id={at}">Article {at}</a></li>' for at in (1, 2, 3))


def _frame(body: str, title: str = "Our club") -> str:
    return f"""<html lang=en><head><title>{escape(title)} - Our club</title></head><body><div class=navbar><a href="/">Our club</a><ul><li><a
      href="/news.php">News</a></li>{PAGES}<li><a href="/e107_plugins/gallery/gallery.php">Gallery</a></li><li><a
      href="{HERE}/forum.php">Forum</a></li></ul></div><div class=container>{body}</div></body></html>"""


HOME = _frame("<h2>Welcome</h2><p>This is the home of our club.</p>")


def _statistics(content: Content) -> str:
    longest = sorted(content.visible.values(), key=lambda one: -len(one.said))[:10]
    rows = "".join(
        f"""<tr><td><a href="{HERE}/forum_viewtopic.php?id={one.number}">{escape(one.title)}</a></td><td>{len(one.said) - 1}</td><td><a
          href="/user.php?id.{one.said[0].number}">{escape(one.said[0].author)}</a></td><td>{_time(one.said[0])}</td></tr>"""
        for one in longest
    )
    return _frame(f"<h2>Forum statistics</h2><table><tr><th>Topic<th>Replies<th>By<th>Date</tr>{rows}</table>")


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f'<tr><td><a href="{HERE}/forum_viewforum.php?id={board.number}">{escape(board.title)}</a><br><small>All about it</small></td></tr>'
        for board in boards
    )
    return _frame(
        f'<h2>Forums</h2><table>{rows}</table><a href="{HERE}/forum_stats.php">Forum statistics</a>', "Forums"
    )


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tr id="thread-{one.number}"><td><a href="{HERE}/forum_viewtopic.php?id={one.number}">{escape(one.title)}</a><div class=by><a
          href="/user.php?id.{one.said[0].number}">{escape(one.said[0].author)}</a> <small>{_time(one.said[0])}</small></div></td><td
          class=replies>{len(one.said) - 1}</td><td><small><a href="{HERE}/forum_viewtopic.php?id={one.number}&last=1#post-{one.last.number}">{_time(one.last)}</a></small></td></tr>"""
        for one in part.items
    )
    none = "<p>There are no topics in this forum yet.</p>"
    return _frame(
        f"<h3>{escape(board.title)}</h3><table class=table>{rows}</table>{none * (not rows)}{_pager('forum_viewforum', board.number, part)}",
        board.title,
    )


def _thread(topic: Topic, part: Part) -> str:
    posts = "".join(
        f"""<li class=forum-post id="post-{one.number}"><div class=top><a class=btn href="#">{escape(one.author)}</a> <small>{_time(one)}</small></div><div
          class=forum-text>{lines(one)}</div></li>"""
        for one in part.items
    )
    trail = f'<ul class=breadcrumb><li><a href="{HERE}/forum.php">Forums</a></li><li><a href="{HERE}/forum_viewforum.php?id={topic.board}">up</a></li></ul>'
    return _frame(
        f"{trail}<h3>{escape(topic.title)}</h3><ul>{posts}</ul>{_pager('forum_viewtopic', topic.number, part)}",
        topic.title,
    )


def _pager(script: str, number: int, part: Part) -> str:
    """Write the number of the page before the id, as the program does."""
    if last(part) < 2:
        return ""
    cells = "".join(f'<a href="{HERE}/{script}.php?p={at}&id={number}">{at}</a> ' for at in range(1, last(part) + 1))
    more = f'<a class=next href="{HERE}/{script}.php?p={part.number + 1}&id={number}">next</a>' * part.has_more
    return f"<div class=pager>{cells}{more}</div>"


def _time(said: Said) -> str:
    return f"{moment(said.at):%d %b %Y : %H:%M}"


class _Forum(Shown):
    def answer(self, ask: Ask) -> Answer:
        """Answer with the home page of the site at the root, and with the forum's own for a thread that is gone."""
        if ask.path in ("/", f"{HERE}/forum.php", f"{HERE}/forum_stats.php"):
            return page(
                {"/": HOME, f"{HERE}/forum_stats.php": _statistics(self._content)}.get(ask.path)
                or _front(self._content.boards)
            )
        is_there = int(ask.query.get("id", "0")) in self._content.visible
        if ask.path == f"{HERE}/forum_viewtopic.php" and not is_there:
            return moved(f"{ask.base}{HERE}/forum.php", 302)
        return super().answer(ask)


class _E107(Layout):
    def shown(self, content: Content) -> Shown:
        return _Forum(self, content)


E107 = _E107(
    _front, _list, _thread, rf"{HERE}/forum_viewforum\.php\?.*\bid=(?P<board>\d+)", rf"{HERE}/forum_viewtopic\.php\?.*\bid=(?P<topic>\d+)",
    by_parameter("p"),
)  # fmt: skip
