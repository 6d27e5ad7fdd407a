"""Queue groups spread messages evenly: what a text with fixed output cannot say.

The bounds are eight standard deviations of a fair choice wide, so chance never fails the test.
"""

from tests.parity.client import Client
from tests.parity.servers import Server

MEMBERS = 3
MESSAGES = 3000
DEVIATION_MAX = 8 * (MESSAGES * (1 / MEMBERS) * (1 - 1 / MEMBERS)) ** 0.5


def counts(server: Server, group: bytes) -> list[int]:
    """How many messages each member of a group got, from one publisher."""
    members = [Client(server) for _ in range(MEMBERS)]
    publisher = Client(server)
    for client in [*members, publisher]:
        client.send(b'CONNECT {"verbose":false}\r\n')
        client.barrier()
        client.inbox.clear()  # INFO
    for member in members:
        member.send(b"SUB spread " + group + b" 1\r\n")
        member.barrier()
    publisher.send(b"PUB spread 2\r\nhi\r\n" * MESSAGES)
    publisher.barrier()
    got: list[int] = []
    for member in members:
        member.barrier()
        got.append(sum(entry == ("MSG spread 1 2", "hi") for entry in member.inbox))
    for client in [*members, publisher]:
        client.close()
    return got


def test_members_of_a_group_get_equal_shares(both: Server) -> None:
    got = counts(both, b"workers")
    assert sum(got) == MESSAGES
    assert all(abs(count - MESSAGES / MEMBERS) < DEVIATION_MAX for count in got), got
