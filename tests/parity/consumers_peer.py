"""Plays the steps of a consumer scenario, and compares what two servers made of all of them.

The reference takes pull requests, acknowledgements and API requests in three queues, so a step
waits until its queue has come to it: behind a pull request goes a malformed one, which is
answered in turn; behind an acknowledgement goes a `+WPI` for a message that is not there. Each
server plays a scenario from beginning to end by itself, both at the same time, so that the one's
answers do not eat up the other's timers; then the answers are compared, and what nobody asked for.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.parity.consumer_steps import (
    Ack,
    AckTo,
    ConsumerStep,
    Elsewhere,
    Figures,
    Got,
    GotUntil,
    HangUp,
    JoinQueue,
    Leave,
    Missing,
    Pull,
    PullAll,
    Reached,
    Scenarios,
)
from tests.parity.numbered import ANSWER_SECONDS_MAX, Body, Message, Pub, encoded, frame
from tests.parity.servers import PENSTOCK, REFERENCE, Implementation
from tests.parity.streams_peer import MOMENT, Api, Pair, Peer, Until, comparable

POLL_SECONDS = 0.01
PAYLOAD_SHOWN_MAX = 1000
NOWHERE = 1 << 60  # the sequence of a message that is not there
IDLE = b"100 Idle Heartbeat"
NEXT = "$JS.API.CONSUMER.MSG.NEXT"
STAMP = re.compile(r"^(\$JS\.ACK\..*\.)\d{19}(\.\d+)$")
ACK_IN_HEADER = re.compile(r"(\$JS\.ACK\.\S+\.)\d{19}(\.\d+)")
FLOW = re.compile(r"^(\$JS\.FC\..*\.)[0-9A-Za-z]{4}$")
PIN_HEADER = re.compile(r"Nats-Pin-Id: (\w+)")
PIN = re.compile(r"[0-9A-Za-z]{22}")
BAD_JSON = re.compile(r"(400 Bad Request - )(json: |invalid character|unexpected end)[^\r]*")
PLACE = re.compile(r"<(time|in) (\d+)(ms)?>|<(pin|flow)>")


@dataclass
class Delivery(Message):
    """A message and the subscription it came to."""

    inbox: str


@dataclass
class ConsumerPeer(Peer):
    """A connection that plays steps of consumers."""

    inboxes: dict[str, int] = field(default_factory=dict)
    delivered: dict[tuple[str, str, int], list[str]] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    other: "ConsumerPeer | None" = None

    def script(self, steps: Sequence[ConsumerStep]) -> list[Any]:
        """The answers, and behind them what came without being asked for."""
        answers = [self.play(step) for step in steps]
        return [*answers, self.left_over()]

    def left_over(self) -> list[Any]:
        """What was not asked for; how many heartbeats there are is a matter of time."""
        self.ping()
        found = [self.seen(message) for message in self.heard if IDLE not in message.headers]
        self.heard.clear()
        return found

    def ping(self) -> None:
        self.socket.sendall(b"PING\r\n")
        self.until_pong()

    def until_closed(self) -> None:
        """Reads what the server sends before it ends the connection."""
        while data := self.socket.recv(1 << 16):
            self._buffer += data
            self._parse_all()

    def close(self) -> None:
        if self.other is not None:
            self.other.close()
        super().close()

    # Sending

    def subscribe(self, pattern: str, group: str = "") -> None:
        if pattern not in self.inboxes:
            self.sids += 1
            self.inboxes[pattern] = self.sids
            self.socket.sendall(f"SUB {pattern} {group} {self.sids}\r\n".encode())

    def filled(self, text: str) -> str:
        """With what is only known now."""
        return PLACE.sub(self._fill, text)

    def _fill(self, match: re.Match[str]) -> str:
        if match[4]:
            return self.known[match[4]]
        if match[1] == "in":
            return (datetime.now(UTC) + timedelta(milliseconds=int(match[2]))).isoformat()
        body = json.dumps({"seq": int(match[2])}).encode()
        message = self.request("$JS.API.STREAM.MSG.GET.T", body)
        assert message is not None
        moment: str = json.loads(message.payload)["message"]["time"]
        return moment

    def filled_body(self, body: Body) -> bytes:
        raw = encoded(body)
        return self.filled(raw.decode()).encode() if PLACE.search(raw.decode("latin-1")) else raw

    def _api(self, step: Api) -> Any:
        filled = Api(step.subject, self.filled_body(step.body), step.headers, step.silent)
        return self.settled_names(super()._api(filled))

    def settled_names(self, answer: Any) -> Any:
        """Without names that a server made up."""
        if not isinstance(answer, dict):
            return answer
        config = answer.get("config", {})
        if "durable_name" not in config and re.fullmatch(r"\w{8}", str(answer.get("name", ""))):
            self.known["name"] = answer["name"]
            answer |= {"name": "<name>", "config": config | {"name": "<name>"}}
        for group in answer.get("priority_groups") or ():
            if PIN.fullmatch(group.get("pinned_client_id", "")):
                group["pinned_client_id"] = "<pin>"
        if "pause_remaining" in answer:
            answer["pause_remaining"] = "<duration>"
        return answer

    def _pub(self, step: Pub) -> object:
        subject = self.filled(step.subject)
        return super()._pub(Pub(subject, step.payload, step.headers, step.acked))

    def _pull(self, step: Pull) -> None:
        inbox = f"P.{step.to}"
        self.subscribe(inbox)
        subject = f"{NEXT}.{step.stream}.{step.consumer}"
        request = Pub(subject, self.filled_body(step.body), step.headers)
        self.socket.sendall(frame(request, inbox.encode()))
        self.pulls_taken(subject)

    def _pullall(self, step: PullAll) -> None:
        subject = f"{NEXT}.{step.stream}.{step.consumer}"
        for to in step.bodies:
            self.subscribe(f"P.{to}")
        frames = [
            frame(Pub(subject, self.filled_body(body)), f"P.{to}".encode())
            for to, body in step.bodies.items()
        ]
        self.socket.sendall(b"".join(frames))
        self.pulls_taken(subject)

    def pulls_taken(self, subject: str) -> None:
        assert self.request(subject, b"{") is not None, f"{subject} takes no request"

    def _ack(self, step: Ack) -> Any:
        subjects = self.delivered.get((step.stream, step.consumer, step.sequence), ())
        subject = f"$JS.ACK.{step.stream}.{step.consumer}.1.{step.sequence}.{step.sequence}.0.0"
        if subjects:
            subject = subjects[step.delivery - 1]
        reply = b""
        if step.to:
            self.subscribe(f"P.{step.to}")
            reply = f"P.{step.to}".encode()
        elif step.has_reply:
            self._number += 1
            reply = b"R.%d" % self._number
        self.socket.sendall(frame(Pub(subject, step.payload, step.headers), reply))
        return self.acks_taken(step.stream, step.consumer, reply)

    def _ackto(self, step: AckTo) -> Any:
        reply = self.send([Pub(step.subject, step.payload)])[0]
        return self.acks_taken(step.stream, step.consumer, reply)

    def acks_taken(self, stream: str, consumer: str, reply: bytes) -> Any:
        """The answer to what was sent before, if there was one."""
        subject = f"$JS.ACK.{stream}.{consumer}.1.{NOWHERE}.1.0.0"
        assert self.request(subject, b"+WPI") is not None, f"{subject} is not answered"
        message = self._answers.pop(reply, None)
        return None if message is None else self.seen(message)[3:]

    def _joinqueue(self, step: JoinQueue) -> None:
        self.subscribe(step.pattern, step.group)
        self.ping()

    def _listen(self, step: Any) -> None:
        self.subscribe(step.pattern)
        self.ping()

    def _leave(self, step: Leave) -> None:
        self.socket.sendall(f"UNSUB {self.inboxes.pop(step.pattern)}\r\n".encode())
        self.ping()

    def _elsewhere(self, step: Elsewhere) -> Any:
        if self.other is None:
            self.other = ConsumerPeer(self.server, known=self.known, delivered=self.delivered)
        return self.other.play(step.step)

    def _hangup(self, _step: HangUp) -> None:
        assert self.other is not None
        self.other.close()
        self.other = None

    # Receiving

    def _take(self, words: list[bytes], body: bytes) -> None:
        super()._take(words, body)
        if words[2] != b"1":
            last = self.heard.pop()
            names = {number: pattern for pattern, number in self.inboxes.items()}
            inbox = names.get(int(words[2]), "left")
            self.heard.append(
                Delivery(last.subject, last.reply, last.headers, last.payload, inbox=inbox)
            )

    def seen(self, message: Message) -> tuple[str, str, str, str, Any]:
        """Inbox, subject, reply, headers and payload of a message, comparable."""
        subject, reply = message.subject.decode(), message.reply.decode()
        if stamped := STAMP.match(reply):
            words = reply.split(".")
            self.delivered.setdefault((words[2], words[3], int(words[5])), []).append(reply)
            reply = f"{stamped[1]}<time>{stamped[2]}"
        elif flow := FLOW.match(reply):
            self.known["flow"] = reply
            reply = f"{flow[1]}<flow>"
        inbox = message.inbox if isinstance(message, Delivery) else ""
        headers = BAD_JSON.sub(r"\1<json>", message.headers.decode(errors="replace"))
        if pin := PIN_HEADER.search(headers):
            self.known["pin"] = pin[1]
        headers = PIN_HEADER.sub("Nats-Pin-Id: <pin>", MOMENT.sub("<time>", headers))
        headers = ACK_IN_HEADER.sub(r"\1<time>\2", headers)
        headers = re.sub(r"(Nats-Consumer-Stalled: \S+\.)\w{4}\b", r"\1<flow>", headers)
        if subject.startswith("$JS.EVENT"):
            return inbox, subject, reply, headers, event(json.loads(message.payload))
        if subject.startswith("R.") or subject == inbox:
            subject = ""
        return inbox, subject, reply, headers, abridged(message.payload)

    def _got(self, step: Got) -> list[Any]:
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while len(self.heard) < step.count and self.pump(deadline):
            pass
        taken, self.heard = self.heard[: step.count], self.heard[step.count :]
        found = [self.seen(message) for message in taken]
        assert len(found) == step.count, f"{step.count} expected, but only {found}"
        if not step.counted:
            found = [
                (inbox, subject, re.sub(r"\d+$", "<pending>", reply), headers, payload)
                for inbox, subject, reply, headers, payload in found
            ]
        return found if step.ordered else sorted(found, key=str)

    def _gotuntil(self, step: GotUntil) -> list[Any]:
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        found: list[Any] = []
        while True:
            while not self.heard:
                assert self.pump(deadline), f"no {step.text!r} but {found}"
            entry = self.seen(self.heard.pop(0))
            if step.ignoring and step.ignoring in str(entry):
                continue
            if not found or found[-1] != entry:
                found.append(entry)
            if step.text in str(entry):
                return found

    def _heard(self, step: Any) -> list[Any]:
        return self._got(Got(step.count, step.ordered))

    def _quiet(self, step: Any) -> list[Any]:
        super()._quiet(step)
        found = [self.seen(message) for message in self.heard]
        self.heard.clear()
        return found

    def figures(self, stream: str, consumer: str) -> dict[str, Any]:
        """The numbers of a consumer's info, or its error."""
        answer = Peer._api(self, Api(f"CONSUMER.INFO.{stream}.{consumer}"))
        if "error" in answer:
            return dict(answer["error"])
        found = {
            "delivered": pair_of(answer["delivered"]),
            "floor": pair_of(answer["ack_floor"]),
            "ack_pending": answer["num_ack_pending"],
            "redelivered": answer["num_redelivered"],
            "waiting": answer["num_waiting"],
            "pending": answer["num_pending"],
        }
        if "deliver_subject" in answer["config"]:
            found["bound"] = answer.get("push_bound", False)
        return found

    def _figures(self, step: Figures) -> str:
        return line_of(self.figures(step.stream, step.consumer))

    def _reached(self, step: Reached) -> str:
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            found = self.figures(step.stream, step.consumer)
            if step.figures.items() <= found.items():
                return line_of(found)
            assert time.monotonic() < deadline, f"{step.figures} not reached: {found}"
            time.sleep(POLL_SECONDS)

    def _missing(self, step: Missing) -> str:
        deadline = time.monotonic() + 2 * ANSWER_SECONDS_MAX
        while "err_code" not in (found := self.figures(step.stream, step.consumer)):
            assert time.monotonic() < deadline, "the consumer stays"
            time.sleep(5 * POLL_SECONDS)
        return line_of(found)

    def _until(self, step: Until) -> Any:
        state = super()._until(step)
        assert state["messages"] == step.messages, state
        return state


def abridged(payload: bytes) -> str:
    """A payload, or what tells a long one from others."""
    if len(payload) <= PAYLOAD_SHOWN_MAX:
        return payload.decode(errors="replace")
    return f"{len(payload)} bytes, {hashlib.sha256(payload).hexdigest()[:12]}"


def pair_of(position: dict[str, Any]) -> str:
    """Consumer sequence and stream sequence."""
    return f"{position['consumer_seq']}/{position['stream_seq']}"


def line_of(figures: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in figures.items())


def event(fields: dict[str, Any]) -> Any:
    """An advisory or metric, comparable."""
    found = comparable(fields)
    if "ack_time" in found:
        found["ack_time"] = "<duration>"
    if PIN.fullmatch(found.get("pinned_id", "")):
        found["pinned_id"] = "<pin>"
    return found


@dataclass
class ConsumerPair(Pair):
    """Both servers; each plays the whole scenario, then the answers are compared."""

    def play(self, steps: Sequence[Any]) -> None:
        with ThreadPoolExecutor(2) as threads:
            playing = [
                threads.submit(peer.script, steps)
                for peer in (self.reference, self.ours)
                if isinstance(peer, ConsumerPeer)
            ]
            theirs, ours = (played.result() for played in playing)
        found = difference([*steps, "what came unasked"], theirs, ours)
        if found:
            raise AssertionError(found)


def difference(steps: Sequence[Any], theirs: list[Any], ours: list[Any]) -> str:
    """The first step with two answers, and both; empty if there is none."""
    for number, step in enumerate(steps):
        if theirs[number] != ours[number]:
            return (
                f"step {number}: {str(step)[:300]}\n"
                f"  reference: {shortened(theirs[number])}\n"
                f"  ours:      {shortened(ours[number])}"
            )
    return ""


def second_implementation() -> Implementation:
    """What the reference is compared with: itself, where scenarios are tried out."""
    return REFERENCE if os.environ.get("PENSTOCK_PARITY_BOTH") == "reference" else PENSTOCK


def shortened(answer: Any) -> str:
    text = str(answer)
    return text if len(text) < 3000 else f"{text[:3000]} ... {len(text)} characters"


def cases(scenarios: Scenarios) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "steps", [pytest.param(steps, id=name) for name, steps in scenarios.items()]
    )
