"""A server as a process: signals, the pid file, the ports file, and the order of start and stop.

TERM and INT stop cleanly; USR1 opens the log file again; USR2 enters lame duck mode: clients are
told and sent away one by one, then the process ends. HUP is answered in the log only.
"""

import asyncio
import contextlib
import errno
import os
import resource
import signal
from collections.abc import Iterator

from penstock.config.options import Options
from penstock.model import version
from penstock.model.errors import StorageError
from penstock.server.app import Server
from penstock.server.lame_duck import LameDuck
from penstock.server.log import ServerLog
from penstock.server.ports_file import PortsFile

_STOPS = (signal.SIGTERM, signal.SIGINT)


async def run(options: Options, log: ServerLog) -> int:
    """Serves until a signal says otherwise; returns the exit status."""
    logger = log.logger
    raise_descriptor_limit()
    server = Server(options, log)
    info = server.context.info
    logger.info("Starting penstock %s", version.PENSTOCK_VERSION)
    logger.info("  Version:  %s", version.REFERENCE_VERSION)
    logger.info("  Name:     %s", info.server_name)
    logger.info("  ID:       %s", info.server_id)
    try:
        await server.start()
    except (OSError, StorageError) as error:
        is_store = isinstance(error, StorageError)
        hint = "; -p takes another port" if getattr(error, "errno", 0) == errno.EADDRINUSE else ""
        log.refuse(f"{'Cannot use the store' if is_store else 'Error listening'}: {error}{hint}")
        await server.stop()
        return 1
    if server.jetstream is not None:
        logger.info("Streams are kept in %s", server.jetstream.directory.root)
    stopping = asyncio.Event()
    _install_signals(server, stopping)
    try:
        with _files(server):
            logger.info("Server is ready")
            await stopping.wait()
    except OSError as error:
        log.refuse(f"Cannot write: {error}")
        return 1
    finally:
        logger.info("Initiating Shutdown...")
        await server.stop()
        logger.info("Server Exiting..")
    return 0


def raise_descriptor_limit() -> None:
    """As many connections as the system allows, not as many as a shell starts with."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _install_signals(server: Server, stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    logger = server.context.logger

    def stop(number: signal.Signals) -> None:
        logger.info("Trapped %s signal", number.name)
        stopping.set()

    lame_duck = LameDuck(server, stopping.set)
    for number in _STOPS:
        loop.add_signal_handler(number, stop, number)
    loop.add_signal_handler(signal.SIGUSR1, server.context.log.reopen)
    loop.add_signal_handler(signal.SIGUSR2, lame_duck.enter)
    loop.add_signal_handler(
        signal.SIGHUP, logger.warning, "Reloading the configuration is not supported: restart"
    )


@contextlib.contextmanager
def _files(server: Server) -> Iterator[None]:
    """The pid file and the ports file exist exactly while the server does."""
    options = server.options
    with contextlib.ExitStack() as stack:
        if options.pid_file is not None:
            options.pid_file.write_text(str(os.getpid()))
            stack.callback(options.pid_file.unlink, missing_ok=True)
        if options.ports_file_dir is not None:
            ports = PortsFile(options.ports_file_dir, os.getpid())
            try:
                ports.write(server.urls())
            except OSError as error:
                server.context.logger.error("Cannot write the ports file: %s", error)
            stack.callback(ports.remove)
        yield
