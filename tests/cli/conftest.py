"""A command run as a user runs it: arguments in, exit code, stdout and stderr out."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from ragauge.cli.main import main


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def ragauge(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """ragauge("score", path, ...) runs the command in this process."""

    def run(*args: object) -> Ran:
        with pytest.raises(SystemExit) as left:
            main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return Ran(int(left.value.code or 0), out, err)

    return run
