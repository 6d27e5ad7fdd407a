"""Mending a store: what a start cannot do first, then what every start does.

1. The format, and descriptions of streams that nothing describes any more: without them a server
   does not start, or leaves the stream alone.
2. Every block is read, and what is lost is written down in the stream's index.
3. The store is opened as a server opens it, the log is replayed, and everything is closed as by a
   clean stop, without a port and without a client in between. Damaged states of consumers are
   written anew, if nothing of them is missing.

Nothing is removed that could be read, nor what could not: bytes that do not verify stay where they
are, but for ends that were cut off, which no start keeps.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from penstock.config.options import JetStreamSettings, Options
from penstock.kernel.storage import Overlay, StoreLock
from penstock.model.errors import StorageError
from penstock.server.app import Server
from penstock.server.inspection.block_files import open_blocks
from penstock.server.inspection.consumer_files import ConsumerFiles
from penstock.server.inspection.descriptions import guessed, number_of, read_description
from penstock.server.inspection.directory_files import refuse_other_format
from penstock.server.inspection.findings import Places
from penstock.server.inspection.inspection import described_in_log
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.directory import FORMAT
from penstock.server.jetstream.durable_files import replace, replace_all
from penstock.server.jetstream.folders import TWINS, held_messages
from penstock.server.jetstream.jetstream import JetStream
from penstock.server.jetstream.removals import DELETED
from penstock.server.jetstream.special_files import FORMAT_FILES
from penstock.server.log import ServerLog

_LAZY_NS = 120_000_000_000  # any duration: what counts is that there is one


class _Told(logging.Handler):
    """Keeps what a server would write to its log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def repair(root: Path) -> list[str]:
    """Mends what can be mended; returns what the server's own recovery had to say.

    Raises StorageError, or OSError if something cannot be written.
    """
    refuse_other_format(root)
    with _locked(root):
        _mend_format(root)
        _mend_descriptions(root)
        _note_losses(root)
    with asyncio.Runner() as runner:
        return runner.run(_settle(root))


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[None]:
    try:
        lock = StoreLock(str(root), "lock")
    except BlockingIOError:
        hint = "a server uses it; stop that server first"
        raise StorageError("lock", str(root), hint) from None
    try:
        yield
    finally:
        del lock


def _mend_format(root: Path) -> None:
    contents = [root / name for name in FORMAT_FILES]
    if any(not path.exists() or path.read_bytes() != FORMAT.encode() for path in contents):
        for path in contents:
            replace(path, FORMAT.encode())


def _folders(root: Path) -> Iterator[Path]:
    streams = root / "streams"
    streams.mkdir(exist_ok=True)
    for folder in sorted(streams.iterdir()):
        is_deleted = folder.name.endswith(DELETED)
        if folder.is_dir() and not is_deleted and number_of(folder) is not None:
            yield folder


def _mend_descriptions(root: Path) -> None:
    places = Places(root.parent)
    unknown = [folder for folder in _folders(root) if read_description(folder, places)[0] is None]
    in_log = described_in_log(root) if unknown else set()
    for folder in unknown:
        description = guessed(folder)
        if description is None or description.number in in_log or not held_messages(folder):
            continue
        if _is_of(root, folder, description):
            replace_all([folder / name for name in TWINS], description.sealed())


def _is_of(root: Path, folder: Path, description: Description) -> bool:
    """Whether the records in a folder are those of a stream: they verify under its name."""
    overlay = Overlay(str(root))
    opened = open_blocks(root, folder, description, _replayable_from(root), overlay, _silent)
    return opened.blocks.state()[0] > 0


def _note_losses(root: Path) -> None:
    """Reads every block, and makes what was found the state to go on from. A stream that cannot be
    opened is left to the start, which says so."""
    places = Places(root.parent)
    for folder in _folders(root):
        description, _ = read_description(folder, places)
        if description is None:
            continue
        replayable_from = _replayable_from(root)
        with contextlib.suppress(OSError):
            opened = open_blocks(root, folder, description, replayable_from, None, _silent)
            opened.blocks.checkpoint(opened.mark or 0, True)


def _replayable_from(root: Path) -> int | None:
    return None if (root / "unlogged").exists() else 1


async def _settle(root: Path) -> list[str]:
    """A start and a clean stop, without a port."""
    is_lazy = (root / "unlogged").exists()
    settings = JetStreamSettings(sync_interval_ns=_LAZY_NS if is_lazy else None)
    options = Options(jetstream=True, store_dir=root.parent, jetstream_settings=settings)
    log = ServerLog(file=None, debug=False, trace=False, with_time=False)
    told = _Told()
    log.logger.handlers[:] = [told]
    server = Server(options, log)
    account = server.accounts.global_account
    jetstream = JetStream(server.context, server.hub, server.targets, server.turns, account)
    jetstream.start(server.services)
    places = Places(root.parent)
    damaged: list[ConsumerFiles] = []
    for kept in jetstream.keeper.kept.values():
        folder = kept.consumers.saved.folder
        files = None if folder is None else ConsumerFiles(folder, places)
        if files is not None and files.is_damaged and kept.consumers.saved.found.is_complete:
            kept.consumers.lifecycle.roster.has_changed = True  # so that it is written anew
            damaged.append(files)
    jetstream.stop(and_cut=True)  # damaged files of the log are to be gone
    server.context.stop_timers()
    if not jetstream.failure:
        for files in damaged:
            files.remove_outdated()
    return told.lines


def _silent(_size: int) -> None:
    """Nobody waits to see how far it has come."""
