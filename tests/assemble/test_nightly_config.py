from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from crucible_batch.assemble.example import example_dir
from crucible_batch.assemble.nightly import load_config, open_night, parse_as_of
from crucible_batch.errors import UsageError

GOOD = """\
golden_set = "faq"
baseline = "base"

[[inputs]]
kind = "golden"
paths = ["golden.jsonl"]

[[inputs]]
kind = "corpus"
paths = ["corpus"]
corpus_version = "v1"
observed_at = 2026-05-01T02:00:00+02:00
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "nightly.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_config(written(folder, text))
    said = str(caught.value)
    assert "nightly.toml" in said
    assert caught.value.fix
    return said


def test_what_is_not_said_has_a_default(tmp_path):
    config, folder = load_config(written(tmp_path, GOOD))
    assert folder == tmp_path
    assert (config.workspace, config.report_dir) == (None, None)
    assert [source.kind for source in config.inputs] == ["golden", "corpus"]


@pytest.mark.parametrize("value", ["2026-05-01T00:00:00Z", '"2026-05-01T00:00:00Z"'])
def test_a_time_is_written_as_toml_or_as_text(tmp_path, value):
    text = GOOD.replace("2026-05-01T02:00:00+02:00", value)
    config, _ = load_config(written(tmp_path, text))
    assert config.inputs[1].observed_at == datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("baseline =", "baselin =", "line 2: unknown key 'baselin'. Did you mean baseline"),
        ("baseline =", "baselin =", "baseline is missing"),
        ('"base"', '""', "line 2: baseline: "),
        ('"base"', "5", "line 2: baseline: "),
        ("paths = [", "path = [", "line 6: input 1: unknown key 'path' of kind golden."),
        ('["corpus"]', "[]", "line 10: input 2: paths: "),
        ('["corpus"]', '"corpus"', "line 10: input 2: paths is not a list (got 'corpus')"),
        (
            'kind = "corpus"',
            'kind = "corpse"',
            "line 9: input 2: kind is 'corpse'. Did you mean co",
        ),
        ('kind = "corpus"', "", "line 8: input 2: kind is missing"),
        ("corpus_version", "run", "line 11: input 2: unknown key 'run' of kind corpus."),
        ("+02:00", "", "line 12: input 2: observed_at: '2026-05-01T02:00:00' has no time zone"),
        ("2026-05-01T02:00:00+02:00", "5", "line 12: input 2: observed_at: "),
        ("2026-05-01T02:00:00+02:00", "2026-05-01", "write it as 2026-05-01T00:00:00Z"),
    ],
)
def test_a_fault_is_told_with_its_line_and_the_nearest_key(tmp_path, old, new, said):
    assert old in GOOD
    assert said in refused(tmp_path, GOOD.replace(old, new))


def test_every_fault_is_told_at_once(tmp_path):
    said = refused(tmp_path, GOOD.replace("baseline", "baselin").replace("paths", "path", 1))
    assert (said.count("unknown key"), said.count("is missing")) == (2, 2)


@pytest.mark.parametrize("flag", ['"yes"', "1"])
def test_a_flag_is_true_or_false(tmp_path, flag):
    assert "lenient" in refused(tmp_path, GOOD.replace('"golden"', f'"golden"\nlenient = {flag}'))


def test_what_is_no_toml_is_refused_with_its_place(tmp_path):
    assert "line 1" in refused(tmp_path, "golden_set = faq\n")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"elsewhere\.toml does not exist"):
        load_config(tmp_path / "elsewhere.toml")


def test_the_example_is_a_configuration():
    config, _ = load_config(example_dir() / "nightly.toml")
    assert config.golden_set == "crucible-example"


def test_a_workspace_is_said_once_or_twice_alike(tmp_path):
    as_of = parse_as_of("2026-05-01")
    silent = written(tmp_path, GOOD)
    assert open_night(tmp_path / "s", silent, as_of).workspace == "default"
    assert open_night(tmp_path / "s", silent, as_of, "w").workspace == "w"
    said = written(tmp_path, f'workspace = "w"\n{GOOD}')
    assert open_night(tmp_path / "s", said, as_of, "w").workspace == "w"
    with pytest.raises(UsageError, match="for workspace 'w', not for 'v'"):
        open_night(tmp_path / "s", said, as_of, "v")
