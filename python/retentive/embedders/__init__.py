"""Embedders: what turns a text into a vector.

Nothing heavy is imported before an embedder is used: no numpy, no tokenizers, no model.
"""

from retentive.embedders._callable import CallableEmbedder
from retentive.embedders._hash import HashEmbedder
from retentive.embedders._onnx import OnnxEmbedder
from retentive.embedders._pair import EmbedderPair
from retentive.embedders._protocol import AsyncEmbedder, Embedder
from retentive.embedders._static import StaticEmbedder

__all__ = [
    "AsyncEmbedder",
    "CallableEmbedder",
    "Embedder",
    "EmbedderPair",
    "HashEmbedder",
    "OnnxEmbedder",
    "StaticEmbedder",
]
