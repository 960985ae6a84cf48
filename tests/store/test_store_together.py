"""Group commit: what waits is written together, in order, and an error reaches all whom it concerns."""

import threading
from collections.abc import Sequence

import pytest

from ragauge.store.together import Together


class Disk:
    """Writes when it is let, and remembers what came together."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun = threading.Event()
        self.let = threading.Event()

    def write(self, items: Sequence[int]) -> None:
        self.begun.set()
        assert self.let.wait(timeout=10)
        self.batches.append(list(items))
        if -1 in items:
            raise OSError("full")


def put(together: Together[int], item: int, failed: list[int]) -> None:
    try:
        together.put(item)
    except OSError:
        failed.append(item)


def test_what_waits_for_one_write_is_written_by_the_next_together() -> None:
    disk, failed = Disk(), []
    together = Together(disk.write)
    first = threading.Thread(target=put, args=(together, 0, failed))
    first.start()
    assert disk.begun.wait(timeout=10)
    rest = [threading.Thread(target=put, args=(together, n, failed)) for n in (1, 2, -1)]
    for thread in rest:
        thread.start()
    while len(together._waiting) < len(rest):
        disk.begun.wait(timeout=0.001)
    disk.let.set()
    for thread in (first, *rest):
        thread.join(timeout=10)
    assert [sorted(batch) for batch in disk.batches] == [[0], [-1, 1, 2]]
    assert sorted(failed) == [-1, 1, 2]


def test_a_failed_write_does_not_stop_the_next_one() -> None:
    disk = Disk()
    disk.let.set()
    together = Together(disk.write)
    with pytest.raises(OSError, match="full"):
        together.put(-1)
    together.put(1)
    assert disk.batches == [[-1], [1]]
