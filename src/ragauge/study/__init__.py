"""The experiment: from pools of queries to graded answers, and which measure follows the grades."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ragauge.study.contest import POOLED, Place, contest, contest_values, verdicts
from ragauge.study.correlate import correlate

if TYPE_CHECKING:
    from ragauge.study.plan import ModelPlan, StudyPlan, read_plan
    from ragauge.study.run import Study, named_model, open_model, run_study
    from ragauge.study.stages import TopK

__all__ = [
    "POOLED",
    "ModelPlan",
    "Place",
    "Study",
    "StudyPlan",
    "TopK",
    "contest",
    "contest_values",
    "correlate",
    "named_model",
    "open_model",
    "read_plan",
    "run_study",
    "verdicts",
]

_HOME = {
    "ModelPlan": "plan",
    "Study": "run",
    "StudyPlan": "plan",
    "TopK": "stages",
    "named_model": "run",
    "open_model": "run",
    "read_plan": "plan",
    "run_study": "run",
}


def __getattr__(name: str) -> Any:
    """Load what needs models and stores only when it is asked for: `correlate` needs neither."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
