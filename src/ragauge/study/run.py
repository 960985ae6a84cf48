"""A study from its plan to its tables: what was ranked, answered, graded, and how each measure follows the grades."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa

from ragauge.llm import LocalServer, Model, fetch, parts_of
from ragauge.llm.fetch import MODEL_FILES
from ragauge.llm.serve import local_identity
from ragauge.store import Store, Usage
from ragauge.study.contest import contest
from ragauge.study.correlate import correlate
from ragauge.study.plan import LOCAL, ModelPlan, StudyPlan
from ragauge.study.stages import (
    Progress,
    TopK,
    answer_top_k,
    cut,
    grade_answers,
    graded_table,
    load_pools,
    no_progress,
    rank,
)
from ragauge.wire import Endpoint

__all__ = ["Study", "named_model", "open_model", "run_study"]

N_DRAWS = 1000
"""Bootstrap draws behind the corrected maxima and the confidence sets."""
_NOWHERE = "http://127.0.0.1:9/v1"
"""Stands for a local server that is not started: port 9 discards what it gets."""
LOCAL_TIMEOUT_S = 600.0
"""A long prompt on busy cores may take minutes, and the local server cannot be out of reach."""


@dataclass(frozen=True)
class Study:
    """What a study found.

    Attributes:
        graded: `schema.GRADED`, one row an answer.
        correlations: `schema.CORRELATIONS`, with corrected maxima.
        contest: `schema.CONTEST`: which measure may be the best.
        rankings: retriever -> `schema.RANKINGS` of all candidates.
        tops: What each row of `graded` was written from, in its order.
        usage: Calls, tokens and seconds of all that the store holds, by model and prompt.
    """

    graded: pa.Table
    correlations: pa.Table
    contest: pa.Table
    rankings: dict[str, pa.Table]
    tops: tuple[TopK, ...]
    usage: tuple[Usage, ...]


def run_study(
    plan: StudyPlan, *, store: Store, by: Literal["ratio", "width"] = "ratio", progress: Progress = no_progress
) -> Study:
    """Do what the plan says; what the store already holds is not asked again.

    Args:
        plan: See `ragauge.study.plan`.
        store: Keeps every reply and vector, so that a stopped study goes on where it was.
        by: Segments of the correlations: one a K/N_p ratio, or narrow (K < N_p) and wide.
        progress: Opens a progress bar a stage.

    Raises:
        InputError: The plan's data cannot be used.
        RunError: The model cannot be fetched, served or reached at all.
    """
    pools = load_pools(plan)
    ranked = rank(plan, pools, store, progress)
    tops = cut(pools, ranked, plan.cutoffs)
    with ExitStack() as stack:
        model = stack.enter_context(open_model(plan.model, progress))
        ideals, answers = answer_top_k(tops, model, store, progress)
        grader = model if plan.grader == plan.model else stack.enter_context(open_model(plan.grader, progress))
        grades = grade_answers(tops, ideals, answers, grader, store, progress, repeats=plan.grade_repeats)
    graded = graded_table(tops, ideals, answers, grades)
    return Study(
        graded=graded,
        correlations=correlate(graded, by=by, bootstrap=N_DRAWS),
        contest=contest(graded, by=by, n_draws=N_DRAWS),
        rankings=dict(ranked),
        tops=tuple(tops),
        usage=tuple(store.usage()),
    )


@contextmanager
def open_model(plan: ModelPlan, progress: Progress = no_progress) -> Iterator[Model]:
    """The model of a plan: an endpoint as it is, or ragauge's own server for as long as the context is open."""
    model = named_model(plan)
    if plan.base_url not in LOCAL:
        yield model
        return
    size = LOCAL[plan.base_url]
    with progress(f"fetch the local model ({size})", parts_of(size)) as advance:
        path = fetch(size, on_progress=advance)
    with LocalServer(path, threads=plan.threads) as server:
        yield replace(model, endpoint=replace(model.endpoint, base_url=server.base_url))


def named_model(plan: ModelPlan) -> Model:
    """The model of a plan under the name the store knows it by; nothing is fetched or started.

    It is for looking up what was asked before: `fetch` keeps no file with another checksum, so the keys of stored
    replies are those of `open_model`. Nothing answers at the endpoint of a local model.
    """
    if plan.base_url not in LOCAL:
        endpoint = Endpoint(plan.base_url, plan.api_key_env, concurrency=plan.concurrency, rpm=plan.rpm, tpm=plan.tpm)
        return Model(str(plan.name), endpoint)
    file = MODEL_FILES[LOCAL[plan.base_url]]
    name = Path(file.file_name).stem
    endpoint = Endpoint(_NOWHERE, "", timeout_s=LOCAL_TIMEOUT_S, concurrency=1)
    return Model(name, endpoint, identity=local_identity(name, file.sha256))
