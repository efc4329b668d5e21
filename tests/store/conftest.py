from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from crucible_batch.contracts import TABLES
from crucible_batch.store import Store, Workspace, qrel_id

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store", now=lambda: NOON)


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of an empty workspace, to be copied: building one for each test takes longer."""
    store = Store.create(tmp_path_factory.mktemp("blank") / "store")
    return store.workspace("w", create=True).layout.root


@pytest.fixture
def workspace(store: Store, blank: Path) -> Workspace:
    """An empty workspace; its catalogue still points to the original of the copy."""
    folder = store.root / "w"
    shutil.copytree(blank, folder)
    views = folder / "views.sql"
    views.write_text(views.read_text().replace(str(blank), str(folder)))
    return store.workspace("w")


@pytest.fixture
def qrels() -> Callable[..., pl.DataFrame]:
    """Human judgments of document d1 for queries, all of one grade."""

    def build(*queries: str, grade: int = 3, workspace: str = "w", **other: object):
        rows = [
            {
                "workspace_id": workspace,
                "query_id": query,
                "target": "doc:d1",
                "source": "human",
                "judge": "human",
                "doc_id": "d1",
                "grade": grade,
                "qrel_id": qrel_id(workspace, query, "doc:d1", "human", "human"),
                "created_at": NOON,
                **other,
            }
            for query in queries
        ]
        return pl.DataFrame(rows, schema=TABLES["qrels"].schema)

    return build


@pytest.fixture
def results() -> Callable[..., pl.DataFrame]:
    """Results of a run, one per item."""

    def build(*items: str, run: str = "r1", workspace: str = "w", **other: object):
        rows = [
            {
                "workspace_id": workspace,
                "run_id": run,
                "item_id": item,
                "sample_index": 0,
                "answer": f"answer to {item}",
                "retrieval_ran": True,
                **other,
            }
            for item in items
        ]
        return pl.DataFrame(rows, schema=TABLES["results"].schema)

    return build


@pytest.fixture
def metrics() -> Callable[..., pl.DataFrame]:
    """Rows of the mart `scores`."""

    def build(*items: str, value: float = 0.5, run: str = "r1"):
        rows = [
            {
                "workspace_id": "w",
                "evaluation_id": "e1",
                "run_id": run,
                "item_id": item,
                "sample_index": 0,
                "metric": "ndcg_at_10",
                "value": value,
            }
            for item in items
        ]
        return pl.DataFrame(rows, schema=TABLES["scores"].schema)

    return build
