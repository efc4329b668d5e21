from __future__ import annotations

import stat

import pytest

from crucible_batch.contracts import TABLES
from crucible_batch.errors import StoreError, UnknownNameError, UsageError
from crucible_batch.store import Store, file_name, pair_name


def test_a_safe_id_is_its_own_file_name():
    assert file_name("run-2026.03_a") == "run-2026.03_a"


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("a/b", "a%2fb"),
        ("a b", "a%20b"),
        ("a~b", "a%7eb"),
        ("é", "%c3%a9"),
        ("..", "%2e."),
        ("_empty", "%5fempty"),
        ("100%", "100%25"),
        ("run*?[x]", "run%2a%3f%5bx%5d"),
    ],
)
def test_an_unsafe_id_is_percent_encoded(identifier, name):
    assert file_name(identifier) == name


def test_ids_that_differ_in_case_only_have_names_that_differ_in_more():
    names = {file_name(name).lower() for name in ("Run", "RUN", "run")}
    assert len(names) == 3
    assert file_name("Run").startswith("Run~")


def test_a_long_id_keeps_sixty_bytes_and_a_hash():
    name = file_name("x" * 200)
    assert name.startswith("x" * 60 + "~")
    assert len(name) == 60 + 1 + 16
    assert name != file_name("x" * 201)


def test_a_pair_of_runs_is_one_name_only():
    assert pair_name("a", "b") == "a~b"
    assert pair_name("a~b", "c") != pair_name("a", "b~c")


def test_opening_a_folder_that_is_no_store_says_how_to_make_one(tmp_path):
    with pytest.raises(StoreError, match="There is no store at") as caught:
        Store.open(tmp_path)
    assert "crucible init" in caught.value.fix


def test_creating_a_store_where_one_is_keeps_its_settings(tmp_path):
    Store.create(tmp_path / "s")
    (tmp_path / "s" / "crucible.toml").write_text("# mine\n")
    Store.create(tmp_path / "s", settings_text="# other\n")
    assert (tmp_path / "s" / "crucible.toml").read_text() == "# mine\n"


def test_a_store_cannot_be_made_of_a_file(tmp_path):
    (tmp_path / "s").write_text("")
    with pytest.raises(StoreError, match="is a file"):
        Store.create(tmp_path / "s")


def test_a_missing_workspace_is_named_with_its_neighbours(store):
    store.workspace("acme", create=True)
    with pytest.raises(UnknownNameError, match="No workspace is called 'acmee'") as caught:
        store.workspace("acmee")
    assert "acme" in caught.value.fix
    assert store.workspaces() == ("acme",)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", "a" * 129, "ä", ".staging", "a\n"])
def test_a_name_that_could_leave_the_store_is_refused(store, name):
    with pytest.raises(UsageError, match="cannot name a workspace"):
        store.workspace(name, create=True)


def test_workspaces_that_differ_in_case_only_are_refused(store):
    store.workspace("acme", create=True)
    with pytest.raises(StoreError, match="upper and lower case"):
        store.workspace("Acme", create=True)


def test_a_new_workspace_has_a_file_for_every_table(store):
    workspace = store.workspace("w", create=True)
    for table in TABLES.values():
        if table.storage in {"event", "bulk"}:
            path = workspace.layout.commit(0) / f"{table.name}.parquet"
            assert stat.S_IMODE(path.stat().st_mode) == 0o444
        elif table.storage == "mart":
            assert (workspace.layout.marts(table.name) / "_empty.parquet").is_file()
    assert workspace.snapshot().seq == 0
    assert workspace.layout.settings.read_text().startswith("# Settings of workspace w")


def test_creation_that_lost_a_race_takes_what_is_there(store, monkeypatch):
    other = Store.open(store.root)
    other.workspace("w", create=True)
    monkeypatch.setattr(Store, "workspaces", lambda self: ())
    assert store.workspace("w", create=True).snapshot().seq == 0
    assert list((store.root / ".staging").iterdir()) == []


def test_a_folder_that_holds_only_settings_is_no_workspace_and_says_so(store):
    (store.root / "w").mkdir()
    (store.root / "w" / "settings.toml").write_text("")
    with pytest.raises(StoreError, match="is there, and is no workspace"):
        store.workspace("w", create=True)
