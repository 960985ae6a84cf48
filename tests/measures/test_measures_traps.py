"""What other tools get wrong, or differently, with the right values: each test stands for its kind.

Rankings and labels go through TREC files, as a user's do.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from measures_cases import same, value

from ragauge.errors import InputError, MeasureError
from ragauge.io import read_labels, read_rankings
from ragauge.measures import judge, parse_measure, score

Scored = dict[str, float | None]
Score = Callable[..., Scored]


@pytest.fixture
def scored(tmp_path: Path) -> Score:
    """The values of measures for query q1, of documents in rank order and "doc label" pairs; not retrieved ones too."""

    def of(documents: str, labels: str, *texts: str) -> Scored:
        run, qrels, ids, words = tmp_path / "a.run", tmp_path / "a.qrels", documents.split(), labels.split()
        run.write_text("".join(f"q1 Q0 {doc} {rank} {-rank} x\n" for rank, doc in enumerate(ids)))
        qrels.write_text("".join(f"q1 0 {d} {g}\n" for d, g in zip(words[::2], words[1::2], strict=True)))
        table = judge(read_rankings(run), read_labels(qrels))
        return score(table, [parse_measure(text) for text in texts]).drop(["query_id", "run"]).to_pylist()[0]

    return of


def check(found: Scored, expected: Sequence[float | None], tolerance: float = 6e-7) -> None:
    """Each value equals the one printed, to its six digits."""
    wrong = {
        text: (is_, should)
        for (text, is_), should in zip(found.items(), expected, strict=True)
        if not same(is_, should, tolerance)
    }
    assert not wrong


FACT = ("dA dB dC", "dA 1 dB 1 dE 1 dF 1")  # 2 of the 3 retrieved are relevant, dC is unjudged, R = 4
GRADED = ("dC dB dA dD", "dA 3 dB 2 dC 1 dD 0")
NEGATIVE = ("dA dB dC", "dA -1 dB 1 dC 0 dE 1")
POOLED = ("d1 d2 d3 d4 d5 d6", "d1 1 d3 0 d4 -1 d5 1 d6 0 d7 1")  # d2 has no line: not pooled


def test_fact_1_t_is_the_linear_utility_over_k(scored: Score) -> None:
    # .5 * 2 - .5 * 1 = .5, over 10; .7 * 2 over 2
    check(scored("dA dB dC", "dA 1 dB 1 dC 0", "T@10", "T(alpha=0.3)@2"), [0.05, 0.7])
    # dB unjudged: as trec_eval (negative) (.5 - 1) / 10; as with -J, where it is dropped, (.5 - .5) / 10
    check(scored("dA dB dC", "dA 1 dC 0", "T(unjudged=negative)@10", "T@10"), [-0.05, 0.0])


def test_fact_2_the_normalisation_without_n_p_is_scaled_dcg(scored: Score) -> None:
    texts = ("nDCG@10", "SDCG(max_label=1)@10", "nDCG(ideal=retrieved)@10")
    check(scored(*FACT, *texts), [0.636682, 0.358954, 1.0])  # 1.630930 / 2.561606, / 4.543559, / 1.630930
    check(scored(*GRADED, "SDCG(max_label=3)@4"), [0.489518])


def test_fact_3_f_at_k_has_four_readings_and_each_has_a_name(scored: Score) -> None:
    texts = ("F@10", "SetF@10", "SetF", "SetF(beta=2)@10", "SetF(beta=0.5)@10")
    # 2/(5+2); 2/(1.5+2); the same; 2/(.2*3 + .8*4); 2/(.8*3 + .2*4)
    check(scored(*FACT, *texts), [0.285714, 0.571429, 0.571429, 0.526316, 0.625])
    # trec_eval's set_F.x is (x+1)PR/(R+xP): alpha = 1/(1+x)
    check(scored(*FACT, f"SetF(alpha={1 / 3})", f"SetF(alpha={2 / 3})"), [0.545455, 0.6])
    with pytest.raises(MeasureError, match="'alpha' or 'beta' is given twice"):
        parse_measure("SetF(alpha=0.2,beta=2)")


def test_trap_T6_without_a_relevant_document_what_divides_by_their_number_is_undefined(scored: Score) -> None:
    texts = ("P@1", "RR", "R@1", "AP", "nDCG", "Rprec", "bpref", "infAP", "SetF", "F@1")
    check(scored("dA dB", "dB 0", *texts), [0.0, 0.0] + [math.nan] * 8)


def test_trap_T6_bpref_without_a_judged_negative_is_one_and_not_nan(scored: Score) -> None:
    check(scored("dA dB", "dA 1 dB 1", "bpref"), [1.0])


def test_trap_T7_fewer_than_k(scored: Score) -> None:
    texts = ("P@10", "SetP", "R@10", "AP", "AP@10", "AP@2", "nDCG@10", "Rprec", "Success@10", "F@10", "Judged@10")
    check(scored(*FACT, *texts), [0.2, 2 / 3, 0.5, 0.5, 0.5, 0.5, 0.636682, 0.5, 1.0, 0.285714, 2 / 3])


def test_trap_T7_empty_slots_count_neither_way_in_t(scored: Score) -> None:
    # (.5*2 - .5*1)/10 = .05 with dC negative; as negatives the 7 empty slots would give -.30
    check(scored(*FACT, "T(unjudged=negative)@10"), [0.05])


def test_trap_T7_recall_at_1_cannot_reach_1_and_capped_recall_can(scored: Score) -> None:
    check(scored(*FACT, "R@1", "Success@1", "R(cap=cutoff)@1"), [0.25, 1.0, 1.0])


def test_trap_T8_graded_labels_and_their_two_gains(scored: Score) -> None:
    texts = ("nDCG@10", "nDCG", "nDCG(gain=exponential)@10", "DCG", "SDCG(max_label=3)@4")
    check(scored(*GRADED, *texts), [0.789998, 0.789998, 0.680606, 3.761860, 0.489518])


def test_trap_T8_a_level_touches_binary_measures_only(scored: Score) -> None:
    texts = ("P(rel=2)@2", "RR(rel=2)", "AP(rel=2)", "bpref(rel=2)", "bpref")
    check(scored(*GRADED, *texts), [0.5, 0.5, 0.583333, 0.5, 1.0])
    with pytest.raises(MeasureError, match="rel is not used by nDCG with gain=linear"):
        parse_measure("nDCG(rel=2)@10")


def test_trap_T9_a_negative_grade_is_pooled_and_unjudged(scored: Score) -> None:
    texts = ("P@2", "nDCG@10", "AP", "bpref", "infAP", "R", "n_n@3", "n_n(unjudged=negative)@3", "Judged@3")
    # R = 1/2: two relevant; n_n: dC alone is judged negative; two of three are judged
    check(scored(*NEGATIVE, *texts), [0.5, 0.386853, 0.25, 0.5, 0.375, 0.5, 1.0, 2.0, 2 / 3])


def test_trap_T9_a_negative_grade_costs_nothing_in_t_and_gains_nothing_in_dcg(scored: Score) -> None:
    assert scored(*NEGATIVE, "T@3") == {"T@3": 0.0}  # (.5 - .5)/3
    check(scored(*NEGATIVE, "DCG", "SDCG(max_label=1)@3", "ERR(max_label=1)"), [0.630930, 0.296082, 0.25])


def test_trap_T13_unjudged_documents_in_ap_bpref_infap_and_p(scored: Score) -> None:
    check(scored(*POOLED, "AP", "bpref", "infAP", "P@6"), [0.466667, 0.5, 0.5, 0.333333])


def test_trap_T13_the_residual_of_rbp_counts_the_tail_also_when_all_is_judged(scored: Score) -> None:
    check(scored("dA dB dC", "dA 1 dC 0", "RBP(p=0.9)", "RBPres(p=0.9)"), [0.1, 0.819])  # .9^3 + .1 * .9
    check(scored("dA dB dC", "dA 1 dB 0 dC 0", "RBPres(p=0.9)", "RBPres(p=0.9)@2"), [0.729, 0.81])


def test_trap_T13_one_relevant_and_two_unjudged_in_scaled_dcg(scored: Score) -> None:
    check(scored("dA dB dC", "dA 1", "SDCG(max_label=1)@10"), [0.220092])  # 1 / 4.543559


@pytest.mark.parametrize("text", ["P@0", "R@1e1", 'P@"10"', "R@10.0", "P", "nDCG@-1"])
def test_trap_T14_a_bad_cutoff_is_refused_where_it_is_written(text: str) -> None:
    with pytest.raises(MeasureError, match="cutoff"):
        parse_measure(text)


def test_trap_T14_names_are_read_in_any_case() -> None:
    assert parse_measure("ndcg@10") == parse_measure("nDCG@10")


def test_trap_T14_query_ids_of_any_kind_get_their_own_err(tmp_path: Path) -> None:
    run, qrels = tmp_path / "a.run", tmp_path / "a.qrels"
    ids = ["q1", "topic-1", "en-1", "fr-1"]
    run.write_text("".join(f"{q} Q0 {q}d 1 1 x\n" for q in ids))
    qrels.write_text("".join(f"{q} 0 {q}d {label}\n" for label, q in enumerate(ids)))
    table = score(judge(read_rankings(run), read_labels(qrels)), [parse_measure("ERR(max_label=4)@10")])
    # (2^g - 1)/16 for g = 0..3
    assert table.column(2).to_pylist() == [0.0, 1 / 16, 3 / 16, 7 / 16]


def test_trap_3_average_precision_and_reciprocal_rank_agree_on_one_relevant_document(scored: Score) -> None:
    check(scored("dA dB dC dD", "dC 1 dA 0", "AP", "RR", "AP@3", "RR@3"), [1 / 3] * 4)


def test_trap_17_a_query_without_hits_scores_zero_and_no_metric_crashes() -> None:
    for text in ("RR", "AP", "nDCG", "Rprec", "bpref", "infAP", "ERR(max_label=3)", "RBP", "SetF", "R", "DCG"):
        assert value(text, [], [1, 0]) == 0.0
    assert value("RBPres", [], [1, 0]) == 1.0


def test_trap_24_fractional_labels_are_gains_or_probabilities() -> None:
    assert same(value("DCG@2", [0.5, 0.25], None), 0.5 + 0.25 / math.log2(3))
    # expected n_p = 1.5, n_n = .5: (.7 * 1.5 - .3 * .5) / 4
    assert same(value("T(alpha=0.3,labels=probability)@4", [0.9, 0.6], None), 0.225)
    assert same(value("P(labels=probability)@4", [0.9, 0.6], None), 0.375)
    with pytest.raises(InputError, match=r"labels=probability needs labels in 0\.\.1, got a label of 2"):
        value("P(labels=probability)@4", [0.9, 2], None)


def test_trap_25_a_document_graded_below_zero_is_not_a_judged_negative(scored: Score) -> None:
    check(scored("dA dB", "dA -2 dB 1", "n_n@2", "Judged@2", "T@2"), [0.0, 0.5, 0.25])


def test_trap_29_a_label_above_the_scale_is_refused() -> None:
    for text in ("SDCG(max_label=2)@3", "ERR(max_label=2)"):
        with pytest.raises(InputError, match="a label of 3 exceeds max_label=2"):
            value(text, [1, 3])
    with pytest.raises(InputError, match=r"UDCG needs labels in 0\.\.1"):
        value("UDCG", [2])
    with pytest.raises(InputError, match="gain=exponential takes labels up to 1000, got 1001"):
        value("DCG(gain=exponential)", [1001])


def test_trap_33_no_ideal_is_made_of_the_documents_that_happened_to_be_retrieved_unless_it_is_asked_for() -> None:
    with pytest.raises(MeasureError, match="nDCG@10 must know the labels of documents that were not retrieved"):
        value("nDCG@10", [3, 3], None)
    assert value("nDCG@2", [3, 3], [3, 3, 1]) == 1.0
