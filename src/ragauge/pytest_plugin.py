"""A pytest plugin: the fixture `ragauge_quality`, for tests that fail when retrieval gets worse.

    def test_retrieval(ragauge_quality):
        ragauge_quality("retrieved.jsonl", "qrels.txt", "T(alpha=0.3)@10 >= 0.25")

Nothing of ragauge is loaded before a test calls it, so that collecting tests costs nothing.
"""

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["pytest_addoption", "ragauge_quality"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The settings of the fixture in pytest's configuration."""
    parser.addini("ragauge_level", "Confidence level of the intervals that rules are decided on.", default="0.95")
    parser.addini("ragauge_undecided", "What an undecided rule counts as: fail or pass.", default="fail")


@pytest.fixture
def ragauge_quality(pytestconfig: pytest.Config) -> Callable[..., None]:
    """`ragauge.assert_quality` with the level and the treatment of undecided rules of pytest's configuration."""

    def check(rankings: Any, labels: Any = None, *rules: str, **options: Any) -> None:
        __tracebackhide__ = True
        from ragauge.quality.gate import assert_quality

        level = float(pytestconfig.getini("ragauge_level"))
        settings = {"level": level, "undecided": pytestconfig.getini("ragauge_undecided")} | options
        assert_quality(rankings, labels, *rules, **settings)

    return check
