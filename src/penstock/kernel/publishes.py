"""The kernel's loops for who publishes rows: frames from Arrow's columns, answers counted."""

import enum

from penstock.kernel import _native

Publishes = _native.Publishes
PublishSubjects = _native.PublishSubjects
PublishAcks = _native.PublishAcks


class Reason(enum.IntEnum):
    """Why a row cannot be published (penstock-columns, publishes.rs)."""

    NONE = 0
    NO_SUBJECT = 1
    BAD_SUBJECT = 2
    FOREIGN_SUBJECT = 3
    RESERVED_SUBJECT = 4
    BAD_HEADER = 5
    TOO_LARGE = 6
