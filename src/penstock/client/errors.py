"""What a server refuses, as exceptions with its codes; and what the client finds out by itself.

Every refusal is one of nats-py's own `APIError`s too (most are `BadRequestError`), so handlers that
programs have already go on working. `code` is the status, `err_code` the exact reason,
`description` the server's words.
"""

from typing import Any

from nats.errors import NoRespondersError
from nats.js.errors import (
    APIError,
    BadRequestError,
    Error,
    NotFoundError,
    ServerError,
    ServiceUnavailableError,
)


class CounterError(BadRequestError):
    """A counter's server refused an addition.

    ```python
    try:
        await js.publish("hits.home", b"not a number")
    except client.CounterError as error:
        print(error.err_code, error.description)
    ```
    """


class CountersNotEnabledError(CounterError):
    """The stream is none of counters: it needs `allow_msg_counter`.

    ```python
    try:
        await js.counters("ORDERS")
    except client.CountersNotEnabledError as error:
        print(error.description)
    ```
    """


class CounterNotFoundError(NotFoundError):
    """Nothing was ever added to this counter, or it was deleted.

    ```python
    try:
        await hits.load("hits.never")
    except client.CounterNotFoundError:
        print(0)
    ```
    """


class BatchError(APIError):
    """An atomic batch, or a message of one, was refused: nothing of it is stored.

    ```python
    try:
        async with js.batch() as batch:
            await batch.publish("hits.home", b"a stream without allow_atomic")
    except client.BatchError as error:
        print(error.err_code, error.description)
    ```
    """


class BatchesNotEnabledError(BatchError, BadRequestError):
    """The stream takes no batches: it needs `allow_atomic`.

    ```python
    try:
        await js.batch().publish("done.eu", b"one")
    except client.BatchesNotEnabledError as error:
        print(error.err_code, error.description)
    ```
    """


class BatchSequenceMissingError(BatchError, BadRequestError):
    """A message of the batch came without a number.

    ```python
    try:
        await js.publish("orders.eu", b"one", headers={"Nats-Batch-Id": "mine"})
    except client.BatchSequenceMissingError as error:
        print(error.description)
    ```
    """


class BatchIncompleteError(BatchError, BadRequestError):
    """The server has given the batch up: a message was lost, or it waited for too long.

    ```python
    batch = js.batch()
    await batch.publish("orders.eu", b"one")
    lost = {"Nats-Batch-Id": batch.id, "Nats-Batch-Sequence": "7"}
    await js.connection.publish("orders.eu", b"seven", headers=lost)
    try:
        await batch.commit()
    except client.BatchIncompleteError as error:
        print(error.description)
    ```
    """


class BatchUnsupportedHeaderError(BatchError, BadRequestError):
    """A message of the batch had a header that batches do not allow.

    ```python
    try:
        async with js.batch() as batch:
            await batch.publish("orders.eu", b"one", expected_last_msg_id="order-6")
    except client.BatchUnsupportedHeaderError as error:
        print(error.description)
    ```
    """


class BatchIdInvalidError(BatchError, BadRequestError):
    """The batch's id is longer than 64 characters, or has others than it may.

    ```python
    try:
        await js.batch(id="x" * 65).publish("orders.eu", b"one")
    except client.BatchIdInvalidError as error:
        print(error.description)
    ```
    """


class BatchTooLargeError(BatchError, BadRequestError):
    """The batch has more messages than the server allows (1,000 unless it is configured).

    ```python
    try:
        async with js.batch() as batch:
            for number in range(1001):
                await batch.publish("orders.eu", str(number).encode())
    except client.BatchTooLargeError as error:
        print(error.description)
    ```
    """


class BatchCommitInvalidError(BatchError, BadRequestError):
    """The server does not know this way to commit: `eob` needs API level 3.

    ```python
    commit = {"Nats-Batch-Id": "mine", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "maybe"}
    try:
        await js.publish("orders.eu", b"one", headers=commit)
    except client.BatchCommitInvalidError as error:
        print(error.description)
    ```
    """


class BatchDuplicateError(BatchError, BadRequestError):
    """A message of the batch has an id that the stream has seen already.

    ```python
    await js.publish("orders.eu", b"seven", msg_id="order-7")
    try:
        async with js.batch() as batch:
            await batch.publish("orders.eu", b"seven", msg_id="order-7")
    except client.BatchDuplicateError as error:
        print(error.description)
    ```
    """


class BatchesExceededError(BatchError):
    """Too many batches are open at once, in the stream (50) or in the server (1,000).

    ```python
    try:
        for number in range(51):
            await js.batch().publish("orders.eu", b"one")
    except client.BatchesExceededError as error:
        print(error.description)
    ```
    """


class BatchClosedError(Error):
    """The batch is committed, discarded or refused: it takes no more messages.

    ```python
    batch = js.batch()
    await batch.publish("orders.eu", b"first")
    await batch.discard()
    try:
        await batch.publish("orders.eu", b"second")
    except client.BatchClosedError as error:
        print(error.description)
    ```
    """


class WrongLastSequenceError(BadRequestError):
    """An expectation did not hold: somebody else wrote meanwhile.

    ```python
    try:
        await js.publish("orders.eu", b"second", expected_last_subject_sequence=41)
    except client.WrongLastSequenceError as error:
        print(error.description)
    ```
    """


class WrongLastMsgIdError(BadRequestError):
    """The stream's last message has another id than `expected_last_msg_id` says.

    ```python
    try:
        await js.publish("orders.eu", b"eight", expected_last_msg_id="order-7")
    except client.WrongLastMsgIdError as error:
        print(error.description)
    ```
    """


class WrongStreamError(BadRequestError):
    """The subject belongs to another stream than `expected_stream` says.

    ```python
    try:
        await js.publish("orders.eu", b"eight", expected_stream="DONE")
    except client.WrongStreamError as error:
        print(error.description)
    ```
    """


class TtlError(BadRequestError):
    """The message's `ttl` cannot be used: it is none, or the stream lacks `allow_msg_ttl`.

    ```python
    try:
        await js.publish("done.eu", b"eight", ttl=60)
    except client.TtlError as error:
        print(error.description)
    ```
    """


class ApiLevelError(APIError):
    """The server is too old for what was asked of it.

    ```python
    batch = js.batch()
    await batch.publish("orders.eu", b"one")
    try:
        await batch.commit(headers={"Nats-Required-Api-Level": "99"})
    except client.ApiLevelError as error:
        print(error.description)
    ```
    """


class LinearizableReadsNotEnabledError(Error):
    """A linearizable read was asked for, and the stream has no `read_consistency`.

    ```python
    try:
        await js.get_last_msg("ORDERS", "orders.eu", linearizable=True)
    except client.LinearizableReadsNotEnabledError as error:
        print(error)
    ```
    """

    def __init__(self, stream: str, why: str = "") -> None:
        super().__init__("linearizable reads are not enabled for this stream")
        self.stream = stream
        self._why = why or f"{stream} needs read_consistency 'strong' or 'weak'"

    def __str__(self) -> str:
        return f"{self.description}: {self._why}"


class LinearizableReadUnavailableError(NoRespondersError):
    """Nobody answered a linearizable read.

    Either the stream has no leader at the moment, or linearizable reads are not enabled; who may
    not see the stream's configuration cannot tell these apart.

    ```python
    await js.add_stream(name="LEDGER", subjects=["ledger"], read_consistency="strong")
    await js.publish("ledger", b"+100")
    await js.get_last_msg("LEDGER", "ledger", linearizable=True)
    somebody = client.JetStream(js.connection)
    await somebody.update_stream(name="LEDGER", subjects=["ledger"], read_consistency="default")
    try:
        await js.get_last_msg("LEDGER", "ledger", linearizable=True)
    except client.LinearizableReadUnavailableError as error:
        print(error)
    ```
    """

    def __init__(self, stream: str) -> None:
        super().__init__()
        self.stream = stream

    def __str__(self) -> str:
        return (
            f"nobody answers linearizable reads of {self.stream}: "
            "it has no leader now, or they are not enabled for this stream"
        )


_BY_REASON: dict[int, type[APIError]] = {
    10060: WrongStreamError,
    10070: WrongLastMsgIdError,
    10071: WrongLastSequenceError,
    10164: WrongLastSequenceError,
    10165: TtlError,
    10166: TtlError,
    10168: CountersNotEnabledError,
    10169: CounterError,
    10170: CounterError,
    10171: CounterError,
    10172: CounterError,
    10174: BatchesNotEnabledError,
    10175: BatchSequenceMissingError,
    10176: BatchIncompleteError,
    10177: BatchUnsupportedHeaderError,
    10179: BatchIdInvalidError,
    10185: ApiLevelError,
    10199: BatchTooLargeError,
    10200: BatchCommitInvalidError,
    10201: BatchDuplicateError,
    10210: BatchesExceededError,
}

_BY_STATUS: dict[int, type[APIError]] = {
    400: BadRequestError,
    404: NotFoundError,
    500: ServerError,
    503: ServiceUnavailableError,
}


def api_error(error: dict[str, Any]) -> APIError:
    """The exception for the `error` of a server's answer."""
    status, reason = error.get("code"), error.get("err_code")
    kind = _BY_REASON.get(reason or 0) or _BY_STATUS.get(status or 0, APIError)
    return kind(code=status, err_code=reason, description=error.get("description"))
