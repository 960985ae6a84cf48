"""The pages as files: they open offline, hold what they were given, and run nothing that a document says."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import vl_convert
from report_tables import (
    COEFFICIENTS,
    correlations_table,
    estimate,
    estimates_two_sources,
    graded_table,
    judged_table,
    scores_table,
)

from ragauge.errors import InputError, RunError
from ragauge.report import Example, export_charts, score_charts, score_report, study_charts, study_report
from ragauge.schema import CORRELATIONS, GRADED

NAN = float("nan")
ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)> {{7*7}} {% raw %} \u2028 &amp;"
ARABIC = "هذا نص من اليمين إلى اليسار"
VOID = {"meta", "input", "img", "br", "link"}


class Page(HTMLParser):
    """Elements, attributes and text of a page, and whether every element is closed."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.html, self.elements, self.open, self.scripts, self.text = html, [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append([dict(attributes), ""])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data
        elif self.open and self.open[-1] != "style":
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())

    @property
    def specs(self):
        return {a["data-chart"]: json.loads(text) for a, text in self.scripts if a.get("type") == "application/json"}

    @property
    def code(self):
        return [text for a, text in self.scripts if "type" not in a]

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def score_page(judged, **changes):
    given = {"title": "Score", "estimates": estimates_two_sources(), "rel": 0.5, "notes": ["a note"]} | changes
    return Page(score_report(judged=judged, scores=given.pop("scores", scores_table(judged)), **given))


def study_page(correlations, graded, **changes):
    return Page(study_report(**{"title": "Study", "correlations": correlations, "graded": graded} | changes))


@pytest.fixture(scope="module")
def score_html(judged):
    return score_page(judged)


@pytest.fixture(scope="module")
def study_html(correlations, graded, contest):
    return study_page(correlations, graded, contest=contest, notes=["a note"], plan_text='[[datasets]]\nname = "<b>"')


@pytest.fixture(params=["score", "study"])
def page(request, score_html, study_html):
    return {"score": score_html, "study": study_html}[request.param]


def test_the_page_loads_nothing_from_outside(page):
    sources = [a[name] for _, a in page.elements for name in ("src", "href", "data", "action", "srcset") if name in a]
    assert all(source.startswith("#") for source in sources)
    assert not page.all("link")
    assert not page.all("iframe")
    assert not page.all("base")
    assert "@import" not in page.html.split("</style>")[0]
    assert "url(" not in page.html.split("</style>")[0]


def test_the_policy_forbids_requests_and_names_the_two_scripts(page):
    (policy,) = (a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    hashes = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in page.code]
    assert len(hashes) == 2
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes


def test_the_page_is_well_formed_and_its_ids_are_unique(page):
    assert page.open == []
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_headings_descend_one_level_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_page_tables_and_charts_can_be_read_aloud(page):
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("caption")) == len(page.all("table"))
    assert all("scope" in a for a in page.all("th"))
    charts = [a for a in page.all("div") if a.get("role") == "img"]
    assert len(charts) == len(page.specs) > 0
    assert all(a["aria-label"] for a in charts)
    assert all(a["href"].removeprefix("#") in {b.get("id") for _, b in page.elements} for a in page.all("a"))


def test_the_page_has_a_print_style(page):
    assert "@media print" in page.html.split("</style>")[0]


def test_every_chart_of_the_page_can_be_drawn(page):
    for name, spec in page.specs.items():
        spec = spec | ({"width": 600} if spec.get("width") == "container" else {})
        assert len(vl_convert.vegalite_to_svg(spec)) > 3000, name


def test_the_score_page_shows_both_sources_and_the_worst_queries(score_html):
    assert set(score_html.specs) == {"estimates_share", "estimates_count", "labels", "ranks"}
    assert "local LLM" in score_html.words
    assert "hand labels" in score_html.words
    assert "−0.070" in score_html.words
    assert len(score_html.all("details")) == 10


def test_the_study_page_shows_all_coefficients_and_marks_what_is_in_sample(study_html):
    assert set(study_html.specs) == {"pooled", "heatmap", "ratio", "grades", "against_grade"}
    assert (
        "Over all segments pooled, no winner: F leads; not distinguishable: P; the simplest is P." in study_html.words
    )
    assert [a["value"] for a in study_html.all("input")] == ["spearman", "pearson", "tau_b", "tau_c"]
    for said in ("in-sample max", "alpha cannot matter here", "baseline", 'name = "<b>"', "the verdict cannot be read"):
        assert said in study_html.words
    found = {row["coefficient"] for row in _rows(study_html.specs["heatmap"])}
    assert found == {
        "spearman",
        "pearson",
        "tau_b",
        "tau_c",
    }


def _rows(spec):
    return spec["datasets"]["rows"]


def test_texts_of_documents_stay_texts():
    texts = [ATTACK, "word " * 2000, ARABIC, ""]
    page = score_page(judged_table(texts=texts), n_worst=24, title=ATTACK, notes=[ATTACK])
    assert len(page.code) == 2
    assert not page.all("img")
    assert page.words.count("alert(1)") == 4  # title element, heading, note, document
    assert "{{7*7}}" in page.words
    assert "49" not in page.words.split("{{7*7}}")[1][:5]
    assert ARABIC in page.words
    assert "(empty text)" in page.words
    assert "word " * 1999 in page.words + " "


def test_names_in_chart_data_cannot_end_their_script():
    # the name of a data set reaches the charts, those of measures and segments too
    page = study_page(correlations_table(datasets=(ATTACK,)), graded_table(5, datasets=(ATTACK,)))
    assert len(page.code) == 2
    assert any(ATTACK in row["group"] for row in _rows(page.specs["heatmap"]))
    raw = [line for line in page.html.splitlines() if 'type="application/json"' in line]
    assert all("\u2028" not in line and line.count("<") == 2 for line in raw)


def test_examples_show_query_documents_and_both_answers(correlations, graded):
    example = Example("q1", f"why {ATTACK}", "d", "e", 2, 1.0, "the ideal one", ARABIC, ((1.0, ATTACK), (None, "")))
    page = study_page(correlations, graded, examples=[example])
    assert len(page.code) == 2
    assert page.words.count("alert(1)") == 2
    assert "the ideal one" in page.words
    assert ARABIC in page.words
    assert "unjudged" in page.words


def test_nan_everywhere_is_a_page_of_dashes(judged):
    measures = ("P", "F", "T(form=count)")
    page = study_page(correlations_table(measures=measures, undefined=measures), graded_table(4))
    assert "x is constant" in page.words
    assert "Spearman is undefined in every segment." in page.words
    nothing = estimate("P@5", NAN, NAN, n=0, n_undefined=24, judged=NAN, reason="no query")
    scores = pa.table({**{n: judged.column(n) for n in ("query_id", "run")}, "P@5": [NAN] * judged.num_rows})
    page = score_page(judged, estimates={"LLM": [nothing]}, scores=scores)
    assert "undefined" in page.words
    assert "P@5 is defined for no query." in page.words


def test_one_segment_and_one_measure_are_enough():
    table = correlations_table(datasets=("d",), embedders=("e",), ratios=(1,), measures=("P",))
    page = study_page(table, graded_table(3, datasets=("d",), embedders=("e",), ratios=(1,)))
    assert set(page.specs) == {"heatmap", "ratio", "grades", "against_grade"}
    assert all(
        len(vl_convert.vegalite_to_svg(s | {"width": 500} if s.get("width") else s)) for s in page.specs.values()
    )


def test_segments_without_ratio_stand_on_the_axis_themselves():
    table = correlations_table(ratios=(1, 2))
    at = table.schema.get_field_index("ratio")
    page = study_page(
        table.set_column(at, CORRELATIONS.field("ratio"), pa.nulls(table.num_rows, pa.float64())), graded_table(3)
    )
    assert "Correlation by segment" in page.words
    assert "K/N_p = 2" in json.dumps(page.specs["ratio"])


def test_two_hundred_segments_fit_on_a_page():
    table = correlations_table(
        datasets=[f"set {i}" for i in range(10)], embedders=("a", "b", "c", "d"), ratios=(0.5, 0.75, 1, 1.5, 2)
    )
    page = study_page(table, graded_table(2))
    assert "segment by segment (200)" in page.words
    assert len(page.html) < 8_000_000


def test_a_study_without_grades_says_so():
    page = study_page(CORRELATIONS.empty_table(), GRADED.empty_table())
    assert "No correlation was computed." in page.words
    assert "No answer was graded" in page.words
    assert page.specs == {}
    nothing_graded = graded_table(3).to_pylist()
    for row in nothing_graded:
        row |= {"grade": None, "reason": "the server was down"}
    page = study_page(CORRELATIONS.empty_table(), pa.Table.from_pylist(nothing_graded, schema=GRADED))
    assert "No answer was graded" in page.words
    assert "the server was down" in page.words


def test_nothing_judged_and_nothing_retrieved_is_still_a_page(judged):
    page = score_page(judged.slice(0, 0), estimates={})
    assert "No document was retrieved" in page.words
    assert "No measure was computed." in page.words


def test_the_same_input_gives_the_same_page(correlations, graded, contest, study_html):
    again = study_page(correlations, graded, contest=contest, notes=["a note"], plan_text='[[datasets]]\nname = "<b>"')
    assert again.html == study_html.html


@pytest.mark.parametrize(("format", "start"), [("png", b"\x89PNG"), ("svg", b"<svg")])
def test_each_chart_is_written_as_an_image(tmp_path, judged, format, start):
    few = correlations_table(datasets=("d",), ratios=(0.5, 1), measures=("P", "F"))
    few = few.filter(pc.equal(few.column("coefficient"), "spearman"))
    charts = study_charts(few, graded_table(5)) | score_charts(estimates_two_sources(), judged, rel=0.5)
    files = export_charts(charts, tmp_path / "figures", format)
    assert [path.name for path in files] == [f"{name}.{format}" for name in charts]
    assert all(path.read_bytes().startswith(start) for path in files)
    assert all(path.stat().st_size > 4000 for path in files)


def test_a_study_has_two_charts_a_coefficient_and_two_of_the_grades(correlations, graded):
    by_coefficient = {f"{kind}_{name}" for kind in ("heatmap", "ratio") for name in COEFFICIENTS}
    assert set(study_charts(correlations, graded)) == by_coefficient | {"grades", "against_grade"}


def test_an_unknown_image_format_is_refused(tmp_path):
    with pytest.raises(InputError, match="exported as 'png' or 'svg', got 'gif'"):
        export_charts({}, tmp_path, "gif")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="charts cannot be written to "):
        export_charts({}, tmp_path / "file", "png")
