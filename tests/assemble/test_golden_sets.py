"""Golden sets are shown, named by a hash, and compared version by version."""

from __future__ import annotations

import pytest
from bench import Bench, item, result

from crucible_batch.assemble.golden import diff_sets, item_detail, list_items, list_sets
from crucible_batch.assemble.golden.sets import resolve_hash, the_set
from crucible_batch.assemble.golden.text import diff_text
from crucible_batch.errors import UnknownNameError, UsageError


@pytest.fixture
def bench(tmp_path) -> Bench:
    return Bench(tmp_path)


def snapshot(bench: Bench):
    return bench.store.workspace("default").snapshot()


def present(bench: Bench) -> str:
    return the_set(snapshot(bench), "g").golden_set_hash


def test_the_hash_shown_is_the_one_that_loading_said(bench):
    said = bench.golden(item("q1", must=2), item("q2")).facts["golden_set_hash"]
    (found,) = list_sets(snapshot(bench))
    assert (found.golden_set_hash, found.n_items, found.n_retired, found.commit) == (said, 2, 0, 1)


def test_an_item_edited_and_edited_back_gives_the_first_hash_again(bench):
    first = bench.golden(item("q1", must=1)).facts["golden_set_hash"]
    bench.golden(item("q1", must=2))
    bench.golden(item("q1", must=1))
    assert bench.rows("golden_items")[-1]["revision"] == 3
    (found,) = list_sets(snapshot(bench))
    assert (found.golden_set_hash, found.commit) == (first, 1)


def test_retired_items_are_counted_but_not_shown(bench):
    bench.golden(item("q1"), item("q2"))
    bench.golden(item("q1"), retire_missing=True)
    (found,) = list_sets(snapshot(bench))
    assert (found.n_items, found.n_retired) == (1, 1)
    assert list_items(snapshot(bench), found.golden_set_hash)["item_id"].to_list() == ["q1"]


def test_items_are_listed_with_what_they_ask_for(bench):
    rows = item("q1", must=2, required=("d1", "d2"), shape="lookup")
    rows["assertions"].append({"assertion_id": "s", "level": "should", "text": "Nice."})
    bench.golden(rows, item("q2"))
    shown = list_items(snapshot(bench), present(bench))
    columns = ("item_id", "shape", "n_must", "n_should", "n_required")
    assert shown.select(columns).rows() == [("q1", "lookup", 2, 1, 2), ("q2", None, 0, 0, 0)]


def test_what_is_shown_of_an_item_loads_again_as_the_same_item(bench):
    bench.golden(item("q1", must=2, required=("d1",), tags=["b", "a"]))
    shown = item_detail(snapshot(bench), present(bench), "q1")
    del shown["revision"]
    again = bench.golden({n: v for n, v in shown.items() if n != "created_at"})
    assert not again.created
    with pytest.raises(UnknownNameError, match="q9"):
        item_detail(snapshot(bench), present(bench), "q9")


def test_a_version_is_named_by_hash_first_digits_set_or_run(bench):
    old = bench.golden(item("q1")).facts["golden_set_hash"]
    bench.run("r", result("q1"))
    new = bench.golden(item("q1", must=1)).facts["golden_set_hash"]
    now = snapshot(bench)
    assert resolve_hash(now, old) == resolve_hash(now, old[:20]) == resolve_hash(now, "r") == old
    assert resolve_hash(now, new.removeprefix("sha256:")[:12]) == resolve_hash(now, "g") == new
    for name in ("h", old[:9], "sha256:"):
        with pytest.raises(UnknownNameError):
            resolve_hash(now, name)


def test_several_sets_have_to_be_told_apart(bench):
    bench.golden(item("q1"))
    bench.golden(item("p1"), golden_set="h")
    with pytest.raises(UsageError, match="2 golden sets"):
        the_set(snapshot(bench), None)
    with pytest.raises(UnknownNameError, match="golden set"):
        the_set(snapshot(bench), "k")
    assert [one.golden_set for one in list_sets(snapshot(bench))] == ["g", "h"]


def test_a_difference_names_items_added_removed_and_changed_with_their_fields(bench):
    old = bench.golden(item("q1", must=2), item("q2"), item("q3", tags=["a", "b"]))
    changed = item("q1", must=1, required=("d1",)) | {"ground_truth": "So."}
    new = bench.golden(changed, item("q3", tags=["b", "a"]), item("q4"), retire_missing=True)
    versions = [report.facts["golden_set_hash"] for report in (old, new)]
    found = diff_sets(snapshot(bench), *versions)
    assert [(one.item_id, one.kind) for one in found] == [
        ("q1", "changed"),
        ("q2", "removed"),
        ("q4", "added"),
    ]
    fields = found[0].fields
    assert set(fields) == {"assertions", "citations", "ground_truth"}
    assert fields["ground_truth"] == (None, "So.")
    before, after = fields["assertions"]
    assert ([a["assertion_id"] for a in before], after) == (["a1"], [])
    text = diff_text(found)
    assert "ground_truth: — → So." in text
    assert "citations + d1 · required" in text
    assert text.endswith("1 added, 1 removed, 1 changed")


def test_a_version_does_not_differ_from_itself(bench):
    bench.golden(item("q1", must=1))
    assert diff_sets(snapshot(bench), "g", present(bench)) == ()
