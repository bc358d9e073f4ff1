"""The option type of --since: a time ago (7d, 12h, 30m) or a date."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import click

_UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGO = re.compile(r"(\d{1,6})([mhdw])")


class SinceOption(click.ParamType[int]):
    """A time in seconds since the epoch, written as a time ago or as a date in UTC."""

    name = "AGO|DATE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the time in seconds since the epoch, at least 1."""
        text = str(value)
        # At least 1: a reach of 0 means no limit, and a time before 1970 would turn into one.
        ago = _AGO.fullmatch(text)
        if ago:
            return max(1, int(time.time()) - int(ago[1]) * _UNITS[ago[2]])
        try:
            moment = max(1, int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()))
        except (ValueError, OverflowError):
            self.fail(f"{text!r} is neither a time ago (30m, 12h, 7d, 4w) nor a date (2026-01-31)", param, ctx)
        if moment > time.time():
            self.fail(f"{text!r} is still to come (dates are in UTC); name one that is past", param, ctx)
        return moment
