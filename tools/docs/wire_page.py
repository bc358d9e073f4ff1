"""The page about what crosses from Python to Lua, docs/wire.md, made from the tables of frontier/wire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from crawl_tasks.errors import BadStatus
from crawl_tasks.frontier.wire.entry_format import FLAG_MEANINGS, TEXTS, Flag
from crawl_tasks.frontier.wire.failures import DENIED_STATUSES, FAILURES, GONE_STATUSES
from crawl_tasks.frontier.wire.guard_marks import ADDRESS_BITS, ASKED, GONE, NONE, REST_BITS, REVISIONS, SOURCES
from crawl_tasks.frontier.wire.lease_end import COMMIT_ROWS, FAIL_ROWS, FieldRow
from crawl_tasks.frontier.wire.site_terms import KEPT_TERMS, SITE_STATE, SITE_TERMS
from crawl_tasks.model.status_rules import PAGE_STATUSES, STATUS_RULES
from crawl_tasks.sites.crawl_policy import GuardMode, Order

_HEAD = """\
# Between Python and Lua

Workers are written in Python, and the scripts that change Redis in Lua. This page lists each code, term, field and
argument that both know. `make docs` makes it from the tables in `crawl_tasks/frontier/wire`, and the scripts get the
same tables as `WIRE` when they are loaded. So a change has one place, and tests on a real server hold both sides
against it.

The codes may change with each version. Only the library that a worker loads reads them.
"""


def wire_page() -> str:
    """Return the text of docs/wire.md."""
    return "\n".join([_HEAD, *_statuses(), *_failures(), *_modes(), *_site(), *_texts(), *_arguments()])


def _list(rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a list: the first cell of each row, the middle ones in brackets, and the last one."""
    lines = []
    for first, *middle, last in rows:
        terms = ", ".join(str(term) for term in middle if term != "")
        lines.append(f"- {first}{f' ({terms})' if terms else ''}: {last}".removesuffix(": "))
    return [*lines, ""]


def _ranges(statuses: Iterable[int]) -> str:
    """Return statuses in order, with `to` in a run of three or more."""
    parts: list[str] = []
    for _, run in groupby(enumerate(sorted(statuses)), lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        parts += [f"{numbers[0]} to {numbers[-1]}"] if len(numbers) > 2 else map(str, numbers)
    return ", ".join(parts)


def _statuses() -> list[str]:
    rows = [(_ranges(PAGE_STATUSES), "a page", "")]
    rows += [(_ranges(statuses), f"`{kind.__name__}`", kind.fate.value) for kind, statuses in STATUS_RULES.items()]
    rows.append(("any other", f"`{BadStatus.__name__}`", BadStatus.fate.value))
    return [
        "## Statuses\n",
        "A status means an error by `crawl_tasks/model/status_rules.py`. The error decides the fate of the request.\n",
        *_list(rows),
        f"`WIRE.gone` holds {_ranges(GONE_STATUSES)}. `WIRE.denied` holds {_ranges(DENIED_STATUSES)}, by which a forum"
        " hides a thread. When all pages of a site end with one of these, or with a page that says so, the ledger"
        " doubts that they are gone.\n",
    ]


def _failures() -> list[str]:
    rows = []
    for row in FAILURES:
        signs = [sign for sign, holds in (("refuses", row.refuses), ("strains", row.strains)) if holds]
        rows.append((f"`{row.name}`", ", ".join([f"`{row.reason}`", row.fate.value, *signs])))
    return [
        "## Failures\n",
        "Each class of `crawl_tasks/errors.py` has a reason and a fate. A failure that *refuses* is one of the whole"
        " site and opens a circuit breaker. One that *strains* may slow the site down. One that refuses and does not"
        " strain says nothing of its page. Lua says `WIRE.reason.AllGone` for the reason of a class.\n",
        *_list(rows),
    ]


def _modes() -> list[str]:
    return [
        "## Guard modes, orders and browsers\n",
        "These terms have one word for each stage, in the order list, post, comment: `rolling exact exact`.\n",
        *_list(
            [
                ("`guard`", ", ".join(f"`{mode.value}`" for mode in GuardMode)),
                ("`order`", ", ".join(f"`{order.value}`" for order in Order)),
                ("`rendered`", "`yes`, `no`"),
            ],
        ),
    ]


def _site() -> list[str]:
    terms = [
        (f"`{term.name}`", term.type.value, f"`{term.default}`" if term.default != "" else "empty", term.meaning)
        for term in SITE_TERMS
    ]
    kept = [(f"`{term.name}`", term.meaning) for term in KEPT_TERMS]
    state = [
        (f"`{field.name}{':STAGE' if field.is_by_stage else ''}`", field.type.value, field.meaning)
        for field in SITE_STATE
    ]
    return [
        "## Terms of a site\n",
        "A publication writes the terms of the site file, times in ms. A script reads them as `site.terms`, and no"
        " script writes to them. The default counts where a publication names no such term.\n",
        *_list(terms),
        "These are for Python only:\n",
        *_list(kept),
        "## State of a site\n",
        "Scripts read and write these fields of the same hash with each call. An optional field is false in Lua where"
        " it is missing, a text empty, a number 0.\n",
        *_list(state),
    ]


def _texts() -> list[str]:
    shapes = [(f"`{name}`", f"`{' '.join(field.name for field in fields)}`") for name, fields in TEXTS.items()]
    fields = {field.name: field for shape in TEXTS.values() for field in shape}
    rows = [(f"`{field.name}`", f"`{field.pattern}`", field.meaning) for field in fields.values()]
    return [
        "## Texts that hold a request\n",
        "An *entry* is a request in a ready list, among the delayed, or behind the reason of a failure. A *held* entry"
        " is one in `open`. A *line* asks for admission. The others are parts of these. Lua reads the stage and the"
        " address of an entry by the pattern `WIRE.entry.stage_address`, and all from a field on as `work` or"
        " `request`.\n",
        *_list(shapes),
        "Their fields, with the pattern that matches each in Lua:\n",
        *_list(rows),
        f"The word of the guard is `address.rest.mark`: {ADDRESS_BITS} and {REST_BITS} bits of the page's hash, and"
        f" revision * {SOURCES} + source. Revisions end at {REVISIONS}. Above them stand {ASKED} (asked again), {GONE}"
        f" (gone) and {NONE} (none).\n",
        "### Flags of a line\n",
        "The flag says which lines the guard lets pass.\n",
        *_list([(f"`{flag.value}`", flag.name, FLAG_MEANINGS[flag]) for flag in Flag]),
    ]


def _rows_of(rows: Sequence[FieldRow]) -> list[str]:
    return [*(f"{place}. `{row.name}` ({row.type.value}): {row.meaning}" for place, row in enumerate(rows, 1)), ""]


def _arguments() -> list[str]:
    return [
        "## Arguments of commit.lua\n",
        "Lua has each argument as a local of its name. The lines of the children stand behind them.\n",
        *_rows_of(COMMIT_ROWS),
        "## Arguments of fail.lua\n",
        "The same holds for a lease that ends without a result.\n",
        *_rows_of(FAIL_ROWS),
    ]
