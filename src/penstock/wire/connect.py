"""CONNECT: what a client says about itself.

The defaults are those of a client that never sends CONNECT, as the reference has them: somebody
at a terminal, who wants to see +OK and to hear of mistakes.
"""

from typing import Annotated

import msgspec

from penstock.model.errors import PeerError, Reason


class Connect(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a client that the server knows; others are ignored."""

    verbose: bool = True
    pedantic: bool = True
    echo: bool = True
    headers: bool = False
    no_responders: bool = False
    tls_required: bool = False
    protocol: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] = 0
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
    """The options in a CONNECT line; a `PeerError` without words if it is not valid JSON.

    As the reference reads it: null is as good as absent, the case of names does not matter, and
    bytes that are no UTF-8 are replaced.
    """
    try:
        fields = parse_object(argument)
        given = {name.lower(): value for name, value in fields.items() if value is not None}
        return msgspec.convert(given, Connect)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise PeerError(Reason.PROTOCOL_VIOLATION, note=f"bad CONNECT: {error}") from None


def parse_object(argument: bytes) -> dict[str, object]:
    """A JSON object, or null for an empty one; raises what msgspec raises."""
    text = argument.decode(errors="replace")
    return msgspec.json.decode(text, type=dict[str, object] | None) or {}
