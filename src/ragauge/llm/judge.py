"""How a model is asked to judge: its scale, the user's criteria and examples, one document a call or several."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import pyarrow as pa

from ragauge.errors import InputError
from ragauge.llm.prompts import LABEL, LABEL_BATCH, LABEL_GRADED, LABEL_GRADED_BATCH, Fields, Prompt

__all__ = ["MAX_EXAMPLES", "Judge", "LabelledExample", "Scale", "examples_from"]

Scale = Literal["binary", "graded"]

MAX_EXAMPLES = 6
"""Examples that `examples_from` takes: each is read with every query's first document."""

_PROMPTS = {
    ("binary", False): LABEL,
    ("binary", True): LABEL_BATCH,
    ("graded", False): LABEL_GRADED,
    ("graded", True): LABEL_GRADED_BATCH,
}


@dataclass(frozen=True)
class LabelledExample:
    """A document that the user labelled, shown to the model with its right verdict.

    Attributes:
        query: Text of the query.
        document: Text of the document.
        verdict: "yes" or "no" for the binary scale, "0" to "3" for the graded one.
    """

    query: str
    document: str
    verdict: str


@dataclass(frozen=True)
class Judge:
    """How a model is asked to judge documents.

    Attributes:
        scale: "binary": the label is P(yes), 0..1. "graded": the expected grade, 0..3. Where the endpoint gives no
            log-probabilities the label is 1 or 0, or the grade, as said.
        criteria: What relevant means to the user, added to the instruction; "" = the prompt's own words.
        examples: Shown as earlier turns of the chat.
        batch_size: Documents of one query in a call. Above 1 they are shuffled, as models favour places; the calls
            are fewer, and what one document gets depends on those beside it.
        permutations: With batches, how many orders each query's documents are shown in; the label is the mean.
        seed: Of the orders.

    Raises:
        InputError: A value is out of its range, or an example's verdict is none of the scale.

    Example:
        >>> Judge().id, Judge(scale="graded", batch_size=5, permutations=3).id
        ('label/1', 'label-graded-batch/1 5x3')
    """

    scale: Scale = "binary"
    criteria: str = ""
    examples: tuple[LabelledExample, ...] = ()
    batch_size: int = 1
    permutations: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if problems := list(self._problems()):
            raise InputError.collect(problems)

    @property
    def prompt(self) -> Prompt:
        """The prompt with criteria and examples in it."""
        prompt = _PROMPTS[self.scale, self.batch_size > 1]
        if self.criteria.strip():
            prompt = prompt.with_criteria(self.criteria)
        return replace(prompt, examples=tuple(self._turn(one) for one in self.examples))

    @property
    def id(self) -> str:
        """The prompt's id, then a checksum of criteria and examples and the size of batches, where there are any."""
        own = [self.criteria.strip(), *([one.query, one.document, one.verdict] for one in self.examples)]
        words = [_PROMPTS[self.scale, self.batch_size > 1].id]
        if any(own):
            words[0] += "~" + hashlib.sha256(json.dumps(own).encode()).hexdigest()[:8]
        if self.batch_size > 1:
            words.append(f"{self.batch_size}x{self.permutations}")
        return " ".join(words)

    @property
    def middle(self) -> float:
        """The label in the middle of the scale: 0.5, or 1.5 for grades."""
        return 0.5 if self.scale == "binary" else 1.5

    def _turn(self, example: LabelledExample) -> tuple[Fields, str]:
        if self.batch_size > 1:
            return {"query": example.query, "documents": (example.document,)}, json.dumps(
                {"verdicts": [example.verdict]}
            )
        return {"query": example.query, "document": example.document}, example.verdict

    def _problems(self) -> Sequence[str]:
        if self.scale not in get_args(Scale):
            return [f"scale must be one of {', '.join(get_args(Scale))}, got {self.scale!r}"]
        found = [
            f"{name} must be a positive number, got {value}"
            for name, value in (("batch_size", self.batch_size), ("permutations", self.permutations))
            if value < 1
        ]
        if self.batch_size == 1 and self.permutations > 1:
            found.append("permutations need batches: give batch_size 2 or more")
        choices = _PROMPTS[self.scale, False].choices
        wrong = sorted({one.verdict for one in self.examples} - set(choices))
        if wrong:
            found.append(f"an example's verdict must be one of {', '.join(choices)}, got {', '.join(wrong)}")
        return found


def examples_from(
    rankings: pa.Table,
    labels: pa.Table,
    *,
    scale: Scale = "binary",
    rel: float = 1.0,
    limit: int = MAX_EXAMPLES,
    seed: int = 0,
) -> tuple[LabelledExample, ...]:
    """Examples for a judge out of the user's own labels: about as many of each verdict, from different queries.

    Args:
        rankings: `schema.RANKINGS`: where the texts of the labelled documents are.
        labels: `schema.LABELS`, by people.
        scale: For "graded" the labels must be whole numbers from 0 to 3.
        rel: For "binary", people's label of a relevant document.
        limit: The most examples to take.
        seed: Of the choice.

    Raises:
        InputError: No labelled document has a text in the rankings, or a label is not of the scale.
    """
    texts = {
        (row["query_id"], doc_id): (row["query"], text)
        for row in rankings.select(["query_id", "query", "doc_ids", "texts"]).to_pylist()
        for doc_id, text in zip(row["doc_ids"], row["texts"], strict=True)
        if row["query"] and text and text.strip()
    }
    known = [row for row in labels.to_pylist() if row["label"] is not None and row["label"] >= 0]
    rows = sorted(
        (row for row in known if (row["query_id"], row["doc_id"]) in texts),
        key=lambda row: (row["query_id"], row["doc_id"]),
    )
    if not rows:
        raise InputError("no document of the examples has a text in the rankings; examples need query, text and label")
    by_verdict: dict[str, list[tuple[str, str]]] = {}
    for place in np.random.default_rng(seed).permutation(len(rows)):
        row = rows[place]
        by_verdict.setdefault(_verdict(row["label"], scale, rel), []).append((row["query_id"], row["doc_id"]))
    return tuple(LabelledExample(*texts[pair], verdict) for verdict, pair in _in_turn(by_verdict, limit))


def _verdict(label: float, scale: Scale, rel: float) -> str:
    if scale == "binary":
        return "yes" if label >= rel else "no"
    if label not in (0, 1, 2, 3):
        raise InputError(f"examples of a graded judge need labels 0, 1, 2 or 3, got {label:g}")
    return f"{label:g}"


def _in_turn(by_verdict: dict[str, list[tuple[str, str]]], limit: int) -> list[tuple[str, tuple[str, str]]]:
    """Verdict after verdict, lowest first, each time a pair of a query not used yet where there is one."""
    chosen: list[tuple[str, tuple[str, str]]] = []
    used: set[str] = set()
    left = {verdict: list(pairs) for verdict, pairs in sorted(by_verdict.items())}
    while len(chosen) < limit and any(left.values()):
        for verdict, pairs in left.items():
            if pairs and len(chosen) < limit:
                pair = next((one for one in pairs if one[0] not in used), pairs[0])
                pairs.remove(pair)
                used.add(pair[0])
                chosen.append((verdict, pair))
    return chosen
