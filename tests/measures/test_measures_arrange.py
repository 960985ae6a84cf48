"""Which documents a ranking holds and in which order: ties, duplicates, chunks, the query among its own results."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.errors import InputError
from ragauge.measures import arrange
from ragauge.schema import RANKINGS

Documents = Sequence[tuple[str, float | None]]


def table(*rankings: Documents, query_ids: Sequence[str] | None = None) -> pa.Table:
    """Rankings of (document, score); the text of a document says where it stood."""
    names = query_ids or [f"q{at}" for at in range(len(rankings))]
    rows = [
        {
            "query_id": query_id,
            "query": None,
            "run": "run",
            "doc_ids": [doc_id for doc_id, _ in documents],
            "texts": [f"{rank}" for rank, _ in enumerate(documents, start=1)],
            "scores": [score for _, score in documents],
            "labels": [None] * len(documents),
        }
        for query_id, documents in zip(names, rankings, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def ids(rankings: pa.Table) -> list[list[str]]:
    return rankings.column("doc_ids").to_pylist()


ORDERS = [
    # by score, then by id, last first in byte order
    ([("dA", 1.0), ("dB", 1.0)], ["dB", "dA"]),
    ([("dB", 1.0), ("dA", 2.0)], ["dA", "dB"]),
    ([("9", 1.0), ("10", 1.0)], ["9", "10"]),  # "9" is after "10" in byte order
    ([("z", 1.0), ("é", 1.0)], ["é", "z"]),  # two bytes, C3 A9, are after 7A
    ([("dA", 0.9), ("dB", 0.900000001)], ["dB", "dA"]),  # equal as 32-bit floats, and not as 64-bit ones
    ([("dA", 16777216.0), ("dB", 16777217.0)], ["dB", "dA"]),
    ([("dA", 0.0), ("dB", -0.0)], ["dB", "dA"]),  # equal
    ([], []),
]


@pytest.mark.parametrize(("documents", "expected"), ORDERS)
def test_trap_T1_and_T2_trec_order_is_by_score_then_id_in_bytes(documents: Documents, expected: list[str]) -> None:
    assert ids(arrange(table(documents), order="trec").rankings) == [expected]


def test_input_order_is_kept_whatever_the_scores() -> None:
    given_table = table([("a", 1.0), ("b", 2.0), ("c", 2.0)])
    found = arrange(given_table)
    assert found.rankings.equals(given_table)
    assert (found.n_reordered, found.n_unscored) == (0, 0)


def test_only_rankings_out_of_order_are_counted_and_all_columns_move_together() -> None:
    found = arrange(table([("a", 1.0), ("b", 2.0)], [("b", 2.0), ("a", 2.0)], [("x", 1.0)]), order="trec")
    assert found.n_reordered == 1
    assert ids(found.rankings) == [["b", "a"], ["b", "a"], ["x"]]
    assert found.rankings.column("texts").to_pylist() == [["2", "1"], ["1", "2"], ["1"]]
    assert found.rankings.column("scores").to_pylist() == [[2.0, 1.0], [2.0, 2.0], [1.0]]


def test_a_ranking_with_an_unscored_document_stays_and_is_counted() -> None:
    found = arrange(table([("a", 1.0), ("b", None), ("c", 5.0)]), order="trec")
    assert ids(found.rankings) == [["a", "b", "c"]]
    assert (found.n_reordered, found.n_unscored) == (0, 1)


def test_trap_T10_a_document_twice_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="document 'dA' stands more than once in the ranking of query 'q1'"):
        arrange(table([("dA", 1.0)], [("dA", 3.0), ("dB", 2.0), ("dA", 1.0)]))


def test_trap_T10_the_first_or_the_best_scored_is_kept_and_never_the_last() -> None:
    documents = [("dA", 3.0), ("dB", 2.0), ("dA", 1.0)]
    for policy in ("first", "max"):
        found = arrange(table(documents), duplicates=policy)
        assert (ids(found.rankings), found.n_duplicates) == ([["dA", "dB"]], 1)


def test_max_keeps_the_best_scored_where_it_stands() -> None:
    documents = [("a", 1.0), ("b", 5.0), ("a", 3.0), ("b", 2.0), ("a", 3.0)]
    found = arrange(table(documents), duplicates="max")
    assert (ids(found.rankings), found.n_duplicates) == ([["b", "a"]], 3)
    assert found.rankings.column("texts").to_pylist() == [["2", "3"]]  # of equal scores the first
    assert ids(arrange(table(documents), duplicates="first").rankings) == [["a", "b"]]


def test_max_needs_the_scores_of_what_stands_twice_and_of_nothing_else() -> None:
    assert ids(arrange(table([("a", 1.0), ("b", None), ("a", 2.0)]), duplicates="max").rankings) == [["b", "a"]]
    with pytest.raises(InputError, match="document 'a' of query 'q0' stands more than once and has no score"):
        arrange(table([("a", 1.0), ("a", None)]), duplicates="max")


def test_chunks_become_their_document() -> None:
    documents = [("d1#2", 1.0), ("d2#1", 3.0), ("d1#7", 4.0), ("d3", 2.0)]
    best = arrange(table(documents), collapse="max", doc_id_rule="#")
    assert (ids(best.rankings), best.n_collapsed) == ([["d2", "d1", "d3"]], 1)
    assert best.rankings.column("texts").to_pylist() == [["2", "3", "4"]]
    assert ids(arrange(table(documents), collapse="first", doc_id_rule="#").rankings) == [["d1", "d2", "d3"]]


def test_collapsed_documents_are_ordered_by_their_new_ids() -> None:
    # by chunk id b#1 is before a#9 and a#1; the documents are then tied at 1.0, b before a
    found = arrange(table([("a#9", 1.0), ("b#1", 1.0), ("a#1", 0.5)]), order="trec", collapse="max", doc_id_rule="#")
    assert ids(found.rankings) == [["b", "a"]]


RULES = [
    ("#", "d#1#2", "d"),  # the first separator
    ("::", "d::4", "d"),
    (".", "d.4", "d"),  # a separator is no pattern
    (r"(.*)-\d+", "doc-7-12", "doc-7"),
    (r"(.*)-\d+", "doc-x", "doc-x"),  # what does not fit is a document of its own
    ("#", "#1", "#1"),  # nothing before the separator
]


@pytest.mark.parametrize(("rule", "chunk", "document"), RULES)
def test_a_rule_names_the_document_of_a_chunk(rule: str, chunk: str, document: str) -> None:
    assert ids(arrange(table([(chunk, 1.0)]), collapse="first", doc_id_rule=rule).rankings) == [[document]]


def test_trap_44_a_depth_holds_for_all_that_follows() -> None:
    rankings = table([("a", 1.0), ("b", 3.0), ("c", 2.0)], [("a", 1.0)], [])
    assert ids(arrange(rankings, order="trec", depth=2).rankings) == [["b", "c"], ["a"], []]
    chunks = table([("a#1", 3.0), ("a#2", 2.0), ("b#1", 1.0)])
    assert ids(arrange(chunks, collapse="max", doc_id_rule="#", depth=2).rankings) == [["a", "b"]]


BAD = [
    ({"depth": 0}, "depth must be a positive integer, got 0"),
    ({"order": "score"}, "order must be one of 'input', 'trec', got 'score'"),
    ({"duplicates": "last"}, "duplicates must be one of 'error', 'first', 'max', got 'last'"),
    ({"collapse": "max"}, "collapse and doc_id_rule belong together"),
    ({"doc_id_rule": "#"}, "collapse and doc_id_rule belong together"),
    ({"collapse": "max", "doc_id_rule": "(a)(b)"}, "must have exactly one group, got 2"),
    ({"collapse": "max", "doc_id_rule": "(a"}, "is not a regular expression"),
    ({"collapse": "max", "doc_id_rule": ""}, "must not be empty"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_choices_that_are_not_allowed_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        arrange(table([("a", 1.0)]), **options)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_a_score_that_is_not_finite_is_refused() -> None:
    with pytest.raises(InputError, match="ranking of query 'q0' has a score that is not finite"):
        arrange(table([("a", float("nan"))]))


def test_the_query_is_dropped_from_its_own_results_only_when_asked() -> None:
    rankings = table([("q0", 9.0), ("a", 1.0)], [("q0", 2.0), ("q1", 1.0)])
    assert ids(arrange(rankings).rankings) == [["q0", "a"], ["q0", "q1"]]
    found = arrange(rankings, identical_ids="drop")
    assert (ids(found.rankings), found.n_identical) == ([["a"], ["q0"]], 2)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(["a#1", "a#2", "b#1", "b", "c"]), st.integers(0, 3).map(float)), max_size=6),
        max_size=4,
    ),
    st.sampled_from(["first", "max"]),
    st.integers(0, 4),
)
def test_arranging_equals_python_lists_also_for_slices_and_chunks(
    rankings: list[list[tuple[str, float]]], keep: str, cut: int
) -> None:
    whole = table(*rankings)
    split = pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])
    found = arrange(split, order="trec", duplicates=keep, collapse=keep, doc_id_rule="#")  # type: ignore[arg-type]
    expected = []
    for documents in rankings:
        best: dict[str, float] = {}
        for chunk, score in documents:  # in trec order the first of a document is its best
            doc_id = chunk.split("#")[0]
            best[doc_id] = max(score, best.get(doc_id, -1.0))
        expected.append(
            [doc_id for doc_id, _ in sorted(best.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)]
        )
    assert ids(found.rankings) == expected
    assert found.n_duplicates + found.n_collapsed == sum(map(len, rankings)) - sum(map(len, expected))
