"""Which Java there is: Spark runs on it, and does not come with one."""

import os
import re
import shutil
import subprocess
from pathlib import Path

JAVA_MIN = 17


def java_version() -> int:
    """Of the one that Spark will take; 0 if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        return 0
    told = subprocess.run(  # noqa: S603 -- whichever Java the user has chosen
        [java, "-version"], capture_output=True, text=True, check=False
    ).stderr
    match = re.search(r'version "(\d+)', told)
    return int(match[1]) if match else 0
