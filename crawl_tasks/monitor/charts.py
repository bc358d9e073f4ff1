"""Charts as inline SVG: small pictures of numbers that need no script and no other file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

SPARK = (96, 24)
PLOT = (400, 130)
_LEFT, _BOTTOM, _TOP = 44, 18, 8


def spark(values: Sequence[float], name: str) -> str:
    """Return a sparkline: values as a small line above a filled area, from 0 to the greatest value."""
    width, height = SPARK
    # Never 0, which would divide by zero where all values are 0.
    points = _points(values, width, height - 2, max([*values, 1e-9]))
    if not points:
        return (
            f'<svg class="spark" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(name)}: none yet"></svg>'
        )
    line = " ".join(f"{x:.1f},{y + 1:.1f}" for x, y in points)
    area = f"{points[0][0]:.1f},{height} {line} {points[-1][0]:.1f},{height}"
    label = f"{escape(name)}: last {values[-1]:.0f}, at most {max(values):.0f}"
    return (
        f'<svg class="spark" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        f'<polygon class="area" points="{area}"/><polyline class="line" points="{line}"/></svg>'
    )


def plot(
    series: Sequence[tuple[str, Sequence[float]]],
    title: str,
    times: tuple[str, str],
    unit: str = "",
    moments: Sequence[str] = (),
) -> str:
    """Return a line chart of up to four series over the same time, with scale, time span and legend.

    Args:
        series: names and values, oldest first, equally spaced.
        title: the caption.
        times: the labels of the first and the last value.
        unit: the suffix of the numbers on the scale.
        moments: the time of each value, which the pointer shows with the values. Empty: the pointer shows nothing.
    """
    width, height = PLOT
    top = max([value for _, values in series for value in values] or [0.0])
    scale = nice(top)
    lines = [
        f'<polyline class="line c{number}" points="{_polyline(values, scale)}"/>'
        for number, (_, values) in enumerate(series)
        if values
    ]
    legend = "".join(f'<span class="key c{number}">{escape(name)}</span>' for number, (name, _) in enumerate(series))
    grid = "".join(_grid_line(share, scale, unit) for share in (0.0, 0.5, 1.0))
    ends = ", ".join(f"{name} {number(values[-1])}" for name, values in series if values)
    label = escape(f"{title} {ends} at the end" if ends else f"{title} none yet")
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


def _under_pointer(series: Sequence[tuple[str, Sequence[float]]], moments: Sequence[str], unit: str) -> str:
    """Return a strip for each moment, which tells its values: a browser shows a title without any script."""
    count = max((len(values) for _, values in series), default=0)
    moments = moments[:count]
    step = (PLOT[0] - _LEFT - 2) / max(1, len(moments) - 1)
    strips = []
    for position, moment in enumerate(moments):
        told = ", ".join(
            f"{name} {number(values[position])}{unit}" for name, values in series if position < len(values)
        )
        x = max(_LEFT, _LEFT + (position - 0.5) * step)
        strips.append(
            f'<rect class="at" x="{x:.1f}" y="{_TOP}" width="{step:.1f}" height="{PLOT[1] - _BOTTOM - _TOP}">'
            f"<title>{escape(f'{moment} {told}')}</title></rect>"
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
    empty = '<tr><td class="quiet">none</td></tr>'
    return f'<figure><figcaption>{escape(title)}</figcaption><table class="bars">{body or empty}</table></figure>'


def nice(top: float) -> float:
    """Return the end of a scale: the next of 1, 2, 5 times a power of ten."""
    # 1, 2, 5, 10: from a number that begins with 2 to the next takes a factor of 2.5, from all others 2.
    step = 1.0
    while step < top:
        step *= 2.5 if str(step)[0] == "2" else 2
    return step


def number(value: float) -> str:
    """Return a number in few characters, with k, M or G from 10,000 on."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            divisor = 1e3 if suffix == "k" else limit
            return f"{value / divisor:.1f}".removesuffix(".0") + suffix
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def _polyline(values: Sequence[float], scale: float) -> str:
    width, height = PLOT
    points = _points(values, width - _LEFT - 2, height - _BOTTOM - _TOP, scale)
    return " ".join(f"{x + _LEFT:.1f},{y + _TOP:.1f}" for x, y in points)


def _points(values: Sequence[float], width: float, height: float, top: float) -> list[tuple[float, float]]:
    # One value is a point, and SVG draws no line for a single point.
    if len(values) == 1:
        values = [values[0], values[0]]
    step = width / max(1, len(values) - 1)
    return [(position * step, height * (1 - value / top)) for position, value in enumerate(values)]


def _grid_line(share: float, scale: float, unit: str) -> str:
    width, height = PLOT
    y = _TOP + (height - _BOTTOM - _TOP) * (1 - share)
    return (
        f'<line class="grid" x1="{_LEFT}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(scale * share)}{unit}</text>'
    )
