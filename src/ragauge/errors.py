"""Every exception that ragauge raises on purpose.

    RagaugeError
    ├── InputError           what was given breaks a rule; the caller can mend it (exit code 2)
    │   ├── MeasureError     a measure's name, parameter or cutoff
    │   ├── FormatError      a file that cannot be read as what it claims to be
    │   ├── SchemaError      a table without the columns or types its name promises
    │   └── PlanError        a study plan
    ├── MissingExtraError    an optional package is not installed (exit code 2)
    └── RunError             the input was right, and the work failed (exit code 1)
        ├── EndpointError    a model's endpoint was unreachable, refused, or answered nonsense
        ├── StoreError       the store cannot be opened, read or written
        └── IncompleteError  the run ended with some work undone

Each message is one line: what was given, what is allowed, where, and what to do.
"""

from collections.abc import Sequence

__all__ = [
    "EndpointError",
    "FormatError",
    "IncompleteError",
    "InputError",
    "MeasureError",
    "MissingExtraError",
    "PlanError",
    "RagaugeError",
    "RunError",
    "SchemaError",
    "StoreError",
]


class RagaugeError(Exception):
    """The root: catch it to catch all that ragauge raises on purpose."""


class InputError(RagaugeError):
    """What was given breaks a rule.

    Args:
        message: One line a problem: what was given, what is allowed, where, what to do.
        problems: All problems found, when there are several; `message` then sums them up.
    """

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

    @classmethod
    def collect(cls, problems: Sequence[str], *, limit: int = 20) -> "InputError":
        """One error that shows the first `limit` problems and counts the rest."""
        shown = list(problems[:limit])
        if len(problems) > limit:
            shown.append(f"... and {len(problems) - limit} more")
        return cls("\n".join(shown), problems)


class MeasureError(InputError):
    """A measure's name, parameter or cutoff is not one there is."""


class FormatError(InputError):
    """A file cannot be read as what it claims to be; the message names file and line."""


class SchemaError(InputError):
    """A table lacks a column, or a column has another type than its schema says."""


class PlanError(InputError):
    """A study plan asks for something that cannot be done."""


class MissingExtraError(RagaugeError):
    """An optional package is not installed; the message holds the command that installs it."""


class RunError(RagaugeError):
    """The input was right, and the work failed all the same."""


class EndpointError(RunError):
    """A model's endpoint was unreachable, refused the request, or answered what cannot be read.

    Args:
        message: One line: the address, what happened, what to do.
        reason: One word for tables: "unreachable", "timeout", "disconnected", "rate_limited", "http_500" (any 5xx),
            "not_json", "certificate", "refused" (an answer that trying again would not change), "not_asked" and
            "budget" (never sent: earlier calls failed for good, a cap is reached); "failed" when nothing closer is
            known.
        raw: What the endpoint sent, as text, without the API key; "" when it sent nothing.
    """

    def __init__(self, message: str, *, reason: str = "failed", raw: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.raw = raw


class StoreError(RunError):
    """The store cannot be opened, read or written."""


class IncompleteError(RunError):
    """The run ended, and some of its work is undone; what was done is kept."""
