"""The page of compatibility: what the parity suite asks of both servers, counted and listed.

The suite is collected, not run: the table says what is asserted. Files belong to areas; one that no
area names is an area of its own.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SUITES = ("tests/parity", "tests/specs")

AREAS = {
    "Core NATS: greeting and CONNECT": ("scenarios/greeting", "scenarios/authorization"),
    "Core NATS: publish, subscribe, requests": ("scenarios/delivery", "test_queue_spread.py"),
    "Core NATS: limits and lifetimes of connections": ("scenarios/limits", "scenarios/lifetime"),
    "Core NATS: malformed input": ("scenarios/malformed", "scenarios/syntax"),
    "Streams: configuration": ("test_stream_config.py", "test_stream_config_served.py"),
    "Streams: publish, API, contents": ("test_streams.py", "test_api_errors.py"),
    "Streams: subject transforms": ("test_subject_transforms.py",),
    "Streams: direct and batch reads": ("test_direct_get.py",),
    "Consumers: configuration": ("test_consumer_config.py", "test_consumer_info.py"),
    "Consumers: pull and push": (
        "test_consumer_pull.py",
        "test_consumer_push.py",
        "test_consumer_delivery.py",
    ),
    "Consumers: acknowledgements, retention, priority": (
        "test_consumer_acks.py",
        "test_consumer_retention.py",
        "test_consumer_priority.py",
    ),
    "Consumers: life and restarts": ("test_consumer_lifecycle.py", "test_consumer_restart.py"),
    "Message TTL and delete markers": ("test_message_ttl.py", "test_adr_43_message_ttl.py"),
    "Counters": ("test_counters.py", "test_adr_49_counters.py"),
    "Atomic batches": ("test_atomic_batches.py", "test_adr_50_atomic_batches.py"),
    "Read consistency": ("test_adr_56_consistency.py",),
    "Mirrors and sources": ("test_mirrors.py", "test_sources.py", "test_changed_copies.py"),
    "Where features meet, bad input to them": ("test_feature_crossings.py", "test_bad_features.py"),
    "Backup and restore": (
        "test_backup.py",
        "test_bad_backups.py",
        "test_consumer_backups.py",
    ),
}
NOT_SCENARIOS = ("test_harness.py",)  # the suite's tests of itself

HEADER = """# Compatibility

penstock is tested side by side with nats-server 2.15.1: both are started, asked the same, and their
answers compared. This page is made from that test suite, `tests/parity` and `tests/specs`.

**{total:,} scenarios: {equal:,} are answered alike, {different:,} differently on purpose**, with
both answers asserted. A difference that nobody decided is a failing test.

| area | alike | different |
|---|---:|---:|
"""

DIFFERENCES = """
## Deliberate differences

Where the answers differ, penstock follows a specification that nats-server does not, is stricter,
or does not support the feature. The reasons are in decisions
[4](decisions/0004-stricter-than-the-reference.md), [9](decisions/0009-lifetimes.md),
[10](decisions/0010-atomic-batches.md) and [11](decisions/0011-mirrors-and-sources.md).
"""

Rows = list[dict[str, str]]


def page(rows: Rows | None = None) -> str:
    """The page in Markdown; the suite is collected if its rows are not given."""
    by_area: dict[str, Rows] = defaultdict(list)
    for row in inventory() if rows is None else rows:
        area = area_of(row["file"])
        if area:
            by_area[area].append(row)
    counted = [row for found in by_area.values() for row in found]
    different = sum(bool(row["why"]) for row in counted)
    areas = [*(area for area in AREAS if by_area[area]), *sorted(set(by_area) - set(AREAS))]
    text = HEADER.format(total=len(counted), equal=len(counted) - different, different=different)
    for area in areas:
        differing = sum(bool(row["why"]) for row in by_area[area])
        text += f"| {area} | {len(by_area[area]) - differing:,} | {differing or ''} |\n"
    text += DIFFERENCES
    for area in areas:
        text += listed(area, [row for row in by_area[area] if row["why"]])
    return text


def inventory() -> Rows:
    """What the suite has, as `tests/docs/inventory.py` lists it."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-qqq"]
        command += ["-p", "no:cacheprovider", "-p", "tests.docs.inventory"]
        command += ["--inventory", file.name, *SUITES]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the parity suite cannot be collected:\n{done.stdout}{done.stderr}")
        rows: Rows = json.loads(Path(file.name).read_text())
        return rows


def area_of(file: str) -> str:
    """Empty for files without scenarios."""
    name = file.removeprefix("tests/parity/").removeprefix("tests/specs/")
    for area, names in AREAS.items():
        if name in names or any(name.startswith(f"{one}/") for one in names):
            return area
    if name in NOT_SCENARIOS:
        return ""
    return Path(name).stem.removeprefix("test_").replace("_", " ").capitalize()


def listed(area: str, rows: Rows) -> str:
    """The differences of an area, each once."""
    if not rows:
        return ""
    found: Counter[tuple[str, str]] = Counter((title(row), reason(row)) for row in rows)
    text = f"\n### {area}\n\n| scenario | difference |\n|---|---|\n"
    for (name, why), count in found.items():
        times = f" ({count} scenarios)" if count > 1 else ""
        text += f"| {cell(name)}{times} | {cell(why)} |\n"
    return text


def title(row: dict[str, str]) -> str:
    """What a scenario is called, in words: its own, or its test's if it is only a value."""
    name = row["name"]
    function, _, parameter = name.removesuffix("]").partition("[")
    if not function.startswith("test_"):
        return name
    if function == "test_ours" or (" " in parameter and parameter[0] not in "{["):
        return parameter.removeprefix("N: ")
    return function.removeprefix("test_").replace("_", " ")


def reason(row: dict[str, str]) -> str:
    """Why it differs, for somebody who reads the site."""
    if row["name"].startswith("test_ours[N: "):
        return "not supported, refused"
    why = re.sub(r"\s*\((docs/decisions/\w+|[\w-]+\.md)\)", "", " ".join(row["why"].split()))
    return why.removeprefix("ours, ")


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
