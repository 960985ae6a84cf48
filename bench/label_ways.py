"""How documents are labelled by ragauge, ragas and deepeval, each with what it offers: for label_peers.py.

A way takes a range of queries (ten documents each), the endpoint, the calls in flight and a folder of its own, and
labels one document a call. ragas and deepeval ask through OpenAI's client over aiohttp, which its documentation has for
many calls at once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from label_throughput import questions, rankings

TIMEOUT_S = 60
"""Of the openai client, which otherwise gives up connecting after 5 s: too soon for 200 connections on busy cores."""

Labels = dict[str, float | None]
"""Number of a document -> 1 and 0, or what stands where a label should; no entry where nothing came out."""
Way = Callable[[range, str, int, Path], Labels]


def number(text: str) -> str:
    """The number of a document, which is its second word."""
    return text.split(maxsplit=2)[1]


def pairs(queries: range) -> list[tuple[str, str]]:
    """Query and document of each call."""
    asked = islice(questions(10 * queries.stop), queries.start, None)
    return [(query, text) for query, texts in asked for text in texts]


def ragauge(queries: range, url: str, in_flight: int, folder: Path) -> Labels:
    """The whole path of `ragauge label`; every reply goes into a store."""
    from ragauge.llm import Model, label_rankings
    from ragauge.store import Store
    from ragauge.wire import Endpoint

    table = rankings(10 * queries.stop).slice(queries.start)
    with Store.open(folder / "labels.db") as store:
        found = label_rankings(table, model=Model("stub", Endpoint(url, "", concurrency=in_flight)), store=store)
    return dict(zip((name[1:] for name in found["doc_id"].to_pylist()), found["label"].to_pylist(), strict=True))


def ragas(queries: range, url: str, in_flight: int, folder: Path) -> Labels:
    """An experiment with a metric of two values: one short call a document, as fast as a bare gather of the metric."""
    from ragas.metrics import DiscreteMetric

    llm = ragas_llm(url)
    prompt = "Does the document help to answer the query?\nQuery: {query}\nDocument: {document}"
    metric = DiscreteMetric(name="relevance", prompt=prompt, allowed_values=["yes", "no"])

    async def label(query: str, text: str) -> float:
        return float((await metric.ascore(llm=llm, query=query, document=text)).value == "yes")

    return ragas_experiment(queries, in_flight, label)


def ragas_cached(queries: range, url: str, in_flight: int, folder: Path) -> Labels:
    """Context precision with one context a row: its replies can be pickled, as the cache wants; those above cannot."""
    from ragas.cache import DiskCacheBackend
    from ragas.metrics.collections import ContextPrecisionWithoutReference

    metric = ContextPrecisionWithoutReference(llm=ragas_llm(url, cache=DiskCacheBackend(str(folder / "cache"))))

    async def label(query: str, text: str) -> float:
        return (await metric.ascore(user_input=query, response="an answer", retrieved_contexts=[text])).value

    return ragas_experiment(queries, in_flight, label)


def ragas_llm(url: str, *, cache: Any = None) -> Any:
    from openai import AsyncOpenAI, DefaultAioHttpClient
    from ragas.llms import llm_factory

    client = AsyncOpenAI(base_url=url, api_key="none", http_client=DefaultAioHttpClient(), timeout=TIMEOUT_S)
    return llm_factory("stub", client=client, cache=cache)


def ragas_experiment(queries: range, in_flight: int, label: Callable[[str, str], Awaitable[float]]) -> Labels:
    """All rows of an experiment start at once, so each waits for a place."""
    from ragas import Dataset, experiment

    places = asyncio.Semaphore(in_flight)

    @experiment(backend="inmemory")
    async def label_row(row: dict[str, str]) -> dict[str, Any]:
        async with places:
            return {**row, "label": await label(row["query"], row["document"])}

    rows = [{"query": query, "document": text} for query, text in pairs(queries)]
    found = asyncio.run(label_row.arun(Dataset("documents", "inmemory", data=rows)))
    return {number(row["document"]): row["label"] for row in found}


def ragas_evaluate(queries: range, url: str, in_flight: int, folder: Path) -> Labels:
    """Its older way: context precision with one context a row, which is that context's verdict."""
    from langchain_openai import ChatOpenAI
    from ragas import EvaluationDataset, RunConfig, evaluate
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import LLMContextPrecisionWithoutReference

    llm = LangchainLLMWrapper(ChatOpenAI(model="stub", base_url=url, api_key="none", timeout=TIMEOUT_S))
    metric = LLMContextPrecisionWithoutReference()
    asked = pairs(queries)
    rows = [{"user_input": query, "response": "an answer", "retrieved_contexts": [text]} for query, text in asked]
    config = RunConfig(max_workers=in_flight)
    found = evaluate(EvaluationDataset.from_list(rows), [metric], llm=llm, run_config=config, show_progress=False)
    return {number(text): scores[metric.name] for (_, text), scores in zip(asked, found.scores, strict=True)}


def relevancy(url: str) -> Any:
    """deepeval's metric, without a reason (a second call), on one client: else it makes one a call, 40 ms each."""
    from deepeval.metrics import ContextualRelevancyMetric
    from deepeval.models import OpenAIModel
    from openai import DefaultAioHttpClient

    # a known name: for it deepeval asks for structured output
    model = OpenAIModel(
        "gpt-4o-mini", api_key="none", base_url=url, async_http_client=DefaultAioHttpClient(), timeout=TIMEOUT_S
    )
    return lambda: ContextualRelevancyMetric(model=model, include_reason=False)


def deepeval(queries: range, url: str, in_flight: int, folder: Path) -> Labels:
    """One context a test case, `a_measure` of each gathered: it takes less than `evaluate`."""
    from deepeval.test_case import LLMTestCase

    make = relevancy(url)
    places = asyncio.Semaphore(in_flight)

    async def label(query: str, text: str) -> tuple[str, float]:
        async with places:
            case = LLMTestCase(input=query, actual_output="", retrieval_context=[text])
            return number(text), await make().a_measure(case, _show_indicator=False)

    async def label_all() -> Labels:
        return dict(await asyncio.gather(*(label(*pair) for pair in pairs(queries))))

    return asyncio.run(label_all())


def deepeval_evaluate(
    queries: range, url: str, in_flight: int, folder: Path, *, cache: bool = False, ignore_errors: bool = False
) -> Labels:
    """Its `evaluate`, which has a cache and a way to go on after an error."""
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
    from deepeval.test_case import LLMTestCase

    found = evaluate(
        [LLMTestCase(input=query, actual_output="", retrieval_context=[text]) for query, text in pairs(queries)],
        [relevancy(url)()],
        async_config=AsyncConfig(max_concurrent=in_flight, throttle_value=0),
        cache_config=CacheConfig(write_cache=cache, use_cache=cache),
        display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
        error_config=ErrorConfig(ignore_errors=ignore_errors),
    )
    return {number(case.retrieval_context[0]): case.metrics_data[0].score for case in found.test_results}


FASTEST: dict[str, Way] = {"ragauge": ragauge, "ragas": ragas, "deepeval": deepeval}
LASTING: dict[str, Way] = {
    "ragauge": ragauge,
    "ragas, DiskCacheBackend": ragas_cached,
    "deepeval evaluate, use_cache": partial(deepeval_evaluate, cache=True),
}
TOLERANT: dict[str, Way] = {
    "ragauge": ragauge,
    "ragas experiment": ragas,
    "ragas evaluate": ragas_evaluate,
    "deepeval evaluate": deepeval_evaluate,
    "deepeval evaluate, ignore_errors": partial(deepeval_evaluate, ignore_errors=True),
}
WAYS = {"timed": FASTEST | LASTING, "lasting": LASTING, "tolerant": TOLERANT}
