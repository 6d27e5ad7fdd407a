"""Long pages are made in slices: after each one the event loop serves its connections."""

import asyncio

from penstock.server.clock import monotonic_ns

SLICE_NS = 1_000_000  # what a message may wait for a page in the making


class Pace:
    """The time one page has taken since it last let the others go first."""

    def __init__(self) -> None:
        self._began_ns = monotonic_ns()

    async def breathe(self) -> None:
        """To be called after every small step. What was seen before may have changed after."""
        if monotonic_ns() - self._began_ns > SLICE_NS:
            await asyncio.sleep(0)
            self._began_ns = monotonic_ns()
