"""Fills a stream through one socket, as fast as it is stored and no faster.

Nobody waits for each message, but the last one of every piece asks for an answer, and few pieces
are ahead of that: a server whose disk falls behind refuses messages, and tells nobody who does not
ask.
"""

import socket
from collections.abc import Iterable

ANSWERS = b"ack"  # the reply subject of the last message of a piece
PIECES_AHEAD = 4


def pour(port: int, pieces: Iterable[bytes]) -> None:
    """Returns when all of it is stored; each piece has one message with a reply, its last."""
    with socket.create_connection(("127.0.0.1", port)) as link, link.makefile("rb") as lines:
        link.sendall(b'CONNECT {"verbose":false,"pedantic":false,"headers":true}\r\n')
        link.sendall(b"SUB %b 1\r\n" % ANSWERS)
        unanswered = 0
        for piece in pieces:
            link.sendall(piece)
            unanswered += 1
            while unanswered > PIECES_AHEAD:
                unanswered -= _is_answer(lines.readline())
        while unanswered:
            unanswered -= _is_answer(lines.readline())


def _is_answer(line: bytes) -> bool:
    if not line or line.startswith(b"-ERR"):
        raise SystemExit(f"the server ended it: {line.decode() or 'closed'}")
    return line.startswith(b"MSG ")
