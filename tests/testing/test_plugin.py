"""The plugin in projects of its users: every kind of test, no trace in those that do not use it.

Each project is a folder of its own, in which pytest is started as a user would, with every warning
an error: a connection or a loop that is left open shows.
"""

import inspect
import sys
from pathlib import Path

import pytest

from penstock.testing import plugin
from tests.docs.blocks import blocks_in

pytest_plugins = ("pytester",)

STRICT = """
[pytest]
filterwarnings = error
asyncio_default_fixture_loop_scope = function
"""

PLAIN = """
import asyncio
import socket

def test_a_url(jetstream_server):
    with socket.create_connection(("127.0.0.1", jetstream_server.port)) as client:
        assert client.recv(5) == b"INFO "
    assert jetstream_server.url == f"nats://127.0.0.1:{jetstream_server.port}"

def test_in_one_loop_after_the_other(jetstream):
    async def publish(sequence):
        if sequence == 1:
            await jetstream.add_stream(name="ORDERS", subjects=["orders.>"])
        acks = await asyncio.gather(*(jetstream.publish("orders.eu") for _ in range(3)))
        assert sorted(ack.seq for ack in acks) == [sequence, sequence + 1, sequence + 2]
        assert jetstream.connection.is_connected

    asyncio.run(publish(1))
    asyncio.run(publish(4))

def test_every_test_has_its_own(jetstream):
    async def streams():
        return await jetstream.streams_info()

    assert asyncio.run(streams()) == []

def test_that_does_not_use_it(jetstream):
    assert not jetstream.connection.is_connected
"""

ASYNC = """
import asyncio
import pytest
{imports}

{mark}

@{fixture}
async def orders(jetstream):
    await jetstream.add_stream(name="ORDERS", subjects=["orders.>"], allow_atomic=True)
    yield "ORDERS"
    await jetstream.delete_stream("ORDERS")

async def test_with_a_fixture(jetstream, orders):
    ack = await jetstream.publish("orders.eu", b"first")
    assert (ack.stream, ack.seq) == (orders, 1)
    async with jetstream.batch() as batch:
        await batch.publish("orders.us")
    assert batch.ack.seq == 2

async def test_two_connections(jetstream, jetstream_server):
    import nats
    other = await nats.connect(jetstream_server.url)
    heard = await other.subscribe("news")
    await other.flush()
    await jetstream.connection.publish("news", b"rain")
    assert (await heard.next_msg(timeout=30)).data == b"rain"
    await other.close()

class TestInAClass:
    async def test_a_method(self, jetstream):
        assert (await jetstream.account_info()).streams == 0

async def test_that_fails_on_purpose(jetstream):
    await jetstream.publish("nobody.listens")
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONDEVMODE", "1")
    pytester.makefile(".ini", pytest=STRICT)
    return pytester


def test_plain_tests(project: pytest.Pytester) -> None:
    project.makepyfile(PLAIN)
    project.runpytest_subprocess().assert_outcomes(passed=4)


FRAMEWORKS = {
    "pytest-asyncio": (
        "import pytest_asyncio",
        "pytestmark = pytest.mark.asyncio",
        "pytest_asyncio.fixture",
    ),
    "anyio": (
        "",
        """pytestmark = pytest.mark.anyio

@pytest.fixture
def anyio_backend():
    return "asyncio"
""",
        "pytest.fixture",
    ),
}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_async_tests(project: pytest.Pytester, framework: str) -> None:
    imports, mark, fixture = FRAMEWORKS[framework]
    project.makepyfile(ASYNC.format(imports=imports, mark=mark, fixture=fixture))
    outcome = project.runpytest_subprocess()
    outcome.assert_outcomes(passed=3, failed=1)
    outcome.stdout.fnmatch_lines(["*NoStreamResponseError*"])


def test_a_loop_for_the_whole_session(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.asyncio(loop_scope="session")

        async def test_first(jetstream):
            await jetstream.add_stream(name="A", subjects=["a"])

        async def test_second(jetstream):
            await jetstream.add_stream(name="A", subjects=["a"])
            assert (await jetstream.publish("a")).seq == 1
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=2)


PRELUDE = """
import asyncio
import nats
import pytest

async def main(arguments):
    client = await nats.connect(arguments[-1])
    assert client.max_payload == 4096
    await client.close()
    return 0
"""


def test_the_examples_of_its_fixtures(project: pytest.Pytester) -> None:
    fixtures = (plugin.jetstream_options, plugin.jetstream_server, plugin.jetstream)
    texts = [inspect.cleandoc(fixture.__doc__ or "") for fixture in fixtures]
    examples = [one.source for text in texts for one in blocks_in(text, Path("plugin"))]
    assert len(examples) == 3
    project.makepyfile("\n".join([PRELUDE, *examples]))
    project.runpytest_subprocess("-o", "asyncio_mode=auto").assert_outcomes(passed=2)


def test_options(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import asyncio
        import pytest

        @pytest.fixture
        def jetstream_options(tmp_path):
            return {"store_dir": tmp_path, "token": "secret", "max_payload": 500}

        def test_them(jetstream, jetstream_server, tmp_path):
            async def program():
                await jetstream.add_stream(name="A", subjects=["a"])
                assert jetstream.connection.max_payload == 500

            asyncio.run(program())
            assert jetstream_server.store_dir == tmp_path
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_projects_that_do_not_use_it_pay_nothing(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            mine = {name for name in sys.modules if name.split(".")[0] == "penstock"}
            assert mine == {"penstock", "penstock.testing", "penstock.testing.plugin"}
            assert not {"nats", "msgspec", "uvloop"} & set(sys.modules)
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_the_asserts_of_the_server_are_not_rewritten(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_how_it_was_loaded(jetstream_server):
            from penstock.server import app

            assert type(app.__spec__.loader).__name__ == "SourceFileLoader"
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_the_plugin_is_found_by_its_entry_point(project: pytest.Pytester) -> None:
    outcome = project.run(sys.executable, "-m", "pytest", "--fixtures")
    outcome.stdout.fnmatch_lines(["jetstream_server -- *", "jetstream -- *"])
