"""A saved page read by the preset that its signs name, as a crawl would read it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from urllib.parse import urlsplit

from crawl_tasks.discovery.probe.fingerprints import LIKELY, suspects
from crawl_tasks.errors import CrawlError
from crawl_tasks.model import Fetched, Parsed, Request, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.site_parser import SiteParser
from crawl_tasks.sites.addresses import Addresses, Target
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.presets import engine_names, load_engine
from crawl_tasks.sites.schema import Site
from tests.saved_pages.sources import SavedPage

SAVED_AT_S = 1_780_000_000.0
"""The moment of all responses, in May 2026: the pages do not say when they were saved."""


@dataclass(frozen=True)
class Said:
    """A post, reply or row as one reader has it. Times are in seconds since the epoch."""

    author: str | None
    moment: int | None
    text: str


@dataclass(frozen=True)
class Reading:
    """What a preset made of a page. Either `refused` says why nothing would be stored, or `records` are stored."""

    engine: str
    stage: str = ""
    refused: str = ""
    records: tuple[Said, ...] = ()


def read_page(page: SavedPage, body: bytes) -> Reading:
    """Return what the likeliest preset reads from a page."""
    document = Document(_fetched(page.address, body))
    try:
        found = [one for one in suspects(document) if one.score >= LIKELY and one.name in engine_names()]
    except CrawlError as error:
        return Reading("", refused=str(error))
    reading = Reading("", refused="no preset: no sign of a program that has one")
    for match in found[:2]:
        reading = _read_as(match.name, page, body)
        if not reading.refused:
            break
    return reading


def _read_as(engine: str, page: SavedPage, body: bytes) -> Reading:
    if engine == "discourse":
        carried = _carried_topic(page.address, body)
        if carried is None:
            return Reading(engine, refused="the preset reads the JSON of the API, which this page does not carry")
        address, body = carried
    else:
        address = page.address
    met = _site_of(engine, address)
    if met is not None:
        return _read_at(engine, address, body, *met)
    # A crawl follows the links of rows and of boards, wherever they lead.
    if "url" not in load_engine(engine).site["list"]["fields"]:  # type: ignore[call-overload,index]
        return Reading(engine, refused="address: the preset names no page of this kind")
    parts = urlsplit(address)
    site = _site(engine, f"{parts.scheme}://{parts.netloc}", "{}")
    for stage in (Stage.POST, Stage.LIST):
        reading = _read_at(engine, address, body, site, Target(stage, "saved", 1))
        if not reading.refused:
            break
    return reading


def _read_at(engine: str, address: str, body: bytes, site: Site, target: Target) -> Reading:
    try:
        request = Request(site.name, target.stage, target.key, address, page=target.page)
        parsed = _parser(site).parse(request, _fetched(address, body), 0)
    except CrawlError as error:
        return Reading(engine, target.stage.value, refused=str(error).partition("; http")[0])
    records = tuple(_records(target.stage, parsed))
    topic = next((child for child in parsed.children if child.stage is Stage.POST and child.key != target.key), None)
    if not records and target.stage is Stage.POST and topic is not None:
        # An address by a reply: the page says which topic it is of, which is then asked for.
        return _read_at(engine, topic.address, body, site, Target(Stage.POST, topic.key, 1))
    if not records:
        return Reading(engine, target.stage.value, refused="no record was found")
    lacking = _lacking(records, target.stage, site.list.fields)
    if lacking:
        return Reading(engine, target.stage.value, refused=f"told as missing: {lacking}", records=records)
    return Reading(engine, target.stage.value, records=records)


def _lacking(records: tuple[Said, ...], stage: Stage, of_rows: Mapping[str, object]) -> str:
    """Return the field that `try` and `new` call missing."""
    if not any(record.text for record in records):
        return "title" if stage is Stage.LIST else "text"
    if stage is Stage.LIST and "author" not in of_rows:
        return ""
    if all(record.author is None for record in records):
        return "author"
    is_timeless = stage is not Stage.LIST and all(record.moment is None for record in records)
    return "time" if is_timeless else ""


def _records(stage: Stage, parsed: Parsed) -> list[Said]:
    if stage is Stage.LIST:
        return [Said(post.author, post.created_at, post.title or "") for post in parsed.items.posts]
    posts = [Said(post.author, post.created_at, post.body or "") for post in parsed.items.posts if stage is Stage.POST]
    return posts + [Said(reply.author, reply.created_at, reply.body or "") for reply in parsed.items.comments]


def _site_of(engine: str, address: str) -> tuple[Site, Target] | None:
    """Return the site below the likeliest directory whose addresses name this page, with the addresses that fit."""
    parts = urlsplit(address)
    folders = parts.path.split("/")[1:-1]
    prefixes = ["/" + "/".join(folders[:count]) if count else "" for count in range(len(folders) + 1)]
    others = [{}, *load_engine(engine).other_addresses]
    for other in others:
        for prefix in prefixes:
            try:
                site = _site(engine, f"{parts.scheme}://{parts.netloc}{prefix}", json.dumps(other))
                target = Addresses(site).read(address)
            except CrawlError:
                continue
            if target is not None:
                return site, target
    return None


@lru_cache(maxsize=512)
def _site(engine: str, base: str, other: str) -> Site:
    text = f"name: saved\nbase: {json.dumps(base)}\nengine: {engine}\n"
    stages = json.loads(other)
    lines = [f"{stage}: {json.dumps(addresses)}\n" for stage, addresses in stages.items()]
    return parse_site(text + "".join(lines), "saved.yaml")


def _parser(site: Site) -> SiteParser:
    return SiteParser(site)


def _carried_topic(address: str, body: bytes) -> tuple[str, bytes] | None:
    """Return the topic that a Discourse page carries for its own scripts, which is what its API answers."""
    source = body.decode("utf-8", "replace")
    found = re.search(r'data-preloaded="([^"]*)"', source)
    if found is None:
        return None
    for key, value in json.loads(unescape(found[1])).items():
        topic = re.fullmatch(r"topic_(\d+)", key)
        if topic:
            base = address.partition("/t/")[0]
            return f"{base}/t/{topic[1]}.json", value.encode()
    return None


def _fetched(address: str, body: bytes) -> Fetched:
    kind = "application/json" if body[:1] in b"{[" else "text/html"
    return Fetched(address, 200, {"content-type": kind}, body, SAVED_AT_S, seen_at=SAVED_AT_S)
