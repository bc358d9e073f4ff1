"""The reference of the command line in Markdown, made from the commands: every command, argument and option."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator

import click

from crawl_tasks.cli.main import cli

REFERENCE = "## Reference\n\n"
SHARED = 3
"""The number of options in common from which a command refers to an earlier one."""


def commands_page(page: str) -> str:
    """Return docs/commands.md with its reference made anew."""
    return page[: page.index(REFERENCE)] + REFERENCE + "\n".join(_sections(cli, "", {}))


def _sections(group: click.Group, path: str, listed: dict[str, str]) -> Iterator[str]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if command is None:
            raise LookupError(f"{path} {name}: listed, and not there")
        words = f"{path} {name}".strip()
        yield from _section(command, words, listed)
        if isinstance(command, click.Group):
            yield from _sections(command, words, listed)


def _section(command: click.Command, words: str, listed: dict[str, str]) -> Iterator[str]:
    """Yield a command's lines. `listed` has the command that listed an option first, by the option's line."""
    yield f"### {words}\n"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield f"{' '.join(paragraph.split())}\n"
    context = click.Context(command)
    arguments = [param.make_metavar(context) for param in command.params if isinstance(param, click.Argument)]
    if arguments:
        yield f"Arguments: {', '.join(f'`{argument}`' for argument in arguments)}.\n"
    lines = [_option(param, context) for param in command.params if isinstance(param, click.Option)]
    earlier = Counter(listed[line] for line in lines if line in listed)
    shared = {place for place, count in earlier.items() if count >= SHARED}
    yield from (line for line in lines if listed.get(line) not in shared)
    for place in sorted(shared):
        names = [line[2:].partition(":")[0] for line in lines if listed.get(line) == place]
        yield f"- {', '.join(names)}: as for {place}."
    for line in lines:
        listed.setdefault(line, words)
    if lines:
        yield ""


def _option(option: click.Option, context: click.Context) -> str:
    names = [f"`{name}`" for name in (*option.opts, *option.secondary_opts)]
    if not option.is_flag:
        names[-1] = f"{names[-1][:-1]} {option.make_metavar(context)}`"
    default = option.get_default(context)
    is_shown = bool(option.show_default) and default is not None
    shown = f"default `{_word(option, default)}`" if is_shown else ""
    terms = ", ".join(filter(None, (shown, "several times" if option.multiple else "")))
    return f"- {', '.join(names)}{f' ({terms})' if terms else ''}: {option.help or ''}".rstrip(": ")


def _word(option: click.Option, default: object) -> str:
    if not option.secondary_opts:
        return str(default)
    return (option.opts if default else option.secondary_opts)[0]
