"""`penstock demo`: a tour, on a server inside of this process, in a folder of its own.

Every line printed was observed, nothing is told in advance; what must hold is checked as it is
shown. First the server with real clients (`demo_shop.py`), then pipelines over what is stored, with
Spark on this machine (`demo_pipelines.py`). On a terminal the server then goes on until ^C, so that
one can look around; the folder stays in any case.
"""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.command import command
from penstock.cli.exits import CommandError, ExitCode

STORE = "store"
SPARK = "spark"


def declare(app: typer.Typer) -> None:
    command(app, "demo", demo, ExitCode.FLAWED)


def demo(
    output: Annotated[
        str, typer.Option(help="An empty directory for what is stored; a new one by default.")
    ] = "",
    once: Annotated[
        bool, typer.Option("--once", help="End after the tour, on a terminal too.")
    ] = False,
    spark: Annotated[bool, typer.Option(help="Whether to run the pipelines.")] = True,
) -> int:
    """A tour: a server, orders, counters, a consumer, a TTL, a batch, then Spark over all of it.

    Without pyspark or Java the part with Spark is left out. On a terminal the server goes on
    until ^C.
    """
    from penstock import ServerStartError, serve
    from penstock.model.version import PENSTOCK_VERSION

    started = time.perf_counter()
    directory = _directory(output)
    try:
        running = serve(directory / STORE, name="demo").start()
    except ServerStartError as error:
        raise CommandError(str(error)) from error
    try:
        say("server", f"penstock {PENSTOCK_VERSION} listens on {running.url}")
        code = _tour(running.url, directory, spark)
        print()
        say("done", f"after {time.perf_counter() - started:.0f} s")
        if (directory / SPARK).exists():
            say("parquet", f"{directory / SPARK}: tables, archive")
        say("streams", f"penstock serve -js -sd {directory / STORE} has them again")
        if sys.stdout.isatty() and not once:
            _go_on(running.url)
    finally:
        running.stop()
    return code


def say(what: str, text: str) -> None:
    print(f"  {what:<10} {text}", flush=True)


def _directory(output: str) -> Path:
    """Of its own: streams and checkpoints of another tour would be taken for those of this one."""
    if not output:
        import tempfile

        return Path(tempfile.mkdtemp(prefix="penstock-demo-"))
    directory = Path(output).absolute()
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        problem = f"{directory} is not an empty directory"
        raise CommandError(problem, "name another for --output", ExitCode.USAGE)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _tour(url: str, directory: Path, wants_spark: bool) -> int:
    import asyncio

    from penstock.cli.demo_pipelines import missing, run_all
    from penstock.cli.demo_shop import STEPS, visit

    asyncio.run(visit(url, STEPS, say))
    if not wants_spark:
        return ExitCode.DONE
    lack = missing()
    if lack:
        say("spark", f"left out: {lack}")
        return ExitCode.DONE
    return ExitCode.DONE if run_all(url, directory / SPARK, say) else ExitCode.FLAWED


def _go_on(url: str) -> None:
    import threading

    try:  # from the first word: whoever reads it may interrupt at once
        say("serving", f"until ^C; in another terminal: penstock stream ls -s {url}")
        threading.Event().wait()
    except KeyboardInterrupt:
        print()
