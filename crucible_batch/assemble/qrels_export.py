"""Hand out judgments: one effective grade per query and document, for other evaluators."""

from __future__ import annotations

from pathlib import Path

from crucible_batch.assemble.evaluate.ruler import Grading, judgments
from crucible_batch.assemble.outputs import output_file
from crucible_batch.contracts.vocabulary import QREL_SOURCES
from crucible_batch.errors import UsageError, suggestion
from crucible_batch.formats.trec_write import write_trec_qrels
from crucible_batch.metrics.grades import resolve_grades
from crucible_batch.settings import load_settings
from crucible_batch.store import Store

FORMATS = ("trec",)


def export_qrels(
    store: Store,
    workspace: str,
    path: Path,
    *,
    source: str = "resolved",
    format: str = "trec",  # noqa: A002 (the option's name)
    pin: int | None = None,
) -> int:
    """Write the effective grades of a workspace, by document.

    Args:
        store: The store.
        workspace: Workspace of the judgments.
        path: The file to write; an existing one is replaced.
        source: Grades of people only (`human`), of llm judges only (`llm`), or all of them
            resolved as scoring does it: the strongest source wins, overrides count.
        format: `trec`: lines of query, 0, document, grade.
        pin: Judgments as of this commit; the newest when None.

    Returns:
        The number of judgments written. Chunk judgments count for their document; those without
        a known document are left out.

    Raises:
        UnknownNameError: No such workspace.
        UsageError: An option is not known.
        ContractError: An id has blanks, which the format cannot hold.
        CrucibleError: The file cannot be written.
    """
    for name, value, known in (("source", source, QREL_SOURCES), ("format", format, FORMATS)):
        if value not in known:
            raise UsageError(f"{name} is {value!r}", fix=suggestion(value, known))
    snapshot = store.workspace(workspace).snapshot(pin)
    scoring = load_settings(store.root, workspace).scoring
    overrides = snapshot.read("judgment_overrides").drop("_commit").collect()
    grading = Grading(qrel_source=source, llm_lanes=scoring.llm_lanes)
    grades = resolve_grades(judgments(snapshot, overrides, grading))
    with output_file(path) as file:
        return write_trec_qrels(grades, file)
