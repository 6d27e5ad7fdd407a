"""TTLs, markers, counters, batches, mirrors and sources with the `nats` command, on both servers.

The command shows headers in any order. `nats counter increment` sends positive numbers without a
sign, which ADR-49 does not allow and the reference takes: here increments have their header.
"""

import re
import time
from pathlib import Path

from tests.interop.nats_command import NatsCommand
from tests.parity.servers import IMPLEMENTATIONS, Implementation, Server

PAUSE = "pause "  # seconds: for copies to come, for messages to go

STEPS = """
stream add TTL --subjects ttl.> --allow-msg-ttl --defaults
stream info TTL
req ttl.a hello -H Nats-TTL:1
req ttl.b hello -H Nats-TTL:1h
req ttl.c hello -H Nats-TTL:never
req ttl.c hello -H Nats-TTL:abc
pub -J ttl.d hello -H Nats-TTL:1s
stream get TTL 2
pause 3
stream state TTL
stream get TTL 1
stream subjects TTL
stream edit TTL --subject-del-markers-ttl 1m --force
stream edit TTL --no-allow-msg-ttl --force
stream info TTL
stream add PLAIN --subjects plain.> --defaults
req plain.a hello -H Nats-TTL:1
stream add MARK --subjects mark.> --subject-del-markers-ttl 1m --max-msgs-per-subject 1 --defaults
stream info MARK
req mark.a hello -H Nats-TTL:1
pause 3
stream get MARK --last-for mark.a
stream state MARK
stream add CNT --subjects cnt.> --allow-counter --defaults
stream info CNT
req cnt.hits '' -H Nats-Incr:+5
req cnt.hits '' -H Nats-Incr:+10
counter increment cnt.hits -- -3
counter get cnt.hits
counter view cnt.hits
counter list CNT
counter get cnt.nothing
counter increment nowhere.hits 5
req cnt.hits '' -H Nats-Incr:abc
req cnt.hits body -H Nats-Incr:+1
req cnt.hits body
req plain.hits '' -H Nats-Incr:+1
stream get CNT --last-for cnt.hits
stream add CM --mirror CNT --defaults
stream add AGG --source CNT --allow-counter --defaults
pause 1
stream info CM
stream info AGG
counter view cnt.hits --stream AGG
stream get AGG --last-for cnt.hits
stream add BATCH --subjects batch.> --allow-batch --defaults
stream info BATCH
pub --atomic batch.a "message {{Count}}" --count 10
stream state BATCH
stream get BATCH 10
pub --atomic plain.a message --count 3
pub --atomic batch.a "message {{Count}}" --count 1001
stream state BATCH
stream edit BATCH --no-allow-batch --force
pub --atomic batch.a "message {{Count}}" --count 10
stream edit BATCH --allow-batch --force
stream add MIR --mirror BATCH --defaults
pause 1
stream info MIR
stream get MIR 3
stream add SRC --subjects src.> --source BATCH --source TTL --defaults
pause 1
stream info SRC
stream report
stream graph
stream ls
stream add CYC --mirror CYC --defaults
stream add LOOP --source SRC --defaults
stream edit SRC --source LOOP --force
server check stream --stream MIR --lag-critical 5 --msgs-critical 1
stream edit MIR --subjects mir.> --force
stream rm MIR --force
"""


UNORDERED = ("stream info SRC", "stream report", "stream graph", "stream subjects")


def comparable(said: str) -> str:
    """Without the identity of an origin, and with the headers of a message in order."""
    said = re.sub(r"(Nats-Stream-Source: .*) \S{8}\n", r"\1\n", said)
    head, mark, rest = said.partition("Headers:\n")
    headers, end, body = rest.partition("\n\n")
    return head + mark + "\n".join(sorted(headers.splitlines())) + end + body


def in_any_order(said: str) -> str:
    """The reference lists the sources of a stream as they come out of a map, and the command does
    so with subjects that have as many messages."""
    return " ".join(sorted(said.split()))


def walked(kind: Implementation, home: Path) -> list[str]:
    """What every command says."""
    home.mkdir()
    said = []
    with Server(kind, ("-js", "-sd", str(home / "store"))) as server:
        nats = NatsCommand(server, home)
        for line in STEPS.strip().splitlines():
            if line.startswith(PAUSE):
                time.sleep(float(line.removeprefix(PAUSE)))
            else:
                found = comparable(nats.run(line))
                said.append(in_any_order(found) if line.startswith(UNORDERED) else found)
    return said


def test_walkthrough(tmp_path: Path) -> None:
    theirs, ours = (walked(kind, tmp_path / kind.name) for kind in IMPLEMENTATIONS)
    for expected, found in zip(theirs, ours, strict=True):
        assert found == expected


def test_the_counter_command_needs_a_server_that_takes_numbers_without_a_sign(
    tmp_path: Path,
) -> None:
    """Both answers: penstock keeps to ADR-49, where a valid value begins with a sign."""
    said = {}
    for kind in IMPLEMENTATIONS:
        with Server(kind, ("-js", "-sd", str(tmp_path / kind.name))) as server:
            nats = NatsCommand(server, tmp_path)
            nats.run("stream add CNT --subjects cnt.> --allow-counter --defaults")
            said[kind.name] = nats.run("counter increment cnt.hits 5")
    assert said["reference"].endswith("\n5\n[0]")
    assert "10171" in said["penstock"]
