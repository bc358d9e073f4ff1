"""Charts as inline SVG: small pictures of numbers that need no script and no other file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from statistics import median

from crawl_tasks.monitor.output_language import gettext

SPARK = (96, 24)
PLOT = (400, 130)
GAP = 2.5
"""The time between two values, in usual ones, from which on the line is broken: nobody looked meanwhile."""
_LEFT, _BOTTOM, _TOP = 44, 18, 8

Point = tuple[float, float]


def spark(values: Sequence[float], moments: Sequence[int], name: str) -> str:
    """Return a sparkline: values as a small line above a filled area, from 0 to the greatest value."""
    width, height = SPARK
    # Never 0, which would divide by zero where all values are 0.
    lines = _lines(values, moments, (width, height - 2), max([*values, 1e-9]))
    label = gettext("{name}: none yet", name=name)
    if values:
        text = "{name}: last {last:.0f}, at most {most:.0f}"
        label = gettext(text, name=name, last=values[-1], most=max(values))
    drawn = [
        f'<polygon class="area" points="{line[0][0]:.1f},{height} {_path(line, 0, 1)} {line[-1][0]:.1f},{height}"/>'
        f'<polyline class="line" points="{_path(line, 0, 1)}"/>'
        for line in lines
    ]
    return (
        f'<svg class="spark" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
        f"{''.join(drawn)}</svg>"
    )


def plot(
    series: Sequence[tuple[str, Sequence[float | None]]],
    moments: Sequence[int],
    title: str,
    times: tuple[str, str],
    unit: str = "",
) -> str:
    """Return a line chart of up to four series over the same time, with scale, time span and legend.

    Args:
        series: names and values, oldest first. None is a gap: there was nothing to measure.
        moments: the time of each value in ms, which the pointer shows with the values.
        title: the caption.
        times: the labels of the first and the last value.
        unit: the suffix of the numbers on the scale.
    """
    width, height = PLOT
    title = gettext(title)
    top = max([value for _, values in series for value in values if value is not None] or [0.0])
    scale = nice(top)
    room = (width - _LEFT - 2, height - _BOTTOM - _TOP)
    lines = [
        f'<polyline class="line c{number}" points="{_path(line, _LEFT, _TOP)}"/>'
        for number, (_, values) in enumerate(series)
        for line in _lines(values, moments, room, scale)
    ]
    legend = "".join(f'<span class="key c{number}">{escape(name)}</span>' for number, (name, _) in enumerate(series))
    grid = "".join(_grid_line(share, scale, unit) for share in (0.0, 0.5, 1.0))
    ends = ", ".join(f"{name} {number(values[-1])}" for name, values in series if values)
    text = "{title} {values} at the end" if ends else "{title} none yet"
    label = escape(gettext(text, title=title, values=ends))
    first, last = map(escape, times)
    axis = (
        f'<text x="{_LEFT}" y="{height - 4}">{first}</text>'
        f'<text x="{width - 2}" y="{height - 4}" text-anchor="end">{last}</text>'
    )
    return (
        f"<figure><figcaption>{escape(title)} {legend if len(series) > 1 else ''}</figcaption>"
        f'<svg class="plot" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        f"{grid}{axis}{''.join(lines)}{_under_pointer(series, moments, unit)}</svg></figure>"
    )


def _under_pointer(series: Sequence[tuple[str, Sequence[float | None]]], moments: Sequence[int], unit: str) -> str:
    """Return a strip for each moment, which tells its values: a browser shows a title without any script."""
    count = max((len(values) for _, values in series), default=0)
    places, wide = _places(moments[:count], PLOT[0] - _LEFT - 2)
    strips = []
    for position, (moment, place) in enumerate(zip(moments, places, strict=False)):
        label = ", ".join(
            f"{name} {number(values[position])}{unit}" for name, values in series if position < len(values)
        )
        x = max(_LEFT, _LEFT + place - wide / 2)
        at = datetime.fromtimestamp(moment / 1000, UTC)
        strips.append(
            f'<rect class="at" x="{x:.1f}" y="{_TOP}" width="{wide:.1f}" height="{PLOT[1] - _BOTTOM - _TOP}">'
            f"<title>{escape(f'{at:%H:%M} {label}')}</title></rect>"
        )
    return "".join(strips)


def bars(rows: Sequence[tuple[str, float]], title: str, unit: str = "") -> str:
    """Return a bar chart of named values, with horizontal bars."""
    most = max([value for _, value in rows] or [0]) or 1
    # No style attribute: the content security policy would refuse it.
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="bar"><svg><rect class="fill" rx="3" height="10" '
        f'width="{100 * value / most:.1f}%"/></svg></td>'
        f'<td class="number">{number(value)}{unit}</td></tr>'
        for name, value in rows
    )
    empty = f'<tr><td class="quiet">{gettext("none")}</td></tr>'
    caption = escape(gettext(title))
    return f'<figure><figcaption>{caption}</figcaption><table class="bars">{body or empty}</table></figure>'


def nice(top: float) -> float:
    """Return the end of a scale: the next of 1, 2, 5 times a power of ten."""
    # 1, 2, 5, 10: from a number that begins with 2 to the next takes a factor of 2.5, from all others 2.
    step = 1.0
    while step < top:
        step *= 2.5 if str(step)[0] == "2" else 2
    return step


def number(value: float | None) -> str:
    """Return a number in few characters, with k, M or G from 10,000 on, and a dash for None."""
    if value is None:
        return "–"
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            divisor = 1e3 if suffix == "k" else limit
            return f"{value / divisor:.1f}".removesuffix(".0") + suffix
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def _places(moments: Sequence[int], width: float) -> tuple[list[float], float]:
    """Return the places of moments by their time, and the usual distance of two. A single moment is the last one."""
    if len(moments) == 1:
        return [width], width
    usual_ms = median(after - before for before, after in pairwise(moments)) if moments else 1
    scale = width / max(1, moments[-1] - moments[0]) if moments else 0.0
    return [(moment - moments[0]) * scale for moment in moments], usual_ms * scale


def _lines(
    values: Sequence[float | None], moments: Sequence[int], room: tuple[int, int], top: float
) -> list[list[Point]]:
    """Return the lines through values: several where there are gaps between them, or between their moments."""
    width, height = room
    places, usual = _places(moments[: len(values)], width)
    lines: list[list[Point]] = []
    before = -1e9
    for place, value in zip(places, values, strict=True):
        if value is None:
            before = -1e9
            continue
        if place - before > GAP * usual:
            lines.append([])
        lines[-1].append((place, height * (1 - value / top)))
        before = place
    # Of a single point SVG draws nothing, of the same point twice a dot.
    return [line if len(line) > 1 else line * 2 for line in lines]


def _path(line: Sequence[Point], left: float, top: float) -> str:
    return " ".join(f"{x + left:.1f},{y + top:.1f}" for x, y in line)


def _grid_line(share: float, scale: float, unit: str) -> str:
    width, height = PLOT
    y = _TOP + (height - _BOTTOM - _TOP) * (1 - share)
    return (
        f'<line class="grid" x1="{_LEFT}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(scale * share)}{unit}</text>'
    )
