"""Numbers as options, over all commands: what is not finite is refused, as NaN would lie in every range."""

from collections.abc import Iterator

import click
import pytest

from ragauge.cli.main import cli
from ragauge.cli.number_options import RANK
from ragauge.measures.measure import MAX_CUTOFF


def options(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Option]]:
    """Every option that takes numbers with a point, of all commands and of theirs."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from options(command, (*path, name))
        elif command is not None:
            for option in command.params:
                if isinstance(option, click.Option) and isinstance(option.type, click.types.FloatParamType):
                    yield " ".join([*path, name, option.opts[0]]), option


NUMBERS = dict(options(cli))


def test_options_that_take_numbers_are_found() -> None:
    assert {"score --rel", "compare --detect", "gate --level", "calibrate --human-rel"} <= NUMBERS.keys()


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_finite_number_is_refused(name: str) -> None:
    for text in ("nan", "-NaN", "inf", "-inf", "1e999"):
        with pytest.raises(click.BadParameter):
            NUMBERS[name].type.convert(text, NUMBERS[name], None)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("score", "x", "--rel", "nan"), "Invalid value for '--rel': nan is not a finite number."),
        (("calibrate", "x", "--human-rel", "inf"), "Invalid value for '--human-rel': inf is not a finite number."),
        (("compare", "x", "--level", "nan"), "Invalid value for '--level': nan is not a finite number."),
        (("compare", "x", "--level", "2"), "2.0 is not in the range 0<x<1."),
        (("score", "x", "--rel", "high"), "'high' is not a valid float."),
    ],
)
def test_the_message_names_the_option_and_what_was_given(ragauge, args: tuple[str, ...], message: str) -> None:
    ran = ragauge(*args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


@pytest.mark.parametrize(
    "option", ["plan-labels -k", "plan-labels --depth", "score --depth", "tune --today", "draw -k"]
)
def test_a_rank_of_twenty_digits_is_refused(ragauge, tmp_path, option: str) -> None:
    command, name = option.split()
    out = ("--out", tmp_path / "x.jsonl") if command in ("plan-labels", "draw") else ()
    ran = ragauge(command, "x.jsonl", *out, name, "9" * 20)
    assert (ran.code, ran.out) == (2, "")
    assert f"{'9' * 20} is not in the range 1<=x<=1000000" in " ".join(ran.err.split())


def test_the_largest_rank_is_the_largest_cutoff() -> None:
    assert RANK.max == MAX_CUTOFF
