"""The reference of the command line in Markdown, made from the commands: every command, argument and option."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from crawl_tasks.cli.main import cli

REFERENCE = "## Reference\n\n"


def commands_page(page: str) -> str:
    """Return docs/commands.md with its reference made anew."""
    return page[: page.index(REFERENCE)] + REFERENCE + "\n".join(_sections(cli, ""))


def _sections(group: click.Group, path: str) -> Iterator[str]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None, name
        words = f"{path} {name}".strip()
        yield from _section(command, words)
        if isinstance(command, click.Group):
            yield from _sections(command, words)


def _section(command: click.Command, words: str) -> Iterator[str]:
    yield f"### {words}\n"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield f"{' '.join(paragraph.split())}\n"
    context = click.Context(command)
    arguments = [param.make_metavar(context) for param in command.params if isinstance(param, click.Argument)]
    if arguments:
        yield f"Arguments: {', '.join(f'`{argument}`' for argument in arguments)}.\n"
    options = [param for param in command.params if isinstance(param, click.Option)]
    if options:
        yield from (_option(option, context) for option in options)
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
