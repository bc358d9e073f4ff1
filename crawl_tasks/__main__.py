"""The entry point of the command line: `crawl-tasks` and `python -m crawl_tasks`."""

from __future__ import annotations

import sys

from crawl_tasks.cli.exits import Exit


def main() -> None:
    """Run the command line. Ctrl-C during the imports ends the program as quietly as Ctrl-C later."""
    try:
        # Inside the try block: the import takes long enough for a Ctrl-C to arrive, which would print a traceback.
        from crawl_tasks.cli.main import main as run  # noqa: PLC0415

        run()
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)


if __name__ == "__main__":
    main()
