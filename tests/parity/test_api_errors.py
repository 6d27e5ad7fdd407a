"""The table of API errors: every text is one that the reference can say.

Most are provoked by the tests of what they are about; this finds a slip in the others, because a
Go program carries its texts as they are.
"""

import re
from pathlib import Path

import pytest

from penstock.model.api_errors import Fault
from tests.parity.servers import REFERENCE

BLANK = re.compile(r"\{[a-z_]+\}")


@pytest.fixture(scope="module")
def program() -> bytes:
    return Path(REFERENCE.command[0]).read_bytes()


@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
def test_the_reference_knows_the_words(program: bytes, fault: Fault) -> None:
    for piece in BLANK.split(fault.text):
        assert piece.encode() in program


def test_codes_are_unique() -> None:
    numbers = [fault.err_code for fault in Fault]
    assert len(numbers) == len(set(numbers))
    assert all(10002 <= number <= 10227 for number in numbers)
    assert {fault.code for fault in Fault} <= {400, 404, 409, 412, 429, 500, 503}


def test_an_error_fills_in_its_blanks() -> None:
    error = Fault.EXPECTED_LAST_SEQUENCE.error(sequence=7)
    assert str(error) == "wrong last sequence: 7"
    assert error.shown() == {
        "code": 400,
        "err_code": 10071,
        "description": "wrong last sequence: 7",
    }
