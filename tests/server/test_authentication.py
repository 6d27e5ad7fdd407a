"""Authentication as a client meets it; the bytes of wrong credentials are parity scenarios."""

import bcrypt

from tests.parity.servers import PENSTOCK, Server
from tests.server.peer import Peer

LOGIN = b'CONNECT {"verbose":false,"pedantic":false,"user":"%s","pass":"%s"}\r\n'
ATTEMPTS_MAX = 5  # a machine may stop the test for as long as a password takes


def config(rounds: int) -> str:
    stored = bcrypt.hashpw(b"secret", bcrypt.gensalt(rounds)).decode()
    return (
        'authorization { users: [ {user: "slow", password: "' + stored + '"}, '
        '{user: "quick", password: "plain"} ], timeout: 30 }'
    )


def test_frames_behind_a_slow_password_wait_for_it_and_keep_their_order() -> None:
    with Server(PENSTOCK, config=config(8)) as server:
        peer = Peer(server.port, greeting=b"")
        peer.send(LOGIN % (b"slow", b"secret") + b"SUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\n")
        assert peer.until(b"PONG\r\n") == [b"MSG a 1 2\r\n", b"hi\r\n"]


def test_a_slow_password_that_is_wrong_closes_and_nothing_behind_it_counts() -> None:
    with Server(PENSTOCK, config=config(8)) as server:
        listener = Peer(server.port, LOGIN % (b"quick", b"plain") + b"SUB a 1\r\nPING\r\n")
        peer = Peer(server.port, greeting=b"")
        peer.send(LOGIN % (b"slow", b"wrong") + b"PUB a 2\r\nhi\r\nPING\r\n")
        assert peer.closed() == b"-ERR 'Authorization Violation'\r\n"
        assert listener.barrier() == []


def test_others_are_served_while_a_password_is_checked() -> None:
    """Thirteen rounds take a good part of a second; a round trip meanwhile must come first."""
    with Server(PENSTOCK, config=config(13)) as server:
        quick = Peer(server.port, LOGIN % (b"quick", b"plain") + b"SUB done 1\r\nPING\r\n")
        for _ in range(ATTEMPTS_MAX):
            slow = Peer(server.port, greeting=b"")
            slow.send(LOGIN % (b"slow", b"secret") + b"PUB done 0\r\n\r\nPING\r\n")
            meanwhile = quick.barrier()
            slow.until(b"PONG\r\n")
            if not meanwhile:
                break
        assert meanwhile == []  # answered before the slow one got in
        assert quick.barrier() == [b"MSG done 1 0\r\n", b"\r\n"]
