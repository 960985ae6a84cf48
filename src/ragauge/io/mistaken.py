"""Labels given as rankings, and rankings given as labels: refused, as either would be scored without a word."""

from collections.abc import Collection

from ragauge.errors import FormatError
from ragauge.io.content import Content
from ragauge.io.long import COLUMNS, LABEL

__all__ = ["refuse_labels", "refuse_rankings"]

_BEIR_QRELS = {"query-id", "corpus-id", "score"}
_LABEL = tuple(name for name in LABEL if name != "score")
"""What a label may be called, and nothing else is."""


def refuse_labels(content: Content) -> None:
    """Refuses a row a label where rankings are read: its rows would be taken for a ranking, in their order.

    A text, a run, a rank or a score says that the rows are retrieved documents; in BEIR's qrels "score" is the grade.

    Raises:
        FormatError: The records hold a query, a document and a label, or whole numbers under BEIR's names.
    """
    names = _names(content)
    retrieved = any(_has(names, column) for column in ("rank", "score", "run", "text")) or "documents" in names
    labelled = _has(names, "query_id") and _has(names, "doc_id") and any(name in names for name in _LABEL)
    if (labelled and not retrieved) or _is_beir_qrels(content, names):
        raise FormatError(
            f"{content.name} looks like labels, not rankings: a row has {', '.join(names)}. Give it with --labels "
            '(from Python: read_labels); if its rows are rankings all the same, say --input-format csv (format="csv")'
        )


def refuse_rankings(content: Content) -> None:
    """Refuses a row a retrieved document where labels are read: its score would be taken for the label.

    Raises:
        FormatError: The records hold a query, a document and a rank, and no label.
    """
    names = _names(content)
    ranked = all(_has(names, column) for column in ("query_id", "doc_id", "rank"))
    if ranked and not any(name in names for name in _LABEL):
        raise FormatError(
            f"{content.name} looks like rankings, not labels: a row has {', '.join(names)}. Give it as RANKINGS "
            f"(from Python: read_rankings), or call the column of the labels one of {', '.join(_LABEL)}"
        )


def _names(content: Content) -> dict[str, None]:
    """The keys of the first records, in their order."""
    return {str(name): None for record in content.sample for name in record}


def _has(names: Collection[str], column: str) -> bool:
    return any(name in names for name in COLUMNS[column])


def _is_beir_qrels(content: Content, names: Collection[str]) -> bool:
    """Whether they have BEIR's columns, and grades under "score": whole numbers."""
    return set(names) == _BEIR_QRELS and all(_is_whole(record.get("score")) for record in content.sample)


def _is_whole(value: object) -> bool:
    try:
        return float(str(value)).is_integer()
    except ValueError:
        return False
