from __future__ import annotations

import pickle

import pytest

from crucible_batch import errors
from crucible_batch.errors import (
    ConflictError,
    ContractError,
    CrucibleError,
    NotComparableError,
    StoreError,
    UnknownNameError,
    UsageError,
    suggestion,
)


def test_an_error_says_what_where_and_how_to_fix_it():
    error = ContractError("It broke", problems=["row 1: x", "row 2: y"], fix="mend it.")
    assert str(error) == "It broke:\n  - row 1: x\n  - row 2: y\nFix: mend it."


def test_an_error_without_problems_or_fix_is_one_line():
    assert str(ContractError("It broke")) == "It broke"


def test_only_the_first_problems_are_shown_and_the_rest_counted():
    error = ContractError("It broke", problems=[f"row {n}" for n in range(1_207)])
    assert str(error).splitlines()[-2:] == ["  - row 4", "  - and 1,202 more"]
    assert len(error.problems) == 1_207


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (UsageError, 2),
        (ContractError, 4),
        (ConflictError, 4),
        (StoreError, 4),
        (NotComparableError, 4),
    ],
)
def test_exit_codes_never_read_as_a_verdict(kind, code):
    assert kind("x").exit_code == code


def test_every_error_of_the_package_has_a_code_of_an_error():
    found = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert CrucibleError in found
    assert {kind.exit_code for kind in found} == {2, 4}


def test_an_unknown_name_suggests_the_nearest():
    error = UnknownNameError("run", "tuseday", ["tuesday", "monday"])
    assert str(error) == "No run is called 'tuseday'\nFix: Did you mean tuesday?"
    assert error.exit_code == 2


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ([], "There are none yet."),
        (["b", "a"], "There is b, a."),
        ([*"abcdefg"], "There is a, b, c, d, e and 2 more."),
    ],
)
def test_without_a_near_name_the_known_ones_are_listed(known, text):
    assert suggestion("zzz", known) == text


def test_errors_keep_their_parts_when_they_cross_processes():
    error = pickle.loads(pickle.dumps(ContractError("w", problems=["p"], fix="f")))
    assert str(error) == str(ContractError("w", problems=["p"], fix="f"))


def test_a_name_in_an_error_neither_steers_the_terminal_nor_forges_a_line():
    error = UsageError("No run \x1b[31m", problems=["id: a\nFix: nothing"], fix="ask \x07")
    assert "\x1b" not in str(error)
    assert "\x07" not in str(error)
    assert str(error).splitlines()[1] == "  - id: a⟨U+000A⟩Fix: nothing"
