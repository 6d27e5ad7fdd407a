"""Subject transforms: what the reference stores is what ours computes, and so is each refusal."""

import json
from collections.abc import Iterator

import pytest

from penstock.streams import transforms
from tests.parity.asked import Asked
from tests.parity.servers import REFERENCE, Server

SOURCES = ["", "a", "a.*", "*.*", "a.*.>"]
DESTINATIONS = [
    "",
    "b",
    "b.$1",
    "b.$2",
    "b.$0",
    "b.$+1",
    "b.$1x",
    "b.$99999999999999999999",
    "b.$1.>",
    "{{ wildcard (1) }}.{{Wildcard(2)}}",
    "b.{{WILDCARD(1)}}",
    "b.{{wildcard()}}",
    "b.{{wildcard(x)}}",
    "b.{{wildcard(1,2)}}",
    "b.x{{wildcard(1)}}",
    "b.{{partition(3)}}",
    "b.{{partition(10,1)}}",
    "b.{{partition(10,1,2)}}",
    "b.{{partition(0,1)}}",
    "b.{{partition(-3,1)}}",
    "b.{{partition()}}",
    "b.{{partition(9999999999,1)}}",
    "b.{{split(1,-)}}",
    "b.{{split(1,)}}",
    "b.{{split(1)}}",
    "b.{{split(1,a b)}}",
    "b.{{splitfromleft(1,2)}}",
    "b.{{SplitFromRight(1,2)}}",
    "b.{{SliceFromLeft(1,2)}}",
    "b.{{slicefromright(1,2)}}",
    "b.{{slicefromright(1,0)}}",
    "b.{{left(1,2)}}",
    "b.{{Right(1, 2)}}",
    "b.{{left(1,9999999999)}}",
    "b.{{left(1)}}",
    "b.{{random(1)}}",
    "b.{{random(1,2)}}",
    "b.{{nope(1)}}",
    "b.{{}}",
    "b.*",
    "b..c",
    "b.>.c",
    "b c",
]
SUBJECTS = ["a", "a.xyz", "a.xyzwv.q", "a.é-ü-z.q.r", "ab.cd", "a.-x--y-"]
STREAM = {"name": "T", "storage": "memory", "subjects": ["a", "a.>", "ab.>"]}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    flags = ("-js", "-sd", str(tmp_path_factory.mktemp("reference")))
    with Server(REFERENCE, flags) as server:
        asked = Asked(server)
        yield asked
        asked.close()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("destination", DESTINATIONS)
def test_transform(reference: Asked, source: str, destination: str) -> None:
    config = STREAM | {"subject_transform": {"src": source, "dest": destination}}
    theirs = reference.answer("CREATE", "T", json.dumps(config).encode())
    try:
        transform = transforms.validated(source, destination)
    except transforms.MappingError as error:
        assert theirs["description"] == f"stream transform: {error}"
        return
    assert "err_code" not in theirs
    for subject in SUBJECTS:
        sequence = reference.request(subject, b"")["seq"]
        asked = json.dumps({"seq": sequence}).encode()
        stored = reference.ask("STREAM.MSG.GET.T", asked)["message"]["subject"]
        ours = transform.apply(subject.encode()) if transform else None
        assert stored == (ours or subject.encode()).decode(errors="replace"), subject
    reference.delete("T")
