"""Embedders of ONNX models, run by onnxruntime."""

from __future__ import annotations

import importlib.util
import os
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retentive._errors import ConfigurationError
from retentive._validate import shown
from retentive.embedders._callable import checked_name
from retentive.embedders._folder import ModelFolder, read_folder
from retentive.embedders._hub import cached_folder
from retentive.embedders._known import KNOWN, POOLINGS
from retentive.embedders._session import PerProcess, Session, unit
from retentive.embedders._windows import SENTENCE_TOKENS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

DENSE_WEIGHT = 0.65
# A sentence is lost in a part much longer than it. Of 40 texts of 3,000 tokens, the one whose last sentence answers the
# question came first 4 times with bge-small's parts of 512 tokens, 7 times with 128, 24 times with 64.
PART_TOKENS = 64
_LEAST_PART = 16


class OnnxEmbedder:
    """A sentence embedding model in ONNX format; needs `pip install "retentive[onnx]"`.

    One thread of the caller's, no spinning, no memory that grows with use. The model is loaded at first use, again in
    a forked child, and can be used from many threads; make one and share it.

    **Long texts**: nothing is cut off. A text longer than the window is embedded in parts of whole sentences, of at
    most 64 tokens each (`embed_parts`); the collection stores them all and takes the nearest. A query longer than the
    window is the mean direction of its first and its last sentence: what is asked stands before or behind what is
    pasted.

    Args:
        model: a folder with `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`, or the name of a known model:
            `bge-small-en-v1.5`, `e5-small-v2`, `multilingual-e5-small`, `all-MiniLM-L6-v2`. A name is looked up in the
            cache of `huggingface_hub`, without a network.
        download: True to fetch a known model that is not in the cache; nothing else ever reaches for a network.
        file: the model's file in its folder, where it is another one, as `onnx/model_quantized.onnx`.
        pooling: `"cls"` or `"mean"`; needed for a folder that is not recognised and does not say.
        query_prefix: what the model wants before a query; as known, else as the folder says, else none.
        document_prefix: what it wants before a text that is stored; as known, else as the folder says, else none.
        window: the longest text, in tokens, that is one vector, up to what the model takes; as known, else as the
            folder says.
        part_tokens: the tokens at most of a part of a longer text, without its prefix.
        name: the identity kept in the store; as known, else as the folder's `config.json` says, else made of a hash
            of the model. It does not depend on where the folder is.
        noise_floor: see `Embedder`; as measured for a known model, else None.
        refusal_floor: see `Embedder`; as measured for a known model, else None.
        dense_weight: see `Embedder`; as measured for a known model, else 0.65.

    Raises:
        ConfigurationError: onnxruntime is missing, the model is not there or of another kind, or pooling or window
            has to be said; `hint` says how.

    A folder is recognised by the name in its `config.json` or its own, also as `<name>-int8`.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        download: bool = False,
        file: str | None = None,
        pooling: str | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        window: int | None = None,
        part_tokens: int = PART_TOKENS,
        name: str | None = None,
        noise_floor: float | None = None,
        refusal_floor: float | None = None,
        dense_weight: float | None = None,
    ) -> None:
        _need("onnxruntime")
        _need("tokenizers")
        for argument, value in (("file", file), ("query_prefix", query_prefix), ("document_prefix", document_prefix)):
            if value is not None and not isinstance(value, str):
                raise ConfigurationError(
                    f"{argument} is {shown(value)}, expected a string", hint=f"leave {argument} out for the model's own"
                )
        self._folder = folder = _folder(model, file, download=download)
        known = folder.known
        self._pooling = _pooling(pooling, folder)
        self._query_prefix = _first(query_prefix, known and known.query_prefix, folder.query_prefix)
        self._document_prefix = _first(document_prefix, known and known.document_prefix, folder.document_prefix)
        self._window = _window(window, folder)
        self._part_tokens = _part_tokens(part_tokens, self._window)
        self.name = folder.name if name is None else checked_name(name)
        self.noise_floor = _first(noise_floor, known and known.noise_floor)
        self.refusal_floor = _first(refusal_floor, known and known.refusal_floor)
        self.dense_weight = _first(dense_weight, known and known.dense_weight, DENSE_WEIGHT)
        self._session = PerProcess(partial(_load, folder, self._pooling))

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        if self._folder.known is not None:
            return self._folder.known.dimension
        return self._folder.dimension or self._session.get().dimension

    @property
    def window(self) -> int:
        """The longest text that is one vector, in tokens, with special ones and the prefix."""
        return self._window

    @property
    def part_tokens(self) -> int:
        """The most tokens of a part of a longer text, without special ones and the prefix."""
        return self._part_tokens

    def embed_documents(self, texts: list[str]) -> Floats:
        """Return one row a text, float32 `[len(texts), dimension]`, of length 1.

        A text longer than the window is the mean direction of its parts.
        """
        import numpy as np

        parts = self.embed_parts(texts)
        if not parts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack([_direction(rows) for rows in parts])

    def embed_parts(self, texts: list[str]) -> list[Floats]:
        """Return the vectors of each text's parts, float32 `[parts, dimension]`, of length 1, in the text's order.

        A text that fits into the window has one.
        """
        if not texts:
            return []
        session = self._session.get()
        prefix = self._prefix(session, self._document_prefix)
        split = [session.parts(text, prefix, self._window, self._part_tokens) for text in texts]
        rows = session.embed([part for parts in split for part in parts])
        ends = accumulate(map(len, split), initial=0)
        return [rows[start:end] for start, end in pairwise(ends)]

    def embed_query(self, text: str) -> Floats:
        """Return float32 `[dimension]` of length 1.

        A query longer than the window is the mean direction of its first and its last sentence.
        """
        session = self._session.get()
        ends = session.ends(text, self._prefix(session, self._query_prefix), self._window)
        return _direction(session.embed(ends))

    def _prefix(self, session: Session, prefix: str) -> str:
        """Return a prefix that leaves room for a part, and for a sentence of a query."""
        least = session.special_count(prefix) + max(self._part_tokens, SENTENCE_TOKENS)
        if self._window < least:
            raise ConfigurationError(
                f"a window of {self._window} tokens has no room for a prefix and a part, expected {least} at least",
                hint="pass a larger window, fewer part_tokens or a shorter prefix",
            )
        return prefix

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self.name!r}, {str(self._folder.model)!r})"


def _need(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ConfigurationError(f"OnnxEmbedder needs {package}", hint='pip install "retentive[onnx]"')


def _folder(model: object, file: str | None, *, download: bool) -> ModelFolder:
    if not isinstance(model, str | os.PathLike) or not str(model):
        raise ConfigurationError(
            f"model is {shown(model)}, expected a folder or a name", hint=f"known names are {', '.join(KNOWN)}"
        )
    folder = Path(model)
    if folder.is_dir():
        return read_folder(folder, file)
    known = next((known for known in KNOWN.values() if model in {known.name, known.repository}), None)
    if known is None:
        raise ConfigurationError(
            f"there is no folder {shown(os.fspath(model))} and no known model of that name",
            hint=f"pass a folder with model.onnx and tokenizer.json, or one of {', '.join(KNOWN)}",
        )
    return read_folder(cached_folder(known, file, download=download), file)


def _load(folder: ModelFolder, pooling: str) -> Session:
    session = Session(folder, pooling)
    stated = folder.dimension if folder.known is None else folder.known.dimension
    if stated not in {None, session.dimension}:
        whose = "its config.json states" if folder.known is None else f"{folder.known.name} has"
        raise ConfigurationError(
            f"{folder.model} returns {session.dimension} dimensions, but {whose} {stated}",
            hint="this is another model: put it into a folder of its own name, with its own config.json",
        )
    return session


def _pooling(given: str | None, folder: ModelFolder) -> str:
    pooling = given or (folder.known.pooling if folder.known is not None else folder.pooling)
    if pooling is None:
        raise ConfigurationError(
            f"how {folder.model} pools its token vectors is not known",
            hint='pass pooling="cls" or pooling="mean", as its model card says',
        )
    if pooling not in POOLINGS:
        raise ConfigurationError(f"pooling is {shown(pooling)}, expected of {', '.join(POOLINGS)}", hint='pass "mean"')
    return pooling


def _window(given: int | None, folder: ModelFolder) -> int:
    window = _first(given, folder.known and folder.known.window, folder.window)
    if window is None:
        raise ConfigurationError(f"how many tokens {folder.model} takes is not known", hint="pass window=512 or so")
    most = folder.positions or window
    if not isinstance(window, int) or isinstance(window, bool) or not 1 <= window <= most:
        raise ConfigurationError(
            f"window is {shown(window)}, expected a number of tokens, up to {most}",
            hint="leave window out for the model's own",
        )
    return window


def _part_tokens(given: object, window: int) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not _LEAST_PART <= given <= window:
        raise ConfigurationError(
            f"part_tokens is {shown(given)}, expected a number of tokens of {_LEAST_PART} to the window's {window}",
            hint="leave part_tokens out",
        )
    return given


def _first(*values: Any) -> Any:
    """Return the first that is not None."""
    return next((value for value in values if value is not None), None)


def _direction(rows: Floats) -> Floats:
    import numpy as np

    mean: Floats = rows.mean(axis=0, dtype=np.float32, keepdims=True)
    vector: Floats = unit(mean)[0] if len(rows) > 1 and mean.any() else rows[0]
    return vector
