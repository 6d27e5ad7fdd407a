"""Subjects and patterns, as far as a plan has to know them."""


def covers(pattern: str, inner: str) -> bool:
    """Whether everything that `inner` matches is matched by `pattern`."""
    outer_tokens, inner_tokens = pattern.split("."), inner.split(".")
    for place, outer in enumerate(outer_tokens):
        if place >= len(inner_tokens):
            return False
        if outer == ">":
            return True
        other = inner_tokens[place]
        if other == ">" or (outer not in ("*", other)):
            return False
    return len(outer_tokens) == len(inner_tokens)
