"""CONNECT: what a client says about itself.

The defaults are those of a client that never sends CONNECT, as the reference has them: somebody
at a terminal, who wants to see +OK and to hear of mistakes.
"""

import msgspec

from penstock.model.errors import PeerError, Reason

PROTOCOLS = (0, 1)


class Connect(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a client that the server knows; others are ignored."""

    verbose: bool = True
    pedantic: bool = True
    echo: bool = True
    headers: bool = False
    no_responders: bool = False
    tls_required: bool = False
    protocol: int = 0
    name: str = ""
    lang: str = ""
    version: str = ""
    auth_token: str = ""
    user: str = ""
    password: str = msgspec.field(default="", name="pass")
    account: str = ""
    jwt: str = ""
    nkey: str = ""
    sig: str = ""


def parse_connect(argument: bytes) -> Connect:
    """The options in a CONNECT line; a `PeerError` without words if it is not valid JSON."""
    try:
        fields = msgspec.json.decode(argument, type=dict[str, object])
        given = {name: value for name, value in fields.items() if value is not None}
        connect = msgspec.convert(given, Connect)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PeerError(Reason.PROTOCOL_VIOLATION, note=f"bad CONNECT: {error}") from None
    if connect.protocol not in PROTOCOLS:
        raise PeerError(Reason.BAD_CLIENT_PROTOCOL)
    if connect.no_responders and not connect.headers:
        raise PeerError(Reason.NO_RESPONDERS_REQUIRES_HEADERS)
    return connect
