"""`ragauge plan-labels`: which documents to label so that the number of relevant ones can be estimated."""

from pathlib import Path
from typing import Literal

import click

from ragauge.cli.number_options import RANK
from ragauge.cli.reading import reading_options
from ragauge.cli.relevant_options import estimator_option
from ragauge.cli.terminal import OutFile, counted, note, quiet_option, seed_option


@click.command("plan-labels")
@click.argument("rankings", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-k", "--top", "cutoff", type=RANK, default=10, show_default=True, help="K of the measures to come.")
@estimator_option("--estimator", "Default 2k-x-c for one system, union for several")
@click.option("--depth", type=RANK, default=500, show_default=True, help="Nothing below is ever counted.")
@click.option("--deep", type=click.IntRange(0), help="Labels a query below the top. Default: what the estimator needs.")
@click.option("--budget", type=click.IntRange(1), help="Labels in all, in place of --deep.")
@seed_option("Of the draw.")
@reading_options
@click.option("--out", type=OutFile(".jsonl"), required=True, help="The documents to label (JSONL).")
@quiet_option
def plan_labels_command(
    rankings: tuple[Path, ...],
    cutoff: int,
    estimator: str | None,
    depth: int,
    deep: int | None,
    budget: int | None,
    seed: int,
    input_format: str | None,
    duplicates: Literal["error", "first", "max"],
    out: Path,
    quiet: bool,
) -> None:
    """Choose the documents of RANKINGS to label, so that recall can be estimated.

    The top of every ranking is labelled; of what lies below, a few documents are
    drawn at random, so give rankings as deep as you have them. Labels inside are
    kept. Fill in "label", or let ragauge label do it, and score:

    \b
      ragauge plan-labels deep.jsonl -k 10 --out plan.jsonl
      ragauge label plan.jsonl --base-url local:1.5b --out labelled.jsonl
      ragauge score deep.jsonl --labels labelled.jsonl --label-plan plan.jsonl \\
        --relevant-count 2k-x-c -m R@10 -m F@10

    \b
    Example, a fixed budget for two systems:
      ragauge plan-labels a.run b.run --estimator 2k-x-c --budget 900 \\
        --out plan.jsonl
    """
    import pyarrow.compute as pc

    from ragauge.cli.given import read_files, together
    from ragauge.io import write_label_plan
    from ragauge.measures import arrange
    from ragauge.quality.label_plan import NEAR, estimator_of, plan_labels

    table = together(read_files(rankings, input_format, None, duplicates, quiet=quiet))
    table = arrange(table, duplicates=duplicates).rankings
    several = pc.count_distinct(table.column("run")).as_py() > 1
    name = estimator or ("union" if several else "2k-x-c")
    plan = plan_labels(table, cutoff=cutoff, estimator=name, depth=depth, deep=deep, budget=budget, seed=seed)
    write_label_plan(plan, out)
    n_near = pc.sum(pc.equal(plan.column("stratum"), NEAR)).as_py() or 0
    n_known = plan.num_rows - plan.column("label").null_count
    n_queries = pc.count_distinct(plan.column("query_id")).as_py()
    note(f"{estimator_of(name).title}: {estimator_of(name).what}.", quiet=quiet)
    note(
        f"{counted(plan.num_rows, 'document')} of {n_queries:,} queries, {n_near:,} at the top and "
        f"{plan.num_rows - n_near:,} drawn from below; {n_known:,} have a label: {out}",
        quiet=quiet,
    )
