"""What a write refuses, before its job or at a row, in words that say what to do."""


class SinkError(Exception):
    """Rows cannot be written as asked; nothing of the row in question is stored."""


class ServerSilentError(Exception):
    """A server has not answered for longer than a task waits; Spark may try the task again."""


class LostLinkError(Exception):
    """The connection is gone; what had no answer may be stored or not."""
