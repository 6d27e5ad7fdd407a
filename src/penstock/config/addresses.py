"""Addresses as text: "host:port", ":port" and "[IPv6]:port".

Files and flags share it, so it stands apart from the readers: they need the grammar's library,
which a server without a configuration file never loads. Nothing is resolved here.
"""

import re

from penstock.config.bounds import PORT_MAX

PORT_TEXT = re.compile(r"-?[0-9]{1,6}")


def split_address(text: str) -> tuple[str, int] | None:
    """Host and port; an IPv6 host stands in brackets. None if `text` is neither."""
    name, colon, number = text.rpartition(":")
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    elif ":" in name:
        return None
    if not colon or not PORT_TEXT.fullmatch(number) or re.search(r"[\s\[\]]", name):
        return None
    return name, int(number)


def advertisable(text: str) -> bool:
    parts = split_address(text) or split_address(f"{text}:0")
    return parts is not None and parts[0] != "" and -1 <= parts[1] <= PORT_MAX
