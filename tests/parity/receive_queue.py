"""How many bytes wait unread in the other end of a local connection, asked of the Linux kernel.

One exact query over netlink (sock_diag) for the peer's socket: microseconds, while reading
/proc/net/tcp takes as long as the machine has sockets. Where there is no netlink the answer is 0:
writes may then be read together, which makes a case weaker and never wrong.
"""

import socket
import struct

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST = 1
HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, process
STATES_ALL = 0xFFFFFFFF
# What follows the header of an answer: family to retransmits, the connection's id, timer.
RECEIVE_QUEUE_AT = HEADER.size + 4 + 48 + 4
ANSWER_BYTES_MAX = 4096


def peer_unread_bytes(connection: socket.socket) -> int:
    """Bytes that the process at the other end has received and not read; 0 if it is gone."""
    if not hasattr(socket, "AF_NETLINK"):
        return 0
    own_host, own_port = connection.getsockname()
    peer_host, peer_port = connection.getpeername()
    identity = struct.pack(
        "!HH16s16sIII",
        peer_port,
        own_port,
        socket.inet_aton(peer_host),
        socket.inet_aton(own_host),
        0,  # any interface
        STATES_ALL,  # no cookie, in both halves
        STATES_ALL,
    )
    request = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, STATES_ALL) + identity
    length = HEADER.size + len(request)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG) as netlink:
        netlink.send(HEADER.pack(length, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0) + request)
        answer = netlink.recv(ANSWER_BYTES_MAX)
    if HEADER.unpack_from(answer)[1] != SOCK_DIAG_BY_FAMILY:
        return 0  # an error: no such socket any more
    unread: int = struct.unpack_from("=I", answer, RECEIVE_QUEUE_AT)[0]
    return unread
