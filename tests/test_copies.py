"""An open collection can be neither copied nor pickled: closing a copy would close the original."""

import copy
import pickle

import pytest

from retentive import Collection, ConversationMemory, HashEmbedder
from retentive.agents import WindowMemory
from retentive.assistant import MemoryManager

WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickle.dumps}


class Own(Collection):
    """Somebody's own."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [Collection, Own])
def test_a_collection_is_not_copied(tmp_path, kind, way):
    for path in (tmp_path, None):
        with kind("c", path, embedder=HashEmbedder(8)) as db:
            with pytest.raises(TypeError, match=rf"a {kind.__name__}: .*open it again"):
                WAYS[way](db)
            assert db.remember("still open", session="s")


@pytest.mark.parametrize("way", WAYS)
def test_a_memory_manager_is_not_copied(way):
    with MemoryManager("s", embedder=HashEmbedder(8)) as manager:
        with pytest.raises(TypeError, match=r"a MemoryManager: .*open it again"):
            WAYS[way](manager)
        assert manager.record("user", "still open")


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_what_works_on_a_collection_is_not_copied_with_it(memory_db, way):
    for of in (memory_db.memory, WindowMemory(collection=memory_db), [memory_db]):
        with pytest.raises(TypeError, match=r"a Collection: .*open it again"):
            WAYS[way](of)


def test_settings_are_copied_for_another_collection(memory_db):
    memory_db.memory = ConversationMemory(memory_db, half_life_days=3)
    with Collection("other", embedder=HashEmbedder(8)) as other:
        other.memory = copy.copy(memory_db.memory)
        assert other.memory.half_life_days == 3
        other.remember("here", session="s")
        assert memory_db.count() == 0
