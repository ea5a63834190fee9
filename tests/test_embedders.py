"""Embedders: what they return, what is refused, and where they can be used."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retentive.embedders
from retentive import Collection
from retentive._errors import ConfigurationError, EmbedderError
from retentive._steps import blocking
from retentive.embedders import (
    CallableEmbedder,
    Embedder,
    HashEmbedder,
    StaticEmbedder,
)
from retentive.embedders._check import check_vectors, checked_documents, checked_query, checked_query_terms
from retentive.embedders._resolve import resolve

TEXTS = [
    "I'd like the report as a PDF",
    "peanuts make my throat swell",
    "Customer is on the annual plan",
    "我喜欢绿茶",
    "naïve café, “quoted” … ½",
    "🙂",
    "\u200b",
    "",
    "word " * 5_000,
    "x" * 5_000,
]
MODEL = Path(retentive.embedders.__file__).parents[1] / "models" / "static"
EMBEDDERS = [StaticEmbedder(), HashEmbedder(), HashEmbedder(3)]


def run_python(code: str, **environment: str) -> str:
    # The repository's folders come first on this process's path, not by installation alone.
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("embedder", EMBEDDERS, ids=repr)
class TestEveryEmbedder:
    def test_protocol_is_satisfied(self, embedder: Embedder) -> None:
        assert isinstance(embedder, Embedder)
        assert resolve(embedder) is embedder

    def test_vectors_are_float32_of_length_one_for_any_text(self, embedder: Embedder) -> None:
        vectors = embedder.embed_documents(TEXTS)
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), embedder.dimension)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)

    def test_batch_equals_single_texts(self, embedder: Embedder) -> None:
        batch = embedder.embed_documents(TEXTS)
        for text, vector in zip(TEXTS, batch, strict=True):
            np.testing.assert_array_equal(embedder.embed_documents([text])[0], vector)

    def test_query_equals_document_with_the_same_text(self, embedder: Embedder) -> None:
        np.testing.assert_array_equal(embedder.embed_query(TEXTS[0]), embedder.embed_documents(TEXTS[:1])[0])

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed_documents([]).shape == (0, embedder.dimension)

    def test_vectors_are_the_same_in_another_process(self, embedder: Embedder) -> None:
        code = (
            "import hashlib; from retentive.embedders import *;"
            f"print(hashlib.sha256({embedder!r}.embed_documents({TEXTS[:7]!r}).tobytes()).hexdigest())"
        )
        expected = hashlib.sha256(embedder.embed_documents(TEXTS[:7]).tobytes()).hexdigest()
        assert run_python(code, PYTHONHASHSEED="1").strip() == expected

    def test_threads_get_the_same_vectors(self, embedder: Embedder) -> None:
        expected = embedder.embed_documents(TEXTS[:7])
        results: list[Any] = [None] * 8

        def work(index: int) -> None:
            results[index] = [embedder.embed_documents(TEXTS[:7]) for _ in range(10)]

        threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for vectors in results:
            np.testing.assert_array_equal(vectors, np.stack([expected] * 10))


RUN_PARTS = [
    *("\U0001f469\u200d", "a\u0301", "word", "Peanut", "-", "/", "漢字", "。", "—", "'", "%20", "\u0301", "x" * 150),
    *("ÀÉ", "\u200b", "0123456789", "ß", "ไทย", "=" * 3, "SGVsbG8"),
]


class TestStaticEmbedder:
    def test_shipped_vectors_match_their_checksum(self) -> None:
        about = json.loads((MODEL / "model.json").read_text(encoding="utf-8"))
        rows, scale = np.load(MODEL / "vectors.npy"), np.load(MODEL / "scale.npy")
        assert rows.shape == (len(scale), about["dimension"])
        assert hashlib.sha256(rows.tobytes() + scale.tobytes()).hexdigest() == about["sha256"]

    def test_related_text_is_nearer_than_unrelated(self) -> None:
        embedder = StaticEmbedder()
        query = embedder.embed_query("which foods am I allergic to?")
        allergy, plan = embedder.embed_documents(
            ["I can't eat peanuts, they make my throat swell", "Customer is on the annual plan"]
        )
        assert query @ allergy > embedder.noise_floor > query @ plan

    def test_text_without_tokens_is_the_unknown_token(self) -> None:
        embedder = StaticEmbedder()
        nothing, blank, unknown = embedder.embed_documents(["", "\u200b \x00", "🙂"])
        np.testing.assert_array_equal(nothing, unknown)
        np.testing.assert_array_equal(blank, unknown)

    def test_end_of_a_long_text_counts(self) -> None:
        embedder = StaticEmbedder()
        start = "the train was late again " * 4_000
        short, long = embedder.embed_documents([start, start + "the violin concerto was sublime " * 4_000])
        query = embedder.embed_query("violin concerto")
        assert query @ long > query @ short

    def test_special_token_in_a_text_is_text(self) -> None:
        embedder = StaticEmbedder()
        vectors, spans = embedder.query_terms("[SEP]")
        assert len(vectors) == len(spans) == 3

    @pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:12]))
    def test_mean_of_query_terms_points_where_the_query_does(self, text: str) -> None:
        embedder = StaticEmbedder()
        vectors, _ = embedder.query_terms(text)
        mean = vectors.mean(axis=0)
        assert mean / np.linalg.norm(mean) == pytest.approx(embedder.embed_query(text), abs=1e-4)

    def test_spans_of_query_terms_cover_the_words_in_characters(self) -> None:
        text = "naïve  café, 我喜欢 unbelievableness"
        _, spans = StaticEmbedder().query_terms(text)
        pieces = [text[start:end] for start, end in spans]
        assert pieces[:6] == ["naïve", "café", ",", "我", "喜", "欢"]
        assert "".join(pieces[6:]) == "unbelievableness"

    @given(
        parts=st.lists(st.sampled_from(RUN_PARTS), min_size=1, max_size=6),
        length=st.integers(1_000, 9_000),
        random=st.randoms(use_true_random=False),
    )
    @settings(max_examples=60)
    def test_a_run_in_pieces_has_the_tokens_that_it_has_at_once(self, parts, length, random) -> None:
        from retentive.embedders import _static
        from retentive.embedders._tokens import encoded

        run = "".join(random.choices(parts, k=length // 2))[:length]
        tokenizer = _static._SHARED.get()._tokenizer
        assert list(_static._Runs(tokenizer)[run]) == encoded(tokenizer, run).ids

    def test_many_different_words_do_not_grow_memory_without_bound(self) -> None:
        from retentive.embedders import _static

        embedder = StaticEmbedder()
        runs = _static._Runs(_static._SHARED.get()._tokenizer)
        for number in range(_static._REMEMBERED_RUNS + 10):
            runs[f"w{number}"]
        assert len(runs) <= _static._REMEMBERED_RUNS
        assert embedder.embed_query("w1 w2").shape == (256,)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_forked_child_embeds_without_warning_or_change_of_environment(self) -> None:
        code = """
import os
os.environ.pop("TOKENIZERS_PARALLELISM", None)
from retentive.embedders import StaticEmbedder
embedder = StaticEmbedder()
before = embedder.embed_documents(["one", "two"] * 100)
child = os.fork()
if child == 0:
    same = (embedder.embed_documents(["one", "two"] * 100) == before).all()
    os._exit(0 if same and "TOKENIZERS_PARALLELISM" not in os.environ else 1)
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
        assert run_python(code) == "child 0\n"

    def test_import_loads_nothing_heavy(self) -> None:
        code = (
            "import sys; import retentive.embedders._resolve as e; e.resolve('static').noise_floor;"
            "print(sorted({'numpy', 'tokenizers', 'onnxruntime'} & set(sys.modules)))"
        )
        assert run_python(code) == "[]\n"


class TestHashEmbedder:
    def test_words_in_common_bring_texts_nearer(self) -> None:
        one, near, far = HashEmbedder().embed_documents(["red apples grow", "Apples grow", "blue ships sail"])
        assert one @ near > one @ far

    @pytest.mark.parametrize("text", ["a b c d e f", "", "!", "\u200b"])
    def test_vector_is_not_zero_in_one_dimension(self, text: str) -> None:
        assert abs(HashEmbedder(1).embed_query(text)[0]) == 1

    @pytest.mark.parametrize("dimension", [0, -1, True, 2.0, "8"])
    def test_dimension_is_refused_unless_a_positive_integer(self, dimension: Any) -> None:
        with pytest.raises(ConfigurationError):
            HashEmbedder(dimension)


def raising(texts: list[str]) -> list[list[float]]:
    raise KeyError("no such model")


class TestCallableEmbedder:
    @pytest.mark.parametrize("convert", [list, np.array, lambda rows: np.array(rows, np.float64)])
    def test_any_array_of_numbers_becomes_float32(self, convert: Callable[[Any], Any]) -> None:
        embedder = CallableEmbedder("mine", 2, lambda texts: convert([[len(text), 1] for text in texts]))
        vectors = embedder.embed_documents(["a", "bb"])
        assert vectors.dtype == np.float32
        assert vectors.tolist() == [[1, 1], [2, 1]]
        assert embedder.embed_query("bb").tolist() == [2, 1]

    @pytest.mark.parametrize(
        ("returned", "named"),
        [
            ([[1.0, 2.0, 3.0]] * 2, r"shape \(2, 3\).*expected shape \(2, 2\)"),
            ([[1.0, 2.0]], r"shape \(1, 2\)"),
            ([1.0, 2.0], r"shape \(2,\)"),
            ([[1.0, 2.0], [float("nan"), 1.0]], r"not finite.*row 1, 1 of 2"),
            ([[1.0, 2.0], [1e300, 1.0]], "not finite in float32"),
            ([[0.0, 0.0], [1.0, 1.0]], r"zeroes.*row 0"),
            ([[1.0], [1.0, 2.0]], "list"),
            ([["a", "b"], ["c", "d"]], "real numbers"),
            ([[1j, 1], [1, 1]], "real numbers"),
            (None, "NoneType"),
        ],
        ids=["dimension", "count", "rank", "nan", "overflow", "zero", "ragged", "text", "complex", "none"],
    )
    def test_bad_vectors_are_named_in_the_error(self, returned: Any, named: str) -> None:
        embedder = CallableEmbedder("mine", 2, lambda texts: returned)
        with pytest.raises(EmbedderError, match=f"mine.*{named}"):
            embedder.embed_documents(["a", "b"])

    @pytest.mark.parametrize("size", [1e-30, 1e30])
    def test_query_vector_of_any_length_has_a_direction(self, size: float) -> None:
        """Its squares do not fit a float32."""
        db = Collection("chat", embedder=CallableEmbedder("mine", 2, lambda texts: [[size, -size] for _ in texts]))
        db.remember("a text")
        found = db.recall("a query", min_relevance=None).top
        assert found is not None
        assert found.similarity == pytest.approx(1.0)

    @pytest.mark.parametrize(
        ("bad", "named"), [(float("nan"), "not finite"), (float("inf"), "not finite"), (0.0, "zeroes")]
    )
    def test_query_vector_without_a_direction_is_refused(self, bad: float, named: str) -> None:
        db = Collection("chat", embedder=CallableEmbedder("mine", 2, lambda texts: [[bad, 0.0] for _ in texts]))
        with pytest.raises(EmbedderError, match=named):
            db.remember("a text")
        with pytest.raises(EmbedderError, match=named):
            check_vectors([bad, 0.0], count=None, dimension=2, source="mine")

    def test_callable_cannot_change_the_callers_list(self) -> None:
        texts = ["a", "b"]
        embedder = CallableEmbedder("mine", 1, lambda given: [[1.0] for _ in range(len(given))] if given.pop() else [])
        with pytest.raises(EmbedderError):
            embedder.embed_documents(texts)
        assert texts == ["a", "b"]

    def test_raising_callable_is_the_cause_of_the_error(self) -> None:
        embedder = CallableEmbedder("mine", 2, raising)
        with pytest.raises(EmbedderError, match=r"mine.*KeyError") as documents:
            blocking(checked_documents(embedder, ["a"]))
        with pytest.raises(EmbedderError, match=r"mine.*KeyError") as query:
            blocking(checked_query(embedder, "a"))
        assert isinstance(documents.value.__cause__, KeyError)
        assert isinstance(query.value.__cause__, KeyError)

    def test_interrupt_passes_through(self) -> None:
        def interrupted(texts: list[str]) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            blocking(checked_query(CallableEmbedder("mine", 2, interrupted), "a"))

    @pytest.mark.parametrize(("name", "dimension", "fn"), [("", 2, len), (" ", 2, len), ("a", 0, len), ("a", 2, None)])
    def test_bad_arguments_are_refused_at_once(self, name: str, dimension: int, fn: Any) -> None:
        with pytest.raises(ConfigurationError):
            CallableEmbedder(name, dimension, fn)


class Bare:
    """The least an embedder has to be."""

    name, dimension = "bare", 2
    terms: Any = None

    def embed_documents(self, texts: list[str]) -> Any:
        return [[1.0, 2.0]] * len(texts)

    def embed_query(self, text: str) -> Any:
        return (3.0, 4.0)


class WithTerms(Bare):
    def query_terms(self, text: str) -> Any:
        return self.terms


class TestChecks:
    def test_plain_sequences_are_converted(self) -> None:
        assert blocking(checked_documents(resolve(Bare()), ["a", "b"])).shape == (2, 2)
        assert blocking(checked_query(resolve(Bare()), "a")).dtype == np.float32

    def test_no_texts_do_not_call_the_embedder(self) -> None:
        assert blocking(checked_documents(CallableEmbedder("mine", 2, raising), [])).shape == (0, 2)

    def test_query_terms_are_none_where_the_embedder_has_none(self) -> None:
        assert blocking(checked_query_terms(resolve(Bare()), "a")) is None

    def test_query_terms_are_converted(self) -> None:
        embedder = WithTerms()
        embedder.terms = [[1.0, 2.0], [3.0, 4.0]], np.array([[0, 1], [2, 3]])
        returned = blocking(checked_query_terms(embedder, "a b"))
        assert returned is not None
        assert returned[0].shape == (2, 2)
        assert returned[1] == [(0, 1), (2, 3)]

    @pytest.mark.parametrize(
        "terms",
        [
            None,
            [[1.0, 2.0]],
            ([[1.0, 2.0]], []),
            ([[1.0, 2.0]], [(0, 9)]),
            ([[1.0, 2.0]], [(2, 1)]),
            ([[1.0]], [(0, 1)]),
        ],
        ids=["none", "single", "count", "outside", "backwards", "dimension"],
    )
    def test_bad_query_terms_are_refused(self, terms: Any) -> None:
        embedder = WithTerms()
        embedder.terms = terms
        with pytest.raises(EmbedderError, match=r"bare\.query_terms"):
            blocking(checked_query_terms(embedder, "a b"))

    def test_strided_vectors_come_back_contiguous(self) -> None:
        strided = np.ones((4, 6), np.float32)[:, ::2]
        assert check_vectors(strided, count=4, dimension=3, source="mine").flags.c_contiguous


class TestResolve:
    def test_static_is_the_model_in_the_package(self) -> None:
        assert isinstance(resolve("static"), StaticEmbedder)

    def test_bare_callable_is_pointed_to_callable_embedder(self) -> None:
        with pytest.raises(ConfigurationError) as caught:
            resolve(len)
        assert "CallableEmbedder" in str(caught.value.hint)

    def test_class_is_pointed_to_an_instance(self) -> None:
        with pytest.raises(ConfigurationError) as caught:
            resolve(HashEmbedder)
        assert "HashEmbedder(...)" in str(caught.value.hint)

    @pytest.mark.parametrize("spec", ["Static", "", "bge-small", None, 3, [], object()], ids=repr)
    def test_anything_else_is_refused_with_a_hint(self, spec: object) -> None:
        with pytest.raises(ConfigurationError) as caught:
            resolve(spec)
        assert caught.value.hint

    def test_object_with_a_bad_dimension_is_refused(self) -> None:
        embedder = Bare()
        embedder.dimension = 0
        with pytest.raises(ConfigurationError):
            resolve(embedder)


def test_exports_are_sorted_and_documented() -> None:
    names = retentive.embedders.__all__
    assert list(names) == sorted(names)
    assert all(getattr(retentive.embedders, name).__doc__ for name in names)


class OneArray:
    """Writes what it returns into the same array each time, as a session with bound outputs does."""

    name = "one-array"
    dimension = 64

    def __init__(self, window: int | None = None) -> None:
        self.window = window
        self._each = HashEmbedder(64)
        self._out = np.zeros((4096, 64), np.float32)

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        self._out[: len(texts)] = self._each.embed_documents(texts)
        return self._out[: len(texts)]

    def embed_query(self, text: str) -> np.ndarray:
        self._out[0] = self._each.embed_query(text)
        return self._out[0]


class TestEmbedderThatReturnsOneArray:
    def test_each_text_of_a_long_list_has_its_own_vector(self) -> None:
        texts = [f"text number {i}" for i in range(700)]
        with retentive.Collection("one", embedder=OneArray()) as db:
            stored = db.get(db.add(texts), vectors=True)
        vectors = np.array([memory.vector for memory in stored])
        np.testing.assert_array_equal(vectors, HashEmbedder(64).embed_documents(texts))

    def test_a_query_finds_the_same_after_another_one(self) -> None:
        with retentive.Collection("one", embedder=OneArray()) as db:
            db.add(["the red apple", "a blue car"])
            first = db.search("red apple", mode="dense")
            db.search("blue car", mode="dense")
            assert db.search("red apple", mode="dense").texts == first.texts == ["the red apple", "a blue car"]

    def test_a_long_query_is_the_mean_of_both_its_ends(self) -> None:
        query = "red apple. " + "Filler words here. " * 40 + "blue car."
        new_arrays = CallableEmbedder("new", 64, HashEmbedder(64).embed_documents, window=16)
        with (
            retentive.Collection("one", embedder=OneArray(16)) as db,
            retentive.Collection("own", embedder=new_arrays) as own,
        ):
            for each in (db, own):
                each.add(["red apple", "blue car"])
            assert db.search(query, mode="dense").scores == own.search(query, mode="dense").scores
