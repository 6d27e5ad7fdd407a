"""Keys for servers that want some: nkeys, tokens of an operator's users, certificates.

What the tools of operators make (nsc, openssl) in the few lines that a test needs. The claims are
as small as the reference takes them.
"""

import base64
import json
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nkeys
import pytest

_HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}
_MESSAGING = ("subs", "data", "payload", "imports", "exports", "conn", "leaf")
_STORAGE = ("mem_storage", "disk_storage", "streams", "consumer")
_IAT = 1_700_000_000


class Key:
    """A pair of keys."""

    def __init__(self, prefix: int) -> None:
        self.seed = nkeys.encode_seed(secrets.token_bytes(32), prefix).decode()
        self._pair = nkeys.from_seed(bytearray(self.seed.encode()))
        self.public = self._pair.public_key.decode()

    def signed(self, subject: str, claims: dict[str, Any]) -> str:
        """A token about somebody, signed by this one."""
        body = {"iss": self.public, "sub": subject, "iat": _IAT, "jti": "1", "name": "test"}
        told = body | {"nats": {"version": 2, **claims}}
        text = ".".join(_encoded(json.dumps(part).encode()) for part in (_HEADER, told))
        return f"{text}.{_encoded(self._pair.sign(text.encode()))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def user_key() -> Key:
    return Key(nkeys.PREFIX_BYTE_USER)


@dataclass(frozen=True)
class Operator:
    """An operator with one account and one user of it."""

    config: str  # of a server
    jwt: str  # of the user
    seed: str


def operator() -> Operator:
    owner, user = Key(nkeys.PREFIX_BYTE_OPERATOR), user_key()
    account, system = Key(nkeys.PREFIX_BYTE_ACCOUNT), Key(nkeys.PREFIX_BYTE_ACCOUNT)
    limits = {**dict.fromkeys(_MESSAGING, -1), "wildcards": True}
    stored = limits | dict.fromkeys(_STORAGE, -1)
    known = {
        account.public: owner.signed(account.public, {"type": "account", "limits": stored}),
        system.public: owner.signed(system.public, {"type": "account", "limits": limits}),
    }
    config = (
        f"operator: {owner.signed(owner.public, {'type': 'operator'})}\n"
        f"system_account: {system.public}\nresolver: MEMORY\n"
        f"resolver_preload: {{ {', '.join(f'{key}: {token}' for key, token in known.items())} }}\n"
    )
    free = {"subs": -1, "data": -1, "payload": -1}
    return Operator(config, account.signed(user.public, {"type": "user", **free}), user.seed)


@dataclass(frozen=True)
class Certificate:
    """One that vouches for itself, for 127.0.0.1."""

    file: str
    key: str


def certificate(folder: Path) -> Certificate:
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by openssl, which is not on PATH")
    made = Certificate(str(folder / "cert.pem"), str(folder / "key.pem"))
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", made.key, "-out", made.file]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    return made
