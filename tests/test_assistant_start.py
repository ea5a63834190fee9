"""Where an assistant's conversation begins: what is said meanwhile stays, and the note of it is nobody's memory."""

import pytest

from retentive import Collection
from retentive.assistant import MemoryManager, _session
from retentive.embedders import HashEmbedder


@pytest.fixture
def speaks_between(monkeypatch):
    """Have something said each time after a conversation was read."""

    def install(memory):
        read, said = _session.conversation, []

        def read_then_speak(*arguments):
            turns = read(*arguments)
            said.append(memory.conversation.add("user", f"said meanwhile {len(said)}").content)
            return turns

        monkeypatch.setattr(_session, "conversation", read_then_speak)
        return said

    yield install
    monkeypatch.undo()


def test_prune_with_forget_erases_nothing_that_is_said_meanwhile(speaks_between):
    with MemoryManager(embedder=HashEmbedder(64), max_turns=None) as memory:
        memory.record("user", "said before")
        said = speaks_between(memory)
        assert memory.conversation.prune(forget=True) == 0
        kept = [turn.content for turn in memory.conversation.turns]
        assert kept == ["said before", *said[: len(kept) - 1]]
        assert len(kept) > 1


def test_prune_counts_only_what_left_the_conversation(speaks_between):
    with MemoryManager(embedder=HashEmbedder(64)) as memory:
        speaks_between(memory)
        assert memory.conversation.prune() == 0


def test_load_hides_nothing_that_is_said_meanwhile(speaks_between, tmp_path):
    with MemoryManager(embedder=HashEmbedder(64), max_turns=None) as memory:
        memory.record("user", "said before")
        file = memory.conversation.save(tmp_path / "session.json")
        said = speaks_between(memory)
        memory.conversation.load(file)
        kept = [turn.content for turn in memory.conversation.turns]
        assert kept == [said[0], "said before", *said[1 : len(kept) - 1]]


def test_prune_while_another_process_loads_brings_nothing_back(tmp_path, monkeypatch):
    with MemoryManager(embedder=HashEmbedder(64), max_turns=2) as memory:
        for number in range(5):
            memory.record("user", f"number {number}")
        file = memory.conversation.save(tmp_path / "session.json")
        (tmp_path / "empty.json").write_text("[]")
        row = _session._start_row

        def load_before_it_is_written(*arguments, **options):
            monkeypatch.undo()
            memory.conversation.load(tmp_path / "empty.json")
            return row(*arguments, **options)

        monkeypatch.setattr(_session, "_start_row", load_before_it_is_written)
        _session.hide_before(memory._owner, 0)
        assert memory.conversation.turns == []
        memory.conversation.load(file)
        assert [turn.content for turn in memory.conversation.turns] == ["number 3", "number 4"]


def test_semantic_search_finds_no_beginning_of_a_conversation_after_reembed():
    with Collection("app", embedder=HashEmbedder(64)) as db:
        memories = [MemoryManager(f"s{number}", collection=db) for number in range(5)]
        for memory in memories:
            memory.record("user", "my dog is called Rex")
            _session.hide_before(memory._owner, 0)
        memories[0].semantic.add("dogs bark", "dogs")
        db.reembed(HashEmbedder(32))
        found = memories[0].semantic.search("so .", k=6, max_distance=None)
        assert sorted(hit.text for hit in found) == ["dogs bark", "my dog is called Rex"]
        assert [hit.id for hit in memories[0].semantic.search("dogs bark", k=1, max_distance=None)] == ["dogs"]


def test_document_may_be_a_full_stop():
    with MemoryManager(embedder=HashEmbedder(64)) as memory:
        memory.semantic.add(".", "assistant_stop")
        assert [hit.id for hit in memory.semantic.search("stop", max_distance=None)] in ([], ["assistant_stop"])


@pytest.mark.parametrize("days", [1e10, 1e300])
def test_retention_of_any_length_keeps_all(days):
    with MemoryManager(embedder=HashEmbedder(64), retention_days=days) as memory:
        memory.record("user", "hello")
        assert memory.conversation.prune() == 0
        assert len(memory.conversation) == 1


def test_collections_in_one_folder_do_not_share_the_files_of_their_sessions(tmp_path, embedder):
    names = ["hr", "support", "a" * 100, "a" * 99, "assistant"]
    files = set()
    for name in names:
        with Collection(name, tmp_path, embedder=embedder) as db:
            memory = MemoryManager("s" * 200, user="u" * 200, collection=db)
            assert len(memory.conversation) == 0
            memory.record("user", f"said to {name}")
            files.add(memory.checkpoint())
    assert len(files) == len(names)
