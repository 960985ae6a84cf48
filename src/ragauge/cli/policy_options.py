"""The policies as options of a command: each by its name, None where it is not given."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ragauge.measures import Policies

__all__ = ["policies_of", "policy_options"]

Command = TypeVar("Command", bound=Callable[..., Any])

_CHOICES = (
    (
        "ties",
        ("trec", "input", "expected"),
        "Equal scores. Default: trec for TREC runs, input (as written) for others.",
    ),
    ("missing", ("zero", "worst", "skip", "error"), "Labelled queries without a ranking. Default: zero."),
    ("extra", ("skip", "zero", "error"), "Rankings of queries without labels. Default: skip."),
    ("no-relevant", ("undefined", "zero", "skip"), "Queries with nothing relevant. Default: undefined."),
    ("unjudged", ("negative", "skip", "bounds"), "Documents without a label. Default: negative."),
    ("negative-grades", ("unjudged", "negative"), "What a grade below 0 says. Default: unjudged."),
    ("duplicates", ("error", "first", "max"), "A document twice in a ranking. Default: error."),
    ("collapse", ("none", "first", "max"), "Chunks of one document; with --doc-id-rule. Default: none."),
)


def policy_options(command: Command) -> Command:
    """Adds an option for each policy, and --compat."""
    command = click.option("--compat", type=click.Choice(["trec_eval"]), help="All choices as trec_eval -c.")(command)
    command = click.option("--ignore-identical-ids", is_flag=True, help="Drop a document whose id is the query's.")(
        command
    )
    command = click.option("--depth", type=click.IntRange(1), help="Only the top this many of a ranking count.")(
        command
    )
    command = click.option("--doc-id-rule", help='Chunk id to document id: "#", or a pattern with one (group).')(
        command
    )
    for name, choices, text in reversed(_CHOICES):
        command = click.option(f"--{name}", type=click.Choice(choices), help=text)(command)
    return command


def policies_of(given: Mapping[str, Any]) -> "Policies":
    """The policies of a call: those of --compat, else the defaults, each option given in their place.

    Args:
        given: What `policy_options` passes to the command; other keys are not looked at.
    """
    from ragauge.measures import TREC_EVAL, Policies

    base = TREC_EVAL if given["compat"] else Policies()
    names = [name.replace("-", "_") for name, *_ in _CHOICES] + ["doc_id_rule", "depth"]
    chosen = {name: given[name] for name in names if given[name] is not None}
    if given["ignore_identical_ids"]:
        chosen["identical_ids"] = "drop"
    return Policies(**{**vars(base), **chosen})
