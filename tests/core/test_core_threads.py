"""Blocks of work on several processors: results and errors are those of a plain loop."""

import pytest

from ragauge.threads import each


def test_results_stand_in_the_order_of_the_items() -> None:
    assert list(each(lambda n: n * n, range(200))) == [n * n for n in range(200)]
    assert list(each(str, [7])) == ["7"]
    assert list(each(str, [])) == []


def test_the_error_of_the_first_item_that_fails_is_raised_after_the_results_before_it() -> None:
    results = each(lambda n: 1 // (n - 3) if n < 5 else int("five"), range(50))
    assert [next(results) for _ in range(3)] == [-1, -1, -1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_who_stops_half_way_is_not_held_up() -> None:
    assert next(each(abs, range(-1000, 0))) == 1000
