"""Functions of a site that change requests and see answers, well and badly."""

from __future__ import annotations

import threading

from crawl_tasks.api import Fetched, Gone, HttpRequest, Request

goes_on = threading.Event()


def token_in_address(http: HttpRequest) -> HttpRequest:
    return http._replace(url=f"{http.url}?token=planted-in-address")


def to_elsewhere(http: HttpRequest) -> HttpRequest:
    return http._replace(url="http://10.0.0.1/")


def to_a_file(http: HttpRequest) -> HttpRequest:
    return http._replace(url="file:///etc/passwd")


def to_a_closed_path(http: HttpRequest) -> HttpRequest:
    return http._replace(url=http.url.replace("/open", "/closed"))


def raises(http: HttpRequest, request: Request) -> HttpRequest:
    raise KeyError(request.key)


def hangs(http: HttpRequest) -> HttpRequest:
    goes_on.wait()
    return http


def returns_nothing(http: HttpRequest) -> None:
    return None


def second_length(http: HttpRequest) -> HttpRequest:
    return http._replace(headers={"Content-Length": "3"})


def split_header(http: HttpRequest) -> HttpRequest:
    return http._replace(headers={"X-A": "1\r\nHost: elsewhere"})


def large_body(http: HttpRequest) -> HttpRequest:
    return http._replace(body=b"a" * (1 << 20))


def closed_board_is_gone(page: Fetched, request: Request) -> Fetched:
    if page.status == 403 and b"closed" in page.body:
        raise Gone(f"{request.address} is closed")
    return page


def unpacked(page: Fetched) -> Fetched:
    return page._replace(status=200, body=page.body.removeprefix(b")]}'"), url="http://10.0.0.1/")


def no_page(page: Fetched) -> bytes:
    return page.body
