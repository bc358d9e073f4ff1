"""Discovery: from the address of a forum to a site file that the forum's own pages do not refute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from zoneinfo import ZoneInfo

from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.site_address import SiteAddress
from crawl_tasks.discovery.proof.checks import check_trials
from crawl_tasks.discovery.proof.date_samples import samples_of
from crawl_tasks.discovery.proof.dry_run import DryRun, missing_in, thin_fields, try_site
from crawl_tasks.discovery.proof.findings import Findings, site_file
from crawl_tasks.discovery.proof.gone_thread import with_gone_rules
from crawl_tasks.discovery.proof.news_page import find_linking_page
from crawl_tasks.discovery.proof.site_check import SiteCheck
from crawl_tasks.discovery.start_page import find_forum
from crawl_tasks.discovery.text.yaml_rules import settled
from crawl_tasks.discovery.timezone_by_ages import zone_by_trials
from crawl_tasks.discovery.timezone_by_feed import feed_differences, zone_by_feed
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.schema import Site

_MOST_MISSING = 3
"""The most errors of pages that are listed one by one."""


@dataclass(frozen=True, slots=True)
class SiteProposal:
    """A proposed site file, with the checks that its forum's pages allow. `refuted` are the reasons against the file.

    Where there are any, the file names them too.
    """

    findings: Findings
    checks: tuple[SiteCheck, ...]
    refuted: tuple[str, ...]

    @property
    def text(self) -> str:
        """The site file."""
        return site_file(self.findings)


class _SiteFindings(NamedTuple):
    """Findings, and the site that their file describes."""

    findings: Findings
    site: Site


def propose_site_file(
    probe: HttpProbe, place: SiteAddress, name: str, engine: str | None, *, contact: str | None, origin: str
) -> SiteProposal:
    """Find the forum of an address, write its site file, and compare what the file reads on pages of the forum.

    `name` is the future name of the site, `engine` the preset to use in place of the likeliest one, and `origin` names
    the file in messages.

    Raises:
        CrawlError: there is no forum that guests can read, or the preset reads nothing here.
    """
    findings = find_forum(probe, place, name, engine, contact=contact)
    draft = _site_findings(replace(findings, encoding=probe.guessed_charset()), origin)
    draft = _with_linking_page(probe, draft, place, contact=contact, origin=origin)
    draft, trials = _tried(probe, draft, contact=contact, origin=origin)
    return _judged(_with_gone_rules(probe, draft, trials, contact), draft.site, trials)


def _site_findings(findings: Findings, origin: str) -> _SiteFindings:
    return _SiteFindings(findings, parse_site(site_file(findings), origin))


def _with_linking_page(
    probe: HttpProbe, draft: _SiteFindings, place: SiteAddress, *, contact: str | None, origin: str
) -> _SiteFindings:
    """Return the draft with the page that links the boards, where the preset names no front page."""
    findings, site = draft
    if site.front is not None:
        return draft
    linking = find_linking_page(probe, site, (findings.place.url, place.url), contact)
    return draft if linking is None else _site_findings(replace(findings, news=(*findings.news, linking)), origin)


def _tried(
    probe: HttpProbe, draft: _SiteFindings, *, contact: str | None, origin: str
) -> tuple[_SiteFindings, list[DryRun]]:
    """Return the pages that were tried, and the draft with the time zone and the dates that they show together."""
    findings, site = draft
    opened = compile_site(site, contact)
    trials = list(try_site(probe, opened))
    zone = findings.zone or zone_by_feed(feed_differences(probe, site, trials), site) or zone_by_trials(trials)
    order = opened.parser.date_orders.last
    if (zone, order.order) != (findings.zone, None):
        # What all pages together tell is not known while the first of them are read.
        draft = _site_findings(replace(findings, zone=zone, order=order), origin)
        trials = list(try_site(probe, compile_site(draft.site, contact)))
    findings, site = draft
    clock = ZoneInfo(site.timezone)
    dates = tuple(sample.line(clock) for sample in samples_of(site, trials, order))
    return _SiteFindings(replace(findings, dates=dates), site), trials


def _with_gone_rules(probe: HttpProbe, draft: _SiteFindings, trials: Sequence[DryRun], contact: str | None) -> Findings:
    """Return the findings whose proposed rules know the page of a gone thread."""
    findings, site = draft
    if not findings.rules:
        return findings
    rules, remark = with_gone_rules(probe, compile_site(site, contact), trials, findings.rules)
    return replace(findings, rules=rules, remarks=(*findings.remarks, *filter(None, [remark])))


def _judged(findings: Findings, site: Site, trials: Sequence[DryRun]) -> SiteProposal:
    """Return the file with the checks of the pages that were tried, and with what refutes or weakens its rules."""
    checks = check_trials(site, trials)
    refuted = [*findings.doubts, *shortened(missing_in(trials)), *(str(check) for check in checks if not check.holds)]
    weak = [*thin_fields(trials), *(str(check) for check in checks if check.holds and check.evidence)]
    remarks = [f"refuted: {reason}" for reason in refuted]
    if findings.rules:
        remarks += [f"weak: {reason}" for reason in weak]
    rules = findings.rules if refuted else settled(findings.rules)
    findings = replace(findings, rules=rules, remarks=(*findings.remarks, *remarks))
    return SiteProposal(findings, tuple(checks), tuple(refuted))


def shortened(errors: Sequence[str]) -> list[str]:
    """Return the first errors of pages, and the number of the others: a forum may answer 404 for each thread."""
    more = len(errors) - _MOST_MISSING
    return [*errors] if more < 2 else [*errors[:_MOST_MISSING], f"{more} more errors like these"]
