"""The layout of all pages: frame, style sheet and login form. No page loads anything from elsewhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from pathlib import Path

from crawl_tasks.monitor.output_language import gettext

STYLE = Path(__file__).with_name("status_page.css").read_text("utf-8")
STYLE_SOURCE = f"'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
"""The style sheet as a source of the content security policy: no other style is applied."""


# Embeddings, overrides and isolates of Unicode's bidirectional algorithm. Plain marks of direction are harmless.
_STEERING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\N{REPLACEMENT CHARACTER}")


@dataclass(frozen=True, slots=True)
class WebUser:
    """The person at the browser: may log in, is logged in, token of the forms. `flower` is the address of Flower."""

    may_log_in: bool = False
    is_in: bool = False
    token: str = ""
    flower: str = ""


def frame(title: str, body: str, user: WebUser, refresh_s: int = 0, at_ms: int | None = None) -> str:
    """Return a page of the server with header and time."""
    header = (
        f'<header><h1><a href="/">crawl_tasks</a></h1>{_moment(at_ms, refresh_s)}'
        f'<nav aria-label="{gettext("other views")}"><a href="/posts">{gettext("posts")}</a>'
        f'<a href="{escape(user.flower)}">Flower</a><a href="/metrics">{gettext("metrics")}</a>'
        f'<a href="/api/snapshot">JSON</a>{_login_link(user)}</nav></header>'
    )
    skip = f'<a class="skip" href="#main">{gettext("to the content")}</a>'
    return page_of(title, f'{skip}{header}<main id="main">{body}</main>', refresh_s)


def _moment(at_ms: int | None, refresh_s: int) -> str:
    if at_ms is None:
        return ""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    text = gettext("as of {at} UTC, anew every {count} s", at=f"{at:%H:%M:%S}", count=refresh_s)
    return f'<span class="quiet">{text}</span>'


def page_of(title: str, body: str, refresh_s: int = 0) -> str:
    """Return a whole page that needs no other file. No text of a stranger turns the direction of another."""
    # By meta tag, since the content security policy allows no script.
    refresh = f'<meta http-equiv="refresh" content="{refresh_s}">' if refresh_s else ""
    page = (
        f'<!doctype html><html lang="{gettext("en")}"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">{refresh}'
        f'<link rel="icon" href="data:,"><style>{STYLE}</style></head><body>{body}</body></html>'
    )
    return page.translate(_STEERING)


def _login_link(user: WebUser) -> str:
    if user.is_in:
        button = f'<button class="link">{gettext("log out")}</button>'
        return f'<form method="post" action="/logout">{hidden(user)}{button}</form>'
    return f'<a href="/login">{gettext("log in")}</a>' if user.may_log_in else ""


def hidden(user: WebUser) -> str:
    """Return the hidden field with the token against cross-site request forgery (CSRF)."""
    return f'<input type="hidden" name="token" value="{escape(user.token)}">'


def login_page(user: WebUser, is_wrong: bool = False) -> str:
    """Return the page with the form for the password."""
    wrong = f'<p class="bad" role="alert">{gettext("That is not the password.")}</p>' if is_wrong else ""
    form = (
        f'<form class="card" method="post" action="/login">{wrong}<label>{gettext("Password")}<br>'
        '<input type="password" name="password" autofocus autocomplete="current-password"></label> '
        f"<button>{gettext('log in')}</button></form>"
    )
    none = f"<p>{gettext('No password is set (CRAWL_WEB_PASSWORD): this page only shows.')}</p>"
    return frame(f"{gettext('log in')} · crawl_tasks", form if user.may_log_in else none, user)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], none: str) -> str:
    """Return a table, which a phone shows as cards, or a word where there are no rows."""
    names = [gettext(head) for head in heads]
    kinds = ["row wide" if head in ("address", "page", "details") else "nowrap" for head in heads]
    cell = '<td data-name="{}" class="{}">{}</td>'.format
    body = "".join(f"<tr>{''.join(map(cell, names, kinds, row))}</tr>" for row in rows)
    if not body:
        return f'<p class="quiet">{gettext(none)}</p>'
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f'<div class="sites"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
