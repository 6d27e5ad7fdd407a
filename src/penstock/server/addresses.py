"""Addresses as people and tools read them: IPv6 in brackets, and real ones for "everywhere"."""

import socket

_EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 -- compared with, not bound to


def host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reachable_hosts(host: str) -> list[str]:
    """Where a server that listens on `host` can be reached from this machine."""
    if host not in _EVERYWHERE:
        return [host]
    hosts = ["127.0.0.1"]
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    except OSError:
        return hosts
    hosts += [str(address[0]) for *_, address in found if address[0] not in hosts]
    return list(dict.fromkeys(hosts))
