"""Terms, state, guard modes and orders of a site: what Python writes is what each script reads, on a real server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

import pytest
import redis

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.envelope import hint_templates
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_functions import Verb, lua_text, prelude, read_lua
from crawl_tasks.frontier.wire.site_terms import SITE_STATE, SITE_TERMS, TERM_NAMES, FieldType, StateField, TermsField
from crawl_tasks.model import Stage
from crawl_tasks.registry.site_publisher import terms_of
from crawl_tasks.sites.crawl_policy import GuardMode, Order
from crawl_tasks.sites.loader import parse_site
from tests.frontier.by_hand import post, posts, released
from tests.frontier.small_crawl import RULES

PROBE = """
redis.register_function('probe', function(keys, args)
  P, CALL = keys[1], {counts = {}, wakes = {}}
  local site = load_site(args[1])
  local state = WIRE.state_of(redis.call('HMGET', site.key, unpack(WIRE.state_names)))
  return cjson.encode({terms = site.terms, state = state})
end)
"""


@pytest.fixture
def seen(frontier: Frontier, client: redis.Redis) -> Callable[[str], dict[str, dict[str, object]]]:
    """Return the terms and the state of a site as a script has them."""
    client.function_load(f"#!lua name=probe\n{lua_text(hint_templates())}\n{PROBE}", replace=True)

    def look(site: str) -> dict[str, dict[str, object]]:
        return dict(json.loads(str(client.fcall("probe", 1, "test", site), "utf-8")))

    return look


def by_stage(text: str) -> dict[str, str]:
    return dict(zip(Stage, text.split(), strict=True))


def read(term: TermsField, value: str | int) -> object:
    return by_stage(str(value)) if term.type is FieldType.STAGES else value


def written(place: int, term: TermsField) -> str | int:
    """Return a value that no other term has."""
    return place + 2 if term.type is FieldType.NUMBER else f"a{place} b{place} c{place}"


def test_a_script_reads_each_term_as_it_was_published(
    frontier: Frontier, seen: Callable[[str], Mapping[str, Mapping[str, object]]]
) -> None:
    for first in (0, 100):  # of the second publication nothing remains
        values = {term.name: written(first + place, term) for place, term in enumerate(SITE_TERMS)}

        frontier.sites.publish("one", "v1", "{}", values, [])

        assert seen("one")["terms"] == {term.name: read(term, values[term.name]) for term in SITE_TERMS}


def test_a_term_that_no_publication_names_has_its_default(
    frontier: Frontier, client: redis.Redis, seen: Callable[[str], Mapping[str, Mapping[str, object]]]
) -> None:
    frontier.sites.publish("one", "v1", "{}", {}, [])

    assert seen("one")["terms"] == {term.name: read(term, term.default) for term in SITE_TERMS}


def test_a_site_file_gives_each_term_and_no_other() -> None:
    assert set(terms_of(parse_site(RULES, "demo.yaml"))) | {"old_addresses", "old_rules"} == TERM_NAMES


def test_a_term_that_no_script_knows_is_refused(frontier: Frontier) -> None:
    with pytest.raises(ValueError, match="no terms of a site: windows;"):
        frontier.sites.publish("one", "v1", "{}", {"windows": 1}, [])


STATE_VALUES = {
    FieldType.FLAG: ("1", True, False),
    FieldType.NUMBER: ("17", 17, 0),
    FieldType.TEXT: ("some text", "some text", ""),
    FieldType.OPTIONAL: ("some text", "some text", False),
}


@pytest.mark.parametrize("field", SITE_STATE, ids=lambda field: field.name)
def test_a_script_reads_each_field_of_the_state_by_its_type(
    field: StateField, client: redis.Redis, seen: Callable[[str], Mapping[str, Mapping[str, object]]]
) -> None:
    text, value, missing = STATE_VALUES[field.type]
    client.hset("test:s:one", mapping={"version": "v1", field.fields()[-1]: text})

    found = seen("one")["state"][field.name]

    stages = {stage.value: value if stage is Stage.COMMENT else missing for stage in Stage}
    assert found == (stages if field.is_by_stage else value)


def test_no_script_names_a_term_that_is_none_or_writes_to_one() -> None:
    code = "\n".join(line.split("--")[0] for file in [*prelude(), *Verb] for line in read_lua(file).splitlines())

    assert set(re.findall(r"\bsite\.terms\.(\w+)", code)) <= {term.name for term in SITE_TERMS}
    assert re.findall(r"\bsite\.terms[.\[][\w.\]]* = ", code) == []
    assert set(re.findall(r"\bstate\.(\w+)", code)) <= {field.name for field in SITE_STATE}


MODES = {GuardMode: r"(?:mode|guard|guard\.post|guard\[stage\]) [=~]= '(\w+)'", Order: r"order\[stage\] [=~]= '(\w+)'"}


@pytest.mark.parametrize("kind", MODES, ids=lambda kind: kind.__name__)
def test_a_script_names_only_modes_and_orders_that_a_site_file_may_give(kind: type[GuardMode | Order]) -> None:
    named = {mode for file in [*prelude(), *Verb] for mode in re.findall(MODES[kind], read_lua(file))}

    assert named
    assert named <= set(kind)


AGAIN = {
    GuardMode.EXACT: (0, 0, 1),
    GuardMode.ROLLING: (0, 1, 1),
    GuardMode.BLOOM: (0, 0, 1),
    GuardMode.DATABASE: (1, 1, 0),
    GuardMode.OFF: (1, 1, 1),
}
"""How many requests a guard admits: one of before, one of two windows before, and one that the database has."""


@pytest.mark.parametrize("mode", GuardMode)
def test_each_guard_mode_remembers_as_its_name_says(
    mode: GuardMode, frontier: Frontier, publish: Callable[..., None]
) -> None:
    publish(guard=f"rolling {mode} {mode}", rolling_ms=3_600_000)
    frontier.admit("demo", [post(1)])

    at_once = frontier.admit("demo", [post(1)]).new
    publish(guard=f"rolling {mode} {mode}", rolling_ms=1_800_000)  # other windows
    later = frontier.admit("demo", [post(1)]).new
    stored = frontier.admit("demo", [post(2)._replace(is_stored=True)]).new

    assert (at_once, later, stored) == AGAIN[mode]


def test_a_mode_that_no_script_knows_admits_nothing(frontier: Frontier, publish: Callable[..., None]) -> None:
    publish(guard="rolling recent recent")

    with pytest.raises(BackendError, match="no guard of mode recent"):
        frontier.admit("demo", [post(1)])


FIRST = {Order.FIFO: 1, Order.LIFO: 3}


@pytest.mark.parametrize("order", Order)
def test_each_order_releases_as_its_name_says(
    order: Order, frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(order=f"fifo {order} fifo", window=1)

    frontier.admit("demo", posts(3))

    assert released(client) == [FIRST[order]]
