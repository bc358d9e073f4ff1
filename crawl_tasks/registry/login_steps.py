"""The login of a site, compiled: the requests that log in, the secrets they need, and the test for a member's page."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Mapping
from urllib.parse import urlencode

from lxml.html import FormElement

from crawl_tasks.errors import ConfigError, Crashed, LoginRefused, PageError
from crawl_tasks.fetch.cookie_jar import StoredCookie, read_cookie_file
from crawl_tasks.fetch.login_sessions import LoginPolicy, Send
from crawl_tasks.model import Fetched, HttpRequest
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.values.charset import charset_of
from crawl_tasks.registry.session_sign import member_signs, member_test
from crawl_tasks.sites.functions import find_function, place_of
from crawl_tasks.sites.request_headers import check_headers, forum_secret
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_login import SiteLogin
from crawl_tasks.sites.template import normalize_below
from crawl_tasks.urls import host_of, origin_of

LogIn = Callable[[Send], Mapping[str, str]]

_TOKENS = ("csrf-token", "csrf_token", "_csrf")
_TOKEN = re.compile(r"[!-~]{8,1000}")
_TOKEN_HEADER = re.compile(r"X-[A-Za-z-]{1,60}")


def login_policy(site: Site, headers: Mapping[str, str]) -> LoginPolicy | None:
    """Return the login of a site, None for a site without one. `headers` are those of every request to the site."""
    spec = site.login
    if spec is None:
        return None
    # A key that is not set: with it, workers of two versions would take each other's session for another login's.
    unset = set() if spec.not_secret else {"not_secret"}
    terms = f"{site.base} {spec.model_dump_json(by_alias=True, exclude=unset)}"
    return LoginPolicy(
        name=f"{site.name} {hashlib.sha256(terms.encode()).hexdigest()[:16]}",
        origin=origin_of(site.base),
        log_in=_log_in(site, spec, headers),
        cookies=_cookies(site, spec),
        check=HttpRequest(normalize_below(site.base, spec.check), headers),
        is_member=member_test(site, spec),
        signs=member_signs(site, spec),
        secrets=lambda: _secrets(spec),
        most_a_day=spec.most_a_day,
        not_secret=frozenset(spec.not_secret),
        # The requests of a login wait for a slot each.
        lost_after_s=60 + site.gate.deadline_s + 10 * site.gate.delay_s,
    )


def _secrets(spec: SiteLogin) -> tuple[str, ...]:
    """Return the secrets of this process, read anew: another password is tried without waiting."""
    variables = [*spec.secrets.values(), *filter(None, [spec.bearer, spec.cookie_file])]
    return tuple(map(forum_secret, variables))


def _cookies(site: Site, spec: SiteLogin) -> Callable[[], tuple[StoredCookie, ...]]:
    def read() -> tuple[StoredCookie, ...]:
        if spec.cookie_file is None:
            return ()
        path = os.environ.get(f"{spec.cookie_file}_FILE", "")
        try:
            return read_cookie_file(path, host_of(origin_of(site.base)))
        except OSError as error:
            raise ConfigError(f"{site.name}: {spec.cookie_file}_FILE: {error}") from None

    return read


def _log_in(site: Site, spec: SiteLogin, headers: Mapping[str, str]) -> LogIn:
    if spec.function is not None:
        return _by_function(site, spec.function)
    if spec.bearer is not None:
        token = spec.bearer
        return lambda send: {"Authorization": f"Bearer {forum_secret(token)}"}
    if spec.form is None:
        return lambda send: {}
    address = normalize_below(site.base, spec.form)

    def by_form(send: Send) -> Mapping[str, str]:
        values = {name: forum_secret(variable) for name, variable in spec.secrets.items()}
        page = send(HttpRequest(address, headers))
        send(_filled(page, site, headers, spec.fields | values))
        return {}

    return by_form


def _filled(page: Fetched, site: Site, headers: Mapping[str, str], values: Mapping[str, str]) -> HttpRequest:
    """Return the request that submits the login form of a page, with its hidden fields and our values.

    Raises:
        LoginRefused: the page has no such form, or one that leads elsewhere.
    """
    document = Document(page, site.encoding)
    secrets = site.login.secrets if site.login else {}
    forms = (element for element in document.xml.iter("form") if isinstance(element, FormElement))
    form = next((candidate for candidate in forms if secrets.keys() <= set(candidate.fields.keys())), None)
    if form is None:
        raise LoginRefused(f"{page.url} has no form with the fields {', '.join(secrets)}")
    target = document.absolute(form.get("action") or page.url)
    # A page must not choose where our password goes.
    if target is None or origin_of(target) != origin_of(page.url) or form.method != "POST":
        raise LoginRefused(f"the form of {page.url} is no POST to its own origin")
    fields = [(name, value) for name, value in form.form_values() if name not in values]
    token_fields, token_headers = _token_of(document, {name for name, _ in fields})
    charset = charset_of(page, site.encoding)
    body = urlencode([*fields, *token_fields, *values.items()], encoding=charset, errors="xmlcharrefreplace").encode()
    form_headers = {"Content-Type": "application/x-www-form-urlencoded", "Referer": page.url, **token_headers}
    return HttpRequest(target, {**headers, **form_headers}, body)


def _token_of(document: Document, names: Collection[str]) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Return the CSRF token of a page's head as field and header, as scripts send it (Rails, Laravel, Spring)."""
    metas = {str(node.get("name")).lower(): str(node.get("content") or "") for node in document.xml.iter("meta")}
    token = next((metas[name] for name in _TOKENS if metas.get(name)), "")
    if not _TOKEN.fullmatch(token):
        return [], {}
    header = metas.get("_csrf_header", "")
    param = metas.get("csrf-param") or metas.get("_csrf_parameter") or ""
    fields = [(param, token)] if param and param not in names else []
    return fields, {header if _TOKEN_HEADER.fullmatch(header) else "X-CSRF-Token": token}


def _by_function(site: Site, name: str) -> LogIn:
    function, wanted = find_function(name, f"{site.name}: login.function", ("send", "site"))

    def log_in(send: Send) -> Mapping[str, str]:
        offers = {"send": send, "site": site}
        try:
            given = function(**{parameter: offers[parameter] for parameter in wanted}) or {}
            if not isinstance(given, dict):
                raise TypeError(f"it returned {type(given).__name__}; return a dict of headers, or None")
            check_headers(given)
            return given
        except PageError:
            raise
        except Exception as error:  # noqa: BLE001 (raised again, without its text)
            # Foreign code may raise anything, and its message may hold what it sent.
            where = place_of(error, function)
            raise Crashed(f"{site.name}: login.function: {name}: {type(error).__name__} ({where})") from None

    return log_in
