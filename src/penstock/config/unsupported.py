"""Keys and flags nats-server has and penstock has not, as data: a clear no instead of a guess.

A key that nobody knows is a typing error; one of these is a configuration that was written for
nats-server, and its owner deserves to hear that the feature is missing, and whether it will come.
"""

NEVER = "not supported by penstock"
LATER = "not supported by penstock yet"

TOP_LEVEL_KEYS = dict.fromkeys(
    (
        "gateway",
        "leaf",
        "leafnodes",
        "mqtt",
        # Trust by JWT, and certificates checked online.
        "operator",
        "operators",
        "root",
        "roots",
        "root_operator",
        "root_operators",
        "resolver",
        "account_resolver",
        "accounts_resolver",
        "resolver_tls",
        "resolver_preload",
        "resolver_pinned_accounts",
        "trusted",
        "trusted_keys",
        "default_sentinel",
        "ocsp",
        "ocsp_cache",
        # Logging to the system, profiling of Go, proxies.
        "syslog",
        "remote_syslog",
        "prof_port",
        "prof_block_rate",
        "proxies",
        "proxy_protocol",
        "default_js_domain",
        "feature_flags",
        "no_fast_producer_stall",
        "write_timeout",
    ),
    NEVER,
) | dict.fromkeys(
    (
        "cluster",
        "tls",
        "allow_non_tls",
        "https",
        "https_port",
        "websocket",
        "ws",
        "accounts",
        "mappings",
        "maps",
        "no_auth_user",
        "system",
        "system_account",
        "no_system",
        "no_system_account",
        "no_sys_acc",
        "server_tags",
        "server_metadata",
        "connect_error_reports",
        "reconnect_error_reports",
        "max_closed_clients",
        "max_sub_tokens",
        "max_subscription_tokens",
        "max_traced_msg_len",
        "trace_headers",
        "logtime_utc",
        "logfile_size_limit",
        "log_size_limit",
        "logfile_max_num",
        "log_max_num",
    ),
    LATER,
)

AUTHORIZATION_KEYS = {
    "auth_callout": NEVER,
    "auth_hook": NEVER,
    "proxy_required": NEVER,
    "default_permission": LATER,
    "default_permissions": LATER,
    "permissions": LATER,
}

USER_KEYS = {
    "nkey": LATER,
    "permission": LATER,
    "permissions": LATER,
    "authorization": LATER,
    "allowed_connection_types": LATER,
    "connection_types": LATER,
    "clients": LATER,
    "proxy_required": NEVER,
}

# Encryption at rest: accepting the key and storing plain text would be worse than a no.
JETSTREAM_KEYS = dict.fromkeys(
    (
        "key",
        "ek",
        "encryption_key",
        "prev_key",
        "prev_ek",
        "prev_encryption_key",
        "cipher",
        "tpm",
    ),
    NEVER,
)

FLAGS = dict.fromkeys(
    ("sl", "signal", "s", "syslog", "r", "remote_syslog", "profile", "help_tls"),
    NEVER,
) | dict.fromkeys(
    (
        "cluster",
        "cluster_listen",
        "cluster_name",
        "cluster_advertise",
        "routes",
        "no_advertise",
        "connect_retries",
        "tls",
        "tlsverify",
        "tlscert",
        "tlskey",
        "tlscacert",
        "ms",
        "https_port",
        "log_size_limit",
        "logtime_utc",
        "max_traced_msg_len",
    ),
    LATER,
)
