"""The layout of all pages: frame, style sheet and login form. No page loads anything from elsewhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from pathlib import Path

STYLE = Path(__file__).with_name("status_page.css").read_text("utf-8")
STYLE_SOURCE = f"'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
"""The style sheet as a source of the content security policy: no other style is applied."""


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
        f'<nav aria-label="other views"><a href="/posts">posts</a><a href="{escape(user.flower)}">Flower</a>'
        f'<a href="/metrics">metrics</a><a href="/api/snapshot">JSON</a>{_login_link(user)}</nav></header>'
    )
    return page_of(
        title, f'<a class="skip" href="#main">to the content</a>{header}<main id="main">{body}</main>', refresh_s
    )


def _moment(at_ms: int | None, refresh_s: int) -> str:
    if at_ms is None:
        return ""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f'<span class="quiet">as of {at:%H:%M:%S} UTC, anew every {refresh_s} s</span>'


def page_of(title: str, body: str, refresh_s: int = 0) -> str:
    """Return a whole page that needs no other file."""
    # By meta tag, since the content security policy allows no script.
    refresh = f'<meta http-equiv="refresh" content="{refresh_s}">' if refresh_s else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">{refresh}'
        f'<link rel="icon" href="data:,"><style>{STYLE}</style></head><body>{body}</body></html>'
    )


def _login_link(user: WebUser) -> str:
    if user.is_in:
        return f'<form method="post" action="/logout">{hidden(user)}<button class="link">log out</button></form>'
    return '<a href="/login">log in</a>' if user.may_log_in else ""


def hidden(user: WebUser) -> str:
    """Return the hidden field with the token against cross-site request forgery (CSRF)."""
    return f'<input type="hidden" name="token" value="{escape(user.token)}">'


def login_page(user: WebUser, is_wrong: bool = False) -> str:
    """Return the page with the form for the password."""
    if not user.may_log_in:
        return frame(
            "log in · crawl_tasks", "<p>No password is set (CRAWL_WEB_PASSWORD): this page only shows.</p>", user
        )
    wrong = '<p class="bad" role="alert">That is not the password.</p>' if is_wrong else ""
    return frame(
        "log in · crawl_tasks",
        f'<form class="card" method="post" action="/login">{wrong}<label>Password<br>'
        '<input type="password" name="password" autofocus autocomplete="current-password"></label> '
        "<button>log in</button></form>",
        user,
    )


def table(rows: Sequence[Sequence[tuple[str, str]]], none: str) -> str:
    """Return a table of rows of names and values, which a phone shows as cards, or a word where there are none."""
    if not rows:
        return f'<p class="quiet">{none}</p>'
    head = "".join(f'<th scope="col">{name}</th>' for name, _ in rows[0])
    wide = {"address", "page", "details"}
    body = "".join(
        "<tr>"
        + "".join(
            f'<td data-name="{name}" class="{"row wide" if name in wide else "nowrap"}">{text}</td>'
            for name, text in row
        )
        + "</tr>"
        for row in rows
    )
    return f'<div class="sites"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
