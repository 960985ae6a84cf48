"""Rules: what reads, what does not and where, and how intervals decide."""

import math

import pytest

from ragauge.errors import InputError, MeasureError
from ragauge.quality.rules import decide, parse_rule

READS = [
    ("P@10 >= 0.4", "P@10 >= 0.4"),
    ("t( alpha=0.30 )@10>.25", "T(alpha=0.3)@10 > 0.25"),
    ("T@5 ≥ -1e-1", "T@5 >= -0.1"),
    ("  RBPres@10 < +0.2 ", "RBPres@10 < 0.2"),
    ("delta P@10 > -0.02 vs baseline.parquet", "delta P@10 > -0.02 vs baseline.parquet"),
    ("DELTA T(alpha=0.3)@10>=0 VS my old run.jsonl  ", "delta T(alpha=0.3)@10 >= 0 vs my old run.jsonl"),
]

BAD = [
    ("P@10 0.4", "at character 9: expected >=, >, <= or <, the rule ends there"),
    ("P@10 => 0.4", "at character 6: expected >=, >, <= or <, found '=> 0.4'"),
    ("P@10 == 0.4", "at character 6: expected >="),
    ("P@10 != 0.4", "at character 6: expected >="),
    ("P@10 > high", "at character 8: expected a number, such as 0.25, found 'high'"),
    ("P@10 > 25%", "expected a number"),
    ("P@10 > nan", "expected a number"),
    ("P@10 >", "at character 7: expected a number, such as 0.25, the rule ends there"),
    ("P@10 > 0.4 and R@10 > 0.2", "at character 12: expected the end of the rule, or 'vs FILE', found 'and"),
    ("> 0.4", "at character 1: expected a measure"),
    ("", "at character 1: expected >="),
    ("delta P@10 > 0", "expected 'vs FILE': delta is a difference"),
    ("P@10 > 0.1 vs x.run", "expected 'delta' at the beginning"),
    ("P@10 >= 40", "40 says nothing of P@10: it lies in 0..1"),
    ("delta P@10 > -2 vs x.run", "-2 says nothing of P@10: its difference lies in -1..1"),
]


@pytest.mark.parametrize(("text", "printed"), READS)
def test_rule_reads_and_its_printed_form_reads_back(text, printed):
    rule = parse_rule(text)
    assert str(rule) == printed
    assert parse_rule(printed) == rule


@pytest.mark.parametrize(("text", "message"), BAD)
def test_what_is_no_rule_says_where_and_what_is_allowed(text, message):
    with pytest.raises(InputError) as error:
        parse_rule(text)
    assert message in str(error.value)


def test_unknown_measure_is_named():
    with pytest.raises(MeasureError, match="unknown measure 'PP'"):
        parse_rule("PP@10 > 0.1")


@pytest.mark.parametrize(
    ("rule", "low", "high", "outcome"),
    [
        ("P@10 >= 0.4", 0.4, 0.6, "pass"),
        ("P@10 > 0.4", 0.4, 0.6, "undecided"),
        ("P@10 > 0.4", 0.41, 0.6, "pass"),
        ("P@10 >= 0.4", 0.3, 0.4, "undecided"),
        ("P@10 > 0.4", 0.3, 0.4, "fail"),
        ("P@10 >= 0.4", 0.2, 0.39, "fail"),
        ("P@10 <= 0.4", 0.2, 0.4, "pass"),
        ("P@10 < 0.4", 0.2, 0.4, "undecided"),
        ("P@10 < 0.4", 0.4, 0.5, "fail"),
        ("P@10 >= 0.3", 0.1 + 0.2, 0.6, "pass"),
        ("P@10 <= 0.3", 0.2, 0.1 + 0.2, "pass"),
        ("P@10 >= 0.4", math.nan, math.nan, "undecided"),
    ],
)
def test_whole_interval_decides(rule, low, high, outcome):
    assert decide(parse_rule(rule), value=0.4, low=low, high=high) == outcome


def test_point_decides_where_it_is_asked_to():
    rule = parse_rule("P@10 >= 0.4")
    assert decide(rule, value=0.4, low=0.1, high=0.7, on="point") == "pass"
    assert decide(rule, value=0.39, low=0.1, high=0.7, on="point") == "fail"


@pytest.mark.parametrize("on", ["interval", "point"])
def test_undefined_value_fails_whatever_the_operator(on):
    for text in ("P@10 >= 0", "P@10 <= 1"):
        assert decide(parse_rule(text), value=math.nan, low=math.nan, high=math.nan, on=on) == "fail"
