"""Measures of a ranking: written as 'T(alpha=0.3)@10', computed from the labels of the documents in rank order."""

from ragauge.measures.counts import f_alpha, fe_alpha, fe_depth, precision, recall, t_alpha
from ragauge.measures.definition import Definition
from ragauge.measures.judging import judge
from ragauge.measures.measure import Measure
from ragauge.measures.parse import parse_measure
from ragauge.measures.registry import DEFINITIONS
from ragauge.measures.scoring import judged_share, score

__all__ = [
    "DEFINITIONS",
    "Definition",
    "Measure",
    "f_alpha",
    "fe_alpha",
    "fe_depth",
    "judge",
    "judged_share",
    "parse_measure",
    "precision",
    "recall",
    "score",
    "t_alpha",
]
