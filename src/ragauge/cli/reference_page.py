"""`python -m ragauge.cli.reference_page > docs/cli.md`: every command's --help, in one page."""

from collections.abc import Iterator

import click

from ragauge.cli.main import cli

__all__ = ["reference_page"]

INTRO = """# Commands

Generated from the commands themselves by `make docs`. Progress and notes go to stderr, results to stdout. Exit codes:
0 done, 1 ran and failed or is incomplete, 2 bad input, 130 stopped with Ctrl-C.
"""


def reference_page() -> str:
    """The page as Markdown."""
    return "\n".join([INTRO, *(_section(context) for context in _contexts())])


def _contexts() -> Iterator[click.Context]:
    """The context of each command, groups before their members."""
    waiting = [_context(cli, "ragauge", None)]
    while waiting:
        context = waiting.pop(0)
        yield context
        if isinstance(context.command, click.Group):
            for name in context.command.list_commands(context):
                command = context.command.get_command(context, name)
                assert command is not None
                waiting.append(_context(command, name, context))


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=80,
        max_content_width=80,
        help_option_names=["-h", "--help"],
    )


def _section(context: click.Context) -> str:
    return f"## {context.command_path}\n\n```\n{context.get_help()}\n```\n"


if __name__ == "__main__":
    click.echo(reference_page(), nl=False)
