"""Findings: the results of a discovery, and the site file written from them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from crawl_tasks.discovery.probe.fingerprints import EngineMatch
from crawl_tasks.discovery.probe.site_address import SiteAddress
from crawl_tasks.discovery.probe.timezone import Zone
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.news_page import NewsPage
from crawl_tasks.parse.board_index import FoundBoard
from crawl_tasks.parse.date_order import UNDECIDED, Decision
from crawl_tasks.parse.values.dates_by_language import KNOWN
from crawl_tasks.sites.board import BoardKind


@dataclass(frozen=True, slots=True)
class Findings:
    """The results. `rules` is YAML for a program without preset, or for other addresses than the preset's.

    `prefix` is the path of the forum's directory. With `has_board_addresses` no template produces the boards'
    addresses, and the file names each. `news` is a page that tells of all boards. `doubts` are what the front page says
    against the boards. `sessions` are parameters that are left out of addresses. `language` is that of the pages,
    `encoding` their charset where they name none that fits, and `order` that of their dates in figures. `dates` are
    three of these, with the moments that are read.
    """

    name: str
    place: SiteAddress
    title: str = ""
    suspect: EngineMatch | None = None
    prefix: str = ""
    boards: tuple[FoundBoard, ...] = ()
    left_out: tuple[str, ...] = ()
    zone: Zone | None = None
    delay_s: float | None = None
    trial: DryRun | None = None
    has_board_addresses: bool = False
    rules: str = ""
    news: tuple[NewsPage, ...] = ()
    remarks: tuple[str, ...] = field(default=())
    doubts: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    language: str = ""
    encoding: str = ""
    order: Decision = UNDECIDED
    dates: tuple[str, ...] = ()


def site_file(findings: Findings) -> str:
    """Return the site file."""
    lines = [
        f"# Written by `crawl-tasks new {findings.place.url}`.",
        "# `crawl-tasks try` shows what is read with it, docs/site-files.md says what else may stand here.",
    ]
    lines += [f"# {_plain(remark)}" for remark in findings.remarks if remark != str(findings.suspect)]
    lines += [f"name: {findings.name}"]
    if findings.title:
        lines.append(f"title: {_quoted(findings.title[:200])}")
    lines.append(f"base: {findings.place.base}{findings.prefix}")
    if findings.place.private:
        lines.append(
            f"private_hosts: [{_quoted(findings.place.private)}]  # a private address, fetched since it is named"
        )
    if findings.suspect is not None:
        why = _plain(str(findings.suspect).partition(": ")[2])
        lines.append(f"engine: {findings.suspect.name}  # {why}")
    if findings.zone is not None:
        lines.append(f"timezone: {findings.zone.name}  # {_plain(findings.zone.why)}")
    else:
        lines.append("timezone: UTC  # the pages do not name it: check this, unless their dates do")
    if findings.order.order is not None:
        lines.append(f"date_order: {findings.order.order.value}  # {_plain(findings.order.why)}")
    if findings.language and findings.language not in KNOWN:
        lines.append(f"languages: [{findings.language}, en]  # the pages say so; their dates may be in words")
    if findings.encoding:
        lines.append(f"encoding: {findings.encoding}  # a guess by their letters: the pages name no charset that fits")
    if findings.sessions:
        lines.append(
            f"drop_params: [{', '.join(findings.sessions)}]  # links name the session, another one at each visit"
        )
    if findings.delay_s:
        lines.append(
            f"gate: {{delay_s: {max(1.0, findings.delay_s):g}}}  # robots.txt: Crawl-delay {findings.delay_s:g}"
        )
    lines.append("freshness: {goal_s: 600}  # 95 of 100 replies found within so many seconds; docs/freshness.md")
    lines += (
        ["boards:", *(_board_line(board, findings.has_board_addresses) for board in findings.boards), *_news(findings)]
        if findings.boards
        else ["boards: []  # none was found: add some"]
    )
    lines += [f"# left out, it leads elsewhere or lists no threads: {_plain(url)}" for url in findings.left_out[:20]]
    return "\n".join([*lines, *([findings.rules.rstrip()] if findings.rules else [])]) + "\n"


def preset_site_text(name: str, place: SiteAddress, engine: str, prefix: str = "") -> str:
    """Return the shortest site file for a forum of a known program."""
    private = f"private_hosts: [{_quoted(place.private)}]\n" if place.private else ""
    return f"name: {name}\nbase: {place.base}{prefix}\n{private}engine: {engine}\n"


def _board_line(board: FoundBoard, has_address: bool) -> str:
    title = f", title: {_quoted(board.title[:200])}" if board.title else ""
    parent = f", parent: {_key(board.parent_id)}" if board.parent_id else ""
    is_list = board.kind is BoardKind.LIST
    kind = "" if is_list else f", kind: {board.kind.value}"
    address = f", address: {_quoted(board.url)}" if (has_address or not is_list) and board.url else ""
    # A sitemap is long, and the feed tells of new threads before.
    seldom = ", interval_s: 86400" if board.kind is BoardKind.SITEMAP else ""
    return f"  - {{id: {_key(board.board_id)}{kind}{title}{parent}{address}{seldom}}}"


def _news(findings: Findings) -> list[str]:
    lines = []
    for kind, path, reason, interval_s in findings.news:
        what = "New boards" if interval_s else "News on all boards"
        seldom = f", interval_s: {interval_s}" if interval_s else ""
        lines.append(f"  # {what} are found here first: {_plain(reason)}.")
        lines.append(f"  - {{id: {kind}, kind: {kind}, address: {_quoted(path)}{seldom}}}")
    return lines


def _key(text: str) -> str:
    # YAML would read an unquoted `007` as the number 7.
    return text if re.fullmatch(r"[1-9]\d{0,17}", text) else _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(_plain(text), ensure_ascii=False)


def _plain(text: str) -> str:
    """Return a stranger's text on one line, without characters that YAML does not allow."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
