"""What a text states: a verdict without doubt, or the kind of doubt."""

import pytest

from ragauge.llm.said import said

BINARY = ("yes", "no")
GRADES = ("0", "1", "2", "3")

STATED = [
    ("yes", BINARY, "yes"),
    (" **No**. ", BINARY, "no"),
    ("No, it is about cats.", BINARY, "no"),
    ('{"verdict": "yes"}', BINARY, "yes"),
    ('```json\n{"verdict": "no"}\n```', BINARY, "no"),
    ('{"verdict": 2}', GRADES, "2"),
    ("2", GRADES, "2"),
    ("3. It names 2 of the 3 places.", GRADES, "3"),  # numbers in the text are no verdicts
    ("Yes. The passage is relevant, though it does not mention the price.", BINARY, "yes"),
    ("No. It is not relevant to the query.", BINARY, "no"),
    ("Yes. So the answer is yes.", BINARY, "yes"),
]

NOT_STATED = [
    ("I'm sorry, but I can't judge this content.", BINARY, "refused"),
    ("As an AI I have no opinion", BINARY, "refused"),
    ('{"verdict": "ye', BINARY, "bad_json"),
    ('{"label": "yes"}', BINARY, "bad_json"),
    ('{"verdict": "maybe"}', BINARY, "bad_json"),
    ('["yes"]', BINARY, "bad_json"),
    ("oui", BINARY, "wrong_language"),
    ("Nein, das ist es nicht", BINARY, "wrong_language"),
    ("是的", BINARY, "wrong_language"),
    ("Да, отрывок отвечает на запрос.", BINARY, "wrong_language"),
    ('{"verdict": "не"}', BINARY, "wrong_language"),
    ("Yes. The passage does not contain the answer.", BINARY, "contradictory"),
    ("No. The passage is highly relevant.", BINARY, "contradictory"),
    ("Yes. On reflection the verdict: no", BINARY, "contradictory"),
    ('{"verdict": "yes", "reason": "The text is unrelated to the query."}', BINARY, "contradictory"),
    ("2. Final score: 0", GRADES, "contradictory"),
    ("The passage is about cats", BINARY, "no_verdict"),
    ("No idea whether it does", BINARY, "no_verdict"),
    ("7", GRADES, "no_verdict"),
]


@pytest.mark.parametrize(("text", "choices", "choice"), STATED)
def test_a_verdict_is_read_where_it_is_stated(text: str, choices: tuple[str, ...], choice: str) -> None:
    assert (said(text, choices).choice, said(text, choices).reason) == (choice, "")


@pytest.mark.parametrize(("text", "choices", "reason"), NOT_STATED)
def test_kinds_of_doubt_are_told_apart(text: str, choices: tuple[str, ...], reason: str) -> None:
    assert (said(text, choices).choice, said(text, choices).reason) == ("", reason)
