"""Steps of a stream scenario, played on a server over a plain socket, with comparable answers.

A step is data, so the same list is played on both servers; what comes back is made comparable:
moments become `<time>`, what a server is called or counts stays out. Headers and acknowledgements
are compared byte for byte, replies of the API as JSON.
"""

import json
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.parity.numbered import ANSWER_SECONDS_MAX, Body, Connection, Headers, Message, Pub

STORE_RACES = (10049, 10077)  # the reference, when a stream follows a deleted one too closely
TRIES_MAX = 200
SETTLE_SECONDS_MAX = 30.0
POLL_SECONDS, LEFT_FILES_SECONDS = 0.01, 10.0
INFO = "STREAM.INFO."
SILENCE_SECONDS = 0.3  # how long nothing must come where no answer is expected
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
NEVER = "0001-01-01T00:00:00Z"


@dataclass(frozen=True)
class Api:
    """A request to `$JS.API`; the answer is JSON, or None where there is none."""

    subject: str
    body: Body = None
    headers: Headers = None
    silent: bool = False


@dataclass(frozen=True)
class Pipelined:
    """Publishes in one write."""

    publishes: Sequence[Pub]


@dataclass(frozen=True)
class Listen:
    """A subscription; what it gets is asked for with `Heard`."""

    pattern: str


@dataclass(frozen=True)
class Heard:
    """The next messages of all `Listen`s, sorted if the order is not promised."""

    count: int
    ordered: bool = True


@dataclass(frozen=True)
class Quiet:
    """Nothing is heard for a while."""


@dataclass(frozen=True)
class Until:
    """Asks again until the stream has that many messages; the last answer counts."""

    stream: str
    messages: int


@dataclass(frozen=True)
class Awaited:
    """As `Until`, but only how many messages there are counts."""

    stream: str
    messages: int


@dataclass(frozen=True)
class Differs:
    """A step that the servers answer differently, on purpose: the error codes of both."""

    step: Api | Pub
    reference: int
    ours: int


@dataclass(frozen=True)
class Done:
    """A request whose answer shows what goes on meanwhile: only its error counts."""

    request: Api


Step = Api | Done | Pub | Pipelined | Listen | Heard | Quiet | Until | Awaited | Differs


class Peer(Connection):
    """A connection that plays steps."""

    def request(self, subject: str, payload: bytes, headers: Headers = None) -> Message | None:
        reply = self.send([Pub(subject, payload, headers)])[0]
        return self.answer(reply, ANSWER_SECONDS_MAX)

    def ask(self, subject: str, body: Body = None) -> dict[str, Any]:
        found = self.play(Api(subject, body))
        assert isinstance(found, dict), found
        return found

    def play(self, step: Step) -> Any:
        """What comes of a step, comparable."""
        play: Callable[[Any], Any] = getattr(self, f"_{type(step).__name__.lower()}")
        return play(step)

    def _differs(self, step: Differs) -> Any:
        return self.play(step.step)

    def _done(self, step: Done) -> Any:
        return self.play(step.request).get("error")

    def _pub(self, step: Pub) -> object:
        reply = self.send([step])[0]
        return shown(self.answer(reply, ANSWER_SECONDS_MAX)) if step.acked else None

    def _pipelined(self, step: Pipelined) -> list[object]:
        replies = [reply for reply in self.send(step.publishes) if reply]
        return [shown(self.answer(reply, ANSWER_SECONDS_MAX)) for reply in replies]

    def _listen(self, step: Listen) -> None:
        self.sids += 1
        self.socket.sendall(f"SUB {step.pattern} {self.sids}\r\nPING\r\n".encode())
        self.until_pong()

    def _quiet(self, _step: Quiet) -> list[object]:
        deadline = time.monotonic() + SILENCE_SECONDS
        while self.pump(deadline):
            pass
        return [shown(message) for message in self.heard]

    def _awaited(self, step: Awaited) -> Any:
        return self._until(Until(step.stream, step.messages))["messages"]

    def _api(self, step: Api) -> Any:
        for _ in range(TRIES_MAX):
            reply = self.send([Pub(f"$JS.API.{step.subject}", step.body, step.headers)])[0]
            seconds = SILENCE_SECONDS if step.silent else ANSWER_SECONDS_MAX
            message = self.answer(reply, seconds)
            if message is None:
                return None
            if message.headers:
                return shown(message)
            answer = json.loads(message.payload)
            is_race = answer.get("error", {}).get("err_code") in STORE_RACES
            if not (is_race and ".CREATE." in step.subject):
                break
        return comparable(answer)

    def _until(self, step: Until) -> Any:
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            state = self.ask(f"STREAM.INFO.{step.stream}")["state"]
            if state["messages"] == step.messages or time.monotonic() > deadline:
                return state
            time.sleep(0.02)

    def _heard(self, step: Heard) -> list[Any]:
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while len(self.heard) < step.count and time.monotonic() < deadline:
            self.pump(deadline)
        taken, self.heard = self.heard[: step.count], self.heard[step.count :]
        found = [shown(message) for message in taken]
        return found if step.ordered else sorted(found, key=str)


def shown(message: Message | None) -> object:
    """A message as it can be compared; an acknowledgement is its text, a refusal its JSON."""
    if message is None:
        return None
    if message.subject.startswith(b"R.") and not message.headers:
        text = message.payload.decode(errors="replace")
        return json.loads(text) if text.startswith('{"error"') else text
    headers = MOMENT.sub("<time>", message.headers.decode(errors="replace"))
    subject = "" if message.subject.startswith(b"R.") else message.subject.decode()
    payload: object = message.payload.decode(errors="replace")
    if message.subject.startswith(b"$JS.EVENT"):
        payload = comparable(json.loads(message.payload))
    return subject, headers, payload


def comparable(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: comparable(item, name) for name, item in settled(value).items()}
    if isinstance(value, list):
        return [comparable(item, key) for item in value]
    return comparable_text(value, key) if isinstance(value, str) else value


def settled(fields: dict[str, Any]) -> dict[str, Any]:
    """Without what two servers need not have in common."""
    left_out = {"rtt"}
    if fields.get("deleted") == [0]:  # the reference, of a file stream that never had a message
        left_out |= {"deleted", "num_deleted"}
    if "level" in fields:  # of the API: the reference is asked again after a race
        left_out |= {"total", "errors"}
    kept = {name: value for name, value in fields.items() if name not in left_out}
    return kept | {"id": "<id>"} if "id" in kept else kept


def comparable_text(text: str, key: str) -> Any:
    if key in ("response", "request") and text[:1] == "{" and text[-1:] == "}":
        return comparable(json.loads(text))
    if key == "description" and text.startswith("invalid JSON: "):
        return "invalid JSON: "
    return "<time>" if text != NEVER and MOMENT.fullmatch(text) else text


@dataclass
class Pair:
    """Both servers, or rather one connection to each.

    The reference removes the files of a deleted stream in the background, and a stream of the same
    name that follows too closely finds the old messages there; now and then it leaves some behind
    for good, which are removed here.
    """

    reference: Peer
    ours: Peer

    def play(self, steps: Sequence[Step]) -> None:
        for number, step in enumerate(steps):
            theirs, ours = self.reference.play(step), self.ours.play(step)
            place = f"step {number}: {str(step)[:300]}"
            if isinstance(step, Differs):
                assert (err_code(theirs), err_code(ours)) == (step.reference, step.ours), place
            else:
                if ours != theirs and isinstance(step, Api) and step.subject.startswith(INFO):
                    theirs = self._settled(step, ours)
                assert ours == theirs, place

    def _settled(self, step: Api, ours: Any) -> Any:
        """What the reference says when it is done: it removes messages after it has answered."""
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        while (theirs := self.reference.play(step)) != ours and time.monotonic() < deadline:
            time.sleep(0.05)
        return theirs

    def clear(self) -> None:
        for peer in (self.reference, self.ours):
            peer.heard.clear()
            for name in peer.ask("STREAM.NAMES")["streams"] or ():
                peer.ask(f"STREAM.DELETE.{name}")
            if (folder := peer.server.streams_folder) is not None:
                empty(folder)

    def close(self) -> None:
        self.reference.close()
        self.ours.close()


def empty(folder: Path) -> None:
    """Waits until nothing is in it, and does not wait for ever."""
    deadline = time.monotonic() + LEFT_FILES_SECONDS
    while has_files(folder):
        if time.monotonic() > deadline:
            shutil.rmtree(folder, ignore_errors=True)
        time.sleep(POLL_SECONDS)


def has_files(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except FileNotFoundError:  # the reference removes it when nothing is left in it
        return False


def err_code(answer: Any) -> int:
    """Of an error as the API or an acknowledgement has it, 0 for none."""
    found = json.loads(answer) if isinstance(answer, str) else answer
    return int(found.get("error", {}).get("err_code", 0))
