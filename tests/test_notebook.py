"""`_repr_html_` of results and context blocks: a table, in which stored text can do nothing."""

from html.parser import HTMLParser

import pytest

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)> &lt;b&gt; $\\href{javascript:alert(1)}{x}$'


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.texts = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, text):
        self.texts.append(text)


@pytest.fixture
def hostile(memory_db):
    """A collection in which every text, name and key is hostile, and both that a notebook shows of it."""
    shared = {"session": HOSTILE, "role": HOSTILE, "name": HOSTILE}
    memory_db.remember(HOSTILE, **shared)
    memory_db.remember(HOSTILE, session=HOSTILE, kind="pinned", key=HOSTILE)
    found = memory_db.recall(HOSTILE, session=HOSTILE)
    block = memory_db.context(HOSTILE, session=HOSTILE)
    assert len(found) == 2
    assert block.pinned
    assert block.recent
    return [found._repr_html_(), block._repr_html_()]


def test_stored_markup_is_inert(hostile):
    for page in hostile:
        read = Tags(page)
        assert {tag for tag, _ in read.tags} == {"table", "caption", "tr", "th", "td", "bdi"}
        assert {name for _, attributes in read.tags for name in attributes} == {"class", "style"}
        assert {attributes.get("style") for _, attributes in read.tags} == {
            None,
            "text-align: left; white-space: pre-wrap",
        }
        assert HOSTILE in read.texts


def test_stored_formulas_are_not_typeset(hostile):
    for page in hostile:
        assert Tags(page).tags[0] == ("table", {"class": "tex2jax_ignore mathjax_ignore"})


def test_a_text_that_turns_direction_turns_only_its_own_cell(memory_db):
    memory_db.remember("\u202eevil", session="a")
    page = memory_db.recall("evil", session="a", min_relevance=None)._repr_html_()
    assert "<bdi>\u202eevil</bdi>" in page


def test_long_texts_and_long_lists_are_cut(memory_db):
    memory_db.remember_many([{"text": "word " * 500, "session": "a"} for _ in range(60)])
    page = memory_db.recall("word", session="a", limit=60, min_relevance=None)._repr_html_()
    read = Tags(page)
    assert sum(tag == "tr" for tag, _ in read.tags) == 1 + 50 + 1
    assert "and 10 more" in read.texts
    assert max(map(len, read.texts)) == 300


def test_nothing_found_is_a_table_too(memory_db):
    assert "0 of hybrid search for x" in memory_db.search("x")._repr_html_()
    assert "0 of 1500 tokens for x" in memory_db.context("x")._repr_html_()
