"""A site file laid over the preset of its program: what is merged, what is replaced, whose mistake is whose."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl_tasks.errors import SiteError
from crawl_tasks.parse.site_parser import compile_parser
from crawl_tasks.sites import presets
from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.presets import engine_names, load_engine
from crawl_tasks.sites.site_json import dump_site, read_site

SHORT = "name: forum\nbase: https://forum.example\nengine: toy\nboards: [1]\n"
TOY = r"""
about: {title: Toy, tried: false}
index: {record: li, fields: {url: {css: a, attr: href}}}
site:
  drop_params: [sid, s]
  gate: {window: 2, delay_s: 3}
  list:
    address: /l/{board}/{page}
    record: tr
    fields:
      post_id: {css: a.t, attr: href, regex: '(\d+)'}
      title: a.t
    next: a.next
  post:
    address: /p/{post}
    fields:
      title: h1
      body: {css: .body, drop: .quote}
    pages: .pages
  comment:
    address: /p/{post}/{page}
    first_page: 2
    record: .c
    fields: {comment_id: {attr: id}}
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of the only preset there is."""
    (tmp_path / "toy.yaml").write_text(TOY)
    monkeypatch.setattr(presets, "_DIRECTORY", tmp_path)
    presets._load.cache_clear()
    return tmp_path / "toy.yaml"


def complaint(text: str) -> str:
    with pytest.raises(SiteError) as caught:
        parse_site(text, "f.yaml")
    return str(caught.value)


@pytest.mark.parametrize("name", engine_names())
def test_name_base_and_boards_are_a_whole_site_file(name: str) -> None:
    site = parse_site(f"name: forum\nbase: https://forum.example\nengine: {name}\nboards: [1]\n", "f.yaml")

    compile_parser(site)

    assert read_site(dump_site(site)) == site


@pytest.mark.parametrize("name", engine_names())
def test_every_preset_says_what_it_is_for_and_whether_it_was_tried(name: str) -> None:
    about = load_engine(name).about

    assert about.title
    assert about.versions if about.tried else about.notes


def test_a_preset_of_another_version_is_laid_over_that_of_the_program(toy: Path) -> None:
    rules = "site: {list: {record: li}, post: {pages: null, next: .more}}"
    toy.with_name("old.yaml").write_text(f"about: {{title: Old, tried: false}}\nextends: toy\n{rules}\n")

    site = parse_site(SHORT.replace("toy", "old"), "f.yaml")

    assert (site.list.record, site.list.fields["title"]) == (Rule(css="li"), Rule(css="a.t"))
    assert (site.post.pages, site.post.next, site.drop_params) == (None, Rule(css=".more"), ("sid", "s"))
    assert load_engine("old").index == load_engine("toy").index
    assert load_engine("old").about.title == "Old"


@pytest.mark.usefixtures("toy")
def test_mappings_merge_and_everything_else_replaces() -> None:
    site = parse_site(
        SHORT + "gate: {window: 5}\ndrop_params: [x]\nlist: {record: div, fields: {author: .by}}\n", "f.yaml"
    )

    assert (site.gate.window, site.gate.delay_s) == (5, 3)
    assert site.drop_params == ("x",)
    assert site.list.record is not None
    assert site.list.record.css == "div"
    assert sorted(site.list.fields) == ["author", "post_id", "title"]


@pytest.mark.parametrize("rule", [".text", "{css: .text}"])
@pytest.mark.usefixtures("toy")
def test_a_rule_replaces_the_presets_rule_as_a_whole(rule: str) -> None:
    site = parse_site(SHORT + f"post: {{fields: {{body: {rule}}}}}\n", "f.yaml")

    assert (site.post.fields["body"].css, site.post.fields["body"].drop) == (".text", None)


@pytest.mark.usefixtures("toy")
def test_null_takes_away_what_the_preset_says() -> None:
    site = parse_site(SHORT + "drop_params: null\npost: {pages: null, next: a.n}\nlist: {fields: {title: null}}\n", "f")

    assert (site.drop_params, site.post.pages) == ((), None)
    assert list(site.list.fields) == ["post_id"]


@pytest.mark.usefixtures("toy")
def test_a_mistake_in_the_site_file_is_told_with_its_own_line() -> None:
    told = complaint(SHORT + "list:\n  recrod: div\npost:\n  fields:\n    body: 'div['\n")

    assert told.split("\n") == [
        "f.yaml:6: list.recrod: is not a key here; did you mean 'record'?",
        "f.yaml:9: post.fields.body.css: is no CSS selector we can use: 'div['; check brackets and quotes",
    ]


def test_a_mistake_in_the_preset_is_told_with_the_presets_line(toy: Path) -> None:
    toy.write_text(TOY.replace("record: tr", "record: 'tr['"))

    assert complaint(SHORT + "list: {title: h1}\n").startswith(f"{toy.parent.name}/toy.yaml:9: list.record.css: is no")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tried: false", "tired: false", "toy.yaml:2: about.tired: is not a key here; did you mean 'tried'?"),
        ("record: li", "recrod: li", "toy.yaml:3: index.recrod: is not a key here; did you mean 'record'?"),
        ("{url: {css: a, attr: href}}", "{title: a}", "toy.yaml:3: index: needs fields.board or fields.url"),
        ("{url: {css", "{adress: a, url: {css", "toy.yaml:3: index: fields.adress is not known"),
        ("site:", "site:\n  name: forum", "toy.yaml:4: site may not say name"),
    ],
)
def test_a_preset_that_is_wrong_itself_is_told(toy: Path, old: str, new: str, said: str) -> None:
    toy.write_text(TOY.replace(old, new, 1))

    assert said in complaint(SHORT)


@pytest.mark.parametrize("name", ["tyo", "../toy", ""])
@pytest.mark.usefixtures("toy")
def test_an_unknown_preset_is_told_in_one_line_with_the_known_ones(name: str) -> None:
    told = complaint(SHORT.replace("toy", f"'{name}'"))

    assert told == f"f.yaml:3: engine: is no preset: {name!r}; known are toy"


@pytest.mark.usefixtures("toy")
def test_what_is_published_is_the_merged_site(tmp_path: Path) -> None:
    text = dump_site(parse_site(SHORT, "f.yaml"))
    (tmp_path / "toy.yaml").unlink()

    assert read_site(text).post.fields["body"].drop == ".quote"
