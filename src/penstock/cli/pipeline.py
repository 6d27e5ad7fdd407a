"""`penstock pipeline`: Spark Declarative Pipelines over streams, run with a bar and a summary."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.access import Access
from penstock.cli.command import Json, command
from penstock.cli.connecting import run as connected
from penstock.cli.connecting import stream_info
from penstock.cli.exits import CommandError, ExitCode
from penstock.cli.output import print_fields, print_json, print_table, progress
from penstock.cli.pipeline_access import connection_parameters, with_parameters

if TYPE_CHECKING:
    from penstock.client import JetStream
    from penstock.pipelines.catalog import Pipeline
    from penstock.pipelines.outcome import Outcome

Name = Annotated[str, typer.Argument(metavar="NAME", help="The pipeline: see pipeline list.")]

_HERE = "local[*]"
_OUTPUT = "penstock-pipelines"


def declare(pipelines: typer.Typer) -> None:
    command(pipelines, "list", list_)
    command(pipelines, "show", show, ExitCode.NOT_FOUND)
    command(pipelines, "run", run, ExitCode.FLAWED)


def list_(as_json: Json = False) -> None:
    """List the pipelines."""
    from penstock.pipelines.catalog import PIPELINES

    if as_json:
        for one in PIPELINES:
            print_json(_as_data(one))
    else:
        print_table(("name", "what it does"), [(one.name, one.summary) for one in PIPELINES])


def show(name: Name, as_json: Json = False) -> None:
    """Show what a pipeline takes, which tables it makes, and how Spark runs it without us."""
    pipeline = _found(name)
    if as_json:
        print_json(_as_data(pipeline))
        return
    print(f"{pipeline.summary}.\n")
    own = [one for one in pipeline.parameters if one.name not in _connection_names()]
    rows = [(one.name, one.help, _default(one.default)) for one in own]
    print_table(("parameter", "what it is", "default"), rows)
    print()
    print_table(("table", "what it holds"), [*pipeline.tables.items()])
    needed = [f"--conf {one.setting}=..." for one in own if one.default is None]
    print(f"\nspark-pipelines {' '.join(needed)} run --spec {pipeline.spec}")


def run(
    access: Access,
    name: Name,
    parameters: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PARAMETER=VALUE]...", help="See pipeline show NAME."),
    ] = None,
    master: Annotated[
        str, typer.Option(help="Where Spark runs: local[2], spark://host:7077, sc://host.")
    ] = _HERE,
    output: Annotated[str, typer.Option(help="Where tables and checkpoints are kept.")] = _OUTPUT,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Settings of Spark.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Run a pipeline with Spark, and print what came of it.

    Spark is started on this machine unless --master says where it is. Tables are Parquet files in
    the directory of --output; a run that is repeated goes on with what is there. With a cluster,
    --output must be what all of its machines see: a shared directory, or a URI. With sc://, tables
    are in that Spark's own catalog.

    Example: penstock pipeline run recount stream=HITS
    """
    from penstock.pipelines.catalog import ParameterError

    pipeline = _found(name)
    check_packages()
    from penstock.pipelines.checking import check  # these need them
    from penstock.pipelines.paths import absolute, check_places, make_places

    place = Place(master, output)
    try:
        own = _pairs(parameters or [], is_once=True)
        access = with_parameters(access, own)
        with connection_parameters(access, is_elsewhere=place.directory is None) as connection:
            values = pipeline.checked(connection | own)
            check(pipeline, values)
            values = absolute(values)
            check_places(pipeline.name, values)
            place.check()
            connected(access, lambda js: _check_streams(js, pipeline, values))
            make_places(pipeline.name, values)
            place.make()
            outcome = _run(pipeline, values, place, _pairs(conf or []))
    except ParameterError as error:
        raise CommandError(str(error), "", ExitCode.USAGE) from None
    if as_json:
        print_json(outcome.as_data())
    else:
        print_outcome(outcome, place)
    return ExitCode.DONE if outcome.is_right else ExitCode.FLAWED


async def _check_streams(js: "JetStream", pipeline: "Pipeline", values: dict[str, str]) -> None:
    """Before Spark takes its time."""
    for stream in pipeline.needs:
        await stream_info(js, stream.format(**values))


class Place:
    """Where Spark runs, and where what it writes goes: a directory, or a URI that Spark knows."""

    def __init__(self, master: str, output: str) -> None:
        is_elsewhere, is_uri = master.startswith("sc://"), "://" in output
        if is_elsewhere and not is_uri:
            problem = "--output must be a URI that Spark can write to"
            raise CommandError(problem, "such as s3a://bucket/pipelines", ExitCode.USAGE)
        self.master = master
        local = Path(_OUTPUT if is_uri else output).absolute()
        root = output.rstrip("/") if is_uri else local.as_uri()
        self.directory = None if is_elsewhere else local  # for Spark's catalog and log
        self.storage = f"{root}/storage"
        self.settings: dict[str, str] = {}
        self.tables = f"{root}/tables" if is_uri else str(local / "tables")
        if is_elsewhere:
            self.tables = "in Spark's catalog"
        elif is_uri:
            self.settings["spark.sql.warehouse.dir"] = self.tables

    def check(self) -> None:
        """Raises ParameterError."""
        from penstock.pipelines.paths import check_folder

        if self.directory is not None:
            check_folder("--output", self.directory)

    def make(self) -> None:
        """Raises ParameterError."""
        from penstock.pipelines.paths import make_folder

        if self.directory is not None:
            make_folder("--output", self.directory)


def _run(
    pipeline: "Pipeline", values: dict[str, str], place: Place, conf: dict[str, str]
) -> "Outcome":
    from penstock.pipelines.errors import RunError
    from penstock.pipelines.running import is_completed, run
    from penstock.pipelines.session import session

    found = importlib.import_module(f"penstock.pipelines.{pipeline.name}.outcome").outcome
    total, done = len(pipeline.tables), 0
    with progress(pipeline.name) as advance:

        def told(event: str) -> None:
            nonlocal done
            done += is_completed(event)
            advance(done, total)

        try:
            spark = session(place.master, place.directory, place.settings | conf)
            try:
                told("Spark has started")
                run(spark, pipeline, values, place.storage, told)
                outcome: Outcome = found(spark, values)
            finally:
                spark.stop()
        except RunError as error:
            raise CommandError(f"{pipeline.name}: {error}") from error
    return outcome


def print_outcome(outcome: "Outcome", place: Place) -> None:
    print_table(outcome.columns, outcome.rows)
    for problem in outcome.problems:
        print(problem)
    print()
    print_fields({**outcome.facts, "tables": place.tables})


def _found(name: str) -> "Pipeline":
    from penstock.pipelines.catalog import PIPELINES, find

    pipeline = find(name)
    if pipeline is None:
        hint = f"there are: {', '.join(one.name for one in PIPELINES)}"
        raise CommandError(f"there is no pipeline {name!r}", hint, ExitCode.NOT_FOUND)
    return pipeline


def _connection_names() -> set[str]:
    from penstock.pipelines.catalog import CONNECTION

    return {one.name for one in CONNECTION}


def _default(value: str | None) -> str:
    return "needed" if value is None else value


def _as_data(pipeline: "Pipeline") -> dict[str, Any]:
    parameters = [
        {"name": one.name, "help": one.help, "default": one.default} for one in pipeline.parameters
    ]
    data = {"name": pipeline.name, "summary": pipeline.summary, "parameters": parameters}
    return data | {"tables": dict(pipeline.tables), "spec": str(pipeline.spec)}


def _pairs(texts: list[str], *, is_once: bool = False) -> dict[str, str]:
    """Of several with a name the last holds, or they are refused."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise CommandError(f"{text!r} is not NAME=VALUE", "", ExitCode.USAGE)
        if is_once and name in pairs:
            problem = f"{name} is given twice: {pairs[name]!r} and {value!r}"
            raise CommandError(problem, "", ExitCode.USAGE)
        pairs[name] = value
    return pairs


def check_packages() -> None:
    try:
        import pyspark.pipelines
        import pyspark.sql.connect.proto  # noqa: F401
    except ImportError as error:
        hint = "pip install 'penstock[spark]'"
        raise CommandError(f"pipelines need pyspark: {error.name} is missing", hint) from None
