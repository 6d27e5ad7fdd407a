"""Options: what they become, and what a wrong one is told before anything is asked of a server."""

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.datasource import CaseInsensitiveDict

from pyspark_jetstream.option_values import OptionError, Place
from pyspark_jetstream.options import (
    check,
    read_options,
    sink_options,
    stream_read_options,
)


def options(**given: str) -> CaseInsensitiveDict:
    return CaseInsensitiveDict({name.replace("__", "."): text for name, text in given.items()})


def test_a_batch_reads_everything_and_a_stream_what_comes() -> None:
    batch = read_options(options(stream="ORDERS"))
    assert (batch.start, batch.end, batch.as_of) == (Place("earliest"), Place("latest"), None)
    assert (batch.connection.servers, batch.mode) == (("nats://127.0.0.1:4222",), "auto")
    assert (batch.fail_on_data_loss, batch.with_headers, batch.is_strong) == (True, False, False)
    streaming = stream_read_options(options(stream="ORDERS"))
    assert streaming.read.start == Place("latest")
    assert (streaming.offsets_max, streaming.bytes_max, streaming.delay_ms_max) == (0, 0, 900_000)


def test_names_know_no_case() -> None:
    found = read_options(options(STREAM="A, B", includeheaders="TRUE", MINPARTITIONS="3"))
    assert (found.streams, found.with_headers, found.partitions_min) == (("A", "B"), True, 3)


def test_places() -> None:
    found = read_options(options(stream="A,B", startingOffsets='{"B": -2, "A": 17}'))
    assert found.start.sequences == (("A", 17), ("B", -2))
    found = read_options(options(stream="A", startingTimestamp="1500", endingTimestamp="2000"))
    assert (found.start.time_ns, found.end.time_ns) == (1_500_000_000, 2_000_000_000)
    found = read_options(options(stream="A", asOfTimestamp="1970-01-01T00:00:01.000001Z"))
    assert found.as_of == Place("time", time_ns=1_000_001_000)
    found = read_options(options(stream="A", asOfSequence="9"))
    assert found.as_of == Place("sequence", sequence=9)


def test_what_spark_says_itself_is_let_through() -> None:
    check(options(checkpointLocation="/somewhere", stream="A"))
    assert sink_options(options(checkpointLocation="/somewhere", subject="a")).subject == "a"


@pytest.mark.parametrize(
    ("given", "name", "allowed"),
    [
        ({"startingOffset": "earliest"}, "startingOffset", "did you mean startingOffsets?"),
        ({"topic": "A"}, "topic", "there are servers, user"),
        ({"stream": "a.b"}, "stream", "no blanks, dots or wildcards"),
        ({"stream": " , "}, "stream", "at least one"),
        ({"subjects": "a..b"}, "subjects", "orders.>"),
        ({"startingOffsets": "first"}, "startingOffsets", "earliest, latest"),
        ({"startingOffsets": '{"A": 0}'}, "startingOffsets", "from 1 on, -2"),
        ({"startingOffsets": '{"A": true}'}, "startingOffsets", "from 1 on"),
        ({"startingOffsets": '{"C": 1}'}, "startingOffsets", "the streams read: A"),
        ({"startingOffsets": "latest"}, "startingOffsets", "a batch ends at latest"),
        ({"endingOffsets": "earliest"}, "endingOffsets", "a batch begins at earliest"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp", "milliseconds"),
        ({"startingTimestamp": "1763324000000000"}, "startingTimestamp", "milliseconds"),
        ({"asOfSequence": "0"}, "asOfSequence", "from 1 on"),
        ({"asOfSequence": "1", "asOfTimestamp": "1"}, "asOfTimestamp", "one of endingOffsets"),
        ({"minPartitions": "many"}, "minPartitions", "a whole number"),
        ({"minPartitions": "9" * 5000}, "minPartitions", "a whole number"),
        ({"startingTimestamp": "9" * 5000}, "startingTimestamp", "milliseconds"),
        ({"domain": "a b"}, "domain", "one word"),
        ({"domain": "a.b"}, "domain", "one word"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss", "true, false"),
        ({"readConsistency": "weak"}, "readConsistency", "default, strong"),
        ({"mode": "files"}, "mode", "auto, protocol, blocks"),
        ({"mode": "blocks"}, "storeDir", "the store_dir of the server"),
        ({"user": "a", "token": "b"}, "token", "one way to be let in"),
        ({"password": "a"}, "user", "there is a password"),
        ({"tls.first": "1"}, "tls.first", "true, false"),
        ({"maxOffsetsPerTrigger": "5"}, "maxOffsetsPerTrigger", "not an option of a batch read"),
        ({"sinkMode": "msgid"}, "sinkMode", "not an option of a batch read"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_allowed(
    given: dict[str, str], name: str, allowed: str
) -> None:
    with pytest.raises(OptionError) as raised:
        read_options(CaseInsensitiveDict({"stream": "A"} | given))
    assert str(raised.value).lower().startswith(f"option {name}: ".lower())
    assert allowed in str(raised.value)


def test_what_is_only_for_one_kind_of_read_or_write() -> None:
    with pytest.raises(OptionError, match="not an option of a streaming read"):
        stream_read_options(options(stream="A", endingOffsets="latest"))
    with pytest.raises(OptionError, match="option maxTriggerDelay: 'soon' cannot be"):
        stream_read_options(options(stream="A", maxTriggerDelay="soon"))
    with pytest.raises(OptionError, match=r"option maxTriggerDelay: '9+' cannot be"):
        stream_read_options(options(stream="A", maxTriggerDelay="9" * 5000))
    most = {"minOffsetsPerTrigger": "50", "maxOffsetsPerTrigger": "40"}
    with pytest.raises(OptionError, match=r"option minOffsetsPerTrigger: '50' cannot be; .* 40"):
        stream_read_options(options(stream="A", **most))
    with pytest.raises(OptionError, match="one stream to write to"):
        sink_options(options(stream="A,B"))
    with pytest.raises(OptionError, match="not an option of a write"):
        sink_options(options(includeHeaders="true"))
    with pytest.raises(OptionError, match="option stream: the name of a stream"):
        read_options(options())


@pytest.mark.parametrize("wrong", [{"mode": "x"}, {"sinkMode": "x"}, {"nonsense": "x"}])
def test_values_are_looked_at_before_it_is_known_what_they_are_for(wrong: dict[str, str]) -> None:
    with pytest.raises(OptionError):
        check(CaseInsensitiveDict(wrong))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"minOffsetsPerTrigger": "50", "maxOffsetsPerTrigger": "40"},
            "minOffsetsPerTrigger: '50' cannot be; .* 40",
        ),
        ({"endingOffsets": "latest", "maxOffsetsPerTrigger": "4"}, "option maxOffsetsPerTrigger"),
        ({"asOfSequence": "5", "asOfTimestamp": "5"}, "option asOfTimestamp"),
        ({"endingOffsets": "earliest"}, "a batch begins at earliest"),
        ({"sinkMode": "batch", "includeHeaders": "true"}, "not an option of a write"),
    ],
)
def test_an_option_that_one_kind_alone_has_tells_which_it_is(
    given: dict[str, str], told: str
) -> None:
    """So whatever is wrong for that kind is an error of `load()`, not of a query that has begun."""
    with pytest.raises(OptionError, match=told):
        check(options(stream="A", **given))


def test_options_of_every_kind_are_let_through() -> None:
    check(options(stream="A", endingOffsets="latest", subjects="a.>"))
    check(options(stream="A", maxOffsetsPerTrigger="4", startingOffsets="latest"))
    check(options(subject="a", sinkMode="msgid"))
    check(options(stream="A"))
