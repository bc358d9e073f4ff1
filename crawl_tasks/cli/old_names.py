"""The former names of commands: a person who types one gets the new name."""

from __future__ import annotations

from collections.abc import Sequence

from crawl_tasks.errors import ConfigError

OLD_COMMANDS = {
    "dead": "failed list --kind page",
    "dead list": "failed list --kind page",
    "dead show": "failed show --kind page",
    "dead retry": "failed retry --kind page",
    "dead drop": "failed drop --kind page",
    "shelf": "failed list --kind item",
    "shelf list": "failed list --kind item",
    "shelf retry": "failed retry --kind item",
    "shelf drop": "failed drop --kind item",
    "refused": "failed list",
    "refused list": "failed list",
    "refused show": "failed show --kind message",
    "refused retry": "failed retry --kind message",
    "refused drop": "failed drop --kind message",
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
