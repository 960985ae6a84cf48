"""ragauge: how good is retrieval when nobody knows how many relevant documents there are?

>>> import ragauge
>>> str(ragauge.parse_measure("t(alpha=0.3)@10"))
'T(alpha=0.3)@10'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragauge.errors import InputError, RagaugeError, RunError
    from ragauge.evaluate import evaluate
    from ragauge.io import read_graded, read_labels, read_pools, read_rankings, write_rankings, write_table
    from ragauge.llm import Model, label_rankings
    from ragauge.measures import Measure, judge, parse_measure, score
    from ragauge.results import Association, Estimate
    from ragauge.retrieval import rank_collection, rank_pools, retriever
    from ragauge.stats import associate, mean_interval
    from ragauge.store import Store
    from ragauge.study import correlate, read_plan, run_study
    from ragauge.wire import Endpoint

__all__ = [
    "Association",
    "Endpoint",
    "Estimate",
    "InputError",
    "Measure",
    "Model",
    "RagaugeError",
    "RunError",
    "Store",
    "associate",
    "correlate",
    "evaluate",
    "judge",
    "label_rankings",
    "mean_interval",
    "parse_measure",
    "rank_collection",
    "rank_pools",
    "read_graded",
    "read_labels",
    "read_plan",
    "read_pools",
    "read_rankings",
    "retriever",
    "run_study",
    "score",
    "write_rankings",
    "write_table",
]

_HOMES = {
    "errors": ("InputError", "RagaugeError", "RunError"),
    "evaluate": ("evaluate",),
    "io": ("read_graded", "read_labels", "read_pools", "read_rankings", "write_rankings", "write_table"),
    "llm": ("Model", "label_rankings"),
    "measures": ("Measure", "judge", "parse_measure", "score"),
    "results": ("Association", "Estimate"),
    "retrieval": ("rank_collection", "rank_pools", "retriever"),
    "stats": ("associate", "mean_interval"),
    "store": ("Store",),
    "study": ("correlate", "read_plan", "run_study"),
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
