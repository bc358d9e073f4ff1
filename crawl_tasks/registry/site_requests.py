"""The requests of a site as they are sent: method, body and headers by stage, and the site's own two functions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import JsonValue

from crawl_tasks.errors import BadStatus, Crashed, PageError, TooLarge
from crawl_tasks.fetch.dump_files import DumpFiles
from crawl_tasks.fetch.fetch_policy import ReadFrom
from crawl_tasks.fetch.throttle import Clock
from crawl_tasks.model import Fetched, HttpRequest, Request
from crawl_tasks.sites.functions import failure_text, find_function
from crawl_tasks.sites.request_headers import check_headers
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import StageSpec
from crawl_tasks.sites.template import key_name

MOST_BODY_BYTES = 256 << 10
"""The largest body of a request. Below 1 MB, libcurl sends the body at once."""

_PLACEHOLDER = re.compile(r"\{(board|post|page|offset:(\d+))\}")


def request_builder(site: Site) -> Callable[[Request, dict[str, str]], HttpRequest] | None:
    """Return the function from a page and the site's headers to the request for the page, None for plain GETs."""
    stages = {stage: spec for stage, spec in site.stages.items() if spec.body or spec.headers}
    if not stages:
        return None

    def build(request: Request, headers: dict[str, str]) -> HttpRequest:
        spec = stages.get(request.stage)
        if spec is None:
            return HttpRequest(request.address, headers)
        own = {name.lower() for name in spec.headers}
        headers = {name: value for name, value in headers.items() if name.lower() not in own} | spec.headers
        return HttpRequest(request.address, headers) if spec.body is None else _post(request, spec, headers)

    return build


def _post(request: Request, spec: StageSpec, headers: dict[str, str]) -> HttpRequest:
    kind, body = _body(request, spec)
    if "content-type" not in map(str.lower, headers):
        headers = {**headers, "Content-Type": kind}
    return HttpRequest(_without_placeholders(request.address, spec), headers, body)


def _body(request: Request, spec: StageSpec) -> tuple[str, bytes]:
    if spec.body is None or not spec.body.form:
        value = spec.body.json_value if spec.body else None
        return "application/json", json.dumps(_filled(value, request), ensure_ascii=False).encode()
    fields = {name: str(_filled_text(text, request)) for name, text in spec.body.form.items()}
    return "application/x-www-form-urlencoded", urlencode(fields).encode()


def _without_placeholders(address: str, spec: StageSpec) -> str:
    """Return an address without the parameters that only tell pages apart: the body says these."""
    templates = [text for text in (spec.address, spec.first_address) if text]
    by_body = {name for text in templates for name, value in parse_qsl(urlsplit(text).query) if "{" in value}
    where = urlsplit(address)
    kept = [part for part in where.query.split("&") if part and part.partition("=")[0] not in by_body]
    return where._replace(query="&".join(kept)).geturl()


def _filled(value: JsonValue, request: Request) -> JsonValue:
    if isinstance(value, dict):
        return {name: _filled(inner, request) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, request) for inner in value]
    return _filled_text(value, request) if isinstance(value, str) else value


def _filled_text(text: str, request: Request) -> str | int:
    whole = _PLACEHOLDER.fullmatch(text)
    if whole:
        return _value(whole, request)
    return _PLACEHOLDER.sub(lambda match: str(_value(match, request)), text)


def _value(match: re.Match[str], request: Request) -> str | int:
    if match[2]:
        return (request.page - 1) * int(match[2])
    if match[1] == "page":
        return request.page
    return request.key if match[1] == key_name(request.stage) else match[0]


def prepare_function(site: Site) -> Callable[[Request, HttpRequest], HttpRequest] | None:
    """Return the site's own function that changes a request, checked, or None."""
    call = _own_function(site, "prepare_request", site.prepare_request, ("request", "http", "site"))
    if call is None:
        return None

    def prepare(request: Request, http: HttpRequest) -> HttpRequest:
        given = call(request, http)
        try:
            return _checked(given)
        except (ValueError, TypeError) as error:
            raise Crashed(f"{site.name}: prepare_request: {site.prepare_request} {error}") from None

    return prepare


def response_function(site: Site) -> Callable[[Request, Fetched], Fetched] | None:
    """Return the site's own function that sees an answer first, checked, or None."""
    call = _own_function(site, "on_response", site.on_response, ("request", "page", "site"))
    if call is None:
        return None

    def see(request: Request, page: Fetched) -> Fetched:
        given = call(request, page)
        if not isinstance(given, Fetched) or not isinstance(given.body, bytes):
            raise Crashed(f"{site.name}: on_response: {site.on_response} returned no page; return `page`")
        # The final address is the guard's matter: links of the page count from there.
        return given._replace(url=page.url, is_behind_login=page.is_behind_login)

    return see


def reader_of(site: Site) -> ReadFrom | None:
    """Return the reader of a site's pages from elsewhere than the network: a dump, or the site's own function."""
    where = site.read_from
    if where is None:
        return None
    if "://" in where:
        files = DumpFiles(where)
        return lambda request, clock, most_bytes: files.read(request.address, clock, most_bytes)
    call = _own_function(site, "read_from", where, ("request", "site"))

    def read(request: Request, clock: Clock, most_bytes: int) -> bytes:
        body = call(request) if call else None
        if body is None:
            raise BadStatus(f"{request.address} is not there, says {where}")
        if not isinstance(body, bytes):
            raise Crashed(f"{site.name}: read_from: {where} returned {type(body).__name__}; return bytes, or None")
        if len(body) > most_bytes:
            raise TooLarge(f"{request.address} has more than {most_bytes} bytes")
        return body

    return read


def _own_function(site: Site, key: str, name: str | None, offered: tuple[str, ...]) -> Callable[..., object] | None:
    """Return a function of the site, which is called with the values of all `offered` parameters but `site`."""
    if name is None:
        return None
    function, wanted = find_function(name, f"{site.name}: {key}", offered)

    def call(request: Request, *more: object) -> object:
        offers = dict(zip(offered, (request, *more, site), strict=True))
        try:
            return function(**{parameter: offers[parameter] for parameter in wanted})
        except PageError:
            raise
        except Exception as error:
            # Foreign code may raise anything. The page is parked, the worker goes on.
            what = failure_text(error, function)
            raise Crashed(f"{site.name}: {key}: {name}: {what}; {request.address}") from error

    return call


def _checked(given: object) -> HttpRequest:
    if not isinstance(given, HttpRequest) or not isinstance(given.url, str):
        raise TypeError("returned no request; return `http` or http._replace(...)")
    headers = dict(given.headers)
    if not all(isinstance(text, str) for pair in headers.items() for text in pair):
        raise TypeError("gives headers that are no texts")
    check_headers(headers)
    if given.body is not None and (not isinstance(given.body, bytes) or len(given.body) > MOST_BODY_BYTES):
        raise TypeError(f"gives a body that is not bytes, at most {MOST_BODY_BYTES} of them")
    return given._replace(headers=headers)
