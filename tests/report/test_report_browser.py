"""The pages in a real browser, where there is one: every chart is drawn, nothing complains, nothing sticks out."""

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest
from report_tables import estimates_two_sources, scores_table

from ragauge.report import score_report, study_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((path for name in BROWSERS if (path := shutil.which(name))), None)
WIDTHS = (1200, 400)
HARMLESS = ('WARN Dropping "fit-y"', "WARN Detected faceted independent scales")
"""What Vega-Lite says of charts whose height is that of their rows, and of panels with axes of their own."""
PROBE = """<!DOCTYPE html>
<body>%s<pre id="found"></pre>
<script>
function look(frame) {
  const page = frame.contentDocument;
  const plots = Array.from(page.querySelectorAll(".plot"));
  return {
    width: page.documentElement.clientWidth,
    content: page.documentElement.scrollWidth,
    waiting: plots.filter(plot => !plot.querySelector("svg.marks")).map(plot => plot.id),
    wide: plots.filter(plot => plot.scrollWidth > plot.clientWidth + 1).map(plot => plot.id),
    marks: plots.map(plot => plot.querySelectorAll("svg path, svg line, svg text").length),
  };
}
let tries = 0;
const timer = setInterval(function () {
  const found = Array.from(document.querySelectorAll("iframe"), look);
  if (++tries < 60 && found.some(one => !one.marks.length || one.waiting.length)) return;
  clearInterval(timer);
  document.getElementById("found").textContent = JSON.stringify(found);
}, 100);
</script>
"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"no browser: none of {', '.join(BROWSERS)} is installed")


def look_at(page: str, folder: Path) -> tuple[list[dict], list[str]]:
    """What each width of the page shows, and what the browser's console says."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    frames = "".join(f'<iframe src="page.html" width="{width}" height="900"></iframe>' for width in WIDTHS)
    (folder / "probe.html").write_text(PROBE % frames, encoding="utf-8")
    options = ["--headless", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--window-size=1400,1000"]
    options += [f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=20000"]
    options += ["--disable-web-security"]  # the probe reads the pages in its frames
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    command = [str(BROWSER), *options, "--dump-dom", (folder / "probe.html").as_uri()]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', ran.stdout, re.DOTALL)
    said = [
        line for line in ran.stderr.splitlines() if "CONSOLE" in line and not any(text in line for text in HARMLESS)
    ]
    return json.loads(unescape(found.group(1))) if found else [], said


@pytest.mark.parametrize("kind", ["score", "study"])
def test_a_browser_draws_every_chart_at_any_width_and_complains_of_nothing(
    kind, tmp_path, judged, correlations, graded, contest
):
    pages = {
        "score": lambda: score_report(
            title="Score",
            estimates=estimates_two_sources(),
            judged=judged,
            scores=scores_table(judged),
            rel=0.5,
        ),
        "study": lambda: study_report(title="Study", correlations=correlations, graded=graded, contest=contest),
    }
    found, said = look_at(pages[kind](), tmp_path)
    assert said == []
    assert [one["width"] for one in found] == list(WIDTHS)
    for one in found:
        assert one["waiting"] == []
        assert len(one["marks"]) == {"score": 4, "study": 5}[kind]
        assert min(one["marks"]) > 10
        assert one["content"] <= one["width"]
        assert [name for name in one["wide"] if name != "chart-heatmap"] == []  # which scrolls by itself
