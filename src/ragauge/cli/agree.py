"""`ragauge agree`: do the raters agree, people, models or both."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.agree_panel import against_others, echo_panel
from ragauge.cli.number_options import NUMBER, NumberIn
from ragauge.cli.terminal import echo_json, echo_records, note, quiet_option, seed_option
from ragauge.errors import FormatError, InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.results import Agreement, Coefficient

SUMMARY = ("agreement", "kappa_quadratic", "alpha_ordinal")
"""What a line about a pair of raters shows; with words for ratings `WORDS`."""

WORDS = ("agreement", "kappa", "alpha_nominal")
MAX_MATRICES = 3
MAX_COLUMNS = 9


@click.command("agree")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--unit", "units", multiple=True, help="Column(s) that name what was rated; then FILE is any table.")
@click.option("--rater", "raters", multiple=True, help="Column that names the rater; or one column a rater.")
@click.option("--rating", help="Column with the rating; without it, each --rater is a rater's own column.")
@click.option("--cluster", help="Column of what belongs together, such as the query. Default: each unit on its own.")
@click.option("--judge", help="Rater to set against all others together. Default: the only one that a file names.")
@click.option("--rel", type=NUMBER, help="Compare relevant or not, from this label on, instead of grades.")
@click.option("--confusion", is_flag=True, help="A confusion matrix for every pair, however many there are.")
@click.option("--bootstrap", type=click.IntRange(1), default=1000, show_default=True, help="Replicates for intervals.")
@seed_option("Of the bootstrap.")
@click.option("--level", type=NumberIn(0, 1, True, True), default=0.95, show_default=True, help="Confidence.")
@click.option("--format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@quiet_option
def agree_command(
    files: tuple[Path, ...],
    units: tuple[str, ...],
    raters: tuple[str, ...],
    rating: str | None,
    cluster: str | None,
    judge: str | None,
    rel: float | None,
    confusion: bool,
    bootstrap: int,
    seed: int,
    level: float,
    format: str,
    quiet: bool,
) -> None:
    """Say how far raters agree: Krippendorff's alpha, kappa, AC1, with intervals over queries.

    FILES are labels in any format (qrels, CSV, JSONL, Parquet), or grades of answers as `ragauge grade` writes them and
    people fill them in; the rater is the judge, or the file's name where no judge is named. With --unit and --rater a
    file is any table of ratings, long or wide.

    \b
    Examples:
      ragauge agree people.csv model.jsonl
      ragauge agree anna.csv ben.csv carla.csv graded.csv
      ragauge agree ratings.csv --unit answer --rater who --rating grade
      ragauge agree grades.tsv --unit query_id --unit doc_id \\
        --rater anna --rater ben --cluster query_id
    """
    from ragauge.stats import joint_agreement, pairwise_agreement

    table, judges = _read(files, units, raters, rating, cluster)
    names = table.column("rater").to_pylist()
    ratings = _numbers_or_words(table.column("rating").to_pylist(), rel)
    columns = (table.column("unit_id").to_pylist(), names, ratings)
    if silent := _without_ratings(names, ratings):
        note(f"No ratings by {', '.join(silent)}.", quiet=quiet)
    options = {"resamples": bootstrap, "seed": seed, "level": level, "clusters": table.column("cluster").to_pylist()}
    together = joint_agreement(*columns, **options)
    if not together.n_units:
        raise InputError(
            f"no unit has ratings of two raters ({', '.join(together.raters)}); the ids of queries and of answers or "
            "documents must be the same for all of them"
        )
    pairs = pairwise_agreement(*columns, **options)
    panel = against_others(columns, options, _on_trial(judge, judges, together.raters))
    if format == "json":
        lists = {"pairs": [asdict(one) for one in pairs], "panel": [asdict(one) for one in panel]}
        echo_json({"together": asdict(together), **lists})
    elif format == "csv":
        several = [together] if len(together.raters) > 2 else []
        shown = [*several, *pairs, *(one.agreement for one in panel)]
        echo_records([row for one in shown for row in _csv_rows(one)], format="csv")
    else:
        _echo(together, pairs, confusion)
        echo_panel(panel)
    if apart := sorted(set(combinations(together.raters, 2)) - {pair.raters for pair in pairs}):
        note(f"No unit in common: {', '.join(' and '.join(two) for two in apart)}.", quiet=quiet)
    for one in [together, *(pairs if len(together.raters) > 2 else [])]:
        for text in one.warnings:
            note(f"{' - '.join(one.raters)}: {text}.", quiet=quiet)


def _read(
    files: Sequence[Path], units: Sequence[str], raters: Sequence[str], rating: str | None, cluster: str | None
) -> "tuple[pa.Table, list[str]]":
    """RATINGS from the one table of ratings, or from all files of labels; and the judges that these files name."""
    from ragauge.io import is_grades, label_ratings, read_grades, read_labels, read_ratings

    if not (units or raters or rating or cluster):
        names = [file.name for file in files]
        called = {str(file) if names.count(file.name) > 1 else file.name: file for file in files}
        try:
            tables = {
                name: read_grades(file) if is_grades(file) else read_labels(file) for name, file in called.items()
            }
            judges = {judge for table in tables.values() for judge in table.column("judge").to_pylist() if judge}
            return label_ratings(tables), sorted(judges)
        except FormatError as error:
            if "no column" not in str(error):
                raise
            raise FormatError(f"{error}; of a table of ratings, name columns with --unit, --rater, --rating") from error
    if len(files) > 1:
        raise InputError(f"with --unit and --rater there is one file of ratings, got {len(files)}")
    return read_ratings(files[0], units=units, raters=raters, rating=rating, cluster=cluster), []


def _without_ratings(names: Sequence[str], ratings: Sequence[Any]) -> list[str]:
    """Those who rated nothing; raises where fewer than two are left."""
    rated = {name for name, rating in zip(names, ratings, strict=True) if rating is not None}
    silent = sorted(set(names) - rated)
    if len(rated) < 2:
        found = f"only {', '.join(rated)}" if rated else "no ratings"
        empty = f", and none by {', '.join(silent)}" if silent and rated else ""
        raise InputError(
            f"agreement needs two raters, found {found}{empty}; give a file of labels for each rater, one file with a "
            "column judge, or name the columns of a table with --unit and --rater"
        )
    return silent


def _on_trial(judge: str | None, judges: Sequence[str], raters: Sequence[str]) -> str | None:
    """The rater to set against the others: the one asked for, or the only one that a file names."""
    if judge is not None and judge not in raters:
        raise InputError(f"no rater {judge!r}; there are: {', '.join(raters)}")
    return judge or (judges[0] if len(judges) == 1 and judges[0] in raters else None)


def _numbers_or_words(ratings: Sequence[str | None], rel: float | None) -> list[Any]:
    """Numbers where all are; 1 or 0 from `rel` on where it is given."""
    try:
        numbers = [None if one is None else float(one) for one in ratings]
    except ValueError as error:
        if rel is not None:
            raise InputError(f"--rel needs ratings that are numbers: {error}") from error
        return list(ratings)
    return [None if one is None else float(one >= rel) for one in numbers] if rel is not None else list(numbers)


def _echo(together: "Agreement", pairs: Sequence["Agreement"], confusion: bool) -> None:
    click.echo(_title(together))
    echo_records([_row(one) for one in together.coefficients], format="table")
    if len(together.raters) > 2 and pairs:
        click.echo("Two at a time")
        echo_records([_pair_row(pair) for pair in pairs], format="table")
    small = len(together.categories) <= MAX_COLUMNS and len(pairs) <= MAX_MATRICES
    for pair in pairs if confusion or small else []:
        click.echo(f"Rows: {pair.raters[0]}. Columns: {pair.raters[1]}.")
        echo_records(_matrix(pair), format="table")


def _title(found: "Agreement") -> str:
    raters = " and ".join(found.raters) if len(found.raters) == 2 else f"{len(found.raters)} raters together"
    return f"{raters}: {found.n_ratings} ratings of {found.n_units} units in {found.n_clusters} clusters"


def _row(one: "Coefficient") -> dict[str, Any]:
    return {"coefficient": one.name, "value": one.value, "interval": _interval(one)}


def _pair_row(pair: "Agreement") -> dict[str, Any]:
    names = SUMMARY if "alpha_ordinal" in {one.name for one in pair.coefficients} else WORDS
    first, *others = (pair.coefficient(name) for name in names)
    shown = {one.name: f"{one.value:.2f} {_interval(one, 2)}" for one in others}
    return {"raters": " - ".join(pair.raters), "units": pair.n_units, first.name: first.value} | shown


def _interval(one: "Coefficient", digits: int = 3) -> str:
    if isnan(one.low):
        return one.reason if digits > 2 else ""
    return f"{one.low:.{digits}f}..{one.high:.{digits}f}"


def _matrix(pair: "Agreement") -> list[dict[str, Any]]:
    names = [one if isinstance(one, str) else f"{one:g}" for one in pair.categories]
    rows = [
        {"": name} | dict(zip(names, counts, strict=True)) | {"sum": sum(counts)}
        for name, counts in zip(names, pair.confusion, strict=True)
    ]
    columns = [sum(counts) for counts in zip(*pair.confusion, strict=True)]
    return [*rows, {"": "sum"} | dict(zip(names, columns, strict=True)) | {"sum": sum(columns)}]


def _csv_rows(found: "Agreement") -> list[dict[str, Any]]:
    about = {"raters": " - ".join(found.raters), "n_units": found.n_units, "n_clusters": found.n_clusters}
    return [about | asdict(one) for one in found.coefficients]
