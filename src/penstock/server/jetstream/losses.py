"""What was lost to damage, as stream info and the server's log tell it.

A store knows what it found on opening and since, in records that no longer verify; the log adds
what was missing in it.
"""

from collections.abc import Callable

from penstock.server.jetstream.keeper import Kept

Range = tuple[int, int]


def update_losses(kept: Kept, report: Callable[[str], None]) -> None:
    """Takes over what the store has found since the last time."""
    ranges, lost_bytes = kept.store.blocks.lost()
    if not ranges and not kept.lost:
        kept.stream.lost_bytes, kept.stream.lost = lost_bytes, kept.lost
        return
    known = joined(kept.lost)
    found = joined([*kept.lost, *ranges])
    kept.stream.lost_bytes = lost_bytes
    kept.lost[:] = found
    kept.stream.lost = kept.lost
    for first, last in found:
        if (first, last) not in known:
            report(f"Stream {kept.stream.config.name}: messages {first} to {last} are damaged")


def joined(ranges: list[Range]) -> list[Range]:
    """The same sequences as ranges in order that do not touch."""
    result: list[Range] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return result
