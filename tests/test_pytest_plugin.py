"""The pytest plugin in a pytest of its own: verdicts, settings, and that it loads nothing before it is used."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

INSTALLED = any(one.value == "ragauge.pytest_plugin" for one in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "ragauge.pytest_plugin")

TEST = """
def test_holds(ragauge_quality):
    ragauge_quality("new.run", "qrels.txt", "P@1 > 0.5")

def test_is_undecided(ragauge_quality):
    ragauge_quality("new.run", "qrels.txt", "P@1 > 0.7")

def test_fails(ragauge_quality):
    ragauge_quality("new.run", "qrels.txt", "P@1 > 0.5", "P@1 > 0.95")
"""


@pytest.fixture
def project(pytester):
    documents = ["d1" if at < 30 else "d2" for at in range(40)]
    (pytester.path / "new.run").write_text("".join(f"q{at} Q0 {doc} 1 1.0 x\n" for at, doc in enumerate(documents)))
    (pytester.path / "qrels.txt").write_text("".join(f"q{at} 0 d1 1\nq{at} 0 d2 0\n" for at in range(40)))
    pytester.makepyfile(TEST)
    return pytester


def test_failing_rule_fails_its_test_with_all_verdicts(project):
    result = project.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*AssertionError: retrieval quality of new.run:", "*  pass *P@1 > 0.5: 0.750*"])
    result.stdout.fnmatch_lines(["*✗ fail *P@1 > 0.95: 0.750*"])
    result.stdout.no_fnmatch_line("*def assert_quality*")  # the line of the test is shown, not ours


def test_settings_of_the_project_count(project):
    project.makeini("[pytest]\nragauge_undecided = pass\nragauge_level = 0.5\n")
    result = project.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(passed=2, failed=1)


def test_plugin_loads_nothing_of_ragauge_before_a_test_asks():
    code = "import sys, ragauge.pytest_plugin; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"numpy", "pyarrow", "scipy", "polars", "ragauge.quality.gate"}.isdisjoint(loaded)
