"""Accessibility: no page breaks a rule of WCAG 2.2 AA, as axe-core judges in a real browser, and keys reach all."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path

import pytest
import redis

from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.kept_pages import KeptPage
from crawl_tasks.local.page_logs import PageLog
from crawl_tasks.model import Fetched
from crawl_tasks.monitor.history import History
from crawl_tasks.monitor.output_language import gettext, use_language
from crawl_tasks.web.actions import Actions
from crawl_tasks.web.login import Login
from crawl_tasks.web.static_report import crawl_report
from tests.serving import NO_DATABASE
from tests.unit.test_item_pages import PAGES, reading, shown
from tests.unit.test_web_pages import CHROMIUM, PASSWORD, an_hour_of, ask, browse, enter, populated, post, serve
from tests.waiting import PATIENCE_S

AXE = "axe-core@4.10.2"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# What depends on the width does not depend on the colours.
PHONE, DESKTOP = (390, "dark"), (1280, "light")
JUDGE = """<script src="axe.js"></script><script>
  parent.judged.push(axe.run(document, {iframes: false, runOnly: RULES}).then(found => found.violations.flatMap(
    one => one.nodes.map(node => [NAME, one.id, node.html.slice(0, 200)]))))
  for (const one of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary")) {
    one.focus()
    if (document.activeElement !== one || getComputedStyle(one).outlineStyle === "none")
      parent.judged.push([[NAME, "no focus is seen", one.outerHTML.slice(0, 200)]])
  }
</script>"""
COLLECT = """<script>onload = async () => {
  const found = await Promise.all(judged)
  if (judged.length < FRAMES) throw new Error("a page was not judged")
  document.title = JSON.stringify(found.flat())
}</script>"""


@pytest.fixture(params=["en", "zh"])
def widths(request: pytest.FixtureRequest) -> Iterator[tuple[tuple[int, str], ...]]:
    """Give the widths and themes to be judged, with the pages in a language. Colours do not depend on the language."""
    use_language(request.param)
    yield (PHONE, DESKTOP) if request.param == "en" else (PHONE,)
    use_language("en")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; Debian: apt-get install chromium")
def test_no_page_breaks_a_rule_of_wcag_aa_on_a_phone_or_a_desktop_light_or_dark(
    client: redis.Redis, tmp_path: Path, widths: tuple[tuple[int, str], ...]
) -> None:
    write_axe(tmp_path)
    pages = pages_of_the_crawl(client)
    for base in reading(client, tmp_path, login=Login("")):
        pages |= {path or "posts": shown(base, f"/posts{path}") for path in (*PAGES, "/search", "/search?q=%22")}
    frames = "".join(
        f'<iframe width="{width}" height="900" srcdoc="{escape(judging(text, name, theme))}"></iframe>'
        for name, text in pages.items()
        for width, theme in widths
    )
    assert frames.count(escape(f'<html lang="{gettext("en")}">')) == len(widths) * len(pages)
    collect = COLLECT.replace("FRAMES", str(len(widths) * len(pages)))
    page = tmp_path / "pages.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><script>judged = []</script>{frames}{collect}", "utf-8")

    said = browse("--virtual-time-budget=60000", "--dump-dom", "--window-size=1400,1000", page.as_uri())

    title = re.search(r"<title>([^<]*)</title>", said)
    assert title, "the browser did not come to an end"
    assert json.loads(unescape(title[1])) == []


def pages_of_the_crawl(client: redis.Redis) -> dict[str, str]:
    """Return the pages of four sites, of the login and of the report."""
    frontier, history = populated(client), History()
    seen = list(an_hour_of(frontier))
    for one in seen:
        history.note(one)
    [failed] = Actions(Cells([frontier]), NO_DATABASE).failed_requests("busy-forum")[:1]
    slow = PageLog("busy-forum", "post", 4321, failed.request.address)
    report = crawl_report("A crawl", seen[0], seen[-1], history, {"pages": 7}, failed=[failed], slowest=[slow])
    pages = {"report": report}
    for base in serve(frontier, PASSWORD):
        cookie, _ = enter(base)
        sites = ("/site/busy-forum", "/site/new-forum", "/site/busy-forum/failed?state=dead")
        [rid] = client.hkeys("test:s:busy-forum:parked")
        kept = Fetched("http://127.0.0.1/post/1", 200, {}, b"<p>unread</p>" * 900, 0.0)
        frontier.kept_pages.keep(KeptPage(int(rid), post("busy-forum", 1), kept, "no rule fits"))
        sites = (*sites, f"/site/busy-forum/failed/{int(rid)}")
        pages |= {path: ask(f"{base}{path}", cookie)[1] for path in ("/", *sites, "/login", "/site/none")}
        pages["wrong password"] = ask(f"{base}/login", form={"password": "no"})[1]
    for base in serve(frontier, ""):
        pages["no password"] = ask(f"{base}/login")[1]
    return pages


def judging(text: str, name: str, theme: str) -> str:
    """Return a page that is judged in one theme."""
    media = "all" if theme == "dark" else "not all"
    themed = text.replace("@media(prefers-color-scheme:dark)", f"@media {media}")
    themed = themed.replace("color-scheme:light dark", f"color-scheme:{theme}")
    script = JUDGE.replace("RULES", json.dumps(RULES)).replace("NAME", json.dumps(name))
    # A page that loads itself anew would never be judged.
    return re.sub(r'<meta http-equiv="refresh"[^>]*>', "", themed) + script


def write_axe(directory: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm, which has axe-core; Debian: apt-get install npm")
    options = ["--silent", "--fetch-retries=0", "--fetch-timeout=20000", "--pack-destination", str(directory)]
    command = [npm, "pack", AXE, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=directory)
    if done.returncode:
        pytest.skip(f"npm gives no {AXE}: {done.stderr[-200:]}")
    with tarfile.open(directory / done.stdout.split()[-1]) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script
        (directory / "axe.js").write_bytes(script.read())
