"""The examples of the model document that the two walkthroughs leave out, on both servers.

With them every command of the document runs, and what it says in words is asked with commands:
limits, discard policies and retention, acknowledgements that nobody sends or that count for all,
the kinds of acknowledgements as they are on the wire, and what a message takes. Commands that would
ask questions on a terminal have `--defaults`.
"""

import re
from pathlib import Path

import pytest

from tests.interop.nats_command import NatsCommand
from tests.parity.servers import IMPLEMENTATIONS, Implementation, Server

# A message is delivered once for each kind, so the acknowledgement names delivery 1, 2, 3 ...
ACK = "'$JS.ACK.ACKS.KINDS.{deliveries}.{stream}.{consumer}.1.0'"

SECTIONS = {
    "limits": """
stream add LIMITS --subjects limits.* --max-msgs 3 --max-bytes 1024 --max-age 1h \
 --max-msg-size 100 --discard old --defaults
pub limits.a "message {{Count}}" --count 5
stream info LIMITS --state
req limits.a "{{Random 101 101}}"
stream edit LIMITS --discard new --force
req limits.a "one too many"
stream edit LIMITS --max-msgs 10 --force
req limits.a "and now it fits"
stream edit LIMITS --max-bytes 200 --force
req limits.a "{{Random 90 90}}"
""",
    "retention": """
stream add QUEUE --subjects queue.* --retention work --defaults
consumer add QUEUE ALL --pull --filter queue.a --ack explicit --defaults
consumer add QUEUE OVERLAP --pull --filter 'queue.*' --ack explicit --defaults
consumer add QUEUE NONE --pull --filter queue.b --ack none --defaults
consumer add QUEUE OTHER --pull --filter queue.b --ack explicit --defaults
pub queue.a one
pub queue.b two
stream info QUEUE --state
consumer next QUEUE ALL
stream info QUEUE --state
stream add INTEREST --subjects interest.* --retention interest --defaults
pub interest.a "nobody wants this"
stream info INTEREST --state
consumer add INTEREST FIRST --pull --ack explicit --defaults
consumer add INTEREST SECOND --pull --ack explicit --defaults
pub interest.a "both want this"
consumer next INTEREST FIRST
stream info INTEREST --state
consumer next INTEREST SECOND
stream info INTEREST --state
""",
    "duplicates": """
str add ORDERS --subjects ORDERS.* --dupe-window 2m --defaults
req -H Nats-Msg-Id:1 ORDERS.new hello1
req -H Nats-Msg-Id:1 ORDERS.new hello2
req -H Nats-Msg-Id:1 ORDERS.new hello3
req -H Nats-Msg-Id:1 ORDERS.new hello4
stream info ORDERS
""",
    "acknowledgements": """
stream add SILENT --subjects silent.* --no-ack --defaults
pub silent.a "nobody answers"
req silent.a "not even a request" --timeout 300ms
str info SILENT --state
stream add ACKS --subjects ACKS.* --defaults
pub ACKS.new "order {{Count}}" --count 10
con add ACKS TOGETHER --pull --ack all --deliver all --replay instant --defaults
con next ACKS TOGETHER --count 5 --no-ack
con info ACKS TOGETHER
con next ACKS TOGETHER
con info ACKS TOGETHER
con add ACKS SINGLE --pull --ack explicit --deliver all --replay instant --sample 80 --defaults
con next ACKS SINGLE --nak
con next ACKS SINGLE --term
con next ACKS SINGLE
con info ACKS SINGLE
con next ACKS SINGLE --raw --no-ack
""",
    "kinds of acknowledgements": f"""
stream add ACKS --subjects ACKS.* --defaults
pub ACKS.new "order {{{{Count}}}}" --count 6
con add ACKS KINDS --pull --ack explicit --deliver all --replay instant --wait 1m --defaults
con next ACKS KINDS --count 2 --no-ack
req {ACK.format(deliveries=1, stream=1, consumer=1)} "+WPI"
con info ACKS KINDS
req {ACK.format(deliveries=1, stream=1, consumer=1)} "+ACK"
con info ACKS KINDS
req {ACK.format(deliveries=1, stream=2, consumer=2)} "-NAK"
con next ACKS KINDS --no-ack
req {ACK.format(deliveries=2, stream=2, consumer=3)} "+TERM"
con info ACKS KINDS
con next ACKS KINDS --no-ack
req {ACK.format(deliveries=1, stream=3, consumer=4)} "+NXT"
req {ACK.format(deliveries=1, stream=4, consumer=5)} "+NXT 2" --replies 2
req {ACK.format(deliveries=1, stream=5, consumer=6)} '+NXT {{"no_wait": true}}'
req {ACK.format(deliveries=1, stream=6, consumer=7)} ""
con info ACKS KINDS
""",
    "policies as they are written there": """
stream add ORDERS --subjects ORDERS.* --defaults
pub ORDERS.processed "order {{Count}}" --count 100
consumer add ORDERS ALL --pull --filter ORDERS.processed --ack none --replay instant \
 --deliver all --defaults
consumer add ORDERS SUBJECTS --pull --filter ORDERS.processed --ack none --replay instant \
 --deliver subject --defaults
consumer add ORDERS LATER --pull --filter ORDERS.processed --ack none --replay instant \
 --deliver 1h --defaults
consumer add ORDERS REPLAY --target out.original --filter ORDERS.processed --ack none \
 --deliver all --sample 100 --replay original --defaults
consumer add ORDERS SLOW --pull --replay original --defaults
consumer next ORDERS SUBJECTS
consumer next ORDERS LATER
consumer info ORDERS REPLAY
""",
    "what a message takes": """
stream add SIZES --subjects 'test,with.headers' --defaults
pub test hello
stream info SIZES --json
pub with.headers -H A:1 -H B:2 hello
stream info SIZES --json
""",
}

SAID = {  # by the document, in words or as output
    "limits": ["Messages: 3", "maximum messages exceeded", "message size exceeds maximum allowed"],
    "retention": ["filtered consumer not unique", "Messages: 0"],
    "duplicates": ['"duplicate": true', "Messages: 1\n"],
    "acknowledgements": ["Consumer sequence: 6 Stream sequence: 6", "Sampling Rate: 80"],
    "kinds of acknowledgements": ["order 4", "order 5", "order 6", "Outstanding Acks: 0"],
    "policies as they are written there": ["order 100", "order 1\n", "Replay Policy: Original"],
    "what a message takes": ['"bytes": 39'],
}


def walked(kind: Implementation, home: Path, lines: list[str]) -> list[str]:
    home.mkdir()
    with Server(kind, ("-js", "-sd", str(home / "store"))) as server:
        nats = NatsCommand(server, home)
        return [random_text(nats.run(line)) for line in lines]


def random_text(said: str) -> str:
    return re.sub(r"\b[A-Za-z]{90,101}\b", "<random>", said)


@pytest.mark.parametrize("section", SECTIONS)
def test_section(section: str, tmp_path: Path) -> None:
    lines = SECTIONS[section].strip().replace("\\\n", "").splitlines()
    theirs, ours = (walked(kind, tmp_path / kind.name, lines) for kind in IMPLEMENTATIONS)
    for expected, found in zip(theirs, ours, strict=True):
        assert found == expected
    everything = "\n".join(ours)
    assert [words for words in SAID[section] if words not in everything] == []
