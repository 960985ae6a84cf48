"""The command line as a whole: help, exits, the sample, and a page of commands that is not stale."""

from pathlib import Path

import pytest

from ragauge.cli.main import COMMANDS
from ragauge.cli.reference_page import reference_page

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_each_command_has_help_with_an_example(ragauge, command: str) -> None:
    ran = ragauge(command, "--help")
    assert ran.code == 0
    assert "Example" in ran.out
    assert max(len(line) for line in ran.out.splitlines()) <= 80


def test_the_page_of_commands_is_as_the_commands_are() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_page(), "stale: run `make docs`"


def test_an_unknown_command_exits_2(ragauge) -> None:
    ran = ragauge("scroe")
    assert ran.code == 2
    assert "No such command 'scroe'. Did you mean 'score'?" in ran.err


def test_the_sample_is_written_once(ragauge, tmp_path: Path) -> None:
    first = ragauge("sample", tmp_path / "kb")
    again = ragauge("sample", tmp_path / "kb")
    assert first.code == 0
    assert {Path(line).name for line in first.out.splitlines()} >= {"corpus.jsonl", "queries.jsonl", "qrels.tsv"}
    assert again.code == 2
    assert "choose an empty folder" in again.err


def test_the_sample_can_be_retrieved_and_scored(ragauge, tmp_path: Path) -> None:
    ragauge("sample", tmp_path / "kb")
    ran = ragauge(
        *("retrieve", tmp_path / "kb" / "corpus.jsonl", tmp_path / "kb" / "queries.jsonl", "--retriever", "bm25"),
        *("--top", 5, "--out", tmp_path / "r.jsonl", "--store", tmp_path / "s.db"),
    )
    assert ran.code == 0, ran.err
    scored = ragauge(
        *("score", tmp_path / "r.jsonl", "--labels", tmp_path / "kb" / "qrels.tsv", "--rel", 2, "-m", "P@5"),
    )
    assert scored.code == 0, scored.err
    assert "P(rel=2)@5" in scored.out


def test_an_unknown_retriever_is_refused_by_name(ragauge, tmp_path: Path) -> None:
    ragauge("sample", tmp_path / "kb")
    ran = ragauge(
        *("retrieve", tmp_path / "kb" / "corpus.jsonl", tmp_path / "kb" / "queries.jsonl", "--retriever", "minlm"),
        *("--out", tmp_path / "r.jsonl", "--store", tmp_path / "s.db"),
    )
    assert ran.code == 2
    assert "did you mean 'minilm'?" in ran.err
