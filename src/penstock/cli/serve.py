"""`penstock serve`: flags and configuration in, a running server or a clear refusal out.

The process that was started is the server itself: no fork, no wrapper. A configuration that
cannot be used ends it with `[FTL]` lines and status 1.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence

from penstock.cli.flags import Invocation, UsageError, parse
from penstock.cli.main import print_version
from penstock.config.options import Options
from penstock.config.problems import ConfigError
from penstock.server.log import FATAL, ServerLog
from penstock.server.process import run

try:
    import uvloop

    new_event_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
except ImportError:  # platforms without uvloop
    new_event_loop = asyncio.new_event_loop


def serve(arguments: Sequence[str]) -> int:
    try:
        invocation = parse(arguments)
    except UsageError as error:
        print(f"penstock serve: {error}", file=sys.stderr)
        return 1
    except ConfigError as error:
        _refuse(error)
        return 1
    if invocation.version:
        print_version()
        return 0
    if invocation.test_config:
        print(f"penstock: configuration file {invocation.config_file} is valid", file=sys.stderr)
        return 0
    return _run(invocation)


def _refuse(error: ConfigError) -> None:
    log = ServerLog(file=None, debug=False, trace=False, with_time=True)
    for problem in error.problems:
        log.logger.log(FATAL, "%s", problem)


def _run(invocation: Invocation) -> int:
    options = invocation.options
    try:
        log = open_log(options)
    except OSError as error:
        print(f"penstock serve: cannot open the log file: {error}", file=sys.stderr)
        return 1
    for warning in invocation.warnings:
        log.logger.warning("%s", warning)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(run(options, log))


def open_log(options: Options) -> ServerLog:
    return ServerLog(
        file=options.log_file,
        debug=options.debug,
        trace=options.trace,
        with_time=options.log_time,
    )
