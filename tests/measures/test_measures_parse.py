"""A measure is a value: what is read, how it is printed, what is refused and with which words."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.errors import MeasureError
from ragauge.measures import Measure, parse_measure

READ = [
    # as written, as printed
    ("P@10", "P@10"),
    ("p@010", "P@10"),
    ("N_P@5", "n_p@5"),
    ("success@1", "Success@1"),
    ("ndcg@5", "nDCG@5"),
    ("nDCG(ideal=qrels)@5", "nDCG@5"),
    ("nDCG(IDEAL=Retrieved)@5", "nDCG(ideal=retrieved)@5"),
    ("F(alpha=0.3)@10", "F(alpha=0.3)@10"),
    ("F(alpha=.50)@10", "F@10"),
    ("F(alpha=1e-3)@10", "F(alpha=0.001)@10"),
    ("F(alpha=-0)@10", "F(alpha=0)@10"),
    ("Fe(x=2)@5", "Fe@5"),
    ("Fe(x=3,alpha=0.3)@5", "Fe(alpha=0.3,x=3)@5"),
    (" T ( form = count , alpha = 0.3 ) @ 10 ", "T(alpha=0.3,form=count)@10"),
    ("T(unjudged=negative)@10", "T(unjudged=negative)@10"),
    ("T()@10", "T@10"),
    ("SDCG(max_label=3.0)@5", "SDCG(max_label=3)@5"),
    ("Judged@10", "Judged@10"),
    ("R(rel=2)@10", "R(rel=2)@10"),
    ("R(rel=1)@10", "R@10"),
    ("R", "R"),
    ("rr", "RR"),
    ("AP(rel=2)", "AP(rel=2)"),
    (" ndcg ( gain = Exponential ) ", "nDCG(gain=exponential)"),
    ("RBP(p=.8)", "RBP"),
    ("rbpRES(p=0.95)@20", "RBPres(p=0.95)@20"),
    ("rprec", "Rprec"),
    ("BPREF()", "bpref"),
    ("infap(rel=2)", "infAP(rel=2)"),
    ("F(beta=1)@10", "F@10"),
    ("F(beta=2)@10", "F(alpha=0.2)@10"),
    ("SetF(beta=0)", "SetF(alpha=1)"),
    ("Fe(beta=3,x=3)@10", "Fe(alpha=0.1,x=3)@10"),
    ("UDCG(distraction=0.5)", "UDCG(distraction=0.5)"),
    ("r(cap=cutoff)@5", "R(cap=cutoff)@5"),
    ("nDCG(gain=binary,rel=2)@5", "nDCG(gain=binary,rel=2)@5"),
]

REFUSED = [
    ("nDGC@10", "unknown measure 'nDGC' in 'nDGC@10'; did you mean 'nDCG'?"),
    ("Precision@5", "unknown measure 'Precision' in 'Precision@5'; did you mean 'P'?"),
    ("f1@5", "unknown measure 'f1' in 'f1@5'; did you mean 'F'?"),
    (
        "Foo",
        "unknown measure 'Foo' in 'Foo'; known: n_p, n_n, P, SetP, R, Success, F, SetF, Fe, T, RR, AP, Rprec, DCG,",
    ),
    ("MAP", "unknown measure 'MAP' in 'MAP'; did you mean 'AP'?"),
    ("MRR@10", "unknown measure 'MRR' in 'MRR@10'; did you mean 'RR'?"),
    ("recip_rank", "unknown measure 'recip_rank' in 'recip_rank'; did you mean 'RR'?"),
    ("R_cap@1", "unknown measure 'R_cap' in 'R_cap@1'; did you mean 'R'?"),
    ("P", "no cutoff in 'P'; write for example 'P@10'"),
    ("R()@ ", "no cutoff in 'R()@ '; write for example 'R@10'"),
    ("nDCG@0", "cutoff must be a positive integer, got 0 in 'nDCG@0'"),
    ("P@-1", "cutoff must be a positive integer, got -1 in 'P@-1'"),
    ("P@1e1", "cutoff must be a positive integer, got 1e1 in 'P@1e1'"),
    ("P@10.0", "cutoff must be a positive integer, got 10.0 in 'P@10.0'"),
    ('P@"10"', """cutoff must be a positive integer, got "10" in 'P@"10"'"""),
    ("P@٣", "cutoff must be a positive integer, got ٣ in 'P@٣'"),
    ("P@2000000", "cutoff must be at most 1000000, got 2000000 in 'P@2000000'"),
    ("P@" + "9" * 20, f"cutoff must be at most 1000000, got a number of 20 digits in 'P@{'9' * 20}'"),
    ("P(alpha=0.3)@10", "P has no parameter 'alpha' in 'P(alpha=0.3)@10'; its parameters: labels, rel"),
    ("Judged(rel=1)@10", "Judged has no parameter 'rel' in 'Judged(rel=1)@10'; its parameters: none"),
    ("T(a=0.3)@10", "T has no parameter 'a' in 'T(a=0.3)@10'; its parameters: alpha, form, unjudged, labels, rel"),
    ("F(alpha=1.2)@10", "alpha must be a number in [0, 1], got 1.2 in 'F(alpha=1.2)@10'"),
    ("F(alpha=-0.1)@10", "alpha must be a number in [0, 1], got -0.1 in 'F(alpha=-0.1)@10'"),
    ("F(alpha=nan)@10", "alpha must be a number in [0, 1], got 'nan' in 'F(alpha=nan)@10'"),
    ("P(rel=1e999)@10", "rel must be a number above 0, got inf in 'P(rel=inf)@10'"),
    ("P(rel=0)@10", "rel must be a number above 0, got 0 in 'P(rel=0)@10'"),
    ("Fe(x=0.5)@10", "x must be a number in [1, 1000], got 0.5 in 'Fe(x=0.5)@10'"),
    ("T(form=code)@10", "form must be 'paper' or 'count', got 'code' in 'T(form=code)@10'"),
    ("T(form=1)@10", "form must be 'paper' or 'count', got 1 in 'T(form=1)@10'"),
    ("nDCG(ideal=qrels,ideal=qrels)@1", "parameter 'ideal' is given twice in 'nDCG(ideal=qrels,ideal=qrels)@1'"),
    ("F(beta=2,alpha=0.2)@9", "parameter 'alpha' or 'beta' is given twice in 'F(beta=2,alpha=0.2)@9'; give it once"),
    ("F(beta=-1)@9", "beta must be a number in [0, 1000000], got -1 in 'F(beta=-1)@9'"),
    ("F", "no cutoff in 'F'; write for example 'F@10'"),
    ("R@", "no cutoff in 'R@'; write for example 'R@10'"),
    ("RR@0", "cutoff must be a positive integer, got 0 in 'RR@0'"),
    ("Rprec@10", "Rprec takes no cutoff, got @10 in 'Rprec@10'; write 'Rprec'"),
    ("bpref(rel=2)@5", "bpref takes no cutoff, got @5 in 'bpref(rel=2)@5'; write 'bpref'"),
    ("infAP@1e1", "cutoff must be a positive integer, got 1e1 in 'infAP@1e1'"),
    ("RBP(p=1)", "p must be a number in [0, 1), got 1 in 'RBP(p=1)'"),
    ("ERR@10", "ERR needs max_label in 'ERR@10'; write for example 'ERR(max_label=3)@10'"),
    ("nDCG(rel=2)@10", "rel is not used by nDCG with gain=linear in 'nDCG(rel=2)@10'; leave it out"),
    ("P(labels=probability,rel=0.5)@3", "rel is not used by P with labels=probability in 'P("),
    ("R(cap=cutoff)", "R with cap=cutoff needs a cutoff in 'R(cap=cutoff)'; write for example 'R(cap=cutoff)@10'"),
    ("SDCG(max_label=1,gain=binary,rel=2)@3", "max_label must be at least rel when gain=binary, got 1 and 2 in 'SDCG("),
    ("UDCG(distraction=-0.3)", "distraction must be a number of at least 0, got -0.3 in 'UDCG(distraction=-0.3)'"),
    ("SDCG@10", "SDCG needs max_label in 'SDCG@10'; write for example 'SDCG(max_label=3)@10'"),
    ("F(0.3)@10", "expected key=value, got '0.3' in 'F(0.3)@10'"),
    ("F(alpha=0.3,)@10", "expected key=value, got '' in 'F(alpha=0.3,)@10'"),
    ("F(alpha=0.3@10", "cannot read the measure 'F(alpha=0.3@10'; write NAME@K or NAME(key=value,...)@K"),
    ("", "cannot read the measure ''; write NAME@K or NAME(key=value,...)@K"),
    ("P@10@10", "cutoff must be a positive integer, got 10@10 in 'P@10@10'"),
    ("10", "cannot read the measure '10'"),
]


@pytest.mark.parametrize(("written", "printed"), READ)
def test_a_measure_is_printed_in_its_canonical_form(written: str, printed: str) -> None:
    assert str(parse_measure(written)) == printed
    assert parse_measure(printed) == parse_measure(written)
    assert hash(parse_measure(printed)) == hash(parse_measure(written))


@pytest.mark.parametrize(("written", "message"), REFUSED)
def test_what_is_refused_is_named_with_what_is_allowed(written: str, message: str) -> None:
    with pytest.raises(MeasureError) as caught:
        parse_measure(written)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


MEASURES = st.one_of(
    st.builds(
        lambda K, a, r: Measure.of("F", K, alpha=a, rel=r), st.integers(1, 999), st.floats(0, 1), st.floats(0.1, 1e20)
    ),
    st.builds(
        lambda K, a, x: Measure.of("Fe", K, alpha=a, x=x), st.integers(1, 999), st.floats(0, 1), st.floats(1, 1000)
    ),
    st.builds(
        lambda K, a, f: Measure.of("T", K, alpha=a, form=f),
        st.integers(1, 999),
        st.floats(0, 1),
        st.sampled_from(["paper", "count"]),
    ),
    st.builds(lambda m: Measure.of("SDCG", 5, max_label=m), st.floats(0, exclude_min=True, allow_infinity=False)),
    st.builds(lambda K, b: Measure.of("SetF", K, beta=b), st.none() | st.integers(1, 999), st.floats(0, 1e6)),
    st.builds(
        lambda K, p: Measure.of("RBP", K, p=p), st.none() | st.integers(1, 999), st.floats(0, 1, exclude_max=True)
    ),
    st.builds(lambda K, name: Measure.of(name, K), st.none() | st.integers(1, 999), st.sampled_from(["RR", "AP", "R"])),
)


@settings(max_examples=100, deadline=None)
@given(MEASURES)
def test_the_printed_form_reads_back_as_the_same_measure(measure: Measure) -> None:
    assert parse_measure(str(measure)) == measure


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="PFTne_@()=,.0123alph \n\"'-", max_size=20))
def test_any_text_is_read_or_refused_with_a_measure_error(text: str) -> None:
    try:
        measure = parse_measure(text)
    except MeasureError:
        return
    assert parse_measure(str(measure)) == measure


def test_parameters_are_complete_and_in_their_order_however_they_were_given() -> None:
    assert parse_measure("t(form=count)@3").parameters == (
        ("alpha", 0.5),
        ("form", "count"),
        ("unjudged", "ignore"),
        ("labels", "grade"),
        ("rel", 1.0),
    )
    assert Measure("T", 3, (("form", "count"),)) == Measure.of("t", 3, alpha=0.5, form="count")


@pytest.mark.parametrize("cutoff", [0, True, 2.5, "10"])
def test_a_measure_built_in_python_is_checked_alike(cutoff: object) -> None:
    with pytest.raises(MeasureError, match="cutoff must be a positive integer"):
        Measure("P", cutoff)  # type: ignore[arg-type]


def test_a_cutoff_of_more_digits_than_python_reads_is_refused_alike() -> None:
    with pytest.raises(MeasureError, match="cutoff must be at most 1000000, got a number of 5000 digits"):
        parse_measure("P@" + "9" * 5000)
    assert parse_measure("P@" + "0" * 5000 + "7") == Measure("P", 7)


def test_a_cutoff_is_required_optional_or_none() -> None:
    assert Measure("RR") == parse_measure("RR") != parse_measure("RR@1000000")
    with pytest.raises(MeasureError, match="no cutoff in 'P'"):
        Measure("P")
    with pytest.raises(MeasureError, match="Rprec takes no cutoff, got @3"):
        Measure("Rprec", 3)


@pytest.mark.parametrize(("text", "depth"), [("RR", None), ("RR@5", 5), ("Rprec", None), ("Fe@5", 10)])
def test_depth_is_how_many_documents_are_read_and_none_is_all(text: str, depth: int | None) -> None:
    assert parse_measure(text).depth == depth


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("P@5", True),
        ("P(labels=probability)@5", False),
        ("nDCG", False),
        ("nDCG(gain=binary)", True),
        ("ERR(max_label=3)", False),
        ("Judged", False),
        ("bpref", True),
    ],
)
def test_a_measure_says_whether_a_level_matters(text: str, used: bool) -> None:
    assert parse_measure(text).uses_rel is used


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("n_p@5", (0, 5)),
        ("P@5", (0, 1)),
        ("T@5", (-0.5, 0.5)),
        ("T(alpha=0)@5", (0, 1)),
        ("T(alpha=0.2,form=count)@5", (-0.2, 4)),
        ("SDCG(max_label=3)@5", (0, 1)),
        ("n_n@5", (0, 5)),
        ("R", (0, 1)),
        ("DCG", (0, math.inf)),
        ("DCG(gain=exponential)@2", (0, math.inf)),
        ("DCG(gain=binary)", (0, math.inf)),
        ("DCG(gain=binary)@2", (0, 1 + 1 / math.log2(3))),
        ("RBP(p=0.5)@3", (0, 0.875)),  # .5 + .25 + .125
        ("RBP(p=0.5)", (0, 1)),
        ("ERR(max_label=1)@2", (0, 0.625)),  # 1/2 + 1/2 * 1/2 * 1/2
        ("ERR(max_label=1)", (0, math.log(2))),  # sum of 2^-r / r
        ("UDCG(distraction=0)", (0.5, 1 / (1 + math.exp(-1)))),
    ],
)
def test_bounds_are_the_smallest_and_largest_value(text: str, bounds: tuple[float, float]) -> None:
    assert parse_measure(text).bounds == pytest.approx(bounds)


def test_only_measures_that_divide_by_what_is_relevant_need_the_pool() -> None:
    texts = "n_p@5 P@5 SetP R@5 F@5 SetF Fe@5 T@5 Success@5 RR AP Rprec DCG nDCG@5 nDCG(ideal=retrieved)@5"
    texts += " SDCG(max_label=1)@5 ERR(max_label=3) RBP RBPres Judged@5 bpref infAP UDCG"
    needing = [text for text in texts.split() if parse_measure(text).needs_pool]
    assert needing == ["R@5", "F@5", "SetF", "AP", "Rprec", "nDCG@5", "bpref", "infAP"]
