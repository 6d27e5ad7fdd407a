"""The quick start of docs/spark.md, run as it is, in a process and a directory of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from tests.docs.blocks import blocks_of
from tests.spark.test_pipelines import java  # noqa: F401 -- a fixture

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
# As a notebook does it, where `await` needs no function around it.
RUN = """
import ast, asyncio, sys
code = compile(sys.stdin.read(), "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
told = eval(code)
asyncio.run(told) if told else None
"""


def test_the_quick_start_prints_what_it_says(tmp_path: Path) -> None:
    code, output = blocks_of(PAGE)[:2]
    ran = subprocess.run(
        [sys.executable, "-c", RUN],
        input=code.source,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == output.source.strip(), ran.stderr
