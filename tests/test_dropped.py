"""What was left out, and why, told alike by recall, search and context."""


def test_dropped_has_id_and_reason_everywhere(memory_db):
    ids = memory_db.remember_many([{"text": f"apple pie {i}", "session": "a"} for i in range(5)])
    for found in (
        memory_db.recall("apple", session="a", limit=2),
        memory_db.search("apple", session="a", limit=2),
        memory_db.context("apple", session="a", limit=2, recent_turns=0),
    ):
        assert {drop.id for drop in found.dropped} <= set(ids)
        assert {drop.reason for drop in found.dropped} == {"over limit"}
        assert len(found.dropped) == 3


def test_dropped_by_the_gap_comes_with_its_reason(memory_db):
    memory_db.add(["red car", "green boat"])
    hits = memory_db.search("red car", mode="dense", score_gap=0.99)
    assert [drop.reason for drop in hits.dropped] == ["below score gap"]
