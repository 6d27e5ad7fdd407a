"""Archives: what is written is read back however it is cut, and nothing hostile gets in."""

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.storage import S2Reader, encode_entry, s2_chunk, s2_start
from penstock.storage.archive import (
    END,
    ENTRY_BYTES_MAX,
    ArchiveError,
    Entry,
    EntryReader,
    Piece,
    TarReader,
)

INT64 = st.integers(-(2**63), 2**63 - 1)
ENTRIES = st.lists(
    st.builds(
        Entry, st.binary(max_size=40), INT64, st.integers(0, 2**64 - 1), st.binary(), st.binary()
    ),
    max_size=8,
)


def cut(data: bytes, step: int) -> list[bytes]:
    return [data[at : at + step] for at in range(0, len(data), step)]


def varint(value: int) -> bytes:
    data = b""
    while value >= 0x80:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def unpacked(stream: bytes, step: int = 1000) -> bytes:
    reader = S2Reader()
    blocks = []
    for part in cut(stream, step):
        reader.feed(part)
        while (block := reader.next_block()) is not None:
            blocks.append(block)
    assert reader.is_whole()
    return b"".join(blocks)


def read_entries(data: bytes, step: int) -> list[Entry]:
    reader = EntryReader()
    found = [entry for part in cut(data, step) for some in reader.feed(part) for entry in some]
    assert reader.is_whole
    return found


def read_tar(data: bytes, step: int = 4096) -> list[Piece]:
    reader = TarReader()
    found = [piece for part in cut(data, step) for piece in reader.feed(part)]
    if not reader.is_whole:
        raise ArchiveError("not whole")
    return found


def tar_of(*members: tuple[tarfile.TarInfo, bytes], pax: bool = True) -> bytes:
    target = io.BytesIO()
    with tarfile.open(
        fileobj=target, mode="w", format=tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT
    ) as archive:
        for info, content in members:
            info.size = len(content) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(content))
    return target.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    info.mtime = 1.5  # an extension, as the reference's times are
    return info


# s2


@given(st.lists(st.binary(min_size=1, max_size=3000), max_size=4), st.integers(1, 700))
def test_s2_gives_back_what_it_got(blocks: list[bytes], step: int) -> None:
    stream = s2_start() + b"".join(s2_chunk(block) for block in blocks)
    assert unpacked(stream, step) == b"".join(blocks)


def test_s2_compresses() -> None:
    assert len(s2_chunk(b"penstock " * 100_000)) < 10_000


def test_s2_passes_over_padding_and_indexes() -> None:
    skipped = b"\xfe\x05\x00\x00zzzzz" + b"\x99\x00\x00\x00"
    stream = s2_start() + skipped + s2_chunk(b"abc") + skipped + s2_start() + s2_chunk(b"def")
    assert unpacked(stream, 3) == b"abcdef"


@given(st.binary(min_size=20, max_size=300), st.data())
def test_a_flipped_bit_in_s2_is_never_content(content: bytes, data: st.DataObject) -> None:
    stream = bytearray(s2_start() + s2_chunk(content))
    bit = data.draw(st.integers(0, len(stream) * 8 - 1))
    stream[bit // 8] ^= 1 << bit % 8
    reader = S2Reader()
    reader.feed(bytes(stream))
    try:
        found = reader.next_block()
    except ValueError:
        return
    assert found is None or found == content
    assert found == content or not reader.is_whole() or bit // 8 == 10


@pytest.mark.parametrize(
    "stream",
    [
        b"not s2 at all",
        b"\xff\x06\x00\x00nOtS2!",
        s2_chunk(b"without a start"),
        s2_start() + b"\x02\x01\x00\x00a",
        s2_start() + b"\x01\xff\xff\xff",  # 16 MiB in one chunk
        s2_start() + b"\x00\x0a\x00\x00\x00\x00\x00\x00\xff\xff\xff\x7f\x00\x00",  # claims 256 MiB
    ],
)
def test_what_is_not_s2_is_refused(stream: bytes) -> None:
    reader = S2Reader()
    reader.feed(stream)
    with pytest.raises(ValueError, match="corrupt input"):
        while reader.next_block() is not None:
            pass


def test_an_unfinished_s2_stream_is_not_whole() -> None:
    reader = S2Reader()
    assert not reader.is_whole()
    reader.feed((s2_start() + s2_chunk(b"abc"))[:-1])
    assert reader.next_block() is None
    assert not reader.is_whole()


def test_a_bomb_comes_one_block_at_a_time() -> None:
    chunk = s2_chunk(bytes(4 << 20))
    assert len(chunk) < 2000
    reader = S2Reader()
    reader.feed(s2_start() + chunk * 50)
    first = reader.next_block()
    assert first is not None
    assert len(first) == 4 << 20


# Entries


@given(ENTRIES, st.integers(1, 100))
def test_entries_come_back(entries: list[Entry], step: int) -> None:
    data = b"".join(encode_entry(*entry) for entry in entries)
    assert read_entries(data, step) == entries


def test_the_end_is_five_zeros() -> None:
    assert encode_entry(*END) == bytes(5)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 11,
        varint(65_536) + bytes(4),
        bytes(3) + varint(ENTRY_BYTES_MAX) + varint(1),
        bytes(2) + varint(2**64) + bytes(2),
        bytes(3) + varint(2**63) + varint(2**63),
    ],
)
def test_impossible_entries_are_refused_before_they_are_there(data: bytes) -> None:
    with pytest.raises(ArchiveError):
        list(EntryReader().feed(data))


def test_an_unfinished_entry_is_not_whole() -> None:
    reader = EntryReader()
    data = encode_entry(b"a", 1, 1, b"", b"payload")
    assert list(reader.feed(data[:-1])) == []
    assert not reader.is_whole


# Tar


@pytest.mark.parametrize("step", [1, 100, 512, 100_000])
def test_files_of_a_tar_come_in_pieces(step: int) -> None:
    block = bytes(range(256)) * 7
    data = tar_of(
        (member("meta.inf"), b"{}"),
        (member("meta.sum"), b"x"),
        (member("msgs/1.blk"), block),
        (member("msgs/2.blk"), b""),
        (member("msgs/index.db"), b"x" * 600),
        (member("msgs/1.key"), b"x"),
        (member("obs/C/meta.inf"), b"x"),
        (member("obs/C/meta.sum"), b"x"),
        (member("obs/C/o.dat"), b"y"),
    )
    found: dict[str, bytes] = {}
    ended = []
    for piece in read_tar(data, step):
        found[piece.name] = found.get(piece.name, b"") + piece.data
        if piece.is_last:
            ended.append((piece.name, piece.block))
    consumer = {"obs/C/meta.inf": b"x", "obs/C/o.dat": b"y"}
    assert found == {"meta.inf": b"{}", "msgs/1.blk": block, "msgs/2.blk": b""} | consumer
    assert ended == [*zip(found, (0, 1, 2, 0, 0), strict=True)]


@pytest.mark.parametrize(
    "info",
    [
        member("../../x"),
        member("/etc/passwd"),
        member("msgs/../../x.blk"),
        member("msgs/../meta.inf"),
        member("./meta.inf"),
        member("msgs/0.blk"),
        member("msgs/01.blk"),
        member("msgs/1_0.blk"),
        member("msgs/\u0661.blk"),
        member("msgs/1.blk\n"),
        member("msgs/9999999999.blk"),
        member("msgs/sub/1.blk"),
        member("obs/../o.dat"),
        member("obs/./o.dat"),
        member("obs/a/b/o.dat"),
        member("obs/" + "a" * 256 + "/o.dat"),
        member("description.json"),
        member("errors.txt"),
        member("meta.inf", tarfile.SYMTYPE, "/etc/passwd"),
        member("msgs/1.blk", tarfile.LNKTYPE, "meta.inf"),
        member("msgs/1.blk", tarfile.CHRTYPE),
        member("msgs/1.blk", tarfile.FIFOTYPE),
        member("msgs", tarfile.DIRTYPE),
    ],
    ids=lambda info: f"{info.name[:20]!r}-{info.type!r}",
)
def test_other_names_and_kinds_are_refused(info: tarfile.TarInfo) -> None:
    with pytest.raises(ArchiveError) as refusal:
        read_tar(tar_of((info, b"x")))
    assert "/" not in str(refusal.value)


def test_a_file_may_come_once() -> None:
    with pytest.raises(ArchiveError):
        read_tar(tar_of((member("meta.inf"), b"1"), (member("meta.inf"), b"2")))


@pytest.mark.parametrize(
    ("name", "size"), [("meta.inf", 5 << 20), ("msgs/1.blk", 129 << 20), ("obs/C/o.dat", 1 << 40)]
)
def test_a_file_that_is_too_long_is_refused_at_its_head(name: str, size: int) -> None:
    info = member(name)
    info.size = size
    with pytest.raises(ArchiveError):
        list(TarReader().feed(info.tobuf(tarfile.PAX_FORMAT)))


def test_an_extended_name_is_checked_too() -> None:
    info = member("meta.inf")
    info.pax_headers = {"path": "../../x"}
    with pytest.raises(ArchiveError):
        read_tar(tar_of((info, b"x")))


@pytest.mark.parametrize("size", ["-1", "1_0", " 1", "\u0661", "9" * 19, "", "x"], ids=ascii)
def test_an_extended_size_is_a_plain_number(size: str) -> None:
    info = member("meta.inf")
    info.pax_headers = {"size": size}
    with pytest.raises(ArchiveError):
        read_tar(tar_of((info, b"x")))


@pytest.mark.parametrize("fields", [b"9 a=b\n", b"a=b\n", b"0 a=b\n", b"6 a=b", b"6 \xff=b\n"])
def test_damaged_extensions_are_refused(fields: bytes) -> None:
    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    info.size = len(fields)
    head = info.tobuf(tarfile.USTAR_FORMAT)
    with pytest.raises(ArchiveError):
        list(TarReader().feed(head + fields.ljust(512, b"\0")))


def test_a_tar_ends_as_it_should() -> None:
    data = tar_of((member("meta.inf"), b"{}"))
    with pytest.raises(ArchiveError):
        read_tar(data.rstrip(b"\0"))
    with pytest.raises(ArchiveError):
        read_tar(data + tar_of((member("msgs/1.blk"), b"x")))
    with pytest.raises(ArchiveError):
        read_tar(data + bytes(1 << 20))


@given(st.binary(min_size=512, max_size=2000).filter(lambda data: any(data[:512])))
def test_garbage_is_no_tar(garbage: bytes) -> None:
    with pytest.raises(ArchiveError):
        read_tar(garbage)
