"""Plain `spark-pipelines run`, on this machine.

Without SPARK_TESTING, Spark listens on port 15002 of all addresses, and two of them at a time fail.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.server_process import BIN
from tests.spark.test_pipelines import RUN_SECONDS_MAX

Ran = subprocess.CompletedProcess[str]
NONE: Mapping[str, str] = {}


def spark_pipelines(spec: Path, folder: Path, settings: Mapping[str, str] = NONE) -> Ran:
    """Tables are below the folder."""
    given = {**settings, "spark.driver.host": "127.0.0.1"}
    flags = [part for pair in given.items() for part in ("--conf", "=".join(pair))]
    return subprocess.run(
        [BIN / "spark-pipelines", "--remote", "local[2]", *flags, "run", "--spec", spec],
        cwd=folder,
        env=os.environ | {"PYSPARK_PYTHON": str(BIN / "python"), "SPARK_TESTING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
