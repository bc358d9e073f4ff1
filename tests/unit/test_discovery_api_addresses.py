"""Addresses that scripts name, however they put them together."""

from __future__ import annotations

import pytest

from crawl_tasks.discovery.probe.api_addresses import addresses_in


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("fetch('/api/boards')", ["/api/boards"]),
        ("get('/api/boards/' + id)", ["/api/boards/*"]),
        ("get('/api/boards/' + one.id + '/threads?page=' + at)", ["/api/boards/*/threads?page=*"]),
        ("get(`/api/t/${one.id}?limit=${size}`)", ["/api/t/*?limit=*"]),
        ("const api = '/v1'; get(api + '/boards'); get(`${api}/t/${id}`)", ["/v1", "/v1/boards", "/v1/t/*"]),
        ("routes = [['/board/:id', Board], ['/t/[id]', T], ['/p/{id}', P]]", ["/board/*", "/t/*", "/p/*"]),
        ("load('/app.js'); post('/api/login'); go('//cdn.example/x'); say('a / b')", []),
        ("const it = \"it's\"; get('/api/a')", ["/api/a"]),
    ],
)
def test_the_addresses_in_a_script_are_found(script: str, found: list[str]) -> None:
    assert addresses_in([script]) == found
