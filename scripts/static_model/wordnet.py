"""Training texts from the database files of WordNet 3.0 (format: wndb(5WN))."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

DATA_FILES = ("data.adj", "data.adv", "data.noun", "data.verb")
MIN_EXAMPLE_WORDS = 3

# An adjective's syntactic marker, as in `able(p)`, is not part of the lemma.
_MARKER = re.compile(r"\((?:a|p|ip)\)$")
_EXAMPLE = re.compile(r'"([^"]*)"')


def read_texts(folder: Path) -> list[str]:
    """Return every gloss as `lemma, lemma: definition` and every example sentence, in file order, without repeats."""
    texts: dict[str, None] = {}
    for name in DATA_FILES:
        with (folder / name).open(encoding="latin-1") as lines:
            for line in lines:
                if not line.startswith("  "):  # the licence heads each file, indented by two spaces
                    texts.update(dict.fromkeys(_synset_texts(line)))
    return list(texts)


def draw(texts: list[str], count: int, seed: int) -> list[str]:
    """Return `count` of `texts`, drawn without replacement; all of them where there are no more."""
    if count >= len(texts):
        return list(texts)
    return random.Random(seed).sample(texts, count)  # noqa: S311 - a fixed draw, nothing secret


def _synset_texts(line: str) -> Iterator[str]:
    fields, _, gloss = line.partition(" | ")
    definition, examples = _split_gloss(gloss.strip())
    if definition:
        yield f"{', '.join(_lemmas(fields))}: {definition}"
    yield from (text for text in examples if len(text.split()) >= MIN_EXAMPLE_WORDS)


def _lemmas(fields: str) -> list[str]:
    parts = fields.split(" ")
    count = int(parts[3], 16)
    words = (_MARKER.sub("", word).replace("_", " ") for word in parts[4 : 4 + 2 * count : 2])
    return list(dict.fromkeys(words))


def _split_gloss(gloss: str) -> tuple[str, list[str]]:
    start = re.search(r'(?:^|[;:,]\s*)"', gloss)
    if start is None:
        return gloss.rstrip("; "), []
    return gloss[: start.start()].rstrip("; "), [text.strip() for text in _EXAMPLE.findall(gloss[start.start() :])]
