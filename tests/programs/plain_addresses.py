"""Programs whose operator rewrites no addresses: links, redirects and requests have the program's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.programs.content import Content
from tests.programs.discuz import DISCUZ
from tests.programs.host import Answer, Ask, Program
from tests.programs.xenforo import XenForo

_DISCUZ = {"forum": ("forumdisplay", "fid"), "thread": ("viewthread", "tid")}


@dataclass(frozen=True)
class _Plain:
    """`program` with other addresses: `rewritten` reads what is asked for, `plain` writes links and redirects."""

    program: Program
    rewritten: Callable[[Ask], str]
    plain: Callable[[str], str]

    def answer(self, ask: Ask) -> Answer:
        said = self.program.answer(replace(ask, path=self.rewritten(ask), query={}))
        return replace(said, body=self.plain(said.body), headers={k: self.plain(v) for k, v in said.headers.items()})


def discuz(content: Content) -> Program:
    def rewritten(ask: Ask) -> str:
        for name, (mode, key) in _DISCUZ.items():
            if ask.path == "/forum.php" and ask.query.get("mod") == mode:
                return f"/{name}-{ask.number(key, 0)}-{ask.number('page', 1)}{'-1' * (name == 'thread')}.html"
        return "/" if ask.path in ("/", "/forum.php") else "/not-here"

    def link(found: re.Match[str]) -> str:
        mode, key = _DISCUZ[found[1]]
        return f"forum.php?mod={mode}&amp;{key}={found[2]}" + f"&amp;page={found[3]}" * (found[3] != "1")

    return _Plain(
        DISCUZ.shown(content), rewritten, lambda text: re.sub(r"\b(forum|thread)-(\d+)-(\d+)(?:-1)?\.html", link, text)
    )


def xenforo(content: Content) -> Program:
    def rewritten(ask: Ask) -> str:
        known = {"/": "/", "/index.php": f"/{next(iter(ask.query), '')}"}
        return known.get(ask.path, "/not-here")

    return _Plain(
        XenForo(content), rewritten, lambda text: re.sub(r"/(?=(?:forums|threads|whats-new)/)", "/index.php?", text)
    )
