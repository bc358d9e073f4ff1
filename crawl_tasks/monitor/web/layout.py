"""The layout of all pages: frame, style sheet and login form. No page loads anything from elsewhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from html import escape

STYLE = """
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--text:#1b1f24;--quiet:#667079;--edge:#dfe3e8;--line:#2563c9;
--area:#2563c922;--good:#197a43;--note:#8a5a00;--bad:#b3261e;--c1:#c2570c;--c2:#197a43;--c3:#7c3aed;--h0:#d4efdd;--h1:#f0f2c4;--h2:#ffdfb8;--h3:#ffcac4}
@media(prefers-color-scheme:dark){:root{--bg:#13161a;--card:#1c2025;--text:#e6e9ed;--quiet:#98a2ad;--edge:#2e343c;
--line:#79acff;--area:#79acff2b;--good:#5fce8d;--note:#e6b450;--bad:#ff8a80;--c1:#ffa260;--c2:#5fce8d;--c3:#b794ff;--h0:#17402a;--h1:#3f4516;--h2:#573712;--h3:#5f221e}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:15px/1.45 system-ui,sans-serif}
header,main{max-width:1240px;margin:auto;padding:12px 16px}
header{display:flex;flex-wrap:wrap;gap:4px 18px;align-items:baseline}
h1{font-size:20px;margin:0}h2{font-size:16px;margin:22px 0 8px}
a{color:var(--line);text-decoration:none}a:hover,p a{text-decoration:underline}
nav{margin-left:auto;display:flex;gap:14px}nav form{display:inline}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(118px,1fr));gap:8px}
.tile,figure,.sites,.card{background:var(--card);border:1px solid var(--edge);border-radius:8px}
.tile{padding:8px 12px}.tile b{display:block;font-size:17px;font-weight:600}
.quiet,.tile span,th{color:var(--quiet);font-weight:400}
.good{color:var(--good)}.note{color:var(--note)}.bad{color:var(--bad)}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:8px;margin:8px 0}
figure{margin:0;padding:8px 12px;min-width:0}figcaption{margin-bottom:4px}
svg.plot{width:100%;height:auto;display:block}svg.spark{width:72px;height:24px;vertical-align:middle}
svg text{font:11px system-ui,sans-serif;fill:var(--quiet)}
.line{fill:none;stroke:var(--line);stroke-width:1.6;vector-effect:non-scaling-stroke}.area{fill:var(--area)}
.grid{stroke:var(--edge)}.line.c1{stroke:var(--c1)}.line.c2{stroke:var(--c2)}.line.c3{stroke:var(--c3)}
.key{color:var(--line);font-size:13px;margin-left:10px;white-space:nowrap}.key.c1{color:var(--c1)}.key.c2{color:var(--c2)}
.key.c3{color:var(--c3)}.key:before{content:"";display:inline-block;width:10px;height:2px;background:currentColor;
margin:0 5px 4px 0}
table{border-collapse:collapse;width:100%}td,th{padding:7px 10px;text-align:left;vertical-align:top}
tr+tr td,tbody td{border-top:1px solid var(--edge)}.number{text-align:right;font-variant-numeric:tabular-nums}
.sites{overflow-x:auto}td.wide{overflow-wrap:anywhere;min-width:16em}td.nowrap{white-space:nowrap}
.bars td,.bars th{border:0;padding:2px 6px}.bars th,.bars .number{white-space:nowrap}.bar{width:60%}
.bar svg{display:block;width:100%;height:10px;margin-top:5px}
button,input{font:inherit;padding:5px 12px;border-radius:6px;border:1px solid var(--edge);background:var(--card);
color:var(--text)}button{cursor:pointer}.actions{display:flex;gap:8px;flex-wrap:wrap;margin:10px 0}
.link{border:0;background:none;padding:0;color:var(--line)}
.card{padding:14px;max-width:360px}.card.full{max-width:none}.narrow{max-width:620px}
.said{padding:8px 12px;border-left:3px solid;background:var(--card);margin:6px 0}
.site .bad,.site .note,.site .good,.site .quiet{display:block}
:focus-visible{outline:2px solid var(--line);outline-offset:2px}
.skip{position:absolute;left:-999px}.skip:focus{left:16px;top:4px;background:var(--card);padding:4px 8px}
select{font:inherit;padding:5px 8px;border-radius:6px;border:1px solid var(--edge);background:var(--card);
color:var(--text)}label{display:inline-flex;gap:6px;align-items:center}
ol.items,ol.tree{list-style:none;margin:0;padding:0}.items .items{margin-left:12px}
.item{background:var(--card);border:1px solid var(--edge);border-radius:8px;padding:6px 12px;margin:0 0 5px;
overflow-wrap:anywhere}.item h2,.item h3{font-size:15px;margin:0}.item p{margin:1px 0}article.item h2{font-size:18px}
.text{white-space:pre-wrap;unicode-bidi:plaintext;overflow:hidden;overflow-wrap:anywhere;max-width:80ch;margin:2px 0}
time{white-space:nowrap}.d1{margin-left:20px}.d2{margin-left:40px}.d3{margin-left:60px}.d4{margin-left:80px}.d5{margin-left:100px}
.d6{margin-left:120px}.item:target{border-color:var(--line)}
details{margin-top:4px}summary{cursor:pointer;color:var(--line)}.pages{margin:12px 0;display:block}
.fill{fill:var(--line)}.at{fill:transparent}.at:hover{fill:var(--area)}
.heat{display:grid;grid-template-columns:repeat(auto-fill,minmax(130px,1fr));gap:4px;list-style:none;margin:0;padding:0}
.heat li{padding:5px 8px;border-radius:6px;overflow-wrap:anywhere}.heat b{display:block;font-weight:600}
.h0{background:var(--h0)}.h1{background:var(--h1)}.h2{background:var(--h2)}.h3{background:var(--h3)}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0;max-height:70vh;overflow-y:auto}
.beside{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:8px}
@media(max-width:720px){
.d1{margin-left:8px}.d2{margin-left:16px}.d3{margin-left:24px}.d4{margin-left:32px}.d5{margin-left:40px}
.d6{margin-left:48px}nav{margin-left:0;flex-wrap:wrap}label{width:100%}label input,label select{flex:1;min-width:0;
max-width:100%}
.tiles{grid-template-columns:repeat(3,minmax(0,1fr));gap:6px}.tile{padding:6px 8px}
.tile span{font-size:13px;line-height:1.25;display:block}h2{margin-top:14px}
.site .bad,.site .note,.site .good,.site .quiet{display:inline}
.sites thead{display:none}
.sites tr{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:2px 10px;padding:10px 12px}
.sites tr+tr{border-top:1px solid var(--edge)}.sites svg.spark{width:44px}
.sites td{border:0!important;padding:2px 0;white-space:normal;overflow-wrap:anywhere}
.sites td[data-name]:before{content:attr(data-name) " ";color:var(--quiet)}.sites td.row{grid-column:1/-1}
.sites td:empty{display:none}.narrow tr{grid-template-columns:1fr auto}}
"""
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
