"""The stages of a study, each a function from what the stage before left: pools, rankings, top K, answers, grades.

pools -> rank -> cut at each K -> answer from the positives and from the top K -> grade the two -> table
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ragauge.errors import PlanError
from ragauge.io import read_pools
from ragauge.llm import ANSWER, AnswerTask, GradeTask, Model, Outcome, RepeatedGrade, answer_all, grade_repeatedly
from ragauge.retrieval import rank_pools, retriever
from ragauge.schema import GRADED
from ragauge.store import Store
from ragauge.study.plan import Cutoffs, DatasetPlan, StudyPlan

__all__ = [
    "Progress",
    "TopK",
    "answer_top_k",
    "cut",
    "grade_answers",
    "graded_table",
    "load_pools",
    "no_progress",
    "rank",
]

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""progress(stage, total) opens a bar; what it yields is called with the number of items just finished."""


def no_progress(stage: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
    """The progress of a run nobody watches."""
    return nullcontext(lambda done: None)


@dataclass(frozen=True)
class TopK:
    """The first K documents of one ranking, with what a grade of their answer is compared to.

    Attributes:
        dataset: Name of the data set.
        embedder: Name of the retriever that ranked.
        query_id: Id of the query inside its data set.
        query: Its text.
        n_candidates: N_c.
        n_relevant: N_p.
        labels: 1.0 or 0.0 for the K documents, in rank order.
        n_positive_2k: Positives in the top min(2K, N_c).
        documents: Texts of the K documents, in rank order.
        positives: Texts of all positives, the ground of the ideal answer.
    """

    dataset: str
    embedder: str
    query_id: str
    query: str
    n_candidates: int
    n_relevant: int
    labels: tuple[float, ...]
    n_positive_2k: int
    documents: tuple[str, ...]
    positives: tuple[str, ...]

    @property
    def cutoff(self) -> int:
        return len(self.labels)


def load_pools(plan: StudyPlan) -> list[pa.Table]:
    """One table of pools a data set, with the queries that the plan draws.

    Raises:
        FormatError: A file cannot be read as pools.
        PlanError: Two data sets bear one name.
    """
    tables = [_draw(read_pools(entry.path, dataset=entry.name), entry, plan.seed) for entry in plan.datasets]
    names = [name for table in tables for name in table.column("dataset").unique().to_pylist()]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PlanError(f"two data sets are called {', '.join(twice)}; give each its own name in [[datasets]]")
    return tables


def _draw(pools: pa.Table, entry: DatasetPlan, seed: int) -> pa.Table:
    """The first `entry.queries` by a seeded hash of the query id: a larger number keeps those drawn before."""
    if entry.queries is None or entry.queries >= pools.num_rows:
        return pools
    keys = [hashlib.sha256(f"{seed}:{query_id}".encode()).digest() for query_id in pools["query_id"].to_pylist()]
    chosen = sorted(range(len(keys)), key=keys.__getitem__)[: entry.queries]
    return pools.take(pa.array(sorted(chosen)))


def rank(plan: StudyPlan, pools: Sequence[pa.Table], store: Store, progress: Progress) -> list[tuple[str, pa.Table]]:
    """(name of the retriever, rankings of all candidates of every pool), over all data sets in order."""
    ranked = []
    for name in plan.embedders:
        base_url = plan.model.base_url if name.startswith("openai:") else None
        ranker = retriever(name, base_url=base_url, store=store)
        with progress(f"rank with {name}", sum(pool.num_rows for pool in pools)) as advance:
            ranked.append((name, pa.concat_tables(rank_pools(ranker, pool, on_progress=advance) for pool in pools)))
    return ranked


def cut(pools: Sequence[pa.Table], ranked: Sequence[tuple[str, pa.Table]], cutoffs: Cutoffs) -> list[TopK]:
    """Every ranking at every cutoff; query by query, then retriever, then rising K.

    In that order each prompt is a prefix of the next one, which a local server reads only once.
    """
    queries = [row for table in pools for row in table.to_pylist()]
    by_retriever = [(name, rankings.to_pylist()) for name, rankings in ranked]
    return [
        top
        for i, pool in enumerate(queries)
        for name, rankings in by_retriever
        for top in _cut_one(pool, name, rankings[i], cutoffs)
    ]


def _cut_one(pool: dict[str, Any], name: str, ranking: dict[str, Any], cutoffs: Cutoffs) -> Iterable[TopK]:
    labels, texts = ranking["labels"], ranking["texts"]
    n_relevant, n_candidates = len(pool["positives"]), len(labels)
    for k in cutoffs.of(n_relevant=n_relevant, n_candidates=n_candidates):
        yield TopK(
            dataset=pool["dataset"],
            embedder=name,
            query_id=pool["query_id"],
            query=pool["query"],
            n_candidates=n_candidates,
            n_relevant=n_relevant,
            labels=tuple(labels[:k]),
            n_positive_2k=int(sum(labels[: 2 * k])),
            documents=tuple(texts[:k]),
            positives=tuple(document["text"] for document in pool["positives"]),
        )


def answer_top_k(
    tops: Sequence[TopK], model: Model, store: Store, progress: Progress
) -> tuple[list[Outcome], list[Outcome]]:
    """(ideal answers, answers from the top K), one each a `TopK`; equal tasks are asked once."""
    tasks = [AnswerTask(top.query, documents) for top in tops for documents in (top.positives, top.documents)]
    with progress("write answers", len(tasks)) as advance:
        outcomes = answer_all(tasks, prompt=ANSWER, model=model, store=store, on_progress=advance)
    return outcomes[0::2], outcomes[1::2]


def grade_answers(
    tops: Sequence[TopK],
    ideals: Sequence[Outcome],
    answers: Sequence[Outcome],
    model: Model,
    store: Store,
    progress: Progress,
    *,
    repeats: int = 1,
) -> list[RepeatedGrade]:
    """The grade of each answer against its ideal one; where one of the two is missing, an outcome that says so."""
    grades = [_ungradable(ideal, answer) for ideal, answer in zip(ideals, answers, strict=True)]
    open_ = [i for i, grade in enumerate(grades) if grade is None]
    tasks = [GradeTask(tops[i].query, str(ideals[i].value), str(answers[i].value)) for i in open_]
    with progress("grade answers", len(tasks) * repeats) as advance:
        found = grade_repeatedly(tasks, repeats=repeats, model=model, store=store, on_progress=advance)
    for i, grade in zip(open_, found, strict=True):
        grades[i] = grade
    return [grade for grade in grades if grade is not None]


def _ungradable(ideal: Outcome, answer: Outcome) -> RepeatedGrade | None:
    if ideal.value is None:
        return RepeatedGrade((Outcome(value=None, reason=f"no ideal answer: {ideal.reason}", raw=""),))
    if answer.value is None:
        return RepeatedGrade((Outcome(value=None, reason=f"no answer: {answer.reason}", raw=""),))
    return None


def graded_table(
    tops: Sequence[TopK], ideals: Sequence[Outcome], answers: Sequence[Outcome], grades: Sequence[RepeatedGrade]
) -> pa.Table:
    """One row a graded answer, as `schema.GRADED`; of answers graded more than once also the column `repeat_sd`."""
    rows = [
        {
            "query_id": top.query_id,
            "dataset": top.dataset,
            "embedder": top.embedder,
            "n_candidates": top.n_candidates,
            "n_relevant": top.n_relevant,
            "cutoff": top.cutoff,
            "grade": grade.grade,
            "labels": list(top.labels),
            "n_positive_2k": top.n_positive_2k,
            "answer_ideal": ideal.value,
            "answer_topk": answer.value,
            "reason": grade.reason,
        }
        for top, ideal, answer, grade in zip(tops, ideals, answers, grades, strict=True)
    ]
    table = pa.Table.from_pylist(rows, schema=GRADED)
    if all(len(grade.outcomes) == 1 for grade in grades):
        return table
    return table.append_column("repeat_sd", pa.array([grade.repeat_sd for grade in grades], pa.float64()))
