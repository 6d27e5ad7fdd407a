"""The hub against the broker of `model_subjects`, over long histories.

Each step is a turn with frames of several clients (subscribe, unsubscribe, publish, leave), or a
change between turns. The model goes through the same frames one by one, so everything the kernel
does in bulk (groups, runs, shared rendering, remembered routes) must look as if it had done them
one by one. Subjects are few, so the same ones come again across changes.
"""

from collections import Counter
from itertools import chain, count, pairwise
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.kernel.hub import Frame, Interest, Traffic, Verb
from tests.properties.deliveries import read_deliveries
from tests.properties.hub_walk import Walked, open_client, publish_frame, small_hub, walk
from tests.properties.model_subjects import Broker, Client, Delivery, Message

ACCOUNTS = 2
CLIENTS_MAX = 6
SUBJECTS = st.sampled_from([b"a", b"a.b", b"a.c", b"b.b", b"b", b"a..b", b"a.*", b"_R.1", b"svc.x"])
PATTERNS = st.sampled_from(
    [b"a", b"a.b", b"a.*", b"*.b", b">", b"a.>", b"*", b"_R.*", b"svc.*", b"b..", b"a.>.b"]
)
SIDS = st.sampled_from([b"1", b"2", b"3", b"x9"])
QUEUES = st.none() | st.sampled_from([b"q", b"r"])


class Subscribe(NamedTuple):
    pattern: bytes
    queue: bytes | None
    sid: bytes

    def wire(self, _serial: int) -> bytes:
        return b"SUB %s %s %s\r\n" % (self.pattern, self.queue or b"", self.sid)


class Unsubscribe(NamedTuple):
    sid: bytes
    maximum: int

    def wire(self, _serial: int) -> bytes:
        return b"UNSUB %s %d\r\n" % (self.sid, self.maximum)


class Publish(NamedTuple):
    subject: bytes
    reply: bytes
    header_bytes: int
    body_bytes: int

    def message(self, serial: int) -> Message:
        body = b"%d;" % serial + b"x" * self.body_bytes
        return Message(self.subject, self.reply, b"H" * self.header_bytes, body)

    def wire(self, serial: int) -> bytes:
        message = self.message(serial)
        words = [message.subject, message.reply, b"%d" % len(message.payload)]
        if self.header_bytes:
            words.insert(2, b"%d" % self.header_bytes)
        verb = b"HPUB " if self.header_bytes else b"PUB "
        return verb + b" ".join(words) + b"\r\n" + message.payload + b"\r\n"


class Leave(NamedTuple):
    def wire(self, _serial: int) -> bytes:
        return b"-ERR 'bye'\r\n"


PUBLISHES = st.builds(
    Publish,
    SUBJECTS,
    st.sampled_from([b"", b"", b"_R.1"]),
    st.sampled_from([0, 0, 7]),
    st.sampled_from([0, 1, 3900]),
)
OPERATIONS = st.one_of(
    PUBLISHES,
    PUBLISHES,
    PUBLISHES,
    st.builds(Subscribe, PATTERNS, QUEUES, SIDS),
    st.builds(Unsubscribe, SIDS, st.integers(0, 4)),
)
# A stretch of one operation again and again is what runs are made of.
STRETCHES = st.builds(lambda one, times: [one] * times, OPERATIONS, st.sampled_from([1, 1, 2, 4]))
PARTS = st.lists(STRETCHES, min_size=1, max_size=5).map(lambda parts: list(chain(*parts)))
TURNS = st.lists(st.tuples(st.integers(0, 99), PARTS, st.booleans()), min_size=1, max_size=4)
Operation = Subscribe | Unsubscribe | Publish | Leave


class HubMachine(RuleBasedStateMachine):
    """Clients come, talk and go; the hub and the broker are told the same."""

    def __init__(self) -> None:
        super().__init__()
        self.hub = small_hub(accounts=ACCOUNTS)
        self.broker = Broker()
        self.ids: dict[int, int] = {}  # the hub's id of each of the broker's clients
        self.gone: list[int] = []
        self.labels = count()
        self.serials = count()
        self.received: dict[int, list[Delivery]] = {}

    @initialize()
    def serve(self) -> None:
        self.hub.add_target(0, b"svc.>", 5)
        self.broker.targets.append((0, b"svc.>", 5))
        for _ in range(2):
            self.arrive(0, True, True, True, False)

    @precondition(lambda self: len(self.ids) < CLIENTS_MAX)
    @rule(
        account=st.integers(0, ACCOUNTS - 1),
        bulk=st.booleans(),
        echo=st.booleans(),
        headers=st.booleans(),
        no_responders=st.booleans(),
    )
    def arrive(
        self, account: int, bulk: bool, echo: bool, headers: bool, no_responders: bool
    ) -> None:
        label = next(self.labels)
        self.ids[label] = open_client(
            self.hub,
            account=account,
            bulk=bulk,
            echo=echo,
            headers=headers,
            no_responders=no_responders,
        )
        self.broker.clients[label] = Client(account, echo, headers, no_responders)

    @precondition(lambda self: len(self.ids) > 1)
    @rule(who=st.integers(0, 99))
    def depart(self, who: int) -> None:
        self.leave(self.pick(who))

    @rule(who=st.integers(0, 99), account=st.integers(0, ACCOUNTS - 1), echo=st.booleans())
    def move(self, who: int, account: int, echo: bool) -> None:
        """Another account from now on; what it subscribed to stays where it is."""
        label = self.pick(who)
        client = self.broker.clients[label]
        client.account, client.echo = account, echo
        self.hub.switch(self.ids[label], account, True, echo, client.headers, client.no_responders)

    @rule(account=st.integers(0, ACCOUNTS - 1), publish=PUBLISHES)
    def server_publishes(self, account: int, publish: Publish) -> None:
        message = publish.message(next(self.serials))
        heard = self.hub.publish(account, *message)
        seen = self.receive()
        targets = self.broker.targets_of(account, message.subject)
        # Parts of the server do not hear the server.
        assert (self.broker.publish(account, message, seen)) == (heard or bool(targets))
        assert not seen

    @rule(turn=TURNS)
    def talk(self, turn: list[tuple[int, list[Operation], bool]]) -> None:
        said: list[tuple[int, Operation, int]] = []
        self.hub.begin(1)
        self.received = {label: [] for label in self.ids}
        waiting = list(self.ids)
        for who, operations, leaves in turn:
            if not waiting:
                break
            label = waiting.pop(who % len(waiting))
            parts = [*operations, *([Leave()] if leaves and len(waiting) > 2 else [])]
            parts = [self.spoken_by(label, part) for part in parts]
            numbered = [(label, part, next(self.serials)) for part in parts]
            data = b"".join(part.wire(serial) for _, part, serial in numbered)
            assert self.hub.feed(self.ids[label], data) == len(data)
            said += numbered
        walked = walk(self.hub, self.look)
        self.compare(said, walked)

    @rule(publish=PUBLISHES, times=st.sampled_from([1, 2, 9]))
    def chorus(self, publish: Publish, times: int) -> None:
        """Everybody says the same: one route, but not one publisher."""
        said: list[Operation] = [publish] * times
        self.talk([(0, said, False) for _ in self.ids])

    def spoken_by(self, label: int, operation: Operation) -> Operation:
        """A client without headers publishes without them."""
        if isinstance(operation, Publish) and not self.broker.clients[label].headers:
            return operation._replace(header_bytes=0)
        return operation

    def look(self, index: int, frame: Frame, walked: Walked) -> None:
        if frame.verb in (Verb.PUBLISH, Verb.PUBLISH_WITH_HEADERS):
            publish_frame(self.hub, index, walked)
        elif frame.verb == Verb.SUBSCRIBE:
            self.hub.subscribe(frame.connection, frame.subject, frame.reply or None, frame.payload)
        elif frame.verb == Verb.UNSUBSCRIBE:
            self.hub.unsubscribe(frame.connection, frame.payload, int(frame.reply))
        else:
            assert frame.verb == Verb.ERR
            label = next(label for label, own in self.ids.items() if own == frame.connection)
            self.received[label] += read_deliveries(self.hub.take(frame.connection))
            assert self.hub.close(frame.connection)

    def compare(self, said: list[tuple[int, Operation, int]], walked: Walked) -> None:
        for label, connection in self.ids.items():
            self.received[label] += read_deliveries(self.hub.take(connection))
        self.check_order(said)
        seen = Counter((label, one) for label, all_ in self.received.items() for one in all_)
        unanswered: list[Message] = []
        served: list[tuple[int, Message]] = []
        for label, operation, serial in said:
            if isinstance(operation, Publish):
                message = operation.message(serial)
                client = self.broker.clients[label]
                client.messages_in += 1
                client.bytes_in += len(message.payload)
                heard = self.broker.publish(client.account, message, seen, label)
                if client.no_responders and message.reply and not heard:
                    unanswered.append(message)
                targets = self.broker.targets_of(client.account, message.subject)
                served += [(target, message) for target in targets]
            elif isinstance(operation, Subscribe):
                self.broker.subscribe(label, *operation)
            elif isinstance(operation, Unsubscribe):
                self.broker.unsubscribe(label, *operation)
            else:
                self.broker.close(label)
                self.gone.append(self.ids.pop(label))
        assert not seen, f"received, but not for them: {seen}"
        assert [message_of(frame) for frame in walked.unanswered] == unanswered
        assert [(target, message_of(frame)) for target, frame in walked.served] == served

    def check_order(self, said: list[tuple[int, Operation, int]]) -> None:
        """Each subscription hears in order of arrival; so does each client, as far as subjects
        differ (frames in a row with one subject are delivered subscription by subscription)."""
        runs: dict[int, int] = {}
        last: tuple[int, bytes] | None = None
        for label, operation, serial in said:
            key = (label, operation.subject) if isinstance(operation, Publish) else None
            runs[serial] = len(runs) if key is None or key != last else runs[serial - 1]
            last = key
        for deliveries in self.received.values():
            heard = [(one.sid, int(one.message.body.split(b";")[0])) for one in deliveries]
            for sid in {sid for sid, _ in heard}:
                own = [serial for other, serial in heard if other == sid]
                assert own == sorted(set(own)), (sid, own)
            assert all(runs[one] <= runs[two] for (_, one), (_, two) in pairwise(heard)), heard

    def receive(self) -> Counter[tuple[int, Delivery]]:
        seen: Counter[tuple[int, Delivery]] = Counter()
        for label, connection in self.ids.items():
            seen.update((label, one) for one in read_deliveries(self.hub.take(connection)))
        return seen

    def pick(self, who: int) -> int:
        return list(self.ids)[who % len(self.ids)]

    def leave(self, label: int) -> None:
        connection = self.ids.pop(label)
        assert self.hub.close(connection)
        self.gone.append(connection)
        self.broker.close(label)

    @invariant()
    def counters_agree(self) -> None:
        for label, connection in self.ids.items():
            columns = self.hub.traffic(connection)
            assert columns is not None
            traffic, client = Traffic(*columns), self.broker.clients[label]
            rows = [row for row in self.broker.subscriptions if row.client == label]
            assert traffic.messages_in == client.messages_in
            assert traffic.bytes_in == client.bytes_in
            assert traffic.messages_out == client.messages_out
            assert (traffic.subscriptions, traffic.pending_bytes) == (len(rows), 0)
            interests = {Interest(*columns) for columns in self.hub.interests(connection)}
            assert interests == {
                Interest(row.pattern, row.queue, row.sid, row.delivered, row.delivered_max)
                for row in rows
            }
            sids = self.hub.own_sids(connection, b"a.b")
            assert sorted(sids) == self.broker.own_sids(label, b"a.b")

    @invariant()
    def listeners_agree(self) -> None:
        for account in range(ACCOUNTS):
            rows = [row for row in self.broker.subscriptions if row.account == account]
            targets = [one for one in self.broker.targets if one[0] == account]
            assert self.hub.listeners(account) == len(rows) + len(targets)

    @invariant()
    def the_gone_stay_gone(self) -> None:
        for connection in self.gone[-5:]:
            assert self.hub.traffic(connection) is None
            assert self.hub.feed(connection, b"PING\r\n") == 0


def message_of(frame: Frame) -> Message:
    headers, body = frame.payload[: frame.header_bytes], frame.payload[frame.header_bytes :]
    return Message(frame.subject, frame.reply, headers, body)


HubMachine.TestCase.settings = settings(max_examples=200, stateful_step_count=25, deadline=None)
TestHub = HubMachine.TestCase
