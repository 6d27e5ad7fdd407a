"""Plays a case against a server: `check` compares with the file, `record` writes what came.

A check reads until the expected lines arrived and never waits for silence. That nothing else
came is proven at the end: two rounds of PING and PONG over all open clients (what one published
in the first round reached the others before the second), then each closes its sending half and
reads to the end of the stream. Recording has nothing to wait for, so it waits for a quiet moment;
the result is reviewed as a diff and checked by every later run.
"""

from collections import Counter
from collections.abc import Callable, Collection
from itertools import takewhile

from tests.parity.client import ANSWER_SECONDS_MAX, CLOSED, Client, Entry, NoAnswerError
from tests.parity.notation import EXPECT, Case, Expect, Item, Only, Scenario, Step, unescape_line
from tests.parity.servers import REFERENCE, Server

TAKING = ("gather", "drain")  # steps that take what came before them
QUIET_SECONDS = 0.08
LAST_QUIET_SECONDS = 0.8  # of a recording: what comes later has no step to stand behind
AWAIT_SECONDS_MAX = 60.0  # for what needs a timer of the server


class MismatchError(Exception):
    """The server's answer is not the recorded one."""

    def __init__(self, number: int, expected: list[str], got: list[str], why: str) -> None:
        lines = [f"line {number}: {why}", "  expected:", *(f"    {line}" for line in expected)]
        lines += ["  got:", *(f"    {line}" for line in got)]
        super().__init__("\n".join(lines))


class Run:
    """The clients of one case against one server."""

    def __init__(self, scenario: Scenario, server: Server, recording: bool = False) -> None:
        self._server = server
        self._record_pings = "pings" in scenario.options
        self._recording = recording
        self.clients: dict[str, Client] = {}
        self.gathered: dict[str, list[str]] = {}
        self.answer_seconds_max = ANSWER_SECONDS_MAX
        self._verbs: dict[str, Callable[[Step], None]] = {
            "connect": self._connect,
            "dial": self._dial,
            "send": lambda step: self._one(step).send(_bytes_of(step)),
            "drip": lambda step: self._one(step).drip(_bytes_of(step)),
            "settle": lambda step: self._one(step).settle(),
            "shutdown": lambda step: self._one(step).shutdown(),
            "close": self._close,
            "drain": self._drain,
            "sync": self._sync,
            "gather": self._gather,
            "await": self._await,
            "signal": lambda step: self._server.signal(step.argument),
        }

    def do(self, step: Step) -> None:
        try:
            self._verbs[step.verb](step)
        except NoAnswerError as error:
            raise MismatchError(step.number, step.lines, self.take_all(), str(error)) from None

    def take_all(self, except_for: Collection[str] = ()) -> list[str]:
        """What came and nobody took yet, as lines of the file."""
        lines: list[str] = []
        for name, client in self.clients.items():
            if name not in except_for:
                lines += [_line(name, text) for entry in client.inbox for text in entry]
                client.inbox.clear()
        for name, texts in self.gathered.items():
            lines += [_line(name, text) for text in texts]
        self.gathered.clear()
        return lines

    def finish(self) -> None:
        """Prove that nothing else came."""
        for client in self._settle_all():
            if not client.ended:
                client.shutdown()
                client.wait_closed()
                assert client.inbox.pop() == CLOSED  # ours, not the case's

    def _settle_all(self) -> list[Client]:
        """Two rounds of PING and PONG: all that anybody caused is in the inboxes."""
        here = [client for client in self.clients.values() if not client.left]
        for client in here + here:
            client.barrier()
        return here

    def close(self) -> None:
        for client in self.clients.values():
            client.close()

    def _one(self, step: Step) -> Client:
        return self.clients[step.who[0]]

    def _dial(self, step: Step) -> None:
        self.clients[step.who[0]] = Client(self._server, self._record_pings)

    def _connect(self, step: Step) -> None:
        self._dial(step)
        client = self._one(step)
        entry = client.take()
        if not entry[0].startswith("INFO "):
            client.inbox.appendleft(entry)
            raise NoAnswerError("the first line is not INFO")

    def _close(self, step: Step) -> None:
        client = self._one(step)
        client.pump(0)
        client.close()

    def _drain(self, step: Step) -> None:
        client = self._one(step)
        client.wait_closed(AWAIT_SECONDS_MAX)
        client.inbox.clear()
        client.inbox.append(CLOSED)

    def _sync(self, step: Step) -> None:
        for name, client in self.clients.items():
            if not client.left and (name in step.who or not step.who):
                client.barrier()

    def _gather(self, step: Step) -> None:
        """What several clients got together: for queue groups, where the choice is free."""
        self._settle_all()
        entries: Counter[Entry] = Counter()
        for name in step.who:
            inbox = self.clients[name].inbox
            if not inbox:
                raise NoAnswerError(f"{name} got nothing")
            entries.update(inbox)
            inbox.clear()
        lines: list[str] = []
        for entry, count in sorted(entries.items()):
            lines += [f"{count} times:", *entry] if count > 1 else entry
        self.gathered["|".join(step.who)] = lines

    def _await(self, step: Step) -> None:
        self.answer_seconds_max = AWAIT_SECONDS_MAX
        client = self._one(step)
        if self._recording and not client.inbox:
            client.inbox.append(client.take(AWAIT_SECONDS_MAX))


def check(scenario: Scenario, case: Case, server: Server) -> None:
    """Play the case; raise MismatchError at the first answer that is not the recorded one."""
    run = Run(scenario, server)
    items = case.seen_by(server.implementation.name)
    try:
        for item in items:
            if isinstance(item, Step):
                run.do(item)
            elif isinstance(item, Expect):
                _compare(run, item)
        try:
            run.finish()
        except NoAnswerError as error:
            raise MismatchError(case.number, [], run.take_all(), f"at the end: {error}") from None
        if more := run.take_all():
            raise MismatchError(case.number, [], more, "more came than was expected")
    finally:
        run.close()


def record(scenario: Scenario, case: Case, server: Server) -> None:
    """Play the case and put what this server answers into it, where the file is about it."""
    run = Run(scenario, server, recording=True)
    name = server.implementation.name
    steps = [item for item in case.seen_by(name) if isinstance(item, Step)]
    try:
        for at, step in enumerate(steps):
            run.do(step)
            _settle(run)
            _wait_quiet(run, LAST_QUIET_SECONDS if step is steps[-1] else QUIET_SECONDS)
            takers = takewhile(lambda other: other.verb in TAKING, steps[at + 1 :])
            left = {who for other in takers for who in other.who}
            _replace_expected(case, step, name, run.take_all(except_for=left))
        run.finish()
        if more := run.take_all():
            raise MismatchError(case.number, [], more, "a message was cut off at the end")
    finally:
        run.close()


def _compare(run: Run, expect: Expect) -> None:
    wanted: dict[str, list[str]] = {}
    for line in expect.lines:
        match = EXPECT.fullmatch(line)
        assert match is not None
        wanted.setdefault(match[1], []).append(match[2] or "")
    for name, texts in wanted.items():
        got: list[str] = []
        why = "another answer than recorded"
        try:
            if name in run.gathered:
                got = run.gathered.pop(name)
            else:
                while len(got) < len(texts) and got == texts[: len(got)]:
                    got += run.clients[name].take(run.answer_seconds_max)
        except NoAnswerError as error:
            why = str(error)
        if got != texts:
            expected = [_line(name, text) for text in texts]
            _wait_quiet(run, QUIET_SECONDS)
            received = [_line(name, text) for text in got] + run.take_all()
            raise MismatchError(expect.number, expected, received, why)


def _settle(run: Run) -> None:
    for client in run.clients.values():
        if not client.left:
            client.settle()


def _wait_quiet(run: Run, seconds: float) -> None:
    while _pump(run, seconds):
        pass


def _pump(run: Run, seconds: float) -> bool:
    open_clients = [client for client in run.clients.values() if not client.ended]
    if not open_clients:
        return False
    share_seconds = seconds / len(open_clients)
    came = [client.pump(share_seconds) for client in open_clients]  # every one, so not lazily
    return any(came)


def _replace_expected(case: Case, step: Step, name: str, lines: list[str]) -> None:
    """Put the lines between this step and the next one that this server plays.

    The reference writes the shared parts and its own, penstock only the parts that are its own.
    """
    place: int | None = None
    section: str | None = None
    after = False
    kept: list[Item] = []
    for item in case.items:
        if isinstance(item, Only):
            section = item.name
        mine = section == name or (section is None and name == REFERENCE.name)
        if isinstance(item, Step) and section in (None, name):
            after = item is step
        if after and mine and isinstance(item, Expect):
            place = len(kept) if place is None else place
            continue
        kept.append(item)
        if after and mine and (item is step or (isinstance(item, Only) and item.name == name)):
            place = len(kept)
    if lines and place is not None:
        kept.insert(place, Expect(0, lines))
    case.items[:] = kept


def _bytes_of(step: Step) -> bytes:
    return b"".join(unescape_line(text) for text in step.data)


def _line(name: str, text: str) -> str:
    return f"{name}< {text}" if text else f"{name}<"
