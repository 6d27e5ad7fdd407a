"""A wheel that lacks something, or has too much, is found out; `make wheel` tries real ones."""

import zipfile
from pathlib import Path

import pytest

from tests.packaging.try_wheel import NEEDED, WheelError, look_inside

NAME = "penstock-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
KERNEL = "penstock/kernel/_native.abi3.so"
INFO = "penstock-0.1.0.dist-info"
METADATA = "Name: penstock\nRequires-Python: >=3.11\nLicense-Expression: Apache-2.0\n"
RIGHT = dict.fromkeys((*NEEDED, KERNEL), "") | {
    f"{INFO}/METADATA": METADATA,
    f"{INFO}/entry_points.txt": "[console_scripts]\npenstock=penstock.cli.main:main\n",
}


def wheel(folder: Path, contents: dict[str, str], name: str = NAME) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in contents.items():
            archive.writestr(file, text)
    return path


def test_right(tmp_path: Path) -> None:
    look_inside(wheel(tmp_path, RIGHT))


@pytest.mark.parametrize("name", [*NEEDED, KERNEL])
def test_missing(name: str, tmp_path: Path) -> None:
    with pytest.raises(WheelError):
        look_inside(wheel(tmp_path, {file: RIGHT[file] for file in RIGHT if file != name}))


@pytest.mark.parametrize("name", ["tests/test_tidy.py", "crates/x/src/lib.rs", "Cargo.toml"])
def test_too_much(name: str, tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="does not belong"):
        look_inside(wheel(tmp_path, RIGHT | {name: ""}))


def test_for_one_python_only(tmp_path: Path) -> None:
    kernel = "penstock/kernel/_native.cpython-311-x86_64-linux-gnu.so"
    contents = {file: RIGHT[file] for file in RIGHT if file != KERNEL} | {kernel: ""}
    with pytest.raises(WheelError, match="one kernel"):
        look_inside(wheel(tmp_path, contents))
    with pytest.raises(WheelError, match="stable ABI"):
        look_inside(wheel(tmp_path, RIGHT, "penstock-0.1.0-cp311-cp311-linux_x86_64.whl"))
