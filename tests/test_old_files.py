"""Files of every schema that was released open, migrate, answer as they did, and are written on."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from retentive import Collection, DimensionError, FingerprintError, HashEmbedder

DATA = Path(__file__).with_name("data")
KEPT = sorted(DATA.glob("schema*.db"))


@pytest.fixture(scope="module")
def kept():
    """The program that wrote the files, and asks them."""
    spec = importlib.util.spec_from_file_location("kept_collections", Path(__file__).with_name("kept_collections.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=KEPT, ids=lambda file: file.stem)
def old(request, tmp_path):
    """A copy of a kept file, and its answers of then."""
    file = request.param
    return Path(shutil.copy(file, tmp_path)), json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))


def test_there_is_a_file_of_every_schema_up_to_the_present_one(kept, tmp_path):
    with Collection("new", path=tmp_path, embedder=HashEmbedder(8)) as db:
        db.remember("so that it is written")
    present = kept.schema_of(tmp_path / "new.db")
    for schema in range(1, present + 1):
        assert {file.name for file in KEPT} >= {f"schema{schema}-{name}.db" for name in kept.EMBEDDERS}


def different(then, now):
    return [name for name in then if now.get(name) != then[name]]


def test_an_old_file_answers_every_read_as_it_did(kept, old):
    file, then = old
    before = file.read_bytes()
    with kept.opened(file, readonly=True) as db:
        now = kept.answers(db)
    assert different(then, now) == []
    assert then["verified"] == []
    assert file.read_bytes() == before


def test_an_old_file_answers_the_same_once_it_is_opened_to_be_written_and_compacted(kept, old, embedder, tmp_path):
    file, then = old
    with kept.opened(file) as db:
        assert different(then, kept.answers(db)) == []
        db.compact()
        assert different(then, kept.answers(db)) == []
    with Collection("new", path=tmp_path, embedder=embedder) as db:
        db.remember("so that it is written")
    assert kept.schema_of(file) == kept.schema_of(tmp_path / "new.db")
    with kept.opened(file) as db:
        assert different(then, kept.answers(db)) == []


def test_an_old_file_is_written_on(kept, old):
    file, then = old
    with kept.opened(file) as db:
        turn = db.get_one(db.remember("One more thing about pears.", session="chat 0")).turn
        assert turn > max(row.turn for row in db.turns("chat 0")[:-1])
        moved = db.remember("Ann lives in Bergen.", user="ann", key="city", kind="fact")
        assert db.get_one("Turin").superseded_by == moved
        corrected = db.feedback("invoice", "corrected", correction="The invoice goes nowhere.")
        assert db.delete(["doc-1"]) == 1
        assert db.expire() == 1  # turn-gone
    with kept.opened(file) as db:
        assert db.turns("chat 0")[-1].turn == turn
        assert [row.id for row in db.history("Oslo")] == ["Oslo", "Lyon", "Turin", moved]
        assert db.history("invoice")[-1].id == corrected
        assert db.count() == then["count"] + 3 - 1
        assert "One more thing about pears." in db.context("what of pears", "chat 0", now=kept.NOW).text
        assert db.verify().ok, db.verify().problems


def test_an_old_file_is_moved_to_another_embedder(kept, old):
    file, then = old
    with kept.opened(file) as db:
        db.reembed(HashEmbedder(32))
        assert db.count() == then["count"]
    with pytest.raises((FingerprintError, DimensionError)), kept.opened(file) as db:
        db.search("pears")
    with Collection(file.stem, path=file.parent, embedder=HashEmbedder(32)) as db:
        assert db.search("Ann lives in Turin", user="ann").top.id == "Turin"
        assert db.verify().ok


def test_the_program_still_writes_what_is_kept(kept, tmp_path):
    """So that the next schema's files are written in the same way."""
    kept.write(tmp_path)
    files = sorted(tmp_path.glob("schema*.db"))
    assert [file.name.partition("-")[2] for file in files] == [f"{name}.db" for name in kept.EMBEDDERS]
    for file in files:
        last = [json.loads(kept.with_suffix(".json").read_text()) for kept in KEPT if kept.name.endswith(file.name[7:])]
        assert different(last[-1], kept.answers_of(file)) == []
