"""Tries a wheel as its user would: `python tests/packaging/try_wheel.py dist/penstock-*.whl`.

It looks at what is in the wheel, installs it into a fresh environment with no Rust in reach, starts
a server by its command and stores a message with its SDK. Needs nothing but Python and pip.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

NEEDED = (
    "penstock/py.typed",
    "penstock/config/grammar.lark",
    "penstock/kernel/_native.pyi",
    "penstock/testing/plugin.py",
    "penstock/client/__init__.py",
    "pyspark_jetstream/__init__.py",
    "pyspark_jetstream/py.typed",
    "pyspark_jetstream_archive/__init__.py",
    "pyspark_jetstream_archive/py.typed",
    "penstock/pipelines/recount/spark-pipeline.yaml",
)
FOREIGN = ("tests/", "benchmarks/", "docs/", "crates/", "conftest.py", ".rs", ".toml")
PROGRAM = """
import asyncio, sys
from penstock import client

async def main():
    async with client.connect(sys.argv[1]) as js:
        await js.add_stream(name="ORDERS", subjects=["orders.>"])
        ack = await js.publish("orders.eu", b"first")
        print((await js.get_msg("ORDERS", ack.seq)).data.decode())

asyncio.run(main())
"""
FLAGS = ("-js", "-sd", "data", "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", ".")
START_SECONDS_MAX = 30.0


class WheelError(Exception):
    """The wheel is not what its users need."""


def check(is_right: object, problem: str) -> None:
    if not is_right:
        raise WheelError(problem)


def look_inside(wheel: Path) -> None:
    """Everything that is needed, and nothing that is only for who builds it."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        told = archive.read(metadata).decode()
        (points,) = [name for name in names if name.endswith(".dist-info/entry_points.txt")]
        entry_points = archive.read(points).decode()
    missing = [name for name in NEEDED if name not in names]
    check(not missing, f"missing: {missing}")
    kernels = [name for name in names if name.endswith((".so", ".pyd", ".dylib"))]
    check(len(kernels) == 1 and "abi3" in kernels[0], f"one kernel for all Pythons, not {kernels}")
    check("-abi3-" in wheel.name, f"the tag is not that of the stable ABI: {wheel.name}")
    foreign = [name for name in names if name.startswith(FOREIGN) or name.endswith(FOREIGN)]
    check(not foreign, f"does not belong there: {foreign}")
    for line in ("Name: penstock", "Requires-Python: >=3.11", "License-Expression: Apache-2.0"):
        check(line in told.splitlines(), f"not in the metadata: {line}")
    check("penstock=penstock.cli.main:main" in entry_points.replace(" ", ""), "no command")


def try_out(wheel: Path, home: Path) -> None:
    """With no more on the PATH than the system has."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = os.pathsep.join(("/usr/bin", "/bin"))

    def run(*command: str) -> str:
        return subprocess.run(
            command, env=environment, cwd=home, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    run(sys.executable, "-m", "venv", "env")
    python = str(home / "env" / "bin" / "python")
    run(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel.resolve()))
    command = [str(home / "env" / "bin" / "penstock"), "serve", *FLAGS]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, cwd=home, stdout=log, stderr=log)
    try:
        said = run(python, "-c", PROGRAM, url_of(server, home))
        check(said == "first\n", f"the message is {said!r}")
    finally:
        server.terminate()
    check(server.wait(START_SECONDS_MAX) == 0, "the server did not stop cleanly")


def url_of(server: subprocess.Popen[bytes], home: Path) -> str:
    """Where it listens, from the file that it writes when it does."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and server.poll() is None:
        for path in home.glob("*.ports"):
            try:
                return str(json.loads(path.read_text())["nats"][0])
            except json.JSONDecodeError:
                continue  # seen while it was being written
        time.sleep(0.05)
    raise WheelError(f"the server did not start:\n{(home / 'log').read_text()}")


def main(wheels: list[str]) -> None:
    check(wheels, "which wheel?")
    for name in wheels:
        look_inside(Path(name))
        with tempfile.TemporaryDirectory() as home:
            try_out(Path(name), Path(home))
        sys.stdout.write(f"{Path(name).name}: as it should be\n")


if __name__ == "__main__":
    main(sys.argv[1:])
