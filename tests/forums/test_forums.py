"""Recorded forums crawled with the plain commands hold against their truth, field by field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forums.proof import prove, table
from tests.forums.recorded import FORUMS, RECORDINGS, Recording

LONG = {"mybb", "discuz", "nodebb"}


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "forum",
    [pytest.param(forum, id=name, marks=[pytest.mark.long] * (name in LONG)) for name, forum in FORUMS.items()],
)
def test_every_topic_and_reply_is_stored_once_and_equal(forum: Recording, tmp_path: Path) -> None:
    if not forum.is_there:
        pytest.skip(
            f"no recording of {forum.name} in {RECORDINGS}; set FORUM_RECORDINGS to the directory of recordings"
        )

    proof = prove(forum, tmp_path)

    assert proof.is_whole, "\n".join([table([proof]), *proof.comparison.examples[:10], *proof.misses[:10]])
