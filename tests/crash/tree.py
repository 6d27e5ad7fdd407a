"""The picture of ADR-49: counters of cities flow to countries, continents and the world.

    MAD, BCN -> ES -> (mirror ES2) -> EU -> WORLD
    BER, MUC -> DE ----------------> EU
    NYC ----> US ----> NA ---------> WORLD

A city listens to its own subject; every tier sources the one below and rewrites `count.city.page`
to its own `count.es.page`, and so on. Increments have ids, so that one whose answer was lost is
sent again and counts once; the model is a dictionary of integers.
"""

import base64
import json
import random
import time
from typing import Any

from tests.crash.wire import Wire

CITIES = {"MAD": "ES", "BCN": "ES", "BER": "DE", "MUC": "DE", "NYC": "US"}
TIERS = {"ES": ("MAD", "BCN"), "DE": ("BER", "MUC"), "US": ("NYC",), "EU": ("ES2", "DE"),
         "NA": ("US",), "WORLD": ("EU", "NA")}  # fmt: skip
MIRRORS = {"ES2": "ES"}
PAGES = ("home", "shop")
WAIT_SECONDS_MAX = 60.0


def source(name: str, into: str) -> dict[str, Any]:
    there = MIRRORS.get(name, name).lower()
    transform = {"src": f"count.{there}.*", "dest": f"count.{into.lower()}.$1"}
    return {"name": name, "subject_transforms": [transform]}


def tier_config(name: str, without: str = "") -> dict[str, Any]:
    sources = [source(one, name) for one in TIERS[name] if one != without]
    return {
        "name": name,
        "subjects": [f"count.{name.lower()}.*"],  # every tier may also be counted in directly
        "allow_msg_counter": True,
        "duplicate_window": 120_000_000_000,  # with sources, there is none by default
        "sources": sources,
    }


def ask(wire: Wire, subject: str, body: dict[str, Any] | None = None) -> Any:
    return wire.request(f"$JS.API.{subject}", json.dumps(body or {}).encode() if body else b"")


def grow(wire: Wire) -> None:
    """All streams, in an order in which some origins are not there yet."""
    for name in reversed(TIERS):
        answer = ask(wire, f"STREAM.CREATE.{name}", tier_config(name))
        assert "error" not in answer, answer
    for name, origin in MIRRORS.items():
        answer = ask(wire, f"STREAM.CREATE.{name}", {"name": name, "mirror": {"name": origin}})
        assert "error" not in answer, answer
    for number, name in enumerate(CITIES):
        config = {"name": name, "subjects": [f"count.{name.lower()}.*"], "allow_msg_counter": True}
        if number % 2:
            config["max_msgs_per_subject"] = 3  # messages are lost before anybody reads them
        answer = ask(wire, f"STREAM.CREATE.{name}", config)
        assert "error" not in answer, answer


class Model:
    """What was counted where."""

    def __init__(self) -> None:
        self.counted: dict[tuple[str, str], int] = {}
        self._ids = 0
        self._unsure: list[tuple[str, str, int, str]] = []  # sent, and not answered

    def add(self, wire: Wire, stream: str, page: str, value: int) -> None:
        self._ids += 1
        self._unsure.append((stream, page, value, f"{stream} {self._ids}"))
        self.settle(wire)

    def settle(self, wire: Wire) -> None:
        """Sends what was not answered, again if need be, until it is."""
        while self._unsure:
            stream, page, value, message_id = self._unsure[0]
            lines = f"Nats-Incr: {value:+d}\r\nNats-Msg-Id: {message_id}\r\n".encode()
            reply = wire.ask(f"count.{stream.lower()}.{page}", b"", lines)
            answer = json.loads(wire.wait(reply).payload)
            assert "error" not in answer, answer
            self._unsure.pop(0)
            place = stream, page
            self.counted[place] = self.counted.get(place, 0) + value

    def total(self, stream: str, page: str) -> int:
        origin = MIRRORS.get(stream, stream)
        below = sum(self.total(one, page) for one in TIERS.get(origin, ()))
        return self.counted.get((origin, page), 0) + below


def value_of(wire: Wire, stream: str, page: str) -> int | None:
    there = MIRRORS.get(stream, stream).lower()
    answer = ask(wire, f"STREAM.MSG.GET.{stream}", {"last_by_subj": f"count.{there}.{page}"})
    if "error" in answer:
        return None
    body = json.loads(base64.b64decode(answer["message"]["data"]))
    return int(body["val"])


def await_totals(wire: Wire, model: Model) -> None:
    """Every tier comes to exactly what was counted below it."""
    for stream in (*CITIES, *TIERS, *MIRRORS):
        for page in PAGES:
            wanted = model.total(stream, page)
            deadline = time.monotonic() + WAIT_SECONDS_MAX
            while (found := value_of(wire, stream, page)) != wanted:
                assert time.monotonic() < deadline, (stream, page, found, wanted)
                time.sleep(0.02)


def recount(wire: Wire, stream: str) -> dict[str, int]:
    """The sums of the increments of a stream with all its history; every body agrees on the way,
    and no source is ever forgotten."""
    state = ask(wire, f"STREAM.INFO.{stream}")["state"]
    totals: dict[str, int] = {}
    seen: dict[str, set[tuple[str, str]]] = {}
    for sequence in range(state["first_seq"], state["last_seq"] + 1):
        message = ask(wire, f"STREAM.MSG.GET.{stream}", {"seq": sequence})["message"]
        headers = dict(
            line.split(": ", 1)
            for line in base64.b64decode(message["hdrs"]).decode().split("\r\n")[1:]
            if line
        )
        subject = message["subject"]
        totals[subject] = totals.get(subject, 0) + int(headers["Nats-Incr"])
        body = json.loads(base64.b64decode(message["data"]))
        assert body == {"val": str(totals[subject])}, (stream, sequence)
        sources = json.loads(headers.get("Nats-Counter-Sources", "{}"))
        keys = {(name, one) for name, subjects in sources.items() for one in subjects}
        assert keys >= seen.get(subject, set()), (stream, sequence)
        seen[subject] = keys
    return totals


def disturb(wire: Wire, dice: random.Random) -> None:
    """Messages of a city are lost, though never the last of their subject."""
    city = dice.choice([*CITIES])
    state = ask(wire, f"STREAM.INFO.{city}", {"subjects_filter": ">"})["state"]
    last = {
        ask(wire, f"STREAM.MSG.GET.{city}", {"last_by_subj": subject})["message"]["seq"]
        for subject in state.get("subjects", {})
    }
    if state["messages"]:
        sequence = dice.randint(state["first_seq"], state["last_seq"])
        if sequence not in last:
            ask(wire, f"STREAM.MSG.DELETE.{city}", {"seq": sequence})
