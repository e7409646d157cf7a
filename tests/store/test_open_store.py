"""Opening a store by its address: what is no store is refused, and reading makes none."""

import pytest

from coterie.store import StoreError, open_store
from coterie.store.shuffle_files import default_folder


def test_whoever_only_reads_makes_no_store(tmp_path):
    with pytest.raises(StoreError, match="holds no store; give the one"):
        open_store(tmp_path / "typo", make=False)
    assert not (tmp_path / "typo").exists()
    open_store(tmp_path / "kept").shut()
    with open_store(tmp_path / "kept", make=False) as store:
        assert store.plan_ids() == []


def test_a_file_is_no_store(tmp_path):
    (tmp_path / "table").write_bytes(b"of integers")
    with pytest.raises(StoreError, match="table is a file: a store is a folder"):
        open_store(tmp_path / "table")


def test_an_address_of_another_kind_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="no store of kind mysql://"):
        open_store("mysql://host/reports")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "found"), [("", ".local/state"), ("relative", ".local/state"), ("{}/s", "s")]
)
def test_released_ids_are_remembered_in_one_place_of_the_user(given, found, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", given.format(tmp_path))
    assert default_folder() == tmp_path / found / "coterie" / "released"
