"""The `authorization` block: one token, one user, or an array of users, never two of them.

The reference takes a password without a user and then asks nobody for it; here that is an error.
A timeout is seconds, whole or not, or a duration.
"""

from typing import Any

import msgspec

from penstock.config.bounds import AUTH_TIMEOUT_HIGH_NS, INTEGER_MAX
from penstock.config.options import Authorization, User
from penstock.config.problems import Position
from penstock.config.readers import SECOND_NS, duration_of, refuse_unit, string_of
from penstock.config.report import (
    Changes,
    Reader,
    Report,
    block_of,
    read_block,
    wrong_type,
    wrong_value,
)
from penstock.config.tree import Block, Entry, Node
from penstock.config.unsupported import AUTHORIZATION_KEYS, USER_KEYS


def authorization(entry: Entry, report: Report) -> Changes:
    """The reader of the block at the top level."""
    block = block_of(entry)
    changes = read_block(block, READERS, AUTHORIZATION_KEYS, report)
    name, password = changes.pop("user", ""), changes.pop("password", "")
    users: tuple[User, ...] | None = changes.get("users")
    token: str | None = changes.get("token")
    conflict = ""
    if (name or password) and token:
        conflict = "can not have a user and a token: keep one of them"
    elif users is not None and (name or password):
        conflict = "can not have a single user and an array of users: add the user to the array"
    elif users is not None and token:
        conflict = "can not have a token and an array of users: keep one of them"
    elif password and not name:
        conflict = "has a password without a user: nobody would be asked for it"
    if conflict:
        report.problem(entry.position, f"{entry.key} {conflict}")
    if name:
        changes["users"] = (User(user=name, password=password),)
    return {"authorization": msgspec.structs.replace(Authorization(), **changes)}


def plain(field: str) -> Reader:
    return lambda entry, _report: {field: string_of(entry)}


def token(entry: Entry, _report: Report) -> Changes:
    return {"token": string_of(entry) or None}


def timeout(entry: Entry, report: Report) -> Changes:
    value = entry.node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        value_ns = duration_of(entry)
    else:
        refuse_unit(entry)
        if not 0 <= value <= INTEGER_MAX // SECOND_NS:
            raise wrong_value(entry, "must not be negative, and fit into 64 bits of nanoseconds")
        value_ns = round(value * SECOND_NS)
    if value_ns > AUTH_TIMEOUT_HIGH_NS:
        report.warning(entry.position, f"{entry.key} is high: keep it under 60 seconds")
    return {"timeout_ns": value_ns} if value_ns else {}


def users(entry: Entry, report: Report) -> Changes:
    if not isinstance(entry.node.value, tuple):
        raise wrong_type(entry, "an array of { user, password } blocks")
    found: dict[str, User] = {}
    for node in entry.node.value:
        member = user(entry, node, report)
        if member is None:
            continue
        if member.user in found:
            report.problem(node.position, f"user {member.user!r} is in the array twice")
        found[member.user] = member
    return {"users": tuple(found.values())}


def user(entry: Entry, node: Node, report: Report) -> User | None:
    if not isinstance(node.value, Block):
        message = f"each of {entry.key} must be a block in braces, not {node.kind}"
        report.problem(node.position, message)
        return None
    problems_before = len(report.problems)
    changes = read_block(node.value, USER_READERS, USER_KEYS, report)
    if len(report.problems) > problems_before:
        return None
    return named_user(changes, node.position, report)


def named_user(changes: dict[str, Any], position: Position, report: Report) -> User | None:
    if not changes.get("user"):
        report.problem(position, "the entry has no user: add user and password")
        return None
    return User(user=changes["user"], password=changes.get("password", ""))


USER_READERS: dict[str, Reader] = {
    "user": plain("user"),
    "username": plain("user"),
    "pass": plain("password"),
    "password": plain("password"),
}

READERS: dict[str, Reader] = USER_READERS | {"token": token, "timeout": timeout, "users": users}
