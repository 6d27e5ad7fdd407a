"""A key-value bucket whose reads are linearizable: nats-py's, read by direct gets of the leader.

`get` is nats-py's own; it asks its context, which sends it to the leader. Listing keys and history
go through consumers in nats-py; here they are reads like any other. Watching stays what it is: a
subscription, which tells what happens from some moment on.
"""

from nats.js.api import RawStreamMsg
from nats.js.errors import NoKeysError
from nats.js.kv import KV_DEL, KV_MARKER_REASON, KV_OP, KV_PURGE, KeyValue

from penstock.client.stream import Stream

_REMOVED = "Remove"  # of the reasons of a marker that a server places; all others are purges


class LinearizableKeyValue(KeyValue):
    """A bucket opened or created with `linearizable_reads=True`; otherwise as nats-py's.

    ```python
    settings = await js.create_key_value(bucket="SETTINGS", linearizable_reads=True)
    await settings.put("colour", b"green")
    print((await settings.get("colour")).value)
    ```
    """

    def __init__(self, bucket: KeyValue, stream: Stream) -> None:
        super().__init__(
            bucket._name, bucket._stream, bucket._pre, bucket._js, direct=bucket._direct
        )
        self._messages = stream

    async def keys(self, filters: list[str] | None = None, **_options: object) -> list[str]:
        """The keys that have a value; with filters, those that contain one of them.

        ```python
        settings = await js.create_key_value(bucket="KEYS", linearizable_reads=True)
        await settings.put("colour", b"green")
        print(await settings.keys())
        ```
        """
        keys = [
            self._key(message)
            async for message in self._messages.get_last_msgs([f"{self._pre}>"])
            if _operation(message) is None
        ]
        if filters:
            keys = [key for key in keys if any(part in key for part in filters)]
        if not keys:
            raise NoKeysError
        return keys

    async def history(self, key: str) -> list[KeyValue.Entry]:
        """All values of a key that the bucket still has, the oldest first.

        ```python
        settings = await js.create_key_value(
            bucket="PAST", history=5, linearizable_reads=True
        )
        for colour in (b"green", b"blue"):
            await settings.put("colour", colour)
        print([entry.value for entry in await settings.history("colour")])
        ```
        """
        messages = [message async for message in self._messages.get_msgs(f"{self._pre}{key}")]
        if not messages:
            raise NoKeysError
        return [
            KeyValue.Entry(
                bucket=self._name,
                key=self._key(message),
                value=message.data,
                revision=message.seq,
                delta=len(messages) - place,
                created=message.time,  # type: ignore[arg-type] # as in nats-py's own
                operation=_operation(message),
            )
            for place, message in enumerate(messages, 1)
        ]

    def _key(self, message: RawStreamMsg) -> str:
        return (message.subject or "").removeprefix(self._pre)


def _operation(message: RawStreamMsg) -> str | None:
    """How a key was removed; None if the message has its value."""
    headers = message.headers or {}
    if KV_OP in headers:
        return str(headers[KV_OP])
    if reason := headers.get(KV_MARKER_REASON):
        return KV_DEL if reason == _REMOVED else KV_PURGE
    return None
