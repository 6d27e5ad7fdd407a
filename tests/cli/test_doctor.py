"""`penstock doctor`: every kind of damage to every kind of file is told with its place and what it
costs, nothing is changed unless asked, and what is mended is served."""

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import penstock as package
from tests.cli.run import Ran, called, penstock
from tests.cli.stores import (
    BIG,
    IDS,
    MESSAGES,
    REMOVED,
    Damage,
    cut,
    fill,
    fill_blocks,
    fill_ids,
    flip,
    hashes,
    payload,
    remove,
    served,
)
from tests.crash.node import Node

SOUND, FAILED, NOT_FOUND, FLAWED, LOST, STUCK = 0, 1, 4, 5, 6, 7
ORDERS, IDS_FOLDER, BIG_FOLDER = "streams/ORDERS.1", "streams/IDS.1", "streams/BIG.1"
LIVING = {number for number in range(1, MESSAGES + 1) if number != REMOVED}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of each."""
    kinds = ("stopped", "killed", "lazy", "big", "ids")
    stores = {kind: tmp_path_factory.mktemp(kind) for kind in kinds}
    fill(stores["stopped"], stopped=True)
    fill(stores["killed"], stopped=False)
    fill(stores["lazy"], stopped=False, jetstream="sync_interval: 1h")
    fill_blocks(stores["big"])
    fill_ids(stores["ids"])
    return stores


class Patient:
    """A copy of a store, to be damaged."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.root = store / "jetstream"

    def check(self) -> Ran:
        """Without a repair: nothing changes."""
        before = hashes(self.store)
        ran = called("doctor", self.store, "--json")
        assert hashes(self.store) == before
        return ran

    def repair(self) -> Ran:
        return called("doctor", self.store, "--repair", "--json")


@pytest.fixture
def patient(request: pytest.FixtureRequest, made: dict[str, Path], tmp_path: Path) -> Patient:
    kind = getattr(request, "param", "stopped")
    return Patient(Path(shutil.copytree(made[kind], tmp_path / "store")))


def of_kind(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("patient", [kind], indirect=True)


def findings(report: dict[str, Any], weight: str = "") -> list[dict[str, Any]]:
    found = [*report["findings"], *(one for each in report["streams"] for one in each["findings"])]
    return [one for one in found if not weight or one["weight"] == weight]


def named(ran: Ran, file: str) -> list[dict[str, Any]]:
    """Findings about a file that are more than notes."""
    found = [one for one in findings(ran.data) if one["file"] == f"jetstream/{file}"]
    return [one for one in found if one["weight"] != "note"]


def lost_in(report: dict[str, Any], stream: str) -> set[int]:
    (found,) = (each for each in report["streams"] if each["name"] == stream)
    return {number for first, last in found["lost"] for number in range(first, last + 1)}


def assert_served(
    patient: Patient, ran: Ran, consumers: tuple[str, ...] = ("other", "work")
) -> None:
    """Every message that was not told to be lost is there, and right."""
    found = served(patient.store, "ORDERS")
    assert LIVING - found.messages.keys() == lost_in(ran.data, "ORDERS") & LIVING
    assert found.consumers == (["other", "work"] if consumers else [])
    assert all(content == payload("ORDERS", n) for n, content in found.messages.items())


def test_a_store_beside_that_of_another_server_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever gives both servers one directory would miss all streams without a word."""
    theirs = tmp_path / "jetstream/$G/streams/S/meta.inf"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("{}")
    with package.serve(tmp_path):
        assert "nats-server's streams, which are not served" in caplog.text
    ran = penstock("doctor", tmp_path)
    assert (ran.code, theirs.read_text()) == (0, "{}")
    assert "nats-server's streams, which are not served" in ran.out


@of_kind("stopped")
def test_a_store_that_was_stopped_is_sound(patient: Patient) -> None:
    ran = patient.check()
    assert (ran.code, findings(ran.data)) == (SOUND, [])
    (orders,) = ran.data["streams"]
    assert (orders["name"], orders["consumers"]) == ("ORDERS", ["other", "work"])
    assert (orders["messages"], orders["last"]) == (MESSAGES - 1, MESSAGES)


@pytest.mark.parametrize("patient", ["killed", "lazy"], indirect=True)
def test_a_store_that_was_killed_is_sound(patient: Patient) -> None:
    """What is in the log alone counts: a start has it."""
    ran = patient.check()
    assert (ran.code, findings(ran.data, "mendable"), findings(ran.data, "lost")) == (SOUND, [], [])
    (orders,) = ran.data["streams"]
    assert (orders["messages"], orders["consumers"]) == (MESSAGES - 1, ["other", "work"])
    assert patient.repair().code == SOUND  # there is nothing to be done


COSTS_NOTHING = [
    "format",
    "format.copy",
    f"{ORDERS}/description.json",
    f"{ORDERS}/description.copy",
    f"{ORDERS}/consumers.state",
    f"{ORDERS}/consumers.copy",
    f"{ORDERS}/index",
]


@of_kind("stopped")
@pytest.mark.parametrize("damage", [flip, cut, remove])
@pytest.mark.parametrize("file", COSTS_NOTHING)
def test_what_is_there_twice_or_can_be_made_again_costs_nothing(
    patient: Patient, file: str, damage: Damage
) -> None:
    byte = damage(patient.root / file, random.Random(file))
    ran = patient.check()
    assert ran.code == FLAWED, ran
    (found,) = named(ran, file)
    assert found["consequence"].startswith("none")
    assert byte is None or found["offset"] <= byte
    repaired = patient.repair()
    assert (repaired.code, findings(repaired.data["repaired"])) == (SOUND, [])
    assert_served(patient, repaired)


@of_kind("ids")
@pytest.mark.parametrize("damage", [flip, cut])
def test_the_file_of_ids_can_be_made_again(patient: Patient, damage: Damage) -> None:
    assert patient.check().code == SOUND
    damage(patient.root / IDS_FOLDER / "ids", random.Random(1))
    ran = patient.check()
    assert (ran.code, len(named(ran, f"{IDS_FOLDER}/ids"))) == (FLAWED, 1)
    assert patient.repair().code == SOUND
    assert len(served(patient.store, "IDS").messages) == IDS


@of_kind("stopped")
@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("damage", [flip, cut])
def test_a_damaged_block(patient: Patient, damage: Damage, number: int) -> None:
    file = f"{ORDERS}/msgs/1.blk"
    byte = damage(patient.root / file, random.Random(number))
    ran = patient.check()
    assert ran.code in (FLAWED, LOST), ran
    (found,) = named(ran, file)
    assert found["offset"] <= byte
    if damage is flip:
        assert byte < found["offset"] + found["size"]
        assert len(lost_in(ran.data, "ORDERS")) <= 1
    told = lost_in(ran.data, "ORDERS")
    assert not told or f"{min(told)}" in found["consequence"]
    repaired = patient.repair()
    assert repaired.code == (LOST if told else SOUND)
    assert findings(repaired.data["repaired"], "lost") == []
    assert_served(patient, ran)
    after = patient.check()
    assert after.code == SOUND, "what was lost is known by now"
    assert lost_in(after.data, "ORDERS") == told


@of_kind("stopped")
def test_a_missing_block_costs_its_messages(patient: Patient) -> None:
    (patient.root / ORDERS / "msgs/1.blk").unlink()
    ran = patient.check()
    assert ran.code == LOST
    (found,) = named(ran, f"{ORDERS}/msgs/1.blk")
    assert (found["problem"], found["offset"]) == ("is missing", None)
    assert lost_in(ran.data, "ORDERS") == LIVING
    assert patient.repair().code == LOST
    assert_served(patient, ran)


@of_kind("big")
@pytest.mark.parametrize("damage", [flip, cut, remove])
def test_a_block_in_the_middle(patient: Patient, damage: Damage) -> None:
    file = f"{BIG_FOLDER}/msgs/2.blk"
    damage(patient.root / file, random.Random(5))
    ran = patient.check()
    assert ran.code == LOST
    assert [found["weight"] for found in named(ran, file)] == ["lost"]
    told = lost_in(ran.data, "BIG")
    assert 0 < len(told) <= 8
    assert patient.repair().code == LOST
    stored = served(patient.store, "BIG").messages
    assert stored.keys() == set(range(1, BIG + 1)) - told
    assert patient.check().code == SOUND


@of_kind("big")
def test_blocks_under_each_others_name_get_their_own_back(patient: Patient) -> None:
    folder = patient.root / BIG_FOLDER / "msgs"
    (folder / "1.blk").rename(folder / "aside")
    (folder / "2.blk").rename(folder / "1.blk")
    (folder / "aside").rename(folder / "2.blk")
    ran = patient.check()
    assert ran.code == FLAWED
    assert "is block 2 under another name" in str(named(ran, f"{BIG_FOLDER}/msgs/1.blk"))
    assert patient.repair().code == SOUND
    assert len(served(patient.store, "BIG").messages) == BIG


@of_kind("killed")
@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("damage", [flip, cut])
def test_a_damaged_log(patient: Patient, damage: Damage, number: int) -> None:
    (path,) = (patient.root / "log").glob("*.log")
    file = f"log/{path.name}"
    byte = damage(path, random.Random(number))
    ran = patient.check()
    if damage is flip:  # a cut between two groups is an end like any other
        assert ran.code in (FLAWED, LOST), ran
        assert any(found["offset"] <= byte for found in named(ran, file)), ran
    repaired = patient.repair()
    assert repaired.code == (LOST if ran.code == LOST else SOUND)
    stored = served(patient.store, "ORDERS").messages
    told = lost_in(ran.data, "ORDERS")
    (orders,) = (each for each in ran.data["streams"] if each["name"] == "ORDERS")
    numbers = range(1, orders["last"] + 1)
    # A removal that is lost brings its message back.
    assert stored.keys() - {REMOVED} == {n for n in numbers if n not in told and n in LIVING}
    assert all(content == payload("ORDERS", number) for number, content in stored.items())
    assert patient.check().code == SOUND


@of_kind("stopped")
def test_a_damaged_log_is_gone_after_one_repair(patient: Patient) -> None:
    for _ in range(5):
        (path,) = (patient.root / "log").glob("*.log")
        path.write_bytes(b"")
        assert patient.check().code == LOST
        assert patient.repair().code == LOST
        assert patient.check().code == SOUND


@of_kind("stopped")
def test_a_log_that_is_none(patient: Patient) -> None:
    (path,) = (patient.root / "log").glob("*.log")
    path.unlink()
    path.symlink_to(path.name)
    ran = called("doctor", patient.store)
    assert (ran.code, len(ran.err.splitlines())) == (NOT_FOUND, 1)
    assert path.name in ran.err


@of_kind("stopped")
def test_a_log_that_is_missing(patient: Patient) -> None:
    shutil.rmtree(patient.root / "log")
    ran = patient.check()
    assert ran.code == FLAWED
    assert "ends with entry 0" in named(ran, "log")[0]["problem"]
    repaired = patient.repair()
    assert repaired.code == SOUND, repaired
    assert_served(patient, repaired)


@of_kind("stopped")
def test_a_salt_that_is_missing_or_short(patient: Patient) -> None:
    for content in (b"short", None):
        (patient.root / "salt").unlink(missing_ok=True)
        if content is not None:
            (patient.root / "salt").write_bytes(content)
        ran = patient.check()
        assert (ran.code, len(named(ran, "salt"))) == (FLAWED, 1)
    assert patient.repair().code == SOUND


@of_kind("stopped")
@pytest.mark.parametrize("damage", [flip, cut, remove])
def test_a_format_without_a_copy(patient: Patient, damage: Damage) -> None:
    for name in ("format", "format.copy"):
        damage(patient.root / name, random.Random(1))
    ran = patient.check()
    assert ran.code == FLAWED
    assert "no server starts" in named(ran, "format")[0]["consequence"]
    assert patient.repair().code == SOUND
    assert_served(patient, ran)


@of_kind("stopped")
@pytest.mark.parametrize("damage", [flip, cut, remove])
def test_a_stream_that_nothing_describes_is_served_again(patient: Patient, damage: Damage) -> None:
    for name in ("description.json", "description.copy"):
        damage(patient.root / ORDERS / name, random.Random(1))
    ran = patient.check()
    assert ran.code == LOST
    assert "configuration is lost" in named(ran, f"{ORDERS}/description.json")[0]["consequence"]
    assert patient.repair().code == LOST
    assert_served(patient, ran)
    assert patient.check().code == SOUND


@of_kind("stopped")
def test_a_folder_that_was_renamed_is_left_alone(patient: Patient) -> None:
    """Its records verify under the stream's own name alone."""
    folder = (patient.root / ORDERS).rename(patient.root / "streams/OTHER.1")
    ran = patient.check()
    assert ran.code == STUCK
    assert "about another stream" in named(ran, "streams/OTHER.1/description.json")[0]["problem"]
    before = hashes(folder)
    assert patient.repair().code == STUCK
    assert hashes(folder) == before


@of_kind("killed")
def test_the_log_describes_a_stream_too(patient: Patient) -> None:
    for name in ("description.json", "description.copy"):
        (patient.root / ORDERS / name).write_bytes(b"garbage")
    ran = patient.check()
    assert ran.code == FLAWED
    assert "the log describes" in named(ran, f"{ORDERS}/description.copy")[0]["consequence"]
    assert patient.repair().code == SOUND
    assert_served(patient, ran)


@of_kind("stopped")
@pytest.mark.parametrize("damage", [flip, cut])
def test_consumers_that_nobody_remembers(patient: Patient, damage: Damage) -> None:
    for name in ("consumers.state", "consumers.copy"):
        damage(patient.root / ORDERS / name, random.Random(1))
    ran = patient.check()
    assert ran.code == LOST
    assert "must be made again" in named(ran, f"{ORDERS}/consumers.state")[0]["consequence"]
    assert patient.repair().code == LOST
    assert_served(patient, ran, consumers=False)


@of_kind("lazy")
@pytest.mark.parametrize("damage", [flip, cut])
@pytest.mark.parametrize("pattern", ["consumers.recent.*", "consumers.changes.*"])
def test_recent_states_of_consumers(patient: Patient, damage: Damage, pattern: str) -> None:
    path = max((patient.root / ORDERS).glob(pattern))
    damage(path, random.Random(2))
    ran = patient.check()
    file = f"{ORDERS}/{path.name}"
    if ran.code == SOUND:  # a file of changes that ends between two of them
        assert damage is cut
        return
    assert ran.code == FLAWED, ran
    assert "may come again" in named(ran, file)[0]["consequence"]
    repaired = patient.repair()
    assert (repaired.code, named(repaired, file)) != (FLAWED, []), repaired
    assert patient.check().code == SOUND


@of_kind("stopped")
def test_a_stream_whose_folder_is_gone(patient: Patient) -> None:
    """After a clean stop nothing tells of it any more."""
    shutil.rmtree(patient.root / ORDERS)
    ran = patient.check()
    assert (ran.code, [each["name"] for each in ran.data["streams"]]) == (SOUND, [])


@of_kind("killed")
def test_a_folder_that_is_gone_and_in_the_log(patient: Patient) -> None:
    shutil.rmtree(patient.root / ORDERS)
    ran = patient.check()
    assert ran.code == FLAWED
    assert patient.repair().code == SOUND
    assert_served(patient, ran)


@of_kind("stopped")
def test_what_is_not_ours_is_noted_and_left_alone(patient: Patient) -> None:
    for name in ("streams/notes.txt", f"{ORDERS}/notes.txt", "notes.txt", "log/notes.txt"):
        (patient.root / name).write_text("mine")
    (patient.root / f"{ORDERS}/description.json").unlink()
    ran = patient.repair()
    assert ran.code == SOUND
    assert len([one for one in findings(ran.data, "note") if "notes.txt" in one["file"]]) == 4
    assert all(path.read_text() == "mine" for path in patient.root.rglob("notes.txt"))
    assert len([*patient.root.rglob("notes.txt")]) == 4


def test_a_store_in_use_is_refused(tmp_path: Path) -> None:
    with Node(tmp_path):
        for flags in ((), ("--repair",)):
            ran = penstock("doctor", tmp_path, *flags)
            assert (ran.code, ran.out) == (FAILED, "")
            assert "a server uses it" in ran.err
            assert len(ran.err.splitlines()) == 1


def test_what_is_no_store(tmp_path: Path) -> None:
    missing = penstock("doctor", tmp_path / "nowhere")
    assert (missing.code, len(missing.err.splitlines())) == (NOT_FOUND, 1)
    empty = penstock("doctor", tmp_path)
    assert (empty.code, len(empty.err.splitlines())) == (FAILED, 1)
    assert "store_dir" in empty.err
    (tmp_path / "jetstream/$G/streams").mkdir(parents=True)
    assert "another server wrote" in penstock("doctor", tmp_path).err
    assert sorted(tmp_path.rglob("*")) == sorted(
        [tmp_path / "jetstream", tmp_path / "jetstream/$G", tmp_path / "jetstream/$G/streams"]
    )


@of_kind("stopped")
@pytest.mark.parametrize(
    "file",
    [
        *("format", "lock", "salt", "log/00000000000000000099.log"),
        *(f"{ORDERS}/{name}" for name in ("description.json", "consumers.state", "msgs/9.blk")),
    ],
)
def test_a_pipe_is_not_waited_for(patient: Patient, file: str) -> None:
    path = patient.root / file
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    for flags in ((), ("--repair",)):
        ran = called("doctor", patient.store, *flags)
        assert ran.code == FAILED
        assert f"{path}: is no regular file" in ran.err.replace("\n", "")


def test_a_store_of_another_version_is_refused(patient: Patient) -> None:
    for name in ("format", "format.copy"):
        (patient.root / name).write_text("penstock store 9\n")
    for flags in ((), ("--repair",)):
        ran = called("doctor", patient.store, *flags)
        assert (ran.code, len(ran.err.splitlines())) == (FAILED, 1)
        assert "'penstock store 9'" in ran.err


@of_kind("stopped")
def test_the_report_for_people(patient: Patient) -> None:
    data = bytearray((patient.root / ORDERS / "msgs/1.blk").read_bytes())
    data[100] ^= 1
    (patient.root / ORDERS / "msgs/1.blk").write_bytes(data)
    ran = penstock("doctor", patient.store)
    assert ran.code == LOST
    assert "\x1b" not in ran.out
    line = next(line for line in ran.out.splitlines() if "1.blk" in line)
    assert f"lost jetstream/{ORDERS}/msgs/1.blk at byte " in line
    assert "message 1 is lost, and no other" in line
    assert ran.out.splitlines()[-1].endswith("penstock doctor --repair mends what can be mended.")


def test_the_directory_below_is_understood_too(made: dict[str, Path]) -> None:
    assert penstock("doctor", made["stopped"] / "jetstream").code == SOUND
