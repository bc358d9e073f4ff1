"""A forum whose boards only members see: a form with a CSRF token, sessions that expire, a login that can be ill."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from urllib.parse import parse_qs

from tests.unit.hostile_server import HostileServer, Visit, page

PASSWORD = "planted-password-1"
SESSION = "planted-session"
"""Each session id begins so."""
ZONE = "Asia/Shanghai"
"""A cookie that is no secret."""
RULES = """\
name: demo
base: {base}
private_hosts: ["{place}"]
robots: false
boards: [1]
gate: {{delay_s: 0, retry_base_s: 0.1}}
list:
  address: /list/{{board}}/{{page}}
  record: .row
  fields: {{post_id: {{attr: data-id}}, title: .t}}
  empty: .nothing
post:
  address: /post/{{post}}
  fields: {{title: h1, body: .body}}
"""
LOGIN = """\
login:
  form: /login
  secrets: {pass: FORUM_DEMO_PASSWORD}
  fields: {user: ann, go: Log in}
  success: a.logout
  check: /
"""
CHROME = b"<a class=logout href='/logout?sid=%b'>Log out</a>"


def session_of(visit: Visit) -> str:
    """Return the session that a request names, empty where it names none."""
    cookies = visit.headers.get("cookie", "").split("; ")
    return next((cookie.removeprefix("sid=") for cookie in cookies if cookie.startswith("sid=")), "")


class MembersForum:
    """The forum. Guests see the login form on boards, and no thread at all (404)."""

    def __init__(self, threads: int = 3) -> None:
        self.password = PASSWORD
        self.threads = [str(number) for number in range(1, threads + 1)]
        self.logins: list[str] = []
        """The passwords that were sent."""
        self.expires: str | None = None
        self.before_login: Callable[[Visit], bool] = lambda visit: False
        """Answers in place of the login's pages, where it returns true."""
        self.after_page: Callable[[str], None] = lambda target: None
        self._numbers = itertools.count(1)
        self._tokens: set[str] = set()
        self._members: set[str] = set()
        self.server = HostileServer({"/login": self._login, "/robots.txt": page(b"")}, otherwise=self._page)

    def rules(self, login: str = LOGIN) -> str:
        return RULES.format(base=self.server.base, place=self.server.place) + login

    def log_all_out(self) -> None:
        self._members.clear()

    def _login(self, visit: Visit) -> None:
        if self.before_login(visit):
            return
        cookie = visit.headers.get("cookie", "")
        if visit.method == "GET":
            token = f"csrf-{next(self._numbers)}"
            self._tokens.add(token)
            form = f'<form action="/login" method=post><input type=hidden name=token value={token}>'
            fields = "<input name=user><input type=password name=pass><button name=go>Log in</button></form>"
            visit.reply((form + fields).encode(), Set_Cookie=f"pre={token}; Path=/; HttpOnly", Content_Type="text/html")
            return
        told = {name: values[0] for name, values in parse_qs(visit.body.decode()).items()}
        self.logins.append(told.get("pass", ""))
        token = told.get("token", "")
        has_token = token in self._tokens and f"pre={token}" in cookie
        if not has_token or told.get("pass") != self.password or told.get("user") != "ann":
            visit.reply(b"<p>wrong password</p>", Content_Type="text/html")
            return
        self._tokens.discard(token)
        session = f"{SESSION}-{next(self._numbers)}"
        self._members.add(session)
        ends = f"; Expires={self.expires}" if self.expires else ""
        visit.reply(
            b"",
            "302 Found",
            Location="/",
            Set_Cookie=f"sid={session}; Path=/{ends}; HttpOnly\r\nSet-Cookie: zone={ZONE}",
        )

    def _page(self, visit: Visit) -> None:
        time.sleep(0.001)
        sid = session_of(visit)
        is_member = sid in self._members or visit.headers.get("authorization") == f"Bearer {self.password}"
        kind, _, rest = visit.target.strip("/").partition("/")
        chrome = CHROME % sid.encode() if is_member else b"<a href=/login>Log in</a>"
        if kind == "":
            visit.reply(chrome, Content_Type="text/html")
        elif not is_member:
            gone = kind == "post"
            visit.reply(chrome + b"members only", "404 Not Found" if gone else "200 OK", Content_Type="text/html")
        elif kind == "list":
            rows = "".join(f"<div class=row data-id={n}><b class=t>thread {n}</b></div>" for n in self.threads)
            visit.reply(chrome + (rows or "<p class=nothing>").encode(), Content_Type="text/html")
        elif kind == "post" and rest in self.threads:
            visit.reply(
                chrome + f"<h1>thread {rest}</h1><div class=body>text {rest} of {ZONE}</div>".encode(),
                Content_Type="text/html",
            )
        else:
            visit.reply(chrome + b"no such page", "404 Not Found", Content_Type="text/html")
        self.after_page(visit.target)
