"""What stands between the records of real forums: latest posts, polls, reactions, advertisements, moved threads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from html import escape
from typing import Final

from tests.layouts.drawing import Content, Drawn, Reply, Thread

REMOVED: Final = "This message was removed."
SPOILER: Final = "Spoiler"


class Clutter:
    """The clutter of a forum. `date` and `person` write a moment and a name as the forum does."""

    def __init__(
        self, layout: Drawn, content: Content, url: Callable[[Thread], str], date: Callable[[int], str],
        person: Callable[[str], str], style: Callable[[str], str],
    ) -> None:  # fmt: skip
        self._layout, self._content, self._url = layout, content, url
        self._date, self._person, self._class = date, person, style

    def _line(self, thread: Thread) -> str:
        last = thread.said[-1]
        link = f'<a href="{escape(self._url(thread))}">{escape(thread.title)}</a>'
        return f"<li>{link} <div>{self._person(last.author)} {self._date(last.at)}</div></li>"

    def beside(self) -> str:
        """Return the newest posts, which stand on every page."""
        if not self._layout.has("latest posts"):
            return ""
        latest = sorted(self._content.threads, key=lambda one: -one.said[-1].at)[:6]
        return f"<div><h4>{self._layout.language.last}</h4><ul>{''.join(map(self._line, latest))}</ul></div>"

    def below(self, thread: Thread) -> str:
        """Return like threads, which stand below a thread."""
        if not self._layout.has("similar threads"):
            return ""
        like = [one for one in self._content.threads if one.board == thread.board and one is not thread][:5]
        return f"<section><h3>≈</h3><ul>{''.join(map(self._line, like))}</ul></section>" if like else ""

    def row_ad(self, place: int, tag: str, columns: int = 0) -> str:
        """Return an advertisement among the rows of a list."""
        if not self._layout.has("row ads") or place != 2:
            return ""
        return self._ad(tag, "row", columns)

    def post_ad(self, place: int, tag: str, columns: int = 0) -> str:
        """Return an advertisement among the posts of a thread."""
        if not self._layout.has("post ads") or place != 1:
            return ""
        return self._ad(tag, "post", columns)

    def _ad(self, tag: str, role: str, columns: int) -> str:
        inner = '<div>AD</div><a href="https://shop.example.com/boots">Boots, warm and dry</a>'
        if tag == "dl":
            return f"<dt{self._class(role)}>{inner}</dt><dd>-50 %</dd>"
        if tag == "tr":
            return f"<tr{self._class(role)}><td colspan={columns or 2}>{inner}</td></tr>"
        return f"<{tag}{self._class(role)}>{inner}</{tag}>"

    def picture(self, one: Reply) -> str:
        """Return the author's picture, which names the author."""
        named = self._layout.has("named pictures")
        return f'<a href="/u/{len(one.author)}"><img src="/a.png" alt="{escape(one.author)}"></a>' if named else ""

    def subject(self, thread: Thread, place: int) -> str:
        """Return the line above a text: `Re: an old lamp`."""
        if not self._layout.has("subjects"):
            return ""
        return f"<h3>{'Re: ' if place else ''}{escape(thread.title)}</h3>"

    def poll(self, thread: Thread, place: int) -> str:
        """Return the poll on the first post of some threads."""
        if not self._layout.has("poll") or place or len(thread.title) % 3:
            return ""
        options = "".join(
            f"<li>{escape(word)} <b>{len(word) * 7}%</b></li>" for word in self._layout.language.words[:3]
        )
        return f"<div><h4>{escape(thread.title)}</h4><ul>{options}</ul></div>"

    def reactions(self, one: Reply) -> str:
        """Return who liked a text, below some."""
        if not self._layout.has("reactions") or len(one.lines[0]) % 3 == 0:
            return ""
        return f"<div>♥ {len(names := self._fans(one))} {', '.join(map(self._person, names))}</div>"

    def _fans(self, one: Reply) -> list[str]:
        return [name for name in self._layout.language.names if len(name) % 2][: len(one.lines[0]) % 4 + 1]

    # What crowded forums have besides.

    def near(self, moment: datetime, now: datetime) -> str:
        """Return `Today at 10:03` for a moment of today or yesterday, else nothing."""
        days = (now.date() - moment.date()) // timedelta(days=1)
        return f"{self._layout.language.near[days]} {moment:%H:%M}" if 0 <= days < 2 else ""

    def moved_stub(self, thread: Thread, tag: str, place: int) -> str:
        """Return the row of a thread that was moved to another board, on some lists."""
        if not self._layout.has("moved stub") or place % 2:
            return ""
        inner = f'Moved: <a{self._class("title")} href="{escape(self._url(thread))}">{escape(thread.title)}</a>'
        if tag == "dl":
            return f"<dt{self._class('row')}>{inner}</dt><dd>-</dd>"
        cell = f"<td>{inner}</td><td>-</td>" if tag == "tr" else f"<h3>{inner}</h3>"
        return f"<{tag}{self._class('row')}>{cell}</{tag}>"

    def cut(self, title: str) -> str:
        """Return a title as lists show it."""
        is_cut = self._layout.has("cut titles") and len(title) > 24
        return escape(title[:20] + "…" if is_cut else title)

    def before_title(self, thread: Thread) -> str:
        """Return what stands before a title: a link to the newest reply, or a prefix."""
        jump = f'<a href="{escape(self._url(thread))}#new">•</a> ' if self._layout.has("jump first") else ""
        jump += "<i>[Solved]</i> " * (self._layout.has("prefixes") and thread.views % 3 == 0)
        return jump + self.prefix_link(thread)

    def excerpt(self, thread: Thread) -> str:
        """Return the beginning of a thread's text."""
        return f"<p>{escape(thread.said[0].lines[0][:30])}…</p>" if self._layout.has("excerpts") else ""

    def heading_button(self) -> str:
        """Return the button that stands within a thread's heading."""
        return ' <a href="/follow">Follow</a>' if self._layout.has("heading button") else ""

    def number_link(self, thread: Thread, place: int) -> str:
        """Return the number of a post in its thread, which leads to it."""
        if not self._layout.has("number links"):
            return ""
        return f'<a href="{escape(self._url(thread))}#n{place + 1}">#{place + 1}</a> '

    def badges(self, thread: Thread, one: Reply, place: int) -> str:
        """Return the author's role in the forum, and in the thread."""
        role = "<em>Moderator</em>" if len(one.author) % 4 == 0 else "<em>Member</em>"
        is_starter = place and one.author == thread.said[0].author
        return role * self._layout.has("roles") + "<em>OP</em>" * bool(is_starter and self._layout.has("op"))

    def initial(self, one: Reply) -> str:
        """Return the first letter of the author, as a picture."""
        return f"<span>{escape(one.author[0].upper())}</span>" if self._layout.has("initials") else ""

    def doubled(self, at: int) -> str:
        """Return a moment, and once more for small screens, or without an element of its own."""
        shown = self._date(at)
        if self._layout.has("bare dates") and self._layout.dates == "text":
            return shown.partition(">")[2].removesuffix("</span>")
        short = datetime.fromtimestamp(at).astimezone().strftime("%m-%d")
        return shown + f"<small>{short}</small>" * self._layout.has("twice")

    def since(self, one: Reply) -> str:
        """Return the date in a signature."""
        return f" {self._date(1_400_000_000 + 86_400 * len(one.author))}" * self._layout.has("dated signatures")

    # What packed forums have besides.

    def vote_table(self, thread: Thread, place: int) -> str:
        """Return a poll with its votes and its last day, on the first post of some threads."""
        if not self._layout.has("vote table") or place or len(thread.title) % 4:
            return ""
        rows = "".join(
            f"<tr><td>{escape(word)}</td><td>{len(word) * 3}</td><td>{len(word) * 5} %</td></tr>"
            for word in self._layout.language.words[3:6]
        )
        return f"<div><table>{rows}</table><p>{self._date(thread.said[0].at + 30 * 86_400)}</p></div>"

    def best_answer(self, thread: Thread, start: int) -> str:
        """Return the copy of a reply at the top of some threads."""
        if not self._layout.has("best answer") or start or len(thread.said) < 3 or thread.views % 3:
            return ""
        best = thread.said[2]
        by = f"{self._person(best.author)} {self._date(best.at)}"
        return f"<section><h4>✔</h4><div>{by}</div><p>{escape(best.lines[0])}</p></section>"

    def weekday(self, moment: datetime) -> str:
        """Return the short name of the day, before a date."""
        names = self._layout.language.weekdays.split() if self._layout.has("weekdays") else []
        return f"{names[moment.weekday()]}, " if names else ""

    def ratings(self, one: Reply) -> str:
        """Return who rated a text, when and why."""
        if not self._layout.has("ratings") or len(one.lines[0]) % 4:
            return ""
        rows = (
            f"<tr><td>{self._person(name)}</td><td>+{place}</td><td>{self._date(one.at + 60 * place)}</td></tr>"
            for place, name in enumerate(self._fans(one), 1)
        )
        return f"<table>{''.join(rows)}</table>"

    def edited_by(self, one: Reply) -> str:
        """Return the name of another person who edited a text."""
        by = self._layout.language.names[len(one.lines[0]) % 3]
        return f" {self._layout.language.by} {self._person(by)}" * self._layout.has("edited by")

    def attachments(self, one: Reply) -> str:
        """Return the files below some texts."""
        if not self._layout.has("attachments") or len(one.lines[0]) % 3:
            return ""
        sizes = range(20, 20 + len(one.lines))
        shown = "".join(f'<li><a href="/files/{kb}">plan-{kb}.pdf</a> ({kb} KB, {kb * 3} ×)</li>' for kb in sizes)
        return f"<ul>{shown}</ul>"

    def prefix_link(self, thread: Thread) -> str:
        """Return a link to all threads of one kind, before the title of some."""
        word = self._layout.language.boards[thread.views % 3]
        has_one = self._layout.has("prefix links") and thread.views % 2
        return f'<a href="/prefix/{thread.views % 3 + 1}">[{escape(word)}]</a> ' * bool(has_one)

    def unread_mark(self, thread: Thread) -> str:
        """Return the link to the first unread post, behind some titles."""
        has_one = self._layout.has("unread marks") and thread.views % 3 == 1
        return f' <a href="{escape(self._url(thread))}?unread=1#unread"><b>New</b></a>' * has_one

    def spoiler(self, line: str) -> str:
        """Return a line that is shown on demand, or as it is."""
        if not self._layout.has("spoilers") or len(line) % 3:
            return line
        return f"<details><summary>{SPOILER}</summary>{line}</details>"

    # How else forums vary.

    def separator(self, shown: list[Thread], place: int, tag: str) -> str:
        """Return the row between pinned threads and the others."""
        is_between = place and shown[place - 1].is_pinned and not shown[place].is_pinned
        if not self._layout.has("separators") or not is_between or tag == "dl":
            return ""
        text = self._layout.language.topic
        return f"<tr><td colspan=6>{text}</td></tr>" if tag == "tr" else f"<{tag}><b>{text}</b></{tag}>"

    def striped(self, row: str, place: int) -> str:
        """Return a row with one of two classes by turns."""
        if not self._layout.has("striped") or ' class="' not in row.partition(">")[0]:
            return row
        return row.replace(' class="', f' class="{("even", "odd")[place % 2]} ', 1)

    def short(self, number: int) -> str:
        """Return a number of views, in thousands from a thousand on."""
        return f"{number / 1000:.1f}k" if self._layout.has("short views") and number >= 1000 else str(number)

    def likes(self, one: Reply) -> str:
        """Return how many liked a text."""
        return f"<button>♥ {len(one.lines[0]) % 9}</button>" * self._layout.has("likes")

    def paged_title(self, head: str, start: int, size: int) -> str:
        """Return the heading of a later page with the page's number."""
        has_one = self._layout.has("page titles") and start
        return head.replace("</h1>", f" <small>({start // size + 1})</small></h1>", 1) if has_one else head


def is_removed(one: Reply, layout: Drawn) -> bool:
    """Return whether a text was replaced by a word that says so, and the rest of the record was left."""
    return layout.has("removed by name") and one.at % 11 == 0 and one.parent is not None
