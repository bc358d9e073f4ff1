"""Entries, held entries and lines: Python and Lua write and read the same fields, on a real server."""

from __future__ import annotations

import json
import re
from itertools import combinations

import pytest
import redis

from crawl_tasks.frontier.entry import line_of, read_entry
from crawl_tasks.frontier.redis_functions import Verb, library_tables, prelude, read_lua
from crawl_tasks.frontier.wire.entry_format import FLAG_MEANINGS, TEXTS, Flag, pattern, patterns_in
from crawl_tasks.model import Reach, Request, Stage

VALUES = {
    "rid": "41", "token": "1796017731546", "word": "7.8.9/10", "flag": "!", "stage": "comment", "priority": "7",
    "attempt": "3", "address": "https://forum.example/a?b=1", "payload": '["k e y",2,"r"]',
}  # fmt: skip
ENDS = {"work": "stage priority attempt address payload", "request": "address payload"}
CODE = "\n".join(line.split("--")[0] for file in [*prelude(), *Verb] for line in read_lua(file).splitlines())
LOCALS = {"level": "priority", "holder": "token", "number": "rid"}


def sample(text: str) -> str:
    return " ".join(VALUES[field.name] for field in TEXTS[text])


@pytest.mark.parametrize("text", TEXTS)
def test_lua_reads_each_choice_of_fields_as_python_splits_them(text: str, client: redis.Redis) -> None:
    names = [field.name for field in TEXTS[text]]
    choices = [choice for count in range(1, len(names) + 1) for choice in combinations(names, count)]

    script = "local r = {} for i = 2, #ARGV do r[i - 1] = {string.match(ARGV[1], ARGV[i])} end return cjson.encode(r)"
    read = json.loads(client.eval(script, 0, sample(text), *[pattern(text, "_".join(choice)) for choice in choices]))

    parts = dict(zip(names, sample(text).split(" ", len(names) - 1), strict=True))
    assert read == [[parts[name] for name in choice] for choice in choices]


@pytest.mark.parametrize(
    ("text", "names"), [(text, names) for text, used in patterns_in([CODE]).items() for names in used]
)
def test_each_pattern_that_a_script_names_captures_the_fields_of_its_name(
    text: str, names: str, client: redis.Redis
) -> None:
    read = json.loads(
        client.eval("return cjson.encode({string.match(ARGV[1], ARGV[2])})", 0, sample(text), pattern(text, names))
    )

    wanted = [" ".join(VALUES[part] for part in ENDS.get(name, name).split()) for name in names.split("_")]
    assert read == wanted


def test_a_script_gives_captures_to_locals_of_the_same_names() -> None:
    matches = re.findall(r"local ([\w, ]+) = string\.match\([^\n]*WIRE\.\w+\.(\w+)", CODE)

    assert matches
    for names, fields in matches:
        assert [LOCALS.get(name, name) for name in names.split(", ")] == fields.split("_")


def test_no_script_reads_a_stage_and_a_priority_by_a_pattern_of_its_own() -> None:
    assert re.findall(r"'[^'\n]*%a\+\)? \(?%d\)?[ '][^\n]*", CODE) == []


def test_a_name_of_no_field_is_refused() -> None:
    with pytest.raises(KeyError, match="entry has no field level"):
        patterns_in(["string.match(entry, WIRE.entry.stage_level)"])


def test_what_lua_writes_is_what_python_reads(client: redis.Redis) -> None:
    script = f"{library_tables()}\nreturn WIRE.write_entry(5, 'post', 7, 2, ARGV[1])"

    entry = client.eval(script, 0, 'http://127.0.0.1/1 ["1",3,"r",[4]]')

    request = Request("demo", Stage.POST, "1", "http://127.0.0.1/1", 3, "r", 7, reach=Reach(4))
    assert read_entry("demo", entry) == (5, 2, request)


LINES = {
    Flag.NEW: {},
    Flag.WALK: {"only_if_new": True},
    Flag.FULL: {"reach": Reach(whole="full1")},
    Flag.ECHO: {"only_if_named": True},
    Flag.HIDDEN: {"is_hidden": True},
    Flag.STORED: {"is_stored": True},
    Flag.STORED_OTHERWISE: {"is_stored_otherwise": True},
    Flag.AGAIN: {"is_again": True},
    Flag.PING: {"is_ping": True},
}


@pytest.mark.parametrize("flag", LINES, ids=lambda flag: flag.name)
def test_a_line_has_its_fields_in_order_and_the_flag_of_its_request(flag: Flag) -> None:
    request = Request("demo", Stage.LIST, "k 1", "http://127.0.0.1/1", 3, "r", 7)._replace(**LINES[flag])

    line = line_of(request)

    fields = dict(zip((field.name for field in TEXTS["line"]), line.split(" ", 5), strict=True))
    assert (fields["flag"], fields["stage"], fields["priority"], fields["address"]) == (
        flag,
        "list",
        "7",
        request.address,
    )
    assert json.loads(fields["payload"])[:3] == ["k 1", 3, "r"]


def test_a_script_names_every_flag_and_no_other() -> None:
    named = set(re.findall(r"flag\)? [=~]= '(\W)'", CODE)) | set(re.findall(r"'(\W)', now\)", CODE))

    assert named <= set(Flag)
    assert set(Flag) - named <= {Flag.KNOWN, Flag.NEW}  # what is left
    assert FLAG_MEANINGS.keys() == set(Flag)
