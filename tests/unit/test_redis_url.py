"""The address of a Redis: one check for all processes, which shows no password and says what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl_tasks.errors import SettingsError
from crawl_tasks.redis_url import mistake_in
from crawl_tasks.settings import load_settings

GOOD = [
    "redis://127.0.0.1:6379/0",
    "redis://localhost",
    "redis://localhost/",
    "redis://:6379/3",
    "redis://:secret%231@host:6379/0",
    "redis://crawl:se%2Fcret@host.example:6379/15",
    "redis://:a:b!$&'()*+,;=~.-_@host:1/0",
    "redis://[::1]:6379/0",
    "redis://[::1]",
    "sentinel://:word@a:26379/0;sentinel://b:26379",
    "sentinel://a;sentinel://b/2",
]
BAD = [
    ("redis://:secret#1@host:6379/0", "%23"),
    ("redis://:se/cret@host:6379/0", "%2F"),
    ("redis://:se?cret@host:6379/0", "%3F"),
    ("redis://:se@cret@host:6379/0", "%40"),
    ("redis://:se[cret@host:6379/0", "%5B"),
    ("redis://:secret]@host:6379/0", "%5D"),
    ("redis://:sec#re/t@host:6379/0", "%23 and %2F"),
    ("redis://:secret cret@host:6379/0", "%20"),
    ("redis://host#secret", "%23"),
    ("redis://:secret@host:6379/0?db=4", "redis://HOST:PORT/4"),
    ("redis://:secret@host:6379/0?socket_timeout=3", "socket_timeout is no option of a redis:// address"),
    ("redis://:secret@host:6379?protocol=3&client_name=x", "client_name, protocol"),
    ("sentinel://:secret@host:26379/0?socket_timeout=3", "socket_timeout is no option of a sentinel:// address"),
    ("rediss://:secret@host:6379/0", "ssl_ca_certs=FILE"),
    ("rediss://:secret@host:6379/0?ssl_ca_certs=/nowhere/ca.pem", "ssl_ca_certs: there is no file /nowhere/ca.pem"),
    ("rediss://:secret@host:6379/0?ssl_ca_certs=/nowhere/ca.pem&ssl_version=3", "ssl_version is no option"),
    ("redis://:secret@host:70000/0", "is none of the form"),
    ("redis://:secret@host:0/0", "is none of the form"),
    ("redis://:secret@host:port/0", "is none of the form"),
    ("redis://:secret@host:6379/first", "is none of the form"),
    ("redis://:secret@a:1/0;redis://b:1/0", "is none of the form"),
    ("sentinel://:secret@a:1/0;redis://b:1/x", "is none of the form"),
    ("unix:///run/secret/redis.sock?db=0", "redis://127.0.0.1:PORT/NUMBER"),
    ("redis:/secret@host:6379/0", "begins with none of"),
    ("secret:6379", "begins with none of"),
    ("amqp://secret@host//", "begins with none of"),
]


@pytest.mark.parametrize("url", GOOD)
def test_a_right_address_is_taken(url: str) -> None:
    assert mistake_in(url) == ""
    assert [cell.url for cell in load_settings({"CRAWL_REDIS_URL": url}).cells] == [url]


@pytest.mark.parametrize(("url", "remedy"), BAD)
def test_a_wrong_address_is_refused_with_its_remedy_and_without_its_password(url: str, remedy: str) -> None:
    with pytest.raises(SettingsError, match="CRAWL_REDIS_URL") as caught:
        load_settings({"CRAWL_REDIS_URL": url})

    assert remedy in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "cret@" not in str(caught.value)


def test_tls_takes_files_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("")

    assert mistake_in(f"rediss://:word@host:6379/0?ssl_ca_certs={tmp_path}/ca.pem&ssl_cert_reqs=required") == ""
