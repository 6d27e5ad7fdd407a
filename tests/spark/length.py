"""Which tests are left to `make campaign`: those that start one Spark after the other.

What they show is shown in a shared session too, or by another of them; a Spark of its own takes
half a minute.
"""

import os

import pytest

IS_LONG = "PENSTOCK_SPARK_KILLS" in os.environ
long = pytest.mark.skipif(not IS_LONG, reason="of make campaign")
