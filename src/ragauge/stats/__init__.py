"""Statistics of measures: intervals over queries, correlations with ties, the best alpha. Numbers in, records out."""

from ragauge.stats.agreement import joint_agreement, pairwise_agreement
from ragauge.stats.alarms import Alarm, cusum, drop_alarm
from ragauge.stats.alpha import AlphaFamily
from ragauge.stats.association import (
    COEFFICIENTS,
    MIN_ROWS,
    Coefficients,
    ContingencyTable,
    associate,
    table_association,
    table_coefficients,
    tabulate,
)
from ragauge.stats.best import AlphaSearch, BestAlpha, alpha_curve, best_alpha
from ragauge.stats.bootstrap import QueryCells, bootstrap_coefficients
from ragauge.stats.budget import LabelPlan, Spread, draw_documents, label_plans, label_spread, sampled_mean
from ragauge.stats.calibrated_count import calibrated_counts
from ragauge.stats.calibration import Calibration, calibrate_judge
from ragauge.stats.capture import Captured, CapturedInterval, captured_interval, chao2, chapman, lincoln_petersen
from ragauge.stats.choice import ChoiceGain, choice_gain
from ragauge.stats.clustered_count import cluster_vectors, clustered_counts
from ragauge.stats.coincidence import cohen_kappa, gwet_ac1, krippendorff_alpha
from ragauge.stats.confidence_set import MIN_DRAWS, ConfidenceSet, Elimination, confidence_set, default_level
from ragauge.stats.dependent import compare_independent_rows, dependent_test, zou_interval
from ragauge.stats.difference import (
    MIN_COMPARED,
    CorrelationDifference,
    compare_correlations,
    jackknife_difference,
)
from ragauge.stats.intervals import (
    Interval,
    correlation_interval,
    jackknife_interval,
    mean_interval,
    table_intervals,
    wilson_interval,
)
from ragauge.stats.jackknife import leave_one_out
from ragauge.stats.multiple import benjamini_hochberg, benjamini_yekutieli, holm
from ragauge.stats.optimism import Corrected, HeldOut, corrected_maximum, cross_validated, leave_one_group_out
from ragauge.stats.paired import paired_comparison, sign_flip_p
from ragauge.stats.pooled import PooledEffect, pool_segments, segment_covariance
from ragauge.stats.power import detectable_difference, paired_power, units_needed
from ragauge.stats.ppi import corrected_difference, corrected_mean
from ragauge.stats.rank_decay import rank_decay_counts
from ragauge.stats.relevant_count import CountDraws, drawn_mean, query_counts, relevant_count
from ragauge.stats.sequential import ConfidenceSequence, confidence_sequence
from ragauge.stats.stratified import PairChoice, choose_pairs, stratified_mean
from ragauge.stats.tail import DeepSample, TailTotal, query_count_interval, tail_counts, tail_total
from ragauge.stats.within import WithinAssociation, associate_within

__all__ = [
    "COEFFICIENTS",
    "MIN_COMPARED",
    "MIN_DRAWS",
    "MIN_ROWS",
    "Alarm",
    "AlphaFamily",
    "AlphaSearch",
    "BestAlpha",
    "Calibration",
    "Captured",
    "CapturedInterval",
    "ChoiceGain",
    "Coefficients",
    "ConfidenceSequence",
    "ConfidenceSet",
    "ContingencyTable",
    "Corrected",
    "CorrelationDifference",
    "CountDraws",
    "DeepSample",
    "Elimination",
    "HeldOut",
    "Interval",
    "LabelPlan",
    "PairChoice",
    "PooledEffect",
    "QueryCells",
    "Spread",
    "TailTotal",
    "WithinAssociation",
    "alpha_curve",
    "associate",
    "associate_within",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "best_alpha",
    "bootstrap_coefficients",
    "calibrate_judge",
    "calibrated_counts",
    "captured_interval",
    "chao2",
    "chapman",
    "choice_gain",
    "choose_pairs",
    "cluster_vectors",
    "clustered_counts",
    "cohen_kappa",
    "compare_correlations",
    "compare_independent_rows",
    "confidence_sequence",
    "confidence_set",
    "corrected_difference",
    "corrected_maximum",
    "corrected_mean",
    "correlation_interval",
    "cross_validated",
    "cusum",
    "default_level",
    "dependent_test",
    "detectable_difference",
    "draw_documents",
    "drawn_mean",
    "drop_alarm",
    "gwet_ac1",
    "holm",
    "jackknife_difference",
    "jackknife_interval",
    "joint_agreement",
    "krippendorff_alpha",
    "label_plans",
    "label_spread",
    "leave_one_group_out",
    "leave_one_out",
    "lincoln_petersen",
    "mean_interval",
    "paired_comparison",
    "paired_power",
    "pairwise_agreement",
    "pool_segments",
    "query_count_interval",
    "query_counts",
    "rank_decay_counts",
    "relevant_count",
    "sampled_mean",
    "segment_covariance",
    "sign_flip_p",
    "stratified_mean",
    "table_association",
    "table_coefficients",
    "table_intervals",
    "tabulate",
    "tail_counts",
    "tail_total",
    "units_needed",
    "wilson_interval",
    "zou_interval",
]
