"""The types of the registry: a problem, its kind, and the Prometheus alerting rule of a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from string import Formatter
from typing import NamedTuple

from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.window import Window

Fields = Mapping[str, object]
"""Values of the braces in a kind's text and remedy."""

Condition = Callable[[Window], Iterator[tuple[str, Fields]]]
"""A function that returns the subjects with the problem, and the fields of the text."""


class Severity(StrEnum):
    """Severity of a problem, with the words of Prometheus' rules."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Return a number for sorting, greater for graver problems."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


class Problem(NamedTuple):
    """A problem of a subject, which is a site, a queue or, where empty, the whole installation or one `cell`."""

    name: str
    severity: Severity
    subject: str
    text: str
    remedy: str
    cell: str = ""

    @property
    def key(self) -> str:
        """Return the identity of the problem: name, subject and cell."""
        return " ".join(filter(None, (self.name, self.subject, self.cell)))

    @property
    def summary(self) -> str:
        """Return the text, after the cell and the subject where the problem has one."""
        place = ", ".join(filter(None, (self.cell and gettext("cell {cell}", cell=self.cell), self.subject)))
        return gettext("{place}: {problem}", place=place, problem=self.text) if place else self.text

    def advice(self, site: str = "") -> str:
        """Return summary and remedy, without the subject in a view of only this `site`."""
        problem = self.text if self.subject == site else self.summary
        return gettext("{problem}; {remedy}", problem=problem, remedy=self.remedy)


@dataclass(frozen=True, slots=True)
class AlertRule:
    """The alerting rule of Prometheus: expression, hold time (`for`), and templates for the fields of the kind."""

    expression: str
    hold: str = ""
    fields: Mapping[str, str] = field(default_factory=lambda: {"count": "{{ $value }}"})


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the registry. `text` and `remedy` have fields in braces, and `scope` is the type of a subject.

    A `condition` finds the problem in a window. A condition with `takes_window` needs two snapshots. A problem
    `is_of_all_cells` where no single cell shows it. `singular` is the text where the field `count` is 1.
    """

    name: str
    severity: Severity
    text: str
    remedy: str
    scope: str = ""
    condition: Condition | None = None
    takes_window: bool = False
    is_of_all_cells: bool = False
    rule: AlertRule | None = None
    singular: str = ""

    def problem(self, subject: str = "", **fields: object) -> Problem:
        """Return the problem of a subject."""
        wording = self.singular if self.singular and fields.get("count") == 1 else self.text
        text, remedy = [gettext(part, subject=subject, **fields) for part in (wording, self.remedy)]
        return Problem(self.name, self.severity, subject, text, remedy)

    def fields(self) -> set[str]:
        """Return the names of all fields of text and remedy."""
        return {name for part in (self.text, self.remedy) for _, name, _, _ in Formatter().parse(part) if name}
