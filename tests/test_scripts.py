"""Scripts without spaces between words, and with many endings: inner words are found by lexical search."""

import unicodedata

import pytest

TEXTS = {
    "chinese": ("我想要一份苹果派的食谱", ["派", "苹果", "苹果派的"]),
    "japanese": ("りんごのパイのレシピがほしいです", ["パイ", "レシピ", "りんごの"]),
    "korean": ("사과파이 조리법을 알고 싶어요", ["사과", "사과파이", "조리법"]),
    "thai": ("ฉันอยากได้สูตรพายแอปเปิ้ล", ["สูตร", "พาย", "แอปเปิ้ล"]),
    "russian": ("Мне нужен рецепт яблочного пирога", ["рецепт", "яблочного", "пирога"]),
    "arabic": ("أريد وصفة فطيرة التفاح", ["وصفة", "فطيرة", "التفاح"]),
    "mixed": ("Python 中的列表 list comprehension 很快", ["列表", "list", "Python", "很"]),
}


@pytest.fixture
def shelf(memory_db):
    memory_db.remember_many([{"text": text, "id": name, "session": "s"} for name, (text, _) in TEXTS.items()])
    memory_db.remember_many([{"text": f"something else entirely {i}", "session": "s"} for i in range(20)])
    return memory_db


@pytest.mark.parametrize(
    ("name", "word"), [(name, word) for name, (_, words) in TEXTS.items() for word in words], ids=lambda part: part
)
def test_inner_word_is_found(shelf, name, word):
    assert shelf.search(word, mode="lexical", session="s").ids == [name]
    assert shelf.recall(word, session="s", mode="lexical").top.id == name


@pytest.mark.parametrize("name", ["chinese", "japanese", "korean", "thai"])
@pytest.mark.parametrize("length", [1, 2, 4])
def test_every_part_of_a_word_is_found(shelf, name, length):
    text = TEXTS[name][0]
    parts = [text[at : at + length] for at in range(len(text) - length + 1)]
    words = [part for part in parts if " " not in part and not unicodedata.category(part[0]).startswith("M")]
    assert len(words) > 1
    missed = [part for part in words if name not in shelf.search(part, mode="lexical", session="s").ids]
    assert missed == []


def test_text_comes_back_as_it_was(shelf):
    for name, (text, _) in TEXTS.items():
        assert shelf.get_one(name).text == text
