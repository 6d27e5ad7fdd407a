"""What an embedded server has to say goes to Python's own logging, as from any library.

The host decides: with nothing set up, warnings and errors are shown and the rest is not.
"""

import logging

from penstock.server.log import ServerLog

LOGGER = "penstock"


class _Forward(logging.Handler):
    """Hands every record to the host's logger of that name."""

    def handle(self, record: logging.LogRecord) -> bool:
        logger = logging.getLogger(LOGGER)
        wanted = logger.isEnabledFor(record.levelno)
        if wanted:
            logger.handle(record)
        return wanted


class EmbeddedLog(ServerLog):
    """The log of one embedded server."""

    def __init__(self, *, debug: bool) -> None:
        super().__init__(file=None, debug=debug, trace=False, with_time=True)

    def reopen(self) -> None:
        for old in tuple(self.logger.handlers):
            self.logger.removeHandler(old)
        self.logger.addHandler(_Forward())
