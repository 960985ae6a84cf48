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
from ragauge.stats.pair_sample import pair_sample_mean, pair_sample_values
from ragauge.stats.paired import paired_comparison, sign_flip_p
from ragauge.stats.panel import AgainstPanel, against_panel
from ragauge.stats.pooled import PooledEffect, pool_segments, segment_covariance
from ragauge.stats.power import detectable_difference, paired_power, units_needed
from ragauge.stats.ppi import corrected_difference, corrected_mean
from ragauge.stats.rank_decay import rank_decay_counts
from ragauge.stats.relevance_model import MIN_AUC, MIN_MODEL_QUERIES, RelevanceModel, fit_relevance, rank_features
from ragauge.stats.relevant_count import CountDraws, drawn_mean, query_counts, relevant_count
from ragauge.stats.roc import Discrimination, best_cut, cross_fitted_cuts, discrimination
from ragauge.stats.sequential import ConfidenceSequence, confidence_sequence
from ragauge.stats.stopping import (
    LikelyCount,
    SureBounds,
    labelling_order,
    labels_for_half_width,
    likely_positives,
    poisson_binomial,
    sure_bounds,
)
from ragauge.stats.stratified import PairChoice, choose_pairs, stratified_mean
from ragauge.stats.tail import DeepSample, TailTotal, query_count_interval, tail_counts, tail_total
from ragauge.stats.two_stage import MIN_PILOT, queries_needed, two_stage_mean
from ragauge.stats.within import WithinAssociation, associate_within

__all__ = [
    "COEFFICIENTS",
    "MIN_AUC",
    "MIN_COMPARED",
    "MIN_DRAWS",
    "MIN_MODEL_QUERIES",
    "MIN_PILOT",
    "MIN_ROWS",
    "AgainstPanel",
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
    "Discrimination",
    "Elimination",
    "HeldOut",
    "Interval",
    "LabelPlan",
    "LikelyCount",
    "PairChoice",
    "PooledEffect",
    "QueryCells",
    "RelevanceModel",
    "Spread",
    "SureBounds",
    "TailTotal",
    "WithinAssociation",
    "against_panel",
    "alpha_curve",
    "associate",
    "associate_within",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "best_alpha",
    "best_cut",
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
    "cross_fitted_cuts",
    "cross_validated",
    "cusum",
    "default_level",
    "dependent_test",
    "detectable_difference",
    "discrimination",
    "draw_documents",
    "drawn_mean",
    "drop_alarm",
    "fit_relevance",
    "gwet_ac1",
    "holm",
    "jackknife_difference",
    "jackknife_interval",
    "joint_agreement",
    "krippendorff_alpha",
    "label_plans",
    "label_spread",
    "labelling_order",
    "labels_for_half_width",
    "leave_one_group_out",
    "leave_one_out",
    "likely_positives",
    "lincoln_petersen",
    "mean_interval",
    "pair_sample_mean",
    "pair_sample_values",
    "paired_comparison",
    "paired_power",
    "pairwise_agreement",
    "poisson_binomial",
    "pool_segments",
    "queries_needed",
    "query_count_interval",
    "query_counts",
    "rank_decay_counts",
    "rank_features",
    "relevant_count",
    "sampled_mean",
    "segment_covariance",
    "sign_flip_p",
    "stratified_mean",
    "sure_bounds",
    "table_association",
    "table_coefficients",
    "table_intervals",
    "tabulate",
    "tail_counts",
    "tail_total",
    "two_stage_mean",
    "units_needed",
    "wilson_interval",
    "zou_interval",
]
