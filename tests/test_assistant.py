"""An assistant's memory keeps what its issue promises: one test a promise, with the embedder of the package."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import retentive
from retentive.assistant import MemoryManager, SessionFileError

PEANUTS = "I can't eat peanuts, they make my throat swell"
POLLEN = "Allergy season in Boston is terrible this year"
COFFEE = "My favourite coffee is a flat white"
WORDS = ["harbour", "invoice", "granite", "violin", "meadow", "engine", "lantern", "pepper", "orchard", "ticket"]


@pytest.fixture
def memory(tmp_path):
    with MemoryManager("chat", path=tmp_path) as manager:
        yield manager


def three_sentences(memory):
    for sentence in (PEANUTS, POLLEN, COFFEE):
        memory.record("user", sentence)


def test_60_turns_into_a_cap_of_50_leave_the_newest_50(tmp_path):
    with MemoryManager(path=tmp_path, max_turns=50) as memory:
        for number in range(60):
            memory.record("user", f"message number {number}")
        assert [turn.content for turn in memory.conversation.turns] == [f"message number {n}" for n in range(10, 60)]
        assert len(json.loads(memory.checkpoint().read_text(encoding="utf-8"))) == 50


RECORDING = """
import os, sys
from retentive.assistant import MemoryManager

memory = MemoryManager("chat", path=sys.argv[1])
for number in range(7):
    memory.record("user" if number % 2 == 0 else "assistant", f"message number {number}", f"{number}.png")
memory.checkpoint()
print("saved", flush=True)
sys.stdin.readline()
"""

RELOADING = """
import sys
from retentive.assistant import MemoryManager

turns = MemoryManager("chat", path=sys.argv[1]).conversation.turns
print(len(turns), turns[0].content, turns[0].image_path, turns[0].timestamp.isoformat(), sep="|")
"""


@pytest.mark.parametrize("lost", ["session_chat.json", "assistant.db"], ids=["collection_alone", "file_alone"])
def test_save_kill_reload_in_a_new_process_gives_the_same_count_and_first_message(tmp_path, lost):
    pipe = subprocess.PIPE
    child = subprocess.Popen([sys.executable, "-c", RECORDING, str(tmp_path)], stdin=pipe, stdout=pipe, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "saved\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    saved = json.loads(tmp_path.joinpath("session_chat.json").read_text(encoding="utf-8"))
    for file in tmp_path.glob(f"{lost}*"):
        file.unlink()
    done = subprocess.run(
        [sys.executable, "-c", RELOADING, str(tmp_path)], capture_output=True, check=True, encoding="utf-8"
    )
    first = saved[0]
    told = "|".join([str(len(saved)), first["content"], first["image_path"], first["timestamp"]])
    assert done.stdout.strip() == told
    assert told.startswith("7|message number 0|0.png|")


def test_corrupt_json_raises_the_named_error_with_the_path(tmp_path):
    file = tmp_path / "session_chat.json"
    file.write_text('[\n  {"role": "user", "content": "hello", "timestamp":\n', encoding="utf-8")
    with pytest.raises(SessionFileError) as raised:
        MemoryManager("chat", path=tmp_path)
    assert str(file) in str(raised.value)
    assert "line 3" in str(raised.value)
    assert (raised.value.path, raised.value.line) == (str(file), 3)


def test_allergic_to_which_foods_ranks_the_peanut_sentence_above_the_allergy_sentence(memory):
    three_sentences(memory)
    query = "which foods am I allergic to?"
    found = memory.semantic.search(query, k=3, max_distance=None)
    assert [found[0].text, len(found)] == [PEANUTS, 3]
    assert found[0].distance < next(hit for hit in found if hit.text == POLLEN).distance
    assert [hit.text for hit in memory.semantic.search(query)] == [PEANUTS]


def test_an_unrelated_query_gives_an_empty_list(memory):
    three_sentences(memory)
    assert memory.semantic.search("lattice quantum chromodynamics on a supercomputer") == []


def test_ten_neighbours_of_three_documents_gives_three(memory):
    for number, sentence in enumerate((PEANUTS, POLLEN, COFFEE)):
        memory.semantic.add(sentence, f"doc{number}")
    assert len(memory.semantic.search("food and drink", k=10, max_distance=None)) == 3


def test_ingesting_twice_leaves_the_count(memory):
    for _ in range(2):
        for number, sentence in enumerate((PEANUTS, POLLEN, COFFEE)):
            memory.semantic.add(sentence, f"doc{number}", {"number": number})
        assert memory.collection.count() == 3


def test_context_for_on_500_turns_of_up_to_400_tokens_stays_under_800_tokens(tmp_path):
    from tokenizers import Tokenizer

    path = Path(retentive.__file__).parent / "models" / "static" / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()  # a counter that stops at a window would be satisfied by anything

    def count(text):
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    draw = random.Random(5)
    with MemoryManager(path=tmp_path, token_counter=count, max_turns=None) as memory:
        memory.facts.remember("name", "Sam")
        lengths = []
        for number in range(500):
            content = f"Turn {number}. " + " ".join(draw.choices(WORDS, k=draw.randint(1, 310))) + "."
            memory.record("user" if number % 2 == 0 else "assistant", content)
            lengths.append(count(content))
        assert 350 < max(lengths) <= 400, "the turns are not those of the issue"
        for query in ("the violin in the orchard", "harbour ticket", "an invoice for granite and pepper"):
            block = memory.context_for(query)
            assert 400 < count(block) < 800
            assert all(heading in block for heading in ("Known facts", "Relevant memories", "Recent conversation"))
