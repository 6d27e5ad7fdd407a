"""Which tests are left to `make campaign`: those whose promise others keep watch over already.

Some start one Spark after the other; what they show is shown in a shared session too. Others are a
test of penstock once more with the reference: what Spark does is the same with both, and that both
answer alike is shown by tests that take no Spark, and by a few with it that stay with both. A Spark
of its own takes half a minute, and a query some seconds.
"""

import os

import pytest

from tests.parity.servers import PENSTOCK, REFERENCE

IS_LONG = "PENSTOCK_SPARK_KILLS" in os.environ
long = pytest.mark.skipif(not IS_LONG, reason="of make campaign")
LONG_WITH_REFERENCE = (pytest.param(REFERENCE, marks=long), PENSTOCK)
long_with_reference = pytest.mark.parametrize(
    "streaming", LONG_WITH_REFERENCE, indirect=True, ids=lambda one: one.name
)
