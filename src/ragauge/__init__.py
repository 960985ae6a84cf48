"""ragauge: how good is retrieval when nobody knows how many relevant documents there are?

>>> import ragauge
>>> str(ragauge.parse_measure("t(alpha=0.3)@10"))
'T(alpha=0.3)@10'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragauge.errors import InputError, RagaugeError, RunError
    from ragauge.io import (
        read_graded,
        read_labels,
        read_pools,
        read_rankings,
        scan_labels,
        scan_rankings,
        write_rankings,
        write_table,
    )
    from ragauge.llm import Judge, LiveJudge, Model, judge_card, label_rankings
    from ragauge.measures import Measure, Policies, judge, parse_measure, score
    from ragauge.quality.compare import compare_systems
    from ragauge.quality.corrected import correct
    from ragauge.quality.counted import assess_counted
    from ragauge.quality.designed import estimate_by_design
    from ragauge.quality.designs import draw_design, label_until
    from ragauge.quality.evaluate import assess, evaluate
    from ragauge.quality.gate import assert_quality
    from ragauge.quality.label_plan import plan_labels
    from ragauge.quality.systems import judge_systems
    from ragauge.quality.tune import tune_cutoff
    from ragauge.results import Agreement, Association, Comparison, Corrected, Estimate, RelevantCount
    from ragauge.retrieval import rank_collection, rank_pools, retriever
    from ragauge.stats import (
        associate,
        confidence_sequence,
        corrected_mean,
        drop_alarm,
        joint_agreement,
        mean_interval,
        pairwise_agreement,
    )
    from ragauge.store import Store
    from ragauge.study import contest, correlate, read_plan, run_study
    from ragauge.wire import Endpoint

__all__ = [
    "Agreement",
    "Association",
    "Comparison",
    "Corrected",
    "Endpoint",
    "Estimate",
    "InputError",
    "Judge",
    "LiveJudge",
    "Measure",
    "Model",
    "Policies",
    "RagaugeError",
    "RelevantCount",
    "RunError",
    "Store",
    "assert_quality",
    "assess",
    "assess_counted",
    "associate",
    "compare_systems",
    "confidence_sequence",
    "contest",
    "correct",
    "corrected_mean",
    "correlate",
    "draw_design",
    "drop_alarm",
    "estimate_by_design",
    "evaluate",
    "joint_agreement",
    "judge",
    "judge_card",
    "judge_systems",
    "label_rankings",
    "label_until",
    "mean_interval",
    "pairwise_agreement",
    "parse_measure",
    "plan_labels",
    "rank_collection",
    "rank_pools",
    "read_graded",
    "read_labels",
    "read_plan",
    "read_pools",
    "read_rankings",
    "retriever",
    "run_study",
    "scan_labels",
    "scan_rankings",
    "score",
    "tune_cutoff",
    "write_rankings",
    "write_table",
]

_HOMES = {
    "quality.compare": ("compare_systems",),
    "quality.corrected": ("correct",),
    "quality.counted": ("assess_counted",),
    "quality.designed": ("estimate_by_design",),
    "quality.designs": ("draw_design", "label_until"),
    "errors": ("InputError", "RagaugeError", "RunError"),
    "quality.evaluate": ("assess", "evaluate"),
    "quality.gate": ("assert_quality",),
    "io": (
        "read_graded",
        "read_labels",
        "read_pools",
        "read_rankings",
        "scan_labels",
        "scan_rankings",
        "write_rankings",
        "write_table",
    ),
    "quality.label_plan": ("plan_labels",),
    "llm": ("Judge", "LiveJudge", "Model", "judge_card", "label_rankings"),
    "measures": ("Measure", "Policies", "judge", "parse_measure", "score"),
    "results": ("Agreement", "Association", "Comparison", "Corrected", "Estimate", "RelevantCount"),
    "retrieval": ("rank_collection", "rank_pools", "retriever"),
    "stats": (
        "associate",
        "confidence_sequence",
        "corrected_mean",
        "drop_alarm",
        "joint_agreement",
        "mean_interval",
        "pairwise_agreement",
    ),
    "store": ("Store",),
    "study": ("contest", "correlate", "read_plan", "run_study"),
    "quality.systems": ("judge_systems",),
    "quality.tune": ("tune_cutoff",),
    "wire": ("Endpoint",),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import ragauge` costs next to nothing."""
    for module, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"ragauge.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'ragauge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
