"""Loading the SDK: nothing before it is used, and only what it says."""

import subprocess
import sys

import pytest

from penstock import client


def test_importing_loads_nothing() -> None:
    program = """
import sys
import penstock.client
assert not {"nats", "asyncio", "msgspec", "penstock.client.public"} & set(sys.modules)
penstock.client.Batch
assert "nats" in sys.modules
assert not {"msgspec", "uvloop", "penstock.server", "penstock.kernel"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_names() -> None:
    assert set(client.__all__) <= set(dir(client))
    for name in client.__all__:
        assert getattr(client, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = client.Nothing  # type: ignore[attr-defined]
