"""Language models as judges, readers and graders: versioned prompts, calls that are never lost, a local model."""

from ragauge.llm.answer import AnswerTask, answer_all
from ragauge.llm.assess import LiveJudge
from ragauge.llm.batch import BatchAsk
from ragauge.llm.card import JudgeCard
from ragauge.llm.cascade import Cascaded, Stage, label_in_cascade
from ragauge.llm.examine import ask_again, ask_canaries, ask_pairs, cost_of
from ragauge.llm.fetch import fetch, parts_of
from ragauge.llm.grade import GradeTask, grade_all
from ragauge.llm.judge import Judge, LabelledExample, examples_from
from ragauge.llm.label import label_rankings
from ragauge.llm.live import LiveAssessment, LiveLabel, LiveValue
from ragauge.llm.make_card import judge_card
from ragauge.llm.model import Model, Request
from ragauge.llm.pool import Ask, ask_all
from ragauge.llm.prompts import (
    ANSWER,
    GRADE,
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
    "GRADE",
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
    "Prompt",
    "Reply",
    "Request",
    "Stage",
    "Survey",
    "answer_all",
    "ask_again",
    "ask_all",
    "ask_canaries",
    "ask_pairs",
    "cost_of",
    "examples_from",
    "fetch",
    "grade_all",
    "judge_card",
    "label_in_cascade",
    "label_rankings",
    "parts_of",
]
