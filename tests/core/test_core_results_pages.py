"""The pages of results hold what their scripts print."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
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


def test_rogan_gladen_of_the_page_is_the_textbooks():
    # .34 of all are called relevant: (.34 + .9 - 1) / (.9 + .9 - 1) = .30; were specificity .95, .29 / .85 = .341
    path = ROOT / "docs/results/model_labels.py"
    spec = importlib.util.spec_from_file_location("model_labels", path)
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    assert page.rogan_gladen(0.34, np.array([100, 90, 100, 10])) == pytest.approx(0.30)
    assert page.rogan_gladen(0.34, np.array([100, 90, 100, 5])) == pytest.approx(0.341, abs=5e-4)
