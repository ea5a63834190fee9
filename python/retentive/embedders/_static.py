"""The embedder in the package: the mean of one learned vector a token."""

from __future__ import annotations

import json
import re
import threading
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from retentive import _core, _fork
from retentive._give_way import giving_way
from retentive._whole import import_whole
from retentive.embedders._tokens import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt
    from tokenizers import Tokenizer

    Floats = npt.NDArray[np.float32]
    Ids = npt.NDArray[np.int32]

FOLDER = Path(__file__).parents[1] / "models" / "static"
UNKNOWN = "[UNK]"

# Bounds what a text of any length takes while its vectors are added up: 16,384 int8 rows are 4 MB.
_BLOCK = 16_384
_REMEMBERED_RUNS = 32_768
_REMEMBERED_LENGTH = 32

# A longer run is given to the tokenizer in pieces: it keeps the interpreter for all of a call.
_PIECE = 2_048

_RUN = re.compile(r"\S+")
# Each of these is a token of its own, so that a run may be cut before it.
_ALONE = re.compile(r"[!-/:-@\[-`{-~\u2010-\u2027\u3001-\u3003\u3008-\u3011\u4e00-\u9fff]")


class StaticEmbedder:
    """The default embedder: 256 dimensions, English, in the package, no network and no threads.

    A text's vector is the mean of its tokens' vectors, at length 1. The token vectors are regressed on those of
    bge-small-en-v1.5 (see `scripts/train_static_model.py`); the tokens are of its WordPiece tokenizer. Texts are never
    cut. A text that has no token at all (control characters, an empty string) gets the vector of the unknown token.
    What looks like a special token in a text (`[SEP]`) is text.

    The model is loaded at first use, once a process, and shared by all instances. Instances can be used from many
    threads and after a fork.

    Examples:
        >>> StaticEmbedder().embed_documents(["peanuts make my throat swell"]).shape
        (1, 256)
    """

    @property
    def name(self) -> str:
        """`retentive-static-256`."""
        return str(_about()["name"])

    @property
    def dimension(self) -> int:
        """256."""
        return int(_about()["dimension"])

    @property
    def noise_floor(self) -> float:
        """The cosine that 98 % of unrelated pairs of query and document stay below."""
        return float(_about()["noise_floor"])

    @property
    def refusal_floor(self) -> float:
        """What the best `similarity + 0.5 * coverage` must reach in 500 turns: 2 % of their own questions do not."""
        return float(_about()["refusal_floor"])

    @property
    def late_interaction_floor(self) -> float:
        """What that and the best late interaction must reach together in 500 turns, for the same 2 %."""
        return float(_about()["late_interaction_floor"])

    @property
    def dense_weight(self) -> float:
        """The weight of the cosine against the lexical score, 0.5."""
        return float(_about()["dense_weight"])

    @property
    def window(self) -> int:
        """1024 tokens: the mean of a longer text says little of any one sentence in it."""
        return 1_024

    @property
    def part_tokens(self) -> int:
        """128 tokens, about a paragraph."""
        return 128

    def embed_documents(self, texts: list[str]) -> Floats:
        """Return one row a text, float32 `[len(texts), 256]`, of length 1; each as it would be alone."""
        return _SHARED.get().embed(texts)

    def embed_query(self, text: str) -> Floats:
        """Return float32 `[256]` of length 1, the same as for a document."""
        vector: Floats = _SHARED.get().embed([text])[0]
        return vector

    def query_terms(self, text: str) -> tuple[Floats, list[tuple[int, int]]]:
        """Return the tokens' vectors, float32 `[t, 256]` with `t >= 1`, and the characters `[start, end)` of each.

        Their unweighted mean points where `embed_query(text)` does. Without any token it is the unknown token, and
        the span is the whole text.
        """
        return _SHARED.get().query_terms(text)

    def late_interaction(self, query: str, texts: list[str]) -> list[float]:
        """Return for each text the mean over the query's tokens of the cosine with the text's nearest token.

        Each token of the query counts by the square of its vector's length: what says little has a short one. Khattab
        and Zaharia (2020) have the sum, of vectors of a transformer.
        """
        return _SHARED.get().late_interaction(query, texts)

    def __repr__(self) -> str:
        return "StaticEmbedder()"


class _Runs(dict[str, tuple[int, ...]]):
    """Token ids of each run of characters between white space, remembered.

    The tokenizer treats such runs one by one (neither its normaliser nor its splitting looks across white space), so
    looking up the common ones gives the same ids, and faster. One difference: a control character that Python counts
    as white space (a vertical tab) ends a run, where the tokenizer would drop it and join the words. The tokenizer's
    own batches are not used: they start a thread pool, which a forked child can hang on.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, run: str) -> tuple[int, ...]:
        if len(run) > _PIECE:
            return self._in_pieces(run)
        ids = tuple(encoded(self._tokenizer, run).ids)
        if len(run) <= _REMEMBERED_LENGTH:
            if len(self) >= _REMEMBERED_RUNS:
                self.clear()
            self[run] = ids
        return ids

    def _in_pieces(self, run: str) -> tuple[int, ...]:
        """Return the ids of a run of any length.

        A word that is longer than a piece is one unknown token, in however many pieces it comes, and the rest of it is
        left out: the tokenizer knows no word of more than 100 characters.
        """
        ids: list[int] = []
        unknown = self._tokenizer.token_to_id(UNKNOWN)
        start, goes_on = 0, False
        while start < len(run):
            end = start + _PIECE
            alone = _ALONE.search(run[start + 1 : end][::-1]) if end < len(run) else None
            end = end - 1 - alone.start() if alone else end
            piece = encoded(self._tokenizer, run[start:end])
            rest = sum(word == 0 for word in piece.word_ids) if goes_on and ids[-1:] == [unknown] else 0
            ids += piece.ids[rest:]
            start, goes_on = end, alone is None
        return tuple(ids)


class _Model:
    def __init__(self, folder: Path) -> None:
        import_whole("numpy", "tokenizers")
        import numpy as np
        from tokenizers import Tokenizer

        self._rows: npt.NDArray[np.int8] = np.asarray(np.load(folder / "vectors.npy", mmap_mode="r"))
        self._scale: Floats = np.load(folder / "scale.npy")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # as the text it is
        self._unknown = cast("int", self._tokenizer.token_to_id(UNKNOWN))
        self._ids_of = _Runs(self._tokenizer).__getitem__
        self._ids_of(UNKNOWN)  # the first use of a tokenizer makes what the others have

    def embed(self, texts: Iterable[str]) -> Floats:
        import numpy as np

        sums = [self._sum(self._ids(text)) for text in giving_way(texts)]
        return self._directions(np.array(sums, np.float32).reshape(-1, self._rows.shape[1]))

    def query_terms(self, text: str) -> tuple[Floats, list[tuple[int, int]]]:
        import numpy as np

        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        for run in _RUN.finditer(text):
            encoding = encoded(self._tokenizer, run.group())
            ids += encoding.ids
            spans += [(run.start() + start, run.start() + end) for start, end in encoding.offsets]
        if not ids:
            ids, spans = [self._unknown], [(0, len(text))]
        vectors: Floats = self._rows[ids] * self._scale[ids][:, np.newaxis]
        return vectors, spans

    def late_interaction(self, query: str, texts: Iterable[str]) -> list[float]:
        asked = self._ids(query)
        found = (set(chain.from_iterable(map(self._ids_of, text.split()))) for text in texts)
        each = [ids or {self._unknown} for ids in found]
        held = self._rows.take(list(chain.from_iterable(each)), axis=0)
        counts = [len(ids) for ids in each]
        return _core.late_interaction(self._rows.take(asked, axis=0), self._scale.take(asked), held, counts)

    def _ids(self, text: str) -> Ids:
        import numpy as np

        ids = list(chain.from_iterable(map(self._ids_of, text.split())))
        return np.array(ids or [self._unknown], np.int32)

    def _sum(self, ids: Ids) -> Floats:
        """Add up the tokens' vectors in their order, not by BLAS: its threads and its order differ by machine."""
        import numpy as np

        total: Floats = np.zeros(self._rows.shape[1], np.float32)
        for start in range(0, len(ids), _BLOCK):
            block = ids[start : start + _BLOCK]
            total += np.einsum("t,td->d", self._scale.take(block), self._rows.take(block, axis=0))
        return total

    def _directions(self, sums: Floats) -> Floats:
        import numpy as np

        lengths = np.sqrt(np.einsum("nd,nd->n", sums, sums))
        for row in np.flatnonzero(lengths == 0):  # tokens that cancel out: possible, never seen
            sums[row] = self._sum(np.array([self._unknown], np.int32))
            lengths[row] = np.sqrt(np.einsum("d,d->", sums[row], sums[row]))
        unit: Floats = sums / lengths[:, np.newaxis]
        return unit


@cache
def _about() -> dict[str, Any]:
    about: dict[str, Any] = json.loads((FOLDER / "model.json").read_text(encoding="utf-8"))
    return about


class _SharedModel:
    """The model, loaded at first use, by one thread, once a process."""

    def __init__(self) -> None:
        self._loading = threading.RLock()  # a signal handler that embeds while this thread loads, loads for itself
        self._loaded: _Model | None = None

    def get(self) -> _Model:
        if self._loaded is None:
            with self._loading:
                if self._loaded is None:
                    with _fork.held_back():
                        self._loaded = _Model(FOLDER)
        return self._loaded

    def renew_lock(self) -> None:
        """In a forked child, the thread that held the lock does not exist."""
        self._loading = threading.RLock()


_SHARED = _SharedModel()
_fork.in_child(_SHARED.renew_lock)
