"""A published site gets what the process grants by its settings or its own site files, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.grants import Grants
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.site_json import dump_site

RULES = """\
name: forum
base: https://forum.example
boards: [1]
list:
  address: /b{board}
  record: li
  fields: {post_id: a, reply_count: i}
  revision: [reply_count]
post:
  address: /{post}
  fields: {title: h1}
"""
LOGIN = "login: {form: /login, secrets: {pass: FORUM_PASSWORD}, success: .me}\n"

# Each key of a site file that leads beyond the public web, and the grant that it needs.
KEYS = [
    ("read_from: file:///srv/dump/forum\n", {"dump_roots": "/srv/dump"}),
    ("read_from: s3://bucket/forum\n", {"dump_roots": "s3://bucket"}),
    ("read_from: pack.reader:page\n", {"function_modules": "pack"}),
    ("prepare_request: pack.sign:sign\n", {"function_modules": "pack.sign"}),
    ("on_response: pack.sign:look\n", {"function_modules": "pack.sign"}),
    ("priority_of: pack:order\n", {"function_modules": "pack"}),
    ("start_request: pack:read\n", {"function_modules": "pack"}),
    ("hooks: {item_stored: 'pack:stored'}\n", {"function_modules": "pack"}),
    ("hooks: {site_finished: 'pack:ended'}\n", {"function_modules": "pack"}),
    ("items: ['pack:step']\n", {"function_modules": "pack"}),
    ("items: [{function: 'pack:step', of: post}]\n", {"function_modules": "pack"}),
    ("login: {function: 'pack:log_in', success: .me}\n", {"function_modules": "pack"}),
    ("secret_headers: {X-Key: FORUM_KEY}\n", {"forum_secrets": "FORUM_KEY=https://forum.example"}),
    (LOGIN, {"forum_secrets": "FORUM_PASSWORD=https://forum.example"}),
    ("login: {bearer: FORUM_TOKEN, success: .me}\n", {"forum_secrets": "FORUM_TOKEN=https://forum.example"}),
    ("login: {cookie_file: FORUM_FILE, success: .me}\n", {"forum_secrets": "FORUM_FILE=https://forum.example"}),
    ("proxy: FORUM_PROXY\n", {"forum_secrets": "FORUM_PROXY=https://forum.example"}),
    ("proxy: socks5://10.0.0.1:1080\n", {"private_hosts": "10.0.0.1:1080"}),
    ("proxy: direct\n", {"private_hosts": "direct"}),
    ('private_hosts: ["10.0.0.1:8080"]\n', {"private_hosts": "10.0.0.1"}),
    ('private_hosts: ["[::1]:8080"]\n', {"private_hosts": "[::1]:8080"}),
]


def grants(directory: Path = Path("/nowhere"), **given: str) -> Grants:
    return Grants(directory, **{name: frozenset(value.split()) for name, value in given.items()})


def published(more: str = "", rules: str = RULES) -> str:
    return dump_site(parse_site(rules + more, "forum.yaml"))


@pytest.mark.parametrize(("key", "given"), KEYS)
def test_what_a_published_site_asks_for_needs_a_grant_of_this_process(key: str, given: dict[str, str]) -> None:
    text = published(key)

    with pytest.raises(SiteError, match=f"CRAWL_{next(iter(given)).upper()}="):
        grants().read(text)
    assert grants(**given).read(text).name == "forum"


def test_a_parser_of_a_stage_needs_a_grant() -> None:
    text = published(rules=RULES.replace("  fields: {title: h1}\n", "  parser: pack:read\n"))

    with pytest.raises(SiteError, match=r"post\.parser: pack:read is in Redis"):
        grants().read(text)


def test_every_key_of_a_site_that_names_a_function_or_a_secret_is_asked_for() -> None:
    """A new key with a function must stand in KEYS: its name in the schema is one of these."""
    text = (Path(__file__).parents[2] / "docs" / "site-keys.md").read_text("utf-8")
    named = {
        line.split("`")[1]
        for line in text.splitlines()
        if line.startswith("- `") and ("package.module:function" in line or "FORUM_" in line)
    }

    tried = {word for key, _ in KEYS for word in key.replace("{", " ").replace(":", " ").split()}
    events = {"page_failed", "item_dropped", "request_filtered", "site_idle"}  # read from the model, all alike
    assert named <= tried | events | {"parser"}


@pytest.mark.parametrize(
    ("place", "roots"),
    [
        ("file:///srv/dump/../../etc", "/srv/dump"),
        ("file:///srv/dump/%2e%2e/%2e%2e/etc", "/srv/dump"),
        ("file:///srv/dumps", "/srv/dump"),
        ("file:///proc/self", "/srv/dump s3://bucket"),
        ("s3://bucket/../other", "s3://bucket"),
        ("s3://bucket2", "s3://bucket"),
        ("ftp://bucket/forum", "s3://bucket"),
        ("file:///etc", "s3://bucket"),
    ],
)
def test_a_dump_outside_of_the_roots_is_refused(place: str, roots: str) -> None:
    with pytest.raises(SiteError, match="read_from"):
        grants(dump_roots=roots).read(published(f"read_from: {place}\n"))


def test_a_link_in_a_root_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "out").symlink_to("/etc")

    with pytest.raises(SiteError, match="read_from"):
        grants(dump_roots=str(tmp_path / "dump")).read(published(f"read_from: file://{tmp_path}/dump/out\n"))


@pytest.mark.parametrize("module", ["package", "pack2.sign", "os"])
def test_a_module_of_a_like_name_is_refused(module: str) -> None:
    with pytest.raises(SiteError, match="on_response"):
        grants(function_modules="pack").read(published(f"on_response: {module}:look\n"))


def test_a_secret_goes_to_its_origin_only() -> None:
    given = grants(forum_secrets="FORUM_KEY=https://forum.example")

    for base in ("http://forum.example", "https://forum.example:8443", "https://evil.example"):
        rules = RULES.replace("https://forum.example", base)
        with pytest.raises(SiteError, match="secret_headers"):
            given.read(published("secret_headers: {X-Key: FORUM_KEY}\n", rules))


@pytest.mark.parametrize("file_name", ["forum.yaml", "of_another_name.yml"])
@pytest.mark.parametrize("key", [key for key, _ in KEYS])
def test_a_process_with_the_file_of_a_site_needs_no_setting(tmp_path: Path, key: str, file_name: str) -> None:
    (tmp_path / file_name).write_text(RULES + key, "utf-8")

    assert grants(tmp_path).read(published(key)).name == "forum"


def test_a_file_grants_to_its_own_site_what_it_names_and_no_more(tmp_path: Path) -> None:
    own = "read_from: file:///srv/dump\nsecret_headers: {X-Key: FORUM_KEY}\n"
    (tmp_path / "forum.yaml").write_text(RULES + own, "utf-8")
    given = grants(tmp_path)

    for more, rules in (
        ("read_from: file:///proc/self\n", RULES),
        ("secret_headers: {X-Key: FORUM_OTHER}\n", RULES),
        (own, RULES.replace("name: forum", "name: evil")),
        ("secret_headers: {X-Key: FORUM_KEY}\n", RULES.replace("forum.example", "evil.example")),
    ):
        with pytest.raises(SiteError, match="is in Redis, which alone opens nothing here"):
            given.read(published(more, rules))


def test_a_file_with_a_mistake_grants_nothing(tmp_path: Path) -> None:
    (tmp_path / "forum.yaml").write_text(f"{RULES}read_from: file:///srv/dump\nnonsense: 5\n", "utf-8")

    with pytest.raises(SiteError, match="CRAWL_DUMP_ROOTS=file:///srv/dump"):
        grants(tmp_path).read(published("read_from: file:///srv/dump\n"))
