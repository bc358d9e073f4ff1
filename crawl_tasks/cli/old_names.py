"""The former names of commands: a person who types one gets the new name."""

from __future__ import annotations

from collections.abc import Sequence

from crawl_tasks.errors import ConfigError

_VERBS = ("list", "show", "retry", "drop")
_KINDS = {"dead": "page", "shelf": "item", "refused": "message"}

OLD_COMMANDS = {
    **{f"{old} {verb}": f"failed {verb} --kind {kind}" for old, kind in _KINDS.items() for verb in _VERBS},
    **{old: f"failed list --kind {kind}" for old, kind in _KINDS.items()},
    "fetch": "try URL",
    "reparse": "try NAME --kept",
    "reparse --list": "failed list --kept",
    "reparse --revive": "try NAME --kept --revive",
    "stop": "pause --wait",
    "drain": "pause --drain",
    "drain --wait": "pause --drain --wait --within SECONDS",
    "top": "status --watch --sort pages",
    "version": "--version",
    "alerts --once": "check",
    "doctor": "check",
    "fsck": "check --deep",
    "fsck --mend": "check --mend",
    "ledger": "check",
}
"""The new command for a former command, or for a former option or subcommand of a command."""


def require_new_name(arguments: Sequence[str]) -> None:
    """Refuse a command line with a former name of a command, option or subcommand.

    Raises:
        ConfigError: the command line has a former name. The message has the new one.
    """
    command, *further = arguments
    # The longer form first: `dead retry` has another successor than `dead`.
    for old in (*(f"{command} {word}" for word in further), command):
        if new := OLD_COMMANDS.get(old):
            raise ConfigError(f"`{old}` is `{new}` now")
