"""Every example of README and of the documentation runs; docstrings have `test_docstrings.py`.

A document is one test. It fails at the first block that does not do what the document says, and is
reported as skipped if a command that it needs is not on this machine, after all the rest has run.
"""

from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of
from tests.docs.session import Session

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_document(path: Path, tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        session.play(blocks_of(path))
    if session.missing:
        pytest.skip(f"{len(session.missing)} blocks did not run, first {session.missing[0]}")
