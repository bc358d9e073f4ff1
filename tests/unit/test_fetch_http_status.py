"""What a status and its headers mean."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_tasks.errors import (
    AccessDenied,
    BadRedirect,
    BadStatus,
    FetchError,
    Gone,
    RefusedAddress,
    ServerError,
    SlowDown,
)
from crawl_tasks.fetch.http_status import age_s, failure, moment, next_hop, retry_after_s

URL = "https://forum.example/list/1"
NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT
MEANING = {
    None: (200, 201, 202, 203, 204, 205, 226),
    Gone: (404, 410),
    AccessDenied: (401, 403, 407, 451),
    SlowDown: (420, 429, 503, 509, 529),
    ServerError: (408, 425, 500, 501, 502, 504, 520, 599),
    BadStatus: (0, 100, 101, 206, 300, 304, 305, 400, 402, 405, 406, 409, 412, 413, 414, 416, 418, 421, 600, 999),
}


@pytest.mark.parametrize(("kind", "status"), [(kind, status) for kind, group in MEANING.items() for status in group])
def test_status_means(kind, status):
    error = failure(URL, status, {}, NOW)

    assert (None if error is None else type(error)) is kind
    assert error is None or (URL in str(error) and str(status) in str(error))


@pytest.mark.parametrize(
    ("header", "kind"), [("NTLM", " (NTLM)"), ('Basic realm="a", Negotiate', " (Basic, Negotiate)"), ("Own x", "")]
)
def test_a_login_by_header_is_named_by_its_kind(header, kind):
    error = failure(URL, 401, {"www-authenticate": header}, NOW)

    assert f"it wants a login{kind}, or" in str(error)


def test_503_with_retry_after_asks_for_patience():
    error = failure(URL, 503, {"retry-after": "120"}, NOW)

    assert isinstance(error, SlowDown)
    assert error.retry_after_s == 120.0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": " 30 "}, 30.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1.5"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "９"}, None),
        ({"retry-after": "999999"}, 86_400.0),
        ({"retry-after": "9" * 5_000}, 86_400.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:01:00 GMT"}, 60.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 15 Jan 2038 08:00:00 GMT"}, 86_400.0),
        ({"retry-after": "Fri, 15 Jan 2010 00:01:30 GMT", "date": "Fri, 15 Jan 2010 00:01:00 GMT"}, 30.0),
        ({"retry-after": "Fri, 99 Jan 2010 00:01:30 GMT"}, None),
    ],
)
def test_retry_after_in_both_forms_by_the_servers_own_clock(headers, expected):
    assert retry_after_s(headers, NOW) == expected


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        (None, NOW),
        ("Fri, 15 Jan 2027 07:59:00 GMT", NOW - 60),
        ("Fri, 15 Jan 2027 15:59:00 +0800", NOW - 60),
        ("Friday, 15-Jan-27 07:59:00 GMT", NOW - 60),
        ("Fri Jan 15 07:59:00 2027", NOW - 60),
        ("Fri, 15 Jan 2027 07:55:00 GMT", NOW - 300),
        ("Fri, 15 Jan 2027 08:05:00 GMT", NOW + 300),
        ("Fri, 15 Jan 2027 07:54:59 GMT", NOW),
        ("Fri, 15 Jan 2027 08:05:01 GMT", NOW),
        ("Thu, 21 Nov 2019 09:00:00 GMT", NOW),
        ("Fri, 15 Jan 99999 07:59:00 GMT", NOW),
        ("yesterday", NOW),
        ("", NOW),
    ],
)
def test_moment_is_the_servers_where_its_clock_is_within_five_minutes_of_ours(date, expected):
    assert moment({} if date is None else {"date": date}, NOW) == expected


@pytest.mark.parametrize(
    ("date", "age", "made_s", "cached_s"),
    [
        ("Fri, 15 Jan 2027 07:00:00 GMT", "3600", NOW - 3600, 3600.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", " 3300 ", NOW - 3600, 3300.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", "3900", NOW - 3600, 3900.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", "3901", NOW, 0.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", "3299", NOW, 0.0),
        ("Wed, 14 Jan 2026 07:00:00 GMT", "60", NOW, 60.0),
        ("", "300", NOW, 300.0),
        ("", "301", NOW, 0.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", "", NOW, 0.0),
        ("Thu, 15 Jan 2026 08:00:00 GMT", "31536000", NOW - 31_536_000, 0.0),
        ("Fri, 15 Jan 2027 07:59:00 GMT", "60", NOW - 60, 60.0),
        ("Fri, 15 Jan 2027 07:59:00 GMT", "0", NOW - 60, 0.0),
        ("Fri, 15 Jan 2027 07:59:00 GMT", "-60", NOW - 60, 0.0),
        ("Fri, 15 Jan 2027 07:59:00 GMT", "1.5", NOW - 60, 0.0),
        ("Fri, 15 Jan 2027 07:59:00 GMT", "60, 60", NOW - 60, 0.0),
        ("Fri, 15 Jan 2027 07:59:00 GMT", "６０", NOW - 60, 0.0),
        ("Fri, 15 Jan 2027 07:59:00 GMT", "nan", NOW - 60, 0.0),
        ("Fri, 15 Jan 2027 07:59:00 GMT", "9" * 5_000, NOW, 0.0),
        ("yesterday", "3600", NOW, 0.0),
        ("", "3600", NOW, 0.0),
    ],
)
def test_page_out_of_a_cache_is_as_old_as_its_date_and_age_agree(date, age, made_s, cached_s):
    headers = {"date": date, "age": age}

    assert (moment(headers, NOW), age_s(headers, NOW)) == (made_s, cached_s)


@pytest.mark.parametrize("status", [200, 201, 300, 304, 305, 306, 404, 500])
def test_other_statuses_lead_nowhere(status):
    assert next_hop(URL, status, {"location": "/x"}) is None


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/x", "https://forum.example/x"),
        ("../y?a=b#c", "https://forum.example/y?a=b"),
        ("//www.forum.example/x", "https://www.forum.example/x"),
        ("https://forum.example:443/x y", "https://forum.example/x%20y"),
        ("/ä".encode().decode("latin-1"), "https://forum.example/%C3%A4"),
        ("/\xe4", "https://forum.example/%C3%A4"),
    ],
)
def test_redirect_leads_to_a_normalised_address(status, location, expected):
    assert next_hop(URL, status, {"location": location}) == expected


def test_downgrade_is_followed_only_where_it_may_be():
    headers = {"location": "http://forum.example/robots.txt"}

    with pytest.raises(BadRedirect, match="from https to http"):
        next_hop(URL, 301, headers)

    assert next_hop(URL, 301, headers, downgrade=True) == "http://forum.example/robots.txt"


def test_upgrade_is_followed():
    assert next_hop("http://forum.example/", 301, {"location": URL}) == URL


def test_same_scheme_in_plain_is_followed():
    assert next_hop("http://forum.example/", 301, {"location": "/x"}) == "http://forum.example/x"


@pytest.mark.parametrize("location", [None, "", "  "])
def test_redirect_without_location_is_bad(location):
    with pytest.raises(BadRedirect):
        next_hop(URL, 302, {} if location is None else {"location": location})


def test_redirect_to_what_is_no_address_is_refused():
    with pytest.raises(RefusedAddress):
        next_hop(URL, 302, {"location": "ftp://forum.example/"})


@given(
    st.integers(0, 9999),
    st.dictionaries(st.sampled_from(["retry-after", "date", "age", "location"]), st.text(max_size=50)),
)
def test_no_answer_is_beyond_us(status, headers):
    failure(URL, status, headers, NOW)
    wait = retry_after_s(headers, NOW)
    with contextlib.suppress(FetchError):
        next_hop(URL, status, headers)

    assert wait is None or 0 <= wait <= 86_400
    assert abs(moment(headers, NOW) + age_s(headers, NOW) - NOW) <= 300
