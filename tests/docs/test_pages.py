"""The generated pages say what the code says, and every page is linked with what it shows."""

import re
from pathlib import Path

import pytest
from docs.generators import command, compatibility

from penstock.cli.flags import FLAGS, dashed

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md"))
LINK = re.compile(r"\]\((?!https?://)([^)#\s]+)")
GENERATED = {DOCS / "compatibility.md", DOCS / "reference" / "command.md"}


def test_the_page_of_the_command_has_every_flag_of_the_server() -> None:
    text = command.page()
    names = [dashed(name) for flags in FLAGS.values() for flag in flags for name in flag.names]
    assert [name for name in names if name not in text] == []


@pytest.mark.parametrize("name", ["doctor", "stream query", "counter add", "batch publish"])
def test_the_page_of_the_command_has_the_others(name: str) -> None:
    assert f"## penstock {name}\n" in command.page()


def test_the_page_of_compatibility_counts_every_scenario_once_and_lists_what_differs() -> None:
    inventory = compatibility.inventory()
    rows = [row for row in inventory if compatibility.area_of(row["file"])]
    text = compatibility.page(inventory)
    total, alike, different = (
        int(number.replace(",", ""))
        for number in re.findall(r"\*\*([\d,]+) scenarios: ([\d,]+) .*? ([\d,]+) diff", text)[0]
    )
    assert total == len(rows) == alike + different
    assert different == sum(bool(row["why"]) for row in rows)
    names = [(row["file"], row["name"]) for row in rows]
    assert len(names) == len(set(names))
    for known in ("a second CONNECT", "ADR-56: read consistency", "a ttl of zero will be ignored"):
        assert known in text


@pytest.mark.parametrize(
    "row",
    [
        {"file": "tests/parity/scenarios/limits/control_line.txt", "area": "Core NATS: limits"},
        {"file": "tests/specs/test_adr_49_counters.py", "area": "Counters"},
        {"file": "tests/parity/test_something_new.py", "area": "Something new"},
        {"file": "tests/parity/test_harness.py", "area": ""},
    ],
    ids=lambda row: Path(row["file"]).stem,
)
def test_area(row: dict[str, str]) -> None:
    assert compatibility.area_of(row["file"]).startswith(row["area"])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    """Anchors too are checked by `make docs`, which needs more to be installed."""
    for link in LINK.findall(path.read_text()):
        target = (path.parent / link).resolve()
        assert target in GENERATED or target.exists(), f"{path.name}: {link}"


def test_every_picture_is_shown() -> None:
    shown = {Path(link).name for path in PAGES for link in LINK.findall(path.read_text())}
    assert {path.name for path in (DOCS / "pictures").iterdir()} <= shown


def test_every_page_has_its_place() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    listed = [path.relative_to(DOCS).as_posix() for path in PAGES]
    numbered = re.compile(r"decisions/0")
    assert [name for name in listed if name not in navigation and not numbered.match(name)] == []
