"""Sizes of a demo forum: the small one for people and tests, the large ones for measurements."""

from __future__ import annotations

from dataclasses import dataclass, replace

COMMENTS_PER_PAGE = 13


@dataclass(frozen=True, slots=True)
class Size:
    """Measures of a forum.

    A board has `min_rows` to `max_rows` rows, of which `duplicate_share` are threads of other boards. Of all threads
    `paged_share` have comment pages beyond the first. Their number follows a Pareto law with exponent `tail`, at most
    `longest_extra`. With `heavy`, chrome makes up most of a page, as on real forums.
    """

    name: str
    boards: int
    rows_per_page: int
    min_rows: int
    max_rows: int
    duplicate_share: float
    paged_share: float
    tail: float
    longest_extra: int
    days: int
    users: int
    heavy: bool

    def extra_pages(self, threads: int) -> list[int]:
        """Return the number of comment pages beyond the first for each of so many threads, longest first."""
        paged = round(threads * self.paged_share)
        # Quantiles in place of random draws: a forum has the same number of pages for every seed.
        shares = ((rank + 0.5) / paged for rank in range(paged))
        counts = [min(self.longest_extra, int(share ** (-1 / self.tail))) for share in shares]
        return counts + [0] * (threads - paged)


DEMO = Size(
    name="demo", boards=4, rows_per_page=10, min_rows=47, max_rows=63, duplicate_share=0.15, paged_share=0.3,
    tail=1.3, longest_extra=14, days=40, users=60, heavy=False,
)  # fmt: skip
BENCH = Size(
    name="bench", boards=10, rows_per_page=20, min_rows=240, max_rows=240, duplicate_share=0.15, paged_share=0.635,
    tail=1.36, longest_extra=29, days=120, users=500, heavy=True,
)  # fmt: skip
LONG = replace(BENCH, name="long", boards=91)
SIZES = {size.name: size for size in (DEMO, BENCH, LONG)}
