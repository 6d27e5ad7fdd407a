"""`penstock stream query`: SQL over a stream, by DuckDB, without anything that has to be set up."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.access import Access, duration
from penstock.cli.command import Json, command
from penstock.cli.exits import CommandError, ExitCode
from penstock.cli.output import print_json, print_table, progress
from penstock.cli.shown import as_text

if TYPE_CHECKING:
    import duckdb

    from penstock.cli.stream_arrow import Part

TABLE = "messages"
_ROWS_SHOWN_MAX = 1000
_SEQ_MAX = (1 << 63) - 1
_EXAMPLE = "select subject, count(*) from messages group by subject"


def declare(streams: typer.Typer) -> None:
    command(streams, "query", query)


def query(
    access: Access,
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The name of the stream.")],
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One statement, or - to read it.")],
    subject: Annotated[str, typer.Option(help="Read only these subjects.")] = ">",
    seq: Annotated[int, typer.Option(help="Read from this sequence on.", min=1, max=_SEQ_MAX)] = 1,
    since: Annotated[str, typer.Option(help="Read the messages of a while: 5m, 1h.")] = "",
    last_per_subject: Annotated[
        bool, typer.Option(help="Read the last message of each subject.")
    ] = False,
    memory: Annotated[str, typer.Option(help="What DuckDB may take before it uses files.")] = "1GB",
    as_json: Json = False,
) -> None:
    """Query a stream with SQL, through DuckDB.

    The stream is the table messages, with the columns seq, timestamp (UTC), subject, data (text, or
    null), payload (bytes) and headers (a map). JSON in data is data->>'$.field'. A message is read
    when the statement needs it and not kept, so a stream may be of any length; what comes while the
    query runs is not seen. COPY (...) TO 'file.parquet' writes results to files.

    Example: penstock stream query ORDERS "select subject, count(*) from messages group by 1"
    """
    statement = sys.stdin.read() if sql == "-" else sql
    if not statement.strip():
        raise CommandError("there is no statement", f"such as: {_EXAMPLE}", ExitCode.USAGE)
    if (since and seq > 1) or (last_per_subject and (since or seq > 1)):
        hint = "give one of --seq, --since and --last-per-subject"
        raise CommandError("two flags say which messages are read", hint, ExitCode.USAGE)
    start = ""
    if since:
        moment = datetime.now(UTC) - timedelta(seconds=duration(since, "--since"))
        start = moment.isoformat().replace("+00:00", "Z")
    _check_packages()
    from penstock.cli.stream_arrow import Part

    part = Part(stream, subject, seq, start, last_per_subject)
    with progress(f"reading {stream}") as advance:
        _answer(access, part, statement, memory, advance, as_json=as_json)


def _check_packages() -> None:
    try:
        import duckdb  # noqa: F401
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        hint = "pip install 'penstock[query]'"
        raise CommandError(f"queries need the package {error.name}", hint) from None


def _answer(
    access: Access, part: "Part", statement: str, memory: str, advance: Any, *, as_json: bool
) -> None:
    import tempfile
    from concurrent.futures import ThreadPoolExecutor

    import duckdb

    from penstock.cli.stream_arrow import StreamTable

    with (
        tempfile.TemporaryDirectory(prefix="penstock-query-") as spill,
        StreamTable(access, part, advance) as table,
        duckdb.connect() as connection,
        ThreadPoolExecutor(1) as pool,  # who waits for DuckDB itself does not hear ^C
    ):
        try:
            _configure(connection, memory, spill)
            connection.register(TABLE, table)
            pool.submit(_show, connection, statement, as_json=as_json).result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise
        except duckdb.Error as error:
            raise table.failure or _explained(error) from None


def _show(connection: "duckdb.DuckDBPyConnection", statement: str, *, as_json: bool) -> None:
    if len(connection.extract_statements(statement)) > 1:
        hint = "run them one by one, or join them with WITH"
        raise CommandError("there are several statements", hint, ExitCode.USAGE)
    result = connection.execute(statement)
    if result is None:  # nothing but comments and semicolons
        raise CommandError("there is no statement", f"such as: {_EXAMPLE}", ExitCode.USAGE)
    rows = _rows(result)
    columns = next(rows)
    if as_json:
        names = _distinct(columns)
        for row in rows:
            print_json({name: _value(value) for name, value in zip(names, row, strict=True)})
    else:
        _print(columns, rows)


def _configure(connection: "duckdb.DuckDBPyConnection", memory: str, spill: str) -> None:
    import duckdb

    try:
        connection.execute(f"SET memory_limit = '{memory.replace(chr(39), '')}'")
    except duckdb.Error:
        problem = f"--memory is {memory!r}, which is no size"
        raise CommandError(problem, "write 512MB or 4GB", ExitCode.USAGE) from None
    connection.execute(f"SET temp_directory = '{spill}'")
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET autoinstall_known_extensions = false")


def _rows(result: "duckdb.DuckDBPyConnection") -> Iterator[Any]:
    """The names of the columns, then the rows, a few at a time."""
    import pyarrow as pa

    reader = result.to_arrow_reader(_ROWS_SHOWN_MAX)
    names = reader.schema.names
    maps = [at for at, kind in enumerate(reader.schema.types) if pa.types.is_map(kind)]
    yield names
    for batch in reader:
        columns = [column.to_pylist() for column in batch.columns]
        for at in maps:
            columns[at] = [None if pairs is None else dict(pairs) for pairs in columns[at]]
        yield from zip(*columns, strict=True)


def _distinct(columns: list[str]) -> list[str]:
    """Of several columns with one name, the others get a number, as DuckDB does in tables."""
    names: list[str] = []
    for column in columns:
        name, number = column, 0
        while name in names or (number and name in columns):
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names


def _print(columns: list[str], rows: Iterator[Any]) -> None:
    shown = [row for row, _ in zip(rows, range(_ROWS_SHOWN_MAX), strict=False)]
    print_table(columns, [[_text(value) for value in row] for row in shown])
    if next(rows, None) is not None:
        hint = "--json prints them all, LIMIT and COPY ... TO help too"
        print(f"only the first {_ROWS_SHOWN_MAX:,} rows are shown: {hint}", file=sys.stderr)


def _text(value: Any) -> object:
    value = _value(value)
    if isinstance(value, str):
        return as_text(value.encode())
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value


def _value(value: Any) -> Any:
    """As JSON and people have it: whole decimals are integers, moments are text.

    JSON has no word for what is no number, or is infinite: those are text as well.
    """
    import math
    from decimal import Decimal

    if isinstance(value, dict):
        return {name: _value(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_value(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return value


def _explained(error: Exception) -> CommandError:
    """DuckDB's own words on one line, without the picture below them."""
    cause = error.__cause__ or error.__context__
    if isinstance(cause, CommandError):
        return cause
    lines = [line.strip() for line in str(error).split("\n\nLINE ")[0].splitlines()]
    text = "; ".join(line for line in lines if line)
    hint = ""
    if "Referenced column" in text or "does not exist" in text:
        hint = "messages has seq, timestamp, subject, data, payload, headers"
    return CommandError(text, hint)
