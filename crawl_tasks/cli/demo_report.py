"""The report of the demo: as text for people, and as JSON for programs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.ledger import ledger_line, ledger_row
from crawl_tasks.cli.summary import stats_text
from crawl_tasks.cli.terminal import own_name
from crawl_tasks.local.compare import Comparison
from crawl_tasks.logs import hide_passwords, printable
from crawl_tasks.operate.crawl import Finish
from crawl_tasks.operate.demo import DemoResult


class DemoReport(NamedTuple):
    """The result of a demo run, with its report page, its logs and its exit code."""

    result: DemoResult
    page: Path
    logs: Path
    exit_code: Exit


def report_text(report: DemoReport) -> str:
    """Return the report as text for a person."""
    result, asked = report.result, report.result.asked
    lines = ["crawl stats", stats_text(result.stats), "", "compared with the ground truth"]
    lines += [_comparison_line(kind, comparison) for kind, comparison in result.comparisons.items()]
    lines += [f"    {printable(text)}" for comparison in result.comparisons.values() for text in comparison.examples]
    lines += [
        "",
        f"ledger    {'; '.join(ledger_line(site.counts) for site in result.end.sites)}",
        f"requests  {asked.requests} for {len(asked.by_path)} of the forum's {asked.pages} pages, as its own log counts"
        f" them; {len(asked.repeated) or 'none'} asked for more than once",
        f"database  {hide_passwords(result.database)}",
        f"export    {result.export} ({result.exported_rows} rows)",
        f"report    {report.page} (plots of pages, posts, backlog, latencies)",
        f"logs      {report.logs}",
    ]
    if result.flower:
        lines.append(f"flower    {result.flower} (while a crawl runs)")
    return "\n".join([*lines, f"next      {next_command(report)}"])


def _comparison_line(kind: str, found: Comparison) -> str:
    verdict = "equal in every field" if found.is_equal else _faults(found)
    return f"  {kind:<9} {found.expected} expected, {found.stored} stored: {verdict}"


def _faults(found: Comparison) -> str:
    differing = [f"{count} differ in {name}" for name, count in sorted(found.differing.items())]
    return ", ".join([f"{found.missing} missing", f"{found.surplus} too many", *differing])


def next_command(report: DemoReport) -> str:
    """Return the command to run next."""
    if report.result.finish is not Finish.IDLE:
        return f"{own_name()} demo            (goes on from here)"
    if not report.result.is_right:
        return f"{own_name()} demo --fresh    (begins again; what went wrong stands in {report.logs})"
    return f"{own_name()} demo --mutate   (the forum moves on; only what changed is fetched)"


def report_row(report: DemoReport) -> dict[str, object]:
    """Return the report as JSON values."""
    result = report.result
    return {
        "exit_code": int(report.exit_code),
        "is_right": result.is_right,
        "finish": result.finish.value,
        "stats": dict(result.stats),
        "truth": {
            kind: {**asdict(comparison), "is_equal": comparison.is_equal}
            for kind, comparison in result.comparisons.items()
        },
        "ledger": [ledger_row(site.counts) for site in result.end.sites],
        "requests": {
            "total": result.asked.requests,
            "pages_asked": len(result.asked.by_path),
            "pages_of_forum": result.asked.pages,
            "repeated": result.asked.repeated,
            "by_path": dict(result.asked.by_path),
        },
        "database": hide_passwords(result.database),
        "export": str(result.export),
        "page": str(report.page),
        "logs": str(report.logs),
        "flower": result.flower,
    }
