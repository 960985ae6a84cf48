"""Comparison of Arrow tables that tells null from NaN."""

import math
from typing import Any

import pyarrow as pa

__all__ = ["assert_tables_equal"]


def assert_tables_equal(left: pa.Table, right: pa.Table, *, tolerance: float = 0.0) -> None:
    """Fails unless both tables have the same columns, types and values; null and NaN are two different things.

    Args:
        left: Any Arrow table.
        right: What it should equal.
        tolerance: Largest difference allowed between two finite floats.

    Raises:
        AssertionError: They differ; the message names the first column and row.
    """
    _same_or_fail("columns", left.column_names, right.column_names)
    for name in left.column_names:
        _same_or_fail(f"type of column {name!r}", left.schema.field(name).type, right.schema.field(name).type)
    _same_or_fail("number of rows", left.num_rows, right.num_rows)
    for name in left.column_names:
        pairs = zip(left.column(name).to_pylist(), right.column(name).to_pylist(), strict=True)
        for row, (one, other) in enumerate(pairs):
            if not _equal(one, other, tolerance):
                raise AssertionError(f"column {name!r}, row {row}: {one!r} is not {other!r}")


def _same_or_fail(what: str, left: object, right: object) -> None:
    if left != right:
        raise AssertionError(f"{what}: {left!r} is not {right!r}")


def _equal(left: Any, right: Any, tolerance: float) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        if math.isfinite(left) and math.isfinite(right):
            return abs(left - right) <= tolerance
        return left == right or (math.isnan(left) and math.isnan(right))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_equal(a, b, tolerance) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[name], right[name], tolerance) for name in left)
    return bool(left == right)
