"""`ragauge`: the group of commands, each imported only when it is called, and where errors become exits.

Exit codes: 0 done, 1 ran and failed or is incomplete, 2 bad input, 130 stopped with Ctrl-C.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from ragauge.cli.terminal import EXIT_CODE
from ragauge.errors import InputError, MissingExtraError, RagaugeError

COMMANDS = {
    "agree": ("agree:agree_command", "How far raters agree, people and models, with intervals."),
    "budget": ("budget:budget_command", "How many labels a mean takes, by what is labelled."),
    "calibrate": ("calibrate:calibrate_command", "From a judge's grades to probabilities, by people's labels."),
    "compare": ("compare:compare_command", "Compare retrievers with a baseline on the same queries."),
    "correct": ("correct:correct_command", "Correct a model's labels by people's labels of some queries."),
    "correlate": ("correlate:correlate_command", "Which measure predicts answer quality, from graded answers."),
    "draw": ("draw:draw_command", "Draw at random what people, or a model, are to label."),
    "gate": ("gate:gate_command", "Pass or fail a release by rules on its measures."),
    "grade": ("grade:grade_command", "Grade answers against ideal ones: a model, people, two by two."),
    "judge-card": ("judge_card:judge_card_command", "What a model's labels are worth, against people's."),
    "label": ("label:label_command", "Label what a system retrieved with a language model."),
    "llm": ("llm:llm_group", "Fetch and serve the small local language model."),
    "plan-labels": ("plan_labels:plan_labels_command", "Choose what to label so that recall can be estimated."),
    "quickstart": ("quickstart:quickstart_command", "Embed, retrieve, label and score the packaged sample, locally."),
    "retrieve": ("retrieve:retrieve_command", "Rank a knowledge base for queries: embeddings or BM25."),
    "sample": ("sample:sample_command", "Write the packaged sample knowledge base to a folder."),
    "score": ("score:score_command", "Score rankings against labels, with intervals."),
    "store": ("store:store_group", "Check, count, export, import and merge stored replies and labels."),
    "study": ("study:study_command", "The whole experiment: rank, answer, grade, correlate, report."),
    "tune": ("tune:tune_command", "Choose how many documents to return, by cross-validation."),
}
"""Command -> (where it is, its line in --help), so that --help imports none of them."""


class LazyGroup(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        command = getattr(importlib.import_module(f"ragauge.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # nobody reads on, as with "| head": that is no failure, which it is to click
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ctx.meta.get(EXIT_CODE, 0)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = "".join(f" Did you mean {name!r}?" for name in get_close_matches(args[0], COMMANDS, n=1))
            raise click.UsageError(error.message + near, ctx=ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80, "terminal_width": 80},
)
@click.version_option(package_name="ragauge")
def cli() -> None:
    """How good is retrieval when nobody knows how many relevant documents there are?

    \b
    Example:
      ragauge score retrieved.jsonl --labels qrels.txt -m "T(alpha=0.3)@10" -m P@10
    """


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line (`args`, or what the process was called with) and leave with its exit code."""
    try:
        code = cli.main(args, standalone_mode=False)
    except click.exceptions.Abort:
        code = _stopped()
    except KeyboardInterrupt:
        code = _stopped()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except RagaugeError as error:
        click.echo(f"Error: {error}", err=True)
        code = 2 if isinstance(error, InputError | MissingExtraError) else 1
    sys.exit(code if isinstance(code, int) else 0)


def _stopped() -> int:
    click.echo("Stopped. Replies of models are kept: started again, the command asks for what is missing.", err=True)
    return 130
