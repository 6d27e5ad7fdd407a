"""A small file system of its own in a file: it can be full, and its power can be cut.

The image holds what the file system has handed to its disk. A copy of it, made while the server is
stopped, is what a machine would find after its power went: synced bytes are there, others are not.
"""

import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest


class Volume:
    """An image, mounted as long as the `with` lasts."""

    def __init__(
        self, home: Path, mebibytes: int = 0, image: Path | None = None, options: str = ""
    ) -> None:
        self.image = image or home / "disk.img"
        self.options = options
        self.path = home / f"mounted-{self.image.stem}"
        if image is None:
            with self.image.open("wb") as file:
                file.truncate(mebibytes << 20)
            if shutil.which("mkfs.ext4") is None:
                pytest.skip("mkfs.ext4 is not installed")
            subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", str(self.image)], check=True)

    def __enter__(self) -> Self:
        for program in ("mount", "umount"):
            if shutil.which(program) is None:
                pytest.skip(f"{program} is not installed")
        self.path.mkdir()
        options = ",".join(filter(None, ("loop", self.options)))
        command = ["mount", "-o", options, str(self.image), str(self.path)]
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        if mounted.returncode:
            pytest.skip(f"nothing can be mounted here: {mounted.stderr.strip()}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        subprocess.run(["umount", str(self.path)], check=True)

    def after_power_cut(self) -> "Volume":
        """The disk as it is now, without what was not synced."""
        copy = self.image.with_name("cut.img")
        subprocess.run(["cp", "--sparse=always", str(self.image), str(copy)], check=True)
        return Volume(self.image.parent, image=copy, options=self.options)


def require_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
