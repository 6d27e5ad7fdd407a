r"""The text form of a scenario: read, and written back by `--rewrite`.

A file opens with a comment that says what it documents, then the server's set-up, then cases.
Every other line is one of these:

    # a comment
    flags --auth secret         server flags (set-up)
    config                      the indented lines that follow are a configuration file (set-up)
    fresh                       each case gets a server of its own (set-up)
    slow                        the cases are marked slow (set-up)
    pings                       PING from the server is recorded; it is dropped otherwise (set-up)
    === name                    a case begins
    alice connect               open a connection; the first INFO is read and not recorded
    alice dial                  open a connection; everything that comes is recorded
    alice> PUB foo 5            send; consecutive lines are one write, each ends with CR LF
    alice drip> PUB foo 5       send byte by byte, each read by the server before the next is sent
    alice settle                wait until the server has read all that alice sent
    alice shutdown              close the sending half;  alice close: close the connection
    alice drain                 read and drop everything until the server closes the connection
    sync alice bob              PING, PONG for each (all open clients when none is named)
    gather bob carol            sync all, then what these got together, sorted and counted
    await alice                 what follows needs a timer of the server: wait longer for it
    server signal SIGTERM       send a signal to the server (with `fresh`)
    alice< PONG                 expected: a line; the payload of a message is the next line
    alice< closed               expected: the end of the connection, by FIN or RST
    only reference              what follows, up to `both` or the next case, is for one server
    only penstock: reason       ... and why penstock differs (a line marked *ours* in the guide)
    both                        what follows is for both again

Bytes: printable ASCII stands for itself; `\r \n \t \\ \xNN` are escapes; `\(a*5000)` repeats; a
single `\` at the end of a line means that no CR LF follows. Output is written in the same form.
"""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

NAME = r"[a-z]+"
SEND = re.compile(rf"({NAME})( drip)?>(?: (.*))?")
EXPECT = re.compile(rf"({NAME}(?:\|{NAME})*)<(?: (.*))?")
ONLY = re.compile(r"only (reference|penstock: \S.*)")
SETUP = re.compile(r"(flags .*|config|fresh|slow|pings)")
CLIENT_STEP = re.compile(rf"({NAME}) (connect|dial|settle|shutdown|close|drain)")
GROUP_STEP = re.compile(rf"(sync|gather|await)((?: {NAME})*)")
SERVER_STEP = re.compile(r"server (signal) (SIG[A-Z0-9]+)")
REPEATED = rb"(?:\\\(.+?\*\d+\)|.)+?"  # may hold one more repeat
ESCAPE = re.compile(rb"\\(?:\((" + REPEATED + rb")\*(\d+)\)|x([0-9a-fA-F]{2})|([rnt\\]))")
LETTERS = {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"\\": b"\\"}
# What is written as a repeat: at least 24 times the same one or two bytes.
RUN = re.compile(rb"(.{1,2}?)\1{23,}", re.DOTALL)
_ESCAPED = [chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in range(256)]
for _letter, _byte in LETTERS.items():
    _ESCAPED[_byte[0]] = "\\" + _letter.decode()


class NotationError(Exception):
    """A scenario file that cannot be read."""


@dataclass
class Note:
    """A comment or an empty line."""

    text: str


@dataclass
class Only:
    """From here on for one server; `name` None ends that."""

    name: str | None
    text: str


@dataclass
class Step:
    """Something to do: `verb`, the clients it is for, and the lines it was written in."""

    number: int
    verb: str
    who: tuple[str, ...]
    lines: list[str]
    data: list[str] = field(default_factory=list)  # send, drip: the lines in notation
    argument: str = ""


@dataclass
class Expect:
    """What must have come before the next step; the order counts for each client by itself."""

    number: int
    lines: list[str]


Item = Note | Only | Step | Expect


@dataclass
class Case:
    """One scripted conversation."""

    name: str
    number: int
    items: list[Item] = field(default_factory=list)

    def seen_by(self, implementation: str) -> list[Item]:
        """The items that hold for one server."""
        only: str | None = None
        visible: list[Item] = []
        for item in self.items:
            if isinstance(item, Only):
                only = item.name
            if only in (None, implementation):
                visible.append(item)
        return visible


@dataclass
class Scenario:
    """One file: the set-up of the server and the cases that share it."""

    path: Path
    header: list[str] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    flags: tuple[str, ...] = ()
    config: str = ""
    options: set[str] = field(default_factory=set)


def escape(data: bytes) -> str:
    """Bytes in notation."""
    parts: list[str] = []
    at = 0
    for run in RUN.finditer(data):
        parts += [_ESCAPED[byte] for byte in data[at : run.start()]]
        unit = "".join(_ESCAPED[byte] for byte in run[1])
        parts.append(f"\\({unit}*{len(run[0]) // len(run[1])})")
        at = run.end()
    text = "".join([*parts, *(_ESCAPED[byte] for byte in data[at:])])
    return text[:-1] + "\\x20" if text.endswith(" ") else text


def escape_line(data: bytes) -> str:
    """A line in notation: CR LF at its end is not shown, its absence is."""
    return escape(data[:-2]) if data.endswith(b"\r\n") else escape(data) + "\\"


def unescape(text: str) -> bytes:
    """The bytes of a text in notation."""
    raw = text.encode("ascii")
    parts: list[bytes] = []
    at = 0
    while at < len(raw):
        if raw[at : at + 1] != b"\\":
            parts.append(raw[at : at + 1])
            at += 1
            continue
        match = ESCAPE.match(raw, at)
        if match is None:
            raise NotationError(f"not an escape: {text[at : at + 8]!r}")
        repeated, count, code, letter = match.groups()
        if repeated is not None:
            parts.append(unescape(repeated.decode()) * int(count))
        elif code is not None:
            parts.append(bytes([int(code, 16)]))
        else:
            parts.append(LETTERS[letter])
        at = match.end()
    return b"".join(parts)


def unescape_line(text: str) -> bytes:
    """The bytes of a line in notation, with its CR LF unless a single `\\` ends it."""
    backslashes = len(text) - len(text.rstrip("\\"))
    return unescape(text[:-1]) if backslashes % 2 else unescape(text) + b"\r\n"


def read(path: Path) -> Scenario:
    """Parse one scenario file."""
    scenario = Scenario(path)
    in_config = False
    for number, line in enumerate(path.read_text("ascii").splitlines(), 1):
        if line.startswith("=== "):
            scenario.cases.append(Case(line[4:], number))
        elif scenario.cases:
            try:
                _read_item(scenario.cases[-1].items, number, line)
            except NotationError as error:
                raise NotationError(f"{path.name}:{number}: {error}") from None
        else:
            in_config = _read_header(scenario, line, in_config)
    if not scenario.header or not scenario.header[0].startswith("# "):
        raise NotationError(f"{path.name}: the first line must say what the file documents")
    if not scenario.cases:
        raise NotationError(f"{path.name}: no case")
    steps = [item for case in scenario.cases for item in case.items if isinstance(item, Step)]
    if "fresh" not in scenario.options and any(step.verb == "signal" for step in steps):
        raise NotationError(f"{path.name}: a signal needs a server of its own (fresh)")
    names = [case.name for case in scenario.cases]
    if len(set(names)) < len(names):
        raise NotationError(f"{path.name}: two cases have the same name")
    return scenario


def render(scenario: Scenario) -> str:
    """The file that reads as this scenario."""
    lines = list(scenario.header)
    for case in scenario.cases:
        lines.append(f"=== {case.name}")
        for item in case.items:
            lines += item.lines if isinstance(item, Step | Expect) else [item.text]
    return "\n".join(lines) + "\n"


def _read_header(scenario: Scenario, line: str, in_config: bool) -> bool:
    """One line before the first case; the answer is whether a configuration block is open."""
    scenario.header.append(line)
    if in_config and line.startswith("    "):
        scenario.config += line[4:] + "\n"
        return True
    if not line or line.startswith("#"):
        return in_config and not line
    if not SETUP.fullmatch(line):
        raise NotationError(f"{scenario.path.name}: not a set-up line: {line!r}")
    if line.startswith("flags "):
        scenario.flags = tuple(shlex.split(line)[1:])
    elif line != "config":
        scenario.options.add(line)
    return line == "config"


def _read_item(items: list[Item], number: int, line: str) -> None:
    if not line.strip() or line.startswith("#"):
        items.append(Note(line))
    elif line == "both" or ONLY.fullmatch(line):
        items.append(Only(None if line == "both" else line[5:].partition(":")[0], line))
    elif match := SEND.fullmatch(line):
        _read_send(items, number, line, match)
    elif EXPECT.fullmatch(line):
        if items and isinstance(items[-1], Expect):
            items[-1].lines.append(line)
        else:
            items.append(Expect(number, [line]))
    elif match := SERVER_STEP.fullmatch(line):
        items.append(Step(number, match[1], (), [line], argument=match[2]))
    elif match := GROUP_STEP.fullmatch(line):
        items.append(Step(number, match[1], tuple(match[2].split()), [line]))
    elif match := CLIENT_STEP.fullmatch(line):
        items.append(Step(number, match[2], (match[1],), [line]))
    else:
        raise NotationError(f"cannot read {line!r}")


def _read_send(items: list[Item], number: int, line: str, match: re.Match[str]) -> None:
    who, verb, text = match[1], (match[2] or " send").strip(), match[3] or ""
    unescape_line(text)  # a bad escape is an error of the file, not of the run
    last = items[-1] if items else None
    if isinstance(last, Step) and last.verb == verb and last.who == (who,):
        last.lines.append(line)
        last.data.append(text)
    else:
        items.append(Step(number, verb, (who,), [line], [text]))
