"""Reports that people read: one HTML file each, which opens offline, and their charts as images."""

from ragauge.report.comparison import comparison_charts, comparison_report, tuning_report
from ragauge.report.content import Example
from ragauge.report.judge import judge_charts, judge_report
from ragauge.report.render import export_charts, score_charts, score_report, study_charts, study_report
from ragauge.report.study_content import examples_of

__all__ = [
    "Example",
    "comparison_charts",
    "comparison_report",
    "examples_of",
    "export_charts",
    "judge_charts",
    "judge_report",
    "score_charts",
    "score_report",
    "study_charts",
    "study_report",
    "tuning_report",
]
