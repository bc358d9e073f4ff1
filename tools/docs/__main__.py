"""Write all generated files: `make docs`."""

from __future__ import annotations

from tools.docs.generated import GENERATED, ROOT


def main() -> None:
    """Write each generated file from the text that it has."""
    for name, make in GENERATED.items():
        path = ROOT / name
        path.write_text(make(path.read_text("utf-8") if path.exists() else ""), "utf-8")


if __name__ == "__main__":
    main()
