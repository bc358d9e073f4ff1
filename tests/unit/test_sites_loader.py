"""What a site file may say, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl_tasks.errors import ConfigError, SiteError
from crawl_tasks.model import Stage
from crawl_tasks.registry.site_registry import compile_site, secret_headers
from crawl_tasks.sites.addresses import Addresses, Target
from crawl_tasks.sites.loader import MAX_FILE_BYTES, load_site, parse_site
from crawl_tasks.sites.schema import GuardMode, Order, Site
from crawl_tasks.sites.site_json import dump_site, read_site
from crawl_tasks.sites.stages import NO_LISTS
from crawl_tasks.sites.yaml_tree import read_yaml
from tests.unit.good_site import GOOD

DEMO = Path(__file__).parents[2] / "config" / "sites" / "demo.yaml"


def complaint(text: str) -> str:
    with pytest.raises(SiteError) as caught:
        parse_site(text, "f.yaml")
    return str(caught.value)


def test_a_good_file_becomes_a_site_with_defaults() -> None:
    site = parse_site(GOOD, "f.yaml")

    assert [board.id for board in site.boards] == ["1", "b2"]
    assert (site.order.list, site.order.comment) == (Order.LIFO, Order.LIFO)
    assert (site.guard.list, site.guard.post) == (GuardMode.ROLLING, GuardMode.EXACT)
    assert (site.gate.window, site.gate.delay_s, site.robots, site.timezone) == (2, 1.0, True, "UTC")
    assert site.allowed_hosts == {"forum.example"}


def test_addresses_lie_below_the_path_of_the_forum() -> None:
    text = GOOD.replace("forum.example", "example.org/a/forum/").replace(
        "{id: b2, priority: 7}", "{id: b2, address: /two}"
    )
    site = parse_site(text, "f.yaml")
    addresses = Addresses(site)

    assert site.base == "https://example.org/a/forum"
    assert addresses.of(Stage.POST, "7") == "https://example.org/a/forum/post/7"
    assert addresses.of(Stage.LIST, "b2") == "https://example.org/a/forum/two"
    assert addresses.read("https://example.org/a/forum/post/7") == Target(Stage.POST, "7", 1)
    assert addresses.read("https://example.org/post/7") is None
    assert site.allowed_hosts == {"example.org"}
    assert site.relocated("http://127.0.0.1:8000").base == "http://127.0.0.1:8000/a/forum"


def test_a_further_host_may_have_a_port_or_be_this_machine() -> None:
    site = parse_site(GOOD + "hosts: [localhost, 'localhost:8080', 'www.forum.example:8443']\n", "f.yaml")

    assert site.allowed_hosts == {"forum.example", "localhost", "www.forum.example"}


def test_the_demo_file_is_good() -> None:
    assert load_site(DEMO).name == "demo"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: forum", "name: celery", "f.yaml:1: name: is a reserved word"),
        ("name: forum", "name: ../etc", "f.yaml:1: name: String should match"),
        ("name: forum", "name: Forum", "f.yaml:1: name: String should match"),
        ("name: forum", f"name: {'a' * 33}", "f.yaml:1: name: String should match"),
        ("name: forum", "name: forum\nnaem: x", "f.yaml:2: naem: is not a key here; did you mean 'name'?"),
        ("window: 2", "windw: 2", "f.yaml:5: gate.windw: is not a key here; did you mean 'window'?"),
        ("window: 2", "weights: {pst: 1}", "f.yaml:5: gate.weights.pst: is not a key here; did you mean 'post'?"),
        ("name: forum", "freshness: {gaol_s: 1}\nname: forum", "f.yaml:1: freshness.gaol_s: is not a key here; did"),
        ("name: forum", "breaker: {percnt: 1}\nname: forum", "breaker.percnt: is not a key here; did you mean"),
        ("name: forum", "login: {sucess: a}\nname: forum", "login.sucess: is not a key here; did you mean 'success'?"),
        ("name: forum", "render: {scrol: 1}\nname: forum", "render.scrol: is not a key here; did you mean 'scroll'?"),
        ("window: 2", "window: 0", "f.yaml:5: gate.window: Input should be greater than or equal to 1"),
        ("window: 2", "window: 1000000000", "f.yaml:5: gate.window: Input should be less than or equal to 256"),
        ("window: 2", "window: true", "f.yaml:5: gate.window: Input should be a valid integer"),
        ("window: 2", "delay_s: -1", "f.yaml:5: gate.delay_s: Input should be greater than or equal to 0"),
        ("window: 2", "delay_s: .nan", "f.yaml:5: gate.delay_s: "),
        ("window: 2", "delay_s: .inf", "f.yaml:5: gate.delay_s: "),
        ("window: 2", "delay_s: 1s", "f.yaml:5: gate.delay_s: Input should be a valid number"),
        ("window: 2", "max_attempts: -1", "f.yaml:5: gate.max_attempts: "),
        ("window: 2", "max_backlog: 0", "f.yaml:5: gate.max_backlog: "),
        ("window: 2", "retry_base_s: 9, retry_max_s: 3", "f.yaml:5: gate: retry_base_s may not be above"),
        ("order: lifo", "interval: {min_s: 9, start_s: 3}", "f.yaml:4: interval: must keep min_s <= start_s"),
        ("order: lifo", "interval: {min_s: 2, max_s: 5}", "must keep min_s <= start_s (600) <= max_s"),
        ("order: lifo", "order: lofo", "f.yaml:4: order.list: Input should be 'fifo' or 'lifo'"),
        ("order: lifo", "priority: 12", "f.yaml:4: priority.list: "),
        ("order: lifo", "robots: no", "f.yaml:4: robots: Input should be a valid boolean"),
        ("order: lifo", "timezone: Mars/Olympus", "f.yaml:4: timezone: is no IANA time zone"),
        ("order: lifo", "timezone: ../../etc/passwd", "f.yaml:4: timezone: is no IANA time zone"),
        ("order: lifo", "encoding: klingon", "f.yaml:4: encoding: is no charset"),
        ("order: lifo", "languages: [Chinese]", "f.yaml:4: languages: is no language code"),
        ("order: lifo", "engine: phpbbb", "f.yaml:4: engine: is no preset: 'phpbbb'; known are "),
        ("order: lifo", "hosts: [com]", "f.yaml:4: hosts: is no host"),
        ("order: lifo", "hosts: ['www.forum.example:0']", "f.yaml:4: hosts: is no host"),
        ("order: lifo", "hosts: ['www.forum.example:']", "f.yaml:4: hosts: is no host"),
        ("order: lifo", "hosts: ['www.forum.example:99999']", "f.yaml:4: hosts: is no host"),
        ("order: lifo", "hosts: ['*']", "f.yaml:4: hosts: is no host"),
        ("order: lifo", "private_hosts: [127.0.0.1]", "f.yaml:4: private_hosts: is not host:port"),
        ("order: lifo", "private_hosts: ['127.0.0.1:99999']", "f.yaml:4: private_hosts: is not host:port"),
        ("order: lifo", "headers: {Host: x.example}", "f.yaml:4: headers: may not set Host"),
        ("order: lifo", "headers: {authorization: Basic x}", "f.yaml:4: headers: may not hold authorization"),
        ("order: lifo", "secret_headers: {Host: FORUM_X}", "f.yaml:4: secret_headers: may not set Host"),
        ("order: lifo", "secret_headers: {Cookie: HOME}", "f.yaml:4: secret_headers: Cookie must name a variable"),
        ("order: lifo", "headers: {X-A: \"a\\r\\nb\"}", "f.yaml:4: headers: X-A must be printable"),
        ("order: lifo", "user_agent: \"a\\nb\"", "f.yaml:4: user_agent: String should match"),
        ("order: lifo", "user_agent: ''", "f.yaml:4: user_agent: String should match"),
        ("order: lifo", "drop_params: ['a b']", "f.yaml:4: drop_params.0: String should match"),
        ("https://forum.example", "ftp://forum.example", "f.yaml:2: base: is no address"),
        ("https://forum.example", "https://u:p@forum.example", "f.yaml:2: base: is no address"),
        ("https://forum.example", "https://forum.example/?a=1", "f.yaml:2: base: is a page, not where it lies"),
        ("https://forum.example", "https://forum.example/a/b.php", "f.yaml:2: base: is a page, not where it lies"),
        ("https://forum.example", "forum.example", "f.yaml:2: base: is no address"),
        ("{id: b2, priority: 7}", "{id: 1}", "boards names 1 more than once"),
        ("{id: b2, priority: 7}", "{id: 'a b'}", "f.yaml:3: boards.1.id: String should match"),
        ("tr.row", "'tr['", "f.yaml:8: list.record.css: is no CSS selector"),
        ("a.next", "{xpath: '//a['}", "f.yaml:14: list.next.xpath: is no XPath"),
        ("a.next", "{xpath: 'document(\"x\")'}", "f.yaml:14: list.next.xpath: "),
        ("a.next", "{xpath: '//*[count(//*) > 9]'}", "f.yaml:14: list.next.xpath: searches the whole page for each"),
        ("a.next", "{regex: '('}", "f.yaml:14: list.next.regex: is no regular expression"),
        ("a.next", "{regex: '(a+)+$'}", "f.yaml:14: list.next.regex: repeats a repetition"),
        ("a.next", "{css: a, xpath: //a}", "f.yaml:14: list.next: css and xpath cannot stand together"),
        ("a.next", "{}", "f.yaml:14: list.next: says nothing"),
        ("a.next", "{css: a, lookup: {in: a, by: b, give: c}}", "f.yaml:14: list.next: lookup needs json"),
        ("a.next", "{json: a, xpath: //a}", "f.yaml:14: list.next: xpath and json_path cannot stand together"),
        ("a.next", "{json: a}", "list: next reads JSON, but format is html"),
        ("a.next", "{css: a, atr: href}", "f.yaml:14: list.next.atr: is not a key here; did you mean 'attr'?"),
        ("title: a.t", "title: {css: a.t, as: int}", "title is text"),
        ("reply_count: td.n", "reply_count: {css: td.n, as: text}", "reply_count is a number"),
        ("[reply_count]", "[replycount]", "names 'replycount', which is no field; did you mean 'reply_count'?"),
        ("/list/{board}/{page}", "/list/{board}/{pag}", "f.yaml:7: list.address: may not have {pag}"),
        ("/list/{board}/{page}", "/list/{0.__class__}", "f.yaml:7: list.address: may not have {0.__class__}"),
        ("/list/{board}/{page}", "/list/{page}", "f.yaml:7: list.address: needs {board}"),
        ("/list/{board}/{page}", "/list/{board}", "f.yaml:7: list.address needs {page} or {offset:N}"),
        ("  address: /comment/{post}/{page}\n", "", "comment.address needs {page} or {offset:N}, or next"),
        ("/list/{board}/{page}", "/list/{board", "f.yaml:7: list.address: has a brace without its pair"),
        ("  next: a.next", "  next: a.next\n  walk: fan", "walk: fan needs pages"),
        ("  next: a.next", "  total: .n", "total needs per_page"),
        ("  pages: .pages", "  pages: .pages\n  embedded: {css: .x}", "embedded is {json: ...} where format is html"),
        ("  pages: .pages", "  pages: .pages\n  format: json-ld\n  embedded: {json: a}", "embedded is {json: ...}"),
        ("  next: a.next", "  identity: '/x'", "list.identity needs a group (?P<board>...)"),
        ("  pages: .pages\n", "", "post.pages: nothing says whether there are more comment pages"),
        ("first_page: 2", "first_page: 2\n  first_page: 1", "f.yaml:22: comment.first_page: stands twice; remove one"),
        ("    post_id:", "    postid:", "needs fields.post_id"),
        ("  fields: {comment_id: {attr: data-id}}", "  fields: {id: {attr: data-id}}", "needs fields.comment_id"),
        ("order: lifo", "title: !!python/object/apply:os.system [ls]", "f.yaml:4: the tag "),
        ("order: lifo", "title: !!binary aGk=", "f.yaml:4: the tag "),
        ("order: lifo", "x: &a [*a]", "f.yaml:4: is too large or refers to itself"),
        ("order: lifo", "<<: {order: lifo}", "f.yaml:4: merge keys (<<) are not read"),
        ("order: lifo", "? [a]\n: b", "f.yaml:4: a key must be a word"),
        ("order: lifo", "title: [", "is not YAML"),
        ("window: 2", "retry_base_s: 010s", "gate.retry_base_s: Input should be a valid number"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_file_line_field_and_remedy(old: str, new: str, said: str) -> None:
    assert old in GOOD

    told = complaint(GOOD.replace(old, new))

    assert said in told
    assert all(line.startswith("f.yaml:") for line in told.split("\n"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f.yaml:1: is empty"),
        ("# only a remark\n", "f.yaml:1: is empty"),
        ("null", "f.yaml:1: is empty"),
        ("- a\n- b", "f.yaml:1: is no mapping"),
        ("just text", "f.yaml:1: is no mapping"),
        ("a: b: c", "f.yaml:1: is not YAML"),
        ("name: \x07", "is not YAML"),
        ("{}", "name: is missing; add it"),
    ],
)
def test_what_is_no_site_file_at_all_is_told_in_one_line(text: str, said: str) -> None:
    assert said in complaint(text)


@pytest.mark.parametrize(("kind", "said"), [("list", "list is missing"), ("feed", ""), ("sitemap", ""), ("hub", "")])
def test_a_site_without_lists_needs_no_rules_for_them(kind: str, said: str) -> None:
    text = (
        f"name: f\nbase: https://f.example\nboards: [{{id: b, kind: {kind}, address: /b}}]\n"
        "post: {address: '/t/{post}', fields: {title: h1, body: p}}\n"
    )

    assert said in complaint(text) if said else parse_site(text, "f.yaml").list == NO_LISTS


def test_an_alias_bomb_is_refused_quickly() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )

    assert "is too large or refers to itself" in complaint(bomb)


def test_all_mistakes_of_a_file_are_told_at_once() -> None:
    told = complaint(GOOD.replace("window: 2", "window: 0, dealy_s: 1").replace("tr.row", "'tr['"))

    assert len(told.split("\n")) == 3


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (GOOD.encode("utf-16"), "is not UTF-8 at byte 0"),
        (b"x" * (MAX_FILE_BYTES + 1), "is larger than 256 KB"),
        (b"\x00\x01\x02", "is not YAML"),
    ],
)
def test_a_file_that_is_no_text_is_told_by_name(tmp_path: Path, raw: bytes, said: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(raw)

    with pytest.raises(SiteError, match=said) as caught:
        load_site(path)

    assert str(path) in str(caught.value)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())

    assert load_site(path).name == "forum"


def test_a_missing_file_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match=r"nowhere\.yaml: cannot be read"):
        load_site(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("site", [load_site(DEMO), parse_site(GOOD, "f.yaml")], ids=lambda site: site.name)
def test_a_site_survives_its_journey_as_json(site: Site) -> None:
    other = read_site(dump_site(site))

    assert other == site
    assert other.version == site.version


@pytest.mark.parametrize("said", ["", ", required: true", ", required: false"])
def test_a_worker_knows_whether_a_post_may_lack_its_text(said: str) -> None:
    text = GOOD.replace("body: .body", f"body: {{css: .body{said}}}")
    site = parse_site(text, "f.yaml")

    assert text.count("required") == bool(said)
    for other in (read_site(dump_site(site)), site.relocated("http://127.0.0.1:1")):
        assert other.post.fields["body"].required is site.post.fields["body"].required
        assert (site.post.fields["body"].required is None) == (not said)


def test_versions_differ_when_anything_does() -> None:
    versions = {parse_site(text, "f").version for text in (GOOD, GOOD.replace("td.n", "td.m"), GOOD + "\n# remark")}

    assert len(versions) == 2


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"name": "x", "unknown": 1}', b"\xff"])
def test_damaged_json_is_a_site_error(text: str | bytes) -> None:
    with pytest.raises(SiteError, match="publish the site files again"):
        read_site(text)


@pytest.mark.parametrize(
    "more",
    ["on_response: pack.mod:look\n", "prepare_request: pack.mod:sign\n", "read_from: file:///srv/dump\n"],
)
def test_an_archive_would_hold_secrets_of_some_sites_and_is_refused(more: str) -> None:
    parse_site(GOOD + more, "f.yaml")

    assert f"archive does not go with {more.partition(':')[0]}; leave one out" in complaint(
        f"{GOOD}{more}archive: true\n"
    )


def test_a_relocated_site_may_be_fetched_only_from_there() -> None:
    site = load_site(DEMO).relocated("http://127.0.0.1:4321/")

    assert (site.base, site.private_hosts) == ("http://127.0.0.1:4321", ("127.0.0.1:4321",))
    assert site.version != load_site(DEMO).version
    assert site.post == load_site(DEMO).post


def test_a_secret_header_may_stand_in_a_file_of_secrets(tmp_path: Path) -> None:
    named = parse_site(GOOD + "secret_headers: {Cookie: FORUM_COOKIE}\n", "f.yaml")
    secret = tmp_path / "cookie"
    secret.write_text("session=hunter2\n", "utf-8")

    found = secret_headers(named, {"FORUM_COOKIE_FILE": str(secret), "FORUM_COOKIE": "older"})

    assert found == {"Cookie": "session=hunter2"}
    with pytest.raises(ConfigError, match=r"FORUM_COOKIE_FILE: .*/none cannot be read"):
        secret_headers(named, {"FORUM_COOKIE_FILE": str(tmp_path / "none")})


def test_a_secret_header_is_read_where_pages_are_fetched_and_stands_nowhere_else() -> None:
    named = parse_site(GOOD + "secret_headers: {Cookie: FORUM_COOKIE}\n", "f.yaml")

    found = secret_headers(named, {"FORUM_COOKIE": "session=hunter2\n"})

    assert found == {"Cookie": "session=hunter2"}
    assert "hunter2" not in dump_site(named) + repr(named)


@pytest.mark.parametrize(
    ("environment", "says"),
    [({}, "is not set"), ({"FORUM_COOKIE": " "}, "is not set"), ({"FORUM_COOKIE": "hunter2\r\nHost: x"}, "printable")],
)
def test_a_secret_header_that_cannot_be_sent_is_named_without_its_value(environment: dict[str, str], says: str) -> None:
    named = parse_site(GOOD + "secret_headers: {Cookie: FORUM_COOKIE}\n", "f.yaml")

    with pytest.raises(ConfigError, match=f"FORUM_COOKIE, for the header Cookie, .*{says}") as caught:
        secret_headers(named, environment)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("~", None),
        ("", None),
        ("2024-01-02", "2024-01-02"),
        ("12:30", "12:30"),
        ("1_000", 1000),
        ("0x1f", 31),
        ("0o17", 15),
        ("-1.5e3", -1500.0),
        ("1e3", 1000.0),
        ("'12'", "12"),
        ("=", "="),
    ],
)
def test_a_plain_scalar_is_read_as_yaml_1_2_has_it(text: str, value: object) -> None:
    tree = read_yaml(f"a: {text}", "f.yaml").value

    assert isinstance(tree, dict)
    assert (tree["a"], type(tree["a"])) == (value, type(value))


def test_auto_is_a_short_form_and_goes_with_no_answer_of_a_script() -> None:
    site = parse_site(f"{GOOD}render: auto\n", "forum.yaml")

    assert all(render.auto for render in site.rendered.values())
    with pytest.raises(SiteError, match="auto reads the document"):
        parse_site(f"{GOOD}render: {{auto: true, response: /api/}}\n", "forum.yaml")


def test_render_of_the_site_is_for_all_stages_that_have_none_of_their_own() -> None:
    own = GOOD.replace("  pages: .pages", "  pages: .pages\n  render: {wait_for: .body}")

    site = parse_site(f"{own}render: true\n", "forum.yaml")

    assert {stage: render.wait_for for stage, render in site.rendered.items()} == {
        Stage.LIST: None,
        Stage.POST: ".body",
        Stage.COMMENT: None,
    }
    assert set(compile_site(site, "https://bot.example").policy.render) == set(Stage)
