"""The pages of results hold what their scripts print."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared/data"


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="no shared/data beside the checkout")
@pytest.mark.parametrize("name", ["agreement", "model_labels"])
def test_page_of_results_holds_what_its_script_prints(name: str) -> None:
    script = ROOT / "docs/results" / f"{name}.py"
    printed = subprocess.run([sys.executable, script, DATA], capture_output=True, text=True, check=True).stdout
    assert printed.strip() in script.with_suffix(".md").read_text()
