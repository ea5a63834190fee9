"""retentive and one peer over the same data, in turns, so that what slows the machine down slows both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from conversation import PER_SESSION
from dataset import SESSIONS_ASKED, Dataset
from process import Library
from retentive.evaluate.peers.environments import PeerError

LIMIT = 10  # memories asked for
LOAD_TURNS = 4
RECALLS, CONTEXTS, WRITES = 300, 150, 60
RECALLS_A_TURN, WRITES_A_TURN = 10, 5
QUESTIONS = SESSIONS_ASKED + RECALLS  # each session once before the clock counts
_HANGS = 120  # seconds without an answer, beyond what a request may take

OURS, THEIRS = "retentive", "peer"
MEASURES = ("load", "recall", "context", "remember", "disk", "memory")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds on the clock of one library: to load everything, and for each other measure."""

    load: float
    measure: float


@dataclass(slots=True)
class Pair:
    """What came of one peer at one size: figures of both sides by measure, and what went wrong."""

    memories: int
    about: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    stopped: str | None = None
    failures: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """With the factors."""
        return {
            "memories": self.memories,
            "figures": self.figures,
            "factor": factors(self.figures),
            "stopped": self.stopped,
            "failures": self.failures,
        }


class StoppedError(Exception):
    """A library did not load everything in the time it had."""


def factors(figures: dict[str, dict[str, dict[str, float]]]) -> dict[str, float]:
    """The peer's cost divided by retentive's, for each measure that both have: over 1, retentive takes less."""
    found = {}
    for measure, sides in figures.items():
        if OURS in sides and THEIRS in sides:
            found[measure] = round(_cost(measure, sides[THEIRS]) / _cost(measure, sides[OURS]), 3)
    return found


def _cost(measure: str, figure: dict[str, float]) -> float:
    if measure == "load":
        return 1 / figure["rows_per_s"]
    return figure["bytes"] if measure in {"disk", "memory"} else figure["median_ms"]


def in_turns(
    sides: dict[str, Callable[[int], list[float]]], turns: int, seconds: float
) -> tuple[dict[str, list[float]], int]:
    """Call both sides turn by turn, who was second goes first next; returns their times and how many turns there were.

    Ends early, after a turn of both, when one side has used its `seconds`.
    """
    times: dict[str, list[float]] = {side: [] for side in sides}
    order = list(sides)
    for turn in range(turns):
        for side in order if turn % 2 == 0 else reversed(order):
            times[side] += sides[side](turn)
        if max(sum(spent) for spent in times.values()) > seconds:
            return times, turn + 1
    return times, turns


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Median, p95 and p99 in milliseconds, and of how many."""
    median, p95, p99 = (round(1000 * float(value), 4) for value in np.quantile(seconds, (0.5, 0.95, 0.99)))
    return {"median_ms": median, "p95_ms": p95, "p99_ms": p99, "count": len(seconds)}


def measure(data: Dataset, commands: dict[str, Sequence[str]], folder: Path, limits: Limits) -> Pair:
    """Run every measure; what fails is in the answer, with the side and the measure it failed in."""
    pair = Pair(data.size)
    stores = {side: folder / side for side in (OURS, THEIRS)}
    for store in stores.values():
        store.mkdir()
        (store / "data").mkdir()
    try:
        with Library(commands[OURS], stores[OURS]) as ours, Library(commands[THEIRS], stores[THEIRS]) as theirs:
            _Run(pair, data, {OURS: ours, THEIRS: theirs}, limits).all(stores)
    except StoppedError as stop:
        pair.stopped = str(stop)
    except PeerError as error:
        pair.failures.append(str(error))
    return pair


class _Run:
    """The measures of a pair whose processes run."""

    def __init__(self, pair: Pair, data: Dataset, libraries: dict[str, Library], limits: Limits) -> None:
        self._pair = pair
        self._data = data
        self._libraries = libraries
        self._limits = limits

    def all(self, stores: dict[str, Path]) -> None:
        """Reads before writes, so that what is read is exactly `memories`."""
        for side, store in stores.items():
            self._pair.about[side] = self._ask(
                side, "open", data=str(self._data.folder), store=str(store / "data"), dimension=self._data.dimension
            )
        self._load()
        self._try(self._recall)
        if all(said["context"] for said in self._pair.about.values()):
            self._try(self._context)
        self._try(self._remember)
        for side, store in stores.items():
            peak = self._ask(side, "close")["peak_bytes"]
            self._set("memory", side, {"bytes": peak})
            self._set("disk", side, {"bytes": folder_bytes(store / "data")})

    def _ask(self, side: str, op: str, timeout: float = 0, **fields: Any) -> dict[str, Any]:
        try:
            return self._libraries[side].ask(op, timeout + _HANGS, **fields)
        except PeerError as error:
            raise PeerError(f"{side}: {error}" if side == OURS else str(error)) from error

    def _set(self, measure: str, side: str, figure: dict[str, float]) -> None:
        self._pair.figures.setdefault(measure, {})[side] = figure

    def _try(self, call: Callable[[], None]) -> None:
        """A measure that fails leaves the others, as long as both processes are there."""
        try:
            call()
        except PeerError as error:
            self._pair.failures.append(str(error))
            if not all(library.alive for library in self._libraries.values()):
                raise StoppedError("after a failure that ended its process") from error

    def _load(self) -> None:
        size, share = self._data.size, -(-self._data.size // LOAD_TURNS)
        loaded = dict.fromkeys(self._libraries, 0)
        spent = dict.fromkeys(self._libraries, 0.0)

        def turn(side: str) -> Callable[[int], list[float]]:
            def load(_: int) -> list[float]:
                rows = min(share, size - loaded[side])
                left = self._limits.load - spent[side]
                answer = self._ask(side, "load", left, rows=rows, seconds=left)
                loaded[side] += answer["rows"]
                spent[side] += answer["seconds"]
                return [answer["seconds"]]

            return load

        in_turns({side: turn(side) for side in self._libraries}, LOAD_TURNS, self._limits.load)
        for side in self._libraries:
            if loaded[side] == size:
                spent[side] += self._ask(side, "finish", self._limits.load)["seconds"]
            self._set("load", side, {"rows_per_s": round(loaded[side] / spent[side], 1), "rows": loaded[side]})
        late = [side for side in self._libraries if loaded[side] < size]
        if late:
            # What ended the turns for both: the one that used its time.
            side = max(late, key=lambda name: spent[name])
            who = "" if side == THEIRS else f"{side} "
            raise StoppedError(f"{who}after {spent[side]:.0f} s with {loaded[side]:,} of {size:,} memories loaded")

    def _recall(self) -> None:
        foreign, short = dict.fromkeys(self._libraries, 0), dict.fromkeys(self._libraries, 0)

        def turn(side: str, first: int) -> list[float]:
            answer = self._ask(side, "recall", first=first, count=RECALLS_A_TURN, limit=LIMIT)
            for question, found in enumerate(answer["found"], first):
                session = self._data.session_asked(question)
                foreign[side] += any(number // PER_SESSION != session for number in found)
                short[side] += len(found) < LIMIT
            return answer["seconds"]

        times = self._reads(turn, RECALLS)
        for side, spent in times.items():
            self._set("recall", side, {**quantiles(spent), "foreign": foreign[side], "short": short[side]})
            who = "" if side == THEIRS else f"{side}: "
            if foreign[side]:
                self._pair.failures.append(f"{who}recall: {foreign[side]} answers held memories of another session")
            if short[side]:
                self._pair.failures.append(f"{who}recall: {short[side]} answers had fewer than {LIMIT} memories")

    def _context(self) -> None:
        def turn(side: str, first: int) -> list[float]:
            answer: list[float] = self._ask(side, "context", first=first, count=RECALLS_A_TURN)["seconds"]
            return answer

        for side, spent in self._reads(turn, CONTEXTS).items():
            self._set("context", side, quantiles(spent))

    def _reads(self, turn: Callable[[str, int], list[float]], count: int) -> dict[str, list[float]]:
        """Times of `count` questions, after one of each session that does not count."""

        def from_question(start: int) -> dict[str, Callable[[int], list[float]]]:
            def of(side: str) -> Callable[[int], list[float]]:
                return lambda number: turn(side, start + number * RECALLS_A_TURN)

            return {side: of(side) for side in self._libraries}

        _, warm = in_turns(from_question(0), SESSIONS_ASKED // RECALLS_A_TURN, self._limits.measure / 2)
        first = warm * RECALLS_A_TURN
        return in_turns(from_question(first), count // RECALLS_A_TURN, self._limits.measure)[0]

    def _remember(self) -> None:
        def of(side: str) -> Callable[[int], list[float]]:
            return lambda _: self._ask(side, "remember", count=WRITES_A_TURN)["seconds"]

        sides = {side: of(side) for side in self._libraries}
        in_turns(sides, 1, self._limits.measure)  # the first ones do not count
        times, _ = in_turns(sides, WRITES // WRITES_A_TURN, self._limits.measure)
        for side, spent in times.items():
            self._set("remember", side, quantiles(spent))


def folder_bytes(folder: Path) -> int:
    """What all files of a folder have in them."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
