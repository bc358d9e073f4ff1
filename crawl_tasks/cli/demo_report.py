"""The report of the demo: as text for people, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.ledger import ledger_line, ledger_row
from crawl_tasks.cli.summary import stats_text
from crawl_tasks.cli.terminal import own_name
from crawl_tasks.local.compare import Comparison
from crawl_tasks.logs import hide_passwords, printable
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.operate.crawl import Finish
from crawl_tasks.operate.demo import Asked
from crawl_tasks.operate.summary import Stats, is_clean


@dataclass(frozen=True, slots=True)
class DemoReport:
    """The results of a demo run."""

    finish: Finish
    stats: Stats
    comparisons: Mapping[str, Comparison]
    end: Snapshot
    asked: Asked
    database: str
    export: Path
    exported_rows: int
    page: Path
    logs: Path
    flower: str
    early_code: int

    @property
    def is_right(self) -> bool:
        """Return whether the database equals the ground truth and every ledger balances."""
        return all(comparison.is_equal for comparison in self.comparisons.values()) and is_clean(self.end)

    @property
    def exit_code(self) -> int:
        """Return the exit code of the demo."""
        return self.early_code or (Exit.OK if self.is_right else Exit.FAILURES)


def report_text(report: DemoReport) -> str:
    """Return the report as text for a person."""
    asked = report.asked
    lines = ["crawl stats", stats_text(report.stats), "", "compared with the ground truth"]
    lines += [_comparison_line(kind, comparison) for kind, comparison in report.comparisons.items()]
    lines += [f"    {printable(text)}" for comparison in report.comparisons.values() for text in comparison.examples]
    lines += [
        "",
        f"ledger    {'; '.join(ledger_line(site.counts) for site in report.end.sites)}",
        f"requests  {asked.requests} for {len(asked.by_path)} of the forum's {asked.pages} pages, as its own log counts"
        f" them; {len(asked.repeated) or 'none'} asked for more than once",
        f"database  {hide_passwords(report.database)}",
        f"export    {report.export} ({report.exported_rows} rows)",
        f"report    {report.page} (plots of pages, posts, backlog, latencies)",
        f"logs      {report.logs}",
    ]
    if report.flower:
        lines.append(f"flower    {report.flower} (while a crawl runs)")
    return "\n".join([*lines, f"next      {next_command(report)}"])


def _comparison_line(kind: str, found: Comparison) -> str:
    verdict = "equal in every field" if found.is_equal else _faults(found)
    return f"  {kind:<9} {found.expected} expected, {found.stored} stored: {verdict}"


def _faults(found: Comparison) -> str:
    differing = [f"{count} differ in {name}" for name, count in sorted(found.differing.items())]
    return ", ".join([f"{found.missing} missing", f"{found.surplus} too many", *differing])


def next_command(report: DemoReport) -> str:
    """Return the command to run next."""
    if report.finish is not Finish.IDLE:
        return f"{own_name()} demo            (goes on from here)"
    if not report.is_right:
        return f"{own_name()} demo --fresh    (begins again; what went wrong stands in {report.logs})"
    return f"{own_name()} demo --mutate   (the forum moves on; only what changed is fetched)"


def report_row(report: DemoReport) -> dict[str, object]:
    """Return the report as JSON values."""
    return {
        "exit_code": int(report.exit_code),
        "is_right": report.is_right,
        "finish": report.finish.value,
        "stats": dict(report.stats),
        "truth": {
            kind: {**asdict(comparison), "is_equal": comparison.is_equal}
            for kind, comparison in report.comparisons.items()
        },
        "ledger": [ledger_row(site.counts) for site in report.end.sites],
        "requests": {
            "total": report.asked.requests,
            "pages_asked": len(report.asked.by_path),
            "pages_of_forum": report.asked.pages,
            "repeated": report.asked.repeated,
            "by_path": dict(report.asked.by_path),
        },
        "database": hide_passwords(report.database),
        "export": str(report.export),
        "page": str(report.page),
        "logs": str(report.logs),
        "flower": report.flower,
    }
