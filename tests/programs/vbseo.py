"""vBulletin 4 with vBSEO: addresses are words of titles, boards have no ids in theirs, and plain addresses redirect."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.programs.content import Content
from tests.programs.host import Answer, Ask, moved
from tests.programs.vbulletin4 import VBulletin4

_LINK = re.compile(r"(forumdisplay|showthread)\.php\?(\d+)-[^&\"]*(?:&amp;s=0123)?(?:&amp;p=\d+)?(?:&amp;page=(\d+))?")
_BOARD, _THREAD = re.compile(r"/([a-z]+)/(?:index(\d+)\.html)?"), re.compile(r"/[a-z]+/(\d+)-words-?(\d*)\.html")


class VbSeo:
    """The default format of addresses: `/board/index2.html`, `/board/12-words-2.html`."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._plain = VBulletin4(content)

    def answer(self, ask: Ask) -> Answer:
        board, thread = _BOARD.fullmatch(ask.path), _THREAD.fullmatch(ask.path)
        known = {one.slug: one.number for one in self._content.boards}
        if board is not None and board[1] in known:
            ask = replace(ask, path="/forumdisplay.php", query={"f": f"{known[board[1]]}", "page": board[2] or "1"})
        elif thread is not None:
            ask = replace(ask, path="/showthread.php", query={"t": thread[1], "page": thread[2] or "1"})
        elif ask.path in ("/forumdisplay.php", "/showthread.php"):
            kind, key = ("forumdisplay", "f") if ask.path == "/forumdisplay.php" else ("showthread", "t")
            return moved(f"{ask.base}{self._address(kind, ask.number(key, 0), ask.number('page', 1))}")
        said = self._plain.answer(ask)
        return replace(
            said, body=_LINK.sub(lambda link: self._address(link[1], int(link[2]), int(link[3] or 1)), said.body)
        )

    def _address(self, kind: str, number: int, page: int) -> str:
        if kind == "forumdisplay":
            slug = next((one.slug for one in self._content.boards if one.number == number), "nowhere")
            return f"/{slug}/" + f"index{page}.html" * (page > 1)
        return f"/general/{number}-words{f'-{page}' * (page > 1)}.html"
