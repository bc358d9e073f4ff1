"""Every forum program is known by what its pages say, and by how much that says."""

from __future__ import annotations

import pytest

from crawl_tasks.discovery.fingerprints import known_signs, suspects
from crawl_tasks.discovery.timezone import zone_by_clock, zone_said
from crawl_tasks.model import Fetched
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.presets import engine_names
from tests.unit.test_engine_versions import VERSIONS

PAGES: dict[str, tuple[str, dict[str, str]]] = {
    "phpbb": (
        '<body id="phpbb" class="section-index"><a href="./viewforum.php?f=2&amp;sid=0f">General</a>'
        '<div class="copyright">Powered by <a href="https://www.phpbb.com/">phpBB</a>&reg;</div>',
        {"set-cookie": "phpbb3_ab12_u=1; path=/\nphpbb3_ab12_sid=0f; path=/"},
    ),
    "phpbb2": (
        '<td class=bodyline><table class=forumline><tr><td><a class=forumlink href="viewforum.php?f=2">A</a></table>'
        'Powered by <a href="http://www.phpbb.com/">phpBB</a> 2.0.23',
        {},
    ),
    "mybb": (
        '<script src="/jscripts/general.js?ver=1821"></script><a href="forumdisplay.php?fid=2">General</a>'
        'Powered By <a href="https://mybb.com">MyBB</a>',
        {},
    ),
    "nodebb": ('<li component="categories/category" data-cid="1"></li>', {"x-powered-by": "NodeBB"}),
    "discuz": ('<meta name="generator" content="Discuz! X3.5"><body id="nv_forum">', {}),
    "discourse": ('<meta name="generator" content="Discourse 3.4.0 - https://github.com/discourse/discourse">', {}),
    "flarum": ('<div id="app" class="App"><div id="flarum-loading"></div></div>', {"set-cookie": "flarum_session=a"}),
    "xenforo": ('<html id="XF" data-app="public"><a href="/forums/general.2/">General</a>', {}),
    "vbulletin4": (
        '<html id="vbulletin_html"><meta name="generator" content="vBulletin 4.2.5"><ol id="forums" '
        'class="floatcontainer"></ol>',
        {},
    ),
    "vbulletin5": ('<meta name="generator" content="vBulletin 5.7.5"><body class="vb-page view-mode">', {}),
    "smf": ('<script>var smf_theme_url = "/Themes/default";</script><a href="index.php?board=1.0">General</a>', {}),
    "flaskbb": ('<div class="footer">powered by <a href="https://flaskbb.org">FlaskBB</a></div>', {}),
    "fluxbb": (
        '<div id="punindex" class="pun"><div class="punwrap"><div id="brdmain"><a href="viewforum.php?id=1">A</a>'
        '<p id="poweredby">Powered by <a href="https://fluxbb.org/">FluxBB</a></p>',
        {},
    ),
    "punbb": (
        '<div id="brd-wrap" class="brd"><div id="brd-main"><div class="main-category"><div class="main-item">'
        '<p id="copyright">Powered by <a href="http://punbb.informer.com/">PunBB</a>',
        {},
    ),
    "lobsters": ('<ol class="stories list"><li class="story" data-shortid="abc123"></li></ol>', {}),
    "hackernews": ('<table id="hnmain"><tr class="athing" id="1"><td></td></tr></table>', {}),
    "bbpress": ('<body class="forum bbpress"><div id="bbpress-forums" class="bbpress-wrapper"></div>', {}),
    "misago": ('<body class="misago-anonymous"><div id="misago-container"></div>', {}),
    "wordpress": (
        '<meta name="generator" content="WordPress 6.7"><link rel="https://api.w.org/" href="/wp-json/">',
        {},
    ),
}


def document(html: str, headers: dict[str, str] | None = None) -> Document:
    return Document(Fetched("http://forum.example/", 200, headers or {}, html.encode(), 1_700_000_000.0))


@pytest.mark.parametrize("name", PAGES)
def test_a_program_is_the_likeliest_on_its_own_page_and_says_why(name: str) -> None:
    html, headers = PAGES[name]

    first, *others = suspects(document(html, headers))

    assert (first.name, first.verdict) == (name, "certain")
    assert all(other.score < first.score for other in others)
    assert first.reasons


def test_a_forum_in_a_blog_is_likelier_than_the_blog() -> None:
    html = '<meta name="generator" content="WordPress 6.7"><link href="/wp-content/plugins/bbpress/x.css">'

    assert [one.name for one in suspects(document(html))] == ["bbpress", "wordpress"]


def test_every_program_that_is_known_has_a_page_here() -> None:
    assert known_signs().keys() == PAGES.keys() | {one.engine for one in VERSIONS}


def test_every_preset_has_signs_by_its_name() -> None:
    assert set(engine_names()) <= known_signs().keys()


@pytest.mark.parametrize(
    "html",
    [
        "<p>We moved away from phpBB, MyBB and Discourse last year.</p>",
        '<meta name="generator" content="Hugo 0.1">',
        "",
    ],
)
def test_a_page_that_only_talks_of_programs_suspects_none(html: str) -> None:
    assert suspects(document(html)) == []


@pytest.mark.parametrize(
    ("text", "language", "name"),
    [
        ("All times are UTC+01:00", "", "Etc/GMT-1"),
        ("All times are GMT -5. The time now is 03:12 PM.", "", "Etc/GMT+5"),
        ("GMT+8, 2024-6-19 22:17", "zh-CN", "Asia/Shanghai"),
        ("GMT+8, 2024-6-19 22:17", "en", "Etc/GMT-8"),
        ("UTC+05:30", "", "Asia/Kolkata"),
        ("UTC+5.5", "", "Asia/Kolkata"),
        ("UTC+5.75", "", "Asia/Kathmandu"),
        ("All times are Europe/Berlin", "", "Europe/Berlin"),
        ("All times are UTC", "", "UTC"),
        ("Either/Or is no zone", "", None),
        ("GMT+25", "", None),
    ],
)
def test_a_zone_is_read_from_words(text: str, language: str, name: str | None) -> None:
    zone = zone_said(text, language=language)

    assert (zone.name if zone else None) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Current time: 11-15-2023, 06:13 AM", "Etc/GMT-8"),
        ("Current time: 11-14-2023, 05:14 PM", "Etc/GMT+5"),
        ("22:13:20", "UTC"),
        ("no clock", None),
    ],
)
def test_a_zone_is_the_difference_between_a_clock_and_the_response(text: str, name: str | None) -> None:
    zone = zone_by_clock(text, 1_700_000_000.0)  # 22:13:20 UTC

    assert (zone.name if zone else None) == name


@pytest.mark.parametrize(
    ("at_s", "text", "name"),
    [
        (1_700_000_000.0, "05:13 PM", "America/New_York"),
        (1_700_000_000.0, "23:13:20", "Europe/Berlin"),
        (1_720_000_000.0, "11:46", "Europe/Berlin"),  # 09:46:40 UTC, in July
        (1_720_000_000.0, "10:46", "Europe/London"),
        (1_700_000_000.0, "22:13", "UTC"),
        (1_700_000_000.0, "06:13 AM", "Etc/GMT-8"),
    ],
)
def test_a_clock_that_changes_in_summer_is_that_of_a_place(at_s: float, text: str, name: str) -> None:
    zone = zone_by_clock(text, at_s, changes=True)

    assert zone is not None
    assert zone.name == name
