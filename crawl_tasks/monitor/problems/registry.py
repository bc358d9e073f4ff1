"""The registry of problems: all kinds in one table, and the problems that hold in a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crawl_tasks.monitor.problems.inhibition import Finding, with_inhibited
from crawl_tasks.monitor.problems.installation_kinds import BEAT_SILENT, INSTALLATION_KINDS, NO_WORKER
from crawl_tasks.monitor.problems.kinds import Kind, Problem, Severity
from crawl_tasks.monitor.problems.ledger_kinds import DISAGREEMENT_KINDS, FLAW_KINDS
from crawl_tasks.monitor.problems.setup_kinds import SETUP_KINDS
from crawl_tasks.monitor.problems.site_kinds import SITE_KINDS
from crawl_tasks.monitor.problems.window import Window
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (*INSTALLATION_KINDS, *SITE_KINDS, *SETUP_KINDS, *FLAW_KINDS.values(), *DISAGREEMENT_KINDS)
}
"""All kinds by name, those of the whole installation first."""

ALERTS = tuple(kind for kind in KINDS.values() if kind.rule and kind.condition)
"""Kinds that are sent as alerts. Prometheus has a rule for each."""


_OF_A_CRAWL = frozenset(
    (
        "CrawlNoWorker",
        "CrawlBeatSilent",
        "CrawlNoProgress",
        "CrawlSiteLate",
        "CrawlOutboxGrows",
        "CrawlStoreFails",
        "CrawlWorkersDie",
        "CrawlAlertsSilent",
        "CrawlAlertsUnsent",
    )
)
"""Kinds that tell of processes that are missing or slow, while none is meant to run."""


def find_problems(snapshot: Snapshot, kinds: Iterable[Kind] = tuple(KINDS.values())) -> list[Problem]:
    """Return the present problems, the gravest first, without those that follow from another one.

    Rates are judged where the snapshot has the counters of an earlier moment.
    """
    return [finding.problem for finding in judge(snapshot, kinds) if not finding.is_implied]


def judge(snapshot: Snapshot, kinds: Iterable[Kind] = tuple(KINDS.values())) -> list[Finding]:
    """Return the present problems with those that follow from another one, the gravest first."""
    # One for all kinds: each knows its sites that are not paused.
    whole = Window(snapshot)
    parts = [Window(part) for part in snapshot.parts]
    problems = [
        (window.snapshot.cell, _in_cell(kind.problem(subject, **fields), kind, window.snapshot.cell if parts else ""))
        for kind in kinds
        if not (snapshot.is_at_rest and kind.name in _OF_A_CRAWL)
        for window in ([whole] if not parts or kind.is_of_all_cells else parts)
        if kind.condition and (window.before or not kind.takes_window)
        for subject, fields in kind.condition(window)
    ]
    # Those of one severity keep their order, in which causes come first.
    return sorted(with_inhibited(problems), key=lambda finding: -finding.problem.severity.rank)


def _in_cell(problem: Problem, kind: Kind, cell: str) -> Problem:
    # A site is in one cell, so that its name says enough.
    return problem._replace(cell=cell) if cell and kind.scope not in ("site", "cell") else problem


class CurrentProblems:
    """The problems of a snapshot, for views that show a selection of them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.installation: list[Problem] = []
        self._cells = {site.name: part.cell for part in snapshot.parts for site in part.sites}
        self._of_sites: dict[str, list[Problem]] = {}
        for problem in find_problems(snapshot):
            is_of_site = KINDS[problem.name].scope == "site"
            (self._of_sites.setdefault(problem.subject, []) if is_of_site else self.installation).append(problem)

    @property
    def beside_processes(self) -> list[Problem]:
        """Return the problems of the installation except missing processes, for a command that is starting them."""
        # They are missing for the first seconds of every `run`, and a screen full of alarms would hide the others.
        starting = (NO_WORKER.name, BEAT_SILENT.name)
        return [problem for problem in self.installation if problem.name not in starting]

    def own(self, site: SiteSnapshot) -> list[Problem]:
        """Return only the problems of a site."""
        return self._of_sites.get(site.name, [])

    def of(self, site: SiteSnapshot) -> list[Problem]:
        """Return the problems of a site, and the problems of the installation that hold this site back."""
        # Its own warnings come first. A view with one problem a site shows those of the installation above the table.
        own = self.own(site)
        notes = [problem for problem in own if problem.severity is Severity.INFO]
        return own if site.is_paused else [*own[: len(own) - len(notes)], *self._holding_back(site), *notes]

    def _holding_back(self, site: SiteSnapshot) -> Iterator[Problem]:
        stages = site.counts.stages.items()
        waiting = {stage.value for stage, count in stages if count.ready + count.released}
        for problem in self.installation:
            is_unserved = problem.name == NO_WORKER.name and problem.subject in waiting
            is_unscanned = problem.name == BEAT_SILENT.name and (site.boards.late or site.boards.unscanned)
            if (is_unserved or is_unscanned) and problem.cell == self._cells.get(site.name, problem.cell):
                yield problem
