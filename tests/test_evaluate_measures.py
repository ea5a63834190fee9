"""What `python -m retentive.evaluate` measures, on files so small that each value is worked out by hand."""

import json
import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import retentive
from retentive.embedders import HashEmbedder
from retentive.evaluate import locomo, peers
from retentive.evaluate.__main__ import main
from retentive.evaluate.bootstrap import mean_of
from retentive.evaluate.conversations import Conversation, Dataset, Fact, Question, Turn
from retentive.evaluate.measure import Run, Settings, judged, measure_runs
from retentive.evaluate.peers import REQUIREMENTS, measure_peer
from retentive.evaluate.peers.environments import PeerError
from retentive.evaluate.plan import plan, signal_names
from retentive.evaluate.protocol import at_sessions, at_turns
from retentive.evaluate.recorded import Recorded
from retentive.evaluate.report import figures
from retentive.evaluate.tables import markdown
from retentive.evaluate.ways import SESSION, Answer, Way, ask
from retentive.evaluate.words import answer_stems, stem, stems
from retentive.tokens import estimate_tokens

NOON = datetime(2024, 3, 1, 12, 0, tzinfo=UTC)


def turn(identity, text, session="1", role="user"):
    return Turn(identity, text, role, NOON + timedelta(seconds=int(identity.rpartition(":")[2])), session=session)


def dataset_of(turns, questions, facts=()):
    conversation = Conversation("c", tuple(turns), tuple(questions), tuple(facts))
    return Dataset("synthetic", "synthetic.json", "0", (conversation,), {}, frozenset({"plain"}))


def question(identity, text, evidence, answer="", category="plain"):
    return Question(identity, text, category, frozenset(evidence), NOON + timedelta(days=1), answer)


@pytest.fixture
def garden():
    turns = [
        turn("a:1", "The greenhouse has seven tomato plants."),
        turn("a:2", "Rain again all week."),
        turn("a:3", "My sister keeps two goats named Olive and Basil."),
    ]
    questions = [
        question("q1", "How many tomato plants are there?", {"a:1"}, "Seven plants"),
        question("q2", "What are the goats named?", {"a:3"}, "Olive and Basil"),
    ]
    return dataset_of(turns, questions)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("paint", "paints", "painted", "painting"), "paint"),
        (("hobby", "hobbies"), "hobbi"),
        (("movie", "movies"), "movi"),
        (("create", "created", "creates", "creating"), "creat"),
        (("run", "running"), "run"),
        (("glasses", "glass"), "glass"),
        (("falling", "falls"), "fall"),
        (("bus",), "bus"),
        (("2023",), "2023"),
        (("sing", "sings"), "sing"),
    ],
)
def test_stem_is_one_for_the_forms_of_a_word(words, expected):
    assert {stem(word) for word in words} == {expected}


def test_answer_stems_are_those_the_question_does_not_give_away():
    assert answer_stems("When did Ada's sister paint the kayak?", "She painted it in May 2023") == {"may", "2023"}
    assert answer_stems("Is it so?", "It is") == frozenset()


def test_stems_leave_out_stop_words_and_punctuation():
    assert stems("What's the price? £800, they've said: 3:1") == {"pric", "800", "said", "3", "1"}


def test_answer_words_are_counted_in_the_text_that_a_model_would_read(garden):
    q1, q2 = garden.conversations[0].questions
    turns_of = {"m1": frozenset({"a:1"})}
    half = judged(q2, Way("recall"), Answer(("m1",), "goats: Olive, not the other", 6, 0.0), turns_of)
    assert (half.stood, half.stems, half.found, half.labels) == (1, 2, 0, 1)
    whole = judged(q1, Way("recall"), Answer(("m1",), "seven tomato plants", 6, 0.0), turns_of)
    assert (whole.stood, whole.stems, whole.found) == (1, 1, 1)


def test_figures_have_the_share_of_the_words_and_of_the_whole_answers(garden):
    way = Way("recall", limit=1)
    (result,) = measure_runs(garden, [Run("r", Settings(HashEmbedder(64)), (way,))])
    result.outcomes = [replace(outcome, stood=1) for outcome in result.outcomes]  # of one stem, and of two
    (row,) = figures(garden, [result], {})["runs"][0]["rows"]
    assert row["answer_words"]["mean"] == pytest.approx((1 / 1 + 1 / 2) / 2)
    assert row["answers_wholly"]["mean"] == pytest.approx(1 / 2)
    assert row["answer_words"]["questions"] == 2


def test_long_answers_and_other_categories_do_not_count_for_words():
    long = "one hundred velvet umbrellas beside nineteen marble elephants"
    asked = [
        question("q1", "What?", {"a:1"}, long),
        question("q2", "What?", {"a:1"}, "umbrella", category="temporal"),
    ]
    dataset = dataset_of([turn("a:1", long)], asked)
    measured = measure_runs(dataset, [Run("r", Settings(HashEmbedder(64)), (Way("recall", limit=1),))])
    (row,) = figures(dataset, measured, {})["runs"][0]["rows"]
    assert row["answer_words"]["questions"] == 1  # the short one, whatever its category
    assert row["answers_wholly"]["questions"] == 1  # the one of a literal category, whatever its length
    assert row["answers_wholly"]["mean"] == 1.0


def test_bootstrap_interval_is_that_of_resampled_means():
    values = [0.0] * 30 + [1.0] * 70
    mean = mean_of(values)
    assert mean == mean_of(values)
    assert mean.mean == pytest.approx(0.7)
    spread = 1.96 * math.sqrt(0.7 * 0.3 / 100)
    assert mean.low == pytest.approx(0.7 - spread, abs=0.02)
    assert mean.high == pytest.approx(0.7 + spread, abs=0.02)
    assert mean_of([0.25] * 5)[:3] == pytest.approx((0.25, 0.25, 0.25))
    assert mean_of([]) is None


def test_bootstrap_of_differences_is_paired():
    """Each question is held against itself, so what they all gain has no spread, however much they differ."""
    dataset = dataset_of([turn("a:1", "x y")], [question(f"q{n}", "x?", {"a:1"}) for n in range(4)])
    way = Way("recall", limit=1)
    runs = [Run(name, Settings(HashEmbedder(8)), (way,)) for name in ("base", "base without x")]
    measured = measure_runs(dataset, runs)
    for result, gains in zip(measured, ((0, 1, 2, 3), (1, 2, 3, 4)), strict=True):
        result.outcomes = [
            replace(outcome, found=gain, labels=4) for outcome, gain in zip(result.outcomes, gains, strict=True)
        ]
    result = figures(dataset, measured, {}, [("base without x", "base")])
    difference = result["comparisons"][0]["rows"][0]["evidence_recall"]
    assert (difference["mean"], difference["low"], difference["high"]) == pytest.approx((0.25, 0.25, 0.25))
    assert "| x " in markdown(result)
    assert "+25.0 [+25.0 +25.0]" in markdown(result)


def test_protocol_at_turns_does_not_discount_the_second_rank():
    ranked = [("s", False), ("t", True), ("s", True), ("u", False)]
    assert at_turns(ranked, 3, 2) == (1.0, 0.0, pytest.approx(1 / 2))
    gain = 1 + 1 / math.log2(3)
    ideal = 1 + 1 + 1 / math.log2(3)
    assert at_turns(ranked, 3, 3) == (1.0, 0.0, pytest.approx(gain / ideal))
    assert at_turns(ranked, 2, 5)[:2] == (1.0, 1.0)
    assert at_turns([("s", False)], 1, 5) == (0.0, 0.0, 0.0)


def test_protocol_at_sessions_goes_down_to_k_different_ones():
    session_of = {"s1": "s", "s2": "s", "t1": "t", "u1": "u"}
    ranked = [("u", False), ("u", False), ("s", False), ("s", True), ("t", True)]
    labels = frozenset({"s2", "t1"})
    # u, then s without its label, then s with it: two different ones are reached at rank 3, three at rank 4.
    assert at_sessions(ranked, labels, session_of, 2) == (0.0, 0.0, 0.0)
    any_, all_, ndcg = at_sessions(ranked, labels, session_of, 3)
    assert (any_, all_) == (1.0, 0.0)
    assert ndcg == pytest.approx((1 / math.log2(4)) / (1 + 1))
    assert at_sessions(ranked, labels, session_of, 9)[:2] == (1.0, 1.0)
    assert at_sessions([], labels, session_of, 5) == (0.0, 0.0, 0.0)


def test_protocol_ranks_what_the_user_said_and_skips_what_only_the_assistant_did():
    turns = [
        turn("1:1", "Which bread should I bake?"),
        turn("1:2", "Bake a rye loaf.", role="assistant"),
        turn("2:3", "I bake rye on Sundays.", session="2"),
    ]
    asked = [question("q1", "What do I bake on Sundays?", {"2:3"}), question("q2", "Which loaf?", {"1:2"})]
    run = Run("r", Settings(HashEmbedder(64)), (), protocol=True)
    (result,) = measure_runs(dataset_of(turns, asked), [run])
    (outcome,) = result.protocol
    assert outcome.question == "q1"
    assert set(outcome.values) == {"recall", "search", "cosine"}
    assert len(outcome.values["recall"]) == 12
    assert all(values["turn recall_all@5"] == 1.0 for values in outcome.values.values())


def test_cosine_is_the_order_of_the_exact_cosine(garden):
    embedder = HashEmbedder(64)
    (conversation,) = garden.conversations
    asked = conversation.questions[1]
    with retentive.Collection("c", embedder=embedder) as db:
        ids = db.remember_many([{"text": said.text, "session": SESSION} for said in conversation.turns])
        answer = ask(db, asked, Way("cosine", limit=3))
    rows = embedder.embed_documents([said.text for said in conversation.turns])
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    order = np.argsort(-(rows @ embedder.embed_query(asked.text)), kind="stable")
    assert list(answer.ids) == [ids[index] for index in order]


def test_question_is_embedded_once_for_all_its_calls(garden):
    class Counting(HashEmbedder):
        def embed_query(self, text):
            asked.append(text)
            return super().embed_query(text)

    asked = []
    runs, _ = plan([Counting(64)], {}, [1, 2], [40], ablate=["role"])
    (first, _) = measure_runs(garden, runs)
    for each in garden.conversations[0].questions:
        assert asked.count(each.text) == 1
    assert len(first.embedding_seconds) == garden.questions


def test_recorded_embedder_is_the_embedder_in_all_else():
    recorded = Recorded(HashEmbedder(16))
    assert (recorded.name, recorded.dimension) == ("hash-16", 16)
    assert recorded.embed_query("x") is recorded.embed_query("x")
    assert not hasattr(recorded, "refusal_floor") or recorded.refusal_floor is None


def test_locomo_observations_are_facts_dated_at_the_newest_turn_they_cite(tmp_path):
    said = [{"speaker": "Ada", "dia_id": f"D1:{n}", "text": f"word{n}"} for n in (1, 2, 3)]
    entry = {
        "sample_id": "conv-1",
        "conversation": {"session_1": said, "session_1_date_time": "1:56 pm on 8 May, 2023"},
        "observation": {
            "session_1_observation": {
                "Ada": [["Ada said two things.", ["D1:3", "D1:1"]], ["Cites nothing.", "D7:7"], ["One.", "D1:2"]]
            }
        },
        "qa": [{"question": "What?", "evidence": ["D1:1"], "category": 4, "answer": 7}],
    }
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([entry]), encoding="utf-8")
    (conversation,) = locomo.load(path).conversations
    one, two = conversation.facts
    assert (one.text, one.cites, one.timestamp) == ("One.", {"D1:2"}, conversation.turns[1].timestamp)
    assert (two.cites, two.timestamp) == ({"D1:1", "D1:3"}, conversation.turns[2].timestamp)
    assert conversation.questions[0].answer == "7"
    arguments = ["locomo", "--data", str(path), "--embedder", "hash:64", "--facts", "observation", "--budget", "60"]
    assert main(arguments) == 0
    entry["observation"] = {"session_1_observation": {"Ada": [["no turn"]]}}
    path.write_text(json.dumps([entry]), encoding="utf-8")
    assert main(arguments) == 2


def test_packed_fact_counts_for_the_turns_it_cites():
    turns = [turn("a:1", "Yes, that one, for sure."), turn("a:2", "Wonderful.")]
    fact = Fact("Ada adopted a greyhound in spring.", NOON, frozenset({"a:1", "a:2"}))
    dataset = dataset_of(turns, [question("q", "When did Ada adopt the greyhound?", {"a:1", "a:2"}, "Spring")], [fact])
    runs, compared = plan([HashEmbedder(64)], {}, [1], [40], facts=True)
    assert compared == [("hash-64 with facts", "hash-64")]
    plain, facts = measure_runs(dataset, runs)
    of = {result.run.name: {o.way.key: o for o in result.outcomes} for result in (plain, facts)}
    assert of["hash-64 with facts"]["search@1"].found == 2
    assert of["hash-64 with facts"]["search@1"].stood == 1
    assert of["hash-64"]["search@1"].found == 1
    assert of["hash-64"]["search@1"].stood == 0


def test_signals_are_named_by_the_product_and_left_out_one_at_a_time():
    names = signal_names()
    assert {"dense", "lexical", "neighbours", "sitting", "role"} <= set(names)
    assert not {"relevance", "relevance_norm", "recency", "feedback"} & set(names)
    runs, compared = plan([HashEmbedder(8)], {"dense": 0.4}, [10], [40], ablate=["role", "recency"])
    base, role, recency = runs
    assert base.settings.signals == {"dense": 0.4}
    assert role.settings.signals == {"dense": 0.4, "role": 0.0}
    assert recency.settings.recency_weight == 0.0
    assert {way.call for way in role.rows} == {"recall", "context"}
    assert compared == [(role.name, base.name), (recency.name, base.name)]


def test_two_embedders_of_one_name_are_two_runs(garden):
    runs, _ = plan([HashEmbedder(8), HashEmbedder(8)], {}, [1], [40])
    assert [run.name for run in runs] == ["hash-8", "hash-8 (2)"]
    assert [len(result.outcomes) for result in measure_runs(garden, runs)] == [2 * len(runs[0].rows)] * 2


def test_command_writes_tables_and_a_plot(garden, tmp_path, capsys):
    path = tmp_path / "locomo.json"
    said = [
        {"speaker": "Ada", "dia_id": f"D1:{n}", "text": t.text} for n, t in enumerate(garden.conversations[0].turns)
    ]
    entry = {
        "conversation": {"session_1": said, "session_1_date_time": "1:56 pm on 8 May, 2023"},
        "qa": [{"question": "Which goats?", "evidence": ["D1:2"], "category": 4, "answer": "Olive"}],
    }
    path.write_text(json.dumps([entry]), encoding="utf-8")
    tables, plot = tmp_path / "tables.md", tmp_path / "curve.svg"
    arguments = ["locomo", "--data", str(path), "--embedder", "hash:64", "hash:8", "--budget", "20", "40", "--ablate"]
    assert main([*arguments, "--markdown", str(tables), "--plot", str(plot)]) == 0
    assert tables.read_text(encoding="utf-8") == capsys.readouterr().out
    assert "One signal less, hash-8" in tables.read_text(encoding="utf-8")
    drawn = ET.fromstring(plot.read_text(encoding="utf-8"))
    labels = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert labels.count("exact cosine") == labels.count("plain search") == labels.count("context") == 2


class Environment:
    """Stands in for a peer's environment: what would be run is noted, and answered."""

    def __init__(self, patch, answer=None, error=None):
        self.requests = []

        def environment(name, folder):
            if error is not None:
                raise PeerError(error)
            return folder / "python"

        def run(python, name, folder):
            request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
            shapes = [np.load(folder / f"{part}.npy").shape for part in ("documents", "queries")]
            self.requests.append((name, request, shapes))
            return answer

        patch.setattr("retentive.evaluate.peers._environment", environment)
        patch.setattr("retentive.evaluate.peers._run", run)


def base_of(garden):
    return measure_runs(garden, [Run("hash-64", Settings(HashEmbedder(64)), (Way("recall", limit=1),))])[0]


def test_peer_gets_the_same_texts_and_vectors_and_its_order_is_packed(garden, monkeypatch, tmp_path):
    tokens = [estimate_tokens(said.text) for said in garden.conversations[0].turns]
    budget = tokens[1] + tokens[0]
    assert tokens[2] > tokens[0]
    answer = {"version": "9.9", "mode": "cosine", "ranked": [[0, 1, 2], [1, 2, 0]], "seconds": [0.1, 0.1]}
    stand_in = Environment(monkeypatch, answer)
    base = base_of(garden)
    peer = measure_peer("chroma", garden, base, [1], [budget], tmp_path)
    ((name, request, shapes),) = stand_in.requests
    assert name == "chroma"
    assert request["texts"] == [said.text for said in garden.conversations[0].turns]
    assert request["scopes"] == [0, 0, 0]
    assert shapes == [(3, 64), (2, 64)]
    by_key = {(o.question, o.way.key): o for o in base.outcomes if o.way.call == peer.call}
    assert peer.call == "chroma 9.9, cosine"
    assert by_key["q1", f"{peer.call}@1"].found == 1
    assert by_key["q2", f"{peer.call}@1"].found == 0
    packed = by_key["q2", f"{peer.call}:{budget}"]  # 1 fits, 2 does not any more, 0 does
    assert (packed.memories, packed.tokens, packed.found) == (2, budget, 0)
    assert figures(garden, [base], {}, peers=[peer])["peers"][0]["error"] is None


def test_peer_that_leaves_its_scope_is_an_error_and_not_a_figure(garden, monkeypatch, tmp_path):
    Environment(monkeypatch, {"version": "1", "mode": "m", "ranked": [[7], [0]], "seconds": [0.1, 0.1]})
    peer = measure_peer("chroma", garden, base_of(garden), [1], [40], tmp_path)
    assert "another conversation" in peer.error


def test_peer_that_cannot_be_installed_is_said_and_the_exit_code_is_1(garden, monkeypatch, tmp_path, capsys):
    Environment(monkeypatch, error="pip install exited with 1: no such version")
    path = tmp_path / "locomo.json"
    said = [{"speaker": "Ada", "dia_id": "D1:1", "text": "The kayak is orange."}]
    entry = {
        "conversation": {"session_1": said, "session_1_date_time": "1:56 pm on 8 May, 2023"},
        "qa": [{"question": "Which colour?", "evidence": ["D1:1"], "category": 4, "answer": "Orange"}],
    }
    path.write_text(json.dumps([entry]), encoding="utf-8")
    assert main(["locomo", "--data", str(path), "--embedder", "hash:64", "--peer", "lancedb"]) == 1
    printed = capsys.readouterr().out
    assert "lancedb could not be measured: pip install exited with 1: no such version" in printed
    assert "answers wholly" in printed


def test_every_peer_has_an_adapter():
    folder = Path(peers.__file__).parent
    for name in REQUIREMENTS:
        assert "def prepare(" in (folder / f"on_{name.replace('-', '_')}.py").read_text(encoding="utf-8")
