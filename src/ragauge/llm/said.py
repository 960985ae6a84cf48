"""What a text states: one of the allowed verdicts, or why none can be taken from it.

A text that cannot be read without doubt is no verdict. The kinds of doubt are told apart, because they are mended
differently: a longer limit, another prompt, another model.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragauge.llm.reply import plain_word

__all__ = ["Said", "json_in", "said"]

_FENCE = re.compile(r"^```\w*\s*(.*?)\s*(?:```)?$", re.S)
_OPENING = re.compile(r"[\W_]*(\w+)\s*[,.;:!\n]")
_CLOSING = re.compile(
    r"\b(?:answer|verdict|score|grade|label|judge?ment|decision|conclusion)\b(?:\s+(?:is|would be|should be|:))?"
    r"[\s:=*\"'`#]*(yes|no|\d)\b",
    re.I,
)
_DECLINES = re.compile(
    r"\b(?:i(?:['’]m| am) (?:sorry|unable|not able)|i (?:can ?not|can['’]t|won['’]t|will not|must decline)"
    r"|as an ai\b)",
    re.I,
)
_DENIES = re.compile(
    r"\b(?:irrelevant|unrelated|no relevant|not (?:at all )?(?:relevant|related|helpful|useful|answer)"
    r"|(?:does|do|did)(?: not|n['’]t) (?:contain|help|answer|address|mention|provide|say|discuss))",
    re.I,
)
_AFFIRMS = re.compile(
    r"\b(?:is|are|seems|looks) (?:very |highly |directly |perfectly |clearly |quite )?(?:relevant|helpful)\b"
    r"|\b(?:directly|fully|clearly|perfectly) answers\b",
    re.I,
)
_ELSEWHERE = frozenset(
    {*("ja", "nein", "oui", "non", "si", "sí", "sim", "não", "nao", "tak", "nie", "evet", "hayır", "ya", "tidak")}
)
"""Yes and no in languages that models slip into; other scripts are seen by their letters."""

_LATIN_END = 0x24F


@dataclass(frozen=True)
class Said:
    """What a text states.

    Attributes:
        choice: The verdict, one of those allowed; "" for none.
        reason: Why there is none: "refused", "bad_json", "wrong_language", "contradictory" or "no_verdict"; else "".
    """

    choice: str = ""
    reason: str = ""


def said(text: str, choices: Sequence[str]) -> Said:
    """The verdict that a text states: alone, as `{"verdict": ...}`, or as its first word before a punctuation mark.

    Args:
        text: What the model wrote; not empty.
        choices: The words a verdict may be, lower case.

    Example:
        >>> said("No, it is about cats.", ("yes", "no")).choice
        'no'
        >>> said("Yes. It does not mention the price.", ("yes", "no")).reason
        'contradictory'
    """
    body = _FENCE.sub(r"\1", text.strip())
    if body[:1] in ("{", "["):
        return _in_json(body, choices)
    word = plain_word(body)
    if word in choices:
        return Said(word)
    opening = _OPENING.match(body)
    first = opening[1].lower() if opening else ""
    if first in choices:
        return _unless_denied(first, body[opening.end() :] if opening else "", choices)
    return Said(reason=_why_none(body, first))


def json_in(text: str) -> Any:
    """The JSON value that a text is, a fence of back quotes around it taken off; None where it is none."""
    try:
        return json.loads(_FENCE.sub(r"\1", text.strip()))
    except ValueError:
        return None


def _in_json(body: str, choices: Sequence[str]) -> Said:
    value = json_in(body)
    if not isinstance(value, Mapping) or "verdict" not in value:
        return Said(reason="bad_json")
    word = plain_word(str(value["verdict"]))
    if word not in choices:
        return Said(reason="wrong_language" if _is_foreign(word) else "bad_json")
    others = " ".join(str(one) for name, one in value.items() if name != "verdict")
    return _unless_denied(word, others, choices)


def _unless_denied(choice: str, rest: str, choices: Sequence[str]) -> Said:
    """The verdict, unless what follows states another one or says the opposite."""
    closing = {found.lower() for found in _CLOSING.findall(rest)} & set(choices)
    denied, affirmed = bool(_DENIES.search(rest)), bool(_AFFIRMS.search(_DENIES.sub("", rest)))
    opposite = {"yes": denied and not affirmed, "no": affirmed and not denied}.get(choice, False)
    return Said(reason="contradictory") if closing - {choice} or opposite else Said(choice)


def _why_none(body: str, first: str) -> str:
    if _DECLINES.search(body):
        return "refused"
    return "wrong_language" if _is_foreign(body) or first in _ELSEWHERE else "no_verdict"


def _is_foreign(text: str) -> bool:
    """Whether it is a known word of another language, or most of its letters are of another script."""
    letters = [one for one in text if one.isalpha()]
    return plain_word(text) in _ELSEWHERE or sum(ord(one) > _LATIN_END for one in letters) * 2 > len(letters)
