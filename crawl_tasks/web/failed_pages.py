"""The pages of failed requests: a list with search and order, and one with its kept page and the fields there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from urllib.parse import quote, urlencode

from crawl_tasks.frontier.admin.failed import FailedRequest
from crawl_tasks.frontier.kept_pages import KeptPage
from crawl_tasks.model import State
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.web.actions import FAILED_ROWS, FailedFilter
from crawl_tasks.web.layout import WebUser, frame, hidden, table

MOST_SHOWN = 100_000
"""The most characters of a kept page that are shown."""

_ORDERS = {"newest": "newest first", "oldest": "oldest first", "reason": "by reason", "address": "by address"}


def failed_page(site: SiteSnapshot, user: WebUser, failed: Sequence[FailedRequest], query: FailedFilter) -> str:
    """Return a page of the failed requests of one state."""
    count = site.counts.dead if query.state is State.DEAD else site.counts.parked
    name = quote(site.name)

    def link(number: int, text: str) -> str:
        return f'<a href="/site/{name}/failed?{escape(urlencode(query._replace(page=number).fields()))}">{text}</a>'

    earlier = link(query.page - 1, gettext("before")) if query.page > 1 else ""
    later = link(query.page + 1, gettext("more")) if len(failed) == FAILED_ROWS else ""
    orders = "".join(
        f'<option value="{order}"{" selected" if order == query.order else ""}>{gettext(text)}</option>'
        for order, text in _ORDERS.items()
    )
    state = gettext(query.state.value)
    body = (
        f'<h2><a href="/site/{name}">{escape(site.name)}</a>: {count} {state}</h2>{failed_links(site)}'
        f'<form class="actions"><input type="hidden" name="state" value="{query.state.value}">'
        f'<label>{gettext("Reason")} <input name="reason" value="{escape(query.reason)}"></label>'
        f'<label>{gettext("Words")} <input name="words" value="{escape(query.words)}"></label>'
        f'<label>{gettext("Order")} <select name="order">{orders}</select></label>'
        f"<button>{gettext('Show')}</button></form>"
        f"{failed_table(failed, user)}"
        f'<nav class="pages" aria-label="{gettext("pages")}">{earlier}'
        f" {gettext('page {count}', count=query.page)} {later}</nav>"
    )
    return frame(f"{site.name} {state} · crawl_tasks", body, user)


def failed_links(site: SiteSnapshot) -> str:
    """Return links to the failed requests of a site."""
    counts = {State.DEAD: site.counts.dead, State.PARKED: site.counts.parked}
    links = (
        f'<a href="/site/{quote(site.name)}/failed?state={state.value}">{count} {gettext(state.value)}</a>'
        for state, count in counts.items()
        if count
    )
    return f"<p>{' · '.join(links)}</p>"


def failed_table(failed: Sequence[FailedRequest], user: WebUser) -> str:
    """Return a table of failed requests. Who has logged in may look at each, and retry it."""
    heads = ("state", "since", "reason", "page", "details", *(["again"] if user.is_in else []))
    return table(heads, (_row(page, user) for page in failed), "none")


def _row(failed: FailedRequest, user: WebUser) -> tuple[str, ...]:
    state, address = gettext(failed.state.value), escape(failed.request.address)
    if user.is_in:
        state = f'<a href="/site/{quote(failed.request.site)}/failed/{failed.rid}">{state}</a>'
    cells = (
        state,
        datetime.fromtimestamp(failed.at_ms / 1000, UTC).strftime("%m-%d %H:%M:%SZ"),
        escape(failed.reason),
        f"{failed.request.stage.value} {address}",
        escape(failed.details),
    )
    return (*cells, _retry(failed, user)) if user.is_in else cells


def _retry(failed: FailedRequest, user: WebUser) -> str:
    return (
        f'<form method="post" action="/site/{escape(failed.request.site)}/retry">{hidden(user)}'
        f'<input type="hidden" name="rid" value="{failed.rid}">'
        f'<button aria-label="{gettext("retry")} {failed.rid}">{gettext("retry")}</button></form>'
    )


def one_failed(failed: FailedRequest, kept: KeptPage | None, read: Mapping[str, str], user: WebUser) -> str:
    """Return the page of one failed request: its kept page, if there is one, and the fields read from that now."""
    site, address = failed.request.site, escape(failed.request.address)
    facts = "".join(
        f"<tr><td>{gettext(name)}</td><td>{escape(text)}</td></tr>"
        for name, text in (("reason", failed.reason), ("details", failed.details), ("attempts", str(failed.attempts)))
    )
    back = gettext("{state} of {site}", state=gettext(failed.state.value), site=escape(site))
    body = (
        f'<p><a href="/site/{quote(site)}/failed?state={failed.state.value}">{back}</a></p>'
        f"<h2>{failed.request.stage.value} {address}</h2>"
        f'<div class="sites narrow"><table><tbody>{facts}</tbody></table></div>'
        f'<div class="actions">{_retry(failed, user)}</div>{_kept(kept, read)}'
    )
    return frame(f"{site} {failed.rid} · crawl_tasks", body, user)


def _kept(kept: KeptPage | None, read: Mapping[str, str]) -> str:
    if kept is None:
        none = gettext("The page is not kept: only pages that came and could not be read are.")
        return f'<p class="quiet">{none}</p>'
    text = kept.page.body.decode("utf-8", "replace")
    rest = gettext(" of {count}", count=len(text)) if len(text) > MOST_SHOWN else ""
    size = counted(min(len(text), MOST_SHOWN), "character") + rest
    head = gettext("Kept page, {size}, status {status}", size=size, status=kept.page.status)
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in read.items())
    return (
        '<div class="beside">'
        f'<section><h2>{head}</h2><div class="card full"><pre tabindex="0">{escape(text[:MOST_SHOWN])}</pre>'
        "</div></section>"
        f"<section><h2>{gettext('Read by the rules of today')}</h2>"
        f'<div class="sites"><table><tbody>{rows}</tbody></table></div>'
        "</section></div>"
    )
