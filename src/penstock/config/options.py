"""Everything a server can be told, with its default: the one result of flags and configuration.

`Options` is a value: flags and files produce a new one, the running server never changes it.
"""

from pathlib import Path

import msgspec

from penstock.model import limits


class User(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `authorization.users`; the password may be plain text or a bcrypt hash."""

    user: str
    password: str


class Authorization(msgspec.Struct, frozen=True, kw_only=True):
    """Who may connect. No token and no users: everybody."""

    token: str | None = None
    users: tuple[User, ...] = ()
    timeout_ns: int = limits.AUTH_TIMEOUT_NS

    @property
    def required(self) -> bool:
        return self.token is not None or bool(self.users)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration of a server, after defaults, file and flags were merged."""

    # Where to listen. Port -1 asks the system for a free one.
    host: str = "0.0.0.0"  # noqa: S104 -- the reference's default
    port: int = 4222
    client_advertise: str | None = None
    server_name: str | None = None  # None: the server id stands in, as the reference
    # HTTP monitoring: None is off, -1 a random port.
    http_host: str | None = None  # None: the same as host
    http_port: int | None = None
    http_base_path: str = "/"
    # Who may connect.
    authorization: Authorization = Authorization()
    # Limits; limits.py has the reasons.
    max_payload: int = limits.PAYLOAD_BYTES_MAX
    max_control_line: int = limits.CONTROL_LINE_BYTES_MAX
    max_connections: int = limits.CONNECTIONS_MAX
    max_subscriptions: int = limits.SUBSCRIPTIONS_MAX
    max_pending: int = limits.PENDING_BYTES_MAX
    write_deadline_ns: int = limits.WRITE_DEADLINE_NS
    ping_interval_ns: int = limits.PING_INTERVAL_NS
    ping_max: int = limits.PINGS_OUT_MAX
    no_header_support: bool = False
    disable_sublist_cache: bool = False
    lame_duck_duration_ns: int = limits.LAME_DUCK_DURATION_NS
    lame_duck_grace_ns: int = limits.LAME_DUCK_GRACE_NS
    # JetStream, served from the next release on: the flags are accepted from the first day.
    jetstream: bool = False
    store_dir: Path | None = None
    # Logging and files for tools.
    debug: bool = False
    trace: bool = False
    log_time: bool = True
    log_file: Path | None = None
    pid_file: Path | None = None
    ports_file_dir: Path | None = None
