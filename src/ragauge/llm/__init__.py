"""Language models as judges, readers and graders: versioned prompts, calls that are never lost, a local model."""

from ragauge.llm.answer import AnswerTask, answer_all
from ragauge.llm.fetch import fetch, parts_of
from ragauge.llm.grade import GradeTask, grade_all
from ragauge.llm.label import label_rankings
from ragauge.llm.model import Model, Request
from ragauge.llm.pool import ask_all
from ragauge.llm.prompts import ANSWER, GRADE, IDEAL_ANSWER, LABEL, PROMPTS, Prompt
from ragauge.llm.reply import Outcome, Reply
from ragauge.llm.serve import LocalServer

__all__ = [
    "ANSWER",
    "GRADE",
    "IDEAL_ANSWER",
    "LABEL",
    "PROMPTS",
    "AnswerTask",
    "GradeTask",
    "LocalServer",
    "Model",
    "Outcome",
    "Prompt",
    "Reply",
    "Request",
    "answer_all",
    "ask_all",
    "fetch",
    "grade_all",
    "label_rankings",
    "parts_of",
]
