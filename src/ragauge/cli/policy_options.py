"""The policies as options of a command: each by its name, None where it is not given."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ragauge.cli.number_options import RANK

if TYPE_CHECKING:
    from ragauge.measures import Policies

__all__ = ["cut_policy_options", "policies_line", "policies_of", "policy_options"]

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
    return _added(command, _CHOICES)


def cut_policy_options(command: Command) -> Command:
    """Adds the policies that leave a ranking to be cut anywhere: no value of a query, and no rank, is made up."""
    left_out = {"ties": "expected", "missing": "worst", "extra": "zero", "no-relevant": "zero"}
    kept = [
        (name, tuple(choice for choice in choices if choice != left_out.get(name)), text)
        for name, choices, text in _CHOICES
        if name != "unjudged"
    ]
    return _added(command, kept)


def _added(command: Command, words: Sequence[tuple[str, tuple[str, ...], str]]) -> Command:
    """The options of the policies that are one of a few words, and of the others."""
    command = click.option("--ignore-identical-ids", is_flag=True, help="Drop a document whose id is the query's.")(
        command
    )
    command = click.option("--depth", type=RANK, help="Only the top this many of a ranking count.")(command)
    command = click.option("--doc-id-rule", help='Chunk id to document id: "#", or a pattern with one (group).')(
        command
    )
    for name, choices, text in reversed(words):
        command = click.option(f"--{name}", type=click.Choice(choices), help=text)(command)
    return command


def policies_of(given: Mapping[str, Any]) -> "Policies":
    """The policies of a call: those of --compat, else the defaults, each option given in their place.

    Args:
        given: What `policy_options` or `cut_policy_options` pass to the command; other keys are not looked at.
    """
    from ragauge.measures import TREC_EVAL, Policies

    base = TREC_EVAL if given.get("compat") else Policies()
    names = [name.replace("-", "_") for name, *_ in _CHOICES] + ["doc_id_rule", "depth"]
    chosen = {name: given[name] for name in names if given.get(name) is not None}
    if given["ignore_identical_ids"]:
        chosen["identical_ids"] = "drop"
    return Policies(**{**vars(base), **chosen})


def policies_line(given: Mapping[str, Any]) -> str:
    """The policies of a call that differ from the defaults, as a sentence; "" where none does."""
    from ragauge.measures import Policies

    usual = vars(Policies())
    chosen = [
        f"{name.replace('_', '-')} {value}" for name, value in vars(policies_of(given)).items() if value != usual[name]
    ]
    compat = " (as trec_eval)" if given.get("compat") else ""
    return f"Policies{compat}: {', '.join(chosen)}; the others by default." if chosen else ""
