"""The log, in the shape tools know from the reference: `[pid] date time [INF] message`.

Lines go to stderr, or to the file of `-l`, which is opened again on SIGUSR1 so that it can be
rotated.
"""

import logging
import os
import sys
from datetime import datetime
from pathlib import Path

TRACE = 5
FATAL = logging.CRITICAL

_LABELS = {
    TRACE: "TRC",
    logging.DEBUG: "DBG",
    logging.INFO: "INF",
    logging.WARNING: "WRN",
    logging.ERROR: "ERR",
    FATAL: "FTL",
}


class _Formatter(logging.Formatter):
    def __init__(self, *, with_time: bool) -> None:
        super().__init__()
        self._with_time = with_time

    def format(self, record: logging.LogRecord) -> str:
        moment = ""
        if self._with_time:
            local = datetime.fromtimestamp(record.created)  # local time: people read it
            moment = local.strftime("%Y/%m/%d %H:%M:%S.%f ")
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return f"[{os.getpid()}] {moment}[{_LABELS.get(record.levelno, 'INF')}] {text}"


class ServerLog:
    """The log of one server; no logger is shared with another server in the same process."""

    def __init__(self, *, file: Path | None, debug: bool, trace: bool, with_time: bool) -> None:
        self._file = file
        self._formatter = _Formatter(with_time=with_time)
        self.logger = logging.Logger("penstock")  # not a global one, on purpose
        self.logger.setLevel(TRACE if trace else logging.DEBUG if debug else logging.INFO)
        self.trace = trace
        self.reopen()

    def refuse(self, reason: str) -> None:
        """Why the process ends: to the log, and to whoever has started it."""
        self.logger.log(FATAL, "%s", reason)
        if self._file is not None:
            print(f"penstock: {reason}", file=sys.stderr)  # noqa: T201 -- the log is elsewhere

    def reopen(self) -> None:
        for old in tuple(self.logger.handlers):
            self.logger.removeHandler(old)
            old.close()
        handler: logging.Handler
        if self._file is None:
            handler = logging.StreamHandler(sys.stderr)
        else:
            handler = logging.FileHandler(self._file)
        handler.setFormatter(self._formatter)
        self.logger.addHandler(handler)
