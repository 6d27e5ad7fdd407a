"""What clients send, right and wrong, for hypothesis: whole frames with what they mean, frames
with something broken, and noise."""

from itertools import pairwise

from hypothesis import strategies as st

from penstock.kernel.hub import Verb
from tests.properties.model_protocol import Seen

WORDS = st.text("abz019.*>_-'{}", min_size=1, max_size=6).map(str.encode)
GAPS = st.sampled_from([b" ", b" ", b"\t", b"  ", b" \t "])
ENDS = st.sampled_from([b"\r\n", b"\r\n", b"\n"])
ODD_SIZES = st.sampled_from(
    [
        *(b"-1", b"+1", b"1_0", b"0x1", b"", b"1.0", b"1 1", b"01"),
        *(b"1000000000", b"0000000001", b"999999999"),
        *("\u0661".encode(), "\uff11".encode(), b"\xb2"),
    ]
)


@st.composite
def lines(draw: st.DrawFn, verb: bytes, words: list[bytes]) -> bytes:
    letters = [draw(st.sampled_from([letter.upper(), letter.lower()])) for letter in verb.decode()]
    parts = ["".join(letters).encode()]
    for word in words:
        parts += [draw(GAPS), word]
    return b"".join([*parts, draw(ENDS)])


@st.composite
def publishes(draw: st.DrawFn) -> tuple[bytes, Seen]:
    subject, reply = draw(WORDS), draw(st.just(b"") | WORDS)
    payload = draw(st.binary(max_size=30) | st.integers(0, 900).map(lambda size: b"x" * size))
    size = b"%0*d" % (draw(st.integers(1, 5)), len(payload))
    words = [subject, *([reply] if reply else [])]
    if draw(st.booleans()):
        header_bytes = draw(st.integers(0, len(payload)))
        head = draw(lines(b"HPUB", [*words, b"%d" % header_bytes, size]))
        frame = Seen(Verb.PUBLISH_WITH_HEADERS, header_bytes, subject, reply, payload)
    else:
        head = draw(lines(b"PUB", [*words, size]))
        frame = Seen(Verb.PUBLISH, 0, subject, reply, payload)
    return head + payload + b"\r\n", frame


@st.composite
def subscriptions(draw: st.DrawFn) -> tuple[bytes, Seen]:
    subject, queue, sid = draw(WORDS), draw(st.just(b"") | WORDS), draw(WORDS)
    words = [subject, *([queue] if queue else []), sid]
    return draw(lines(b"SUB", words)), Seen(Verb.SUBSCRIBE, 0, subject, queue, sid)


@st.composite
def endings(draw: st.DrawFn) -> tuple[bytes, Seen]:
    sid, maximum = draw(WORDS), draw(st.just(b"") | WORDS | ODD_SIZES.filter(bytes.isdigit))
    words = [sid, *([maximum] if maximum else [])]
    return draw(lines(b"UNSUB", words)), Seen(Verb.UNSUBSCRIBE, reply=maximum, payload=sid)


@st.composite
def others(draw: st.DrawFn) -> tuple[bytes, Seen]:
    pairs = [(b"CONNECT", Verb.CONNECT), (b"INFO", Verb.INFO), (b"-ERR", Verb.ERR)]
    verb, number = draw(st.sampled_from(pairs))
    text = draw(st.text("ab {}:,\"'", max_size=20).map(lambda text: b"{" + text.encode() + b"}"))
    return draw(lines(verb, [text])), Seen(number, payload=text)


@st.composite
def bare(draw: st.DrawFn) -> tuple[bytes, Seen]:
    pairs = [(b"PING", Verb.PING), (b"PONG", Verb.PONG), (b"+OK", Verb.OK)]
    verb, number = draw(st.sampled_from(pairs))
    junk = draw(st.sampled_from([b"", b"", b"x", b" y z", b"\t", b"\r"]))
    return verb + junk + draw(ENDS), Seen(number)


FRAMES = st.one_of(publishes(), publishes(), subscriptions(), endings(), others(), bare())
NOISE = st.one_of(
    st.binary(max_size=20),
    st.builds(
        lambda verb, odd, rest: verb + b" a " + odd + b"\r\n" + rest,
        st.sampled_from([b"PUB", b"HPUB", b"hpub a 1", b"UNSUB", b"SUB"]),
        ODD_SIZES,
        st.binary(max_size=4),
    ),
    st.sampled_from(
        [
            b"PUB a 3\r\nabcd\r\n",
            b"PUB a 3\r\nabc\n",
            b"PUB a 3\r\nabc\rX",
            b"PUB a 3\r\nab",
            b"PUB a\rb 0\r\n",
        ]
    ),
    st.sampled_from(
        [b"PUB\r\n", b"CONNECT\r\n", b"INFO{}\r\n", b"SUBa 1\r\n", b"\r\n", b"MSG a 1 0"]
    ),
    st.integers(55, 75).map(lambda size: b"SUB " + b"a" * size + b" 1\r\n"),
    st.integers(55, 75).map(lambda size: b"PING" + b"a" * size + b"\r\n"),
    st.integers(60, 70).map(lambda size: b"CONNECT " + b"a" * size),
    st.integers(995, 1005).map(lambda size: b"PUB a %d\r\n" % size + b"z" * size + b"\r\n"),
)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Frames, now and then something that is none, and sometimes a byte changed on the way."""
    parts = draw(st.lists(FRAMES.map(lambda pair: pair[0]) | NOISE, max_size=6))
    data = bytearray(b"".join(parts))
    if data and draw(st.integers(0, 3)) == 0:
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


@st.composite
def cut(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The same bytes in pieces."""
    if draw(st.booleans()):
        step = draw(st.integers(1, 7))
        return [data[at : at + step] for at in range(0, len(data), step)]
    marks = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    bounds = [0, *marks, len(data)]
    return [data[one:two] for one, two in pairwise(bounds)]
