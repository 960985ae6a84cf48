"""`ragauge correlate --contest`: verdicts, pooled tables, JSON, and what does not go together."""

import json

import numpy as np
import pyarrow as pa
import pytest

from ragauge.io import write_table
from ragauge.schema import GRADED


@pytest.fixture
def graded(tmp_path):
    """40 queries, two embedders, K = N_p; the grade follows recall."""
    rng = np.random.default_rng(0)
    rows = []
    for q in range(40):
        n = int(rng.integers(2, 9))
        for embedder in ("e5", "bge"):
            n_p = int(rng.integers(0, n + 1))
            rows.append(
                {
                    "query_id": f"q{q}",
                    "dataset": "nq",
                    "embedder": embedder,
                    "n_candidates": 50,
                    "n_relevant": n,
                    "cutoff": n,
                    "grade": float(np.clip(round(1 + 4 * n_p / n + 0.3 * rng.normal()), 1, 5)),
                    "labels": rng.permutation([1.0] * n_p + [0.0] * (n - n_p)).tolist(),
                }
            )
    path = tmp_path / "graded.parquet"
    write_table(pa.Table.from_pylist(rows, schema=GRADED), path)
    return path


def test_the_verdict_of_each_segment_and_the_pooled_measures_are_printed_in_80_columns(ragauge, graded):
    ran = ragauge("correlate", graded, "--contest", "--quiet")
    assert ran.code == 0
    _, contest = ran.out.split("Which measure may be the best")
    assert "nq  bge  K/N_p=1.0  (40 queries)\n  " in contest
    assert "Pooled over K/N_p=1.0, differences from P  (40 queries)" in contest
    assert "\nbest: P = R = F\nFe(x=2): takes no part, as it is missing in some of the 2 segments\n" in contest
    assert "same as P" in contest
    assert max(len(line.rstrip()) for line in contest.splitlines()) <= 80


def test_json_holds_the_contest_beside_the_correlations(ragauge, graded):
    ran = ragauge("correlate", graded, "--contest", "--against", "n_p", "--format", "json", "--quiet")
    rows = json.loads(ran.out)["contest"]
    assert {row["against"] for row in rows if row["measure"] == "F"} == {"n_p"}
    assert {row["standing"] for row in rows if row["measure"] == "Fe(x=2)"} == {"not compared"}


def test_same_seed_same_output(ragauge, graded):
    first, second = (ragauge("correlate", graded, "--contest", "--seed", "4", "--quiet").out for _ in range(2))
    assert first == second


def test_without_the_option_there_is_no_contest(ragauge, graded):
    assert "Which measure may be the best" not in ragauge("correlate", graded, "--quiet").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--against", "F"), "--against goes with --contest, --html or --charts"),
        (("--contest", "--format", "csv"), "--contest goes with --format table or json"),
        (("--contest", "--against", "MAP"), "against must be one of n_p, P"),
    ],
)
def test_what_does_not_go_together_is_refused(ragauge, graded, options, message):
    ran = ragauge("correlate", graded, *options)
    assert ran.code == 2
    assert message in ran.err
