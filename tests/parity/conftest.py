"""Makes each case of a scenario file two tests: one for the reference, one for penstock.

With `--rewrite` each file is one item instead, which records the reference's answers (and
penstock's, where the file says that it differs) into the file.

`consumers` gives the scenarios of consumers one connection to each server. With the environment
variable PENSTOCK_PARITY_BOTH=reference the second server is the reference too: a scenario that
fails then is not determinate, whatever penstock does. `site` gives backups a server of each kind.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import POOL
from tests.parity import notation, runner
from tests.parity.backup_peer import Site
from tests.parity.consumers_peer import ConsumerPair, ConsumerPeer, second_implementation
from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, REFERENCE, Implementation, Server
from tests.server_process import ServerStartError

SCENARIOS = Path(__file__).parent / "scenarios"


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> "ScenarioFile | None":  # pytest finds collectors of other files elsewhere
    if file_path.suffix != ".txt" or SCENARIOS not in file_path.parents:
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


class ScenarioFile(pytest.File):
    """One text file."""

    def collect(self) -> Iterator[pytest.Item]:
        scenario = notation.read(self.path)
        if self.config.getoption("--rewrite"):
            yield RewriteItem.from_parent(self, name="rewrite", scenario=scenario)
            return
        for implementation in IMPLEMENTATIONS:
            for case in scenario.cases:
                yield CaseItem.from_parent(
                    self,
                    name=f"{case.name}[{implementation.name}]",
                    scenario=scenario,
                    case=case,
                    implementation=implementation,
                )


class ServerItem(pytest.Item):
    """A test that plays cases of one file against running servers."""

    def __init__(self, *, scenario: notation.Scenario, **rest: Any) -> None:
        super().__init__(**rest)
        self.scenario = scenario
        if "slow" in scenario.options:
            self.add_marker("slow")

    def server_for(self, implementation: Implementation) -> Server:
        scenario = self.scenario
        if "fresh" in scenario.options:
            return Server(implementation, scenario.flags, scenario.config)
        return self.config.stash[POOL].shared(implementation, scenario.flags, scenario.config)

    def release(self, server: Server) -> None:
        if "fresh" in self.scenario.options:
            server.close()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, runner.MismatchError):
            return f"{self.path.name}, {excinfo.value}"
        if isinstance(excinfo.value, ServerStartError | notation.NotationError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class CaseItem(ServerItem):
    """One case against one server."""

    def __init__(self, *, case: notation.Case, implementation: Implementation, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self.implementation = implementation

    def runtest(self) -> None:
        server = self.server_for(self.implementation)
        try:
            runner.check(self.scenario, self.case, server)
        finally:
            self.release(server)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.case.number - 1, self.name


class RewriteItem(ServerItem):
    """All cases of one file, recorded."""

    def runtest(self) -> None:
        for case in self.scenario.cases:
            for implementation in self._recorded(case):
                server = self.server_for(implementation)
                try:
                    runner.record(self.scenario, case, server)
                finally:
                    self.release(server)
        self.path.write_text(notation.render(self.scenario))

    @staticmethod
    def _recorded(case: notation.Case) -> list[Implementation]:
        differs = any(
            isinstance(item, notation.Only) and item.name == PENSTOCK.name for item in case.items
        )
        return [REFERENCE, PENSTOCK] if differs else [REFERENCE]


@pytest.fixture(scope="session")
def consumer_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    second = second_implementation()
    theirs, ours = (tmp_path_factory.mktemp(name) for name in ("theirs", "ours"))
    with (
        Server(REFERENCE, ("-js", "-sd", str(theirs))) as reference,
        Server(second, ("-js", "-sd", str(ours))) as other,
    ):
        yield reference, other
        assert "Traceback" not in other.log


@pytest.fixture
def consumers(consumer_servers: tuple[Server, Server]) -> Iterator[ConsumerPair]:
    reference, other = consumer_servers
    found = ConsumerPair(ConsumerPeer(reference), ConsumerPeer(other))
    found.clear()
    yield found
    found.close()


@pytest.fixture(scope="module")
def servers_with_stores() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture
def site(servers_with_stores: Site) -> Iterator[Site]:
    yield servers_with_stores
    servers_with_stores.close_peers()
