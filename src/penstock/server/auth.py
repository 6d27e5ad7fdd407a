"""Who may come in: a token, or a user with a password.

Comparisons take the same time whatever they compare. A password may be stored as a bcrypt hash;
checking one takes a core for a tenth of a second, so `check` says when it must happen in a thread
and the connection waits for it, alone.
"""

import enum
import hmac
from typing import NamedTuple

import bcrypt

from penstock.config.options import Authorization
from penstock.wire.connect import Connect

_BCRYPT_PREFIXES = ("$2a$", "$2b$", "$2x$", "$2y$")
_BCRYPT_PASSWORD_BYTES_MAX = 72  # what the algorithm looks at


class Verdict(enum.Enum):
    ALLOWED = enum.auto()
    DENIED = enum.auto()


class HashCheck(NamedTuple):
    """A comparison that is too slow for the event loop."""

    stored: str
    given: str

    def run(self) -> Verdict:
        given = self.given.encode()[:_BCRYPT_PASSWORD_BYTES_MAX]
        try:
            matches = bcrypt.checkpw(given, self.stored.encode())
        except ValueError:
            return Verdict.DENIED
        return Verdict.ALLOWED if matches else Verdict.DENIED


def check(authorization: Authorization, connect: Connect) -> Verdict | HashCheck:
    """Whether the credentials in `connect` are good for `authorization`."""
    if connect.account:
        return Verdict.DENIED  # only servers with accounts on demand accept this field
    if not authorization.required:
        return Verdict.ALLOWED
    if authorization.token is not None:
        return _compare(authorization.token, connect.auth_token)
    for user in authorization.users:
        if user.user == connect.user:
            return _compare(user.password, connect.password)
    return Verdict.DENIED


def _compare(stored: str, given: str) -> Verdict | HashCheck:
    if stored.startswith(_BCRYPT_PREFIXES):
        return HashCheck(stored, given)
    same = hmac.compare_digest(stored.encode(), given.encode())
    return Verdict.ALLOWED if same else Verdict.DENIED
