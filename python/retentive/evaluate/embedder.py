"""What `--embedder` accepts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from retentive._errors import ConfigurationError
from retentive._files import infile
from retentive.embedders import HashEmbedder, OnnxEmbedder, StaticEmbedder
from retentive.embedders._known import KNOWN
from retentive.embedders._resolve import resolve

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from retentive.embedders import Embedder, EmbedderPair

_MODELS = f"static, hash, hash:DIMENSION, the folder of an ONNX model, the name of a known one ({', '.join(KNOWN)})"
ACCEPTED = f"{_MODELS}, a file of token vectors (.npz with `q` and `scale`) with --tokenizer, or two of these: A+B"
_WITHOUT_TOKEN_VECTORS = f"{_MODELS}, or two of these: A+B"

_HASH = re.compile(r"hash(?::(\d{1,5}))?")


def embedder_or_pair_for(
    spec: str, tokenizer: Path | None = None, *, token_vectors: bool = True
) -> Embedder | EmbedderPair:
    """Return the embedder that a command line names, or the two of `A+B`.

    Args:
        spec: as in `embedder_for`, or two joined with `+`.
        tokenizer: as in `embedder_for`.
        token_vectors: whether files of token vectors are accepted: where there is an option for their tokenizer.

    Raises:
        ValueError: it names none, more than two, or one twice.
    """
    names = [spec] if Path(spec).exists() else spec.split("+")
    try:
        return resolve([embedder_for(name.strip(), tokenizer, token_vectors=token_vectors) for name in names])
    except ConfigurationError as error:
        raise ValueError(f"{spec!r}: {error}") from error


def embedder_for(spec: str, tokenizer: Path | None = None, *, token_vectors: bool = True) -> Embedder:
    """Return the embedder that a command line names.

    Args:
        spec: `static`, `hash`, `hash:64`, a folder with `model.onnx`, a known model in the cache of huggingface_hub, or
            the path of an `.npz` file of token vectors.
        tokenizer: the tokenizer's JSON file that such a file needs.
        token_vectors: whether such files are accepted.

    Raises:
        ValueError: it names none; the message says what is accepted.
    """
    if spec == "static":
        return StaticEmbedder()
    if token_vectors and spec.endswith(".npz"):
        if tokenizer is None:
            raise ValueError("token vectors need the tokenizer they belong to: --tokenizer FILE")
        return TokenVectors(Path(spec), tokenizer)
    try:
        if match := _HASH.fullmatch(spec):
            return HashEmbedder(int(match[1])) if match[1] else HashEmbedder()
        if spec in KNOWN or (spec and Path(spec).is_dir()):
            return OnnxEmbedder(spec)
    except ConfigurationError as error:
        raise ValueError(str(error)) from error
    accepted = ACCEPTED if token_vectors else _WITHOUT_TOKEN_VECTORS
    raise ValueError(f"there is no embedder {spec!r}, expected {accepted}")


class TokenVectors:
    """A static model from files: the mean of one int8 vector a token, each with its scale, at length 1.

    To compare the model in the package with another one of its kind.

    Args:
        vectors: an `.npz` file with `q` int8 `[tokens, dimension]` and `scale` float32 `[tokens]`.
        tokenizer: a `tokenizer.json`.

    Raises:
        ValueError: a file is missing or holds something else.
    """

    dense_weight = 0.5

    def __init__(self, vectors: Path, tokenizer: Path) -> None:
        import numpy as np
        from tokenizers import Tokenizer

        try:
            with infile(vectors).open("rb") as opened, np.load(opened) as file:
                self._vectors: npt.NDArray[np.float32] = file["q"].astype(np.float32) * file["scale"][:, None]
            self._tokenizer = Tokenizer.from_str(infile(tokenizer).read_text(encoding="utf-8"))
        except Exception as error:  # tokenizers raises no class of its own
            raise ValueError(f"cannot read token vectors: {type(error).__name__}: {error}") from error
        if self._vectors.shape[0] < self._tokenizer.get_vocab_size():
            raise ValueError(
                f"{vectors} has {self._vectors.shape[0]} token vectors, but {tokenizer} has "
                f"{self._tokenizer.get_vocab_size()} tokens: expected one each"
            )
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.dimension = int(self._vectors.shape[1])
        self.name = f"{vectors.parent.name}-{vectors.stem}"

    def embed_documents(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """Return one row a text, float32 `[len(texts), dimension]`."""
        import numpy as np

        rows = np.empty((len(texts), self.dimension), np.float32)
        for row, encoding in enumerate(self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)):
            mean = self._vectors[encoding.ids or [0]].mean(axis=0)
            rows[row] = mean / max(float(np.linalg.norm(mean)), 1e-12)
        return rows

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 `[dimension]`."""
        row: npt.NDArray[np.float32] = self.embed_documents([text])[0]
        return row
