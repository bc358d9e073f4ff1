"""Generated files: each is what the code makes of it now."""

from __future__ import annotations

import pytest

from tools.docs.generated import GENERATED, ROOT


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_file_is_not_stale(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")

    assert GENERATED[name](text) == text, "run: make docs"
