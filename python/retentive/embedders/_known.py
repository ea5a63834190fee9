"""Models whose settings need not be said."""

from __future__ import annotations

import re
from dataclasses import dataclass

POOLINGS = ("cls", "mean")

# What exporters put behind a model's name for the same model in other numbers.
_VARIANT = re.compile(r"(?:[-_.](?:onnx|int8|uint8|q8|fp16|fp32|quantized|quantised|optimized|optimised))*")


@dataclass(frozen=True, slots=True)
class KnownModel:
    """How one model is to be used, as its authors say, and what was measured of it here.

    Attributes:
        name: what the store keeps.
        repository: where `huggingface_hub` finds it.
        dimension: numbers in a vector.
        window: tokens that it was made for, with its special tokens and the prefix.
        pooling: which token vectors make the text's: the first one (`cls`) or all (`mean`).
        query_prefix, document_prefix: what is put before a text.
        noise_floor, refusal_floor: see `Embedder`; None where they were not measured.
        dense_weight: see `Embedder`.
    """

    name: str
    repository: str
    dimension: int
    window: int
    pooling: str
    query_prefix: str = ""
    document_prefix: str = ""
    noise_floor: float | None = None
    refusal_floor: float | None = None
    dense_weight: float = 0.65


_MODELS = (
    KnownModel(
        "bge-small-en-v1.5",
        "BAAI/bge-small-en-v1.5",
        dimension=384,
        window=512,
        pooling="cls",
        query_prefix="Represent this sentence for searching relevant passages: ",
        noise_floor=0.549,
        refusal_floor=0.68,
    ),
    KnownModel(
        "e5-small-v2",
        "intfloat/e5-small-v2",
        dimension=384,
        window=512,
        pooling="mean",
        query_prefix="query: ",
        document_prefix="passage: ",
    ),
    KnownModel(
        "multilingual-e5-small",
        "intfloat/multilingual-e5-small",
        dimension=384,
        window=512,
        pooling="mean",
        query_prefix="query: ",
        document_prefix="passage: ",
    ),
    KnownModel(
        "all-MiniLM-L6-v2",
        "sentence-transformers/all-MiniLM-L6-v2",
        dimension=384,
        window=256,
        pooling="mean",
        noise_floor=0.317,
        refusal_floor=0.42,
    ),
)
KNOWN = {model.name: model for model in _MODELS}


def recognised(name: str) -> KnownModel | None:
    """Return the model that a name, a repository or a folder's name stands for, also as `<name>-int8` and the like.

    Examples:
        >>> recognised("BAAI/bge-small-en-v1.5-onnx-int8").name
        'bge-small-en-v1.5'
        >>> recognised("bge-small-en-v1.5-of-ours") is None
        True
    """
    last = name.rstrip("/").rpartition("/")[2].casefold()
    for model in _MODELS:
        prefix = model.name.casefold()
        if last.startswith(prefix) and _VARIANT.fullmatch(last, len(prefix)):
            return model
    return None
