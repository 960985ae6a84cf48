"""docs/results/paper_claims.md says what its script prints."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "aragog-rag-runs").is_dir(), reason="no shared/data beside the checkout")
def test_every_table_of_the_page_is_the_one_the_script_prints():
    script = ROOT / "docs" / "results" / "paper_claims.py"
    printed = subprocess.run([sys.executable, script, DATA], capture_output=True, text=True, check=True).stdout
    page = script.with_suffix(".md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in printed.splitlines() if line.startswith("|")]
    assert len(rows) > 100
    assert [line for line in rows if line not in page] == []
