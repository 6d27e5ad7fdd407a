"""Secrets: they reach the server, and nothing that Spark shows or leaves behind has them."""

import json
import os
import pickle
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from penstock.pipelines.catalog import ParameterError, find
from penstock.pipelines.settings import Settings, given
from pyspark_jetstream.connection import Connection
from pyspark_jetstream.connection_options import ConnectionOptions, connection_options
from pyspark_jetstream.option_values import OptionError
from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, Implementation, Server
from tests.server_process import BIN
from tests.spark.conftest import JAVA_MIN, java_version
from tests.spark.streams import ANSWER_SECONDS_MAX, connected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PASSWORD = "hunter-42-xyzzy"  # noqa: S105 -- it is looked for
GUARDED = f'authorization {{ user: "ann", password: "{PASSWORD}" }}'
RUN_SECONDS_MAX = 280.0  # a Spark of its own takes half a minute, idle

both = pytest.mark.parametrize("implementation", IMPLEMENTATIONS, ids=lambda one: one.name)


def written(path: Path, **fields: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(fields))
    return str(path)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where contexts are by their names."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "nats" / "context"


# A context in the place of options


@both
def test_a_context_lets_in(implementation: Implementation, home: Path) -> None:
    with Server(implementation, config=GUARDED) as server:
        fields = {"url": server.url, "user": "ann", "password": PASSWORD}
        file = written(home / "work.json", description="ours", **fields)
        for context in ("work", file):
            with Connection(connection_options({"context": context})) as connection:
                assert connection.client.is_connected


def test_an_option_is_before_what_the_context_says_of_the_same_thing(home: Path) -> None:
    written(home / "work.json", url="nats://a", token="t", jetstream_domain="d", tls_first=True)
    found = connection_options({"context": "work", "servers": "nats://b,nats://c"})
    assert (found.servers, found.token, found.tls_first) == (("nats://b", "nats://c"), "t", True)
    assert (found.domain, found.api) == ("d", "$JS.d.API")


def test_a_user_of_a_context_without_a_password_is_a_token(home: Path) -> None:
    written(home / "work.json", user="t")
    found = connection_options({"context": "work"})
    assert (found.user, found.token) == ("", "t")
    assert connection_options({"context": "work", "password": "p"}).user == "t"


def test_a_context_may_have_prefixes(home: Path) -> None:
    written(home / "work.json", jetstream_api_prefix="$JS.hub.API", inbox_prefix="_I.ann")
    found = connection_options({"context": "work"})
    assert (found.api, found.inbox_prefix) == ("$JS.hub.API", "_I.ann")


@pytest.mark.parametrize(
    ("given_options", "told"),
    [
        ({"context": "wrk"}, "option context: 'wrk' cannot be.*did you mean work"),
        ({"context": "/nowhere/c.json"}, "option context: .*there is no context /nowhere/c.json"),
        ({"creds": "/nowhere/c"}, "option creds: '/nowhere/c' cannot be.*Spark's driver can read"),
        ({"nkey": "/nowhere/n"}, "option nkey: '/nowhere/n' cannot be"),
        ({"context": "work", "user": "ann"}, "one way to be let in; there is user too"),
    ],
)
def test_what_cannot_be_read_is_named(home: Path, given_options: dict[str, str], told: str) -> None:
    written(home / "work.json", token="t")
    with pytest.raises(OptionError, match=told):
        connection_options(given_options)


def test_what_travels_to_executors_needs_no_file_and_shows_no_secret(tmp_path: Path) -> None:
    seed = tmp_path / "seed"
    seed.write_text("SUAB\n")
    read = connection_options({"nkey": str(seed), "servers": "nats://ann:p@a"})
    seed.unlink()
    there: ConnectionOptions = pickle.loads(pickle.dumps(read))  # noqa: S301 -- our own
    assert there.nkey == "SUAB\n"
    assert "SUAB" not in repr(there)
    assert "ann:p" not in repr(there)


# Parameters of pipelines


@pytest.fixture
def clean(spark: "SparkSession") -> Iterator[None]:
    """Afterwards the session has no settings of ours."""
    yield
    for name in ("stream", "password", "context"):
        spark.conf.unset(f"spark.penstock.{name}")


RECOUNT = find("recount")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("password", PASSWORD, "password cannot be a parameter: Spark shows those; put it into"),
        (
            "context",
            "/run/secrets/c.json",
            r"Spark hides spark.penstock.context, since its name or",
        ),
    ],
)
def test_a_setting_that_spark_hides_is_an_error(
    spark: "SparkSession", clean: None, name: str, value: str, told: str
) -> None:
    assert RECOUNT is not None
    spark.conf.set("spark.penstock.stream", "HITS")
    assert Settings(spark, RECOUNT)["stream"] == "HITS"
    spark.conf.set(f"spark.penstock.{name}", value)
    with pytest.raises(ParameterError, match=told):
        Settings(spark, RECOUNT)


def test_what_a_pipeline_is_given_is_no_setting(spark: "SparkSession", clean: None) -> None:
    assert RECOUNT is not None
    spark.conf.set("spark.penstock.stream", "HITS")
    with given({"stream": "TOKENS"}):
        assert Settings(spark, RECOUNT)["stream"] == "TOKENS"
    assert Settings(spark, RECOUNT)["stream"] == "HITS"


# Whole runs


def counted(server: Server, stream: str) -> None:
    async def fill(client: Any) -> None:
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        config = {"allow_msg_counter": True, "allow_direct": True}
        body = {"name": stream, "subjects": ["hits.*"], **config}
        request, place = json.dumps(body).encode(), f"$JS.API.STREAM.CREATE.{stream}"
        told = await client.request(place, request, timeout=ANSWER_SECONDS_MAX)
        assert "error" not in json.loads(told.data)
        for number in range(9):
            await js.publish(f"hits.{number % 3}", headers={"Nats-Incr": f"{number:+d}"})

    connected(server, fill, user="ann", password=PASSWORD)


def test_a_run_leaves_no_trace_of_its_password(tmp_path: Path, home: Path) -> None:
    """The stream is called like a secret too, which Spark would not show to the definitions."""
    if java_version() < JAVA_MIN:
        pytest.skip(f"Spark needs Java {JAVA_MIN}: set JAVA_HOME, or put java on PATH")
    events = tmp_path / "events"
    events.mkdir()
    conf = {
        "spark.sql.shuffle.partitions": "2",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
    }
    flags = [part for pair in conf.items() for part in ("--conf", "=".join(pair))]
    with Server(PENSTOCK, ("-js", "-sd", str(tmp_path / "store")), GUARDED) as server:
        counted(server, "TOKENS")
        run = [BIN / "penstock", "pipeline", "run", "recount", "stream=TOKENS", "--json"]
        where = ["--master", "local[2]", "--output", tmp_path / "output", "-s", server.url]
        ran = subprocess.run(
            [*map(str, run), *map(str, where), *flags],
            env=os.environ | {"NATS_USER": "ann", "NATS_PASSWORD": PASSWORD},
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_SECONDS_MAX,
        )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)["counters"] == 3
    assert has_text(events, "context.json"), "it has no options of plans: this proves nothing"
    for left in (events, tmp_path / "output"):
        assert not has_text(left, PASSWORD)


def has_text(folder: Path, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())
