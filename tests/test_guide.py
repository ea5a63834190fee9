"""The guide, sentence by sentence, with the model in the package."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from retentive import Collection


@pytest.fixture
def db(tmp_path):
    with Collection("chat", path=tmp_path / "data") as collection:
        yield collection


@pytest.fixture
def talk(db):
    db.remember("I'd like the report as a PDF", session="u42", role="user")
    db.remember("Sure, PDF it is. Anything else?", session="u42", role="assistant")
    db.remember("Please send it every Monday morning", session="u42", role="user")
    db.remember("Invoices go to accounting@example.org", session="u42", kind="fact")
    db.remember("Customer is on the annual plan", session="u42", pinned=True)
    return db


def test_first_snippet(tmp_path):
    user_message = "what format did they want"
    db = Collection("chat", path=tmp_path / "data")
    db.remember("I'd like the report as a PDF", session="u42", role="user")
    db.remember("Customer is on the annual plan", session="u42", pinned=True)
    hits = db.recall("what format did they want", session="u42", token_budget=300)
    block = db.context("what format did they want", session="u42", token_budget=1200)
    prompt = block.text + "\n\n" + user_message
    assert "I'd like the report as a PDF" in hits.texts
    assert "Customer is on the annual plan" in prompt
    assert "I'd like the report as a PDF" in prompt
    assert (tmp_path / "data" / "chat.db").exists()
    db.close()


def test_in_memory_without_a_path():
    db = Collection("chat")
    db.remember("hello", session="a")
    assert db.turns("a")[0].text == "hello"


def test_turns_facts_and_pinned_facts(talk):
    assert [turn.role for turn in talk.turns("u42")] == ["user", "assistant", "user"]
    kinds = {hit.kind for hit in talk.recall("report invoices plan", session="u42", min_relevance=None)}
    assert kinds == {"turn", "fact", "pinned"}


def test_recall_under_a_budget(talk):
    talk.remember_many([{"text": f"The report number {i} was sent as a PDF", "session": "u42"} for i in range(40)])
    hits = talk.recall("report as a PDF", session="u42", token_budget=60)
    assert hits.truncated
    assert hits.cut_count > 0
    assert 0 < hits.token_estimate <= 60


def test_scoring_explains(talk):
    scoring = talk.recall("report as a PDF", session="u42").top.metadata["_vx_scoring"]
    assert {"relevance", "relevance_norm", "recency", "feedback"} <= scoring.keys()
    assert 0 <= scoring["relevance_norm"] <= 1


def test_tuning_through_memory(talk):
    from retentive.memory import ConversationMemory

    talk.memory.half_life_days = 14
    talk.memory.recency_weight = 0.2
    assert talk.recall("report as a PDF", session="u42")
    talk._memory = ConversationMemory(talk, half_life_days=30, recency_weight=0.3)
    assert (talk.memory.half_life_days, talk.memory.recency_weight) == (30, 0.3)
    assert talk.recall("report as a PDF", session="u42")


def test_feedback_returns_the_new_id_and_pins_stay_pinned(talk):
    hit = talk.recall("report as a PDF", session="u42").top
    assert talk.feedback(hit.id, "useful") is None
    assert talk.feedback(hit.id, "dead_end") is None
    (pin,) = talk.context("plan", session="u42").pinned
    new = talk.feedback(pin.id, "corrected", correction="Customer is on the monthly plan")
    assert [(r.id, r.text) for r in talk.context("plan", session="u42").pinned] == [
        (new, "Customer is on the monthly plan")
    ]


def test_context_has_its_parts(talk):
    block = talk.context("where do invoices go", session="u42", recent_turns=2)
    assert "annual plan" in block.text
    assert [r.text for r in block.pinned] == ["Customer is on the annual plan"]
    assert len(block.recent) == 2
    assert "Invoices go to accounting@example.org" in [r.text for r in block.retrieved]


def test_time_to_live(talk):
    from retentive.memory import ConversationMemory

    talk.memory = ConversationMemory(talk, ttl_days={"turn": 30})
    old = datetime.now(UTC) - timedelta(days=31)
    talk.remember("an old turn", session="u42", timestamp=old)
    talk.remember("an old fact", session="u42", kind="fact", timestamp=old)
    talk.remember("an old turn of its own time", session="u42", timestamp=old, ttl_days=365)
    talk.remember("an old turn for ever", session="u42", timestamp=old, ttl_days=math.inf)
    assert talk.count() == 8
    assert talk.memory.expire() == 1
    assert talk.count() == 8


def test_forgetting(talk):
    old = talk.remember("long ago", session="u42", timestamp=datetime.now(UTC) - timedelta(days=100))
    assert talk.forget(session="u42", older_than=90) == 1
    assert talk.get_one(old) is None
    wrong = talk.remember("Lives in Lyon", session="u42", kind="fact")
    right = talk.feedback(wrong, "corrected", correction="Lives in Paris")
    assert talk.forget(session="u42", kinds=("fact",), superseded=True) == 1
    assert talk.forget(ids=[right]) == 1


def test_consolidation(talk):
    for i in range(10):
        talk.remember(f"small talk number {i}", session="u42")

    def summarize(turns):
        assert set(turns[0]) == {"role", "text", "ts"}
        return [f"They talked about {len(turns)} things"]

    kept = talk.consolidate("u42", summarize, keep_recent=6, delete=False)
    assert kept.turns_removed == 0
    (fact,) = talk.get(kept.fact_ids)
    assert len(fact.metadata["_vx_consolidated_from"]) == 7
    talk.remember("one more", session="u42")
    report = talk.consolidate("u42", summarize, keep_recent=6)
    assert (report.turns_removed, len(report.fact_ids)) == (1, 1)


def test_judge_on_write(db):
    from retentive.memory import ConversationMemory

    def judge(new, candidates):
        return [("love" in old) and ("hate" in new) for old in candidates]

    db.memory = ConversationMemory(db, judge=judge)
    old = db.remember("I love cilantro", session="u42", kind="fact")
    new = db.remember("I hate cilantro", session="u42", kind="fact")
    assert db.recall("cilantro", session="u42").ids == [new]
    assert [r.id for r in db.history(new)] == [old, new]


def test_token_counter_is_used_by_every_budget(tmp_path):
    counted = []

    def count(text):
        counted.append(text)
        return len(text.split())

    with Collection("chat", path=tmp_path, token_counter=count) as db:
        db.remember_many([{"text": f"The export button number {i}", "session": "u42"} for i in range(10)])
        assert db.recall("export button", session="u42", token_budget=12).token_estimate <= 12
        assert db.search("export button", token_budget=12).token_estimate <= 12
        block = db.context("export button", session="u42", token_budget=40)
        assert block.token_estimate == len(block.text.split()) <= 40
    assert counted


def test_search(talk):
    talk.add(["The export button is at the top right", "Passwords are reset by mail"])
    hits = talk.search("export button", limit=10, token_budget=400, score_gap=0.9)
    assert hits.top.text == "The export button is at the top right"
    assert hits.token_estimate <= 400


def test_nothing_relevant_is_an_answer(talk):
    talk.remember_many(
        [{"text": f"We met on day {i} to speak about the quarterly report", "session": "u42"} for i in range(60)]
    )
    assert not talk.recall("photosynthesis of deep-sea algae under ultraviolet lamps", session="u42")


def test_restart(tmp_path):
    with Collection("chat", path=tmp_path) as db:
        stored = db.remember("Remember me", session="u42")
    with Collection("chat", path=tmp_path) as db:
        assert db.recall("remember me", session="u42").ids == [stored]
