"""Turning old turns into a few facts."""

import pytest

from retentive import ConsolidationReport, EmbedderError, InvalidInputError, SummarizeError

ALL = {"min_relevance": None}


@pytest.fixture
def talk(memory_db):
    memory_db.remember_many(
        [{"text": f"turn {i}", "session": "a", "timestamp": f"2026-01-{i + 1:02}"} for i in range(10)]
        + [{"text": "always polite", "session": "a", "pinned": True}, {"text": "elsewhere", "session": "b"}]
    )
    return memory_db


def texts(results):
    return [result.text for result in results]


def test_old_turns_become_facts(talk):
    old = [turn.id for turn in talk.turns("a")][:4]
    report = talk.consolidate("a", lambda turns: ["counted to 3"], keep_recent=6)
    assert isinstance(report, ConsolidationReport)
    assert (report.session, report.turn_ids, report.turns_removed) == ("a", tuple(old), 4)
    (fact,) = talk.get(report.fact_ids)
    assert (fact.text, fact.kind, fact.session) == ("counted to 3", "fact", "a")
    assert fact.metadata["_vx_consolidated_from"] == old
    assert texts(talk.turns("a")) == [f"turn {i}" for i in range(4, 10)]
    assert texts(talk.turns("b")) == ["elsewhere"]


def test_facts_are_dated_at_the_newest_turn_they_came_from(talk):
    report = talk.consolidate("a", lambda turns: ["all", {"text": "first two", "turns": [1, 0]}])
    whole, part = talk.get(report.fact_ids)
    assert (whole.timestamp.day, part.timestamp.day) == (4, 2)
    assert part.metadata["_vx_consolidated_from"] == list(report.turn_ids[:2])


def test_summarizer_gets_role_text_and_time_oldest_first(talk):
    seen = []
    talk.remember("named", session="c", role="assistant", name="Ann", timestamp="2026-01-01")
    talk.consolidate("a", lambda turns: seen.extend(turns) or [])
    talk.consolidate("c", lambda turns: seen.extend(turns) or [], keep_recent=0)
    assert seen[0] == {"role": "user", "text": "turn 0", "ts": "2026-01-01T00:00:00+00:00"}
    assert [turn["text"] for turn in seen[:4]] == [f"turn {i}" for i in range(4)]
    assert seen[4] == {"role": "assistant", "text": "named", "ts": "2026-01-01T00:00:00+00:00", "name": "Ann"}


def test_one_call_a_batch(talk):
    sizes, told = [], []
    report = talk.consolidate(
        "a",
        lambda turns: sizes.append(len(turns)) or [f"fact {len(sizes)}"],
        keep_recent=0,
        batch_turns=4,
        progress=lambda done, total: told.append(done),
    )
    assert sizes == [4, 4, 2]
    assert told == [4, 8, 10]
    assert texts(talk.get(report.fact_ids)) == ["fact 1", "fact 2", "fact 3"]
    assert report.turns_removed == 10


def test_older_than_takes_only_older_turns(talk):
    report = talk.consolidate("a", lambda turns: ["x"], keep_recent=0, older_than="2026-01-03")
    assert report.turns_removed == 2
    assert talk.consolidate("a", lambda turns: ["x"], keep_recent=0, older_than=4, now="2026-01-09").turns_removed == 2


def test_nothing_old_calls_nobody(talk):
    def summarize(turns):
        raise AssertionError("called")

    report = talk.consolidate("b", summarize)
    assert report == ConsolidationReport("b", (), (), 0)
    assert talk.consolidate("nobody", summarize) == ConsolidationReport("nobody", (), (), 0)


@pytest.mark.parametrize("nothing", [[], ()])
def test_no_facts_is_a_valid_answer(talk, nothing):
    report = talk.consolidate("a", lambda turns: nothing)
    assert (report.fact_ids, report.turns_removed) == ((), 4)
    assert len(talk.turns("a")) == 6


def test_delete_false_keeps_the_turns_and_does_not_repeat_itself(talk):
    calls = []

    def summarize(turns):
        calls.append(len(turns))
        return ["counted"]

    report = talk.consolidate("a", summarize, delete=False, batch_turns=3)
    assert (report.turns_removed, len(report.turn_ids), len(talk.turns("a"))) == (0, 4, 10)
    assert talk.consolidate("a", summarize, delete=False).turn_ids == ()
    assert calls == [3, 1]


def test_delete_false_without_facts_ends(talk):
    report = talk.consolidate("a", lambda turns: [], delete=False, batch_turns=1)
    assert len(report.turn_ids) == 4


def test_run_twice_does_nothing_twice(talk):
    talk.consolidate("a", lambda turns: ["x"])
    assert talk.consolidate("a", lambda turns: ["y"]) == ConsolidationReport("a", (), (), 0)


def test_mappings_may_be_keyed_and_pinned(talk):
    talk.remember("lives in Lyon", session="a", kind="fact", key="city")
    report = talk.consolidate(
        "a", lambda turns: [{"text": "lives in Paris", "key": " City "}, {"text": "vegetarian", "pinned": True}]
    )
    assert talk.fact("city", session="a").text == "lives in Paris"
    assert [result.kind for result in talk.get(report.fact_ids)] == ["fact", "pinned"]


def test_pinned_makes_all_facts_pinned(talk):
    report = talk.consolidate("a", lambda turns: ["x", {"text": "y", "pinned": False}], pinned=True)
    assert [result.kind for result in talk.get(report.fact_ids)] == ["pinned", "fact"]


def test_pinned_facts_are_never_folded(talk):
    seen = []
    talk.consolidate("a", lambda turns: seen.extend(turns) or [], keep_recent=0)
    assert "always polite" not in [turn["text"] for turn in seen]
    assert "always polite" in texts(talk.context("x", session="a").pinned)


def test_facts_are_not_judged(talk):
    def judge(new, candidates):
        raise AssertionError("called")

    talk.memory.judge = judge
    report = talk.consolidate("a", lambda turns: ["x"])
    assert "_vx_judge" not in talk.get_one(report.fact_ids[0]).metadata


def test_facts_live_as_long_as_facts_do(talk):
    talk.memory.ttl_days = {"turn": 30, "fact": 100_000}
    report = talk.consolidate("a", lambda turns: ["x"])
    (fact,) = talk.get(report.fact_ids)
    assert (fact.expires_at - fact.timestamp).days == 100_000


def test_users_session_is_its_own(memory_db):
    for user in ("ann", "ben", None):
        memory_db.remember("x", session="a", user=user)
    report = memory_db.consolidate("a", lambda turns: ["y"], keep_recent=0, user="ann")
    assert report.turns_removed == 1
    assert memory_db.get_one(report.fact_ids[0]).user == "ann"
    assert len(memory_db.turns("a", user="ben")) == len(memory_db.turns("a")) == 1


JUNK = [
    None,
    "a string",
    "",
    b"bytes",
    {"text": "x"},
    3,
    [""],
    ["  "],
    [None],
    ["fine", 3],
    ["x" * (4 * 1024 * 1024 + 1)],
    ["\ud800"],
    [{}],
    [{"text": ""}],
    [{"text": "x", "turns": []}],
    [{"text": "x", "turns": [99]}],
    [{"text": "x", "turns": [-1]}],
    [{"text": "x", "turns": ["0"]}],
    [{"text": "x", "turns": 0}],
    [{"text": "x", "key": " "}],
    [{"text": "x", "pinned": 1}],
    [{"text": "x", "fact": "y"}],
]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:30])
def test_what_is_no_list_of_facts_is_refused_and_the_turns_stay(talk, junk):
    before = talk.count()

    def summarizer(turns):
        return junk

    with pytest.raises(SummarizeError, match="summarizer") as caught:
        talk.consolidate("a", summarizer)
    assert caught.value.report == ConsolidationReport("a", (), (), 0)
    assert talk.count() == before
    assert len(talk.turns("a")) == 10


def test_summarizer_that_raises_is_the_cause_and_the_batches_before_stay(talk):
    calls = []

    def summarize(turns):
        calls.append(turns)
        if len(calls) == 2:
            raise OSError("no model")
        return ["first batch"]

    with pytest.raises(SummarizeError) as caught:
        talk.consolidate("a", summarize, keep_recent=0, batch_turns=4)
    assert isinstance(caught.value.__cause__, OSError)
    report = caught.value.report
    assert (len(report.turn_ids), len(report.fact_ids), report.turns_removed) == (4, 1, 4)
    assert texts(talk.turns("a")) == [f"turn {i}" for i in range(4, 10)]
    assert talk.consolidate("a", lambda turns: ["rest"], keep_recent=0).turns_removed == 6


def test_interrupt_of_the_summarizer_passes_through(talk):
    def summarize(turns):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        talk.consolidate("a", summarize)
    assert len(talk.turns("a")) == 10


def test_embedder_that_fails_keeps_the_turns(talk):
    talk.embedder.embed_documents = lambda texts: None
    with pytest.raises(EmbedderError):
        talk.consolidate("a", lambda turns: ["x"])
    assert len(talk.turns("a")) == 10


def test_turns_said_meanwhile_stay(talk):
    def summarize(turns):
        talk.remember("said meanwhile", session="a")
        return ["x"]

    talk.consolidate("a", summarize, keep_recent=6)
    assert texts(talk.turns("a"))[-1] == "said meanwhile"


def test_turn_forgotten_meanwhile_is_not_cited(talk):
    first = talk.turns("a")[0].id
    calls = []

    def summarize(turns):
        calls.append([turn["text"] for turn in turns])
        talk.forget(ids=[first])
        return ["x"]

    report = talk.consolidate("a", summarize, keep_recent=6)
    assert first not in report.turn_ids
    assert talk.get_one(report.fact_ids[0]).metadata["_vx_consolidated_from"] == list(report.turn_ids)
    assert "turn 0" not in calls[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        {"session": None},
        {"session": ""},
        {"summarize": None},
        {"summarize": "x"},
        {"keep_recent": -1},
        {"keep_recent": 1.5},
        {"batch_turns": 0},
        {"older_than": -1},
        {"delete": 1},
        {"pinned": None},
        {"progress": 1},
        {"now": 5},
    ],
)
def test_bad_arguments_are_refused(talk, arguments):
    with pytest.raises(InvalidInputError):
        talk.consolidate(**({"session": "a", "summarize": lambda turns: []} | arguments))
    assert len(talk.turns("a")) == 10
