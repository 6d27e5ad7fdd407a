"""An object store whose reads are linearizable: nats-py's, read by direct gets of the leader.

What an object is comes from nats-py's `get_info`, which asks its context and so the leader; its
content and the list of objects go through consumers in nats-py, and are reads like any other here.
"""

import asyncio
import base64
import io
import json
from hashlib import sha256

from nats.js.api import ObjectInfo
from nats.js.errors import (
    BadObjectMetaError,
    DigestMismatchError,
    LinkIsABucketError,
    NotFoundError,
)
from nats.js.object_store import (
    OBJ_ALL_META_PRE_TEMPLATE,
    OBJ_CHUNKS_PRE_TEMPLATE,
    OBJ_DIGEST_TYPE,
    ObjectStore,
)

from penstock.client.stream import Stream


class LinearizableObjectStore(ObjectStore):
    """A store opened or created with `linearizable_reads=True`; otherwise as nats-py's.

    ```python
    pictures = await js.create_object_store("PICTURES", linearizable_reads=True)
    await pictures.put("sunset", b"much of it" * 100_000)
    print(len((await pictures.get("sunset")).data))
    ```
    """

    def __init__(self, store: ObjectStore, stream: Stream) -> None:
        super().__init__(store._name, store._stream, store._js)
        self._messages = stream

    async def get(
        self,
        name: str,
        writeinto: io.BufferedIOBase | None = None,
        show_deleted: bool | None = False,
    ) -> ObjectStore.ObjectResult:
        """An object: its content in `data`, or in a file that was given.

        ```python
        letters = await js.create_object_store("LETTERS", linearizable_reads=True)
        await letters.put("first", b"Dear reader")
        print((await letters.get("first")).data)
        ```
        """
        info = await self.get_info(name, show_deleted)
        if not info.nuid:
            raise BadObjectMetaError
        if info.is_link():
            return await self._linked(info)
        content, digest = bytearray(), sha256()
        chunks = OBJ_CHUNKS_PRE_TEMPLATE.format(bucket=self._name, obj=info.nuid)
        async for message in self._messages.get_msgs(chunks):
            chunk = message.data or b""
            digest.update(chunk)
            if writeinto is None:
                content += chunk
            else:
                await asyncio.get_running_loop().run_in_executor(None, writeinto.write, chunk)
        if info.size and digest.digest() != _digest(info):
            raise DigestMismatchError
        return self.ObjectResult(info=info, data=bytes(content))

    async def list(self, ignore_deletes: bool = False) -> list[ObjectInfo]:
        """What the store has; `NotFoundError` of nats-py if that is nothing.

        ```python
        notes = await js.create_object_store("NOTES", linearizable_reads=True)
        await notes.put("first", b"Dear reader")
        print([info.name for info in await notes.list()])
        ```
        """
        everything = OBJ_ALL_META_PRE_TEMPLATE.format(bucket=self._name)
        entries = [
            ObjectInfo.from_response(json.loads(message.data or b"{}"))
            async for message in self._messages.get_last_msgs([everything])
        ]
        if ignore_deletes:
            entries = [entry for entry in entries if not entry.deleted]
        if not entries:
            raise NotFoundError
        return entries

    async def _linked(self, info: ObjectInfo) -> ObjectStore.ObjectResult:
        link = info.options.link if info.options else None
        if link is None or not link.name:
            raise LinkIsABucketError
        other = await self._js.object_store(link.bucket)
        return await other.get(link.name)


def _digest(info: ObjectInfo) -> bytes:
    return base64.urlsafe_b64decode((info.digest or "").removeprefix(OBJ_DIGEST_TYPE))
