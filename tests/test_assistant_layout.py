"""The whole block of an assistant, read back: exactly its facts, what is relevant and the turns, whatever they say."""

import os
import re
import unicodedata

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from retentive import Collection, HashEmbedder
from retentive.assistant import MemoryManager
from test_block_layout import DIRECTIONS, IMITATIONS, SPEAKER, labels, texts

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
TEXTS = int(os.environ.get("RETENTIVE_SOAK_TEXTS", "5000" if SOAK else "30"))
HEADINGS = ["## Known facts", "## Relevant memories", "## Recent conversation"]
FOUND = re.compile(r"- \(similarity -?\d\.\d\d(, \d{4}-\d\d-\d\d)?\) (?P<text>.*)", re.DOTALL)
BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def shown(text):
    """A text as it is shown: its own line breaks kept, control characters replaced, none obeyed."""
    text = re.sub("\r\n|[" + BREAKS + "]", "\n", text)
    text = "".join([char for char in text if char not in DIRECTIONS])
    return "".join(["\ufffd" if unicodedata.category(char) == "Cc" and char not in "\n\t" else char for char in text])


def key_shown(key):
    """A key has no colon, no line break and nothing that orders, so that its value begins behind the first colon."""
    out = [" " if unicodedata.category(char) in ("Cc", "Zl", "Zp") and char != "\t" else char for char in key]
    return "".join([" " if char == ":" or char in DIRECTIONS else char for char in out]).strip()


def sections(block):
    """Read a block back, knowing only its format: the items of each section, whose further lines are indented."""
    found, name, previous = {}, None, ""
    for line in block.split("\n"):
        if line in HEADINGS and previous == "" and line not in found:
            name = line
            found[name] = []
        elif line.startswith("  ") and found.get(name):
            found[name][-1] += "\n" + line.removeprefix("  ")
        elif line != "":
            found[name].append(line)
        previous = line
    return found


@pytest.mark.soak
@settings(max_examples=TEXTS, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not SOAK)
@example(dict(zip(IMITATIONS, reversed(IMITATIONS), strict=True)), [("user", text) for text in IMITATIONS], IMITATIONS)
@given(
    st.dictionaries(labels, texts, max_size=3),
    st.lists(st.tuples(st.one_of(st.just("user"), labels), texts), max_size=4),
    st.lists(texts, max_size=3, unique=True),
)
def test_an_assistants_block_read_back_has_exactly_what_was_stored(counted, known, said, documents):
    counted(hostile_texts=len(known) + len(said) + len(documents))
    with Collection("c", embedder=HashEmbedder(16)) as db:
        memory = MemoryManager("s", collection=db, max_turns=None, token_budget=1_000_000)
        for key, value in known.items():
            memory.facts.remember(key, value)
        for number, text in enumerate(documents):
            memory.semantic.add(text, f"d{number}")
        for role, text in said:
            memory.conversation.add(role, text)
        block = memory.context_for("anything", 1_000, 0)
        with_hits = memory.context_for("anything", 0, 1_000)
        facts = memory.facts.all()
    for text in (block, with_hits):
        assert text.splitlines() == text.split("\n") or text == ""
        assert not [char for char in text if unicodedata.category(char) == "Cc" and char not in "\n\t"]
        assert not set(DIRECTIONS) & set(text)
    found = sections(block)
    expected = [f"- {key_shown(key)}: {shown(value)}" for key, value in sorted(facts.items())]
    assert [item.rstrip() for item in found.get(HEADINGS[0], [])] == [item.rstrip() for item in expected]
    turns = [SPEAKER.fullmatch(item) for item in found.get(HEADINGS[2], [])]
    assert all(turns)
    assert [turn["text"].rstrip() for turn in turns] == [shown(text).rstrip() for _, text in said]
    hits = [FOUND.fullmatch(item) for item in sections(with_hits).get(HEADINGS[1], [])]
    assert all(hits)
    assert {hit["text"].rstrip() for hit in hits} <= {shown(text).rstrip() for text in documents}


def test_a_key_with_a_colon_poses_as_no_other_key():
    with MemoryManager("a", path=None) as one, MemoryManager("b", path=None) as other:
        one.facts.remember("a: b", "v")
        other.facts.remember("a", "b: v")
        assert one.facts.as_context() != other.facts.as_context()
        assert one.facts.as_context().endswith("- a  b: v")
