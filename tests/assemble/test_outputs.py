"""Files a user names: what stands there already decides how they are written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from crucible_batch.assemble.outputs import check_apart, output_file, write_output
from crucible_batch.errors import CrucibleError, UsageError

FULL = Path("/dev/full")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_is_written_with_its_folders(tmp_path):
    path = tmp_path / "deeper" / "still" / "x.json"
    assert write_output(path, "é\n") == path
    assert path.read_bytes() == "é\n".encode()
    assert names(path.parent) == ["x.json"]


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("old")
    path.chmod(0o600)
    write_output(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="half way"), output_file(path) as file:  # noqa: PT012
        file.write("new")
        raise RuntimeError("half way")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x.json"]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_a_link_and_what_it_points_to_is_replaced(tmp_path, is_there):
    target, link = tmp_path / "real" / "x.json", tmp_path / "x.json"
    target.parent.mkdir()
    if is_there:
        target.write_text("old")
    link.symlink_to(Path("real") / "x.json")
    write_output(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert names(target.parent) == ["x.json"]


def test_a_named_pipe_is_written_to_and_stays(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_output(pipe, "through")
    reader.join(timeout=10)
    assert read == ["through"]
    assert pipe.is_fifo()


def test_a_device_is_written_to_and_stays(tmp_path):
    link = tmp_path / "x.json"
    link.symlink_to(os.devnull)
    write_output(link, "away")
    assert link.is_symlink()
    assert Path(os.devnull).is_char_device()


@pytest.mark.skipif(not FULL.exists(), reason="this system has no full device")
def test_a_full_device_is_told_with_its_name():
    with pytest.raises(CrucibleError, match="/dev/full cannot be written: No space") as caught:
        write_output(FULL, "x")
    assert caught.value.exit_code == 4
    assert FULL.is_char_device()


def test_a_folder_is_no_file_to_write(tmp_path):
    folder = tmp_path / "x.json"
    folder.mkdir()
    with pytest.raises(CrucibleError, match="cannot be written: it is a folder"):
        write_output(folder, "x")
    assert names(tmp_path) == ["x.json"]


def test_a_folder_that_is_a_file_is_told(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(CrucibleError, match=r"x\.json cannot be written"):
        write_output(tmp_path / "a" / "x.json", "x")


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="this system has no /dev/stdout")
@pytest.mark.parametrize("is_pipe", [True, False])
def test_standard_output_goes_on_where_it_stands(tmp_path, is_pipe):
    program = (
        "from pathlib import Path; from crucible_batch.assemble.outputs import write_output\n"
        "print('before'); write_output(Path('/dev/stdout'), 'inside\\n'); print('after')"
    )
    out = tmp_path / "out.txt"
    with out.open("w") as file:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE if is_pipe else file,
            text=True,
            check=True,
        )
    assert (done.stdout if is_pipe else out.read_text()) == "before\ninside\nafter\n"


def test_two_outputs_of_one_name_are_refused_however_it_is_spelled(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "x")
    with pytest.raises(UsageError, match="would replace"):
        check_apart([tmp_path / "x", tmp_path / "link"])


def test_an_output_that_would_replace_an_input_is_refused(tmp_path):
    with pytest.raises(UsageError, match="would replace"):
        check_apart([tmp_path / "sub" / ".." / "gate.toml"], [tmp_path / "gate.toml"])


def test_a_device_takes_several_outputs():
    check_apart([Path("/dev/null"), Path("/dev/null")])
