"""A stream of an earlier version, whose subjects are more than this one would compare."""

import asyncio
import json
from pathlib import Path
from typing import Any

import nats
import pytest

import penstock
from penstock.streams import overlaps

ANSWER_SECONDS_MAX = 30.0  # a loaded machine may be that late
SUBJECTS = ["c.*.x", "c.x.*.y", "c.*.x.z"]
CONFIG = {"name": "OLD", "subjects": SUBJECTS}


async def asked(directory: Path, *requests: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What a server answers that is started on this directory."""
    async with penstock.Server(store_dir=directory) as server:
        client = await nats.connect(server.url)
        try:
            answers = []
            for subject, fields in requests:
                payload = json.dumps(fields).encode()
                reply = await client.request(subject, payload, timeout=ANSWER_SECONDS_MAX)
                answers.append(json.loads(reply.data))
            return answers
        finally:
            await client.close()


def test_it_opens_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (made,) = asyncio.run(asked(tmp_path, ("$JS.API.STREAM.CREATE.OLD", CONFIG)))
    assert made["did_create"]
    monkeypatch.setattr(overlaps, "STEPS_MAX", 1)
    monkeypatch.setattr(overlaps, "STEPS_FOR_A_NODE", 0)
    again, stored, changed, refused = asyncio.run(
        asked(
            tmp_path,
            ("$JS.API.STREAM.CREATE.OLD", CONFIG),
            ("c.1.x", {}),
            ("$JS.API.STREAM.UPDATE.OLD", CONFIG | {"max_msgs": 5}),
            ("$JS.API.STREAM.UPDATE.OLD", CONFIG | {"subjects": [*SUBJECTS, "d"]}),
        )
    )
    assert again["config"]["subjects"] == SUBJECTS
    assert stored == {"stream": "OLD", "seq": 1}
    assert changed["config"]["max_msgs"] == 5
    assert refused["error"]["err_code"] == 10052
    assert refused["error"]["description"].endswith("use fewer wildcards")
