"""The evaluation command: files and options that cannot be used are said in a line, and cost nothing."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import retentive
from retentive.evaluate.__main__ import main

TOKENIZER = Path(retentive.__file__).parent / "models" / "static" / "tokenizer.json"


@pytest.fixture
def locomo_file(tmp_path):
    said = [
        {"speaker": "Ann", "dia_id": f"D1:{i}", "text": text} for i, text in enumerate(["a red car", "a green boat"])
    ]
    talk = {"speaker_a": "Ann", "session_1": said, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    asked = [{"question": "what car", "answer": "red", "evidence": ["D1:0"], "category": 4}]
    path = tmp_path / "data" / "locomo.json"
    path.parent.mkdir()
    path.write_text(json.dumps([{"sample_id": "one", "conversation": talk, "qa": asked}]), encoding="utf-8")
    return path


@pytest.mark.parametrize("option", ["--json", "--markdown", "--plot"])
def test_result_never_replaces_the_data(option, locomo_file, capsys):
    before = locomo_file.read_bytes()
    again = locomo_file.parent / "." / ".." / locomo_file.parent.name / locomo_file.name
    assert main(["locomo", "--data", str(locomo_file), option, str(again), "--budget", "50", "100"]) == 2
    assert "is what --data names" in capsys.readouterr().err
    assert locomo_file.read_bytes() == before


@pytest.mark.parametrize("name", ["\x1b[31m", "\ud800", "x" * 3_000])
def test_data_that_cannot_be_stored_is_a_line(name, locomo_file, capsys):
    locomo_file.write_text(locomo_file.read_text(encoding="utf-8").replace('"Ann"', json.dumps(name)), encoding="utf-8")
    assert main(["locomo", "--data", str(locomo_file), "--embedder", "hash:8"]) == 2
    assert re.search("items.0.: name .*(expected|valid Unicode)", capsys.readouterr().err)


def test_two_results_in_one_file_are_refused(locomo_file, tmp_path, capsys):
    out = str(tmp_path / "out")
    assert main(["locomo", "--data", str(locomo_file), "--json", out, "--markdown", out]) == 2
    assert "is what --json names" in capsys.readouterr().err


def test_figures_that_cannot_be_written_are_said_after_the_others(locomo_file, tmp_path, capsys):
    target, tables = tmp_path / "absent", tmp_path / "tables.md"
    link = tmp_path / "figures.json"
    link.symlink_to(target / "figures.json")
    arguments = ["locomo", "--data", str(locomo_file), "--embedder", "hash:8", "--json", str(link)]
    assert main([*arguments, "--markdown", str(tables)]) == 2
    told = capsys.readouterr()
    assert f"cannot write {link}" in told.err
    assert "recall" in told.out
    assert tables.is_file()


def test_hint_of_an_embedder_is_said_once(locomo_file, capsys):
    assert main(["locomo", "--data", str(locomo_file), "--embedder", "hash:8+hash:8"]) == 2
    assert capsys.readouterr().err.count("pass one embedder, not a list") == 1


@pytest.mark.parametrize("damage", ["tokenizer", "archive", "rows", "shape"])
def test_token_vectors_that_do_not_fit_are_a_usage_error(damage, locomo_file, tmp_path, capsys):
    vectors, tokenizer = tmp_path / "v.npz", tmp_path / "tokenizer.json"
    tokenizer.write_bytes(TOKENIZER.read_bytes())
    rows = 3 if damage == "rows" else 40_000
    np.savez(vectors, q=np.ones((rows, 2), np.int8), scale=np.ones((2, 2) if damage == "shape" else rows, np.float32))
    if damage == "tokenizer":
        tokenizer.write_text("not a tokenizer", encoding="utf-8")
    if damage == "archive":
        vectors.write_bytes(vectors.read_bytes()[:1000])
    arguments = ["locomo", "--data", str(locomo_file), "--embedder", str(vectors), "--tokenizer", str(tokenizer)]
    assert main(arguments) == 2
    assert "token vectors" in capsys.readouterr().err


def test_figures_are_written_also_where_nobody_reads_the_tables(locomo_file, tmp_path, monkeypatch):
    def closed(*_args):
        raise BrokenPipeError

    figures = tmp_path / "figures.json"
    monkeypatch.setattr(sys.stdout, "write", closed)
    with pytest.raises(BrokenPipeError):
        main(["locomo", "--data", str(locomo_file), "--embedder", "hash:8", "--json", str(figures)])
    assert json.loads(figures.read_text(encoding="utf-8"))["runs"]


def test_model_that_cannot_be_loaded_is_said_in_a_line(locomo_file, tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    folder = tmp_path / "all-MiniLM-L6-v2"
    folder.mkdir()
    (folder / "model.onnx").write_text("no model", encoding="utf-8")
    (folder / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
    assert main(["locomo", "--data", str(locomo_file), "--embedder", str(folder)]) == 2
    assert "cannot be loaded" in capsys.readouterr().err
