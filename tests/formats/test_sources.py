from __future__ import annotations

import bz2
import gzip
import hashlib
import os
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from crucible_batch.errors import ContractError, UsageError
from crucible_batch.formats import lines
from crucible_batch.formats.lines import _whole_lines, numbered_lines
from crucible_batch.formats.sources import Format, Source, expand, find, identify, sha256
from crucible_batch.formats.verbs import Verb

LINE = b'{"item_id": "a"}\n'
RUN = b"q1 Q0 d1 1 0.5 tag\n"


def names(paths) -> list[str]:
    return [path.name for path in paths]


def test_a_folder_is_searched_with_its_subfolders_in_the_order_of_names(write, tmp_path):
    for name in ("b.jsonl", "a.jsonl", "sub/c.parquet"):
        write(name, LINE)
    assert names(expand([tmp_path]).files) == ["a.jsonl", "b.jsonl", "c.parquet"]


def test_files_of_unknown_and_hidden_names_in_a_folder_are_left_aside_and_only_the_former_named(
    write, tmp_path
):
    for name in ("a.jsonl", "README.md", ".hidden.jsonl", "_SUCCESS", ".staging/x.jsonl"):
        write(name, LINE)
    found = expand([tmp_path])
    assert (names(found.files), names(found.skipped)) == (["a.jsonl"], ["README.md"])


def test_what_cannot_be_read_as_a_file_is_named_whatever_it_is_called(write, tmp_path):
    write("a.jsonl", LINE)
    write("elsewhere/x.jsonl", LINE)
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "good.jsonl").symlink_to(tmp_path / "a.jsonl")
    (inside / "gone.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    (inside / "round.jsonl").symlink_to(inside / "round.jsonl")
    (inside / "folder").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(inside / "pipe.jsonl")
    found = expand([inside])
    assert names(found.files) == ["good.jsonl"]
    assert names(found.skipped) == ["folder", "gone.jsonl", "pipe.jsonl", "round.jsonl"]


def test_a_folder_of_nothing_that_can_be_read_says_so(tmp_path):
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    with pytest.raises(UsageError, match=r"gone\.jsonl is no file that can be read"):
        expand([tmp_path])


def test_a_folder_that_cannot_be_listed_is_an_error(write, tmp_path, monkeypatch):
    """As root every folder can be: the listing fails by hand."""
    write("a.jsonl", LINE)

    def walk(folder, onerror):
        onerror(PermissionError(13, "Permission denied", str(folder)))
        return iter(())

    monkeypatch.setattr("crucible_batch.formats.folders.os.walk", walk)
    with pytest.raises(PermissionError):
        expand([tmp_path])


def test_a_wanted_format_takes_files_of_any_name_from_a_folder(write, tmp_path):
    write("run.BM25", RUN)
    sources, skipped = find([tmp_path], Verb.RUN, Format.TREC)
    assert ([source.path.name for source in sources], skipped) == (["run.BM25"], ())


def test_a_glob_takes_files_and_the_files_of_matching_folders(write, tmp_path):
    write("n1.jsonl", LINE)
    write("n2/x.jsonl", LINE)
    write("other.jsonl", LINE)
    assert names(expand([tmp_path / "n*"]).files) == ["n1.jsonl", "x.jsonl"]


def test_a_recursive_glob_finds_each_file_once(write, tmp_path):
    write("a/x.jsonl", LINE)
    write("a/b/y.jsonl", LINE)
    assert names(expand([str(tmp_path / "**" / "*.jsonl")]).files) == ["y.jsonl", "x.jsonl"]


def test_a_file_whose_name_looks_like_a_glob_is_a_file(write):
    path = write("run[1].jsonl", LINE)
    assert expand([path]).files == (path,)


def test_a_file_named_twice_is_read_once(write, tmp_path):
    path = write("a.jsonl", LINE)
    again = tmp_path / ".." / tmp_path.name / "a.jsonl"
    assert len(expand([path, tmp_path, path, again]).files) == 1


@pytest.mark.parametrize(
    ("given", "what"),
    [("missing.jsonl", "does not exist"), ("*.none", "has no file"), (".", "has no file")],
)
def test_a_path_without_files_is_a_usage_error_that_names_it(tmp_path, monkeypatch, given, what):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=what) as caught:
        expand([given])
    assert given in str(caught.value)
    assert "Fix:" in str(caught.value)


def test_no_path_at_all_is_a_usage_error():
    with pytest.raises(UsageError, match="No input"):
        expand([])


def test_a_device_is_neither_a_file_nor_a_folder():
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        expand(["/dev/null"])


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".zst", lambda data: pa.compress(data, codec="zstd", asbytes=True)),
        ("", bytes),
    ],
)
def test_compressed_files_are_read_directly_even_in_several_members(write, suffix, pack):
    path = write("a.jsonl" + suffix, pack(LINE) + pack(LINE))
    source = identify(path, Verb.RUN)
    assert source.format is Format.JSONL
    assert list(numbered_lines(source)) == [(1, LINE[:-1]), (2, LINE[:-1])]


def test_compression_is_told_by_content_not_by_name(write):
    path = write("a.jsonl", gzip.compress(LINE))
    assert identify(path, Verb.RUN).compression == "gzip"


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress)])
def test_a_cut_off_compressed_file_is_a_contract_error(write, suffix, pack):
    packed = pack(b"".join(b'{"item_id": "%d"}\n' % n for n in range(100_000)))
    source = Source(
        write(f"a.jsonl.{suffix}", packed[:-50]),
        "a",
        Format.JSONL,
        identify(write(f"b.jsonl.{suffix}", packed), Verb.RUN).compression,
    )
    with pytest.raises(ContractError, match="cannot be read"):
        list(numbered_lines(source))


@pytest.mark.parametrize("data", [b"", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_a_contract_error_that_names_it(write, data):
    with pytest.raises(ContractError, match=r"a\.jsonl is empty"):
        identify(write("a.jsonl", data), Verb.RUN)


def test_a_utf_16_file_is_refused_with_the_fix(write):
    with pytest.raises(ContractError, match="UTF-16"):
        identify(write("a.jsonl", LINE.decode().encode("utf-16")), Verb.RUN)


def test_an_unreadable_file_is_a_contract_error(write):
    with pytest.raises(ContractError, match="cannot be read"):
        identify(write("a.jsonl.gz", gzip.compress(LINE)[:8]), Verb.RUN)


@pytest.mark.parametrize(
    ("name", "data", "verb", "expected"),
    [
        ("a.jsonl", LINE, "run", "jsonl"),
        ("a.json", LINE, "run", "jsonl"),
        ("a.jsonl", b"\xef\xbb\xbf" + LINE, "golden", "jsonl"),
        ("a.jsonl", b"broken\n" + LINE, "run", "jsonl"),
        ("a.json", b'{"pairs": []}', "golden", "goldset"),
        ("a.json", b'{\n "rewrite_n": 3,\n "pairs": []\n}', "golden", "goldset"),
        ("gold", b'{"pairs": [\n]}', "golden", "goldset"),
        ("a.jsonl", b'{"item_id": \n', "golden", "jsonl"),
        ("topics.tsv", b"1\twhat is it\n", "golden", "topics"),
        ("x", RUN, "run", "trec"),
        ("x.txt", b"q1 0 d1 2\n", "qrels", "trec"),
        ("x.qrels", b"odd\n", "qrels", "trec"),
        ("x.parquet", b"odd", "run", "parquet"),
        ("x", b"PAR1", "run", "parquet"),
        ("x.jsonl", b"PAR1", "run", "parquet"),
    ],
)
def test_the_format_is_told_by_name_and_content(write, name, data, verb, expected):
    assert identify(write(name, data), Verb(verb)).format == expected


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.trec.bz2", "a.jsonl.zst", "a.parquet.gz"])
@pytest.mark.parametrize("data", [LINE, b"PAR1", pa.compress(LINE, codec="lz4", asbytes=True)])
def test_a_name_that_tells_of_another_compression_is_refused(write, name, data):
    with pytest.raises(ContractError, match="and its content is not") as caught:
        identify(write(name, data), Verb.RUN)
    assert data[:4].hex(" ") in str(caught.value)


@pytest.mark.parametrize("name", ["results.csv", "golden.CSV", "x.csv.gz", "sheet.xlsx"])
@pytest.mark.parametrize(
    ("verb", "formats"),
    [
        (Verb.GOLDEN, "parquet or jsonl or goldset or topics"),
        (Verb.RUN, "parquet or jsonl or trec"),
    ],
)
def test_a_table_without_types_is_refused_with_the_formats_there_are(write, name, verb, formats):
    data = b"item_id\tquestion,answerable\nq1,Who?,true\n"
    packed = gzip.compress(data) if name.endswith(".gz") else data
    with pytest.raises(UsageError, match=r"\(CSV and the like\), which is not read") as caught:
        identify(write(name, packed), verb)
    assert formats in caught.value.fix


def test_an_unknown_format_says_which_formats_the_verb_takes(write):
    with pytest.raises(UsageError, match="cannot be told") as caught:
        identify(write("a.txt", b"hello\n"), Verb.RUN)
    assert caught.value.fix == "say --format parquet|jsonl|trec; CSV is not read"


def test_a_format_that_does_not_serve_the_verb_is_a_usage_error(write):
    with pytest.raises(UsageError, match="`load golden` does not take"):
        identify(write("a.trec", RUN), Verb.GOLDEN, Format.TREC)


def test_a_json_list_is_refused_with_the_command_that_mends_it(write):
    with pytest.raises(ContractError, match="one JSON list") as caught:
        identify(write("a.json", b"[{}]"), Verb.RUN)
    assert "jq" in caught.value.fix


def test_a_compressed_parquet_file_is_refused(write, tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "x")
    packed = write("a.parquet.gz", gzip.compress((tmp_path / "x").read_bytes()))
    with pytest.raises(ContractError, match="compressed Parquet"):
        identify(packed, Verb.RUN)


def test_the_hash_is_that_of_the_bytes_on_disk(write):
    data = gzip.compress(LINE)
    assert sha256(write("a.jsonl.gz", data)) == hashlib.sha256(data).hexdigest()


def test_lines_are_numbered_with_the_blank_ones_left_out(write):
    source = identify(write("a.jsonl", b"\xef\xbb\xbf" + LINE + b"\r\n  \n" + LINE[:-1]), Verb.RUN)
    assert [number for number, _ in numbered_lines(source)] == [1, 4]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_do_not_depend_on_how_the_stream_is_cut(size):
    data = b"ab\n\ncdefg\nhi"
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    whole = list(_whole_lines(pieces))
    assert b"".join(whole) == data
    assert all(block.endswith(b"\n") for block in whole[:-1])


def test_an_endless_line_is_cut_instead_of_filling_the_memory(monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1000)
    cut = list(_whole_lines(iter([b"x" * 64] * 99 + [b"y\nz\n", b"q"])))
    assert cut == [b"x" * 1001 + b"y\nz\n", b"q"]


def test_a_source_is_named_as_the_user_named_it(write, tmp_path, monkeypatch):
    write("a.jsonl", LINE)
    monkeypatch.chdir(tmp_path)
    assert identify(Path("a.jsonl"), Verb.RUN).name == "a.jsonl"
