"""INFO: what the server says about itself, first to every connection and again when it changes.

The keys and their order are the reference's; `penstock_version` is ours and stands last.
"""

import msgspec


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One INFO. Values left at their default are not sent."""

    server_id: str
    server_name: str
    version: str
    proto: int
    go: str
    host: str
    port: int
    headers: bool
    auth_required: bool = False
    max_payload: int
    jetstream: bool = False
    client_id: int = 0
    client_ip: str = ""
    connect_urls: tuple[str, ...] = ()
    lame_duck_mode: bool = msgspec.field(default=False, name="ldm")
    connect_info: bool = False
    remote_account: str = ""
    api_level: int = msgspec.field(default=0, name="api_lvl")
    penstock_version: str


_ENCODER = msgspec.json.Encoder()


def render_info(info: ServerInfo) -> bytes:
    return b"INFO " + _ENCODER.encode(info) + b" \r\n"
