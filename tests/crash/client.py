"""Clients in threads: each has a connection of its own and works until the server is gone."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from tests.crash.waiting import SECONDS_MAX, wait_until
from tests.crash.wire import Wire


class Client(threading.Thread, ABC):
    """One of them; a kill of the server is the usual end of its work."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._wire = Wire(port)
        self.failure: AssertionError | None = None

    @abstractmethod
    def work(self) -> None:
        """Until it is told to stop or the connection breaks."""

    def run(self) -> None:
        try:
            self.work()
        except TimeoutError as error:  # an OSError too, but nothing that a kill brings
            self.failure = AssertionError(f"{self.name}: the server does not answer: {error}")
        except OSError:
            return  # killed
        except AssertionError as error:
            self.failure = error

    def hang_up(self) -> None:
        """It still reads what is on its way, and then ends."""
        self._wire.hang_up()

    def finish(self) -> None:
        """Waits for its end: until then it would write down what the test reads."""
        self.join(SECONDS_MAX)
        if self.failure:
            raise self.failure
        assert not self.is_alive(), f"{self.name} works on"
        self._wire.close()


def wait_load(clients: Sequence[Client], answered: Callable[[], int], more: int) -> None:
    """Until so much more was answered. A client that has ended says why when it is finished."""
    wanted = answered() + more
    wait_until(
        lambda: answered() >= wanted or not all(client.is_alive() for client in clients),
        lambda: f"{answered()} answered instead of {wanted}: that is no load",
    )
