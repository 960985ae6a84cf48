"""Language models as judges, readers and graders: versioned prompts, calls that are never lost, a local model."""

from ragauge.llm.answer import AnswerTask, answer_all
from ragauge.llm.answer_tables import answer_pairs, compare_answers, grade_answers
from ragauge.llm.assess import LiveJudge
from ragauge.llm.batch import BatchAsk
from ragauge.llm.canary import canary_probes, highest_labelled
from ragauge.llm.card import JudgeCard
from ragauge.llm.cascade import Cascaded, CascadePlan, Stage, label_in_cascade, plan_cascade
from ragauge.llm.examine import ask_again, ask_canaries, ask_pairs, cost_of, relevant_to_people
from ragauge.llm.fetch import fetch, parts_of
from ragauge.llm.grade import GradeTask, RepeatedGrade, grade_all, grade_repeatedly
from ragauge.llm.judge import Judge, LabelledExample, examples_from
from ragauge.llm.label import label_rankings
from ragauge.llm.led import CanaryResult, canary_results
from ragauge.llm.live import LiveAssessment, LiveLabel, LiveValue
from ragauge.llm.make_card import judge_card
from ragauge.llm.model import Model, Request
from ragauge.llm.pool import Ask, ask_all
from ragauge.llm.prefer import PairTask, Preference, prefer_all
from ragauge.llm.prompts import (
    ANSWER,
    COMPARE,
    GRADE,
    GRADE_RUBRIC,
    IDEAL_ANSWER,
    LABEL,
    LABEL_BATCH,
    LABEL_GRADED,
    LABEL_GRADED_BATCH,
    PROMPTS,
    Prompt,
)
from ragauge.llm.reply import Outcome, Reply
from ragauge.llm.serve import LocalServer
from ragauge.llm.survey import CallPlan, Survey

__all__ = [
    "ANSWER",
    "COMPARE",
    "GRADE",
    "GRADE_RUBRIC",
    "IDEAL_ANSWER",
    "LABEL",
    "LABEL_BATCH",
    "LABEL_GRADED",
    "LABEL_GRADED_BATCH",
    "PROMPTS",
    "AnswerTask",
    "Ask",
    "BatchAsk",
    "CallPlan",
    "CanaryResult",
    "CascadePlan",
    "Cascaded",
    "GradeTask",
    "Judge",
    "JudgeCard",
    "LabelledExample",
    "LiveAssessment",
    "LiveJudge",
    "LiveLabel",
    "LiveValue",
    "LocalServer",
    "Model",
    "Outcome",
    "PairTask",
    "Preference",
    "Prompt",
    "RepeatedGrade",
    "Reply",
    "Request",
    "Stage",
    "Survey",
    "answer_all",
    "answer_pairs",
    "ask_again",
    "ask_all",
    "ask_canaries",
    "ask_pairs",
    "canary_probes",
    "canary_results",
    "compare_answers",
    "cost_of",
    "examples_from",
    "fetch",
    "grade_all",
    "grade_answers",
    "grade_repeatedly",
    "highest_labelled",
    "judge_card",
    "label_in_cascade",
    "label_rankings",
    "parts_of",
    "plan_cascade",
    "prefer_all",
    "relevant_to_people",
]
