"""How a model is asked to judge, as options: the scale, the user's own criteria and examples, batches."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ragauge.cli.number_options import NUMBER
from ragauge.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.llm import Judge

__all__ = ["judge_of", "judge_options"]

Command = TypeVar("Command", bound=Callable[..., Any])


def judge_options(command: Command) -> Command:
    """Adds the options that `judge_of` reads."""
    options = (
        click.option(
            "--scale",
            type=click.Choice(["binary", "graded"]),
            default="binary",
            show_default=True,
            help="Label by P(yes), 0 to 1, or by the expected grade, 0 to 3.",
        ),
        click.option("--criteria", help="What relevant means to you, in words; @FILE reads them from a file."),
        click.option(
            "--examples", type=click.Path(path_type=Path), help="Labels by people; a few are shown to the model."
        ),
        click.option(
            "--examples-rel", type=NUMBER, default=1.0, show_default=True, help="Their label of a relevant document."
        ),
        click.option("--batch-size", type=click.IntRange(1), default=1, show_default=True, help="Documents in a call."),
        click.option(
            "--permutations",
            type=click.IntRange(1),
            default=1,
            show_default=True,
            help="With batches: orders of each query's documents; the label is the mean.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def judge_of(given: Mapping[str, Any], rankings: "pa.Table", *, seed: int = 0) -> "Judge":
    """The judge that the options describe.

    Args:
        given: What `judge_options` passes to the command; other keys are not looked at.
        rankings: Where the texts of the examples are.
        seed: Of the choice of examples and of the orders in batches.

    Raises:
        InputError: A file cannot be read, or a value does not go with another.
    """
    from ragauge.io import read_labels
    from ragauge.llm import Judge, examples_from

    path, scale, rel = given["examples"], given["scale"], given["examples_rel"]
    examples = examples_from(rankings, read_labels(path), scale=scale, rel=rel, seed=seed) if path else ()
    return Judge(
        scale=scale,
        criteria=_criteria(given["criteria"] or ""),
        examples=examples,
        batch_size=given["batch_size"],
        permutations=given["permutations"],
        seed=seed,
    )


def _criteria(given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the criteria in {given[1:]}: {error}") from error
