"""Forum discovery: the findings of one front page by a preset, or by proposed rules, with a list page as the proof."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from urllib.parse import urlsplit

from crawl_tasks.discovery.probe.fingerprints import LIKELY, EngineMatch, known_signs, likeliest, suspects
from crawl_tasks.discovery.probe.front_page import title_of
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.site_address import SiteAddress
from crawl_tasks.discovery.probe.timezone import Zone, zone_by_clock, zone_by_words, zone_said
from crawl_tasks.discovery.proof.dry_run import DryRun, try_boards
from crawl_tasks.discovery.proof.findings import Findings, preset_site_text
from crawl_tasks.discovery.proof.news_page import NewsPage, find_news_pages
from crawl_tasks.discovery.proof.preset_checks import misfit
from crawl_tasks.discovery.proposal import propose
from crawl_tasks.discovery.sub_boards import MOST_LOOKED_INTO, with_boards_below
from crawl_tasks.discovery.text.yaml_rules import scalar
from crawl_tasks.discovery.timezone_by_ages import FOOTER, words_of, zone_by_ages
from crawl_tasks.errors import ConfigError, PageError, RefusedAddress, SiteError
from crawl_tasks.model import Stage
from crawl_tasks.parse.board_index import FoundBoard, FrontPage, IndexReader
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.values.page_language import stated_language
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.board_index_spec import IndexSpec
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.presets import Engine, engine_names, load_engine
from crawl_tasks.sites.schema import Board, Site
from crawl_tasks.sites.stages import Format
from crawl_tasks.urls import origin_of

MOST_CANDIDATES = 3


class ForumDiscovery:
    """The discovery of one forum. `name` is the future name of the site."""

    def __init__(self, probe: HttpProbe, place: SiteAddress, name: str, *, contact: str | None = None) -> None:
        """Fetch the front page.

        Raises:
            FetchError: the page cannot be fetched.
            ConfigError: the page redirects to another host.
        """
        self._probe = probe
        self._contact = contact
        try:
            self.front = Document(probe.page(place.url))
        except RefusedAddress as error:
            # The address guard's message begins with the refused address.
            target = str(error).partition(": ")[0]
            if not target.startswith("http") or target == place.url:
                raise
            redirect = f"{place.url} redirects to {target}, which is another host; if that is the forum"
            raise ConfigError(f"{redirect}: crawl-tasks new {target}") from error
        self.place = replace(place, url=self.front.page.url)
        self.name = name
        self._remarks: list[str] = []
        self._misfits: dict[str, str] = {}
        if self.place.base != place.base:
            self._remarks.append(f"{place.base} redirects to {self.place.base}, which is crawled")

    def by_preset(self, engine: str | None = None) -> Findings | None:
        """Return the findings of the likeliest preset whose rules find boards and posts, None without one.

        Raises:
            ConfigError: the preset `engine` was asked for and finds nothing here.
        """
        best: Findings | None = None
        for suspect in self._candidates(engine):
            findings = self._with_preset(suspect)
            if findings is None:
                continue
            if engine is None and suspect.name in self._misfits:
                self._remarks.append(f"{suspect.title} is set aside: {self._misfits[suspect.name]}")
                continue
            if findings.trial is not None and findings.trial.rows:
                return self._told(findings)
            best = best or findings
        if best is None and engine is not None:
            raise ConfigError(f"{self.place.url}: the preset {engine} finds no boards here; {'; '.join(self._remarks)}")
        return self._told(best) if best is not None else None

    def by_proposal(self) -> Findings:
        """Propose rules for a forum whose program has no preset, from a list page and a thread page."""
        known = self._told(Findings(self.name, self.place, title=title_of(self.front), zone=self._zone(None)))
        return propose(self._probe, self.front, known, stated_language(self.front.source))

    def _candidates(self, engine: str | None) -> list[EngineMatch]:
        if engine is not None:
            return [EngineMatch(engine, load_engine(engine).about.title, 100, ("you said so",))]
        matches = suspects(self.front)
        if not matches or matches[0].score < LIKELY:
            # Probes cost requests, so they are for weak evidence only.
            matches = [*self._probed(), *matches]
        for suspect in likeliest(matches[:MOST_CANDIDATES]):
            is_known = suspect.name in engine_names()
            self._remarks.append(f"{suspect}" + ("" if is_known else "; there is no preset for it yet"))
        return [match for match in matches[:MOST_CANDIDATES] if match.name in engine_names()]

    def _probed(self) -> Iterator[EngineMatch]:
        """Request addresses that only one program has. Yield the first program that answers."""
        for name, signs in known_signs().items():
            for path, pattern in signs.probe.items():
                try:
                    page = self._probe.page(self.place.base + self.place.directory + path)
                except PageError:
                    continue
                if re.search(pattern, page.body[:50_000].decode("utf-8", "replace"), re.DOTALL):
                    yield EngineMatch(name, signs.title, LIKELY, (f"{path} answers as it does",))
                    return

    def _with_preset(self, suspect: EngineMatch) -> Findings | None:
        preset = load_engine(suspect.name)
        if preset.index is None:
            self._remarks.append(f"{suspect.title}: its preset does not say how boards are found; list them yourself")
            return None
        try:
            met = self._first_front_page(suspect.name, preset.index)
        except SiteError as error:
            self._remarks.append(f"{suspect.title}: {error}")
            return None
        if met is None:
            self._remarks.append(f"{suspect.title}: no boards found on {', '.join(preset.index.address)}")
            return None
        site, front = met
        rules = _other_addresses(preset, site, front.boards)
        prefix = _prefix(front.boards, self._site(suspect.name, urlsplit(site.base).path, rules))
        located = self._site(suspect.name, prefix, rules)
        trial, reason = self._proof(located, front.boards)
        if reason:
            self._misfits[suspect.name] = reason
        elif trial is not None and trial.error:
            self._remarks.append(f"{suspect.title}: {trial.error}")
        boards, by_link = front.boards, _is_linked(located) or _was_sent_on(trial, front.boards)
        # An API lists all boards at once, and its list pages have other objects in the place of boards.
        if trial is not None and trial.rows and preset.index.format is Format.HTML:
            reader = IndexReader(located, preset.index)
            boards = with_boards_below(self._probe, reader, Addresses(located), boards, by_link=by_link)
            if len(boards) > MOST_LOOKED_INTO:
                self._remarks.append(
                    f"boards below others were looked for on the pages of the first {MOST_LOOKED_INTO}"
                )
        return Findings(
            self.name,
            self.place,
            title=title_of(self.front),
            suspect=suspect,
            prefix=prefix,
            zone=self._zone(
                front.zone or self._zone_apart(located, preset.index, prefix), changes=preset.index.clock_changes
            ),
            boards=boards,
            has_board_addresses=by_link,
            left_out=front.left_out,
            trial=trial,
            rules=rules,
            news=self._news_pages(located, preset.index, trial) if len(boards) > 1 else (),
        )

    def _site(self, engine: str, prefix: str, rules: str = "") -> Site:
        return parse_site(preset_site_text(self.name, self.place, engine, prefix) + rules, f"preset {engine}")

    def _first_front_page(self, engine: str, index: IndexSpec) -> tuple[Site, FrontPage] | None:
        """Return the front page below the likeliest path, else below the paths above, with the site for that path."""
        for directory in self.place.directories:
            site = self._site(engine, directory)
            front = self._front_page(IndexReader(site, index), index, directory)
            if front is not None:
                return site, front
        return None

    def _front_page(self, reader: IndexReader, index: IndexSpec, directory: str) -> FrontPage | None:
        """Return the first page with boards: the one we were sent to, else those that the preset names."""
        urls = [self.place.url, *(self.place.base + directory + path for path in index.address)]
        for url in dict.fromkeys(urls):
            try:
                front = reader.read(self._probe.page(url))
            except PageError:
                continue
            if front.boards:
                return front
        return None

    def _proof(self, site: Site, boards: tuple[FoundBoard, ...]) -> tuple[DryRun | None, str]:
        """Return the dry run of the first list page with posts, else of the last one, and why the rules do not fit."""
        is_linked = _is_linked(site)
        known = tuple(Board(id=board.board_id, address=board.url if is_linked else None) for board in boards)
        opened = compile_site(site.model_copy(update={"named_boards": known}), self._contact)
        trial = None
        for trial in try_boards(self._probe, opened):
            if trial.rows:
                break
        return trial, "" if trial is None else misfit(self._probe, opened, trial)

    def _news_pages(self, site: Site, index: IndexSpec, trial: DryRun | None) -> tuple[NewsPage, ...]:
        if trial is None or not trial.rows:
            return ()
        return find_news_pages(self._probe, site, index, trial, self._contact)

    def _zone_apart(self, site: Site, index: IndexSpec, prefix: str) -> str | None:
        """Return the zone from the page that names one, if the preset knows such a page."""
        if index.timezone_at is None:
            return None
        try:
            page = self._probe.page(self.place.base + prefix + index.timezone_at)
            return IndexReader(site, index).zone(page)
        except PageError:
            return None

    def _zone(self, shown: str | None, *, changes: bool = False) -> Zone | None:
        """Return the zone from the text that the preset found, else from the end of the page."""
        language = stated_language(self.front.source)
        if shown:
            at_s = self.front.page.at_s
            zone = zone_said(shown, language=language)
            zone = zone or zone_by_clock(shown, at_s, language=language, changes=changes)
            if zone is not None:
                return zone
        words = words_of(self.front)
        return zone_said(words[-FOOTER:], language=language) or zone_by_words(
            words, self.front.page.at_s, language=language
        )

    def _told(self, findings: Findings) -> Findings:
        delay = self._probe.crawl_delay_s(self.place.url)
        zone = findings.zone
        if zone is None and findings.trial is not None and findings.trial.page is not None:
            zone = zone_by_ages([Document(findings.trial.page)], language=stated_language(self.front.source))
        sessions = sorted(self._probe.sessions)
        if findings.suspect is not None and sessions:
            known = parse_site(preset_site_text(self.name, self.place, findings.suspect.name), self.name).drop_params
            sessions = [*known, *new] if (new := [name for name in sessions if name not in known]) else []
        return replace(
            findings, delay_s=delay, zone=zone, remarks=tuple(self._remarks), sessions=tuple(sessions),
            language=stated_language(self.front.source).partition("-")[0].lower(),
        )  # fmt: skip


def _is_linked(site: Site) -> bool:
    """Return whether links lead to the list pages: then a board's address is its link's."""
    return not re.search(r"\{(page|offset)", site.list.address or "")


def _was_sent_on(trial: DryRun | None, boards: tuple[FoundBoard, ...]) -> bool:
    """Return whether the forum redirects the address made from a board's id to the board's link."""
    if trial is None or trial.page is None or trial.page.url == trial.request.address:
        return False
    return any(board.url == trial.page.url for board in boards)


def _prefix(boards: tuple[FoundBoard, ...], site: Site) -> str:
    """Return the path of the forum's directory by the addresses of its boards, else the path of the site."""
    template = Addresses(site).template(Stage.LIST, 1)
    origin, guessed = origin_of(site.base), urlsplit(site.base).path
    if template is None:
        return guessed
    fixed = _beginning(template.text.removeprefix(site.base))
    for board in boards:
        path = (board.url or "").removeprefix(origin)
        if fixed in path and path != board.url:
            return path[: path.index(fixed)].rstrip("/")
    return guessed


def _other_addresses(preset: Engine, site: Site, boards: tuple[FoundBoard, ...]) -> str:
    """Return the addresses that boards have in place of the preset's own, as lines of a site file."""

    def is_linked(address: str) -> bool:
        return any(_beginning(address) in (board.url or "") for board in boards)

    addresses = Addresses(site)
    usual = addresses.template(Stage.LIST, 1)
    if usual is None or is_linked(usual.text.removeprefix(site.base)):
        return ""
    is_read = any(board.url is not None and addresses.read(board.url) is not None for board in boards)
    for stages in preset.other_addresses:
        address = stages["list"].get("first_address") or stages["list"]["address"]
        if is_linked(address) if address is not None else not is_read:
            return "".join(f"{stage}: {{{_written(texts.items())}}}\n" for stage, texts in stages.items())
    return ""


def _written(texts: Iterable[tuple[str, str | None]]) -> str:
    return ", ".join(f"{key}: {'null' if text is None else scalar(text)}" for key, text in texts)


def _beginning(template: str) -> str:
    return template.partition("{")[0]
