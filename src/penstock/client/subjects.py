"""Names that are given to the SDK, checked before anything is sent."""


def is_literal(subject: str) -> bool:
    """Whether a message can have this subject: no wildcard, no blank, no empty token."""
    tokens = subject.split(".")
    return not any(map(str.isspace, subject)) and not {"", "*", ">"} & {*tokens}


def counter_name(subject: str) -> str:
    """The subject of one counter."""
    if not is_literal(subject):
        raise ValueError(
            f"{subject!r} is no counter: its subject has no wildcard, no blank and no empty token"
            " (load_multiple and get_entries take wildcards)"
        )
    return subject


def stream_name(name: str) -> str:
    """The name of a stream, which becomes a token of the subjects that ask for it."""
    if not name or any(character.isspace() or character in ".*>/\\" for character in name):
        raise ValueError(f"{name!r} is no name of a stream: it has no blank and none of . * > / \\")
    return name
