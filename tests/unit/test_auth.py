"""Who may come in."""

import bcrypt
import pytest

from penstock.config.options import Authorization, User
from penstock.server.auth import HashCheck, Verdict, check
from penstock.wire.connect import Connect

TOKEN = Authorization(token="s3cr3t")
USERS = Authorization(users=(User(user="a", password="one"), User(user="b", password="two")))


@pytest.mark.parametrize(
    ("authorization", "connect", "verdict"),
    [
        (Authorization(), Connect(), Verdict.ALLOWED),
        (Authorization(), Connect(user="x", password="y"), Verdict.ALLOWED),
        (Authorization(), Connect(account="A"), Verdict.DENIED),
        (TOKEN, Connect(auth_token="s3cr3t"), Verdict.ALLOWED),
        (TOKEN, Connect(auth_token="s3cr3"), Verdict.DENIED),
        (TOKEN, Connect(), Verdict.DENIED),
        (TOKEN, Connect(user="s3cr3t", password="s3cr3t"), Verdict.DENIED),
        (USERS, Connect(user="b", password="two"), Verdict.ALLOWED),
        (USERS, Connect(user="b", password="one"), Verdict.DENIED),
        (USERS, Connect(user="c", password="one"), Verdict.DENIED),
        (USERS, Connect(user="a"), Verdict.DENIED),
        (USERS, Connect(user="a", password="öne"), Verdict.DENIED),
    ],
)
def test_plain_credentials(
    authorization: Authorization, connect: Connect, verdict: Verdict
) -> None:
    assert check(authorization, connect) is verdict


def test_a_bcrypt_hash_is_compared_elsewhere() -> None:
    stored = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    authorization = Authorization(users=(User(user="a", password=stored),))
    right = check(authorization, Connect(user="a", password="secret"))
    wrong = check(authorization, Connect(user="a", password="Secret"))
    assert isinstance(right, HashCheck)
    assert isinstance(wrong, HashCheck)
    assert right.run() is Verdict.ALLOWED
    assert wrong.run() is Verdict.DENIED
    # Knowing the hash is not knowing the password.
    assert HashCheck(stored, stored).run() is Verdict.DENIED


def test_a_broken_hash_and_an_endless_password_are_denials_not_exceptions() -> None:
    assert HashCheck("$2a$nonsense", "x").run() is Verdict.DENIED
    stored = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    assert HashCheck(stored, "x" * 4000).run() is Verdict.DENIED
