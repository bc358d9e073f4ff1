"""What stands between the records of real forums: latest posts, polls, reactions, advertisements, moved threads."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from tests.layouts.drawing import Content, Drawn, Reply, Thread


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
        names = [name for name in self._layout.language.names if len(name) % 2][: len(one.lines[0]) % 4 + 1]
        return f"<div>♥ {len(names)} {', '.join(map(self._person, names))}</div>"
