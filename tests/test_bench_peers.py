"""`make bench-peers`: what is asked of a library, how its failures are told, and what a factor is."""

import importlib
import json
import re
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest

from retentive.evaluate.peers.environments import PeerError

FAKE = '''
"""Keeps rows in a list; the environment says what is wrong with it."""
import os, sys, time

PACKAGE, MODE, SCOPE, DURABLE, BATCH = "numpy", "exact", "a list", "never", 100


def open(folder, dimension, given):
    return Store(folder)


class Store:
    def __init__(self, folder):
        self.folder, self.rows, self.wrong = folder, [], os.environ.get("FAKE_IS", "")
        if os.path.basename(os.path.dirname(folder)) == "retentive":
            self.wrong = ""

    def add(self, rows):
        self.rows += rows
        (self.folder / "rows").write_bytes(b"x" * len(self.rows))
        if self.wrong == "slow":
            time.sleep(0.05)

    def finish(self):
        pass

    def remember(self, row):
        if self.wrong == "dying":
            print("Segmentation fault, about", file=sys.stderr, flush=True)
            os._exit(3)
        self.rows.append(row)

    def recall(self, question, limit):
        if self.wrong == "raising":
            raise LookupError("no index")
        if self.wrong == "hanging":
            time.sleep(60)
        if self.wrong == "printing":
            print("a progress bar", flush=True)
        mine = [row for row in self.rows if self.wrong == "leaking" or row.session == question.session]
        mine.sort(key=lambda row: -float(row.vector @ question.vector))
        return [row.number for row in mine[: 3 if self.wrong == "short" else limit]]

    def context(self, question):
        return "a block"

    def close(self):
        pass
'''
MODULES = ("bars", "conversation", "dataset", "driver", "pair", "process", "questions", "serve", "tables")


@pytest.fixture
def bench(root, monkeypatch, tmp_path):
    """The program's modules, with a fake library beside them."""
    folder = root / "benches" / "peers"
    monkeypatch.syspath_prepend(folder)
    (tmp_path / "fakes").mkdir()
    (tmp_path / "fakes" / "on_fake.py").write_text(FAKE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fakes"))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    modules = {name: importlib.import_module(name) for name in MODULES}
    modules["pair"].RECALLS, modules["pair"].CONTEXTS, modules["pair"].WRITES = 20, 10, 5
    yield SimpleNamespace(folder=folder, command=[sys.executable, str(folder / "serve.py"), "fake"], **modules)
    for name in MODULES:
        sys.modules.pop(name)


def vectors(texts):
    drawn = [np.random.default_rng(sum(text.encode())).standard_normal(8) for text in texts]
    return np.asarray(drawn, np.float32)


@pytest.fixture
def data(bench, tmp_path):
    (tmp_path / "data").mkdir()
    return bench.dataset.build(tmp_path / "data", 1_000, writes=10, questions=40, embed=vectors)


@pytest.fixture
def library(bench, data, tmp_path, monkeypatch):
    """Starts the fake with something wrong, and opens it."""
    running = []

    def start(wrong=""):
        monkeypatch.setenv("FAKE_IS", wrong)
        place = tmp_path / f"run-{len(running)}"
        place.mkdir()
        running.append(bench.process.Library(bench.command, place))
        running[-1].ask("open", 30, data=str(data.folder), store=str(place), dimension=8)
        return running[-1]

    yield start
    for one in running:
        one.__exit__()
        assert not one.alive


def measured(bench, data, tmp_path, monkeypatch, wrong="", load_seconds=60):
    monkeypatch.setenv("FAKE_IS", wrong)
    commands = {"retentive": bench.command, "peer": bench.command}
    (tmp_path / "pair").mkdir()
    return bench.pair.measure(data, commands, tmp_path / "pair", bench.pair.Limits(load_seconds, 60)).as_json()


def test_a_factor_is_the_peers_cost_by_retentives(bench):
    sides = {
        "load": {"retentive": {"rows_per_s": 900.0}, "peer": {"rows_per_s": 300.0}},
        "recall": {"retentive": {"median_ms": 0.5}, "peer": {"median_ms": 2.0}},
        "disk": {"retentive": {"bytes": 4_000}, "peer": {"bytes": 1_000}},
        "context": {"retentive": {"median_ms": 0.5}},
    }
    assert bench.pair.factors(sides) == {"load": 3.0, "recall": 4.0, "disk": 0.25}


def test_quantiles_are_in_milliseconds(bench):
    assert bench.pair.quantiles([value / 1000 for value in range(101)]) == {
        "median_ms": 50.0,
        "p95_ms": 95.0,
        "p99_ms": 99.0,
        "count": 101,
    }


def test_sides_take_turns_and_both_end_when_one_has_used_its_time(bench):
    asked = []

    def side(name, seconds):
        return lambda turn: asked.append((name, turn)) or [seconds]

    times, turns = bench.pair.in_turns({"a": side("a", 0.1), "b": side("b", 3.0)}, turns=9, seconds=5)
    assert asked == [("a", 0), ("b", 0), ("b", 1), ("a", 1)]
    assert times == {"a": [0.1, 0.1], "b": [3.0, 3.0]}
    assert turns == 2


def test_every_run_reads_the_same_bytes_in_sessions_of_500(bench, data, tmp_path):
    (tmp_path / "again").mkdir()
    bench.dataset.build(tmp_path / "again", 1_000, writes=10, questions=40, embed=vectors)
    for name in ("turns", "writes", "questions"):
        for kind in ("jsonl", "f32"):
            file = f"{name}.{kind}"
            assert (tmp_path / "again" / file).read_bytes() == (data.folder / file).read_bytes()
    turns = [json.loads(line) for line in (data.folder / "turns.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [turn["session"] for turn in turns] == ["session-0"] * 500 + ["session-1"] * 500
    asked = [json.loads(line) for line in (data.folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {question["session"] for question in asked} == {"session-0", "session-1"}
    assert [f"session-{data.session_asked(number)}" for number in range(40)] == [one["session"] for one in asked]


def test_what_a_library_raises_is_its_answer_and_it_can_be_asked_again(library):
    fake = library("raising")
    assert fake.ask("load", 30, rows=200, seconds=30)["rows"] == 200
    with pytest.raises(PeerError, match="recall: LookupError: no index"):
        fake.ask("recall", 30, first=0, count=1, limit=10)
    assert fake.alive
    assert len(fake.ask("remember", 30, count=2)["seconds"]) == 2


def test_a_library_that_ends_leaves_its_last_words(library):
    with pytest.raises(PeerError, match=r"remember: its process ended with 3: Segmentation fault, about"):
        library("dying").ask("remember", 30, count=1)


def test_a_library_that_hangs_is_ended(library):
    fake = library("hanging")
    with pytest.raises(PeerError, match="recall: no answer in 0 s"):
        fake.ask("recall", 0.2, first=0, count=1, limit=10)
    assert not fake.alive


def test_what_a_library_prints_is_no_answer(library):
    fake = library("printing")
    fake.ask("load", 30, rows=100, seconds=30)
    assert len(fake.ask("recall", 30, first=0, count=1, limit=10)["found"][0]) == 10


def test_a_pair_has_every_measure_of_both_and_no_complaint(bench, data, tmp_path, monkeypatch):
    case = measured(bench, data, tmp_path, monkeypatch)
    assert set(case["figures"]) == set(case["factor"]) == set(bench.pair.MEASURES)
    assert (case["stopped"], case["failures"]) == (None, [])
    for side in ("retentive", "peer"):
        assert case["figures"]["load"][side]["rows"] == 1_000
        assert case["figures"]["recall"][side]["count"] == 20
        assert case["figures"]["disk"][side] == {"bytes": 1_000}  # read before anything is written one by one


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("leaking", r"recall: \d+ answers held memories of another session"),
        ("short", "recall: 40 answers had fewer than 10 memories"),
        ("raising", "recall: LookupError: no index"),
    ],
)
def test_a_wrong_answer_is_told_and_the_other_measures_stay(wrong, said, bench, data, tmp_path, monkeypatch):
    case = measured(bench, data, tmp_path, monkeypatch, wrong)
    assert len(case["failures"]) == 1
    assert re.fullmatch(said, case["failures"][0])
    assert {"load", "context", "remember", "disk", "memory"} <= set(case["factor"])


def test_a_library_that_dies_keeps_what_was_measured(bench, data, tmp_path, monkeypatch):
    case = measured(bench, data, tmp_path, monkeypatch, "dying")
    assert case["failures"] == ["remember: its process ended with 3: Segmentation fault, about"]
    assert set(case["factor"]) == {"load", "recall", "context"}


def test_a_library_that_loads_too_slowly_is_stopped_and_says_how_far_it_came(bench, data, tmp_path, monkeypatch):
    case = measured(bench, data, tmp_path, monkeypatch, "slow", load_seconds=0.12)
    assert re.fullmatch(r"after 0 s with \d+ of 1,000 memories loaded", case["stopped"])
    assert case["figures"]["load"]["peer"]["rows"] < 1_000
    assert set(case["figures"]) == {"load"}
    assert case["failures"] == []


def figures_of(milliseconds):
    return {"median_ms": milliseconds, "p95_ms": 2 * milliseconds, "p99_ms": 3 * milliseconds, "count": 9}


@pytest.fixture
def result():
    """One peer that was measured, at two sizes, and one that could not be installed."""
    said = {"version": "1.2", "mode": "cosine", "scope": "a <filter>", "durable": "1 fsync"}
    small = {
        "memories": 1_000,
        "figures": {"recall": {"retentive": figures_of(0.5), "peer": figures_of(6)}},
        "factor": {"recall": 12.0, "load": 0.5},
        "stopped": None,
        "failures": ["context: ValueError: no"],
    }
    stopped = "after 60 s with 2,000 of 10,000 memories loaded"
    large = {"memories": 10_000, "figures": {}, "factor": {}, "stopped": stopped, "failures": []}
    rest = {"requirements": ["a==1"], "context": True}
    return {
        "retentive": {"commit": None, **said},
        "settings": {"sizes": [1_000, 10_000], "per_session": 500, "dimension": 256},
        "machine": {"cpu": "a & b", "cores": 2, "python": "3", "system": "x"},
        "load_average": [0.1, 0.2],
        "measured": "2030-01-01T00:00:00+00:00",
        "peers": [
            {"name": "alpha", "error": None, "cases": [small, large], **rest, **said},
            {"name": "beta", "error": "pip install exited with 1: none", "cases": [], **rest, **said, "version": None},
        ],
    }


def test_tables_have_the_factor_and_every_failure(bench, result):
    text = bench.tables.markdown(result, "plots")
    assert "| alpha | 6.00 / 12.0 / 18.0 (12.0x) | stopped after 60 s with 2,000 of 10,000 memories loaded |" in text
    assert "| retentive | 0.500 / 1.00 / 1.50 | – |" in text
    assert "- alpha, 1,000 memories: context: ValueError: no" in text
    assert "- alpha, 10,000 memories: stopped after 60 s" in text
    assert "- beta: pip install exited with 1: none" in text
    assert "### Where retentive is behind\n\n- alpha, 1,000 memories: load 0.500x\n" in text
    assert bench.driver.failed(result)


def test_a_plot_needs_no_colour(bench, result):
    question = next(one for one in bench.questions.QUESTIONS if one.measure == "recall")
    drawn = bench.bars.svg(question, bench.questions.answers(result, question))
    texts = [element.text for element in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert {"alpha", "retentive", "6.00, 12.0x", "stopped: not all was loaded in time"} <= set(texts)
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawn))
    assert colours <= {"black", "white", "#ddd", "none", "url(#lines)", "url(#dots)"}


def test_each_peer_has_an_adapter_and_exact_versions(bench):
    for name in bench.driver.PEERS:
        assert (bench.folder / f"on_{name.replace('-', '_')}.py").is_file()
        wanted = bench.driver.requirements(name)
        assert wanted
        assert [line for line in wanted if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_a_peer_that_cannot_be_installed_leaves_the_others(bench, monkeypatch, tmp_path, capsys):
    def environment(name, wanted, folder):
        raise PeerError("pip install exited with 1: no such version")

    monkeypatch.setattr(bench.driver, "environment", environment)
    page = tmp_path / "page.md"
    page.write_text("\n".join(["before", *bench.driver.MARKS, "after"]), encoding="utf-8")
    arguments = ["--peers", "chroma", "--sizes", "500", "--out", str(tmp_path / "out.json"), "--page", str(page)]
    assert bench.driver.main([*arguments, "--plots", str(tmp_path / "plots")]) == 1
    assert "- chroma: pip install exited with 1: no such version" in page.read_text(encoding="utf-8")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["peers"][0]["cases"] == []
    drawn_again = ["--draw", str(tmp_path / "out.json"), "--out", str(tmp_path / "copy.json"), "--page", str(page)]
    assert bench.driver.main([*drawn_again, "--plots", str(tmp_path / "plots")]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--peers", "excel"], "there is no peer 'excel'"),
        (["--sizes", "many"], "expected whole numbers"),
        (["--sizes", "20"], "at least one session of 500"),
        (["--load-seconds", "0"], "expected more than 0"),
        (["--page", "PAGE"], "it has no place for figures"),
    ],
)
def test_what_is_asked_wrongly_is_said_before_anything_runs(arguments, said, bench, tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        bench.driver.main([str(page) if part == "PAGE" else part for part in arguments])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
