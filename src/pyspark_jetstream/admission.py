"""How much a micro-batch takes: pure arithmetic over what is there and what the options allow.

Bounds are shared among streams in proportion to what each has, as Spark's Kafka source does it.
They count sequences, gaps too; bytes become sequences by the stream's average message.
"""

from dataclasses import dataclass

from pyspark_jetstream.options import StreamReadOptions


@dataclass(frozen=True)
class Available:
    """What one stream has: from a sequence up to but without another."""

    start: int
    end: int
    message_bytes: float

    @property
    def sequences(self) -> int:
        return max(self.end - self.start, 0)


def admitted(available: dict[str, Available], options: StreamReadOptions) -> dict[str, int]:
    """The end of each stream's part."""
    total = sum(one.sequences for one in available.values())
    total_bytes = sum(one.sequences * one.message_bytes for one in available.values())
    share = 1.0
    if options.offsets_max and total > options.offsets_max:
        share = options.offsets_max / total
    if options.bytes_max and total_bytes > options.bytes_max:
        share = min(share, options.bytes_max / total_bytes)
    ends = {}
    for name, one in available.items():
        # At least one, or a stream with little would never come on beside one with much.
        count = max(int(one.sequences * share), 1) if one.sequences else 0
        ends[name] = one.start + count
    return ends


def is_enough(
    available: dict[str, Available], options: StreamReadOptions, waited_ms: float
) -> bool:
    """Whether it is time for a batch: there is enough, or it has waited long enough."""
    total = sum(one.sequences for one in available.values())
    return total >= options.offsets_min or waited_ms >= options.delay_ms_max
