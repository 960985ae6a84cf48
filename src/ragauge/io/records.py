"""Records of evaluation tools and data sets, one query each: ragas, deepeval, LangChain, umbrela, AutoRAG, MTEB."""

from collections.abc import Iterator, Mapping
from typing import Any

from ragauge.errors import FormatError
from ragauge.io.attributes import unwrapped
from ragauge.io.documents import documents, label_number, query_text, same_length, text_id
from ragauge.io.documents import kind as kind_of
from ragauge.io.documents import number as number_of
from ragauge.io.found import Document, Label, Retrieval, Skip
from ragauge.io.long import qrels_label
from ragauge.io.text import content_id

__all__ = [
    "autorag",
    "deepeval_case",
    "graded_answer",
    "is_autorag",
    "is_deepeval_case",
    "is_graded_answer",
    "is_llama_dataset",
    "is_mteb",
    "is_ragas",
    "is_trec_rag",
    "is_umbrela",
    "is_with_documents",
    "llama_dataset",
    "mteb",
    "ragas",
    "trec_rag",
    "umbrela",
    "with_documents",
]

Record = Mapping[str, Any]
Item = Retrieval | Skip
NO_CONTEXTS = "without retrieved contexts"

_RELEVANT = Label(1.0)
_TOPIC_ID = ("topic_id", "narrative_id")
_DOCUMENT_KEYS = ("documents", "source_documents", "retrieved_documents", "source_nodes", "nodes", "context", "docs")


def is_ragas(record: Record) -> bool:
    """A ragas sample, with the names of version 0.2 and later or the older ones."""
    return bool(
        {"user_input", "retrieved_contexts", "retrieved_context_ids"} & record.keys()
        or {"question", "contexts"} <= record.keys()
    )


def ragas(record: Record) -> Iterator[Item]:
    """The retrieved contexts; reference_context_ids are relevant, and reference_contexts where there are no ids."""
    contexts = _strings(record, "retrieved_contexts")
    contexts = _strings(record, "contexts") if contexts is None else contexts
    ids = _ids(record, "retrieved_context_ids")
    query = _query(record, "user_input", "question")
    relevant = _ids(record, "reference_context_ids")
    if relevant is None:
        texts = _strings(record, "reference_contexts")
        relevant = [content_id(text) for text in texts or () if text] if ids is None else []
    marks = tuple((doc_id, _RELEVANT) for doc_id in dict.fromkeys(relevant))
    yield _retrieval_or_labels(_id(record), query, _paired(ids, contexts, None), marks)


def is_deepeval_case(record: Record) -> bool:
    """A deepeval test case or golden, in snake case or camel case."""
    return "input" in record and bool(
        {"retrieval_context", "retrievalContext", "actual_output", "actualOutput"} & record.keys()
    )


def deepeval_case(record: Record) -> Iterator[Item]:
    """The retrieval context of a test case; what it calls `context` is the ideal one and is not a list of documents."""
    value = record.get("retrieval_context", record.get("retrievalContext"))
    items = unwrapped(value)
    if isinstance(items, list):
        items = [_with_source(item) for item in items]
    found = documents(items) if isinstance(items, list) else None
    yield _retrieval_or_labels(_id(record), _query(record, "input"), found, ())


def is_with_documents(record: Record) -> bool:
    """A query beside a list of LangChain or LlamaIndex documents, plain or in pairs with scores."""
    return any(_hold_documents(record.get(key)) for key in _DOCUMENT_KEYS)


def with_documents(record: Record) -> Iterator[Item]:
    """The documents beside the query; in `[document, score]` pairs the score may be a distance, so the order counts."""
    key = next((key for key in _DOCUMENT_KEYS if isinstance(unwrapped(record.get(key)), list)), None)
    if key is None:
        yield Skip("without documents")
        return
    run = record.get("run")
    found = documents(record[key])
    yield Retrieval(_id(record), query_text(record), found, run if isinstance(run, str) and run else None)


def is_umbrela(record: Record) -> bool:
    """Candidates of Ragnarok and umbrela, or umbrela's judgments."""
    return ("candidates" in record and "query" in record) or {"passage", "judgment"} <= record.keys()


def umbrela(record: Record) -> Iterator[Item]:
    """The candidates in their order, with judgments where they have some; a judgment alone is a label."""
    query, query_id = record.get("query"), _id(record)
    if isinstance(query, Mapping):
        query_id = text_id(query.get("qid", query.get("id")), "the qid")
    if "candidates" in record:
        found = documents(record["candidates"])
        yield Skip("without documents") if found is None else Retrieval(query_id, query_text(query), found)
        return
    passage = record.get("passage")
    judged = documents([passage if isinstance(passage, Mapping) else {"docid": record.get("docid"), "text": passage}])
    failed = record.get("result_status") in (0, False)
    label = None if failed else label_number(record.get("judgment"), "the judgment")
    reason = "judgment_failed" if failed or label is None else None
    judge = record.get("model")
    mark = Label(label, reason, judge if isinstance(judge, str) and judge else None)
    yield Retrieval(query_id, query_text(query), None, None, ((_only(judged).key, mark),))


def is_trec_rag(record: Record) -> bool:
    """An answer as the RAG track of TREC takes it."""
    metadata = unwrapped(record.get("metadata"))
    return "references" in record and isinstance(metadata, Mapping) and any(key in metadata for key in _TOPIC_ID)


def trec_rag(record: Record) -> Iterator[Item]:
    """The references, which the answer cites by their places, in their order."""
    metadata = unwrapped(record.get("metadata"))
    fields = metadata if isinstance(metadata, Mapping) else {}
    query_id = text_id(next((fields[key] for key in _TOPIC_ID if fields.get(key) is not None), None), "the topic_id")
    run = fields.get("run_id")
    found = _paired(_ids(record, "references"), None, None)
    query = query_text(next((fields[key] for key in ("topic", "narrative") if fields.get(key)), None))
    yield Retrieval(query_id, query, found, run if isinstance(run, str) and run else None)


def is_autorag(record: Record) -> bool:
    """A row of AutoRAG's result tables or of its questions."""
    return "retrieval_gt" in record or any(key.startswith("retrieved_ids") for key in record)


def autorag(record: Record) -> Iterator[Item]:
    """The last stage's list, retrieved_ids; where there is none, each retrieved_ids_<name> is the run <name>."""
    query_id, query = text_id(record.get("qid"), "the qid"), _query(record, "query")
    truth = tuple((doc_id, _RELEVANT) for doc_id in dict.fromkeys(_flat_ids(record.get("retrieval_gt"))))
    stages = [key.removeprefix("retrieved_ids") for key in record if key.startswith("retrieved_ids")]
    last = [""] if "" in stages else stages
    for stage in last:
        ids = _ids(record, f"retrieved_ids{stage}")
        texts, scores = _strings(record, f"retrieved_contents{stage}"), record.get(f"retrieve_scores{stage}")
        yield Retrieval(query_id, query, _paired(ids, texts, _list(scores)), stage.removeprefix("_") or None, truth)
    for _ in range(len(stages) - len(last)):
        yield Skip("lists of an earlier stage")
    if not stages:
        yield Retrieval(query_id, query, None, None, truth)


def is_graded_answer(record: Record) -> bool:
    """A record of the public retrieval-response data."""
    return {"id", "K", "inK"} <= record.keys()


def graded_answer(record: Record) -> Iterator[Item]:
    """The 0/1 labels of the top K; the file has no documents, so they are called "1", "2", ... by rank."""
    values = _list(record.get("inK"))
    if values is None:
        raise FormatError(f"'inK' must be a list, got {kind_of(record.get('inK'))}")
    labels = [label_number(value, "an item of 'inK'") for value in values]
    run = " ".join(f"{key}={record[key]}" for key in ("E", "Nc", "K") if isinstance(record.get(key), str | int))
    query_id = text_id(record.get("id"), "the id")
    found = tuple(Document(f"{query_id}/{rank}", labels=(Label(value),)) for rank, value in enumerate(labels, start=1))
    yield Retrieval(query_id, None, found, run or None)


def is_mteb(record: Record) -> bool:
    """A row of MTEB's top_ranked or qrels."""
    return "query-id" in record and bool({"corpus-ids", "corpus-id"} & record.keys())


def mteb(record: Record) -> Iterator[Item]:
    """top_ranked: the candidates in their order. qrels: a label."""
    query_id = text_id(record.get("query-id"), "'query-id'")
    ids = _ids(record, "corpus-ids")
    if ids is not None:
        yield Retrieval(query_id, None, _paired(ids, None, None))
        return
    doc_id = text_id(record.get("corpus-id"), "'corpus-id'")
    if doc_id is None:
        raise FormatError("'corpus-id' must be an id, got null")
    yield Retrieval(query_id, None, None, relevant=((doc_id, qrels_label(record.get("score"))),))


def is_llama_dataset(record: Record) -> bool:
    """LlamaIndex's EmbeddingQAFinetuneDataset."""
    return {"queries", "corpus", "relevant_docs"} <= record.keys()


def llama_dataset(record: Record) -> Iterator[Item]:
    """The relevant documents of each query; the data set holds no rankings."""
    queries, relevant = (unwrapped(record.get(key)) for key in ("queries", "relevant_docs"))
    if not isinstance(queries, Mapping) or not isinstance(relevant, Mapping):
        raise FormatError("'queries' and 'relevant_docs' must be objects")
    for query_id, ids in relevant.items():
        names = _ids({query_id: ids}, query_id) or []
        marks = tuple((name, _RELEVANT) for name in dict.fromkeys(names))
        yield Retrieval(query_id, query_text(queries.get(query_id)), None, None, marks)


def _retrieval_or_labels(
    query_id: str | None, query: str | None, found: tuple[Document, ...] | None, marks: tuple[tuple[str, Label], ...]
) -> Item:
    """A record without a list of documents is a ranking of nothing only if it says so."""
    if found is None and not marks:
        return Skip(NO_CONTEXTS)
    return Retrieval(query_id, query, found, None, marks)


def _paired(ids: list[str] | None, texts: list[Any] | None, scores: list[Any] | None) -> tuple[Document, ...] | None:
    """Documents from parallel lists; None where there are neither ids nor texts."""
    if ids is None and texts is None:
        return None
    n = len(ids if ids is not None else texts or [])
    columns = (
        same_length(ids, n, "the list of ids"),
        same_length(texts, n, "the list of texts"),
        same_length(scores, n, "the list of scores"),
    )
    rows = zip(*columns, strict=True)
    return tuple(Document(doc_id, text, number_of(score, "a score")) for doc_id, text, score in rows)


def _list(value: Any) -> list[Any] | None:
    items = unwrapped(value)
    return items if isinstance(items, list) else None


def _strings(record: Record, key: str) -> list[str | None] | None:
    """The texts under a key; None where there is no list."""
    items = _list(record.get(key))
    if items is None:
        return None
    for place, item in enumerate(items, start=1):
        if not isinstance(item, str | None):
            raise FormatError(f"item {place} of {key!r} must be a string, got {kind_of(item)}")
    return items


def _ids(record: Record, key: str) -> list[str] | None:
    """The ids under a key; None where there is no list."""
    items = _list(record.get(key))
    if items is None:
        return None
    found = [text_id(item, f"item {place} of {key!r}") for place, item in enumerate(items, start=1)]
    if None in found:
        raise FormatError(f"item {found.index(None) + 1} of {key!r} must be an id, got nothing")
    return [name for name in found if name is not None]


def _flat_ids(value: Any, *, depth: int = 3) -> Iterator[str]:
    """AutoRAG's ground truth is a list of lists of ids."""
    for item in _list(value) or ():
        if isinstance(item, list):
            yield from _flat_ids(item, depth=depth - 1) if depth else ()
        elif (name := text_id(item, "an id of 'retrieval_gt'")) is not None:
            yield name


def _id(record: Record) -> str | None:
    keys = ("query_id", "qid", "id", "_id")
    return text_id(next((record[key] for key in keys if record.get(key) is not None), None), "the id of the query")


def _query(record: Record, *keys: str) -> str | None:
    """The query under the first of `keys`; a ragas conversation is its last message by a person."""
    value = next((record[key] for key in keys if record.get(key) is not None), None)
    if isinstance(value, list):
        asked = [turn for turn in value if isinstance(turn, Mapping) and turn.get("type", "human") == "human"]
        value = asked[-1].get("content") if asked else None
    return value if isinstance(value, str) and value else query_text(value)


def _with_source(item: Any) -> Any:
    """deepeval's retrieved context with its source, which it also writes as "source: context"."""
    return item["context"] if isinstance(item, Mapping) and isinstance(item.get("context"), str) else item


def _hold_documents(value: Any) -> bool:
    items = unwrapped(value)
    if not isinstance(items, list) or not items:
        return False
    first = items[0][0] if isinstance(items[0], list) and items[0] else items[0]
    return isinstance(first, Mapping) and bool({"page_content", "pageContent", "lc", "node"} & first.keys())


def _only(found: tuple[Document, ...] | None) -> Document:
    if not found:
        raise FormatError("no passage")
    return found[0]
