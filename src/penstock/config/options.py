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


class JetStreamLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`jetstream.limits`: None is the server's own default."""

    max_ack_pending: int | None = None
    max_ha_assets: int | None = None
    max_request_batch: int | None = None
    duplicate_window_ns: int | None = None
    batch_max_inflight_per_stream: int | None = None
    batch_max_inflight_total: int | None = None
    batch_max_msgs: int | None = None
    batch_timeout_ns: int | None = None


class JetStreamSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `jetstream` block, checked today and served from the next release on.

    None is the server's own default; sizes are bytes, and -1 leaves a size to the server.
    """

    domain: str | None = None
    strict: bool = True
    sync_interval_ns: int | None = None  # None: always, synced before the acknowledgement
    max_memory: int | None = None
    max_file: int | None = None
    unique_tag: str | None = None
    extension_hint: str | None = None
    max_outstanding_catchup: int | None = None
    max_buffered_size: int | None = None
    max_buffered_msgs: int | None = None
    request_queue_limit: int | None = None
    info_queue_limit: int | None = None
    meta_compact: int | None = None
    meta_compact_size: int | None = None
    meta_compact_sync: bool = False
    max_concurrent_io: int | None = None
    limits: JetStreamLimits = JetStreamLimits()


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
    store_is_temporary: bool = False  # it goes with the server: no space is kept in reserve
    jetstream_settings: JetStreamSettings = JetStreamSettings()
    # Logging and files for tools.
    debug: bool = False
    trace: bool = False
    log_time: bool = True
    log_file: Path | None = None
    pid_file: Path | None = None
    ports_file_dir: Path | None = None
