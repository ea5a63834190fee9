"""A row whose length is overwritten with an absurd one: a typed error with the path, and `verify` lists it."""

import pytest

from retentive import ANY, Collection, InvalidInputError, StoreError
from retentive.embedders import HashEmbedder
from retentive.repair import repair

PAGE, LEAVES = 4_096, (13, 10)  # leaf pages of tables and of indexes
# As SQLite writes a length: many bytes, its limit of a gigabyte, one more, many more, as many as there can be.
LENGTHS = {
    "200 MB": "81c0fc2f",
    "1 GB": "83dceb9400",
    "over the limit": "83dceb9401",
    "4 GB": "8fffffff7f",
    "most": "ffffffffffffffffff",
}
CALLS = {
    "get": lambda db: db.get(["id1", "id7"]),
    "search": lambda db: db.search(None, limit=100, user=ANY),
    "turns": lambda db: db.turns("s"),
    "recall": lambda db: db.recall("row", session="s"),
    "context": lambda db: db.context("row", session="s"),
    "remember": lambda db: db.remember("more", session="s"),
    "forget": lambda db: db.forget("s"),
    "compact": lambda db: db.compact(),
}


def opened(folder):
    return Collection("test", path=folder, embedder=HashEmbedder(16))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    with opened(folder) as db:
        db.remember_many([{"text": f"row {i} text", "id": f"id{i}", "session": "s"} for i in range(8)])
        db.feedback("id1", "useful")
        db.compact()
    return (folder / "test.db").read_bytes()


def cells(raw):
    """Where each row of a table or an index begins in the file: with its length."""
    for page in range(0, len(raw), PAGE):
        head = page + (100 if page == 0 else 0)
        if raw[head] in LEAVES:
            for number in range(int.from_bytes(raw[head + 3 : head + 5], "big")):
                at = head + 8 + 2 * number
                yield page + int.from_bytes(raw[at : at + 2], "big")


def tried(call, path):
    """What it gives, or None where it is a typed error that names the file."""
    try:
        return call()
    except InvalidInputError:
        pytest.fail("a damaged file is not the caller's fault")
    except StoreError as error:
        named = str(path) in str(error)
    assert named
    return None


@pytest.mark.parametrize("length", LENGTHS.values(), ids=LENGTHS)
def test_a_row_of_absurd_length_is_a_typed_error_with_the_path(whole, tmp_path, length):
    path, value = tmp_path / "test.db", bytes.fromhex(length)
    told = 0
    for turn, cell in enumerate(cells(whole)):
        path.write_bytes(whole[:cell] + value + whole[cell + len(value) :])
        name = list(CALLS)[turn % len(CALLS)]

        def call(name=name):
            with opened(tmp_path) as db:
                CALLS[name](db)
            return True

        told += tried(call, path) is None
        for left in tmp_path.glob("test.db-*"):
            left.unlink()
    assert told > 5


@pytest.mark.parametrize("length", LENGTHS.values(), ids=LENGTHS)
def test_verify_lists_a_row_of_absurd_length(whole, tmp_path, length):
    path, value = tmp_path / "test.db", bytes.fromhex(length)
    listed = 0
    for cell in cells(whole):
        path.write_bytes(whole[:cell] + value + whole[cell + len(value) :])
        if (db := tried(lambda: opened(tmp_path), path)) is None:
            continue
        with db:
            report = db.verify()
        assert not report.ok
        listed += 1
    assert listed > 10
    repair(path, tmp_path / "saved.db")
