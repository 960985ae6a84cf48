"""Measures of a ranking: written as 'T(alpha=0.3)@10', computed from the labels of the documents in rank order."""

from ragauge.measures.account import account
from ragauge.measures.arrange import Arranged, arrange
from ragauge.measures.attainable import attainable
from ragauge.measures.condense import condense
from ragauge.measures.context import help_label
from ragauge.measures.counted import COUNTED, counted_values
from ragauge.measures.counts import precision, recall
from ragauge.measures.coverage import Covered, RunCoverage, cover
from ragauge.measures.definition import Definition
from ragauge.measures.f_measure import f_alpha, fe_alpha, fe_depth
from ragauge.measures.judging import judge
from ragauge.measures.measure import Measure
from ragauge.measures.parse import parse_measure
from ragauge.measures.policies import TREC_EVAL, Policies, as_trec_eval
from ragauge.measures.prepare import Changes, Prepared, policy_bounds, policy_scores, prepare
from ragauge.measures.registry import DEFINITIONS
from ragauge.measures.scoring import (
    ScoreBounds,
    attainable_values,
    judged_share,
    score,
    score_bounds,
    tied_rankings,
)
from ragauge.measures.worth import t_alpha

__all__ = [
    "COUNTED",
    "DEFINITIONS",
    "TREC_EVAL",
    "Arranged",
    "Changes",
    "Covered",
    "Definition",
    "Measure",
    "Policies",
    "Prepared",
    "RunCoverage",
    "ScoreBounds",
    "account",
    "arrange",
    "as_trec_eval",
    "attainable",
    "attainable_values",
    "condense",
    "counted_values",
    "cover",
    "f_alpha",
    "fe_alpha",
    "fe_depth",
    "help_label",
    "judge",
    "judged_share",
    "parse_measure",
    "policy_bounds",
    "policy_scores",
    "precision",
    "prepare",
    "recall",
    "score",
    "score_bounds",
    "t_alpha",
    "tied_rankings",
]
